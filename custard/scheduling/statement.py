"""What a schedule makes of a program: statements that are computed in turn, each with its loops.

``split``, ``divide``, ``fuse``, ``pos`` and ``coord`` derive loops (``sam.derivations``),
``precompute`` has a part of a statement computed by one of its own before, whose result is stored
and read again, and ``parallelize`` deals a loop to lanes. A command that names a loop holds for
each statement that has it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from custard.ir import cin
from custard.language.commands import (
    CHOICES,
    LANES,
    Command,
    mistake,
    not_on,
)
from custard.language.formats import LEVEL_FORMATS, Format, parse_format, require_writable
from custard.scheduling.provenance import Derived, derive
from custard.scheduling.scheduler import Scheduler
from sam.derivations import Derivation, Fuse, Rename, replaced
from sam.support.errors import one_of


@dataclass(frozen=True)
class Statement:
    """A part of a scheduled program.

    ``program``  by the variables that the user wrote
    ``loops``    after all derivations, outermost first; by their bases, as variables are that
                 differ in primes alone
    ``lanes``    into how many lanes a loop is dealt
    """

    program: cin.Program
    loops: tuple[str, ...]
    derivations: tuple[Derivation, ...] = ()
    lanes: Mapping[str, int] = field(default_factory=dict)

    @staticmethod
    def of(program: cin.Program, other: Statement) -> Statement:
        """A statement with what of another one's derivations, loops and lanes it has use for."""
        known = {cin.base(variable) for variable in program.loops}
        derivations: list[Derivation] = []
        for one in other.derivations:
            if known & {*one.sources}:
                derivations.append(one)
                known = {*one.replaced(list(known))}
        loops = tuple(loop for loop in other.loops if loop in known)
        lanes = {loop: n for loop, n in other.lanes.items() if loop in known}
        return Statement(program, loops, tuple(derivations), lanes)

    def with_derivation(self, derivation: Derivation) -> Statement:
        """The statement with one more, if it has its sources. Lanes go with the outermost loop."""
        if not {*derivation.sources} <= {*self.loops}:
            return self
        lanes = dict(self.lanes)
        for source in derivation.sources:
            if source in lanes:
                lanes[derivation.results[0]] = lanes.pop(source)
        loops = tuple(derivation.replaced(self.loops))
        return replace(self, loops=loops, derivations=(*self.derivations, derivation), lanes=lanes)


@dataclass(frozen=True)
class Scheduled:
    """Statements, the last of which computes the result.

    ``workspaces``  the formats of what the others compute
    """

    statements: tuple[Statement, ...]
    workspaces: Mapping[str, Format]
    notes: tuple[str, ...]

    def variables(self) -> dict[str, dict[str, None]]:
        """The loops of each tensor of the user, and of each workspace."""
        found: dict[str, dict[str, None]] = {}
        for one in self.statements:
            for node in (one.program.target, *cin.walk(one.program.value)):
                if isinstance(node, cin.Access):
                    loops = map(cin.base, replaced(node.variables, one.derivations))
                    found.setdefault(node.tensor, {}).update(dict.fromkeys(loops))
        return found

    def read(self) -> set[str]:
        """The tensors that are operands."""
        nodes = (node for one in self.statements for node in cin.walk(one.program.value))
        return {node.tensor for node in nodes if isinstance(node, cin.Access)}


def scheduled(
    program: cin.Program,
    formats: Mapping[str, Format],
    commands: Iterable[Command],
    stored: Mapping[str, str],
    strict: bool = False,
    ignore_units: bool = False,
) -> Scheduled:
    """A program after its commands, on target sam.

    ``stored`` has the formats that are asked for of workspaces; others are chosen to suit.
    ``strict`` refuses loops of a ``reorder`` that are none, which else are passed over with a note;
    ``ignore_units`` passes over units that this target lacks.
    Raises UserError, with the place, for a command that cannot be followed.
    """
    scheduler = _Scheduler(program, formats, stored, strict, ignore_units)
    for command in commands:
        if command.name not in CHOICES:
            scheduler.follow(command)
    return scheduler.done()


_NOT_HERE = {
    "unroll": "a graph has no loop bodies to repeat; parallelize(LOOP, Lanes, N) has copies of it "
    "work side by side",
    "bound": "the extents of a graph's loops are those of its inputs",
    "assemble": "the writers of a graph always append, or insert where a format does",
}


class _Scheduler(Scheduler):
    """The state of a schedule: the statements so far."""

    target = "sam"

    def __init__(
        self,
        program: cin.Program,
        formats: Mapping[str, Format],
        stored: Mapping[str, str],
        strict: bool,
        ignore_units: bool,
    ) -> None:
        loops = tuple(dict.fromkeys(map(cin.base, program.loops)))
        super().__init__(formats, loops, strict, ignore_units)
        self.stored = stored
        self.statements = [Statement(program, loops)]
        self.actions |= {"precompute": self.precompute}

    def done(self) -> Scheduled:
        """The statements, with the workspaces stored as asked, or else in the order of the loops
        that write them."""
        notes = dict.fromkeys(self.notes)
        for one in self.statements[:-1]:
            target = one.program.target
            form = self.workspaces[target.tensor]
            if target.tensor not in self.stored:
                form = self.workspaces[target.tensor] = _ordered(form, one)
            stored = f"stored as {form}" if form.levels else "a number"
            notes[f"{target} = {one.program.value} is computed before, {stored}"] = None
        return Scheduled(tuple(self.statements), self.workspaces, tuple(notes))

    def apply(self, command: Command) -> None:
        """Follows a command."""
        if command.name in self.actions:
            self.actions[command.name](command)
            return
        if command.name != "assemble":
            self.check_loop(command, 0)
        raise not_on("sam", command, _NOT_HERE[command.name])

    # Loops

    @property
    def loops(self) -> list[str]:
        """Those of all statements."""
        return list(dict.fromkeys(loop for one in self.statements for loop in one.loops))

    def arrange(self, order: Callable[[Sequence[str]], Sequence[str]]) -> None:
        self.statements = [replace(one, loops=tuple(order(one.loops))) for one in self.statements]

    def derive(self, derivation: Derivation) -> None:
        self.statements = [one.with_derivation(derivation) for one in self.statements]

    def check_coordinates(self, command: Command, loop: str) -> None:
        """Raises UserError for a loop over positions."""
        tensor = self.positions.get(loop)
        if tensor is not None:
            raise mistake(
                command,
                f"{command.name} cannot work on {loop}, a loop over positions: tensors are stored "
                f"in tiles of coordinates, and equal numbers of entries of {tensor} are none",
                command.arguments.index(loop) if loop in command.arguments else None,
                f"{command.name} the loop before pos",
            )

    def check_fusible(self, command: Command) -> None:
        """Raises UserError unless the loops, and their levels in all tensors, are next to each
        other."""
        outer, inner = command.arguments[:2]
        for statement in self.statements:
            if {outer, inner} & {*statement.loops}:
                self.check_nested(command, statement.loops)
                self.check_levels(command, statement)

    def check_levels(self, command: Command, statement: Statement) -> None:
        """Raises UserError unless all tensors have the two levels next to each other."""
        outer, inner = command.arguments[:2]
        now = self.now(statement)
        nodes = list(cin.walk(now.program.value))
        for node in (now.program.target, *nodes):
            if isinstance(node, cin.Access):
                named = now.tensor(node.tensor)
                reason = _unfusible(node, now.formats[node.tensor], outer, inner)
            elif isinstance(node, cin.Reduce):
                named, reason = "a sum", _summed_apart(node, outer, inner)
            else:
                continue
            if reason:
                raise mistake(
                    command,
                    f"{outer} and {inner} cannot be fused: {named} {reason}",
                    hint="a tensor is stored with one level for both where it has both, one "
                    "directly inside of the other",
                )

    def values(self) -> list[cin.Expression]:
        return [one.program.value for one in self.statements]

    def having(self, loop: str) -> Collection[str]:
        return {
            one.tensor(node.tensor)
            for one in (self.now(one) for one in self.statements if loop in one.loops)
            for node in cin.walk(one.program.value)
            if isinstance(node, cin.Access) and loop in map(cin.base, node.variables)
        }

    def check_positions(self, command: Command) -> None:
        """Raises UserError where a loop goes elsewhere too: a scanner goes through positions
        anyhow."""
        loop, _, tensor = command.arguments
        for one in (self.now(one) for one in self.statements if loop in one.loops):
            if not _needs(one.program.value, tensor, one.tensor):
                raise mistake(
                    command,
                    f"pos cannot take {loop} to the positions of {tensor}: the loop also goes "
                    f"through values that {tensor} does not have",
                    2,
                )

    def now(self, statement: Statement) -> Derived:
        """A statement by the variables that it has come to."""
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
        loop, new = command.arguments[1:3]
        self.check_loop(command, 1)
        part = self.part(command)
        name = self.workspace(command)
        for n in range(len(self.statements) - 1, -1, -1):
            statement = self.statements[n]
            kept = _sources(loop, statement.derivations)
            found = precomputed(statement.program, part, name, kept)
            if found is not None:
                break
        else:
            right = self.statements[-1].program.value
            what = f"{command.arguments[0]} does not occur in {right}"
            raise mistake(command, what, 0, "write a whole factor, term or product of it")
        used = replaced(cin.free_variables(part), statement.derivations)
        if loop not in used:
            what = f"{command.arguments[0]} does not use {loop}"
            raise mistake(command, what, 1, one_of(loop, used))
        if new != loop:
            self.check_new(command, 2)
        before, after = found
        for half in found:
            self.check_whole(command, half, statement)
        producer = Statement.of(before, statement)
        if new != loop:
            producer = producer.with_derivation(Rename(loop, new))
        self.statements[n] = Statement.of(after, statement)
        self.statements.insert(n, producer)
        if name in self.stored:
            form = parse_format(self.stored[name], len(before.target.variables), name)
            require_writable(form, name)
        else:
            form = _ordered(_format(before, {**self.formats, **self.workspaces}), producer)
        self.workspaces[name] = form

    def filled(self, workspace: str) -> cin.Access:
        targets = (one.program.target for one in self.statements)
        return next(target for target in targets if target.tensor == workspace)

    def check_whole(self, command: Command, program: cin.Program, other: Statement) -> None:
        """Raises UserError where a half of a statement has one of two loops that are fused."""
        known = {cin.base(variable) for variable in program.loops}
        for one in other.derivations:
            if isinstance(one, Fuse) and len(known & {*one.sources}) == 1:
                (alone,) = known & {*one.sources}
                what = f"{program.target} = {program.value} has {alone} alone, which {one.fused}"
                what += f" fuses with {(set(one.sources) - {alone}).pop()}"
                raise mistake(command, what, 0, "precompute before fuse")
            if known & {*one.sources}:
                known = {*one.replaced(list(known))}


MOST_LANES = 256


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


# Workspaces


def precomputed(
    program: cin.Program, part: cin.Expression, name: str, kept: Collection[str]
) -> tuple[cin.Program, cin.Program] | None:
    """The program of a part, and the program that reads what it computes; None where it does not
    occur.

    A variable that is summed over and that nothing else has is summed over in the part, unless it
    is to be ``kept``.
    """
    order = [v for v in program.loops if v in cin.free_variables(part)]
    whole = cin.Access(name, tuple(order))
    value, times = _with_access(program.value, part, whole)
    if not times:
        return None
    summed: tuple[str, ...] = ()
    if times == 1:
        value, summed = _without_sums(value, whole, kept)
    target = cin.Access(name, tuple(v for v in order if v not in summed))
    inside = cin.Reduce(summed, part) if summed else part
    before = cin.Program(tuple(order), target, inside)
    used = {v for node in cin.walk(value) if isinstance(node, cin.Access | cin.Reduce)
            for v in node.variables}  # fmt: skip
    used |= {*program.target.variables}
    loops = tuple(v for v in program.loops if v in used)
    return before, replace(program, loops=loops, value=value)


def _with_access(
    node: cin.Expression, part: cin.Expression, access: cin.Access
) -> tuple[cin.Expression, int]:
    """The node with an access in the place of a part, and how often that was."""
    if node == part:
        return access, 1
    times = 0
    if isinstance(part, cin.Multiply | cin.Add) and isinstance(node, type(part)):
        rest, wanted = cin.without_brackets(node), cin.without_brackets(part)
        if all(rest.count(one) >= wanted.count(one) for one in wanted):
            first = rest.index(wanted[0])
            for one in wanted:
                rest.remove(one)
            rest.insert(min(first, len(rest)), access)
            node, times = (cin.with_operands(node, rest), 1)

    def change(child: cin.Expression) -> cin.Expression:
        nonlocal times
        child, found = _with_access(child, part, access)
        times += found
        return child

    return cin.with_children(node, change), times


def _without_sums(
    node: cin.Expression, access: cin.Access, kept: Collection[str]
) -> tuple[cin.Expression, tuple[str, ...]]:
    """The node without the sums that may go into the computation of the access, and those."""
    summed: dict[str, None] = {}

    def change(node: cin.Expression) -> cin.Expression:
        if isinstance(node, cin.Reduce):
            operand = node.operand
            factors = [operand]
            if isinstance(operand, cin.Multiply):
                factors = cin.without_brackets(operand)
            others = {v for one in factors if one != access for v in cin.free_variables(one)}
            if access in factors:
                gone = [v for v in node.variables if v in access.variables
                        and v not in others and v not in kept]  # fmt: skip
                summed.update(dict.fromkeys(gone))
                left = tuple(v for v in node.variables if v not in gone)
                return cin.Reduce(left, operand) if left else operand
        return cin.with_children(node, change)

    node = change(node)
    left = cin.Access(access.tensor, tuple(v for v in access.variables if v not in summed))

    def shorten(node: cin.Expression) -> cin.Expression:
        return left if node == access else cin.with_children(node, shorten)

    return shorten(node), tuple(summed)


def _format(program: cin.Program, formats: Mapping[str, Format]) -> Format:
    """The format of a workspace: dense where each fiber has all coordinates, else compressed."""
    variables = program.target.variables
    codes = ("d" if _is_full(program.value, v, formats) else "s" for v in variables)
    return Format("".join(codes), tuple(range(len(variables))))


def _ordered(form: Format, statement: Statement) -> Format:
    """The format of what a statement computes with its levels in the order of the loops."""
    variables = statement.program.target.variables

    def place(mode: int) -> int:
        derived = replaced((variables[mode],), statement.derivations)
        known = [statement.loops.index(cin.base(v)) for v in derived
                 if cin.base(v) in statement.loops]  # fmt: skip
        return min(known, default=0)

    order = tuple(sorted(form.mode_order, key=place))
    return Format("".join(form.levels[form.mode_order.index(mode)] for mode in order), order)


def _is_full(node: cin.Expression, variable: str, formats: Mapping[str, Format]) -> bool:
    """Whether a node has a value for each coordinate of a variable, wherever it has one."""
    match node:
        case cin.Access(tensor, variables):
            form = formats[tensor]
            modes = [m for m, one in enumerate(variables) if one == variable]
            codes = [form.levels[form.mode_order.index(mode)] for mode in modes]
            return all(LEVEL_FORMATS[code].full for code in codes)
        case cin.Multiply(factors):
            return cin.divides(node) or all(_is_full(one, variable, formats) for one in factors)
        case cin.Add(terms):
            return any(_is_full(term, variable, formats) for term in terms)
        case cin.Negate(operand) | cin.Reduce(_, operand):
            return _is_full(operand, variable, formats)
        case cin.Divide(numerator, _):
            return cin.divides(node) or _is_full(numerator, variable, formats)
    return True
