"""The graph of a run as SVG: blocks with their states, streams with the use of their queues."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from sam.blocks import KINDS
from sim.attribution.shares import Shares
from sim.report_page.layout import Box, PlacedGraph
from sim.stats import Run, StreamStats

PARTS = ("busy", "starved", "blocked", "memory", "done")


def split(shares: Shares) -> dict[str, int]:
    """The cycles of a block by state."""
    return {
        "busy": shares.busy,
        "starved": sum(sum(faults.values()) for faults in shares.starved.values()),
        "blocked": sum(sum(faults.values()) for faults in shares.blocked.values()),
        "memory": sum(shares.memory.values()),
        "done": shares.done,
    }


def of_graph(run: Run, drawn: PlacedGraph, prefix: str) -> str:
    """The SVG of a graph; ids begin with ``prefix``."""
    kinds = {node.name: node.kind for node in run.graph.nodes}
    streams = "".join(
        _stream(prefix, line.edge, line.path, run.streams.get(line.edge), run.cycles)
        for line in drawn.lines
    )
    blocks = "".join(
        _block(box, kinds[box.name], run.attribution, run.cycles)
        for box in drawn.boxes
        if box.name in kinds
    )
    size = f'viewBox="-4 -4 {drawn.width + 8:.0f} {drawn.height + 8:.0f}"'
    return (
        f'<svg class="graph" {size} width="{drawn.width + 8:.0f}" '
        f'height="{drawn.height + 8:.0f}" role="group" aria-label="The graph">'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
        'markerHeight="8" markerUnits="userSpaceOnUse" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z"/></marker></defs>'
        f'{streams}{blocks}<g class="tokens" aria-hidden="true"></g></svg>'
    )


def _stream(prefix: str, edge: str, path: str, stats: StreamStats | None, cycles: int) -> str:
    tokens = 0 if stats is None else sum(stats.tokens.values())
    use = min(1.0, tokens / cycles) if cycles else 0.0
    peak = "" if stats is None else f", at most {stats.peak:,} at once"
    told = f"stream {edge}: {tokens:,} tokens{peak}"
    return (
        f'<g class="stream" data-edge="{escape(edge)}" tabindex="0" role="button" '
        f'aria-label="{escape(told)}"><title>{escape(told)}</title>'
        f'<path class="hit" d="{path}"/>'
        f'<path class="line" id="{prefix}{escape(edge)}" d="{path}" marker-end="url(#tip)" '
        f'style="stroke-width:{1 + 3 * use:.1f}"/></g>'
    )


def _block(box: Box, kind: str, attribution: Mapping[str, Shares], cycles: int) -> str:
    shares = attribution[box.name]
    parts = split(shares)
    busy = shares.busy / cycles if cycles else 0.0
    left, top = box.x - box.width / 2, box.y - box.height / 2
    bar, at = [], left + 4
    width = box.width - 8
    for part in PARTS:
        length = width * parts[part] / cycles if cycles else 0
        if length:
            bar.append(
                f'<rect class="{part}" x="{at:.1f}" y="{top + box.height - 8:.1f}" '
                f'width="{length:.1f}" height="5"/>'
            )
        at += length
    told = f"{box.name}, {KINDS[kind].name.replace('_', ' ')}: busy {100 * busy:.0f} %"
    return (
        f'<g class="block" data-block="{escape(box.name)}" tabindex="0" role="button" '
        f'aria-label="{escape(told)}"><title>{escape(told)}</title>'
        f'<rect class="box" x="{left:.1f}" y="{top:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.1f}" rx="5" style="--busy:{busy:.3f}"/>'
        f'<text x="{box.x:.1f}" y="{box.y - 6:.1f}" textLength="" class="name">'
        f"{escape(_short(box.name, box.width))}</text>"
        f'<text x="{box.x:.1f}" y="{box.y + 4:.1f}" class="share">{100 * busy:.0f} %</text>'
        f"{''.join(bar)}</g>"
    ).replace(' textLength=""', "")


def _short(name: str, width: float) -> str:
    """A name that fits into a width in points."""
    most = max(4, int(width / 5.6))
    return name if len(name) <= most else f"{name[: most - 1]}…"
