"""Harwell-Boeing files (https://math.nist.gov/MatrixMarket/formats.html#hb) of all assembled types.

Four or five lines of header; the column pointers, the row indices and the values follow, each in
fixed columns by a Fortran format. Right hand sides are passed over. (scipy reads real
unsymmetric matrices alone, without checks of the pointers.)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from sam.io.text import short
from sam.levels import Ints
from sam.support.errors import UserError
from sam.tensor import Tensor

_FORMAT = re.compile(r"\(?(?:\d*P,?)?(\d{0,3})([IEDFG])(\d{1,3})(?:\.\d{1,3})?(?:E\d{1,3})?\)?")


def read(name: str, data: bytes) -> Tensor:
    """The matrix in the file's bytes; raises UserError, which names the file and the line."""
    lines = data.decode("latin-1").replace("\r\n", "\n").split("\n")
    file = _File(name, lines)
    _, pointer_lines, index_lines, value_lines, rhs_lines = file.sizes(1, 0, 5)
    code = file.line(2)[:3].upper()
    if not re.fullmatch("[RCIP][SUHZR][AE]", code):
        raise file.error(2, f'"{short(code)}" is not a type of matrix', hint="RUA, as an example")
    if code[2] == "E":
        raise file.error(2, "the matrix is in elemental form", hint="assemble it first")
    rows, columns, entries = file.sizes(2, 14, 3)
    if code[1] != "R" and code[1] != "U" and rows != columns:
        raise file.error(2, f"a matrix of the type {code} is square")
    begin = 5 if rhs_lines else 4
    pointers = file.numbers(begin, pointer_lines, 3, 0, columns + 1, np.int64) - 1
    begin += pointer_lines
    indices = file.numbers(begin, index_lines, 3, 16, entries, np.int64) - 1
    begin += index_lines
    per_entry = {"P": 0, "C": 2}.get(code[0], 1)
    values: Any = np.ones(entries)
    if per_entry:
        kind = np.int64 if code[0] == "I" else np.float64
        values = file.numbers(begin, value_lines, 3, 32, entries * per_entry, kind)
        values = values.view(np.complex128) if code[0] == "C" else values
    lengths = np.diff(pointers)
    if pointers[0] != 0 or (lengths < 0).any() or pointers[-1] != entries:
        raise file.error(
            begin - index_lines - pointer_lines,
            f"the column pointers that begin here do not rise from 1 to {entries + 1}",
        )
    outside = np.flatnonzero((indices < 0) | (indices >= rows))
    if len(outside):
        n = int(outside[0])
        raise file.error(
            begin - index_lines + n // file.format(3, 16).per_line,
            f"row index {indices[n] + 1} of entry {n + 1} is not in 1 to {rows}",
        )
    coordinates = np.stack([indices, np.repeat(np.arange(columns), lengths)])
    if code[1] in "SHZ":
        coordinates, values = _mirrored(name, coordinates, values, code[1])
    return Tensor.from_coo(coordinates, values, (rows, columns))


def _mirrored(name: str, coordinates: Ints, values: Any, symmetry: str) -> tuple[Ints, Any]:
    """The entries of both triangles."""
    off = coordinates[0] != coordinates[1]
    if symmetry == "Z" and values[~off].any():
        raise UserError(f"{name}: a skew-symmetric matrix has zeros on its diagonal")
    if (coordinates[0] < coordinates[1]).any() and (coordinates[0] > coordinates[1]).any():
        raise UserError(f"{name}: a symmetric matrix is listed by one triangle, not both")
    others = {"S": values, "H": np.conj(values), "Z": -values}[symmetry][off]
    return np.hstack([coordinates, coordinates[::-1, off]]), np.concatenate([values, others])


@dataclass(frozen=True)
class _FortranFormat:
    """The numbers on a line, the columns of each, and the letter of their type."""

    text: str
    per_line: int
    letter: str
    width: int


@dataclass(frozen=True)
class _File:
    name: str
    lines: list[str]

    def line(self, n: int) -> str:
        if n >= len(self.lines):
            raise UserError(f"{self.name} ends in line {len(self.lines)}, before all is there")
        return self.lines[n]

    def error(self, n: int, what: str, hint: str | None = None) -> UserError:
        return UserError(f"{self.name}, line {n + 1}: {what}", hint=hint)

    def sizes(self, n: int, begin: int, count: int) -> list[int]:
        """Numbers of line n, in fields of 14 columns from ``begin`` on; a blank field is 0."""
        line = self.line(n)
        fields = [line[begin + 14 * k : begin + 14 * (k + 1)].strip() for k in range(count)]
        for field in fields:
            if field and not (field.isascii() and field.isdecimal()):
                raise self.error(n, f'"{field}" is not a size')
        return [int(field or 0) for field in fields]

    def format(self, n: int, at: int) -> _FortranFormat:
        """The Fortran format in line n, in the columns from ``at`` on."""
        columns = 20 if at == 32 else 16
        text = self.line(n)[at : at + columns].replace(" ", "").upper()
        match = _FORMAT.fullmatch(text)
        if match is None or int(match[3]) == 0:
            raise self.error(n, f'"{text}" is not a format for these numbers')
        return _FortranFormat(text, int(match[1] or 1), match[2], int(match[3]))

    def numbers(
        self, begin: int, lines: int, format_line: int, at: int, due: int, kind: Any
    ) -> Any:
        """The numbers on lines ``begin`` on, by the format in the columns from ``at`` on."""
        format = self.format(format_line, at)
        if (kind is np.int64) != (format.letter == "I"):
            raise self.error(format_line, f'"{format.text}" is not a format for these numbers')
        width = format.width
        found: list[Any] = []
        parse = int if kind is np.int64 else _real
        for n in range(begin, begin + lines):
            line = self.line(n).rstrip()
            fields = line.split()  # scipy's are narrower than its formats say
            if len(fields) != min(format.per_line, due - len(found)):
                columns = range(0, min(len(line), format.per_line * width), width)
                fields = [line[k : k + width] for k in columns]
            for field in fields[: due - len(found)]:
                try:
                    if "_" in field:
                        raise ValueError
                    found.append(parse(field))
                except ValueError:
                    raise self.error(n, f'"{field.strip()}" is not a number') from None
        if len(found) != due:
            raise self.error(begin, f"{len(found)} numbers begin here, and {due} are due")
        try:
            return np.array(found, kind)
        except OverflowError:
            raise self.error(begin, "a number does not fit in 64 bits") from None


def _real(field: str) -> float:
    """A number as Fortran writes it: 1.5D+3, 1.5+103."""
    text = field.strip().upper().replace("D", "E")
    return float(re.sub(r"(?<=[\d.])([+-])", r"E\1", text))
