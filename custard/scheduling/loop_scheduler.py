"""Schedules of loop nests, for target c: from commands to a ``LoopNest``.

The preconditions of ``custard.scheduling.scheduler`` hold here too; this module adds the commands
that only target c follows, and its own preconditions of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from custard.ir import cin
from custard.ir.accesses import accesses
from custard.language.commands import CHOICES, LANES, WORKSPACES, Command, mistake, not_on
from custard.language.formats import LEVEL_FORMATS, Format, are_full, parse_format
from custard.scheduling.loops import NUMBERED, LoopNest, ParallelLoop, Precomputed
from custard.scheduling.scheduler import Scheduler
from custard.scheduling.statement import precomputed
from sam.derivations import Derivation, Rename, Split, parts
from sam.support.errors import one_of

# The most copies of the body of an unrolled loop: C compilers take minutes for more.
MOST_UNROLLED = 64


def nest(
    program: cin.LoopProgram,
    formats: Mapping[str, Format],
    commands: Iterable[Command],
    strict: bool = False,
    stored: Mapping[str, str] | None = None,
    ignore_units: bool = False,
) -> LoopNest:
    """The loops of a program after its commands.

    ``stored`` has the formats that are given for workspaces.
    ``strict`` refuses a ``reorder`` of unknown loops, which else are passed over with a note;
    ``ignore_units`` passes over units that this target lacks.
    Raises UserError, with the place, for a command that cannot be followed.
    """
    scheduler = _LoopScheduler(program, formats, strict, stored or {}, ignore_units)
    for command in commands:
        if command.name not in CHOICES:
            scheduler.follow(command)
    return scheduler.done()


class _LoopScheduler(Scheduler):
    """The state of a schedule: the graph so far."""

    target = "c"

    def __init__(
        self,
        program: cin.LoopProgram,
        formats: Mapping[str, Format],
        strict: bool,
        stored: Mapping[str, str],
        ignore_units: bool,
    ) -> None:
        loops = tuple(dict.fromkeys(map(cin.base, program.loops)))
        super().__init__(formats, loops, strict, stored, ignore_units)
        self.program = program
        self.found = LoopNest(loops)
        self.unrolled: dict[str, int] = {}
        self.parallel: dict[str, ParallelLoop] = {}
        self.precomputed: dict[str, Precomputed] = {}
        self.value = program.value
        self.placed: list[tuple[Command, str]] = []
        self.filling: set[str] = set()
        self.actions |= {
            "unroll": self.unroll,
            "precompute": self.precompute,
            "assemble": self.assemble,
        }

    def done(self) -> LoopNest:
        """The nest of loops, with all facts about them."""
        for command, loop in self.placed:
            self.check_placed(command, loop)
        found = self.found
        return LoopNest(
            found.loops,
            found.derivations,
            dict(self.positions),
            tuple(self.bounds),
            dict(self.unrolled),
            dict(self.parallel),
            dict(self.precomputed),
            self.value if self.precomputed else None,
            tuple(self.notes),
        )

    def apply(self, command: Command) -> None:
        """Follows a command."""
        if command.name not in self.actions:
            raise not_on("c", command, "it has no streams")
        self.actions[command.name](command)

    def check_loop(self, command: Command, argument: int, name: str = "") -> str:
        name = name or command.arguments[argument]
        if name in self.filling:
            what = f"{command.name} names {name}, the loop of a workspace, which stays as it is"
            raise mistake(command, what, argument, one_of(name, self.loops))
        return super().check_loop(command, argument, name)

    # The graph

    @property
    def loops(self) -> list[str]:
        return list(self.found.loops)

    def arrange(self, order: Callable[[Sequence[str]], Sequence[str]]) -> None:
        self.found = LoopNest(tuple(order(self.found.loops)), self.found.derivations)

    def replace(self, derivation: Derivation) -> None:
        loops = tuple(derivation.replaced(self.found.loops))
        self.found = LoopNest(loops, (*self.found.derivations, derivation))

    def check_coordinates(self, command: Command, loop: str) -> None:
        """A fused loop goes through all values of the inner loop for each of the outer one, so the
        number of positions of the inner loop must not depend on the outer one."""
        at = self.over_positions(loop)
        inner = command.name == "fuse" and loop == command.arguments[1]
        if at is None or not inner or self.tile_of(loop) is not None:
            return
        if not self.strict:
            self.back(at, f"as {loop} is fused" if at != loop else "as it is fused")
            return
        tensor = self.positions[at]
        raise mistake(
            command,
            f"fuse cannot have {loop} as the inner loop: it goes over the positions of {tensor}, "
            "whose number differs among the values of the outer loop",
            1,
            "fuse loops over coordinates, and take the fused loop to positions with pos",
        )

    def back(self, loop: str, why: str) -> None:
        """Takes a loop over positions back to coordinates, with a note."""
        del self.positions[loop]
        self.notes[f"{loop} goes over coordinates, {why}"] = None

    def join(self, command: Command) -> None:
        self.check_nested(command, self.found.loops)
        self.joined(command)

    # Positions

    def values(self) -> list[cin.Expression]:
        return [self.program.value]

    def having(self, loop: str) -> Collection[str]:
        wanted = self.found.originals(loop)
        return [
            node.tensor
            for node in accesses(self.program)
            if _levels(node, self.formats, wanted) is not None
        ]

    def check_positions(self, command: Command) -> None:
        """The levels that the loop goes through number positions."""
        loop, _, tensor = command.arguments
        wanted = self.found.originals(loop)
        if self.is_split(loop):
            return
        for node in accesses(self.program):
            if node.tensor != tensor:
                continue
            codes = _levels(node, self.formats, wanted)
            for code in codes or "":
                form = LEVEL_FORMATS[code]
                if code not in NUMBERED:
                    raise mistake(
                        command,
                        f"pos cannot take {loop} to the positions of {tensor}: its level there is "
                        f"{form.name}, which does not number its entries in order",
                        2,
                        "a level that does is "
                        + " or ".join(LEVEL_FORMATS[one].name for one in NUMBERED),
                    )
            if codes is not None:
                return

    def go_over_positions(self, command: Command, loop: str, name: str) -> None:
        self.derive(Rename(loop, name))
        if self.is_split(loop):
            self.back(name, f"as {loop} was split before")
        else:
            self.placed.append((command, name))

    def is_split(self, loop: str) -> bool:
        """Whether a loop comes from one that was split."""
        one = self.found.made(loop)
        if one is None or isinstance(one, Split):
            return one is not None
        return any(map(self.is_split, one.sources))

    def check_placed(self, command: Command, name: str) -> None:
        """The loops over the levels above those of a loop over positions are outside of it, and
        those over the levels below inside of it, if these cannot be searched for a coordinate."""
        if name not in self.positions:
            return
        tensor, nest = self.positions[name], self.found
        wanted = nest.originals(name)
        first = min((nest.loops.index(leaf) for leaf in nest.leaves(name)), default=0)
        last = nest.place(name)
        if nest.leaves(name) == (name,):
            return
        for node in accesses(self.program):
            if node.tensor != tensor:
                continue
            if _levels(node, self.formats, wanted) is None:
                continue
            form = self.formats[tensor]
            stored = [cin.base(node.variables[m]) for m in form.mode_order]
            begin = stored.index(wanted[0])
            end = begin + len(wanted)
            late = [v for v in stored[:begin] if nest.place(v) >= first]
            early = [
                v
                for v, code in zip(stored[end:], form.levels[end:], strict=True)
                if nest.place(v) < last and not LEVEL_FORMATS[code].locates
            ]
            if early and not self.strict:
                self.back(name, f"as the loop over {early[0]}, a level of {tensor} below, is "
                          "outside of it")  # fmt: skip
            elif early:
                raise mistake(
                    command,
                    f"the loop over {early[0]}, a level of {tensor} below {command.arguments[0]}, "
                    f"is outside of it: the loops are {', '.join(nest.loops)}",
                    0,
                    f"reorder the loop over {early[0]} inside of {nest.loops[last]}",
                )
            elif late and not self.strict:
                known = f"the positions of {tensor} there are known only inside of {late[0]}"
                self.back(name, f"as {known}")
            elif late:
                raise mistake(
                    command,
                    f"the positions of {tensor} at {command.arguments[0]} are known only inside of "
                    f"the loop over {late[0]}, and the loops are {', '.join(nest.loops)}",
                    0,
                    f"reorder the loop over {late[0]} outside of it, or fuse the two before pos",
                )
            return

    # Facts about loops

    def unroll(self, command: Command) -> None:
        """Unrolls a loop: its body is repeated, within the limit of C compilers."""
        loop, times = self.known_loop(command), int(command.arguments[1])
        if loop is None:
            return
        if times > MOST_UNROLLED:
            more = f"{MOST_UNROLLED} times: C compilers take minutes for more"
            self.notes[f"{command.said} repeats the body {more}"] = None
        self.unrolled[loop] = min(times, MOST_UNROLLED)

    def share(self, command: Command) -> None:
        """Shares the iterations of a loop out to threads, or to the lanes of vectors."""
        _, unit, races = command.arguments
        loop = self.known_loop(command)
        if loop is not None:
            self.parallel[loop] = ParallelLoop(unit, races, command)

    def instead(self, command: Command) -> str:
        loop, unit, races = command.arguments
        races = "NoRaces" if unit == LANES else races
        return f"parallelize({loop},CPUThread,{races}) shares the loop out to threads"

    def known_loop(self, command: Command) -> str | None:
        """The loop that a command names, by its current name.

        A loop that was only renamed is known by its old name too. A loop that was split or fused is
        gone: the command is skipped with a note, or refused under strict.
        """
        name = command.arguments[0]
        while (one := self.found.used(name)) is not None and isinstance(one, Rename):
            name = one.name
        if name in self.found.loops:
            return name
        if name in self.filling:
            why = f"{name} is the loop of a workspace"
            self.notes[f"{command.said} is passed over, as {why}"] = None
            return None
        if name not in self.names or self.strict:
            self.check_loop(command, 0)
        now = ", ".join(self.found.leaves(name))
        self.notes[f"{command.said} is passed over, as {name} is {now} now"] = None
        return None

    # Parts of the expression

    def precompute(self, command: Command) -> None:
        """Computes a part of the expression into a workspace, inside of the loops it needs. The
        workspace has a loop of its own, which no other command works on.
        """
        loops, renamed = self.check_filled(command)
        for loop in loops:
            if loop not in self.names or self.strict:
                self.check_loop(command, 1, loop)
        part = self.part(command)
        name = self.workspace(command)
        kept = {v for loop in loops for v in self.found.originals(loop)}
        inside: str | None
        for inside in (None, *reversed(self.precomputed)):
            program = replace(self.program, value=self.value)
            if inside is not None:
                program = self.precomputed[inside].program
            found = precomputed(program, part, name, kept)
            if found is not None:
                break
        else:
            raise self.not_a_part(command, self.value)
        before, after = found
        over = tuple(v for v in before.target.variables if parts(v)[0] in kept)
        for loop, new in zip(loops, renamed, strict=True):
            if not {parts(v)[0] for v in over} & {*self.found.originals(loop)}:
                free = {*cin.free_variables(part)}
                used = [v for v in self.loops if {*self.found.originals(v)} & free]
                what = f"{command.arguments[0]} does not use {loop}"
                raise mistake(command, what, 1, one_of(loop, used))
            if new != loop and new not in self.filling:
                self.check_new(command, 2, new)
                self.filling.add(new)
        if inside is None:
            self.value = after.value
        else:
            self.precomputed[inside] = replace(self.precomputed[inside], program=after)
        self.workspaces[name] = Format("s" * len(over), tuple(range(len(over))))
        self.precomputed[name] = Precomputed(before, over, self.policy(command, name, len(over)))

    def filled(self, workspace: str) -> cin.Access:
        return self.precomputed[workspace].program.target

    def policy(self, command: Command, name: str, modes: int) -> str | None:
        """The kind of workspace that is asked for, if any."""
        form = self.stored.get(name)
        if form is None or form.lower() in WORKSPACES:
            return form and form.lower()
        levels = parse_format(form, modes, name).levels
        for codes, policy in (("d", "dense"), ("suqc", "coord"), ("h", "hash")):
            if set(levels) <= set(codes):
                return policy
        raise mistake(
            command,
            f"the workspace {name} cannot be {levels}: its levels are all dense, all hashed, or "
            "those of a list of coordinates",
            3,
            f"give {name} the format {', '.join(WORKSPACES[:-1])} or {WORKSPACES[-1]}",
        )

    def assemble(self, command: Command) -> None:
        """Checks an ``assemble``, which has no effect: the storage of the result does not depend on
        it, nor on its third argument, whether entries are counted in loops of their own."""
        tensor, strategy = command.arguments[:2]
        result = self.program.target.tensor
        if tensor != result:
            what = f"assemble names {tensor}, and the result is {result}"
            raise mistake(command, what, 0, one_of(tensor, [result]))
        if strategy == "Insert" and not are_full(self.formats[result].levels):
            self.notes[
                f"{result} is appended to in its order, and threads count their entries before "
                "they put them in place"
            ] = None


def _levels(access: cin.Access, formats: Mapping[str, Format], wanted: Sequence[str]) -> str | None:
    """The levels of an access for some variables, if they lie one below the other; else None."""
    form = formats[access.tensor]
    stored = [parts(access.variables[mode])[0] for mode in form.mode_order]
    for n in range(len(stored) - len(wanted) + 1):
        if stored[n : n + len(wanted)] == list(wanted):
            return form.levels[n : n + len(wanted)]
    return None
