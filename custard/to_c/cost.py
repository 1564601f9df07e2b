"""The approximate cost of a program in C: by the points that its loops go through.

Of real inputs those are counted (``custard.autoscheduling.fibers``). Where there are none yet,
extents are taken to be ``EXTENT``, and fibers to have ``FIBER`` coordinates.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import log2, prod
from typing import Literal

from custard.ir import cin
from custard.ir.iteration import Codes, Counts, LoopCount
from custard.language.formats import LEVEL_FORMATS, Format, are_full
from custard.to_c.scattered import is_scattered
from custard.to_c.storage import written_levels

EXTENT, FIBER = 10_000.0, 8.0
# What a point costs in an innermost loop: over an array in order, over coordinates, over those of
# an array that is added to, across rows that fit into the cache, and others.
_IN_ORDER, _SPARSE, _ADDED, _NEAR_ACROSS, _ACROSS = 0.5, 1.5, 2.5, 2.0, 4.0
_CACHED = 2**17  # entries
# What such a point costs if the loop goes across the same rows again, and up to how many rows.
_AGAIN_ACROSS, _ROWS = 1.0, 512
# What a coordinate costs that is merged with those of another operand, beside its step.
_MERGED = 8.0
# What it costs to put a value into a workspace: into an array, or, by the bits of how many there
# are, into a list that is sorted.
_SCATTERED, _SORTED = 2.0, 3.0
# What it costs to put a value where the count of those before it tells, in a second pass.
_PLACED = 2.0
# What it costs to transpose, for each entry, and for each element of an array.
_TRANSPOSED, _TURNED = 6.0, 3.0
# How much cheaper another way has to be.
CHEAPER = 0.65


def first_of(formats: Mapping[str, Format]) -> str:
    """A name for a sum that is made first, which no tensor has."""
    return f"1st {len(formats)}"


def array_of(order: int) -> Format:
    """The format of an array with so many dimensions."""
    return Format("d" * order, tuple(range(order)))


class _Assumed:
    """Counts of inputs that are not known."""

    def count(self, term: cin.Expression, loops: Sequence[str], codes: Codes) -> list[LoopCount]:
        """How many points each loop of a term goes through."""
        found, points = [], 1.0
        for n, variable in enumerate(loops):
            entered = points
            points *= _coordinates(term, variable, loops[:n], codes) or EXTENT
            found.append(LoopCount(variable, entered, points, points, EXTENT))
        return found

    def entries(self, access: cin.Access, form: Format) -> float:
        """How many entries a tensor has, in a format."""
        full = (n == 0 or LEVEL_FORMATS[code].full for n, code in enumerate(form.levels))
        return prod(EXTENT if is_full else FIBER for is_full in full)


ASSUMED: Counts = _Assumed()


class Extents:
    """Counts of arrays of known extents."""

    def __init__(self, extents: Mapping[str, int]) -> None:
        self.extents = extents

    def count(self, term: cin.Expression, loops: Sequence[str], codes: Codes) -> list[LoopCount]:
        """How many points each loop of a term goes through."""
        found, points = [], 1.0
        for variable in loops:
            entered, extent = points, float(self.extents[cin.base(variable)])
            points *= extent
            found.append(LoopCount(variable, entered, points, points, extent))
        return found

    def entries(self, access: cin.Access, form: Format) -> float:
        """How many elements an array has."""
        return prod(float(self.extents[cin.base(v)]) for v in access.variables)


Turns = Literal["all", "inputs", "none"]
"""The arrays that may be transposed where that is worth it: all, or not the result, or none."""


def cost(
    program: cin.LoopProgram,
    formats: Mapping[str, Format],
    counts: Counts = ASSUMED,
    turns: Turns = "all",
) -> float:
    """About what a program costs, in the time of an addition of a third of a nanosecond."""
    first = next((one for one in cin.walk(program.value) if _is_made_first(one)), None)
    if first is not None:
        return _of_two(program, first, formats, counts, turns)
    return turned(program, formats, counts, turns)[0]


def turned(
    program: cin.LoopProgram,
    formats: Mapping[str, Format],
    counts: Counts = ASSUMED,
    turns: Turns = "all",
) -> tuple[float, frozenset[cin.Access]]:
    """About what a program costs with the transpositions of arrays that are worth it, and those."""
    found: frozenset[cin.Access] = frozenset()
    least = _cost(program, formats, found, counts)
    accesses = {} if turns == "none" else _accesses(program)
    if turns == "all" and {*program.target.variables} <= {*program.loops}:
        accesses[program.target] = None
    for access in accesses:
        stored = _stored(access, formats)
        if are_full(formats[access.tensor].levels) and stored != _in_order(stored, program.loops):
            other = _cost(program, formats, found | {access}, counts)
            if other < CHEAPER * least:
                least, found = other, found | {access}
    return least, found


def _accesses(program: cin.LoopProgram) -> dict[cin.Access, None]:
    """The accesses that a program reads."""
    return dict.fromkeys(one for one in cin.walk(program.value) if isinstance(one, cin.Access))


def _stored(access: cin.Access, formats: Mapping[str, Format]) -> list[str]:
    """The variables of an access in the order of its levels."""
    return [access.variables[mode] for mode in formats[access.tensor].mode_order]


def _in_order(variables: Sequence[str], loops: Sequence[str]) -> list[str]:
    return sorted(variables, key=loops.index)


def _cost(
    program: cin.LoopProgram,
    formats: Mapping[str, Format],
    turned: frozenset[cin.Access],
    counts: Counts,
) -> float:
    """About what a program costs where some arrays are transposed before, or behind the loops."""
    terms = program.value.terms if isinstance(program.value, cin.Add) else (program.value,)
    moved = 0.0
    for node in _accesses(program) | dict.fromkeys({program.target} & turned):
        if node in turned or not _follows(node, program.loops, formats):
            entries = counts.entries(node, formats[node.tensor])
            moved += (_TURNED if node in turned else _TRANSPOSED) * entries
    codes = level_codes(program, formats, turned)
    written = _stored(program.target, formats)
    if program.target in turned:
        written = _in_order(written, program.loops)
    levels = dict(zip(written, formats[program.target.tensor].levels, strict=True))
    costs = (_term_cost(program, term, formats, codes, levels, counts) for term in terms)
    found = moved + sum(costs)
    # Of orders that cost the same, the one that reads and writes arrays as they are stored.
    return found * (1 + 0.01 * _inversions(program, formats))


def level_codes(
    program: cin.LoopProgram, formats: Mapping[str, Format], turned: Collection[cin.Access] = ()
) -> dict[cin.Access, dict[str, str]]:
    """The level formats of the variables of each access, in the order in which they are read."""
    codes = {}
    for node in _accesses(program):
        stored = _stored(node, formats)
        if node in turned or not _follows(node, program.loops, formats):
            stored = _in_order(stored, program.loops)
        codes[node] = dict(zip(stored, formats[node.tensor].levels, strict=True))
    return codes


def counted(
    program: cin.LoopProgram, formats: Mapping[str, Format], counts: Counts
) -> list[LoopCount]:
    """How many points each loop goes through, of a program that is one term."""
    used = {v for node in _accesses(program) for v in node.variables}
    loops = [v for v in program.loops if v in used or v in program.target.variables]
    return counts.count(program.value, loops, level_codes(program, formats))


def _is_made_first(node: cin.Expression) -> bool:
    return isinstance(node, cin.Reduce) and node.first


def _of_two(
    program: cin.LoopProgram,
    first: cin.Expression,
    formats: Mapping[str, Format],
    counts: Counts,
    turns: Turns,
) -> float:
    """The cost of a program that makes a sum first, and reads it as an array."""
    assert isinstance(first, cin.Reduce)
    kept = tuple(v for v in program.loops if v in cin.free_variables(first))
    name = first_of(formats)
    vector = cin.Access(name, kept)
    summed = {v for one in cin.walk(first) if isinstance(one, cin.Reduce) for v in one.variables}

    def change(node: cin.Expression) -> cin.Expression:
        return vector if node is first else cin.with_children(node, change)

    known = {**formats, name: array_of(len(kept))}
    own = tuple(v for v in program.loops if v in kept or v in summed)
    inner = cin.LoopProgram(own, vector, replace(first, first=False))
    left = tuple(v for v in program.loops if v not in summed)
    rest = replace(program, loops=left, value=change(program.value))
    return cost(inner, known, counts, turns) + cost(rest, known, counts, turns)


def _inversions(program: cin.LoopProgram, formats: Mapping[str, Format]) -> int:
    """How many pairs of levels, of all accesses, the loops have the other way round."""
    nodes = (program.target, *cin.walk(program.value))
    count = 0
    for access in (node for node in nodes if isinstance(node, cin.Access)):
        order = formats[access.tensor].mode_order
        variables = (access.variables[mode] for mode in order)
        places = [program.loops.index(one) for one in variables if one in program.loops]
        count += sum(a > b for n, a in enumerate(places) for b in places[n + 1 :])
    return count


def _follows(access: cin.Access, loops: Sequence[str], formats: Mapping[str, Format]) -> bool:
    """Whether the levels of an access can be gone through in the order of the loops."""
    form = formats[access.tensor]
    places = [loops.index(access.variables[mode]) for mode in form.mode_order]
    return all(
        LEVEL_FORMATS[code].full or all(before < places[n] for before in places[:n])
        for n, code in enumerate(form.levels)
    )


def _term_cost(
    program: cin.LoopProgram,
    term: cin.Expression,
    formats: Mapping[str, Format],
    codes: Codes,
    written: Mapping[str, str],
    counts: Counts,
) -> float:
    """About what a term costs; ``written`` has the levels of the result, as it is written."""
    target = program.target
    used = {v for node in cin.walk(term) if isinstance(node, cin.Access) for v in node.variables}
    loops = [v for v in program.loops if v in used or v in target.variables]
    if not loops:
        return _written(program, loops, formats, 1.0)
    found = counts.count(term, loops, codes)
    points = found[-1].points
    cost = sum(loop.steps * (1 + _merged(term, loop.variable, codes)) for loop in found)
    again = len(loops) > 1 and found[-1].extent <= _ROWS
    outside = loops[-2] if again else None
    cost += points * (_weight(program, term, loops, formats, codes, written, counts, outside) - 1)
    if _is_scattered(program, formats):
        return 2 * cost + points * _PLACED
    return cost + points * _written(program, loops, formats, points)


def _merged(term: cin.Expression, variable: str, codes: Codes) -> float:
    """The cost of a coordinate beside its step: not 0 where several operands are merged."""
    accesses = {node for node in cin.walk(term) if isinstance(node, cin.Access)}
    levels = [codes[one][variable] for one in accesses if variable in codes[one]]
    return _MERGED if sum(not LEVEL_FORMATS[code].full for code in levels) > 1 else 0.0


def _coordinates(
    node: cin.Expression, variable: str, bound: Sequence[str], codes: Codes
) -> float | None:
    """About how many coordinates a loop goes through; None where the node does not tell."""
    match node:
        case cin.Access(_, variables):
            if variable not in variables:
                return None
            if LEVEL_FORMATS[codes[node][variable]].full:
                return EXTENT
            # The outermost level has all coordinates, those inside of others a fiber.
            stored = list(codes[node])
            return FIBER if any(v in bound for v in stored[: stored.index(variable)]) else EXTENT
        case cin.Multiply(factors):
            found = [_coordinates(factor, variable, bound, codes) for factor in factors]
            return min((one for one in found if one is not None), default=None)
        case cin.Add(terms):
            found = [_coordinates(term, variable, bound, codes) for term in terms]
            known = [one for one in found if one is not None]
            if not known:
                return None
            return EXTENT if len(known) < len(found) else min(EXTENT, sum(known))
    parts = [_coordinates(child, variable, bound, codes) for child in cin.children(node)]
    return next((one for one in parts if one is not None), None)


def _weight(
    program: cin.LoopProgram,
    term: cin.Expression,
    loops: Sequence[str],
    formats: Mapping[str, Format],
    codes: Codes,
    written: Mapping[str, str],
    counts: Counts,
    outside: str | None,
) -> float:
    """What a point of the innermost loop costs.

    ``outside`` is the loop around the innermost one, if this one has few coordinates.
    """
    innermost, target = loops[-1], program.target
    read = {node: codes[node] for node in cin.walk(term) if isinstance(node, cin.Access)}
    sparse, across = False, 0.0
    for access, stored in (*read.items(), (target, written)):
        if innermost not in stored:
            continue
        level = list(stored).index(innermost)
        below = "".join(list(stored.values())[level:])
        sparse = sparse or not LEVEL_FORMATS[below[0]].full
        if len(below) > 1 and are_full(below[1:]):
            if outside is not None and outside not in stored:
                across += _AGAIN_ACROSS
            elif counts.entries(access, formats[access.tensor]) <= _CACHED:
                across += _NEAR_ACROSS
            else:
                across += _ACROSS
    if across:
        return across
    if not sparse:
        return _IN_ORDER
    # Of sums over several variables, one may be made first (``factored``).
    sums = len({*loops} - {*written})
    is_added_to = innermost in written and are_full("".join(written.values()))
    return _ADDED if sums == 1 and is_added_to else _SPARSE


def _appended(program: cin.LoopProgram, formats: Mapping[str, Format]) -> list[str]:
    """The variables of the result that it is appended to in the order of."""
    target, form = program.target, formats[program.target.tensor]
    count = max((n + 1 for n, c in enumerate(form.levels) if not LEVEL_FORMATS[c].full), default=0)
    return [target.variables[mode] for mode in form.mode_order[:count]]


def _is_scattered(program: cin.LoopProgram, formats: Mapping[str, Format]) -> bool:
    """Whether the result is filled in two passes."""
    written, stored = set(program.target.variables), _appended(program, formats)
    order = [v for v in program.loops if v in written][: len(stored)]
    levels = written_levels(formats[program.target.tensor].levels)
    return order != stored and is_scattered(program, levels)


def _written(
    program: cin.LoopProgram, loops: Sequence[str], formats: Mapping[str, Format], points: float
) -> float:
    """The cost of writing a point of the result, beside the point itself."""
    target, stored = program.target, _appended(program, formats)
    if not stored:
        return 0.0
    listed = _SORTED * log2(max(points, 2.0))
    order = [v for v in loops if v in target.variables]
    if order[: len(stored)] != stored:
        return listed if len(order) > 1 else _SCATTERED
    summed = [n for n, v in enumerate(loops) if v not in target.variables]
    inside = sum(v in target.variables for v in loops[summed[0] :]) if summed else 0
    return (0.0, _SCATTERED)[inside] if inside < 2 else listed
