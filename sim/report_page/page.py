"""The page as a whole."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from html import escape
from importlib import resources
from typing import Any

from sim.config.hardware import Config
from sim.config.naming import called
from sim.explain import Explanation, explain
from sim.explain.telling import grouped
from sim.report_page import tables
from sim.report_page.drawing import of_graph, split
from sim.report_page.layout import layout
from sim.report_page.player import played, why_not
from sim.stats import Run

_LEGEND = ("busy", "starved", "blocked", "memory", "done")


def page(run: Run, explained: bool = True, trying: Callable[[str], None] | None = None) -> str:
    """The run as one HTML page; with ``explained`` it is run some more times, with changes that may
    help. ``trying`` is called with each change in words before it is tried. Raises UserError where
    the run can neither be run again nor has a log.
    """
    full = run.attributed
    explanation = explain(full, trying=trying) if explained else None
    graphs = full.parts or (full,)
    data: dict[str, Any] = {"graphs": [_data(one) for one in graphs], "player": played(full)}
    sections = [_head(full, explanation)]
    for n, one in enumerate(graphs):
        sections.append(_graph(one, n, len(graphs), why_not(full) if n == 0 else None))
    sections.append(_section("path", "The critical path", tables.path(full)))
    if explanation is not None:
        sections.append(_section("better", "What would help", tables.explained(explanation)))
    sections.append(_section("machine", "The machine", _machine(full)))
    sections.append(_section("program", "The program", _program(full)))
    title = full.about.get("expression") or full.graph.title or "A SAM graph"
    return _asset("page.html").format(
        title=escape(str(title)),
        style=_asset("page.css"),
        script=_asset("page.js"),
        data=_script_json(data),
        sections="\n".join(sections),
    )


def _asset(name: str) -> str:
    return resources.files("sim.report_page").joinpath(name).read_text(encoding="utf-8")


def _script_json(data: Mapping[str, Any]) -> str:
    """JSON that may stand in a script element."""
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def _section(name: str, title: str, body: str) -> str:
    head = f'<h2 id="{name}-h">{title}</h2>'
    return f'<section id="{name}" aria-labelledby="{name}-h">{head}{body}</section>'


def _head(run: Run, explanation: Explanation | None) -> str:
    """The sentence, and the numbers to remember."""
    causes = grouped(run)
    sentence = explanation.sentence if explanation is not None else ""
    if explanation is None and causes:
        share = tables.percent(causes[0].cycles, run.cycles)
        sentence = f"{run.cycles:,} cycles, {share}: {causes[0].what}"
    clock = run.config["clock"]["clock_ghz"]
    facts = {
        "cycles": f"{run.cycles:,}",
        f"µs at {clock:g} GHz": f"{run.cycles / clock / 1e3:,.4g}",
        "tokens": f"{run.tokens:,}",
        "blocks": f"{len(run.blocks):,}",
        "config": called(run.config),
        "engine": run.engine,
    }
    told = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
        for name, value in facts.items()
    )
    return f'<p class="sentence">{escape(sentence)}</p><dl class="facts">{told}</dl>'


def _graph(run: Run, n: int, count: int, unplayed: str | None) -> str:
    """The drawing of a graph with its tables."""
    name = f"graph{n}"
    title = "The graph" if count == 1 else f"Graph {n + 1} of {count}: {escape(run.graph.title)}"
    legend = "".join(f'<li><span class="key {one}"></span>{one}</li>' for one in _LEGEND)
    controls = (
        f'<p class="hint">{escape(unplayed)}</p>'
        if unplayed
        else '<div class="player" hidden></div>'
        if n == 0
        else ""
    )
    drawing = of_graph(run, layout(run.graph), f"{name}:")
    hint = (
        "Blocks are greener the longer they are busy; streams are wider the more tokens they "
        "carry. Choose a block or a stream for its details."
    )
    body = (
        f'<p class="hint">{hint}</p><ul class="legend">{legend}</ul>{controls}'
        f'<div class="canvas" tabindex="0" aria-label="The drawing; it scrolls">{drawing}</div>'
        f'<div class="details" aria-live="polite" data-graph="{n}"></div>'
        f"{tables.stalls(run)}<details open><summary>Over time</summary>{tables.over_time(run)}"
        f"</details><details open><summary>Memory</summary>{tables.memory(run)}</details>"
        f"<details><summary>Queues over time</summary>{tables.queues(run)}</details>"
        f"<details><summary>Tokens</summary>{tables.tokens(run)}</details>"
    )
    return _section(name, title, body)


def _data(run: Run) -> dict[str, Any]:
    """The data of blocks and streams that the script shows."""
    log = run.log
    assert log is not None
    blocks = {}
    for name, shares in run.attribution.items():
        block = run.blocks[name]
        blocks[name] = {
            "kind": block.kind.replace("_", " "),
            "fired": block.fired,
            "parts": split(shares),
            "starved": shares.starved,
            "blocked": shares.blocked,
            "memory": shares.memory,
        }
    parameters = {node.name: dict(node.parameters) for node in run.graph.nodes}
    streams = {
        name: {"tokens": dict(stream.tokens), "peak": stream.peak}
        for name, stream in run.streams.items()
    }
    path = [[part.block, part.text, part.cycles] for part in run.critical_path]
    return {
        "cycles": run.cycles,
        "blocks": blocks,
        "parameters": {name: one for name, one in parameters.items() if one},
        "streams": streams,
        "path": path,
    }


def _machine(run: Run) -> str:
    text = json.dumps(run.config, indent=2)
    ideal = dict(_settings(Config().resolved()))
    rows = [(key, str(value)) for key, value in _settings(run.config) if ideal.get(key) != value]
    found = ""
    if rows:
        found = tables.table(
            "Settings that differ from an ideal machine", ("key", "value"), rows, "text"
        )
    return (
        f"{found}<details><summary>The config, with all of its defaults</summary>"
        f'<pre tabindex="0">{escape(text)}</pre></details>'
    )


def _settings(config: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The settings of a config by dotted key, as ``--set`` writes them."""
    for key, value in config.items():
        if key in ("name", "description", "changed"):
            continue
        if isinstance(value, list) and all(isinstance(one, Mapping) for one in value):
            value = {str(one.get("name", n)): one for n, one in enumerate(value)}
        if isinstance(value, Mapping):
            yield from ((f"{key}.{within}", one) for within, one in _settings(value))
        else:
            yield key, value


def _program(run: Run) -> str:
    about = run.about
    rows = []
    if about:
        formats = ", ".join(f"{name}:{form}" for name, form in about["formats"].items())
        rows += [
            ("expression", about["expression"]),
            ("concrete index notation", "; ".join(about["cin"])),
            ("formats", formats or "-"),
            ("schedule", "; ".join(about["schedule"]) or "-"),
        ]
        rows += [("note", note) for note in about["notes"]]
    else:
        rows.append(("graph", run.graph.title or "-"))
    return tables.table("The program", ("what", "as it is"), rows, "program")
