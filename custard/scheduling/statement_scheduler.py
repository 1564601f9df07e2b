"""Schedules of statements, for target sam: from commands to ``Scheduled``.

The preconditions of ``custard.scheduling.scheduler`` hold here too; this module adds those of
graphs, where all tensors are stored by the loops.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from custard.ir import cin
from custard.language.commands import (
    CHOICES,
    LANES,
    MOST_LANES,
    PASSED_OVER,
    WORKSPACES,
    Command,
    mistake,
    not_on,
)
from custard.language.formats import Format, parse_format, require_writable
from custard.scheduling.provenance import Derived, derive
from custard.scheduling.scheduler import Scheduler
from custard.scheduling.statement import (
    Scheduled,
    Statement,
    format_of,
    in_loop_order,
    precomputed,
)
from sam.derivations import Derivation, Fuse, Rename, Share, replaced
from sam.support.errors import UserError, one_of


def scheduled(
    program: cin.LoopProgram,
    formats: Mapping[str, Format],
    commands: Iterable[Command],
    stored: Mapping[str, str],
    strict: bool = False,
    ignore_units: bool = False,
) -> Scheduled:
    """A program after its commands, on target sam.

    ``stored`` has the formats that are asked for, by workspace; others are chosen.
    ``strict`` refuses a ``reorder`` of unknown loops, which else are passed over with a note;
    ``ignore_units`` passes over units that this target lacks.
    Raises UserError, with the place, for a command that cannot be followed.
    """
    scheduler = _StatementScheduler(program, formats, stored, strict, ignore_units)
    for command in commands:
        if command.name not in CHOICES:
            scheduler.follow(command)
    return scheduler.done()


_NOT_HERE = {
    "unroll": "a graph has no loop bodies to repeat; parallelize(LOOP, Lanes, N) has copies of it "
    "work side by side",
    "assemble": "the writers of a graph always append, or insert where a format does",
}


@dataclass(frozen=True)
class EntryLoop:
    """A loop that ``fuse`` or ``pos`` made, as the loops and entries that it goes through.

    ``loops``   the loops of the statements, outermost first; several loops stay apart
    ``tensor``  the tensor whose entries it goes through, once ``pos`` tells
    ``around``  the shares of the entries around it: see ``sam.derivations.Share``
    ``apart``   why its loops were not fused, an error unless they are shared out
    """

    loops: tuple[str, ...]
    tensor: str | None = None
    around: tuple[tuple[int, bool], ...] = ()
    apart: UserError | None = None


class _StatementScheduler(Scheduler):
    """The state of a schedule: the statements so far."""

    target = "sam"

    def __init__(
        self,
        program: cin.LoopProgram,
        formats: Mapping[str, Format],
        stored: Mapping[str, str],
        strict: bool,
        ignore_units: bool,
    ) -> None:
        loops = tuple(dict.fromkeys(map(cin.base, program.loops)))
        super().__init__(formats, loops, strict, stored, ignore_units)
        self.statements = [Statement(program, loops)]
        self.entries: dict[str, EntryLoop] = {}
        self.actions |= {"precompute": self.precompute}

    def done(self) -> Scheduled:
        """The statements, with the workspaces stored as asked, or else in the order of the loops
        that write them."""
        notes = dict.fromkeys(self.notes)
        for found in self.entries.values():
            if found.apart is not None:
                raise found.apart
        for one in self.statements[:-1]:
            target = one.program.target
            form = self.workspaces[target.tensor]
            if target.tensor not in self.stored:
                form = self.workspaces[target.tensor] = in_loop_order(form, one)
            stored = f"stored as {form}" if form.levels else "a number"
            notes[f"{target} = {one.program.value} is computed before, {stored}"] = None
        bounds = tuple(self.bounds)
        return Scheduled(tuple(self.statements), self.workspaces, tuple(notes), bounds)

    def apply(self, command: Command) -> None:
        """Follows a command."""
        if command.name in self.actions:
            self.actions[command.name](command)
            return
        if command.name != "assemble" and command.arguments[0] not in self.names:
            self.check_loop(command, 0)
        if not self.ignore_units:
            raise not_on("sam", command, _NOT_HERE[command.name], PASSED_OVER)
        self.notes[f"{command.said} is passed over: {_NOT_HERE[command.name]}"] = None

    def tensor_of(self, loop: str) -> str | None:
        """The tensor over whose positions a loop goes; or whose entries it, or one that it is
        derived from, shares out."""
        for one in self.statements:
            for derivation in one.derivations:
                if isinstance(derivation, Share) and derivation.share == loop:
                    return derivation.tensor
        made = self.made.get(loop)
        found = (self.tensor_of(source) for source in (() if made is None else made.sources))
        return next((one for one in found if one is not None), super().tensor_of(loop))

    # Loops

    @property
    def loops(self) -> list[str]:
        """The loops of all statements."""
        return list(dict.fromkeys(loop for one in self.statements for loop in one.loops))

    def arrange(self, order: Callable[[Sequence[str]], Sequence[str]]) -> None:
        self.statements = [replace(one, loops=tuple(order(one.loops))) for one in self.statements]

    def replace(self, derivation: Derivation) -> None:
        self.statements = [one.with_derivation(derivation) for one in self.statements]

    # Loops that are fused, and loops over entries

    def check_loop(self, command: Command, argument: int, name: str = "") -> str:
        """An argument, or a name in it, that must be a loop, or loops that stay apart where a
        command takes some."""
        name = name or command.arguments[argument]
        found = self.entries.get(name)
        if found is None or name in self.loops:
            return super().check_loop(command, argument, name)
        takes = ("split", "divide") if found.tensor else ("fuse", "pos")
        if argument == 0 and command.name in takes:
            return name
        what = f"{command.name} names {name}, which stands for the loops {', '.join(found.loops)}"
        raise found.apart or mistake(
            command, what, argument, f"name one of {', '.join(found.loops)}"
        )

    def check_coordinates(self, command: Command, loop: str) -> None:
        """Raises UserError for a loop over positions."""
        found = self.entries.get(loop)
        if found is not None and found.tensor is not None:
            raise mistake(
                command,
                f"{command.name} cannot work on {loop}, a loop over the positions of "
                f"{found.tensor}",
                command.arguments.index(loop) if loop in command.arguments else None,
                f"{command.name} the loop before pos",
            )

    def reorder(self, command: Command) -> None:
        named: list[tuple[str, tuple[int, int]]] = []
        for word, span in zip(command.arguments, command.spans, strict=True):
            found = self.entries.get(word)
            named += [(loop, span) for loop in ((word,) if found is None else found.loops)]
        words, spans = zip(*named, strict=True)
        super().reorder(replace(command, arguments=words, spans=spans))

    def join(self, command: Command) -> None:
        """Makes one loop of two, if all tensors can be stored so; else the two stay apart, and
        equal shares of a tensor's entries may go through both (``pos`` and ``split``)."""
        outer, inner, fused = command.arguments
        held = self.entries.pop(outer, None)
        loops = (outer, inner) if held is None else (*held.loops, inner)
        last = replace(command, arguments=(*loops[-2:], fused))
        for statement in self.statements:
            if {*loops} & {*statement.loops}:
                self.check_nested(last, statement.loops)
        reasons = (self.unfusible(command, one) for one in self.statements if held is None)
        apart = next(filter(None, reasons), None) if held is None else held.apart
        if apart is None:
            self.joined(command)
        else:
            (fused,) = self.new_loops(command, 2)
            self.entries[fused] = EntryLoop(loops, apart=apart)

    def unfusible(self, command: Command, statement: Statement) -> UserError | None:
        """The error for tensors whose levels of two loops are not next to each other, if any."""
        outer, inner = command.arguments[:2]
        if not {outer, inner} & {*statement.loops}:
            return None
        now = self.now(statement)
        for node in (now.program.target, *cin.walk(now.program.value)):
            if isinstance(node, cin.Access):
                named = now.tensor(node.tensor)
                reason = _unfusible(node, now.formats[node.tensor], outer, inner)
            elif isinstance(node, cin.Reduce):
                named, reason = "a sum", _summed_apart(node, outer, inner)
            else:
                continue
            if reason:
                return mistake(
                    command,
                    f"{outer} and {inner} cannot be fused: {named} {reason}",
                    hint="fuse needs the levels of both variables one directly inside of the other "
                    "in each tensor that has both; pos, then split, divides the entries of any "
                    "tensor",
                )
        return None

    def values(self) -> list[cin.Expression]:
        return [one.program.value for one in self.statements]

    def having(self, loop: str) -> Collection[str]:
        if loop in self.entries:
            found = self.accesses(self.entries[loop].loops)
            return dict.fromkeys(access.tensor for _, access, _ in found)
        return {
            one.tensor(node.tensor)
            for one in (self.now(one) for one in self.statements if loop in one.loops)
            for node in cin.walk(one.program.value)
            if isinstance(node, cin.Access) and loop in map(cin.base, node.variables)
        }

    def accesses(
        self, loops: Sequence[str]
    ) -> Iterator[tuple[Statement, cin.Access, tuple[str, ...]]]:
        """The accesses whose consecutive levels the loops go through, with the variables of these
        levels and all above, outermost first."""
        formats = {**self.formats, **self.workspaces}
        for statement in self.statements:
            wanted = statement.variables(loops)
            for node in cin.walk(statement.program.value) if wanted else ():
                if isinstance(node, cin.Access) and not node.computed:
                    order = formats[node.tensor].mode_order
                    stored = tuple(cin.base(node.variables[mode]) for mode in order)
                    for end in range(len(wanted), len(stored) + 1):
                        if stored[end - len(wanted) : end] == wanted:
                            if len({*stored}) == len(stored):
                                yield statement, node, stored[:end]
                            break

    def check_positions(self, command: Command) -> None:
        """Raises UserError where a loop also goes through coordinates that the tensor lacks. (A
        scanner always goes through positions.)"""
        loop, _, tensor = command.arguments
        found = self.entries.get(loop)
        loops = (loop,) if found is None else found.loops
        for one in (self.now(one) for one in self.statements if {*loops} <= {*one.loops}):
            if not _needs(one.program.value, tensor, one.tensor):
                raise mistake(
                    command,
                    f"pos cannot take {loop} to the positions of {tensor}: the loop also goes "
                    f"through coordinates that {tensor} does not store",
                    2,
                    "name a tensor that is a factor of every term",
                )

    def go_over_positions(self, command: Command, loop: str, name: str) -> None:
        tensor = command.arguments[2]
        if loop in self.entries:
            self.entries[name] = replace(self.entries.pop(loop), tensor=tensor)
        else:
            self.derive(Rename(loop, name))
            self.entries[name] = EntryLoop((name,), tensor)

    def coordinate(self, command: Command) -> None:
        super().coordinate(command)
        del self.entries[command.arguments[0]]

    def split(self, command: Command) -> None:
        """Tiles; of a loop over positions, equal shares of the entries of its tensor."""
        found = self.entries.get(command.arguments[0])
        if found is None or found.tensor is None:
            super().split(command)
            return
        name = self.check_loop(command, 0)
        shared = self.numbered(found)
        if isinstance(shared, str):
            if found.apart is not None or self.strict:
                what = f"{name} cannot be split over the positions of {found.tensor}: {shared}"
                hint = f"{command.name} before pos makes tiles of coordinates"
                raise mistake(command, what, 0, hint)
            self.notes[f"{name} goes over coordinates, as {shared}"] = None
            del self.entries[name]
            at = self.over_positions(name)
            if at is not None:
                del self.positions[at]
            super().split(command)
            return
        del self.entries[name]
        (outer, inner), counts = self.new_loops(command, 1, 2), command.name == "divide"
        share = replace(
            shared, share=outer, size=int(command.arguments[3]), counts=counts, around=found.around
        )
        self.statements = [one.with_share(share, found.loops) for one in self.statements]
        loops = found.loops
        if loops == (name,):
            self.derive(Rename(name, inner))
            loops = (inner,)
        around = (*found.around, (share.size, counts))
        self.entries[inner] = EntryLoop(loops, found.tensor, around)

    def numbered(self, entries: EntryLoop) -> Share | str:
        """A share of entries, still without name and size; or why there can be none."""
        for statement, access, variables in self.accesses(entries.loops):
            if access.tensor != entries.tensor:
                continue
            above = len(variables) - len(statement.variables(entries.loops))
            first = statement.loops.index(entries.loops[0])
            for n, variable in enumerate(variables[:above], start=1):
                # With those before it: a loop may be fused of several.
                loops = replaced(variables[:n], statement.derivations)
                if max(map(statement.loops.index, loops), default=first) > first:
                    return (
                        f"the positions of {entries.tensor} there are known only inside of "
                        f"{variable}"
                    )
            subscripts = tuple(map(cin.base, access.variables))
            return Share(access.tensor, subscripts, variables, above, "", 1)
        return "the loop was split before, or does not go through levels one below the other"

    def now(self, statement: Statement) -> Derived:
        """A statement in its present variables, after all derivations so far."""
        formats = {**self.formats, **self.workspaces}
        return derive(statement.program, statement.derivations, statement.loops, formats)

    # Lanes

    def share(self, command: Command) -> None:
        loop, number = self.check_loop(command, 0), command.arguments[2]
        if int(number) > MOST_LANES:
            what = f"parallelize takes {MOST_LANES} lanes at most, not {number}"
            raise mistake(command, what, 2)
        for n, one in enumerate(self.statements):
            if loop in one.loops:
                self.statements[n] = replace(one, lanes={**one.lanes, loop: int(number)})

    def instead(self, command: Command) -> str:
        return (
            f"parallelize({command.arguments[0]},{LANES},4) has 4 copies of a part of the graph "
            "work side by side"
        )

    # Workspaces

    def precompute(self, command: Command) -> None:
        loops, renamed = self.check_filled(command)
        for loop in loops:
            self.check_loop(command, 1, loop)
        part = self.part(command)
        name = self.workspace(command)
        for n in range(len(self.statements) - 1, -1, -1):
            statement = self.statements[n]
            kept = {v for loop in loops for v in _sources(loop, statement.derivations)}
            found = precomputed(statement.program, part, name, kept)
            if found is not None:
                break
        else:
            raise self.not_a_part(command, self.statements[-1].program.value)
        used = replaced(cin.free_variables(part), statement.derivations)
        for loop, new in zip(loops, renamed, strict=True):
            if loop not in used:
                what = f"{command.arguments[0]} does not use {loop}"
                raise mistake(command, what, 1, one_of(loop, used))
            if new != loop:
                self.check_new(command, 2, new)
        before, after = found
        for half in found:
            self.check_whole(command, half, statement)
        producer = Statement.of(before, statement)
        for loop, new in zip(loops, renamed, strict=True):
            if new != loop:
                self.made[new] = Rename(loop, new)  # without derive(), as other statements keep it
                producer = producer.with_derivation(self.made[new])
        self.statements[n] = Statement.of(after, statement)
        self.statements.insert(n, producer)
        if self.stored.get(name) in WORKSPACES:
            what = f"target sam has no {self.stored[name]} workspace: {name} is a tensor"
            levels = "s" * len(before.target.variables)
            raise mistake(command, what, 3, f"give {name} the format {levels}")
        if name in self.stored:
            form = parse_format(self.stored[name], len(before.target.variables), name)
            require_writable(form, name)
        else:
            form = in_loop_order(format_of(before, {**self.formats, **self.workspaces}), producer)
        self.workspaces[name] = form

    def filled(self, workspace: str) -> cin.Access:
        targets = (one.program.target for one in self.statements)
        return next(target for target in targets if target.tensor == workspace)

    def check_whole(self, command: Command, program: cin.LoopProgram, other: Statement) -> None:
        """Raises UserError where half of a statement has only one of two fused loops."""
        known = {cin.base(variable) for variable in program.loops}
        for one in other.derivations:
            if isinstance(one, Fuse) and len(known & {*one.sources}) == 1:
                (alone,) = known & {*one.sources}
                what = f"{program.target} = {program.value} has {alone} alone, which {one.fused}"
                what += f" fuses with {(set(one.sources) - {alone}).pop()}"
                raise mistake(command, what, 0, "precompute before fuse")
            if known & {*one.sources}:
                known = {*one.replaced(list(known))}


def _sources(loop: str, derivations: Sequence[Derivation]) -> set[str]:
    """The variables that a loop is derived from, itself among them."""
    found = {loop}
    for derivation in reversed(derivations):
        if found & {*derivation.results}:
            found |= {*derivation.sources}
    return found


def _unfusible(access: cin.Access, form: Format, outer: str, inner: str) -> str | None:
    """Why an access cannot have one level for two variables, if it cannot."""
    for one in access.computed:
        if one is not None and {outer, inner} & {*map(cin.base, one.variables)}:
            return f"has the computed subscript {one}"
    stored = [cin.base(access.variables[mode]) for mode in form.mode_order]
    having = [variable for variable in stored if variable in (outer, inner)]
    if having == [outer, inner]:
        if stored.index(inner) == stored.index(outer) + 1:
            return None
        return f"is stored as {form}, with other levels between theirs"
    if not having:
        return None
    if having == [inner, outer]:
        return f"is stored as {form}, {inner} outside of {outer}"
    if len(set(having)) == 2:
        return "has one of them twice"
    return f"has {having[0]} alone"


def _summed_apart(node: cin.Reduce, outer: str, inner: str) -> str | None:
    """Why a sum cannot go over two variables as one, if it cannot."""
    summed = [cin.base(variable) for variable in node.variables]
    if summed.count(outer) == summed.count(inner) < 2:
        return None
    return f"goes over {outer if outer in summed else inner} alone"


def _needs(node: cin.Expression, tensor: str, named: Callable[[str], str]) -> bool:
    """Whether a node is zero wherever a tensor is."""
    match node:
        case cin.Access(name):
            return named(name) == tensor
        case cin.Add(terms):
            return all(_needs(term, tensor, named) for term in terms)
        case cin.Multiply(factors):
            return any(_needs(factor, tensor, named) for factor in factors)
        case cin.Negate(operand) | cin.Reduce(_, operand) | cin.Divide(operand, _):
            return _needs(operand, tensor, named)
    return False
