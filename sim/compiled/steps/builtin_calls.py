"""The built-in functions that steps may call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sam.blocks.block_memory import Growing
from sim.compiled.residual import INT
from sim.compiled.steps.arithmetic import extreme
from sim.compiled.steps.memories import length
from sim.compiled.steps.values import Known, Open, StateList, StepMemory
from sim.compiled.steps.writing import FiringWriter


def _len(writing: FiringWriter, value: Any) -> Known | Open:
    if isinstance(value, list | tuple):
        return Known(len(value))
    if isinstance(value, StateList):
        return Known(value.length)
    if isinstance(value, StepMemory) and isinstance(value.value, Growing):
        return length(writing, value)
    raise writing.refuse("len of anything but a list or a growing memory")


def _range(writing: FiringWriter, *bounds: Any) -> list[Known]:
    if not all(isinstance(bound, Known) for bound in bounds):
        raise writing.refuse("a range whose ends are not known")
    return [Known(n) for n in range(*(bound.value for bound in bounds))]


def _zip(writing: FiringWriter, *sequences: Any) -> list[tuple[Any, ...]]:
    lists = [
        [Known(part) for part in one.value] if isinstance(one, Known) else one for one in sequences
    ]
    return list(zip(*lists, strict=True))


def _enumerate(writing: FiringWriter, values: Any) -> list[tuple[Any, ...]]:
    return [(Known(n), value) for n, value in enumerate(values)]


def _tuple(writing: FiringWriter, values: Any) -> tuple[Any, ...]:
    if isinstance(values, StateList):
        names = [f"s_{values.name}_{k}" for k in range(values.length)]
        return tuple(Open(name, writing.types.get(name, INT)) for name in names)
    return tuple(values)


def _min(writing: FiringWriter, *values: Any) -> Open:
    return extreme(writing, "<", values)


def _max(writing: FiringWriter, *values: Any) -> Open:
    return extreme(writing, ">", values)


BUILTINS: dict[Any, Callable[..., Any]] = {
    len: _len,
    range: _range,
    zip: _zip,
    enumerate: _enumerate,
    tuple: _tuple,
    min: _min,
    max: _max,
}
"""By built-in function, the writer of its calls; it gets the writing and the arguments."""
