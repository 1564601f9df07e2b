"""A scheduled program for target sam: statements that run in turn, each with its loops.

``split``, ``divide``, ``fuse``, ``pos`` and ``coord`` derive loops (``sam.derivations``),
``precompute`` computes a part of a statement in a statement of its own, before it, through a stored
workspace, and ``parallelize`` deals a loop to lanes. A command that names a loop holds for each
statement that has the loop.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from custard.ir import cin
from custard.language.formats import LEVEL_FORMATS, Format
from custard.scheduling.bounds import Bounded
from custard.scheduling.provenance import shares_of
from sam.derivations import Derivation, Fuse, Rename, Share, replaced


@dataclass(frozen=True)
class Statement:
    """A part of a scheduled program.

    ``program``  by the variables that the user wrote
    ``loops``    after all derivations, outermost first, by their bases: variables that differ only
                 in primes share a loop
    ``lanes``    into how many lanes a loop is dealt
    """

    program: cin.LoopProgram
    loops: tuple[str, ...]
    derivations: tuple[Derivation, ...] = ()
    lanes: Mapping[str, int] = field(default_factory=dict)

    @staticmethod
    def of(program: cin.LoopProgram, other: Statement) -> Statement:
        """A statement with the derivations, loops and lanes of another that apply to it."""
        known = {cin.base(variable) for variable in program.loops}
        derivations: list[Derivation] = []
        for one in other.derivations:
            if known & {*one.sources} or _is_shared(program, one):
                derivations.append(one)
                known = {*one.replaced(list(known)), *one.results}
        loops = tuple(loop for loop in other.loops if loop in known)
        lanes = {loop: n for loop, n in other.lanes.items() if loop in known}
        return Statement(program, loops, tuple(derivations), lanes)

    def with_derivation(self, derivation: Derivation) -> Statement:
        """The statement with one more derivation, if it has its sources; lanes go outwards."""
        if not {*derivation.sources} <= {*self.loops}:
            return self
        lanes = dict(self.lanes)
        for source in derivation.sources:
            if source in lanes:
                lanes[derivation.results[0]] = lanes.pop(source)
        loops = tuple(derivation.replaced(self.loops))
        return replace(self, loops=loops, derivations=(*self.derivations, derivation), lanes=lanes)

    def variables(self, loops: Iterable[str]) -> tuple[str, ...]:
        """The variables of the program that the loops go through, if they go through each of them
        whole; else none."""
        found = list(loops)
        for one in reversed(self.derivations):
            if not {*found} & {*one.results}:
                continue
            if not isinstance(one, Rename | Fuse):
                return ()
            result = one.results[0]
            found = [v for name in found for v in (one.sources if name == result else (name,))]
        return tuple(found) if {*found} <= {*map(cin.base, self.program.loops)} else ()

    def with_share(self, share: Share, inside: Collection[str]) -> Statement:
        """The statement with a loop over the shares of a tensor around some loops, if it has it."""
        if not _is_shared(self.program, share) or not {*inside} <= {*self.loops}:
            return self
        place = min(map(self.loops.index, inside))
        loops = (*self.loops[:place], share.share, *self.loops[place:])
        return replace(self, loops=loops, derivations=(*self.derivations, share))


def _is_shared(program: cin.LoopProgram, derivation: Derivation) -> bool:
    """Whether a program has an access that is stored by a share."""
    accesses = (node for node in cin.walk(program.value) if isinstance(node, cin.Access))
    return any(shares_of(access, [derivation]) for access in accesses)


@dataclass(frozen=True)
class Scheduled:
    """Statements, the last of which computes the result.

    ``workspaces``  the formats of the results of the other statements
    ``bounds``      conditions on the inputs
    """

    statements: tuple[Statement, ...]
    workspaces: Mapping[str, Format]
    notes: tuple[str, ...]
    bounds: tuple[Bounded, ...] = ()

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


def precomputed(
    program: cin.LoopProgram, part: cin.Expression, name: str, kept: Collection[str]
) -> tuple[cin.LoopProgram, cin.LoopProgram] | None:
    """The program of a part, and the program that reads its result; None where the part does not
    occur.

    Variables used only inside the part are reduced in the part, unless they are ``kept``.
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
    before = cin.LoopProgram(tuple(order), target, inside)
    used = {v for node in cin.walk(value) if isinstance(node, cin.Access | cin.Reduce)
            for v in node.variables}  # fmt: skip
    used |= {*program.target.variables}
    loops = tuple(v for v in program.loops if v in used)
    return before, replace(program, loops=loops, value=value)


def _with_access(
    node: cin.Expression, part: cin.Expression, access: cin.Access
) -> tuple[cin.Expression, int]:
    """The node with an access in the place of a part, and how many times it was replaced."""
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
    """The node without the sums that can move into the computation of the access; and those."""
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


def format_of(program: cin.LoopProgram, formats: Mapping[str, Format]) -> Format:
    """The format of a workspace: dense where each fiber has all coordinates, else compressed."""
    variables = program.target.variables
    codes = ("d" if _is_full(program.value, v, formats) else "s" for v in variables)
    return Format("".join(codes), tuple(range(len(variables))))


def in_loop_order(form: Format, statement: Statement) -> Format:
    """The format of a statement's result, with its levels in the order of the loops."""
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
