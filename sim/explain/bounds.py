"""Lower bounds of a run's cycles: the least work of its blocks and its memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

from sim.stats import Run, graphs_of, of_machine


@dataclass(frozen=True)
class LowerBound:
    """Cycles that a run cannot go below, and why."""

    why: str
    cycles: int


def bounds(run: Run) -> list[LowerBound]:
    """The lower bounds of a run, the largest first.

    There are three: the cycles of the busiest block; for each level of memory, the bytes that were
    moved before the last that a block waited for, over the bytes that its ports can move in a
    cycle; the multiplications over the multipliers. For several graphs, which run in turn, each
    bound is the sum of theirs.
    Where the work depends on time (``what_if.why_timed``), they are those of this run's work.
    """
    found: dict[str, int] = {}
    names: dict[str, list[str]] = {}
    for part, before in graphs_of(run):
        for key, name, cycles in _of_graph(part, before):
            found[key] = found.get(key, 0) + cycles
            names.setdefault(key, []).append(name)
    told = [LowerBound(", then ".join(dict.fromkeys(names[key])), found[key]) for key in found]
    return sorted(told, key=lambda bound: -bound.cycles)


def _of_graph(run: Run, before: str) -> list[tuple[str, str, int]]:
    """The bounds of a graph: a key, the reason in words, and the cycles.

    ``before`` stands before the names of blocks.
    """
    found = []
    blocks = of_machine(run.blocks)
    if blocks:
        on_path = {part.block: part.cycles for part in run.critical_path}
        busiest = max(blocks, key=lambda name: (blocks[name].busy, on_path.get(name, 0)))
        found.append(("busy", f"{before}{busiest} is busy", blocks[busiest].busy))
    for name, level in run.memory.items():
        rate = bytes_per_cycle(run.config, name)
        if rate is not None:
            ports = len(level.busy)
            busy = sum(level.before)
            moved = round(busy * rate)
            of_ports = f" of {ports} ports" if ports > 1 else ""
            words = f"{name} moves {moved:,} bytes at {ports * rate:.4g} per cycle{of_ports}"
            found.append((f"memory {name}", words, ceil(busy / ports)))
    multipliers = run.multipliers
    if multipliers:
        products = sum(block.tokens["val"]["data"] for block in multipliers)
        many = "1 multiplier" if len(multipliers) == 1 else f"{len(multipliers)} multipliers"
        work = "1 multiplication" if products == 1 else f"{products:,} multiplications"
        words = f"{work} on {many}"
        found.append(("products", words, ceil(products / len(multipliers))))
    return found


def bytes_per_cycle(config: Mapping[str, Any], level: str) -> float | None:
    """The bytes that a port of a level moves in a cycle; None if that is unbounded."""
    for section in config["memory"]["levels"]:
        if section["name"] == level:
            rate = section["bandwidth_gb_per_s"]
            return None if rate == "unbounded" else rate / config["clock"]["clock_ghz"]
    return None
