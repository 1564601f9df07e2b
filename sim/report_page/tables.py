"""The tables and charts of a page, as HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from sam.lanes import copies
from sam.support.html import Markup, table
from sim.attribution.log import Array
from sim.explain import Explanation
from sim.explain.bounds import bytes_per_cycle
from sim.explain.lanes import folded
from sim.report_page.drawing import PARTS, split
from sim.report_page.timeline import STRETCHES, states, stretch
from sim.stats import TOKEN_KINDS, Run, of_machine

_SHOWN, _LINES = 30, 2


def percent(part: float, whole: float) -> str:
    """A share in words."""
    if not whole or part == 0:
        return "-"
    share = 100 * part / whole
    return "<1 %" if share < 0.5 else f"{share:.0f} %"


def bar(parts: Mapping[str, int], whole: int) -> Markup:
    """A bar of the shares of a whole; the title of each part has its share in words."""
    spans = "".join(
        f'<span class="{name}" style="width:{100 * cycles / whole:.2f}%" '
        f'title="{name} {percent(cycles, whole)}"></span>'
        for name, cycles in parts.items()
        if cycles and whole
    )
    return Markup(f'<span class="bar" aria-hidden="true">{spans}</span>')


def stalls(run: Run) -> str:
    """Where the cycles of each block went; the copies of a block in lanes share a row."""
    rows, of_lanes = [], []
    for name, lanes in folded(of_machine(run.blocks), copies(run.graph)).items():
        rows.append(_stalled(run, name, lanes))
        if len(lanes) > 1:
            of_lanes += [_stalled(run, lane, [lane]) for lane in lanes]
    faults = ("starved by, whose fault", "blocked by, whose fault", "memory")
    heads = ("block", "of all cycles", *PARTS, "firings", *faults)
    found = table("Where the cycles of each block went", heads, rows, "stalls")
    if of_lanes:
        each = table("Blocks of lanes", heads, of_lanes, "stalls")
        found += f"<details><summary>Each lane by itself</summary>{each}</details>"
    return found


def _stalled(run: Run, name: str, lanes: Sequence[str]) -> tuple[Any, ...]:
    """A row: the mean of the lanes, the least and most busy shares, the faults of the worst lane.

    The worst lane is busy the longest.
    """
    parts = [split(run.attribution[lane]) for lane in lanes]
    mean = {part: round(sum(one[part] for one in parts) / len(parts)) for part in PARTS}
    busy = [one["busy"] for one in parts]
    shares = run.attribution[lanes[busy.index(max(busy))]]
    told = [percent(mean[part], run.cycles) for part in PARTS]
    least, most = percent(min(busy), run.cycles), percent(max(busy), run.cycles)
    if least != most:
        told[0] = f"{told[0]} ({least} to {most})"
    return (
        f"{name} x{len(lanes)}" if len(lanes) > 1 else name,
        bar(mean, run.cycles),
        *told,
        sum(run.blocks[lane].fired for lane in lanes),
        _culprits(shares.starved, run.cycles),
        _culprits(shares.blocked, run.cycles),
        _listed(shares.memory, run.cycles),
    )


def _culprits(faults: Mapping[str, Mapping[str, int]], cycles: int) -> Markup:
    """The ports at which a block waits the longest, each with the longest fault."""
    told = []
    for port, by in sorted(faults.items(), key=lambda one: -sum(one[1].values())):
        first, *others = by.items()
        more = f", {len(others)} more" if others else ""
        culprit = f"{first[0]} {percent(first[1], cycles)}{more}"
        told.append(f"{port} {percent(sum(by.values()), cycles)}: {culprit}")
    return _longest(told)


def _listed(by: Mapping[str, int], cycles: int) -> Markup:
    ordered = sorted(by.items(), key=lambda one: -one[1])
    return _longest([f"{name} {percent(n, cycles)}" for name, n in ordered])


def _longest(told: Sequence[str]) -> Markup:
    """The first of some lines; the drawing has the others in the details of the block."""
    most = _LINES if len(told) > _LINES + 1 else len(told)
    lines = [*told[:most], *([f"{len(told) - most} more"] if told[most:] else [])]
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return Markup(f"<ul>{items}</ul>" if lines else "-")


def path(run: Run) -> str:
    """The critical path."""
    parts = run.critical_path
    rows = [
        (part.block, part.text, part.cycles, percent(part.cycles, run.cycles))
        for part in parts[:_SHOWN]
    ]
    rest = sum(part.cycles for part in parts[_SHOWN:])
    if rest:
        rows.append((f"{len(parts) - _SHOWN} others", "", rest, percent(rest, run.cycles)))
    heads = ("block", "cause", "cycles", "share")
    return table("The critical path: its cycles are those of the run", heads, rows, "text")


def explained(explanation: Explanation) -> str:
    """The changes that would save cycles, and the lower bounds of the graph."""
    tried = [
        (
            f"{one.what}: {one.order}" if one.order else one.what,
            one.least,
            one.change(explanation.cycles),
            " ".join(one.how),
        )
        for one in explanation.what_ifs
    ]
    found = ""
    if tried:
        heads = ("change", "cycles then", "difference", "options that make it")
        found += table("Changes that were tried, each by a run of its own", heads, tried, "tried")
    found += "".join(f'<p class="hint">{escape(note)}</p>' for note in explanation.notes)
    bounds = [(one.why, one.cycles) for one in explanation.bounds]
    caption = explanation.bounded[0].upper() + explanation.bounded[1:]
    return found + table(caption, ("why", "cycles"), bounds)


def tokens(run: Run) -> str:
    """The tokens of each stream."""
    rows = [
        (name, *(stream.tokens[kind] for kind in TOKEN_KINDS), stream.peak)
        for name, stream in run.streams.items()
    ]
    heads = ("stream", *TOKEN_KINDS, "most at once")
    return table("Tokens by stream", heads, rows, "tokens")


def over_time(run: Run) -> str:
    """The states of each block over time: a column of the picture is a stretch of cycles."""
    assert run.log is not None
    width = stretch(run.cycles)
    edges = np.append(np.arange(0, run.cycles, width), run.cycles)
    shown = of_machine(run.blocks)
    rows = [
        (name, _strip(states(run.log, n, edges), edges))
        for n, name in enumerate(run.log.blocks)
        if name in shown
    ]
    column = "a cycle" if width == 1 else f"{width:,} cycles"
    caption = f"What each block did over time; a column is {column}"
    return table(caption, ("block", f"cycles 0 to {run.cycles:,}"), rows, "time")


def _strip(found: Mapping[str, Array], edges: Array) -> Markup:
    """The states of a block in each stretch, on top of each other."""
    lengths = np.diff(edges)
    paths = []
    below = np.zeros(len(lengths))
    for part in PARTS:
        share = 20 * found[part] / lengths
        if part != "done" and share.any():
            steps = []
            for n in np.flatnonzero(share).tolist():
                top, height = 20 - below[n] - share[n], share[n]
                steps.append(f"M{n} {top:.1f}h1v{height:.1f}h-1z")
            paths.append(f'<path class="{part}" d="{"".join(steps)}"/>')
        below = below + share
    return Markup(
        f'<svg class="strip" viewBox="0 0 {len(lengths)} 20" preserveAspectRatio="none" '
        f'aria-hidden="true">{"".join(paths)}</svg>'
    )


def queues(run: Run) -> str:
    """The tokens in each queue over time."""
    assert run.log is not None
    over = run.log.over_time
    rows = []
    for name in run.streams:
        if name in over.given:
            held = over.occupancy(name)
            rows.append((name, run.streams[name].peak, _line(held)))
    every = "each cycle" if over.stretch == 1 else f"every {over.stretch:,} cycles"
    caption = f"Tokens in each queue over time, {every}"
    return table(caption, ("stream", "most", "over time"), rows, "time")


def _line(values: Array) -> Markup:
    top = max(1, int(values.max(initial=0)))
    steps = " ".join(f"L{n} {20 - 19 * v / top:.1f}" for n, v in enumerate(values.tolist()))
    return Markup(
        f'<svg class="strip" viewBox="0 0 {max(1, len(values))} 20" preserveAspectRatio="none" '
        f'aria-hidden="true"><path class="queue" d="M0 20 {steps} V20 z"/></svg>'
    )


def memory(run: Run) -> str:
    """The traffic of the levels of memory, in all and over time, and a roofline."""
    if not run.memory:
        return "<p>Memory is ideal in this config: it takes no time.</p>"
    rows: list[tuple[Any, ...]] = []
    for name, level in run.memory.items():
        for tensor, traffic in [("all", level.total), *level.tensors.items()]:
            looked_up = traffic.hits + traffic.misses
            rows.append(
                (
                    f"{name}: {tensor}",
                    traffic.reads,
                    traffic.writes,
                    traffic.bytes_read,
                    traffic.bytes_written,
                    percent(traffic.hits, looked_up),
                    traffic.peak_bytes,
                    f"{traffic.energy_pj:,.0f}" if traffic.energy_pj else "-",
                )
            )
    heads = ("level", "reads", "writes", "bytes read", "bytes written", "hits", "most bytes", "pJ")
    return table("Memory", heads, rows) + _traffic(run) + roofline(run)


def _traffic(run: Run) -> str:
    log = run.log
    if log is None or not log.over_time.bytes:
        return ""
    rows = [
        (name, f"{int(moved.max(initial=0)) / log.over_time.stretch:,.3g}", _line(moved))
        for name, moved in zip(log.levels, log.over_time.bytes, strict=True)
    ]
    heads = ("level", "most bytes per cycle", "over time")
    return table("Bytes that the ports moved, over time", heads, rows, "time")


def roofline(run: Run) -> str:
    """The multiplications per cycle of the run beside the roofs of its multipliers and memories."""
    multipliers = run.multipliers
    products = sum(block.tokens["val"]["data"] for block in multipliers)
    rows = []
    for name, level in run.memory.items():
        rate = bytes_per_cycle(run.config, name)
        moved = level.total.bytes_read + level.total.bytes_written
        if rate is None or not moved or not products or not run.cycles:
            continue
        intensity = products / moved
        roof = min(len(multipliers), intensity * rate * len(level.busy))
        reached = products / run.cycles
        rows.append(
            (
                name,
                f"{intensity:.3g}",
                f"{reached:.3g}",
                f"{roof:.3g}",
                percent(reached, roof),
                Markup(_roof(intensity, reached, len(multipliers), rate * len(level.busy))),
            )
        )
    if not rows:
        return ""
    heads = ("level", "multiplications per byte", "per cycle", "roof", "of the roof", "roofline")
    return table("Roofline: multiplications per cycle against the config", heads, rows)


def _roof(intensity: float, reached: float, peak: float, rate: float) -> str:
    """The roof over intensities from a hundredth to a hundred times the ridge, in logarithms."""
    ridge = peak / rate

    def x(value: float) -> float:
        return min(150.0, max(0.0, 75 + 37.5 * float(np.log10(value / ridge))))

    def y(value: float) -> float:
        return min(80.0, max(2.0, 10 - 30 * float(np.log10(value / peak))))

    return (
        '<svg class="roof" viewBox="0 0 150 84" role="img" '
        'aria-label="The roofline and the run below it">'
        f'<path d="M0 85 L75 10 H150"/><circle cx="{x(intensity):.1f}" cy="{y(reached):.1f}" '
        'r="3.5"/></svg>'
    )


__all__ = ["STRETCHES", "Markup", "explained", "memory", "over_time", "path", "queues", "stalls"]
