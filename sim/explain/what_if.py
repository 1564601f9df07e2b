"""Changes of the machine that each make one resource ideal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sam.validate import validated
from sim.attribution.critical_path import PathPart
from sim.config.hardware import load
from sim.stats import Run

_SHORT = 2


@dataclass(frozen=True)
class Change:
    """A change of the machine.

    ``what``       what is changed, in words
    ``overrides``  the config values that make it
    ``cycles``     what it could save: the cycles of its causes on the critical path
    ``is_ideal``   whether it makes a cause ideal, so that nothing can take longer
    """

    what: str
    overrides: Mapping[str, Any] = field(hash=False)
    cycles: int
    is_ideal: bool = True


def changes(run: Run) -> list[Change]:
    """The changes that each make a cause on the critical path ideal, those of most cycles first.

    Queues from scanners that skip are tried short, as tokens that are in them cannot be skipped any
    more. In a run of several graphs, blocks are changed by kind and all queues at once, as not
    every graph has each name.
    """
    found: dict[str, Change] = {}
    for part in run.critical_path:
        mended = ideal(run, part)
        for n, (what, overrides) in enumerate([*mended, *_shorter(run, part)]):
            before = found[what].cycles if what in found else 0
            found[what] = Change(what, overrides, before + part.cycles, n < len(mended))
    return sorted(found.values(), key=lambda change: -change.cycles)


def why_timed(run: Run) -> list[str]:
    """Why the work of a run depends on time, so that a change that makes a cause ideal may cost
    cycles, in words; empty if it does not.

    Firings come no later if the things that they wait for do, unless the work depends on time.
    """
    orders = [order for order in run.orders if order is not None]
    found = []
    if any(order.reads for order in orders):
        found.append("a scanner that skips may run ahead of the messages that it skips by")
    if any(order.askers for order in orders):
        found.append("blocks that share a memory may be served in another order")
    return found


def ideal(run: Run, part: PathPart) -> list[tuple[str, dict[str, Any]]]:
    """The changes that make the cause of a part of the path ideal, in words and as overrides."""
    queue = f"queues.names.{part.stream}"
    several = bool(run.parts)
    if part.cause == "queue full":
        found = [("all queues unbounded", _of_all_queues(run, "depth", "unbounded"))]
        if not several and part.stream in run.streams:
            one: dict[str, Any] = {f"{queue}.depth": "unbounded"}
            found.append((f"the queue {part.stream} unbounded", one))
        return found
    if part.cause == "queue latency":
        found = [("all queues with a latency of 1", _of_all_queues(run, "latency_cycles", 1))]
        if not several and part.stream in run.streams:
            one = {f"{queue}.latency_cycles": 1}
            found.append((f"the queue {part.stream} with a latency of 1", one))
        return found
    if part.cause in ("interval", "latency"):
        key = "initiation_interval_cycles" if part.cause == "interval" else "latency_cycles"
        words = "firing every cycle" if part.cause == "interval" else "with a latency of 1"
        if several:
            kind = run.blocks[part.block].kind
            return [(f"each {kind} {words}", {f"blocks.kinds.{kind}.{key}": 1})]
        name = part.block.removesuffix(".emitter")
        return [(f"{name} {words}", {f"blocks.names.{name}.{key}": 1})]
    level = f"memory.levels.{part.memory}"
    if part.cause == "memory latency":
        return [(f"{part.memory} with a latency of 0", {f"{level}.latency_cycles": 0})]
    if part.cause == "bandwidth":
        unbounded = {f"{level}.bandwidth_gb_per_s": "unbounded"}
        return [(f"{part.memory} with unbounded bandwidth", unbounded)]
    if part.cause == "port conflict":
        return [(f"{part.memory} with a port for each block", {f"{level}.ports": "per_block"})]
    if part.cause == "outstanding":
        unbounded = {"memory.outstanding_requests": "unbounded"}
        return [("any number of outstanding requests", unbounded)]
    return []


def _shorter(run: Run, part: PathPart) -> list[tuple[str, dict[str, Any]]]:
    """Short queues from the scanners that skip to their intersecter, for a part at one of them.

    Two places, as a queue of one can be filled in every other cycle only.
    """
    if run.parts or part.cause != "busy":
        return []
    streams = validated(run.graph).streams
    wires = [edge for edge, stream in streams.items() if stream.wire]
    askers = {w.source.node for w in wires if part.block in (w.source.node, w.target.node)}
    scanners = {w.target.node for w in wires if w.source.node in askers}
    config = load(run.config)
    found: dict[str, Any] = {}
    for edge, stream in streams.items():
        if edge.source.node in scanners and edge.target.node in askers:
            depth, _ = config.queue(str(edge), stream.kind, run.blocks[edge.target.node].kind)
            if depth is None or depth > _SHORT:
                found[f"queues.names.{edge}.depth"] = _SHORT
    names = f"{' and '.join(sorted(scanners))} to {' and '.join(sorted(askers))}"
    return [(f"the queues from {names} with {_SHORT} places", found)] if found else []


def _of_all_queues(run: Run, key: str, value: Any) -> dict[str, Any]:
    """Overrides that give all queues one value."""
    queues = run.config["queues"]
    found = {f"queues.{key}": value}
    for group in ("names", "readers", "kinds"):
        for name, section in queues.get(group, {}).items():
            if key in section:
                found[f"queues.{group}.{name}.{key}"] = value
    return found
