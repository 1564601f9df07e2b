"""Kernels of steps given as text, and of programs, as C."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from unittest.mock import patch

import numpy as np

import custard
from sim.binding import bind
from sim.compiled import engine
from sim.compiled.kernel.ends import Queue
from sim.compiled.kernel.plain import Kernel
from sim.compiled.kernel.source import PATHS, paths_without
from sim.config.hardware import load
from tests.support.steps import translated

FORWARD = """
kind, value = p.a.peek()
p.a.take()
p.crd.give(kind, value)
return kind == 3
"""
"""Gives what it takes."""

MERGE = """
kind_a, a = p.a.peek()
kind_b, b = p.b.peek()
if kind_a == 0 and kind_b == 0:
    if a < b:
        p.a.take()
        return None
    if b < a:
        p.b.take()
        return None
    p.a.take()
    p.b.take()
    p.crd.give(0, a)
    return None
if kind_a == 0:
    p.a.take()
    return None
if kind_b == 0:
    p.b.take()
    return None
p.a.take()
p.b.take()
p.crd.give(kind_a, 0)
return kind_a == 3
"""
"""Takes the smaller of two coordinates, or both if they are equal."""

REPEAT = """
if s.left > 0:
    s.left = s.left - 1
    p.crd.give(0, 1)
    return None
kind, value = p.a.peek()
p.a.take()
if kind == 0:
    s.left = value
    return None
p.crd.give(kind, 0)
return kind == 3
"""
"""Repeats a value as often as it says."""


def long(*ports: int, bounded: bool = False, wire: bool = False) -> Queue:
    """An end of a queue that is not short."""
    return Queue(ports, 1024, bounded, False, wire)


def short(*ports: int, ahead: bool = False) -> Queue:
    """An end of a short queue."""
    return Queue(ports, 64, True, True, ahead=ahead)


def kernel(
    body: str,
    inputs: Sequence[Queue],
    outputs: Sequence[Queue],
    without: Sequence[str] = (),
    **more: Any,
) -> Kernel:
    """The kernel of a step between queues, without some paths."""
    found = translated(body, **more).body
    return Kernel(found, inputs, outputs, [] if without == "all" else paths_without(without))


def uses(found: Kernel) -> set[str]:
    """The names of the paths that a kernel uses."""
    return {path.name for path in found.paths}


def kernels_of_product(config: Any, off: str = "") -> list[str]:
    """The kernels of a product of matrices under a config, with some paths off."""
    program = custard.compile("X(i,j)=B(i,k)*C(k,j)", schedule=["reorder(i,k,j)"])
    bound = bind(program.graph, {"B": np.eye(3), "C": np.eye(3)})
    sources: list[str] = []

    class Enough(Exception):
        pass

    def keep(found: list[str]) -> None:
        sources.extend(found[1:])
        raise Enough

    settings = patch.dict("os.environ", SAM_PATHS_OFF=off)
    with patch.object(engine, "libraries", keep), settings, suppress(Enough):
        engine.run(bound, load("ideal", config))
    return sources


NAMES = [path.name for path in PATHS]
