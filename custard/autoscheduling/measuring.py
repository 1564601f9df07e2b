"""Measurements of programs: simulated cycles, or the seconds of kernels that run in turns."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from custard.autoscheduling import known
from custard.program import Program
from custard.to_c.program import CProgram, number_of_threads
from custard.to_sam.program import SamProgram, loaded
from custard.version import release
from sam.dot import to_dot
from sam.tensor import Tensor

_TURNS, _SECONDS = 9, 0.2  # of all kernels that are timed, at least


@dataclass(frozen=True)
class MeasuringMachine:
    """What programs are measured on: so many threads of this one, or one that is simulated."""

    asked_threads: int | None = None
    config: Any = None
    overrides: Mapping[str, Any] | None = None
    engine: str = "auto"

    @property
    def threads(self) -> int:
        """How many threads share a loop; raises UserError for what is no number of threads."""
        return number_of_threads(self.asked_threads)


def measured(
    programs: Sequence[Program],
    inputs: Mapping[str, Tensor],
    machine: MeasuringMachine,
    again: bool,
    tell: Callable[[str], None],
) -> list[float]:
    """The cycles of each program, or its least seconds of some runs, in turns with the others.

    What was measured before is found again, but for ``again``.
    """
    if not programs:
        return []
    about = known.digest(inputs)
    keys = [_key(program, machine, about) for program in programs]
    found = {} if again else {key: one for key in keys if (one := known.known(*key)) is not None}
    missing = {
        key: program for key, program in zip(keys, programs, strict=True) if key not in found
    }
    measure = _cycles if isinstance(programs[0], SamProgram) else _seconds
    for key, number in measure(missing, inputs, machine, tell):
        known.keep(number, *key)
        found[key] = number
    return [found[key] for key in keys]


def _key(program: Program, machine: MeasuringMachine, about: str) -> tuple[str, ...]:
    """All that decides what is measured of a program."""
    if isinstance(program, CProgram):
        return "seconds", program.source, *program.flags, str(machine.threads), about
    assert isinstance(program, SamProgram)
    graphs = (to_dot(graph) for graph in program.graphs)
    return "cycles", release(), repr(loaded(machine.config, machine.overrides)), *graphs, about


_Measured = Iterator[tuple[tuple[str, ...], float]]


def _cycles(
    programs: Mapping[tuple[str, ...], Program],
    inputs: Mapping[str, Tensor],
    machine: MeasuringMachine,
    tell: Callable[[str], None],
) -> _Measured:
    for n, (key, program) in enumerate(programs.items()):
        tell(f"{n} of {len(programs)} schedules simulated")
        assert isinstance(program, SamProgram)
        run = program.simulate(inputs, machine.config, machine.overrides, machine.engine)
        yield key, float(run.cycles)


def _seconds(
    programs: Mapping[tuple[str, ...], Program],
    inputs: Mapping[str, Tensor],
    machine: MeasuringMachine,
    tell: Callable[[str], None],
) -> _Measured:
    bound = {}
    for n, (key, program) in enumerate(programs.items()):
        tell(f"{n} of {len(programs)} kernels compiled")
        assert isinstance(program, CProgram)
        bound[key] = program.bind(inputs, machine.threads)
        bound[key].seconds()  # which compiles it, and touches its memory
    least = dict.fromkeys(bound, math.inf)
    started, turns = time.perf_counter(), 0
    while bound and (turns < _TURNS or time.perf_counter() - started < _SECONDS):
        tell(f"{len(bound)} kernels timed, {turns} times each")
        for key, one in bound.items():
            least[key] = min(least[key], one.seconds())
        turns += 1
    yield from least.items()
