"""The lines of a text file that are neither blank nor a comment, and errors that name them."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sam.io import number_lines
from sam.levels import Ints
from sam.support.errors import UserError

# A longer line is not shown whole in an error.
_LONGEST_LINE = 100
_FEW = 4


class Text:
    """The lines of a text file, without the blank ones and the comments, counted from 0."""

    def __init__(self, name: str, data: bytes, comment: str = "#") -> None:
        self.name = name
        self._data = data
        self._comment = comment

    def first(self, count: int) -> list[str]:
        """The first lines, as many as there are up to ``count``."""
        return [self._decode(line) for line, _ in self._first(count)]

    def _first(self, count: int) -> list[tuple[bytes, int]]:
        """The first lines, each with the place where the next one begins."""
        found: list[tuple[bytes, int]] = []
        begin = 0
        while len(found) < count and begin < len(self._data):
            end = self._data.find(b"\n", begin)
            end = len(self._data) if end < 0 else end
            if self._counts(line := self._data[begin:end]):
                found.append((line, end + 1))
            begin = end + 1
        return found

    def _counts(self, line: bytes) -> bool:
        line = line.strip()
        return bool(line) and not line.startswith(self._comment.encode())

    @functools.cached_property
    def _listed(self) -> list[tuple[int, bytes]]:
        """The lines with their numbers in the file."""
        lines = enumerate(self._data.split(b"\n"), 1)
        return [(n, line) for n, line in lines if self._counts(line)]

    @staticmethod
    def _decode(line: bytes) -> str:
        return line.decode("utf-8", "replace").rstrip("\r")

    def line(self, n: int) -> str:
        """Line n; the first lines are found without reading the others."""
        return self._decode(self._first(n + 1)[n][0] if n < _FEW else self._listed[n][1])

    def number(self, n: int) -> int:
        """The number, counted from 1, that line n has in the file."""
        return self._listed[n][0]

    def __len__(self) -> int:
        return len(self._listed)

    def error(
        self, n: int, what: str, word: int | None = None, hint: str | None = None
    ) -> UserError:
        """The error for line n, marked at one of its words, or as a whole."""
        line = self.line(n).strip()
        words = _words(line)
        start, end = (0, len(line)) if word is None else words[min(word, len(words) - 1)]
        if len(line) > _LONGEST_LINE:
            line = line[start:end][:_LONGEST_LINE]
            start, end = 0, len(line)
        what = f"{self.name}, line {self.number(n)}: {what}"
        return UserError(what, source=line, span=(start, end), hint=hint)

    def integers(self, n: int, meaning: str) -> list[int]:
        """The integers, each at least 0 and of 64 bits, that line n consists of."""
        words = self.line(n).split()
        for word, text in enumerate(words):
            if not (text.isascii() and text.isdecimal() and len(text) < 20 and int(text) < 2**63):
                raise self.error(n, f'"{short(text)}" is not {meaning}', word)
        return [int(text) for text in words]

    def table(self, begin: int, modes: int, value: str) -> tuple[Ints, Any]:
        """The entries in the lines from ``begin`` on: coordinates (modes, entries) and values.

        ``value`` is the values' type; empty where there are none, and 1.0 is meant. Exponents may
        be written with D, as in Fortran. Raises UserError, which names the first malformed line.
        """
        head = self._first(begin)
        start = head[-1][1] if head else 0
        found = number_lines.scan(self._data, start, modes, value)
        return self._parse(begin, modes, value) if found is None else found

    def _parse(self, begin: int, modes: int, value: str) -> tuple[Ints, Any]:
        """``table``, line by line."""
        columns: list[tuple[Any, ...]] = [("coordinates", np.int64, (modes,))] if modes else []
        if value:
            real = "float64" if value == "complex128" else value
            columns.append(("value", real, (2 if value == "complex128" else 1,)))
        lines = [self._decode(line) for _, line in self._listed[begin:]]
        if not lines:
            return np.zeros((modes, 0), np.int64), np.zeros(0, value or "float64")
        if value in ("float64", "complex128"):
            lines = [line.translate(_FORTRAN) for line in lines]
        try:
            with warnings.catch_warnings():
                # An older numpy reads 1.5 as the integer 1, with a warning.
                warnings.simplefilter("error", DeprecationWarning)
                rows = np.loadtxt(lines, np.dtype(columns), comments=None, ndmin=1)
        except (ValueError, DeprecationWarning, OverflowError) as error:
            self._explain(begin, modes, value)
            raise UserError(f"{self.name} is malformed: {short(str(error))}") from error
        coordinates = rows["coordinates"].T if modes else np.zeros((0, len(rows)), np.int64)
        if not value:
            return coordinates, np.ones(len(rows))
        return coordinates, rows["value"].copy().view(value)[:, 0]

    def _explain(self, begin: int, modes: int, value: str) -> None:
        """Raises the error of the first line from ``begin`` on that is not an entry."""
        parsers: list[tuple[Callable[[str], Any], str]] = [(_int64, "a coordinate")] * modes
        if value:
            parser = _int64 if value == "int64" else _float
            parsers += [(parser, f"a value of the type {value}")] * (1 + (value == "complex128"))
        for n in range(begin, len(self)):
            words = self.line(n).split()
            for word, (text, (parse, meaning)) in enumerate(zip(words, parsers, strict=False)):
                try:
                    parse(text)
                except ValueError:
                    raise self.error(n, f'"{short(text)}" is not {meaning}', word) from None
            if len(words) != len(parsers):
                raise self.error(n, f"expected {count(len(parsers), 'number')}, not {len(words)}")

    def zero_based(
        self, begin: int, coordinates: Ints, shape: Sequence[int], base: int = 1
    ) -> Ints:
        """The coordinates, which count from ``base``, counted from 0.

        Raises UserError at the first outside the shape.
        """
        coordinates = coordinates - base
        for mode, extent in enumerate(shape):
            row = coordinates[mode]
            # A negative coordinate is a very large one without a sign.
            if len(row) and int(row.view(np.uint64).max()) >= extent:
                break
        else:
            return coordinates
        outside = (coordinates < 0) | (coordinates >= np.array(shape)[:, np.newaxis])
        entry = int(np.flatnonzero(outside.any(axis=0))[0])
        mode = int(np.flatnonzero(outside[:, entry])[0])
        found = int(coordinates[mode, entry]) + base
        why = f"mode {mode} has the extent {shape[mode]}"
        if found < base:
            why = f"coordinates count from {base}"
        raise self.error(begin + entry, f"the coordinate {found} is outside: {why}", mode)

    def require_entries(self, found: int, due: int, sizes: int) -> None:
        """Raises UserError unless as many entries are found as line ``sizes`` says."""
        if found != due:
            listed = count(found, "entry is", "entries are")
            said = count(due, "entry", "entries")
            raise self.error(sizes, f"the sizes say {said}, and {listed} listed")


def count(n: int, one: str, many: str | None = None) -> str:
    """The number with the noun: 1 entry, 2 entries."""
    return f"{n} {one}" if n == 1 else f"{n} {many or one + 's'}"


def short(text: str) -> str:
    """The text, cut where it is too long for an error."""
    return text if len(text) <= _LONGEST_LINE else text[:_LONGEST_LINE] + "…"


_FORTRAN = str.maketrans("dD", "ee")


def _float(text: str) -> float:
    if "_" in text:
        raise ValueError
    return float(text.translate(_FORTRAN))


def _words(line: str) -> list[tuple[int, int]]:
    """Where the words of a line begin and end."""
    spans, end = [], 0
    for word in line.split():
        start = line.index(word, end)
        end = start + len(word)
        spans.append((start, end))
    return spans


def _int64(text: str) -> int:
    if len(text) > 20 or "_" in text:
        raise ValueError
    number = int(text)
    if not -(2**63) <= number < 2**63:
        raise ValueError
    return number
