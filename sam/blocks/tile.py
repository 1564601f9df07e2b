"""Tiles: blocks that load them into a memory, and release them after use (Section 4.1).

A tile is the part of a tensor below one reference: the inner loops work on it. A loader asks memory
for the tile of each reference that comes, and passes the reference on when the tile is there. It
holds as many tiles at once as it has ``buffers``, and as it has ``room`` for; a releaser, behind
the last block that reads a tile, tells it when one of them is done with.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from sam.blocks.base import Block, Drawing, Kind, Role, Surroundings, require_within
from sam.blocks.block_memory import Stored
from sam.blocks.parameters import TEXT, nullable, whole
from sam.blocks.ports import Positions, into, out
from sam.graph import Parameters
from sam.token import DATA, DONE, EMPTY, STOP

# More tiles, or bytes of them, than there are.
_UNBOUNDED = 2**62


def load_tile(p: Any, s: Any, m: Any) -> bool | None:
    """Passes a reference on once its tile may be held too; ``N`` has an empty tile.

    If it may not be held, the loader takes releases until there is enough room. A tile that comes
    again right after itself takes room once, until its last reference is released. After the end of
    its references the loader takes the releases that are left.
    """
    if s.ended:
        kind, _ = p.in_release.peek()
        p.in_release.take()
        return True if kind == DONE else None
    kind, value = p.in_ref.peek()
    if kind == DATA:
        require_within(value, m)
    if kind == DATA or kind == EMPTY:
        again = kind == DATA and value == s.newest
        size = m.sizes[value] if kind == DATA else 0
        more = 0 if again else size
        if s.held == m.buffers or _lacks_room(s, m, more):
            p.in_release.peek()
            p.in_release.take()
            s.bytes -= m.bytes[(s.came - s.held) % m.buffers]
            s.held -= 1
            if _lacks_room(s, m, more):
                return None
        p.in_ref.take()
        p.ref.give(kind, value)
        if kind == DATA:
            p.memory.read(m.tiles, value)
        if again:
            m.bytes[(s.came - 1) % m.buffers] = 0
        m.bytes[s.came % m.buffers] = size
        s.newest = value if kind == DATA else -1
        s.bytes += more
        s.came += 1
        s.held += 1
    else:
        p.in_ref.take()
        p.ref.give(kind, value)
        s.ended = kind == DONE
    return None


def _lacks_room(s: Any, m: Any, more: int) -> bool:
    """Whether so many bytes do not fit beside those held; the second tile always does."""
    return s.held > 1 and s.bytes + more > m.room


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
    tiles are brought into, and ``from`` where they come from, None for the outermost memory. It
    holds at most ``buffers`` tiles, of at most ``room`` bytes together, each None where there is no
    such limit. Two it may always hold, whatever their bytes: streams look one tile ahead.

    ``sizes`` has the bytes of each tile, and ``bytes`` those of what is held, in the order in which
    it came: a ring of as many places as there are buffers, or a place for each reference.
    """
    depth, level = parameters["depth"], parameters["level"]

    def memory(around: Surroundings) -> SimpleNamespace:
        tiles = around.tile_region(
            parameters["slot"], level, parameters["memory"], parameters["from"]
        )
        return SimpleNamespace(
            buffers=parameters["buffers"] or _UNBOUNDED,
            room=_UNBOUNDED if parameters["room"] is None else parameters["room"],
            tiles=tiles,
            sizes=around.numbers(tiles.sizes) if tiles else Stored(0, integers=True),
            bytes=Stored(0, integers=True),
            **around.limit("in_ref"),
        )

    return Block(
        ports=(
            into("in_ref", "ref", depth, meaning=Positions(parameters["slot"], level)),
            into("in_release", "ref", 1, operand=1, feedback=True),
            out("ref", "ref", depth, of=("in_ref",)),
        ),
        step=load_tile,
        state={"held": 0, "bytes": 0, "came": 0, "newest": -1, "ended": False},
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


TILE_LOADER = Kind(
    "tile_loader",
    None,
    _tile_loader,
    {
        "slot": TEXT,
        "level": whole(),
        "depth": whole(),
        "memory": TEXT,
        "from": nullable(TEXT),
        "buffers": nullable(whole(1, _UNBOUNDED)),
        "room": nullable(whole(0, _UNBOUNDED)),
    },
    role=Role.LOADER,
    drawing=Drawing("box3d"),
    work="loads tiles",
)
TILE_RELEASER = Kind(
    "tile_releaser",
    None,
    _tile_releaser,
    {"depth": whole(), "levels": whole()},
    drawing=Drawing("invhouse"),
)
