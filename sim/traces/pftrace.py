"""A trace for Perfetto (ui.perfetto.dev): a track for each block, counters for queues and memory.

A cycle is shown as a nanosecond. The file is written packet by packet.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from sam.support.errors import UserError
from sam.support.files import require_folder, written_whole
from sim.stats import Run
from sim.traces.states import (
    DONE,
    MOST_BYTES,
    Piece,
    TraceSizes,
    about,
    bits,
    samples,
    states,
    within,
)
from sim.traces.states import shown as shown_of

# The bytes of the packets of a slice's beginning and end, and of a counter, without their time.
_SLICE, _COUNTER = 33, 15
_SEQUENCE = 1


def write(
    run: Run,
    path: str | os.PathLike[str],
    shown: tuple[int, int] | None = None,
    most_bytes: int = MOST_BYTES,
) -> str | None:
    """Writes the trace of the cycles ``shown``; gives a sentence on what it leaves out, or None.

    A graph is a process there. Raises UserError without the package ``perfetto``.
    """
    protobuf = _protobuf()
    require_folder(path)
    found = shown_of(run, shown, most_bytes, _sizes(run))
    writer = _PacketWriter(protobuf, found.note)
    with written_whole(path) as place, place.open("wb") as file:
        for piece in found.pieces:
            for packet in writer.packets(piece):
                _put(file, packet)
    return found.note


def _protobuf() -> Any:
    try:
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2
    except ImportError:
        raise UserError(
            "traces for Perfetto need the package perfetto",
            hint="pip install sparse-abstract-machine[traces]",
        ) from None
    return perfetto_trace_pb2


def _sizes(run: Run) -> TraceSizes:
    """The bytes of the packets of a run."""
    time = 1 + len(_varint(run.cycles))
    return TraceSizes(
        changes=lambda found: np.full(len(found.cycles), _SLICE + 2 * time),
        cycle=0,
        numbers=lambda values: _COUNTER + time + bits(values) // 7,
    )


def _put(file: BinaryIO, packet: bytes) -> None:
    """A packet as a field of the trace: its number and kind, its length, and itself."""
    file.write(b"\x0a" + _varint(len(packet)) + packet)


def _varint(number: int) -> bytes:
    """A number as protobuf writes it: seven bits to a byte, the lowest first."""
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    found.append(number)
    return bytes(found)


class _PacketWriter:
    """Makes the packets of a trace."""

    def __init__(self, protobuf: Any, note: str | None) -> None:
        self.protobuf, self.note, self.event = protobuf, note, protobuf.TrackEvent
        self.names: dict[str, int] = {}
        self.known: dict[tuple[int, str], bytes] = {}  # packets without their time
        self.tracks = self.processes = 0

    def packets(self, piece: Piece) -> Iterator[bytes]:
        """The packets of a graph."""
        self.log, self.shown, self.start = piece.log, piece.shown, piece.start
        yield self._process(piece)
        parent = self.tracks
        for n, name in enumerate(self.log.blocks):
            yield self._track(parent, name)
            yield from self._slices(self.tracks, n)
        over_time = self.log.over_time
        for edge in over_time.given:
            yield self._track(parent, f"tokens in {edge}", counted=True)
            yield from self._counter(self.tracks, over_time.occupancy(edge))
        for level, moved in zip(self.log.levels, over_time.bytes, strict=False):
            name = f"bytes of {level} per {over_time.stretch} cycles"
            yield self._track(parent, name, counted=True)
            yield from self._counter(self.tracks, moved)

    def _packet(self, cycle: int) -> Any:
        packet = self.protobuf.TracePacket()
        packet.timestamp = self.start + cycle
        packet.trusted_packet_sequence_id = _SEQUENCE
        return packet

    def _process(self, piece: Piece) -> bytes:
        packet = self._packet(self.shown.first)
        if self.processes == 0:
            packet.sequence_flags = packet.SEQ_INCREMENTAL_STATE_CLEARED
        self.tracks, self.processes = self.tracks + 1, self.processes + 1
        packet.track_descriptor.uuid = self.tracks
        packet.track_descriptor.process.pid = self.processes
        packet.track_descriptor.process.process_name = about(piece.run, self.note)
        return bytes(packet.SerializeToString())

    def _track(self, parent: int, name: str, counted: bool = False) -> bytes:
        packet = self._packet(self.shown.first)
        self.tracks += 1
        packet.track_descriptor.uuid = self.tracks
        packet.track_descriptor.parent_uuid = parent
        packet.track_descriptor.name = name
        if counted:
            packet.track_descriptor.counter.SetInParent()
        return bytes(packet.SerializeToString())

    def _slices(self, track: int, block: int) -> Iterator[bytes]:
        found = states(self.log, block)
        cycles, changes = within(found, self.shown)
        is_open = False
        for cycle, state in zip(cycles.tolist(), changes.tolist(), strict=True):
            if is_open:
                yield self._end(track, cycle)
            is_open = found.names[state] != DONE
            if is_open:
                yield self._begin(track, cycle, found.names[state])
        if is_open:
            yield self._end(track, min(self.shown.end, self.log.cycles))

    def _begin(self, track: int, cycle: int, name: str) -> bytes:
        if (track, name) in self.known:
            return self.known[track, name] + self._at(cycle)
        packet = self._event(track, self.event.TYPE_SLICE_BEGIN)
        packet.sequence_flags = packet.SEQ_NEEDS_INCREMENTAL_STATE
        is_new = name not in self.names
        packet.track_event.name_iid = self.names.setdefault(name, len(self.names) + 1)
        self.known[track, name] = packet.SerializeToString()
        if is_new:
            interned = packet.interned_data.event_names.add()
            interned.iid, interned.name = self.names[name], name
        return bytes(packet.SerializeToString()) + self._at(cycle)

    def _end(self, track: int, cycle: int) -> bytes:
        if (track, "") not in self.known:
            packet = self._event(track, self.event.TYPE_SLICE_END)
            self.known[track, ""] = packet.SerializeToString()
        return self.known[track, ""] + self._at(cycle)

    def _at(self, cycle: int) -> bytes:
        """The field of a packet that tells its time, which may stand anywhere in it."""
        return b"\x40" + _varint(self.start + cycle)

    def _event(self, track: int, kind: int) -> Any:
        packet = self.protobuf.TracePacket()
        packet.trusted_packet_sequence_id = _SEQUENCE
        packet.track_event.type = kind
        packet.track_event.track_uuid = track
        return packet

    def _counter(self, track: int, values: Any) -> Iterator[bytes]:
        for cycle, value in samples(self.log, values, self.shown):
            packet = self._event(track, self.event.TYPE_COUNTER)
            packet.track_event.counter_value = value
            yield packet.SerializeToString() + self._at(cycle)
