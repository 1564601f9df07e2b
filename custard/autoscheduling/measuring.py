"""Measurements of programs: simulated cycles, or the seconds of kernels that run in turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from custard.autoscheduling import known
from custard.autoscheduling.autoscheduler import MeasuringMachine, Told, autoscheduler
from custard.program import Program
from custard.targets import target_of
from sam.tensor import Tensor


def measured(
    programs: Sequence[Program],
    inputs: Mapping[str, Tensor],
    machine: MeasuringMachine,
    again: bool,
    tell: Told,
) -> list[float]:
    """The cycles of each program, or its least seconds of some runs, in turns with the others.

    Earlier measurements are taken from the cache, unless ``again``.
    """
    if not programs:
        return []
    own, about = autoscheduler(target_of(programs[0].target)), known.digest(inputs)
    keys = [(*own.key(program, machine), about) for program in programs]
    found = {} if again else {key: one for key in keys if (one := known.known(*key)) is not None}
    missing = {
        key: program for key, program in zip(keys, programs, strict=True) if key not in found
    }
    for key, number in own.measured(missing, inputs, machine, tell):
        known.keep(number, *key)
        found[key] = number
    return [found[key] for key in keys]
