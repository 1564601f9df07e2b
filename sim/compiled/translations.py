"""A cache of translations; the key holds all facts that decide the C of a step.

The key is the step itself, its ports, the state that it starts from, the type of its values, and
the parts of its memory that are written into the C: constants, operations, formats of levels, types
of arrays. Whole numbers and the contents of arrays reach the C when it runs. So the lanes of a
graph, its blocks of one kind, and the next run share a translation, a source and a library; the
next process finds translations on disk (``sim.compiled.stored_translations``).
"""

from __future__ import annotations

import ctypes
import os
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from importlib import resources
from types import SimpleNamespace
from typing import Any

import numpy as np

from sam.arithmetic import Operation
from sam.blocks.base import Step
from sam.blocks.block_memory import Accumulator, Growing, Stored
from sam.memory_regions import Region, Regions
from sam.support import c_compiler as cc
from sim.compiled import stored_translations
from sim.compiled.kernel.ends import QueueEnd
from sim.compiled.kernel.source import paths_on, source
from sim.compiled.residual import Residual, StepPort, c_type
from sim.compiled.steps.specialise import translate
from sim.machine import Part

_MOST_KEPT = 1024


class _Unknown(Exception):
    """An object in a memory whose influence on the C is not known."""


@dataclass
class Translation:
    """A step in C, with its sources by the queues around it.

    ``regions``  the regions of the translated memory, in the order in which they are met
    ``others``   kernels of ``sim.retiming``, by the queues around them
    """

    residual: Residual
    regions: Sequence[Region] = ()
    sources: dict[Hashable, str] = field(default_factory=dict)
    others: dict[Hashable, Any] = field(default_factory=dict)

    def source(
        self,
        inputs: Sequence[QueueEnd],
        outputs: Sequence[QueueEnd],
        logged: bool,
        limited: bool = False,
        kept: bool = False,
        holdable: bool = False,
    ) -> str:
        """The C source between some queues; arguments as ``kernel.source.source`` has them."""
        paths = paths_on()
        key = (tuple(inputs), tuple(outputs), logged, limited, kept, holdable, paths)
        if key not in self.sources:
            body = self.residual.body
            made = source(body, inputs, outputs, logged, paths, limited, kept, holdable)
            self.sources[key] = made
        return self.sources[key]


_kept: OrderedDict[Hashable, Translation] = OrderedDict()
_loaded: OrderedDict[Hashable, ctypes.CDLL] = OrderedDict()


def libraries(
    sources: Sequence[str], headers: Mapping[str, str] | None = None, at_hand: bool = False
) -> list[ctypes.CDLL]:
    """The shared libraries of C sources, compiled unless they are on disk.

    ``headers`` are the files that they include, by name; by default those of this package. Raises
    what ``c_compiler.build`` raises.
    """
    settings = tuple(os.environ.get(name) for name in ("CC", "SAM_CFLAGS", "SAM_CACHE", "HOME"))
    keys = [(source, settings) for source in sources]
    missing = list(dict.fromkeys(key for key in keys if key not in _loaded))
    if missing:
        texts = [source for source, _ in missing]
        found = cc.build(texts, headers or _headers(), _flags, at_hand)
        _loaded.update(zip(missing, found, strict=True))
    libraries = [_loaded[key] for key in keys]
    while len(_loaded) > _MOST_KEPT:
        _loaded.popitem(last=False)
    return libraries


# A kernel of this many lines has far more queues than there are registers. Few optimisations make
# it as fast (measured); gcc's time for the others grows with the square of the length.
_MANY_LINES = 2000
_FEW_OPTIMISATIONS = ("-Og", "-fira-region=one")


# Arrays grow by mremap, where the system has it. One library frees what another has grown, so all
# know it or none.
_FLAGS = (*cc.FLAGS, "-D_GNU_SOURCE")


def _flags(source: str) -> tuple[str, ...]:
    """The compiler's flags for a kernel."""
    if source.count("\n") < _MANY_LINES:
        return _FLAGS
    return (*(flag for flag in _FLAGS if flag != "-O3"), *cc.supported(_FEW_OPTIMISATIONS))


@cache
def text(name: str) -> str:
    """A C file of this package."""
    return resources.files("sim.compiled").joinpath(name).read_text()


@cache
def _headers() -> dict[str, str]:
    machine = ("runtime.h", "memories.h", "order.h", "values.h", "hierarchy.h", "accesses.h")
    names = (*machine, "history.h", "mask.h", "waits.h", "logs.h")
    return {name: text(name) for name in names}


def translated(part: Part, at_hand: bool = False) -> tuple[Translation, Residual]:
    """The translation of a part's step, and its residual code with the regions of its memory.

    Raises what ``translate`` raises; NotAtHand where it must be ``at_hand`` and is not known.
    """
    found = part.kept.get("ports")
    if found is None:
        found = part.kept["ports"] = _ports_in_c(part)
    return translation(part.step, found, part.state, part.memory, c_type(part.dtype), at_hand)


def _ports_in_c(part: Part) -> dict[str, Any]:
    """The ports of a part, or lists of those of groups, as its step knows them."""
    known = {
        id(port): StepPort(port.name, n, c_type(port.channel.dtype), wire=port.channel.wire)
        for n, port in enumerate(part.inputs)
    }
    known |= {
        id(port): StepPort(port.name, n, c_type(port.dtype), True)
        for n, port in enumerate(part.outputs)
    }
    return {
        name: [known[id(one)] for one in port] if isinstance(port, tuple) else known[id(port)]
        for name, port in part.ports.items()
    }


def translation(
    step: Step,
    ports: Mapping[str, Any],
    state: Mapping[str, Any],
    memory: Any,
    values: str,
    at_hand: bool = False,
) -> tuple[Translation, Residual]:
    """The translation of a step, and its residual code with the regions of this memory.

    Arguments and errors are those of ``translate``; NotAtHand is raised where the translation must
    be ``at_hand`` and is not known.
    """
    regions: list[Region] = []
    try:
        key = (step, _ports(ports), _state(state), _memory(memory, regions), values)
        known = _kept.get(key)
    except (_Unknown, TypeError):
        if at_hand:
            raise cc.NotAtHand from None
        found = Translation(translate(step, ports, state, memory, values))
        return found, found.residual
    if known is None:
        name = stored_translations.name(key)
        residual = None if name is None else stored_translations.find(name, regions)
        if residual is None:
            if at_hand:
                raise cc.NotAtHand
            residual = translate(step, ports, state, memory, values)
            if name is not None:
                stored_translations.put(name, residual, regions)
        known = Translation(residual, regions)
        _kept[key] = known
        if len(_kept) > _MOST_KEPT:
            _kept.popitem(last=False)
    elif len(_kept) > _MOST_KEPT // 2:
        _kept.move_to_end(key)
    residual = known.residual
    if residual.regions:
        own = {id(old): new for old, new in zip(known.regions, regions, strict=True)}
        residual = residual.touching(tuple(own[id(region)] for region in residual.regions))
    return known, residual


def _ports(ports: Mapping[str, Any]) -> Hashable:
    return tuple(
        (name, port if isinstance(port, StepPort) else tuple(port)) for name, port in ports.items()
    )


def _state(state: Mapping[str, Any]) -> Hashable:
    return tuple((name, _constant(value)) for name, value in state.items())


def _constant(value: Any) -> Hashable:
    """The key of a constant; it tells 1, 1.0 and True apart, and 0.0 and -0.0."""
    if isinstance(value, list | tuple):
        return type(value), tuple(map(_constant, value))
    if value is None or isinstance(value, bool | int | float | complex | str | np.generic):
        return type(value), repr(value)
    raise _Unknown


def _memory(value: Any, regions: list[Region]) -> Hashable:
    """The key of an object in a memory; collects the regions in it."""
    return _key_of(type(value))(value, regions)  # type: ignore[arg-type]


_KeyOf = Callable[[Any, list[Region]], Hashable]


@cache
def _key_of(kind: type) -> _KeyOf:
    """The function that gives the key of an object of a type."""
    for kinds, key_of in _KEYS:
        if issubclass(kind, kinds):
            return key_of
    if not is_dataclass(kind):
        return _unknown
    names = [part.name for part in fields(kind)]

    def of_fields(value: Any, regions: list[Region]) -> Hashable:
        return kind, tuple((name, _memory(getattr(value, name), regions)) for name in names)

    return of_fields


def _unknown(value: Any, regions: list[Region]) -> Hashable:
    raise _Unknown


def _region(value: Region, regions: list[Region]) -> Hashable:
    at = next((n for n, one in enumerate(regions) if one is value), len(regions))
    if at == len(regions):
        regions.append(value)
    return Region, at


def _tuple(value: tuple[Any, ...], regions: list[Region]) -> Hashable:
    if any(isinstance(one, Growing) for one in value):
        return tuple, tuple(_memory(one, regions) for one in value)
    return _constant(value)


def _namespace(value: SimpleNamespace, regions: list[Region]) -> Hashable:
    parts = vars(value).items()
    return type(value), tuple((name, _memory(part, regions)) for name, part in parts)


# The first class that an object is an instance of tells its key; other objects are dataclasses.
_KEYS: tuple[tuple[Any, _KeyOf], ...] = (
    ((bool, np.bool_), lambda value, regions: bool(value)),
    (type(None), lambda value, regions: None),
    ((int, np.integer), lambda value, regions: int),
    ((float, complex, str, np.inexact), lambda value, regions: _constant(value)),
    (np.ndarray, lambda value, regions: (np.ndarray, value.dtype.kind)),
    (Operation, lambda value, regions: (Operation, value.name, value.dtype.str)),
    (Region, _region),
    (
        Regions,
        lambda value, regions: (
            Regions,
            tuple((part, _memory(one, regions)) for part, one in value.items()),
        ),
    ),
    (
        Accumulator,
        lambda value, regions: (
            Accumulator,
            value.dimensions,
            value.far,
            _memory(value.plus, regions),
        ),
    ),
    (Stored, lambda value, regions: (type(value), value.integers)),
    (Growing, lambda value, regions: (type(value), value.values)),
    (tuple, _tuple),
    (SimpleNamespace, _namespace),
)
