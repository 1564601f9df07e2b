"""The report of a run on the compiled engine: its result, statistics, and the log of waits."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import partial
from typing import Any

from sim.attribution.log import Log, Waits, awaited_at, decoded_requests, decoded_waits, names
from sim.attribution.over_time import OverTime
from sim.compiled.layout import CompiledMachine
from sim.compiled.logs import CLog, Logs
from sim.compiled.parts import CompiledPart
from sim.machine import HANDOVER
from sim.stats import TOKEN_KINDS, BlockStats, Run, StreamStats


def report(machine: CompiledMachine, notes: Sequence[str] = ()) -> Run:
    """The statistics of a run, and its result unless it was ended before."""
    finished = machine.end is None
    cycles = 1 + machine.last_cycle() if machine.end is None else machine.end
    for shared in machine.queues:
        if not machine.runtime.settle(ctypes.byref(shared.queue), ctypes.c_int64(cycles)):
            raise MemoryError
    machine.objects.bring_back()
    bound, memories = machine.machine.bound, machine.machine.memories
    given = {one.part.name: _given(one) for one in machine.parts}
    tokens = {
        channel.edge: counts
        for one in machine.parts
        for output, counts in zip(one.part.outputs, given[one.part.name], strict=True)
        for channel in output.channels
    }
    result, own = bound.output(memories) if finished else (None, ())
    memory = {} if machine.hierarchy is None else machine.hierarchy.finish(finished)
    return Run(
        graph=bound.graph,
        output=result,
        notes=(*own, *notes),
        memory=memory,
        cycles=cycles,
        blocks={
            one.part.name: _statistics(one, cycles, given[one.part.name]) for one in machine.parts
        },
        streams={
            str(edge): StreamStats({**tokens[edge]}, machine.channels[edge].queue.peak)
            for edge in bound.graph.edges
        },
        config=machine.machine.config.resolved(),
        engine="compiled",
        sinks=bound.sinks(memories) if finished else {},
        log=None if machine.logs is None else _log(machine, machine.logs, cycles),
    )


def _log(machine: CompiledMachine, logs: Logs, cycles: int) -> Log:
    """The waits of all parts."""
    layout, waits = machine.machine.layout, []
    for one in machine.parts:
        machine.runtime.end_entries(ctypes.byref(one.block))
        asked, requests = logs.words(one.requests), None
        if layout is not None and len(asked):
            requests = decoded_requests(asked, len(layout.ports))
        inputs = len(one.part.inputs)
        awaited = [
            awaited_at(machine.machine, channel, n < inputs)
            for n, channel in enumerate(one.awaited)
        ]
        entries = partial(_entries, logs, one.log)
        interval = one.part.timing.initiation_interval
        waits.append(Waits(entries, requests, awaited, interval, one.last_cycle))
    moved = {str(e): one.moved for e, one in machine.channels.items() if not one.wire}
    traffic = [] if machine.hierarchy is None else machine.hierarchy.moved
    names_of_parts = [one.part.name for one in machine.parts]
    over_time = OverTime.of(cycles, moved, traffic)
    order = None if machine.order is None else machine.order.noted()
    return Log(names_of_parts, waits, cycles, over_time, *names(layout), order=order)


def _entries(logs: Logs, log: CLog) -> Any:
    """The entries of a log of waits."""
    return decoded_waits(logs.words(log))


def _given(one: CompiledPart) -> list[dict[str, int]]:
    """The tokens of each kind that a finished part has given, by output."""
    given, counts, kinds = one.residual.body.given, list(one.counts), len(TOKEN_KINDS)
    rows = [counts[kinds * n : kinds * (n + 1)] for n in range(len(given))]
    for shared in one.queues_out:  # data: all other tokens of the queue
        row = rows[given[shared.bundle.givers[0]]]
        row[0] = shared.queue.tail - sum(row[1:])
    return [dict(zip(TOKEN_KINDS, rows[n], strict=True)) for n in given]


def _statistics(one: CompiledPart, cycles: int, given: list[dict[str, int]]) -> BlockStats:
    block, inputs, outputs = one.block, one.part.inputs, one.part.outputs
    waits = list(one.waits)
    blocked = [0] * len(outputs)
    for (port, _), count in zip(one.slots, waits[len(inputs) :], strict=False):
        blocked[port] += count
    return BlockStats(
        kind=one.part.node.kind,
        fired=block.fired,
        busy=block.fired + max(0, block.fired - 1) * (block.interval - 1),
        starved={n.name: count for n, count in zip(inputs, waits, strict=False) if count},
        blocked={n.name: count for n, count in zip(outputs, blocked, strict=True) if count},
        memory=block.waited,
        done=cycles - one.last_cycle - 1,
        tokens={
            n.name: found for n, found in zip(outputs, given, strict=True) if n.name != HANDOVER
        },
    )
