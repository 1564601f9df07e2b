"""The blocks of SAM: one file per family of primitives, each block described once.

``KINDS`` is the table of all kinds of block, by the name that nodes, configs and drawings use.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from sam.blocks.alu import ALU
from sam.blocks.array import ARRAY
from sam.blocks.base import Block, Kind, Port, StreamError, Surroundings
from sam.blocks.bitvector import (
    BITVECTOR_CONVERTER,
    BITVECTOR_INTERSECTER,
    BITVECTOR_UNIONER,
    COORDINATE_CONVERTER,
)
from sam.blocks.drop import COORDINATE_DROPPER
from sam.blocks.endpoints import ROOT, SINK, SOURCE
from sam.blocks.fiber import FIBER_ALIGNER, FIBER_REPEATER
from sam.blocks.lanes import PARALLELIZER, SERIALIZER
from sam.blocks.locate import LOCATOR, SEARCHER
from sam.blocks.merge import INTERSECTER, UNIONER
from sam.blocks.parameters import check
from sam.blocks.reduce import REDUCER
from sam.blocks.repeat import REPEATER
from sam.blocks.saturate import SATURATING_REDUCER
from sam.blocks.scan import BITVECTOR_SCANNER, LEVEL_SCANNER
from sam.blocks.subscript import AFFINE_UNIT, SUBSECTION_SCANNER, WINDOW_SCANNER
from sam.blocks.tile import TILE_LOADER, TILE_RELEASER
from sam.blocks.writers import LEVEL_WRITER, VALUE_WRITER
from sam.graph import Graph, Node
from sam.support.errors import UserError, quoted

__all__ = [
    "KINDS",
    "Block",
    "Kind",
    "Port",
    "StreamError",
    "Surroundings",
    "block_of",
    "primitives",
]

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        ROOT,
        LEVEL_SCANNER,
        INTERSECTER,
        UNIONER,
        REPEATER,
        ARRAY,
        ALU,
        REDUCER,
        SATURATING_REDUCER,
        COORDINATE_DROPPER,
        FIBER_ALIGNER,
        FIBER_REPEATER,
        LOCATOR,
        SEARCHER,
        AFFINE_UNIT,
        WINDOW_SCANNER,
        SUBSECTION_SCANNER,
        PARALLELIZER,
        SERIALIZER,
        BITVECTOR_SCANNER,
        BITVECTOR_CONVERTER,
        COORDINATE_CONVERTER,
        BITVECTOR_INTERSECTER,
        BITVECTOR_UNIONER,
        LEVEL_WRITER,
        VALUE_WRITER,
        TILE_LOADER,
        TILE_RELEASER,
        SOURCE,
        SINK,
    )
}


def block_of(node: Node) -> Block:
    """The block of a node of a known kind. Raises UserError for parameters that it does not take.

    The kind checks each value against its declaration, then the block checks them together.
    """
    kind = KINDS[node.kind]
    try:
        if kind.parameters is not None:
            check(kind.parameters, node.parameters)
        return kind.block(_Parameters(node.parameters))
    except UserError as mistake:
        raise mistake.about(f"node {quoted(node.name)}") from None


def primitives(graph: Graph) -> dict[str, int]:
    """How many nodes a graph has of each primitive of Table 1 of the SAM paper."""
    names = (KINDS[node.kind].primitive for node in graph.nodes)
    return dict(sorted(Counter(name for name in names if name is not None).items()))


class _Parameters(dict[str, Any]):
    """The parameters of a node; a block that asks for a missing one raises UserError."""

    def __missing__(self, name: str) -> Any:
        raise UserError(f"parameter {name} is missing")
