"""The formats of tensors in the comment of a published graph."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sam.levels import LEVELS
from sam.support.errors import UserError, one_of, quoted

_FORMAT = re.compile(r"\s*(\w+)\s*=\s*(?:none|([a-z]*)(\d*))\s*")


@dataclass(frozen=True)
class TensorFormat:
    """A tensor's format in the comment: level formats and the mode that each level stores."""

    levels: str
    modes: tuple[int, ...]


def formats(comment: str) -> dict[str, TensorFormat]:
    """The formats in the graph's comment, by tensor."""
    found = {}
    for part in comment.split(",") if comment.strip() else ():
        match = _FORMAT.fullmatch(part)
        if match is None:
            raise UserError(
                f'the graph\'s comment has no format in "{quoted(part.strip())}"',
                hint="as in x=s0,B=ss10,a=none",
            )
        levels, digits = match[2] or "", match[3] or ""
        unknown = [code for code in levels if code not in LEVELS]
        if unknown:
            raise UserError(
                f"{match[1]} has the unknown level format {unknown[0]}",
                hint=one_of(unknown[0], LEVELS),
            )
        modes = tuple(int(digit) for digit in digits)
        if sorted(modes) != [*range(len(levels))]:
            raise UserError(
                f'the format "{quoted(part.strip())}" does not store each mode once',
                hint="a digit for each level, as in B=ss10",
            )
        found[match[1]] = TensorFormat(levels, modes)
    return found
