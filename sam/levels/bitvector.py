"""Bitvector levels, and words of bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sam.levels.base import (
    INDEX,
    WORD,
    Arrays,
    Entries,
    Ints,
    Level,
    Stored,
    Touches,
    check_size,
    distinct,
    require_room,
)
from sam.support.errors import UserError

WORD_BITS = 64


@dataclass(frozen=True, eq=False)
class Bitvector(Level):
    """A bit for every coordinate of the mode, for every parent (SAM paper, Section 4.3).

    Only ones have positions: the position of a one is the number of ones before it.

    ``size``   the mode's extent
    ``words``  64 bits each, coordinate c of a parent in bit c mod 64 of its word c div 64; a
               parent begins with a word of its own
    ``ranks``  words + 1 positions: the number of ones before each word
    """

    code = "b"
    name = "bitvector"
    iterates_positions = iterates_words = appends = True

    size: int
    words: NDArray[np.uint64] | list[int]
    ranks: Stored

    @classmethod
    def build(cls, entries: Entries) -> tuple[Level, Ints]:
        first, position_of_entry = distinct(entries.parent, entries.coordinate)
        count = entries.parents * words_for(entries.size)
        require_room(count)
        word, bit = np.divmod(entries.coordinate[first], WORD_BITS)
        word += entries.parent[first] * words_for(entries.size)
        words = np.zeros(count, np.uint64)
        np.bitwise_or.at(words, word, np.left_shift(np.uint64(1), bit.astype(np.uint64)))
        return cls.of(entries.size, words), position_of_entry

    @classmethod
    def of(cls, size: int, words: NDArray[np.uint64]) -> Bitvector:
        """The level of some words; their ranks follow."""
        ranks = np.zeros(len(words) + 1, np.int64)
        np.cumsum(_bits(words).reshape(-1, WORD_BITS).sum(axis=1), out=ranks[1:])
        return cls(size, words, ranks)

    def arrays(self) -> Arrays:
        return {"seg": (INDEX, len(self.words)), "crd": (WORD, len(self.words))}

    def touched_by_step(self, parent: int, step: int, width: int) -> Touches:
        """A word and its rank, at the step that comes to its first bit."""
        return (
            ("seg", self._last_word(parent, step, width), self._enters_it(parent, step, width)),
            ("crd", self._last_word(parent, step, width), self._enters_it(parent, step, width)),
        )

    def touched_by_move(self, parent: int, before: int, step: int) -> Touches:
        """The word of a step and its rank, unless the step before was in the same word."""
        return (
            ("seg", self._last_word(parent, step, 1), self._is_new(parent, before, step)),
            ("crd", self._last_word(parent, step, 1), self._is_new(parent, before, step)),
        )

    def _is_new(self, parent: int, before: int, step: int) -> bool:
        """Whether a step is in another word than the step before."""
        word = self._last_word(parent, before, 1)
        other = self._last_word(parent, step, 1)
        return before < 0 or word != other

    def _last_word(self, parent: int, step: int, width: int) -> int:
        """The word that the last coordinate of some steps is in."""
        last = min(step - parent * self.size + width, self.size) - 1
        return parent * words_for(self.size) + last // WORD_BITS

    def _enters_it(self, parent: int, step: int, width: int) -> bool:
        """Whether the first bit of that word is among the steps."""
        first = step - parent * self.size
        last = min(first + width, self.size) - 1
        return last % WORD_BITS <= last - first

    def fiber(self, parent: int) -> tuple[int, int]:
        begin = parent * self.size
        return begin, begin + self.size

    def coordinate(self, parent: int, step: int) -> int:
        coordinate = step - parent * self.size
        word = self.words[parent * words_for(self.size) + coordinate // WORD_BITS]
        return coordinate if (word >> (coordinate % WORD_BITS)) & 1 else -1

    def key(self, parent: int, step: int) -> int:
        return step - parent * self.size

    def position(self, parent: int, step: int) -> int:
        coordinate = step - parent * self.size
        word = parent * words_for(self.size) + coordinate // WORD_BITS
        before = self.words[word] & bits_below(coordinate % WORD_BITS)
        return self.ranks[word] + before.bit_count()

    def word(self, parent: int, step: int, width: int) -> int:
        coordinate = step - parent * self.size
        at = parent * words_for(self.size) + coordinate // WORD_BITS
        last = (parent + 1) * words_for(self.size) - 1
        passed = coordinate % WORD_BITS
        found = self.words[at]
        if passed > 0:
            found = (found >> passed) & bits_below(WORD_BITS - passed)
        if passed + width > WORD_BITS and at < last:
            found = found | self.words[at + 1] << (WORD_BITS - passed)
        if width < WORD_BITS:
            found = found & bits_below(width)
        return found

    def positions(self, parents: int) -> int:
        return int(self.ranks[-1]) if len(self.ranks) else 0

    def trace(self, positions: Ints) -> tuple[Ints, Ints]:
        word, bit = np.divmod(np.flatnonzero(_bits(self.words))[positions], WORD_BITS)
        parents, word_of_parent = np.divmod(word, max(1, words_for(self.size)))
        return parents, word_of_parent * WORD_BITS + bit

    def validate(self, parents: int, size: int, above: Sequence[Level] = ()) -> None:
        check_size(self.size, size)
        width = words_for(size)
        if len(self.words) != parents * width or len(self.ranks) != len(self.words) + 1:
            raise UserError(
                f"it has {len(self.words)} words and {len(self.ranks)} ranks, and {parents} "
                f"parents need {parents * width} and {parents * width + 1}"
            )
        bits = _bits(self.words).reshape(-1, WORD_BITS)
        if not np.array_equal(np.diff(self.ranks, prepend=0), [0, *bits.sum(axis=1)]):
            raise UserError("its ranks are not the numbers of ones before each word")
        outside = np.flatnonzero(bits.reshape(parents, width * WORD_BITS)[:, size:].any(axis=1))
        if len(outside):
            raise UserError(f"parent {outside[0]} has a bit outside the extent {size}")


def _bits(words: NDArray[np.uint64] | list[int]) -> NDArray[np.uint8]:
    """The bits of the words, the lowest of each first."""
    stored = np.asarray(words, np.uint64).astype("<u8")
    return np.unpackbits(stored.view(np.uint8), bitorder="little")


def words_for(size: int) -> int:
    """The words of a bitvector over an extent."""
    return (size + WORD_BITS - 1) // WORD_BITS


_BELOW_THE_TOP = 2**63 - 1
"""The bits of a word but the highest."""


def bits_below(bit: int) -> int:
    """The bits 0 to ``bit`` - 1 of a word, of which there may be 63."""
    return _BELOW_THE_TOP >> (63 - bit)
