"""The level formats and their storage (Chou et al., OOPSLA 2018, Sections 2 and 3).

A tensor is a tree with one level per mode. A level maps each position of the level above it (its
parent; the root is parent 0) to a fiber: coordinates of one mode, each at a position of its own.
Where a format leaves a position without a coordinate, its coordinate is -1.

A new format is a new file here, and one more class in ``LEVELS``. The class declares its properties
and capabilities (the paper's Table 1), which the compiler reads; its methods are the paper's level
functions (Table 2).
"""

from __future__ import annotations

from collections.abc import Sequence

from sam.levels.base import (
    INDEX,
    MOST_POSITIONS,
    WORD,
    Arrays,
    Entries,
    Fibers,
    Ints,
    Level,
    Stored,
    Touches,
    held,
)
from sam.levels.bitvector import WORD_BITS, Bitvector, bits_below, words_for
from sam.levels.compressed import Compressed, CompressedNonUnique, rising
from sam.levels.deduplicated import Deduplicated
from sam.levels.dense import Dense
from sam.levels.hashed import Hashed, Reordered
from sam.levels.linked import Followed, Linked
from sam.levels.offset import Offset
from sam.levels.range import Range
from sam.levels.run_length import RunLength
from sam.levels.singleton import Singleton, SingletonNonUnique

__all__ = [
    "INDEX",
    "LEVELS",
    "MOST_POSITIONS",
    "WORD",
    "WORD_BITS",
    "Arrays",
    "Bitvector",
    "Compressed",
    "CompressedNonUnique",
    "Deduplicated",
    "Dense",
    "Entries",
    "Fibers",
    "Followed",
    "Hashed",
    "Ints",
    "Level",
    "Linked",
    "Offset",
    "Range",
    "Reordered",
    "RunLength",
    "Singleton",
    "SingletonNonUnique",
    "Stored",
    "Touches",
    "bits_below",
    "held",
    "least_bytes",
    "repeats",
    "rising",
    "words_for",
]

LEVELS: dict[str, type[Level]] = {
    level.code: level
    for level in (
        Dense,
        Compressed,
        CompressedNonUnique,
        Singleton,
        SingletonNonUnique,
        Hashed,
        Range,
        Offset,
        Bitvector,
        Linked,
        RunLength,
    )
}


def repeats(codes: str) -> tuple[int, ...]:
    """How many levels directly below each of some levels repeat its coordinates.

    A level that is not unique has a position for each chain of branchless levels that hangs on it,
    so its coordinate comes again for each coordinate of those (a list of coordinates: COO).
    """
    found: list[int] = []
    for n, code in enumerate(codes):
        level = LEVELS[code]
        if level.branchless:
            found.append(max(0, found[-1] - 1) if found else 0)
        else:
            below = codes[n + 1 :] if not level.unique else ""
            hanging = (k for k, inner in enumerate(below) if not LEVELS[inner].branchless)
            found.append(next(hanging, len(below)))
    return tuple(found)


def least_bytes(codes: str, extents: Sequence[int], index: int, value: int) -> int:
    """The least bytes of a tensor, whatever its entries: those of its outer full levels.

    ``index`` and ``value`` are the bytes of an index and of a value.
    """
    positions = 1
    for code, extent in zip(codes, extents, strict=True):
        if not LEVELS[code].full:
            return positions * index
        positions *= extent
    return positions * value
