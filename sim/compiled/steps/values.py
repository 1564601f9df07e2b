"""The values that expressions of a step evaluate to."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Known:
    """A Python value that is known at translation."""

    value: Any


@dataclass(frozen=True)
class Open:
    """A C expression; ``truth`` if it is 0 or 1 and stands for False or True."""

    text: str
    ctype: str
    truth: bool = False


@dataclass(frozen=True)
class StepPorts:
    """``p``"""


@dataclass(frozen=True)
class Accesses:
    """``p.memory``"""


@dataclass(frozen=True)
class State:
    """``s``"""


@dataclass(frozen=True)
class StateList:
    """A list in the state: a variable for each place."""

    name: str
    length: int


@dataclass(frozen=True)
class StepMemory:
    """``m``, or something in it."""

    path: tuple[str, ...]
    value: Any


@dataclass(frozen=True)
class Method:
    """A method that is not called yet."""

    owner: Any
    name: str


def stands(value: Open) -> bool:
    """Whether a value is a number, or a variable that no later statement of a step changes."""
    return bool(re.fullmatch(r"\(?-?[\d.]+(LL)?\)?|[kv]\d+", value.text))


def lasts(value: Open) -> bool:
    """Whether a value stays the same while a call is inlined: it is no variable of the state."""
    local = re.fullmatch(r"[A-Za-z_]\w*", value.text) and not value.text.startswith("s_")
    return bool(local) or stands(value)


def real_number(value: Any) -> str:
    """A real number in C."""
    if math.isfinite(value):
        return f"({float(value)!r})"
    return "NAN" if math.isnan(value) else f"({'-' if value < 0 else ''}INFINITY)"
