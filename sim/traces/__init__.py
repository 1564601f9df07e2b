"""Traces of a run, for other viewers.

``states``     the states of each block, and the part of a run that a trace shows
``pftrace``    for Perfetto, by the package ``perfetto``
``waveforms``  a VCD file for GTKWave and Surfer, by the package ``pyvcd``
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from sam.support.errors import UserError
from sim.traces import pftrace, waveforms
from sim.traces.states import MOST_BYTES

__all__ = ["MOST_BYTES", "writer_of"]

_WRITERS = {".pftrace": pftrace.write, ".vcd": waveforms.write}


def writer_of(path: str | os.PathLike[str]) -> Callable[..., str | None]:
    """The writer of traces for a path's suffix. Raises UserError for an unknown suffix."""
    suffix = Path(path).suffix.lower()
    if suffix not in _WRITERS:
        raise UserError(
            f"{path} does not have the suffix of a trace", hint=f"one of {', '.join(_WRITERS)}"
        )
    return _WRITERS[suffix]
