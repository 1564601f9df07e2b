"""The schedules that are worth a look: the search space, pruned (scheduling paper, Section 6).

As there, a candidate is made in two stages: how the iteration space is partitioned, then in which
order its loops run and which of them is shared out. Of what the paper prunes, these never come up:

- sparse operands against the order that they are stored in, wherever another order is possible
- tiles of a loop over compressed levels, which would be sought in each tile
- a split that nothing is done with, a loop that is split twice, a fused loop that is not split
- parallel loops other than the outermost in C

Operands without a format are stored in the order of the loops. The result without one is tried
compressed, and dense where that takes no more room than the operands do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations, islice, permutations
from math import prod

from custard.ir import cin
from custard.language.commands import LANES
from custard.language.formats import LEVEL_FORMATS, Format, are_full
from custard.targets import Target

_MOST_ORDERS = 1_000
# Places of a dense result for each stored entry of the operands, at most.
_ROOM = 8
_MOST_ROWS = 2**28  # for which a matrix without a format is CSR
_TILES = (32, 256)  # of dense loops
_BLOCKS = (64, 1024)  # of entries that are shared out


@dataclass(frozen=True)
class Problem:
    """What is to be scheduled.

    ``given``    the formats that are asked for
    ``dense``    the inputs that are dense arrays
    ``extents``  by variable; ``entries`` of all inputs together
    ``parts``    how many lanes, or threads, may share a loop
    """

    program: cin.LoopProgram
    given: Mapping[str, Format]
    dense: frozenset[str]
    extents: Mapping[str, int]
    entries: int
    target: Target
    parts: int

    @property
    def loops(self) -> tuple[str, ...]:
        """The loops by the names that commands have for them."""
        return tuple(dict.fromkeys(map(cin.base, self.program.loops)))

    def accesses(self) -> list[cin.Access]:
        """Those of the result and of the operands."""
        nodes = (self.program.target, *cin.walk(self.program.value))
        return [
            node
            for node in nodes
            if isinstance(node, cin.Access) and not isinstance(node, cin.Mask)
        ]


@dataclass(frozen=True)
class ThreadedLoop:
    """A loop that is shared out, with ``tensor`` in blocks of that many of its entries."""

    loop: str
    parts: int
    tensor: str | None = None
    block: int = 0


@dataclass(frozen=True)
class Candidate:
    """A schedule, and what an estimate needs to know of it.

    ``formats``     of all tensors
    ``statements``  what runs in turn, with the loops in their order
    ``workspaces``  the formats of what all but the last statement compute
    ``tile``        the loop that is cut into tiles, those outermost, and their extent
    """

    schedule: tuple[str, ...]
    formats: Mapping[str, Format]
    statements: tuple[cin.LoopProgram, ...]
    workspaces: Mapping[str, Format] = field(default_factory=dict)
    shared: ThreadedLoop | None = None
    tile: tuple[str, int] | None = None

    @property
    def loops(self) -> tuple[str, ...]:
        """The loops of what makes the result."""
        return self.statements[-1].loops


def candidates(problem: Problem) -> Iterator[Candidate]:
    """All that is worth a look; some of it may be refused by the compiler."""
    for order in islice(_orders(problem), _MOST_ORDERS):
        for formats in _formats(problem, order):
            plain = _ordered(problem, order, formats)
            for found in (plain, *_precomputed(problem, plain), *_tiled(problem, plain)):
                yield found
                yield from _shared(problem, found)


def unscheduled(problem: Problem) -> Iterator[dict[str, Format]]:
    """The formats with which the compiler may choose the loops by itself."""
    return _formats(problem, problem.loops)


def follows(candidate: Candidate) -> bool:
    """Whether all operands are gone through in the order in which they are stored."""
    return all(
        _follows(node, one.loops, candidate.formats[node.tensor])
        for one in candidate.statements
        for node in cin.walk(one.value)
        if isinstance(node, cin.Access) and node.tensor in candidate.formats and not node.computed
    )


def _follows(access: cin.Access, loops: Sequence[str], form: Format) -> bool:
    places = [loops.index(access.variables[mode]) for mode in form.mode_order]
    return all(
        LEVEL_FORMATS[code].full or all(before <= places[n] for before in places[:n])
        for n, code in enumerate(form.levels)
    )


def _orders(problem: Problem) -> Iterator[tuple[str, ...]]:
    """The orders in which all sparse operands are stored that have a format; if there is none, all
    orders."""
    above: dict[str, set[str]] = {loop: set() for loop in problem.loops}
    for access in problem.accesses()[1:]:
        form = problem.given.get(access.tensor)
        if form is None or access.computed:
            continue
        stored = [cin.base(access.variables[mode]) for mode in form.mode_order]
        for n, code in enumerate(form.levels):
            if not LEVEL_FORMATS[code].full:
                above[stored[n]] |= {*stored[:n]} - {stored[n]}
    found = _extended((), above)
    first = next(found, None)
    return permutations(problem.loops) if first is None else chain((first,), found)


def _extended(
    order: tuple[str, ...], above: Mapping[str, Collection[str]]
) -> Iterator[tuple[str, ...]]:
    """The orders that begin so, with each loop inside of those above it."""
    if len(order) == len(above):
        yield order
    for loop, others in above.items():
        if loop not in order and {*others} <= {*order}:
            yield from _extended((*order, loop), above)


# Formats


def _formats(problem: Problem, order: Sequence[str]) -> Iterator[dict[str, Format]]:
    """The formats of all tensors: those that are given, and others in the order of the loops."""
    found: dict[str, Format] = {}
    target = problem.program.target
    for access in problem.accesses():
        form = problem.given.get(access.tensor)
        found.setdefault(access.tensor, form or _default(problem, access, order))
    yield found
    room = prod(problem.extents[cin.base(v)] for v in target.variables)
    if target.tensor not in problem.given and target.variables and room <= _room(problem):
        dense = Format("d" * len(target.variables), found[target.tensor].mode_order)
        if dense != found[target.tensor]:
            yield {**found, target.tensor: dense}


def _room(problem: Problem) -> int:
    return _ROOM * problem.entries


def _default(problem: Problem, access: cin.Access, order: Sequence[str]) -> Format:
    """The format of a tensor that none is given for."""
    count = len(access.variables)
    modes = range(count)
    if not access.computed:
        places = [order.index(cin.base(variable)) for variable in access.variables]
        modes = sorted(modes, key=places.__getitem__)  # type: ignore[assignment]
    if access.tensor in problem.dense:
        return Format("d" * count, tuple(modes))
    levels = problem.target.levels(count)
    if levels[:1] == "d" and problem.extents[cin.base(access.variables[modes[0]])] > _MOST_ROWS:
        levels = "s" * count
    return Format(levels, tuple(modes))


# Orders and partitions


def _ordered(problem: Problem, order: Sequence[str], formats: Mapping[str, Format]) -> Candidate:
    loops = sorted(problem.program.loops, key=lambda loop: order.index(cin.base(loop)))
    program = cin.resolved(replace(problem.program, loops=tuple(loops)))
    schedule = (f"reorder({','.join(order)})",) if len(order) > 1 else ()
    return Candidate(schedule, formats, (program,))


def _tiled(problem: Problem, plain: Candidate) -> Iterator[Candidate]:
    """A loop over dense levels alone in tiles, those outermost, for a dense result."""
    (program,) = plain.statements
    if problem.target.simulated or not are_full(plain.formats[program.target.tensor].levels):
        return
    for loop in program.loops[1:]:
        extent = problem.extents[cin.base(loop)]
        if cin.base(loop) != loop or not _is_dense(problem, loop, plain.formats):
            continue
        for size in (size for size in _TILES if 2 * size <= extent):
            outer, inner = _new(problem, f"{loop}0"), _new(problem, f"{loop}1")
            order = [outer, *(inner if one == loop else one for one in program.loops)]
            schedule = (f"split({loop},{outer},{inner},{size})", f"reorder({','.join(order)})")
            yield replace(plain, schedule=schedule, tile=(loop, size))


def _is_dense(problem: Problem, loop: str, formats: Mapping[str, Format]) -> bool:
    """Whether all levels over a loop are full."""
    return all(
        LEVEL_FORMATS[formats[one.tensor].levels[n]].full
        for one in problem.accesses()
        for n, mode in enumerate(formats[one.tensor].mode_order)
        if one.variables[mode] == loop
    )


def _new(problem: Problem, name: str) -> str:
    """A name that no loop and no tensor has, as like this one as can be."""
    used = {*problem.loops, *(one.tensor for one in problem.accesses())}
    while name in used:
        name += "_"
    return name


# Workspaces


def _precomputed(problem: Problem, plain: Candidate) -> Iterator[Candidate]:
    """A part of a product that has a sum of its own, made before the rest."""
    (program,) = plain.statements
    value = program.value
    if not isinstance(value, cin.Reduce) or not isinstance(value.operand, cin.Multiply):
        return
    factors = value.operand.factors
    if len(factors) > 6 or not all(isinstance(one, cin.Access) for one in factors):
        return
    for count in range(2, len(factors)):
        for group in combinations(factors, count):
            rest = [one for one in factors if not any(one is other for other in group)]
            left = {v for one in rest for v in cin.free_variables(one)}
            used = dict.fromkeys(v for one in group for v in cin.free_variables(one))
            summed = tuple(v for v in used if v in value.variables and v not in left)
            own = [v for v in program.loops if v in used]
            free = [v for v in own if v not in summed]
            if not summed or not free or any(cin.base(v) != v for v in used):
                continue
            # In C, a workspace over one variable is filled where all others are bound.
            if problem.target.simulated or own[: len(free) - 1] == free[:-1]:
                yield _split_off(problem, plain, group, rest, summed, free)


def _split_off(
    problem: Problem,
    plain: Candidate,
    group: Sequence[cin.Expression],
    rest: Sequence[cin.Expression],
    summed: tuple[str, ...],
    free: Sequence[str],
) -> Candidate:
    """The candidate that computes a group of factors first, over the innermost of its loops."""
    (program,) = plain.statements
    assert isinstance(program.value, cin.Reduce)
    name, over = _new(problem, "W"), free[-1]
    workspace = cin.Access(name, tuple(free))
    others = tuple(v for v in program.value.variables if v not in summed)
    product = cin.Multiply((*rest, workspace))
    then = cin.Reduce(others, product) if others else product
    first = cin.LoopProgram(
        tuple(v for v in program.loops if v in {*free, *summed}),
        workspace,
        cin.Reduce(summed, cin.Multiply(tuple(group))),
    )
    last = replace(program, loops=tuple(v for v in program.loops if v not in summed), value=then)
    text = "*".join(map(str, group))
    schedule = (*plain.schedule, f"precompute({text},{over},{over},{name})")
    levels = "s" if problem.target.simulated else "d"
    workspaces = {name: Format(levels * len(free), tuple(range(len(free))))}
    return replace(plain, schedule=schedule, statements=(first, last), workspaces=workspaces)


# Parallel loops


def _shared(problem: Problem, found: Candidate) -> Iterator[Candidate]:
    """The candidate with a loop shared out."""
    if problem.parts < 2 or not found.loops:
        return
    if problem.target.simulated:
        if len(found.statements) == 1:
            for loop in dict.fromkeys(map(cin.base, found.loops)):
                command = f"parallelize({loop},{LANES},{problem.parts})"
                yield _with(found, ThreadedLoop(loop, problem.parts), command)
        return
    outermost = found.loops[0]
    if cin.base(outermost) != outermost or len(found.statements) > 1:
        return
    if found.tile is not None:
        outermost = found.tile[0]
    kept = problem.program.target.variables
    races = "NoRaces" if outermost in kept else "Temporary"
    loop = outermost if found.tile is None else found.schedule[0].split(",")[1]
    shared = ThreadedLoop(outermost, problem.parts)
    yield _with(found, shared, f"parallelize({loop},CPUThread,{races})")
    if found.tile is None and are_full(found.formats[problem.program.target.tensor].levels):
        yield from _by_entries(problem, found)


def _by_entries(problem: Problem, found: Candidate) -> Iterator[Candidate]:
    """The two outermost loops fused over the entries of an operand, in blocks of equal numbers."""
    if len(found.loops) < 2:
        return
    i, j = found.loops[:2]
    for access in dict.fromkeys(problem.accesses()[1:]):
        form = found.formats[access.tensor]
        stored = [access.variables[mode] for mode in form.mode_order]
        if stored[:2] != [i, j] or LEVEL_FORMATS[form.levels[1]].full or access.computed:
            continue
        f, p, outer, inner = (_new(problem, name) for name in ("f", "p", "p0", "p1"))
        for size in _BLOCKS:
            commands = (
                *(f"fuse({i},{j},{f})", f"pos({f},{p},{access.tensor})"),
                *(f"split({p},{outer},{inner},{size})", f"parallelize({outer},CPUThread,Atomics)"),
            )
            yield _with(found, ThreadedLoop(i, problem.parts, access.tensor, size), *commands)


def _with(found: Candidate, shared: ThreadedLoop, *commands: str) -> Candidate:
    return replace(found, schedule=(*found.schedule, *commands), shared=shared)
