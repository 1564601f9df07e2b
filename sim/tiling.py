"""Tiles that move between memories, in a graph whose outer loops go over them (Section 4.1).

A split loop makes tiles of the tensors that it iterates: the outer loop sequences them, and the
inner one works in one of them. Where all tile loops are outside, ``with_tiles`` puts a tile loader
on each reference that leaves the tile loops, for each level of tiles that the config has a memory
for, and a releaser behind the array that reads the tile last (of several lanes, the first). So one
run goes through all tiles: empty tiles have no reference, and a tile that a memory still holds is
not moved again.

Where the config has no number of buffers, a loader holds as many tiles as fit in its share of the
memory, and at least two. The capacity is divided evenly among the loaders into a memory. So each
tensor has a memory of its own, as in the published model of ExTensor, and a tensor that is far
ahead cannot take the room of another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from itertools import chain, count
from typing import Literal

from sam.blocks import KINDS, Port
from sam.blocks.base import Role
from sam.blocks.tile import TILE_LOADER, TILE_RELEASER
from sam.derivations import Rename, Split, parts, replaced
from sam.graph import Edge, End, Graph, Node
from sam.support.errors import UserError
from sam.validate import validated
from sim.config.hardware import Config, TileLevel


def with_tiles(graph: Graph, config: Config) -> Graph:
    """The graph with the loaders and releasers that the config's ``tiling`` asks for.

    A graph that has loaders stays as it is.

    Raises UserError if the graph has no tiles, more levels of them than the config, or a tile
    loop inside a loop in a tile.
    """
    places = config.tiling.levels
    loaded = any(KINDS[node.kind].role is Role.LOADER for node in graph.nodes if node.kind in KINDS)
    if not places or loaded:
        return graph
    loops = _tile_loops(graph)
    levels = max(loops.values(), default=-1) + 1
    if not levels:
        raise UserError(
            f"the config {config.called} loads tiles, and the program has no loops over tiles",
            hint=f"schedule tile({','.join(str(place.tile) for place in places)})",
        )
    if levels > len(places):
        raise UserError(
            f"the program has {levels} levels of tiles, and the config {config.called} has "
            f"{len(places)}",
            hint="split each loop at most that often, or add a level to the config's tiling",
        )
    capacity = {level.name: level.capacity_bytes for level in config.memory.levels}
    home = None
    for rank, place in enumerate(places[len(places) - levels :]):
        outside = {loop for loop, at in loops.items() if at <= rank}
        graph = _Boundary(graph, outside).with_loaders(place, capacity[place.memory], home)
        home = place.memory
    return graph


def _tile_loops(graph: Graph) -> dict[str, int]:
    """The loops over tiles, each with the number of loops over larger tiles of its variable."""
    derivations = [one for one in graph.derived if isinstance(one, Split | Rename)]
    derived = {name for one in graph.derived for name in one.results}
    found: dict[str, int] = {}
    for one in derivations:
        if one.variable not in derived:
            *tiles, _ = replaced([one.variable], derivations)
            found |= {loop: rank for rank, loop in enumerate(tiles)}
    return found


class _Boundary:
    """The edges of a graph at which the loops over tiles, those ``outside``, end."""

    def __init__(self, graph: Graph, outside: Collection[str]) -> None:
        self.graph, self.outside = graph, outside
        known = validated(graph)
        self.streams, self.blocks = known.streams, known.blocks
        self.nodes = {node.name: node for node in graph.nodes}
        self.slots = {slot.name: slot for slot in graph.slots}
        self.into = {edge.target: edge for edge in graph.edges}
        self.out_of: dict[End, list[Edge]] = {}
        for edge in graph.edges:
            self.out_of.setdefault(edge.source, []).append(edge)

    def with_loaders(
        self, place: TileLevel, capacity: int | Literal["unbounded"], home: str | None
    ) -> Graph:
        """The graph with a loader and a releaser for each tensor that has tiles here.

        Tiles come from ``home``, None for the outermost memory, into a memory of ``capacity``
        bytes.
        """
        nodes, edges = list(self.graph.nodes), list(self.graph.edges)
        paths = list(self._paths())
        unbounded = place.buffers == "unbounded"
        for path in paths:
            edge, last = path[0], path[-1]
            array = self.nodes[last.target.node]
            slot = array.parameters["slot"]
            depth, deepest = self.streams[edge].depth, self.streams[last].depth
            loader = Node(
                _unused(f"load_{slot}", self.nodes),
                TILE_LOADER.name,
                {
                    "slot": slot,
                    "level": self._first_level(slot, path),
                    "depth": depth,
                    "from": home,
                    "memory": place.memory,
                    "buffers": None if unbounded else place.buffers,
                    "room": (
                        capacity // len(paths) if unbounded and capacity != "unbounded" else None
                    ),
                },
            )
            releaser = Node(
                _unused(f"release_{slot}", self.nodes),
                TILE_RELEASER.name,
                {"depth": deepest, "levels": deepest - depth},
            )
            self.nodes |= {node.name: node for node in (loader, releaser)}
            nodes += [loader, releaser]
            edges[edges.index(edge)] = Edge(edge.source, End(loader.name, "in_ref"))
            edges += [
                Edge(End(loader.name, "ref"), edge.target),
                Edge(End(array.name, "val"), End(releaser.name, "in_stream")),
                Edge(End(releaser.name, "release"), End(loader.name, "in_release")),
            ]
        return replace(self.graph, nodes=tuple(nodes), edges=tuple(edges))

    def _paths(self) -> Iterator[tuple[Edge, ...]]:
        """For each tensor the edges that carry references into its tiles, to the last array."""
        for edge in self.graph.edges:
            if self.streams[edge].kind != "ref" or not self._crosses(edge):
                continue
            path = tuple(self._path(edge))
            array = self.nodes[path[-1].target.node]
            slot = self.blocks[array.name].values.slot
            if slot is not None and self.slots[slot].tensor is not None:
                yield path

    def _first_level(self, slot: str, path: Iterable[Edge]) -> int:
        """The first level of a slot that is read on a path; the number of levels for its values."""
        full = len(self.slots[slot].levels)
        reached = (self.nodes[edge.target.node].parameters for edge in path)
        return next(one.get("level", full) for one in reached if one.get("slot") == slot)

    def _crosses(self, edge: Edge) -> bool:
        """Whether references on an edge go from the last loop over tiles to one in a tile.

        Raises UserError where a tensor has a level in a tile outside of a level of tiles.
        """
        loop = self._added(edge.target.node)
        if loop is None or loop in self.outside:
            return False
        if any(self._added(after.target.node) in self.outside for after in self._path(edge)):
            return False
        outer = None
        before = [node for node in self._before(edge) if self._added(node)]
        for node in before:
            inner = self._added(node)
            if inner in self.outside:
                outer = inner
            elif outer and self._scans(node):
                raise UserError(
                    f"loop {outer} goes over tiles, inside loop {inner}, which is in a tile",
                    hint=f"put {outer} outside, with reorder",
                )
        return not before or self._added(before[0]) in self.outside

    def _path(self, edge: Edge) -> Iterator[Edge]:
        """The edges along which references on an edge go on, the edge itself first."""
        while True:
            yield edge
            node, into = edge.target.node, edge.target.port
            ports = [p for p in self.blocks[node].ports if into in p.of or into == p.below]
            if len(ports) != 1:  # lanes
                return
            on = self.out_of.get(End(node, ports[0].name), [])
            on = [one for one in on if self.streams[one].kind == "ref"]
            if not on:
                return
            edge = on[0]

    def _before(self, edge: Edge) -> Iterator[str]:
        """The nodes that references on an edge have passed, the last first."""
        while True:
            node = edge.source.node
            yield node
            port = self._port(edge.source)
            names = [*port.of, *([] if port.below is None else [port.below])]
            on = [self.into[End(node, name)] for name in names] if len(names) == 1 else []
            if not on:
                return
            edge = on[-1]

    def _added(self, name: str) -> str | None:
        """The loop that a node adds to the references that go through it."""
        if self._scans(name):
            return self._scanned(self.nodes[name])
        loops = [port.name for port in self.blocks[name].ports if port.loop]
        return self._loop(self.into[End(name, loops[0])]) if loops else None

    def _scans(self, name: str) -> bool:
        return KINDS[self.nodes[name].kind].role is Role.SCANNER

    def _port(self, end: End) -> Port:
        return next(port for port in self.blocks[end.node].ports if port.name == end.port)

    def _scanned(self, node: Node) -> str:
        """The loop of a scanner."""
        if "variable" in node.parameters:
            loop: str = node.parameters["variable"]
        else:
            slot = self.slots[node.parameters["slot"]]
            loop = slot.variables[node.parameters["level"]]
        return parts(loop)[0]

    def _loop(self, edge: Edge) -> str:
        """The loop whose coordinates an edge carries."""
        while not self._scans(edge.source.node):
            name = edge.source.node
            into = [one for end, one in self.into.items() if end.node == name]
            passed = self._port(edge.source).of
            same = [one for one in into if one.target.port in passed]
            edge = (same or [one for one in into if self.streams[one].kind in ("crd", "bv")])[0]
        return self._scanned(self.nodes[edge.source.node])


def _unused(name: str, taken: Collection[str]) -> str:
    """The name, followed by a number if it is taken."""
    names = chain([name], (f"{name}_{n}" for n in count(2)))
    return next(one for one in names if one not in taken)
