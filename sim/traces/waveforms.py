"""A trace as a VCD file, for GTKWave and Surfer: a signal for each block, queue and memory level.

A cycle is a nanosecond. A block's signal is a text: busy, starved or blocked by a port, memory,
done. The file is written change by change.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from sam.support.errors import UserError
from sam.support.files import require_folder, written_whole
from sim.attribution.log import Array
from sim.stats import Run
from sim.traces.states import (
    MOST_BYTES,
    Piece,
    States,
    TraceSizes,
    about,
    bits,
    samples,
    states,
    within,
)
from sim.traces.states import shown as shown_of

# The bytes of a change beside its text: the name of its signal, and what separates them.
_BESIDE = 6


def write(
    run: Run,
    path: str | os.PathLike[str],
    shown: tuple[int, int] | None = None,
    most_bytes: int = MOST_BYTES,
) -> str | None:
    """Writes the trace of the cycles ``shown``; gives a sentence on what it leaves out, or None.

    Of several graphs, each begins when the one before is done. Raises UserError without the
    package ``pyvcd``.
    """
    try:
        from vcd import VCDWriter
    except ImportError:
        raise UserError(
            "VCD files need the package pyvcd",
            hint="pip install sparse-abstract-machine[traces]",
        ) from None
    require_folder(path)
    found = shown_of(run, shown, most_bytes, _sizes(run))
    comment = about(run, found.note).replace("$", "")  # $end would end it
    with (
        written_whole(path) as place,
        place.open("w", encoding="utf-8") as file,
        VCDWriter(file, "1 ns", comment=comment, init_timestamp=found.first) as writer,
    ):
        streams = [changes for piece in found.pieces for changes in _changes(writer, piece)]
        for cycle, variable, value in heapq.merge(*streams, key=lambda change: change[0]):
            writer.change(variable, cycle, value)
        writer.close(found.end)
    return found.note


def _sizes(run: Run) -> TraceSizes:
    """The bytes of the changes of a run."""

    def changes(found: States) -> Array:
        return np.array([len(name) for name in found.names])[found.state] + _BESIDE

    return TraceSizes(changes, len(f"#{run.cycles}\n"), lambda values: bits(values) + _BESIDE)


_Change = tuple[int, Any, Any]


def _changes(writer: Any, piece: Piece) -> list[Iterator[_Change]]:
    """The changes of each signal of a graph, which are declared here."""
    log, streams = piece.log, []
    for n, name in enumerate(log.blocks):
        scope = f"{piece.prefix}blocks"
        variable = writer.register_var(scope, _word(name), "string", init="idle")
        streams.append(_of_block(piece, n, variable))
    over_time = log.over_time
    numbers = {f"queues.{_word(edge)}": over_time.occupancy(edge) for edge in over_time.given}
    numbers |= {
        f"memory.{_word(level)}": moved
        for level, moved in zip(log.levels, over_time.bytes, strict=False)
    }
    for name, values in numbers.items():
        scope, _, word = name.partition(".")
        scope = piece.prefix + scope
        variable = writer.register_var(scope, word, "integer", size=64, init=0)
        streams.append(_of_numbers(piece, values, variable))
    return streams


def _of_block(piece: Piece, block: int, variable: Any) -> Iterator[_Change]:
    found = states(piece.log, block)
    cycles, changes = within(found, piece.shown)
    for cycle, state in zip(cycles.tolist(), changes.tolist(), strict=True):
        yield piece.start + cycle, variable, found.names[state].replace(" ", "_")


def _of_numbers(piece: Piece, values: Any, variable: Any) -> Iterator[_Change]:
    for cycle, value in samples(piece.log, values, piece.shown):
        yield piece.start + cycle, variable, value


def _word(name: str) -> str:
    """A name without the characters that separate names in VCD files."""
    return name.replace(" -> ", ">").replace(" ", "_")
