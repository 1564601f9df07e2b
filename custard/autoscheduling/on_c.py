"""Target c: tiles of dense loops, workspaces, loops that threads share; seconds.

The loops of each statement are counted on the inputs, and weighed as the cost model of C has it
(``custard.to_c.cost``). Tiles repeat the loops around them. A result that goes through a workspace
costs its loops as if they added to an array, and what the workspace takes
(``custard.to_c.workspaces.choice``). Parts of a shared loop run beside each other, and take as long
as the largest of them.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from custard.autoscheduling.autoscheduler import Autoscheduler, Key, MeasuringMachine, Told
from custard.autoscheduling.candidates import formats_of, with_parts_first
from custard.autoscheduling.fibers import InputFibers
from custard.autoscheduling.problem import Candidate, Problem, ThreadedLoop
from custard.ir import cin
from custard.ir.spread import ANYWHERE, THROUGH_ALL, Loop, Spread
from custard.language.commands import WORKSPACES
from custard.language.formats import LEVEL_FORMATS, Format, are_full
from custard.program import Program
from custard.to_c.call import Bound
from custard.to_c.cost import array_of, cost, counted, level_codes
from custard.to_c.program import CProgram
from custard.to_c.workspaces import choice
from custard.to_c.workspaces.choice import MOST_PLACES, FillStatistics
from sam.support.interrupts import interruptible
from sam.tensor import Tensor

# Seconds that a unit of the cost model takes, that one of the model of workspaces takes, and that
# threads take to begin and end.
_UNIT, _NANOSECOND = 0.35e-9, 1e-9
_THREADS_BEGIN = 8e-6
# Units: to copy or add up a value of what threads made, and to find where a block begins.
_COPIED, _SOUGHT = 3.0, 170.0
_TILES = (32, 256)  # of dense loops
_BLOCKS = (64, 1024)  # of entries that are shared out
_TURNS, _SECONDS = 9, 0.2  # of all kernels that are timed, at least


class _CAutoscheduler(Autoscheduler):
    def parts(self, lanes: int, machine: MeasuringMachine) -> int:
        return machine.threads

    def partitions(self, problem: Problem, plain: Candidate) -> Iterator[Candidate]:
        yield from _shared(problem, plain)
        for found in (
            *filter(_is_filled_inside, with_parts_first(problem, plain, "d")),
            *_with_workspaces(problem, plain),
            *_tiled(problem, plain),
        ):
            yield found
            yield from _shared(problem, found)

    def free(self, problem: Problem) -> Iterator[Mapping[str, Format]]:
        return formats_of(problem, problem.loops)

    def estimate(self, candidate: Candidate, problem: Problem, fibers: InputFibers) -> float:
        formats = {**candidate.formats, **candidate.workspaces}
        tiles = 1.0
        if candidate.tile is not None:
            loop, size = candidate.tile
            tiles = math.ceil(fibers.extent(loop) / size)
            fibers = fibers.with_extent(loop, size)
        *first, last = candidate.statements
        seconds = _UNIT * sum(cost(one, formats, fibers, turns="none") for one in first)
        seconds += _NANOSECOND * sum(_filling(one, formats, fibers) for one in first)
        seconds += _last(last, candidate.policy, formats, fibers)
        seconds *= tiles
        return seconds if candidate.shared is None else _shared_out(candidate, fibers, seconds)

    def key(self, program: Program, machine: MeasuringMachine) -> Key:
        assert isinstance(program, CProgram)
        return "seconds", program.source, *program.flags, str(machine.threads)

    def measured(
        self,
        programs: Mapping[Key, Program],
        inputs: Mapping[str, Tensor],
        machine: MeasuringMachine,
        tell: Told,
    ) -> Iterator[tuple[Key, float]]:
        bound = {}
        for n, (key, program) in enumerate(programs.items()):
            tell(f"{n} of {len(programs)} kernels compiled")
            assert isinstance(program, CProgram)
            bound[key] = program.bind(inputs, machine.threads)
            # On this thread, where Ctrl-C leaves no files of a compiler behind.
            bound[key].prepare()
        stopped = threading.Event()
        try:
            yield from interruptible(lambda: _timed(bound, tell, stopped)).items()
        finally:
            stopped.set()


def _timed(bound: Mapping[Key, Bound], tell: Told, stopped: threading.Event) -> dict[Key, float]:
    """The least time of each program, in turns, after a run that touches its memory."""
    least = dict.fromkeys(bound, math.inf)
    started, turns = time.perf_counter(), -1
    while bound and (turns < _TURNS or time.perf_counter() - started < _SECONDS):
        tell(f"{len(bound)} kernels timed, {max(0, turns)} times each")
        for key, one in bound.items():
            if stopped.is_set():
                return least
            seconds = one.seconds()
            least[key] = min(least[key], seconds if turns >= 0 else math.inf)
        turns += 1
    return least


AUTOSCHEDULER = _CAutoscheduler()

# Candidates


def _is_filled_inside(found: Candidate) -> bool:
    """Whether the first statement fills a workspace over one variable where all others are
    bound."""
    first = found.statements[0]
    bound = first.target.variables[:-1]
    return first.loops[: len(bound)] == bound


def _tiled(problem: Problem, plain: Candidate) -> Iterator[Candidate]:
    """A loop over dense levels alone in tiles, those outermost, for a dense result."""
    (program,) = plain.statements
    if not are_full(plain.formats[problem.result].levels):
        return
    for loop in program.loops[1:]:
        extent = problem.extents[cin.base(loop)]
        if cin.base(loop) != loop or not _is_dense(problem, loop, plain.formats):
            continue
        for size in (size for size in _TILES if 2 * size <= extent):
            outer, inner = problem.new(f"{loop}0"), problem.new(f"{loop}1")
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


def _with_workspaces(problem: Problem, plain: Candidate) -> Iterator[Candidate]:
    """A compressed result through each workspace that there is, inside of the loops around its
    first sum."""
    (program,) = plain.statements
    over = _filled(program, plain.formats)
    if not over or not isinstance(program.value, cin.Reduce):
        return
    value = program.value.operand
    factors = value.factors if isinstance(value, cin.Multiply) else (value,)
    plainly = all(isinstance(one, cin.Access) and not one.computed for one in factors)
    if not plainly or any(cin.base(v) != v for v in program.loops):
        return
    text, loops = "*".join(map(str, factors)), f"{{{','.join(over)}}}"
    name = problem.new("W")
    for policy in _fitting(math.prod(problem.extents[v] for v in over)):
        command = f"precompute({text},{loops},{loops},{name}:{policy})"
        yield replace(plain, schedule=(*plain.schedule, command), policy=policy)


def _fitting(places: float) -> Iterator[str]:
    """The workspaces that there is memory for."""
    return (policy for policy in WORKSPACES if policy != "dense" or places <= MOST_PLACES)


def _filled(program: cin.LoopProgram, formats: Mapping[str, Format]) -> tuple[str, ...]:
    """The variables of a workspace for the result: those inside of its first sum; none where it is
    stored in full, or nothing is summed around them."""
    target = program.target
    if are_full(formats[target.tensor].levels):
        return ()
    sums = [n for n, v in enumerate(program.loops) if v not in target.variables]
    inside = program.loops[sums[0] :] if sums else ()
    return tuple(v for v in inside if v in target.variables)


def _shared(problem: Problem, found: Candidate) -> Iterator[Candidate]:
    """The candidate with its outermost loop shared out to threads."""
    if problem.parts < 2 or not found.loops:
        return
    outermost = found.loops[0]
    if cin.base(outermost) != outermost or len(found.statements) > 1:
        return
    if found.tile is not None:
        outermost = found.tile[0]
    kept = problem.program.target.variables
    if found.policy is not None and outermost not in kept:
        return
    races = "NoRaces" if outermost in kept else "Temporary"
    loop = outermost if found.tile is None else found.schedule[0].split(",")[1]
    shared = ThreadedLoop(outermost, problem.parts)
    yield _with(found, shared, f"parallelize({loop},CPUThread,{races})")
    if found.tile is None and are_full(found.formats[problem.result].levels):
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
        f, p, outer, inner = (problem.new(name) for name in ("f", "p", "p0", "p1"))
        for size in _BLOCKS:
            commands = (
                *(f"fuse({i},{j},{f})", f"pos({f},{p},{access.tensor})"),
                *(f"split({p},{outer},{inner},{size})", f"parallelize({outer},CPUThread,Atomics)"),
            )
            yield _with(found, ThreadedLoop(i, problem.parts, access.tensor, size), *commands)


def _with(found: Candidate, shared: ThreadedLoop, *commands: str) -> Candidate:
    return replace(found, schedule=(*found.schedule, *commands), shared=shared)


# Estimates


def _last(
    program: cin.LoopProgram, policy: str | None, formats: Mapping[str, Format], fibers: InputFibers
) -> float:
    """The seconds of the statement that makes the result."""
    load = _load(program, formats, fibers)
    if load is None:
        return _UNIT * cost(program, formats, fibers, turns="none")
    policies = _fitting(load.places) if policy is None else [policy]
    filling = min(choice.cost(one, load) for one in policies)
    target = program.target
    written = tuple(v for v in program.loops if v in target.variables)
    array = replace(target, variables=written)
    loops = replace(program, target=array)
    known = {**formats, target.tensor: array_of(len(written))}
    return _UNIT * cost(loops, known, fibers, turns="none") + _NANOSECOND * filling


def _filling(program: cin.LoopProgram, formats: Mapping[str, Format], fibers: InputFibers) -> float:
    """The nanoseconds that the workspace of a part takes, inside of the loops over the first
    variables of the part."""
    *around, last = program.target.variables
    found = counted(program, formats, fibers)
    inside = next((one for one in found if one.variable not in around), None)
    filled = next((one for one in found if one.variable == last), None)
    if inside is None or filled is None:
        return 0.0
    fills, places = max(inside.entered, 1.0), fibers.extent(last)
    run = filled.points / max(filled.entered, 1.0)
    spreads = _spreads(program, formats, fibers, last, inside.variable)
    load = FillStatistics(fills, filled.points / fills, places, run, *spreads)
    return min(choice.cost(one, load) for one in _fitting(places))


def _load(
    program: cin.LoopProgram, formats: Mapping[str, Format], fibers: InputFibers
) -> FillStatistics | None:
    """How the workspace of the result is filled; None where it has none, or is a sum of terms."""
    over = _filled(program, formats)
    if not over or any(isinstance(one, cin.Add) for one in cin.walk(program.value)):
        return None
    found = {one.variable: one for one in counted(program, formats, fibers)}
    around = next(v for v in program.loops if v not in program.target.variables)
    if around not in found:
        return None
    fills = max(found[around].entered, 1.0)
    last = found[[v for v in program.loops if v in found][-1]]
    places = math.prod(fibers.extent(v) for v in over)
    run = last.points / max(last.entered, 1.0)
    spreads = _spreads(program, formats, fibers, over[0], around) if len(over) == 1 else ()
    return FillStatistics(fills, last.points / fills, places, run, *spreads)


def _spreads(
    program: cin.LoopProgram,
    formats: Mapping[str, Format],
    fibers: InputFibers,
    variable: str,
    inside: str,
) -> tuple[Spread, float]:
    """Of a workspace over a variable, filled in a loop and those inside of it: the spread of the
    values of one time, and the share of all that is fresh."""
    loops = program.loops
    fixed = loops.index(inside)
    by_loops = [_loops(program, formats, fibers, n)[variable].spread for n in (fixed, 0)]
    return by_loops[0], by_loops[1].words


def _loops(
    program: cin.LoopProgram, formats: Mapping[str, Format], fibers: InputFibers, fixed: int
) -> dict[str, Loop]:
    """Where each loop goes, where so many around it stand still."""
    codes = level_codes(program, formats)
    found: dict[str, Loop] = {}
    for n, variable in enumerate(program.loops):
        chosen = [ANYWHERE] if n < fixed else []
        for access in codes if n >= fixed else ():
            stored = list(codes[access])
            if variable not in stored or LEVEL_FORMATS[codes[access][variable]].full:
                continue
            level = stored.index(variable)
            own = fibers.spread(access, variable, stored, codes[access])
            above = found.get(stored[level - 1], ANYWHERE) if level else THROUGH_ALL
            chosen.append(Loop.of(access, own, above))
        found[variable] = min(chosen, key=lambda one: one.spread.words, default=THROUGH_ALL)
    return found


def _shared_out(candidate: Candidate, fibers: InputFibers, seconds: float) -> float:
    """The seconds of work that threads share."""
    shared, target = candidate.shared, candidate.statements[-1].target
    assert shared is not None
    read = [
        node for node in cin.walk(candidate.statements[-1].value) if isinstance(node, cin.Access)
    ]
    copied = 0.0
    if shared.tensor is not None or shared.loop not in target.variables:
        copied = shared.parts * math.prod(fibers.extent(v) for v in target.variables)
    if shared.tensor is not None:
        access = next(one for one in read if one.tensor == shared.tensor)
        blocks = fibers.entries(access, candidate.formats[access.tensor]) / shared.block
        sought = _UNIT * blocks * _SOUGHT
        seconds = (seconds + sought) / max(1.0, min(shared.parts, blocks))
    else:
        seconds *= _largest_share(read, shared, fibers)
    return _THREADS_BEGIN + seconds + _UNIT * copied * _COPIED


def _largest_share(read: Sequence[cin.Access], shared: ThreadedLoop, fibers: InputFibers) -> float:
    shares = (fibers.largest_share(one, shared.loop, shared.parts) for one in read)
    return max(shares, default=1 / shared.parts)
