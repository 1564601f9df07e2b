"""Runs as notebooks show them, and as records."""

from __future__ import annotations

from html import escape
from typing import Any

from sam.support.html import Markup, table
from sim.config.naming import called
from sim.stats import BlockStats, Run, of_machine

_COLOURS = {
    "busy": "#2c7a4b",
    "starved": "#d9a514",
    "blocked": "#c4472f",
    "memory": "#7b53b5",
    "done": "#c9cfd7",
}


def block_records(run: Run) -> list[dict[str, Any]]:
    """A record for each block: its cycles by state, firings, and tokens given by kind."""
    return [
        {
            "block": name,
            "kind": block.kind,
            "fired": block.fired,
            **_states(block),
            **{
                f"{kind}_tokens": sum(tokens[kind] for tokens in block.tokens.values())
                for kind in ("data", "empty", "stop", "done")
            },
        }
        for name, block in run.blocks.items()
    ]


def stream_records(run: Run) -> list[dict[str, Any]]:
    """A record for each stream: its tokens by kind, and the most that were there at once."""
    return [
        {"stream": name, **stream.tokens, "peak": stream.peak}
        for name, stream in run.streams.items()
    ]


def of_run(run: Run) -> str:
    """The cycles of a run, and where those of each block went."""
    rows = [
        (
            name,
            _bar(block, run.cycles),
            *(_percent(cycles, run.cycles) for cycles in _states(block).values()),
            block.fired,
        )
        for name, block in of_machine(run.blocks).items()
    ]
    title = escape(run.graph.title or "A graph")
    told = f"{run.cycles:,} cycles on {called(run.config)}, engine {run.engine}"
    heads = ("block", "of all cycles", *_COLOURS, "firings")
    return f"<p><b>{title}</b>: {escape(told)}</p>" + table("", heads, rows)


def _states(block: BlockStats) -> dict[str, int]:
    return {
        "busy": block.busy,
        "starved": sum(block.starved.values()),
        "blocked": sum(block.blocked.values()),
        "memory": block.memory,
        "done": block.done,
    }


def _bar(block: BlockStats, cycles: int) -> Markup:
    spans = "".join(
        f'<span title="{state}" style="display:inline-block;height:10px;'
        f'width:{160 * count / cycles:.1f}px;background:{_COLOURS[state]}"></span>'
        for state, count in _states(block).items()
        if count and cycles
    )
    return Markup(f'<span style="white-space:nowrap">{spans}</span>')


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if part and whole else "-"
