"""The loop order of a program without a ``reorder``, by what each order would cost.

The order in which tensors are stored is the first choice: nothing is transposed. Some orders are
dearer than that by far, whatever the numbers are: two sparse rows merged for each pair of rows, a
sparse result that is sorted, dense arrays read across their rows. So each order is rated by the
points that its loops go through, with extents of ``_EXTENT`` and fibers of ``_FIBER`` coordinates,
and another one takes the place of the first choice if it is cheaper by a third. Operands that it
clashes with are transposed before the run, in time that is linear in what they store; so are arrays
that it would read across their rows, where that is cheaper by as much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, permutations
from math import prod

from custard.ir import cin
from custard.ir.accesses import accesses, storage_orders
from custard.language.formats import LEVEL_FORMATS, Format, are_full
from custard.to_c.scattered import is_scattered
from custard.to_c.storage import written_levels

_EXTENT, _FIBER = 10_000.0, 8.0
# What a point costs in an innermost loop: over an array in order, over coordinates, over those of
# an array that is added to, across rows.
_IN_ORDER, _SPARSE, _ADDED, _ACROSS = 0.5, 1.5, 2.5, 4.0
# What it costs to put a value into a workspace: into an array, or into a list that is sorted.
_SCATTERED, _SORTED = 2.0, 30.0
# What it costs to put a value where the count of those before it tells, in a second pass.
_PLACED = 2.0
# What it costs to transpose, for each entry, and for each element of an array.
_TRANSPOSED, _TURNED = 6.0, 3.0
# How much cheaper an order has to be.
_CHEAPER = 0.65
_MOST_LOOPS = 6


def wanted_orders(program: cin.Program, formats: Mapping[str, Format]) -> list[tuple[str, ...]]:
    """The orders of variables that the loops should have, the most wanted first.

    Those are the orders in which the operands and the result are stored. Full levels may come in
    any order; the variables of all others come before those that have just full levels, for the
    innermost loops to be dense ones.
    """
    stored = storage_orders(program, formats)
    clashing: list[tuple[str, ...]] = []
    sparse: dict[str, None] = {}
    for access, order in stored.items():
        for n, code in enumerate(formats[access.tensor].levels):
            if not LEVEL_FORMATS[code].full:
                clashing += [(before, order[n]) for before in order[:n]]
                sparse[order[n]] = None
    dense = [variable for variable in program.loops if variable not in sparse]
    inner = [(outer, variable) for outer in sparse for variable in dense]
    by_level = _level_by_level(accesses(program), formats)
    return [*clashing, *inner, *by_level, *stored.values()]


def _level_by_level(
    accesses: Sequence[cin.Access], formats: Mapping[str, Format]
) -> list[tuple[str, str]]:
    """Pairs that have the variables of a computed subscript before those of the levels below.

    A subsection is then one of a single fiber (convolution paper, Section 5.2.1).
    """
    return [
        (before, after)
        for access in accesses
        if access.computed
        for outer, inner in pairwise(formats[access.tensor].mode_order)
        for before in access.used(outer)
        for after in access.used(inner)
    ]


def cheapest_order(program: cin.Program, formats: Mapping[str, Format]) -> tuple[str, ...]:
    """The loops in the order that they have, or in one that is cheaper by far."""
    loops = program.loops
    if len(loops) > _MOST_LOOPS or cin.has_computed(program) or not _is_plain(program):
        return loops
    limit = _CHEAPER * cost(program, formats)
    best, least = loops, limit
    for order in permutations(loops):
        found = cost(replace(program, loops=order), formats)
        if found < least:
            best, least = order, found
    return best


def _is_plain(program: cin.Program) -> bool:
    """Whether each access has each variable once, and the result may be written in any order."""
    accesses = [node for node in cin.walk(program.value) if isinstance(node, cin.Access)]
    return all(len(set(one.variables)) == len(one.variables) for one in accesses)


def cost(program: cin.Program, formats: Mapping[str, Format]) -> float:
    """About what a program costs, in the time of an addition."""
    return _turned(program, formats)[0]


def turned_arrays(program: cin.Program, formats: Mapping[str, Format]) -> frozenset[cin.Access]:
    """The accesses to arrays that are worth a transposition before the run: the innermost loop
    would go across their rows."""
    if cin.has_computed(program) or not _is_plain(program):
        return frozenset()
    return _turned(program, formats)[1]


def _turned(
    program: cin.Program, formats: Mapping[str, Format]
) -> tuple[float, frozenset[cin.Access]]:
    """About what a program costs with the transpositions that are worth it."""
    turned: frozenset[cin.Access] = frozenset()
    least = _cost(program, formats, turned)
    for access in _accesses(program):
        stored = _stored(access, formats)
        if are_full(formats[access.tensor].levels) and stored != _in_order(stored, program.loops):
            found = _cost(program, formats, turned | {access})
            if found < _CHEAPER * least:
                least, turned = found, turned | {access}
    return least, turned


def _accesses(program: cin.Program) -> dict[cin.Access, None]:
    """The accesses that a program reads."""
    return dict.fromkeys(one for one in cin.walk(program.value) if isinstance(one, cin.Access))


def _stored(access: cin.Access, formats: Mapping[str, Format]) -> list[str]:
    """The variables of an access in the order of its levels."""
    return [access.variables[mode] for mode in formats[access.tensor].mode_order]


def _in_order(variables: Sequence[str], loops: Sequence[str]) -> list[str]:
    return sorted(variables, key=loops.index)


def _cost(
    program: cin.Program, formats: Mapping[str, Format], turned: frozenset[cin.Access]
) -> float:
    """About what a program costs where some arrays are transposed before."""
    terms = program.value.terms if isinstance(program.value, cin.Add) else (program.value,)
    moved, codes = 0.0, {}
    for node in _accesses(program):
        form, stored = formats[node.tensor], _stored(node, formats)
        if node in turned or not _follows(node, program.loops, formats):
            stored = _in_order(stored, program.loops)
            moved += (_TURNED if node in turned else _TRANSPOSED) * _entries(form)
        codes[node] = dict(zip(stored, form.levels, strict=True))
    found = moved + sum(_term_cost(program, term, formats, codes) for term in terms)
    # Of orders that cost the same, the one that reads and writes arrays as they are stored.
    return found * (1 + 0.01 * _inversions(program, formats))


def _inversions(program: cin.Program, formats: Mapping[str, Format]) -> int:
    """How many pairs of levels, of all accesses, the loops have the other way round."""
    nodes = (program.target, *cin.walk(program.value))
    count = 0
    for access in (node for node in nodes if isinstance(node, cin.Access)):
        order = formats[access.tensor].mode_order
        places = [program.loops.index(access.variables[mode]) for mode in order]
        count += sum(a > b for n, a in enumerate(places) for b in places[n + 1 :])
    return count


# By access, the level format of each of its variables, outermost first, as it is read.
_Codes = Mapping[cin.Access, Mapping[str, str]]


def _follows(access: cin.Access, loops: Sequence[str], formats: Mapping[str, Format]) -> bool:
    """Whether the levels of an access can be gone through in the order of the loops."""
    form = formats[access.tensor]
    places = [loops.index(access.variables[mode]) for mode in form.mode_order]
    return all(
        LEVEL_FORMATS[code].full or all(before < places[n] for before in places[:n])
        for n, code in enumerate(form.levels)
    )


def _entries(form: Format) -> float:
    """About how many entries a tensor has."""
    return prod(_size(form.levels, n) for n in range(len(form.levels)))


def _size(levels: str, n: int) -> float:
    """About how many coordinates a fiber of a level has."""
    return _EXTENT if n == 0 or LEVEL_FORMATS[levels[n]].full else _FIBER


def _term_cost(
    program: cin.Program, term: cin.Expression, formats: Mapping[str, Format], codes: _Codes
) -> float:
    """About what a term costs."""
    target = program.target
    used = {v for node in cin.walk(term) if isinstance(node, cin.Access) for v in node.variables}
    loops = [v for v in program.loops if v in used or v in target.variables]
    points, cost = 1.0, 0.0
    for n, variable in enumerate(loops):
        points *= _coordinates(term, variable, loops[:n], codes) or _EXTENT
        cost += points
    cost += points * (_weight(program, term, loops, formats, codes) - 1 if loops else 0)
    if _is_scattered(program, formats):
        return 2 * cost + points * _PLACED
    return cost + points * _written(program, loops, formats)


def _coordinates(
    node: cin.Expression, variable: str, bound: Sequence[str], codes: _Codes
) -> float | None:
    """About how many coordinates a loop goes through; None where the node does not tell."""
    match node:
        case cin.Access(_, variables):
            if variable not in variables:
                return None
            if LEVEL_FORMATS[codes[node][variable]].full:
                return _EXTENT
            # The first of its sparse levels that is reached has all coordinates, others a fiber.
            return _FIBER if any(v in bound for v in variables) else _EXTENT
        case cin.Multiply(factors):
            found = [_coordinates(factor, variable, bound, codes) for factor in factors]
            return min((one for one in found if one is not None), default=None)
        case cin.Add(terms):
            found = [_coordinates(term, variable, bound, codes) for term in terms]
            known = [one for one in found if one is not None]
            if not known:
                return None
            return _EXTENT if len(known) < len(found) else min(_EXTENT, sum(known))
    parts = [_coordinates(child, variable, bound, codes) for child in cin.children(node)]
    return next((one for one in parts if one is not None), None)


def _weight(
    program: cin.Program,
    term: cin.Expression,
    loops: Sequence[str],
    formats: Mapping[str, Format],
    codes: _Codes,
) -> float:
    """What a point of the innermost loop costs."""
    innermost, form = loops[-1], formats[program.target.tensor]
    written = [program.target.variables[mode] for mode in form.mode_order]
    found = [codes[node] for node in cin.walk(term) if isinstance(node, cin.Access)]
    sparse = False
    across = 0
    for stored in (*found, dict(zip(written, form.levels, strict=True))):
        if innermost not in stored:
            continue
        level = list(stored).index(innermost)
        below = "".join(list(stored.values())[level:])
        if not LEVEL_FORMATS[below[0]].full:
            sparse = True
        elif len(below) > 1 and are_full(below):
            across += 1
    if across:
        return _ACROSS * across
    if not sparse:
        return _IN_ORDER
    # Of sums over several variables, one may be made first (``factored``).
    sums = len({*loops} - {*written})
    return _ADDED if sums == 1 and innermost in written and are_full(form.levels) else _SPARSE


def _appended(program: cin.Program, formats: Mapping[str, Format]) -> list[str]:
    """The variables of the result that it is appended to in the order of."""
    target, form = program.target, formats[program.target.tensor]
    count = max((n + 1 for n, c in enumerate(form.levels) if not LEVEL_FORMATS[c].full), default=0)
    return [target.variables[mode] for mode in form.mode_order[:count]]


def _is_scattered(program: cin.Program, formats: Mapping[str, Format]) -> bool:
    """Whether the result is filled in two passes."""
    written, stored = set(program.target.variables), _appended(program, formats)
    order = [v for v in program.loops if v in written][: len(stored)]
    levels = written_levels(formats[program.target.tensor].levels)
    return order != stored and is_scattered(program, levels)


def _written(program: cin.Program, loops: Sequence[str], formats: Mapping[str, Format]) -> float:
    """What it costs to write a point of the result, beside the point itself."""
    target, stored = program.target, _appended(program, formats)
    if not stored:
        return 0.0
    order = [v for v in loops if v in target.variables]
    if order[: len(stored)] != stored:
        return _SORTED if len(order) > 1 else _SCATTERED
    summed = [n for n, v in enumerate(loops) if v not in target.variables]
    inside = sum(v in target.variables for v in loops[summed[0] :]) if summed else 0
    return (0.0, _SCATTERED)[inside] if inside < 2 else _SORTED
