"""Bitvector levels: the bit of each coordinate is set in the words of its fiber."""

from __future__ import annotations

from typing import Any

import numpy as np

from sam.blocks.base import INSIDE, require_within, walk
from sam.blocks.block_memory import Stored
from sam.blocks.writers.base import LevelWriting, end, next_parent
from sam.levels import WORD, WORD_BITS, Bitvector, words_for
from sam.token import DATA


def append_bits(p: Any, s: Any, m: Any) -> bool | None:
    """Sets the bit of a coordinate in the words of its fiber, which follow the last fiber's."""
    kind, value = p.in_crd.peek()
    p.in_crd.take()
    if kind == DATA:
        p.ref.give(DATA, s.ones)
        _set_bit(p, s, m, s.parent, value)
        s.filled = True
        return None
    return next_parent(p, s, kind, value)


def append_bits_by_reference(p: Any, s: Any, m: Any) -> bool | None:
    """Sets the bit of a coordinate in the words of a given position of the level above."""
    found = walk(p.in_ref, p.in_crd, s)
    kind, value = p.in_crd.peek()
    if found != INSIDE:
        return end(p, found, value)
    p.in_crd.take()
    p.ref.give(DATA, s.ones)
    _set_bit(p, s, m, s.value, value)
    return None


def _set_bit(p: Any, s: Any, m: Any, parent: Any, coordinate: Any) -> None:
    require_within(coordinate, m)
    word = parent * m.words_of_fiber + coordinate // WORD_BITS
    if m.regions:
        p.memory.write(m.regions["crd"], word)
    m.words[word] = m.words[word] | 1 << coordinate % WORD_BITS
    s.ones += 1


BITVECTOR = LevelWriting(
    append_bits,
    append_bits_by_reference,
    lambda parameters, size: {
        "words_of_fiber": words_for(size),
        "words": Stored(0, integers=True),
    },
    lambda memory, parents, size: Bitvector.of(
        size, memory.words.to_numpy(parents * words_for(size), np.uint64)
    ),
    {"crd": WORD},
    {"filled": False, "parent": 0, "ones": 0},
)
