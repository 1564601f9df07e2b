"""Stream tokens and their text form (SAM paper, Section 3.2).

A token is a pair ``(kind, value)``. ``DATA`` carries a coordinate, a reference, a value or a
bitvector; ``STOP`` carries its level n and prints as ``Sn``; ``EMPTY`` (``N``) stands where a
union has no reference; ``DONE`` (``D``) ends the stream. A stream of depth n flattens an n-deep
nested list: ``((1),(2,3))`` is ``1, S0, 2, 3, S1, D``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sam.support.errors import UserError

DATA, EMPTY, STOP, DONE = 0, 1, 2, 3

Token = tuple[int, Any]


def stop(level: int) -> Token:
    """The stop token of ``level`` 0 or more."""
    return STOP, level


N: Token = (EMPTY, 0)
D: Token = (DONE, 0)


def format_token(token: Token) -> str:
    """The text of one token: ``7``, ``0.5``, ``S1``, ``N`` or ``D``."""
    kind, value = token
    if kind == DATA:
        return str(value)
    return {EMPTY: "N", STOP: f"S{value}", DONE: "D"}[kind]


def format_stream(tokens: Iterable[Token]) -> str:
    """The text of a stream, as in ``1, S0, 2, 3, S1, D``."""
    return ", ".join(format_token(token) for token in tokens)


def parse_stream(text: str) -> list[Token]:
    """The tokens that ``text`` spells; raises UserError at the first word that is none."""
    tokens = []
    position = 0
    for piece in text.split(","):
        word = piece.strip()
        start = position + len(piece) - len(piece.lstrip())
        position += len(piece) + 1
        if not word and not text.strip():
            break
        tokens.append(_parse_token(word, text, (start, start + len(word))))
    return tokens


def _parse_token(word: str, text: str, span: tuple[int, int]) -> Token:
    if word == "N":
        return N
    if word == "D":
        return D
    if word[:1] == "S" and word[1:].isdecimal():
        return stop(int(word[1:]))
    for number in (int, float, complex):
        try:
            return DATA, number(word)
        except ValueError:
            continue
    raise UserError(f'"{word}" is not a token', source=text, span=span, hint="a number, Sn, N or D")


def to_tokens(nested: Any, depth: int) -> list[Token]:
    """The stream of ``depth`` that flattens a ``depth``-deep nested list; None becomes N."""
    tokens: list[Token] = []

    def walk(item: Any, level: int) -> None:
        if level == 0:
            tokens.append(N if item is None else (DATA, item))
            return
        for n, child in enumerate(item):
            walk(child, level - 1)
            if level > 1 and n + 1 < len(item):
                tokens.append(stop(level - 2))

    walk(nested, depth)
    if depth:
        tokens.append(stop(depth - 1))
    tokens.append(D)
    return tokens
