"""Target sam: tiles, loops that lanes share, equal shares of entries; cycles on the ideal machine.

A schedule is followed as far as its statements in derived variables, and their loops are counted on
the inputs as these variables have them. Graphs run in turn. Lanes take as long as the lane with the
most work.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from custard.autoscheduling.autoscheduler import Autoscheduler, Key, MeasuringMachine, Told
from custard.autoscheduling.candidates import with_parts_first
from custard.autoscheduling.fibers import InputFibers
from custard.autoscheduling.problem import Candidate, Problem
from custard.ir import cin
from custard.language.commands import LANES, parse_schedule
from custard.language.formats import LEVEL_FORMATS, Format
from custard.program import Program
from custard.scheduling.provenance import Derived, derive
from custard.scheduling.statement_scheduler import scheduled
from custard.to_sam.cost import cycles, read_as
from custard.to_sam.program import SamProgram, loaded
from sam.dot import to_dot
from sam.support.version import release
from sam.tensor import Tensor

_TILES = (32, 256)


class _SamAutoscheduler(Autoscheduler):
    def parts(self, lanes: int, machine: MeasuringMachine) -> int:
        return lanes

    def partitions(self, problem: Problem, plain: Candidate) -> Iterator[Candidate]:
        yield from _dealt(problem, plain)
        yield from _in_shares(problem, plain)
        yield from with_parts_first(problem, plain, "s")
        for found in _tiled(problem, plain):
            yield found
            yield from _dealt(problem, found)

    def free(self, problem: Problem) -> Iterator[Mapping[str, Format]]:
        return iter(())  # a program without a schedule has its loops in the order of storage

    def estimate(self, candidate: Candidate, problem: Problem, fibers: InputFibers) -> float:
        commands = parse_schedule(candidate.schedule)
        found = scheduled(problem.program, candidate.formats, commands, {})
        formats = {**candidate.formats, **found.workspaces}
        total = 0.0
        for one in found.statements:
            derived = derive(one.program, one.derivations, one.loops, formats)
            own = fibers.stored_by(derived)
            lanes = {
                loop: 1 / _largest(derived, loop, count, own) for loop, count in one.lanes.items()
            }
            total += cycles(derived.program, derived.formats, own, lanes)
        return total

    def key(self, program: Program, machine: MeasuringMachine) -> Key:
        assert isinstance(program, SamProgram)
        graphs = (to_dot(graph) for graph in program.graphs)
        return "cycles", release(), repr(loaded(machine.config, machine.overrides)), *graphs

    def measured(
        self,
        programs: Mapping[Key, Program],
        inputs: Mapping[str, Tensor],
        machine: MeasuringMachine,
        tell: Told,
    ) -> Iterator[tuple[Key, float]]:
        for n, (key, program) in enumerate(programs.items()):
            tell(f"{n} of {len(programs)} schedules simulated")
            assert isinstance(program, SamProgram)
            run = program.simulate(inputs, machine.config, machine.overrides, machine.engine)
            yield key, float(run.cycles)


AUTOSCHEDULER = _SamAutoscheduler()


def _tiled(problem: Problem, plain: Candidate) -> Iterator[Candidate]:
    """A loop in tiles, which are outermost, or directly outside of what is in them."""
    loops = _bases(plain.loops)
    for place, loop in enumerate(loops):
        for size in (size for size in _TILES if 2 * size <= problem.extents[loop]):
            outer, inner = problem.new(f"{loop}0"), problem.new(f"{loop}1")
            cut = _with(plain, f"split({loop},{outer},{inner},{size})")
            yield cut
            if place:
                order = [outer, *(inner if one == loop else one for one in loops)]
                yield _with(cut, f"reorder({','.join(order)})")


def _bases(loops: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(map(cin.base, loops)))


def _dealt(problem: Problem, found: Candidate) -> Iterator[Candidate]:
    """The candidate with a loop dealt to lanes."""
    if problem.parts < 2:
        return
    loops = _bases(found.loops)
    for command in parse_schedule(found.schedule):
        if command.name == "split":
            loop, outer, *_ = command.arguments
            loops[loops.index(loop)] = outer
    for loop in loops:
        yield _with(found, f"parallelize({loop},{LANES},{problem.parts})")


def _in_shares(problem: Problem, found: Candidate) -> Iterator[Candidate]:
    """The outermost loops over equal shares of the entries of an operand, one for each lane."""
    if problem.parts < 2:
        return
    loops = _bases(found.loops)
    for access in dict.fromkeys(problem.accesses()[1:]):
        form = found.formats[access.tensor]
        if access.computed or not access.variables or _is_full(form):
            continue
        stored = [access.variables[mode] for mode in form.mode_order]
        count = len(stored)
        while stored[:count] != loops[:count]:
            count -= 1
        if not count:
            continue
        commands, fused = [], stored[0]
        for n, loop in enumerate(stored[1:count]):
            new = problem.new(f"f{n or ''}")
            commands.append(f"fuse({fused},{loop},{new})")
            fused = new
        p, outer, inner = (problem.new(name) for name in ("p", "p0", "p1"))
        commands += [
            f"pos({fused},{p},{access.tensor})",
            f"divide({p},{outer},{inner},{problem.parts})",
            f"parallelize({outer},{LANES},{problem.parts})",
        ]
        yield _with(found, *commands)


def _is_full(form: Format) -> bool:
    return all(LEVEL_FORMATS[code].full for code in form.levels)


def _with(found: Candidate, *commands: str) -> Candidate:
    return replace(found, schedule=(*found.schedule, *commands))


def _largest(derived: Derived, loop: str, lanes: int, fibers: InputFibers) -> float:
    """The largest share of the work that a lane gets."""
    program, shares = derived.program, [1 / lanes]
    for one in dict.fromkeys(cin.walk(program.value)):
        if isinstance(one, cin.Access):
            codes = read_as(one, program.loops, derived.formats[one.tensor])
            shares.append(fibers.largest_lane(one, loop, lanes, codes))
    return max(shares)
