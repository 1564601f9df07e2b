"""The tokens of index notation: names, numbers and symbols, each with its place in the text."""

from __future__ import annotations

import math
import string
from typing import NamedTuple, TypeAlias

from sam.support.errors import UserError

Span: TypeAlias = tuple[int, int]


_DIGITS = frozenset(string.digits)
LETTERS = frozenset(string.ascii_letters + "_")
SYMBOLS = ("+=", "=", "+", "-", "*", "/", "(", ")", "{", "}", ",")
CLOSING = {"(": ")", "{": "}"}
ENDS = ("end", "=", "+=")
_POWER = "a power is a product of equal factors: B(i) * B(i)"
_ASSIGNMENT = "an assignment is written with = or +="
OPERATIONS = "an expression has + - * / and sum(j, ...)"
_REFUSED = {
    "**": _POWER,
    "^": _POWER,
    **dict.fromkeys(("==", "-=", "*=", "/=", ":=", "<-"), _ASSIGNMENT),
    **dict.fromkeys(("//", "%", "<", ">", "!", "&", "|", "~", "?"), OPERATIONS),
    **dict.fromkeys((".T", "'"), "the transpose of B(i,j) is B(j,i)"),
    **dict.fromkeys(("...", ":"), "each mode has a subscript, as in A(i,j)"),
    **dict.fromkeys(("\N{GREEK CAPITAL LETTER SIGMA}", "\N{N-ARY SUMMATION}"), "write sum(j, ...)"),
    **dict.fromkeys(("\N{MINUS SIGN}", "\N{EN DASH}"), "write -"),
    **dict.fromkeys(("\N{MULTIPLICATION SIGN}", "\N{MIDDLE DOT}", "\N{DOT OPERATOR}"), "write *"),
    ";": "an expression is one assignment, and ends without ;",
    "[": "subscripts stand in parentheses: B(i,j)",
    "->": "a sum over k is written with subscripts, as in X(i,j) = A(i,k) * B(k,j)",
    "@": "a product of matrices names its subscripts: X(i,j) = A(i,k) * B(k,j)",
}
# Names of functions in other languages.
FUNCTIONS = {"min", "max", "abs", "exp", "log", "sqrt", "pow", "relu", "tanh", "sin", "cos"}


class Token(NamedTuple):
    """A word of the text; ``kind`` is name, number, end, or the symbol itself."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def span(self) -> Span:
        return self.start, self.end

    @property
    def number(self) -> int | float:
        return number(self.text)


def tokens(text: str) -> list[Token]:
    """The tokens of a text, and one for its end. Raises UserError for other characters."""
    found = []
    position = 0
    while position < len(text):
        if text[position] == " ":
            position += 1
            continue
        token = _token(text, position)
        found.append(token)
        position = token.end
    return [*found, Token("end", "", len(text.rstrip()))]


def _token(text: str, start: int) -> Token:
    if text[start] in LETTERS:
        return Token("name", text[start : _run(text, start, LETTERS | _DIGITS)], start)
    digits = start + text.startswith(".", start)
    if text[digits : digits + 1] in _DIGITS:
        return _number(text, start)
    for symbol, hint in _REFUSED.items():
        if text.startswith(symbol, start):
            span = (start, start + len(symbol))
            raise UserError(
                f"{symbol} is not part of the notation", source=text, span=span, hint=hint
            )
    for symbol in SYMBOLS:
        if text.startswith(symbol, start):
            return Token(symbol, symbol, start)
    raise UserError(
        f"{text[start]!r} is not part of the notation",
        source=text,
        span=(start, start + 1),
        hint="names have the letters a to z, digits and _" if text[start].isalpha() else None,
    )


def _number(text: str, start: int) -> Token:
    end = _run(text, start, _DIGITS)
    if text.startswith(".", end):
        end = _run(text, end + 1, _DIGITS)
    if text[end : end + 1] in ("e", "E"):
        digits = end + 1 + (text[end + 1 : end + 2] in ("+", "-"))
        exponent = _run(text, digits, _DIGITS)
        end = exponent if exponent > digits else end
    token = Token("number", text[start:end], start)
    if math.isinf(float(token.text)):
        raise UserError("this number is too large", source=text, span=token.span)
    return token


def _run(text: str, start: int, characters: frozenset[str]) -> int:
    while start < len(text) and text[start] in characters:
        start += 1
    return start


def number(digits: str) -> int | float:
    """The number that a text without a sign writes; a whole one of more than 63 bits is a float."""
    if set(digits) <= _DIGITS:
        significant = digits.lstrip("0") or "0"
        if len(significant) < 20 and int(significant) < 2**63:
            return int(significant)
    return float(digits)
