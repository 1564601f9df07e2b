"""Published graphs read: each node becomes a block with the streams that it reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sam.graph import Graph
from sam.published_dot.drawn import drawn
from sam.published_dot.node_types import TYPES
from sam.published_dot.reading import Reading

if TYPE_CHECKING:
    import pydot


def from_published(graph: pydot.Dot) -> Graph:
    """The graph that a text of the published dialect draws.

    Raises UserError where a node's type has no block, and where a node or an edge lacks what its
    block needs.
    """
    return Reading(drawn(graph), TYPES).graph()
