"""The C source of a kernel, with the fast paths that are on and apply to it.

The variable ``SAM_PATHS_OFF`` names paths that are off, with commas between them, or is ``all``:
for tests, and to measure them.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from functools import cache

from sam.support.errors import UserError, one_of
from sim.compiled.kernel.ends import QueueEnd, slots
from sim.compiled.kernel.path import Path
from sim.compiled.kernel.paths.at_once import AtOnce
from sim.compiled.kernel.paths.data import Data
from sim.compiled.kernel.paths.following import Following
from sim.compiled.kernel.paths.prepare import Prepare
from sim.compiled.kernel.paths.pull import Pull
from sim.compiled.kernel.paths.short import Short
from sim.compiled.kernel.paths.steady import Steady
from sim.compiled.kernel.paths.window import FiringWindow
from sim.compiled.kernel.plain import BlockKernel
from sim.compiled.residual import Body

PATHS: tuple[Path, ...] = (
    *(Short(), Pull(), Prepare(), Steady()),
    *(AtOnce(), Following(), FiringWindow(), Data()),
)
"""The paths, in the order in which they write."""

OFF = "SAM_PATHS_OFF"


def paths_on() -> Sequence[Path]:
    """The paths that are on. Raises UserError if an unknown path is named."""
    return _paths_but(os.environ.get(OFF, ""))


@cache
def _paths_but(named: str) -> Sequence[Path]:
    """The paths that are on; ``named`` lists the paths that are off."""
    off = {name.strip() for name in named.split(",")} - {""}
    names = [path.name for path in PATHS]
    if off == {"all"}:
        return ()
    for name in sorted(off - {*names}):
        raise UserError(f"{OFF} has {name!r}, which is not a fast path", hint=one_of(name, names))
    return paths_without(off)


def paths_without(off: Collection[str]) -> Sequence[Path]:
    """The paths without those in ``off``, and without the paths that need one of them."""
    on = tuple(path for path in PATHS if path.name not in off)
    names = {path.name for path in on}
    missing = [path.name for path in on if path.needs - names]
    return paths_without({*off, *missing}) if missing else on


def source(
    body: Body,
    inputs: Sequence[QueueEnd],
    outputs: Sequence[QueueEnd],
    logged: bool = False,
    paths: Sequence[Path] = PATHS,
    limited: bool = False,
    kept: bool = False,
    holdable: bool = False,
) -> str:
    """The C source of a block's kernel between queues.

    It keeps a log of its waits if ``logged``: see ``waits.h``. If ``limited``, it fires in no cycle
    that comes after the end of the run, and has no fast paths. If ``kept``, it reads wires as the
    order of service says. If ``holdable``, it fires no more often than it is allowed to.
    """
    text = BlockKernel(body, inputs, outputs, () if limited else paths, kept).source()
    ports = len(body.inputs) + len(slots([queue.ports for queue in outputs]))
    text = f"#define LIMITED\n{text}" if limited else text
    text = f"#define HOLDABLE\n{text}" if holdable else text
    return f"#define LOGGED {ports}\n{text}" if logged else text
