"""The schedules that are worth a look: the search space, pruned (scheduling paper, Section 6).

As there, a candidate is made in two stages: the order of its loops first (``orders``), then what
becomes of them (``Autoscheduler.partitions``): tiles, workspaces, loops that are shared out. Of
what the paper prunes, these never come up:

- sparse operands against the order that they are stored in, wherever another order is possible
- a split that nothing is done with, a loop that is split twice, a fused loop that is not split
- on target c: tiles of a loop over compressed levels, which would be sought in each tile, and
  parallel loops other than the outermost

Operands without a format are stored in the order of the loops. The result without one is tried
compressed, and dense where that takes no more room than the operands do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations, islice, permutations

from custard.autoscheduling.problem import Candidate, Problem
from custard.ir import cin
from custard.ir.resolution import resolved
from custard.language.formats import LEVEL_FORMATS, Format

_MOST_ORDERS = 1_000
# Places of a dense result for each stored entry of the operands, at most.
_ROOM = 8
_MOST_ROWS = 2**28  # for which a matrix without a format is CSR


def orders(problem: Problem) -> Iterator[Candidate]:
    """The candidates that put the loops into an order, and do nothing else to them."""
    for order in islice(_orders(problem), _MOST_ORDERS):
        for formats in formats_of(problem, order):
            yield _ordered(problem, order, formats)


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


def _ordered(problem: Problem, order: Sequence[str], formats: Mapping[str, Format]) -> Candidate:
    loops = sorted(problem.program.loops, key=lambda loop: order.index(cin.base(loop)))
    program = resolved(replace(problem.program, loops=tuple(loops)))
    schedule = (f"reorder({','.join(order)})",) if len(order) > 1 else ()
    return Candidate(schedule, formats, (program,))


# Formats


def formats_of(problem: Problem, order: Sequence[str]) -> Iterator[dict[str, Format]]:
    """The formats of all tensors: those that are given, and others in the order of the loops."""
    found: dict[str, Format] = {}
    target = problem.program.target
    for access in problem.accesses():
        form = problem.given.get(access.tensor)
        found.setdefault(access.tensor, form or _default(problem, access, order))
    yield found
    room = problem.places(target)
    if problem.result not in problem.given and target.variables and room <= _room(problem):
        dense = Format("d" * len(target.variables), found[problem.result].mode_order)
        if dense != found[problem.result]:
            yield {**found, problem.result: dense}


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
    full = count > 0 and LEVEL_FORMATS[levels[0]].full
    if full and problem.extents[cin.base(access.variables[modes[0]])] > _MOST_ROWS:
        levels = "s" * count
    return Format(levels, tuple(modes))


# A part of a product that is computed first


def with_parts_first(problem: Problem, plain: Candidate, level: str) -> Iterator[Candidate]:
    """Candidates that compute a part of a product first that has a sum of its own, into a workspace
    of such levels."""
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
            free = [v for v in program.loops if v in used and v not in summed]
            if summed and free and all(cin.base(v) == v for v in used):
                yield _split_off(problem, plain, group, rest, summed, free, level)


def _split_off(
    problem: Problem,
    plain: Candidate,
    group: Sequence[cin.Expression],
    rest: Sequence[cin.Expression],
    summed: tuple[str, ...],
    free: Sequence[str],
    level: str,
) -> Candidate:
    """The candidate that computes a group of factors first, over the innermost of its loops."""
    (program,) = plain.statements
    assert isinstance(program.value, cin.Reduce)
    name, over = problem.new("W"), free[-1]
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
    workspaces = {name: Format(level * len(free), tuple(range(len(free))))}
    return replace(plain, schedule=schedule, statements=(first, last), workspaces=workspaces)
