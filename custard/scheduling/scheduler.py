"""The commands that derive loops, and their preconditions, for all targets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import ClassVar

from custard.ir import cin
from custard.ir.concretization import right_side
from custard.language import notation
from custard.language.commands import (
    LANES,
    PASSED_OVER,
    UNITS_OF,
    Command,
    check_loops,
    loops_of,
    mistake,
    with_loops,
    with_reordered,
    without_unknown_loops,
    workspace,
)
from custard.language.formats import Format
from custard.scheduling.bounds import Bounded, broken
from sam.derivations import Derivation, Fuse, Rename, Split
from sam.support.errors import UserError, one_of

# TACO's name for a workspace that the command does not name.
WORKSPACE = "workspace"


class Scheduler(ABC):
    """The state of a schedule.

    ``target``     the name of the target
    ``stored``     the formats that are asked for, by workspace
    ``names``      of all present and earlier loops
    ``called``     our names of loops whose own names were taken
    ``became``     the loops that replaced earlier loops
    ``made``       the derivation that made each loop, in the order in which they were made
    ``positions``  the tensor of each loop over positions
    ``bounds``     conditions on the inputs
    """

    target: ClassVar[str]

    def __init__(
        self,
        formats: Mapping[str, Format],
        loops: Sequence[str],
        strict: bool,
        stored: Mapping[str, str],
        ignore_units: bool,
    ) -> None:
        self.formats, self.strict, self.ignore_units = formats, strict, ignore_units
        self.stored = dict(stored)
        self.workspaces: dict[str, Format] = {}
        self.notes: dict[str, None] = {}
        self.names = dict.fromkeys(loops)
        self.called: dict[str, str] = {}
        self.became: dict[str, tuple[str, ...]] = {}
        self.made: dict[str, Derivation] = {}
        self.positions: dict[str, str] = {}
        self.bounds: list[Bounded] = []
        self.actions: dict[str, Callable[[Command], None]] = {
            "reorder": self.reorder,
            "split": self.split,
            "divide": self.split,
            "tile": self.tile,
            "fuse": self.fuse,
            "pos": self.position,
            "coord": self.coordinate,
            "bound": self.bound,
            "parallelize": self.parallelize,
        }

    @property
    @abstractmethod
    def loops(self) -> list[str]:
        """The present loops, outermost first."""

    @abstractmethod
    def arrange(self, order: Callable[[Sequence[str]], Sequence[str]]) -> None:
        """Puts the loops in another order."""

    def derive(self, derivation: Derivation) -> None:
        """Replaces loops by loops that are derived from them."""
        self.became |= dict.fromkeys(derivation.sources, derivation.results)
        self.made |= dict.fromkeys(derivation.results, derivation)
        self.replace(derivation)

    @abstractmethod
    def replace(self, derivation: Derivation) -> None:
        """Applies a derivation to the statements or loops so far."""

    # Names

    def check_loop(self, command: Command, argument: int, name: str = "") -> str:
        """An argument, or a name in it, that must be a loop."""
        name = name or command.arguments[argument]
        if name in self.loops:
            return name
        now = [loop for loop in self.came_of(name) if loop in self.loops]
        if now and now != [name]:
            what = f"{command.name} names {name}, which is {', '.join(now)} now"
            raise mistake(command, what, argument, f"name {' or '.join(now)}")
        what = f"{command.name} names {name}, which is not a loop"
        raise mistake(command, what, argument, one_of(name, self.loops))

    def came_of(self, name: str) -> list[str]:
        """The present loops that came from a loop."""
        results = self.became.get(name)
        return [name] if results is None else [now for one in results for now in self.came_of(one)]

    def check_new(self, command: Command, argument: int, name: str = "") -> None:
        """Raises UserError if a loop has or had the name of an argument, or a name in it."""
        name = name or command.arguments[argument]
        if name in self.names:
            what = f"{command.name} names {name}, which is or was a loop already"
            raise mistake(command, what, argument, "give the new loop another name")
        self.names[name] = None

    def new_loops(self, command: Command, *arguments: int) -> list[str]:
        """The names of the loops that a command makes.

        A name that another loop has or had stands for the new loop from here on, and the new loop
        gets another name internally; under strict, it is refused.
        """
        found = []
        for argument in arguments:
            name = command.arguments[argument]
            if name in self.names and not self.strict:
                if name in command.arguments[arguments[0] : argument]:
                    raise mistake(command, f"{command.name} names {name} twice", argument)
                new = self.called[name] = self.new_name(name)
                self.notes[
                    f"the loop {name} of {command.said} is called {new}, as there was one {name}"
                ] = None
                found.append(new)
            else:
                self.check_new(command, argument)
                self.called.pop(name, None)
                found.append(name)
        return found

    def follow(self, command: Command) -> None:
        """Follows a command, which names loops as the user does."""
        self.apply(with_loops(command, self.called))

    @abstractmethod
    def apply(self, command: Command) -> None:
        """Follows a command, which names loops by our names."""

    def new_name(self, name: str) -> str:
        """The name for a new loop, with zeros appended if it is taken."""
        while name in self.names:
            name += "0"
        self.names[name] = None
        return name

    @abstractmethod
    def check_coordinates(self, command: Command, loop: str) -> None:
        """Raises UserError for a loop over positions where a command needs coordinates."""

    # Commands

    def reorder(self, command: Command) -> None:
        """Puts the loops that it lists, in its order, into the places that they hold now."""
        if not self.strict:
            (command,), passed_over = without_unknown_loops([command], self.loops)
            self.notes |= dict.fromkeys(passed_over)
        check_loops(command, self.loops)

        def order(loops: Sequence[str]) -> Sequence[str]:
            listed = [loop for loop in command.arguments if loop in loops]
            return with_reordered(loops, listed)

        self.arrange(order)

    def split(self, command: Command) -> None:
        """Splits a loop into tiles of a size, or (``divide``) into a number of tiles."""
        variable = self.check_loop(command, 0)
        self.check_coordinates(command, variable)
        outer, inner = self.new_loops(command, 1, 2)
        size = int(command.arguments[3])
        self.derive(Split(variable, outer, inner, size, command.name == "divide"))

    def tile(self, command: Command) -> None:
        """Tiles all loops by each extent, the largest first; loops over larger tiles go outside.

        With two extents, loop i becomes i2 and i1 over tiles, and i0 within the smaller tiles.
        """
        sizes = list(map(int, command.arguments))
        for n in range(1, len(sizes)):
            if sizes[n] >= sizes[n - 1]:
                what = f"a tile of {sizes[n]} does not go into one of {sizes[n - 1]}"
                raise mistake(command, what, n, "as in tile(2048,128)")
        nest = {}
        for loop in self.loops:
            self.check_coordinates(command, loop)
            left = loop
            for level, size in zip(range(len(sizes), 0, -1), sizes, strict=True):
                rest = "".join(map(str, reversed(range(level))))
                outer, inner = self.new_name(f"{loop}{level}"), self.new_name(f"{loop}{rest}")
                self.derive(Split(left, outer, inner, size))
                nest[outer], left = level, inner
            nest[left] = 0
        self.arrange(lambda loops: sorted(loops, key=lambda loop: -nest[loop]))

    def fuse(self, command: Command) -> None:
        """Makes one loop of two, the second directly inside of the first."""
        outer, inner = self.check_loop(command, 0), self.check_loop(command, 1)
        for loop in (outer, inner):
            self.check_coordinates(command, loop)
        if outer == inner:
            hint = "fuse takes two loops, the second directly inside of the first"
            raise mistake(command, f"fuse names {outer} twice", 1, hint)
        self.join(command)

    def check_nested(self, command: Command, loops: Sequence[str]) -> None:
        """Raises UserError unless the second loop of a command is directly inside the first."""
        outer, inner = command.arguments[:2]
        places = [loops.index(v) if v in loops else -2 for v in (outer, inner)]
        if places[1] != places[0] + 1:
            hint = f"fuse before precompute: {' and '.join({outer, inner} - {*loops})} is not there"
            if {outer, inner} <= {*loops}:
                order = [loop for loop in loops if loop != inner]
                order.insert(order.index(outer) + 1, inner)
                hint = f"reorder({','.join(order)}) puts it there"
            if places[0] == places[1] + 1:
                hint += f"; or write fuse({inner},{outer},{command.arguments[2]})"
            what = f"fuse needs {inner} directly inside of {outer}, and the loops are "
            raise mistake(command, what + ", ".join(loops), hint=hint)

    @abstractmethod
    def join(self, command: Command) -> None:
        """Makes one loop of two. Raises UserError where they cannot be fused."""

    def joined(self, command: Command) -> None:
        """Makes one loop of two that can be fused."""
        outer, inner = command.arguments[:2]
        (fused,) = self.new_loops(command, 2)
        self.derive(Fuse(outer, inner, fused))

    def position(self, command: Command) -> None:
        """Makes a loop go over the positions of a tensor."""
        loop, tensor = self.check_loop(command, 0), command.arguments[2]
        having = self.having(loop)
        if tensor not in having:
            what = f"{tensor} has no loop {loop}" if tensor in self.formats else None
            forms = [cin.form_with(value, tensor, loop) for value in self.values()]
            form = next((one for one in forms if one is not None), None)
            if form is not None:
                what = f"{tensor} has no positions at {loop}: its subscript {form} is computed"
            what = what or f"pos names {tensor}, which is not a tensor"
            raise mistake(command, what, 2, one_of(tensor, having))
        if self.tensor_of(loop) is not None:
            what = f"{loop} goes over positions already, those of {self.tensor_of(loop)}"
            hint = f"split({loop},...) makes tiles of them, coord({loop},...) takes it back"
            raise mistake(command, what, 0, hint)
        self.check_positions(command)
        (name,) = self.new_loops(command, 1)
        self.positions[name] = tensor
        self.go_over_positions(command, loop, name)

    @abstractmethod
    def go_over_positions(self, command: Command, loop: str, name: str) -> None:
        """Makes a loop go over positions, with a new name."""

    @abstractmethod
    def values(self) -> list[cin.Expression]:
        """The right sides of the statements so far."""

    @abstractmethod
    def having(self, loop: str) -> Collection[str]:
        """The operands that have a loop."""

    @abstractmethod
    def check_positions(self, command: Command) -> None:
        """Raises UserError unless a loop can go over the positions of a tensor."""

    def coordinate(self, command: Command) -> None:
        """Takes a loop over positions back to coordinates."""
        loop = self.check_loop(command, 0)
        if loop not in self.positions:
            what = f"coord needs a loop over positions, and {loop} goes over coordinates"
            raise mistake(command, what, 0, f"pos({loop},...) makes it one over positions")
        (name,) = self.new_loops(command, 1)
        self.derive(Rename(loop, name))
        del self.positions[loop]

    def over_positions(self, loop: str) -> str | None:
        """The loop over positions that a loop is, or is derived from."""
        if loop in self.positions:
            return loop
        one = self.made.get(loop)
        found = (self.over_positions(source) for source in (() if one is None else one.sources))
        return next((one for one in found if one is not None), None)

    def tensor_of(self, loop: str) -> str | None:
        """The tensor over whose positions a loop goes, or a loop that it is derived from."""
        at = self.over_positions(loop)
        return None if at is None else self.positions[at]

    def bound(self, command: Command) -> None:
        """Keeps a fact about the coordinates of a loop, which gets another name."""
        loop = self.check_loop(command, 0)
        name, number, kind = command.arguments[1:]
        tensor, size = self.tensor_of(loop), self.tile_of(loop)
        if tensor is not None and (size is None or kind.startswith("Min")):
            what = f"set the extent of {loop}, which is the number of positions of {tensor}"
            if kind.startswith("Min"):
                what = f"tell the first value of {loop}, which goes over positions of {tensor}"
            hint = "bound a variable, or the size of a loop that a split makes"
            raise mistake(command, f"bound cannot {what}", 0, hint)
        if size is not None:
            problem = broken(kind, int(number), size)
            if problem:
                raise mistake(command, f"{loop} has {size} values, {problem}", 2)
        derivations = tuple(dict.fromkeys(self.made.values()))
        if name != loop:
            (name,) = self.new_loops(command, 1)
            self.derive(Rename(loop, name))
        if size is None or kind.startswith("Min"):
            self.bounds.append(Bounded(loop, kind, int(number), derivations, command))

    def tile_of(self, loop: str) -> int | None:
        """How many values a loop has, if a split fixes its size."""
        one = self.made.get(loop)
        while isinstance(one, Rename) and one.name not in self.positions:
            loop = one.variable
            one = self.made.get(loop)
        return one.size if isinstance(one, Split) and loop == one.inner and not one.counts else None

    # Units

    def parallelize(self, command: Command) -> None:
        """Shares a loop out to units. Those that the target lacks may be ignored: with or without
        them, the result is the same."""
        loop, unit, _ = command.arguments
        if unit == "NotParallel":
            return
        self.check_strategy(command)
        if unit in UNITS_OF[self.target]:
            self.share(command)
            return
        if loop not in self.names:
            self.check_loop(command, 0)
        lacks = f"target {self.target} has no {unit}"
        if not self.ignore_units:
            others = (f"target {name}" for name, units in UNITS_OF.items() if unit in units)
            hint = f"{self.instead(command)}; {PASSED_OVER}"
            having = next(others, "GPUs: there is no target cuda yet")
            raise mistake(command, f"{lacks}, which is for {having}", 1, hint)
        self.notes[f"{command.said} is passed over: {lacks}"] = None

    @abstractmethod
    def share(self, command: Command) -> None:
        """Shares a loop out to units that the target has."""

    @abstractmethod
    def instead(self, command: Command) -> str:
        """The target's own unit in place of a unit that it lacks, in words."""

    def check_strategy(self, command: Command) -> None:
        """Raises UserError unless lanes get a number, and other units a strategy."""
        loop, unit, number = command.arguments
        if (unit == LANES) != number.isdigit():
            needs = "a number of lanes" if unit == LANES else "a race strategy"
            what = f"parallelize needs {needs} for {unit}, not {number}"
            raise mistake(command, what, 2, f"as in parallelize({loop},{LANES},4)")

    # Parts of an expression

    def part(self, command: Command) -> cin.Expression:
        """The expression that a ``precompute`` names."""
        text, (start, end) = command.arguments[0], command.spans[0]
        target = "x"
        while target in text:
            target += "x"
        try:
            declared = [*self.formats, *self.workspaces]
            found = right_side(notation.parse(f"{target}={text}", declared))
            return self.with_workspaces(found)
        except UserError as error:
            span = command.spans[0]
            if error.span is not None:
                moved = [start + max(0, place - len(target) - 1) for place in error.span]
                span = (min(moved[0], end), min(moved[1], end))
            raise UserError(error.what, source=command.text, span=span, hint=error.hint) from None

    def not_a_part(self, command: Command, value: cin.Expression) -> UserError:
        """The error that the expression of a ``precompute`` is no part of the right side."""
        nodes = list(cin.walk(value))
        whole = [one for one in nodes if isinstance(one, cin.Multiply | cin.Add)]
        known = [one for one in nodes if isinstance(one, cin.Access)]
        hint = "write a factor, term or product as it stands"
        if whole or known:
            hint += f", such as {(whole or known)[0]}"
        what = f"{command.arguments[0]} does not occur in {value}"
        return mistake(command, what, 0, hint)

    def check_filled(self, command: Command) -> tuple[list[str], list[str]]:
        """The loops of a ``precompute``, and their names where they fill the workspace."""
        loops, renamed = map(loops_of, command.arguments[1:3])
        if len(loops) != len(renamed):
            what = f"precompute names {len(loops)} loops and {len(renamed)} workspace loops"
            raise mistake(command, what, 2, "give as many as there are loops")
        return loops, renamed

    def with_workspaces(self, node: cin.Expression) -> cin.Expression:
        """A part with its accesses to workspaces completed: the user may write a workspace with
        fewer variables, where the loops around bind the others.
        """
        if isinstance(node, cin.Access) and node.tensor in self.workspaces:
            whole = self.filled(node.tensor)
            return whole if {*node.variables} <= {*whole.variables} else node
        return cin.with_children(node, self.with_workspaces)

    @abstractmethod
    def filled(self, workspace: str) -> cin.Access:
        """The access by which a workspace is filled."""

    def workspace(self, command: Command) -> str:
        """The name of a new workspace."""
        taken = [*self.formats, *self.workspaces]
        name, form = workspace(command)
        if name in taken:
            hint = "give the workspace a name of its own"
            raise mistake(command, f"{name} is a tensor already", 3, hint)
        if form and name in self.stored:
            raise mistake(command, f"{name} has the format {self.stored[name]} already", 3)
        if form:
            self.stored[name] = form
        if name:
            return name
        name, n = WORKSPACE, 1
        while name in taken:
            n += 1
            name = f"{WORKSPACE}{n}"
        return name
