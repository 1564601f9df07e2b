"""About how many cycles a program takes on the ideal machine.

All blocks of a graph work at once, and each takes a token in a cycle, so the busiest of them tells
how long the graph runs: a scanner takes as many cycles as it gives coordinates, a merge as many as
its operands have distinct coordinates, and a reducer into a fiber takes the whole fiber before it
gives the sums. Lanes share the work inside of them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence

from custard.ir import cin
from custard.ir.iteration import Codes, Counts, LoopCount
from custard.language.formats import Format, are_full

# Cycles from a block to the next, for each loop.
_LATENCY = 12.0


def cycles(
    program: cin.LoopProgram,
    formats: Mapping[str, Format],
    counts: Counts,
    lanes: Mapping[str, float] | None = None,
) -> float:
    """About how many cycles a program takes; ``lanes`` has how many a loop is dealt to,
    fewer where one of them gets more than the others."""
    codes = {}
    for node in cin.walk(program.value):
        if isinstance(node, cin.Access):
            codes[node] = read_as(node, program.loops, formats[node.tensor])
    value = program.value
    terms = value.terms if isinstance(value, cin.Add) else (value,)
    work = [_term(program, term, formats, codes, counts, lanes or {}) for term in terms]
    around = [v for v in program.loops if v in program.target.variables]
    if len(terms) > 1 and around:
        merged = counts.count(value, around, codes)
        work += [max(_work(loop)) for loop in merged]
    return max(work) + _LATENCY * len(program.loops)


def read_as(access: cin.Access, loops: Sequence[str], form: Format) -> dict[str, str]:
    """The level format of each variable of an access, in the order in which loops reach them."""
    stored = [access.variables[mode] for mode in form.mode_order]
    if sorted(stored, key=loops.index) != stored:
        stored = sorted(stored, key=loops.index)
    return dict(zip(stored, form.levels, strict=True))


def _work(loop: LoopCount) -> Iterator[float]:
    """The tokens of the blocks of a loop, a stop token for each fiber."""
    yield loop.steps + loop.entered
    yield loop.points + loop.entered
    for scanned in loop.scanned.values():
        yield scanned + loop.entered


def _term(
    program: cin.LoopProgram,
    term: cin.Expression,
    formats: Mapping[str, Format],
    codes: Codes,
    counts: Counts,
    lanes: Mapping[str, float],
) -> float:
    """The tokens of the busiest block of a term."""
    kept = program.target.variables
    used = {v for node in cin.walk(term) if isinstance(node, cin.Access) for v in node.variables}
    loops = [v for v in program.loops if v in used or v in kept]
    if not loops:
        return 1.0
    found = counts.count(term, loops, codes)
    shares = list(_shares(loops, lanes))
    work = [one / share for loop, share in zip(found, shares, strict=True) for one in _work(loop)]
    scatters = are_full(formats[program.target.tensor].levels)
    # A reducer takes the values of all lanes of its own loop at once.
    ways = [share * lanes.get(cin.base(loop), 1) for loop, share in zip(loops, shares, strict=True)]
    return max(*work, *_reduced(found, shares, ways, kept, scatters))


def _shares(loops: Sequence[str], lanes: Mapping[str, float]) -> Iterator[float]:
    """By loop, how many lanes it is in."""
    share = 1.0
    for loop in loops:
        yield share
        share *= lanes.get(cin.base(loop), 1)


def _reduced(
    found: Sequence[LoopCount],
    shares: Sequence[float],
    ways: Sequence[float],
    kept: Collection[str],
    scatters: bool,
) -> Iterator[float]:
    """The tokens of the reducers, innermost first, and of the writers."""
    points, stops, room, inside = found[-1].points, found[-1].entered, 1.0, 0
    for loop, share, way in reversed(list(zip(found, shares, ways, strict=True))):
        if loop.variable in kept:
            room, inside = room * max(loop.extent, 1), inside + 1
        elif not inside:
            yield (points + stops) / way
            points, stops = loop.entered, 0.0
        elif not scatters or way > share:
            fibers = max(loop.entered, 1.0)
            given = fibers * room * -math.expm1(-points / fibers / room)
            # The sums of a fiber are given while the next fiber is taken.
            yield max((points + stops) / way, (given + fibers) / share) + given / fibers
            points, stops = given, fibers
        else:
            # The writer adds up: reducers outside take the loop for one more dimension.
            room, inside = room * max(loop.extent, 1), inside + 1
    yield points + stops
