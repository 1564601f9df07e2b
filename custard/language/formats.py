"""The format language: how each level of a tensor is stored, and in which order its modes are.

A declaration is ``tensor:levels:mode order``, as in ``B:ds:1,0``, or ``tensor:NAME``, as in
``B:CSC``. The mode order may be left out, and a scalar has no levels: ``alpha:`` or ``alpha::``.
What a level format can do is data, the table ``LEVEL_FORMATS``: lowering asks it for capabilities
and properties (formats paper, Table 1), never for a format by name. The classes of ``sam.levels``
declare them.

A named format is a list of level formats. Some store a matrix as a tensor of more modes; the
expression then has a variable for each: ``NAMED_FORMATS`` tells how to write it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import NamedTuple

from sam.levels import LEVELS, repeats
from sam.support.errors import UserError, nearest, one_of


@dataclass(frozen=True)
class LevelFormat:
    """One level format: its properties (formats paper, 3.3) and capabilities (3.2 and 3.4).

    Two are ours: the property ``padded`` (a coordinate may be stored with no entry below it) and
    the capability ``appends_anywhere`` (to append to any fiber at any time).
    """

    code: str
    name: str
    full: bool
    ordered: bool
    unique: bool
    branchless: bool
    compact: bool
    padded: bool
    iterates_values: bool
    iterates_positions: bool
    iterates_words: bool
    locates: bool
    inserts: bool
    appends: bool
    appends_anywhere: bool

    @property
    def writable(self) -> bool:
        """Whether a result may be stored in the format."""
        return self.inserts or self.appends


LEVEL_FORMATS: Mapping[str, LevelFormat] = {
    code: LevelFormat(**{field.name: getattr(level, field.name) for field in fields(LevelFormat)})
    for code, level in LEVELS.items()
}


@dataclass(frozen=True)
class Format:
    """Storage levels, outermost first: a code of each, and the tensor mode that it holds."""

    levels: str
    mode_order: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.levels}:{','.join(map(str, self.mode_order))}"


def parse_declaration(text: str, orders: Mapping[str, int] | None = None) -> tuple[str, Format]:
    """The tensor name and the format of ``B:ss:0,1``, the command line's ``-f``.

    ``orders`` gives the number of modes of each tensor of the program. Raises UserError, with
    the place, where the name is missing or not in ``orders``, or the format is wrong for it.
    """
    whole = _TextPiece(text, 0, len(text))
    name = whole.split(":")[0]
    if ":" not in text:
        example = "write, for example, B:ss:0,1; a scalar is B:"
        raise whole.error(
            "a format declaration needs a tensor, a colon and a format",
            f"write {text.replace('=', ':', 1)}" if "=" in text else example,
        )
    if not name.text:
        raise name.error("no tensor stands before the first colon", "write, for example, B:ss:0,1")
    if orders is not None and name.text not in orders:
        raise name.error(f"the expression has no tensor {name.text}", one_of(name.text, orders))
    order = None if orders is None else orders[name.text]
    return name.text, _format(_TextPiece(text, text.index(":") + 1, len(text)), order, name.text)


def parse_format(text: str, order: int | None = None, tensor: str = "the tensor") -> Format:
    """The format that ``text``, the part of a declaration after the name, describes.

    ``order`` is the number of modes of ``tensor``, if known. Raises UserError, with the place,
    for an unknown level or named format, a mode order that is no permutation of the modes, and
    a number of levels other than ``order``.

    A word that is both a name and a list of levels (csr csc dcsr dcsc coo) is a list of levels
    if a mode order follows it, and otherwise the name.
    """
    return _format(_TextPiece(text, 0, len(text)), order, tensor)


def require_writable(format: Format, tensor: str = "the tensor") -> None:
    """Raises UserError where a level cannot be built by a program: no append, no insert."""
    for place, code in enumerate(format.levels):
        if not LEVEL_FORMATS[code].writable:
            writable = [code for code, level in LEVEL_FORMATS.items() if level.writable]
            raise UserError(
                f"level {place} of the result {tensor} is {LEVEL_FORMATS[code].name} ({code}), "
                "which supports neither append nor insert",
                source=str(format),
                span=(place, place + 1),
                hint=f"the levels of a result are {_described(writable)}",
            )


def are_full(levels: str) -> bool:
    """Whether every level has a place for every coordinate."""
    return all(LEVEL_FORMATS[code].full for code in levels)


def unconditional_levels(levels: str) -> str:
    """The levels, with a compressed level in place of each level that only some tensors fit.

    Any tensor fits a writable level that is not branchless. A branchless level fits if the level
    that it hangs on repeats its coordinates.
    """
    hanging = repeats(levels)
    kept = ""
    for n, code in enumerate(levels):
        level = LEVEL_FORMATS[code]
        fits = not level.branchless or (n > 0 and hanging[n - 1] > 0)
        kept += code if level.writable and fits else "s"
    return kept


@dataclass(frozen=True)
class NamedFormat:
    """A named format.

    ``levels``      its levels for n modes
    ``stores``      the tensors that it suits
    ``order``       the one number of modes that it stores, if there is one
    ``mode_order``  the one order of modes that it stands for, if there is one
    ``access``      if it stores a tensor as one of more modes: the subscripts to write behind the
                    name
    ``view``        likewise: the method of ``sam.Tensor`` that makes the tensor of more modes
    """

    levels: Callable[[int], str]
    stores: str
    order: int | None = None
    mode_order: tuple[int, ...] | None = None
    access: str | None = None
    view: str | None = None


def _coordinate_list(n: int) -> str:
    return "s" if n == 1 else "u" + "c" * (n - 2) + "q"


def _mode_generic(n: int) -> str:
    """A list of the coordinates of dense blocks: those of the blocks in the first half."""
    within = n // 2
    return _coordinate_list(n - within) + "d" * within


# Figure 4 of the formats paper; BITVECTOR and BITTREE are the SAM paper's, Sections 4.3 and 6.3.
NAMED_FORMATS: Mapping[str, NamedFormat] = {
    "CSR": NamedFormat(lambda n: "ds", "compressed rows", 2, (0, 1)),
    "CSC": NamedFormat(lambda n: "ds", "compressed columns", 2, (1, 0)),
    "DCSR": NamedFormat(lambda n: "ss", "compressed rows, the empty ones left out", 2, (0, 1)),
    "DCSC": NamedFormat(lambda n: "ss", "compressed columns, the empty ones left out", 2, (1, 0)),
    "COO": NamedFormat(_coordinate_list, "a list of coordinates"),
    "CSF": NamedFormat(lambda n: "s" * n, "a tree of compressed fibers"),
    "DENSE": NamedFormat(lambda n: "d" * n, "every coordinate"),
    "HASH": NamedFormat(lambda n: "h" * n, "hash tables"),
    "BITVECTOR": NamedFormat(lambda n: "b" * n, "a bit for every coordinate"),
    "DIA": NamedFormat(
        lambda n: "dro", "the diagonals of a matrix", 3, None, "(k,i,j)", "diagonals()"
    ),
    "ELL": NamedFormat(
        lambda n: "ddq", "rows of a matrix, all of one length", 3, None, "(k,i,j)", "ell()"
    ),
    "BCSR": NamedFormat(
        lambda n: "dsdd",
        "compressed rows of dense blocks",
        4,
        None,
        "(i1,j1,i2,j2)",
        "blocked((m, n))",
    ),
    "CSB": NamedFormat(
        lambda n: "dduq",
        "every block of a matrix, each a list of coordinates",
        4,
        None,
        "(i1,j1,i2,j2)",
        "blocked((m, n))",
    ),
    "MODE-GENERIC": NamedFormat(_mode_generic, "a list of coordinates of dense blocks"),
    "BITTREE": NamedFormat(
        lambda n: "bb", "bits for the parts of a vector", 2, None, "(i1,i2)", "blocked((n,))"
    ),
}


class _TextPiece(NamedTuple):
    """A part of the user's text, without the blanks around it."""

    source: str
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.source[self.start : self.end]

    def split(self, separator: str) -> list[_TextPiece]:
        pieces = []
        start = self.start
        for part in self.text.split(separator):
            left = start + len(part) - len(part.lstrip())
            pieces.append(_TextPiece(self.source, left, left + len(part.strip())))
            start += len(part) + len(separator)
        return pieces

    def error(self, what: str, hint: str | None = None) -> UserError:
        return UserError(what, source=self.source, span=(self.start, self.end), hint=hint)


def _format(whole: _TextPiece, order: int | None, tensor: str) -> Format:
    levels, *rest = whole.split(":")
    if len(rest) > 1:
        raise rest[1].error(
            "a format ends after its mode order", "write levels:mode order, as in ss:0,1"
        )
    modes = rest[0] if rest and rest[0].text else None
    word = levels.text
    if "(" in word or word != word.lower() or (word.upper() in NAMED_FORMATS and modes is None):
        return _named_format(levels, modes, order, tensor)
    _check_codes(levels)
    if order is not None and len(word) != order:
        example = Format("s" * order, tuple(range(order)))
        raise levels.error(
            f"{tensor} has {_count(order, 'mode')}, but its format has "
            f"{_count(len(word), 'level')}",
            f"write {_count(order, 'level')}, as in {example}"
            if order
            else f"a scalar has no levels: {tensor}:",
        )
    return Format(word, _mode_order(modes, len(word)))


def _check_codes(levels: _TextPiece) -> None:
    codes = {form.name: code for code, form in LEVEL_FORMATS.items()}
    words = levels.text.replace(",", " ").split()
    if words and all(word in codes for word in words):
        raise levels.error(
            f"{levels.text} is not a list of level formats",
            f"each has a letter: write {''.join(codes[word] for word in words)}",
        )
    for place, code in enumerate(levels.text, levels.start):
        if code not in LEVEL_FORMATS:
            name = nearest(levels.text, NAMED_FORMATS) if len(levels.text) > 2 else None
            raise _TextPiece(levels.source, place, place + 1).error(
                f"{code!r} is not a level format",
                f"did you mean {name}?"
                if name
                else f"the level formats are {_described(LEVEL_FORMATS)}",
            )


def _named_format(
    word: _TextPiece, modes: _TextPiece | None, order: int | None, tensor: str
) -> Format:
    name = word.split("(")[0]
    found = NAMED_FORMATS.get(name.text.upper())
    if found is None:
        codes = name.text.lower()
        fits = order in (None, len(codes)) and set(codes) <= LEVEL_FORMATS.keys()
        meant = codes if codes and fits else None
        raise name.error(
            f"there is no format {name.text or word.text}",
            f"did you mean {meant}?" if meant else one_of(name.text, NAMED_FORMATS),
        )
    stored = _named_order(word, found) or order
    if stored is None:
        raise word.error(
            f"{word.text} needs the number of modes", f"write, for example, {word.text}(2)"
        )
    if order not in (None, stored):
        raise word.error(
            f"{tensor} has {_count(order, 'mode')}, but {word.text} stores {stored}",
            f"write {tensor}{found.access}, and give it as sam.Tensor.of({tensor}).{found.view}"
            if found.access
            else None,
        )
    levels = found.levels(stored)
    mode_order = found.mode_order or tuple(range(stored))
    if modes is None:
        return Format(levels, mode_order)
    asked = _mode_order(modes, stored)
    if found.mode_order not in (None, asked):
        raise modes.error(
            f"{name.text} stands for {Format(levels, mode_order)}",
            f"write {Format(levels, asked)}",
        )
    return Format(levels, asked)


def _named_order(word: _TextPiece, found: NamedFormat) -> int | None:
    """The n of ``COO(n)``, or the number of modes that the name implies."""
    name, bracket, rest = word.text.partition("(")
    if not bracket:
        return found.order
    if found.order is not None:
        raise word.error(f"{name} takes no number of modes", f"write {name}")
    number = _natural(rest.rstrip(")").strip())
    if not number or not rest.endswith(")"):
        raise word.error(
            f"{name} takes the number of modes in parentheses", f"write, for example, {name}(2)"
        )
    return number


def _mode_order(modes: _TextPiece | None, order: int) -> tuple[int, ...]:
    natural = tuple(range(order))
    if modes is None:
        return natural
    pieces = modes.split(",")
    if len(pieces) != order:
        raise modes.error(
            f"the format has {_count(order, 'level')}, but its mode order has "
            f"{_count(len(pieces), 'mode')}",
            f"write {','.join(map(str, natural))} in the order of storage" if order else None,
        )
    found: list[int] = []
    for piece in pieces:
        mode = _natural(piece.text)
        if mode is None or mode >= order:
            raise piece.error(
                f"{piece.text!r} is not a mode of a tensor with {_count(order, 'mode')}",
                f"the modes are numbered {', '.join(map(str, natural))}",
            )
        if mode in found:
            raise piece.error(
                f"mode {mode} repeats in the mode order",
                f"each of the modes {', '.join(map(str, natural))} has one level",
            )
        found.append(mode)
    return tuple(found)


def _natural(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 4 else None


def _described(codes: Iterable[str]) -> str:
    return ", ".join(f"{code} {LEVEL_FORMATS[code].name}" for code in codes)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
