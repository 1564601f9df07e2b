"""Kernels of steps given as text, and of programs, as C."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from unittest.mock import patch

import numpy as np

import custard
from sim.binding import bind
from sim.compiled import engine, layout
from sim.compiled.kernel.ends import QueueEnd
from sim.compiled.kernel.plain import BlockKernel
from sim.compiled.kernel.source import PATHS, paths_without
from sim.config.hardware import load
from tests.support.steps import translated


def long(*ports: int, bounded: bool = False, wire: bool = False) -> QueueEnd:
    """An end of a queue that is not short."""
    return QueueEnd(ports, 1024, bounded, False, wire)


def short(*ports: int, ahead: bool = False) -> QueueEnd:
    """An end of a short queue."""
    return QueueEnd(ports, 64, True, True, ahead=ahead)


def kernel(
    body: str,
    inputs: Sequence[QueueEnd],
    outputs: Sequence[QueueEnd],
    without: Sequence[str] = (),
    **more: Any,
) -> BlockKernel:
    """The kernel of a step between queues, without some paths."""
    found = translated(body, **more).body
    return BlockKernel(found, inputs, outputs, [] if without == "all" else paths_without(without))


def uses(found: BlockKernel) -> set[str]:
    """The names of the paths that a kernel uses."""
    return {path.name for path in found.paths}


def kernels_of_product(config: Any, off: str = "") -> list[str]:
    """The kernels of a product of matrices under a config, with some paths off."""
    program = custard.compile("X(i,j)=B(i,k)*C(k,j)", schedule=["reorder(i,k,j)"])
    bound = bind(program.graph, {"B": np.eye(3), "C": np.eye(3)})
    sources: list[str] = []

    class Enough(Exception):
        pass

    def keep(found: list[str], **_: bool) -> None:
        sources.extend(found[1:])
        raise Enough

    settings = patch.dict("os.environ", SAM_PATHS_OFF=off)
    with patch.object(layout, "libraries", keep), settings, suppress(Enough):
        engine.run(bound, load("ideal", config))
    return sources


NAMES = [path.name for path in PATHS]
