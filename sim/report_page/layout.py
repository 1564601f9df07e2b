"""The places of the blocks and streams of a graph, as Graphviz lays them out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sam.dot import to_dot
from sam.drawing import laid_out
from sam.graph import Graph


@dataclass(frozen=True)
class Box:
    """A block: the middle of its box, and its size."""

    name: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Line:
    """A stream: its edge, and its curve as an SVG path."""

    edge: str
    path: str


@dataclass(frozen=True)
class PlacedGraph:
    """A drawing in points, its origin at the upper left."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]


def layout(graph: Graph) -> PlacedGraph:
    """The layout of a graph, from top to bottom. Raises UserError without Graphviz."""
    found: dict[str, Any] = json.loads(laid_out(to_dot(graph)))
    _, _, width, height = map(float, found["bb"].split(","))
    objects = [one for one in found.get("objects", []) if "pos" in one and "width" in one]
    names = {one["_gvid"]: one["name"] for one in objects}
    boxes = []
    for one in objects:
        x, y = map(float, one["pos"].split(","))
        size = float(one["width"]) * 72, float(one["height"]) * 72
        boxes.append(Box(one["name"], x, height - y, *size))
    lines = []
    for one in found.get("edges", []):
        tail, head = names[one["tail"]], names[one["head"]]
        edge = f"{tail}.{one['source_port']} -> {head}.{one['target_port']}"
        lines.append(Line(edge, _path(one["pos"], height)))
    return PlacedGraph(width, height, tuple(boxes), tuple(lines))


def _path(text: str, height: float) -> str:
    """A spline of Graphviz as an SVG path."""
    points, last = [], None
    for word in text.split():
        if word.startswith("e,"):
            last = word[2:]
        elif not word.startswith("s,"):
            points.append(word)
    if last is not None:
        points.append(last)
    places = []
    for point in points:
        x, y = map(float, point.split(","))
        places.append(f"{x:.1f},{height - y:.1f}")
    tip = f" L{places[-1]}" if last is not None else ""
    curve = places[1:-1] if last is not None else places[1:]
    return f"M{places[0]} C{' '.join(curve)}{tip}"
