"""Tiles: what brings them into a memory, and tells when they are done with (Section 4.1).

A tile is the part of a tensor below one reference: the inner loops work on it. A loader asks memory
for the tile of each reference that comes, and passes the reference on when the tile is there. It
holds as many tiles at once as it has ``buffers``; a releaser, behind the last block that reads a
tile, tells it when one of them is free again.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from sam.blocks.base import Block, Kind, Surroundings, into, out
from sam.graph import Parameters
from sam.token import DATA, DONE, EMPTY, STOP


def load_tile(p: Any, s: Any, m: Any) -> bool | None:
    """Passes a reference on with its tile, once a buffer is free; ``N`` has an empty tile.

    After the end of its references it takes what is still released.
    """
    if s.ended:
        kind, _ = p.in_release.peek()
        p.in_release.take()
        return True if kind == DONE else None
    kind, value = p.in_ref.peek()
    if kind == DATA or kind == EMPTY:
        if s.held == m.buffers:
            p.in_release.peek()
            p.in_release.take()
        else:
            s.held += 1
        p.in_ref.take()
        p.ref.give(kind, value)
        if kind == DATA:
            p.memory.read(m.tiles, value)
    else:
        p.in_ref.take()
        p.ref.give(kind, value)
        s.ended = kind == DONE
    return None


def release_tile(p: Any, s: Any, m: Any) -> bool | None:
    """Emits a token at each stop token that ends a tile."""
    kind, value = p.in_stream.peek()
    if kind == DONE and not s.ended:
        p.release.give(STOP, 0)
        s.ended = True
        return None
    p.in_stream.take()
    if kind == DONE:
        p.release.give(DONE, 0)
        return True
    if kind == STOP and value >= m.levels - 1:
        p.release.give(DATA, 0)
    return None


def _tile_loader(parameters: Parameters) -> Block:
    """Loads the tiles that a level of a slot has below its references.

    ``depth`` is that of its references, ``level`` the first level in a tile. ``memory`` is what
    tiles are brought into, and ``from`` where they come from, None for the outermost memory.
    """
    depth, level = parameters["depth"], parameters["level"]

    def memory(around: Surroundings) -> SimpleNamespace:
        tiles = around.tile_region(
            parameters["slot"], level, parameters["memory"], parameters["from"]
        )
        return SimpleNamespace(buffers=parameters["buffers"], tiles=tiles)

    return Block(
        ports=(
            into("in_ref", "ref", depth),
            into("in_release", "ref", 1, operand=1, feedback=True),
            out("ref", "ref", depth),
        ),
        step=load_tile,
        state={"held": 0, "ended": False},
        memory=memory,
    )


def _tile_releaser(parameters: Parameters) -> Block:
    """Watches a stream of ``depth``, of which a tile has the innermost ``levels``."""
    return Block(
        ports=(into("in_stream", "any", parameters["depth"]), out("release", "ref", 1)),
        step=release_tile,
        state={"ended": False},
        memory=lambda around: SimpleNamespace(levels=parameters["levels"]),
    )


TILE_LOADER = Kind("tile_loader", None, _tile_loader)
TILE_RELEASER = Kind("tile_releaser", None, _tile_releaser)
