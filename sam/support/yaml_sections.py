"""Sections of YAML files, validated with errors that name file and key.

A section is a frozen model of pydantic, derived from ``Section``. Its fields have types that
``must_be`` makes, so that each mistake says in our words what the key must be.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from sam.support.errors import UserError, one_of, quoted, shown


class Section(BaseModel):
    """A mapping from known keys; an unknown one is refused with the nearest known."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _has_known_keys(cls, data: Any) -> Any:
        return check_keys(data, cls.model_fields)


_Model = TypeVar("_Model", bound=Section)

_LARGEST = sys.float_info.max


def validated(model: type[_Model], data: Any, origin: str) -> _Model:
    """The data as a section of that model. Raises UserError, naming ``origin`` and the key."""
    try:
        return model.model_validate(data)
    except ValidationError as mistake:
        first = mistake.errors()[0]
    if data is None:
        raise UserError(f"{origin} is empty; it must have keys and values")
    path = [str(part) for part in first["loc"]]
    if first["type"] == "missing":
        raise UserError(f"{origin}: {'.'.join(path)} is missing")
    context = first.get("ctx", {})
    if "text" not in context:  # a mistake that pydantic tells in its own words
        context = {"text": f"is {show(first['input'])}: {first['msg']}"}
    if "key" in context:
        key = ".".join([*path, context["key"]])
        raise UserError(f'{origin}: unknown key "{quoted(key)}"', hint=context["hint"])
    raise UserError(f"{origin}: {quoted('.'.join(path)) or 'it'} {context['text']}")


def must_be(what: str, holds: Callable[[Any], bool]) -> BeforeValidator:
    """Refuses a value for which ``holds`` is false, telling ``what`` it must be."""

    def check(value: Any) -> Any:
        value = value.item() if isinstance(value, np.generic) else value
        if not holds(value):
            raise mistake(f"is {show(value)}; it must be {what}")
        return value

    return BeforeValidator(check)


def at_most(most: int, otherwise: str = "") -> BeforeValidator:
    """Refuses a number that is larger, telling what works ``otherwise``."""

    def check(value: Any) -> Any:
        if isinstance(value, int | np.integer) and value > most:
            raise mistake(f"is {show(value)}; it must be at most {most}{otherwise}")
        return value

    return BeforeValidator(check)


def check_section(value: Any) -> Any:
    """Refuses a value that is no mapping from text."""
    if not isinstance(value, Mapping):
        raise mistake(f"is {show(value)}; it must be a section of keys and values")
    for key in value:
        if not isinstance(key, str):
            raise mistake(f"has the key {show(key)}, which is not text: put it in quotes")
    return value


def check_keys(value: Any, known: Iterable[str]) -> Any:
    """Refuses a value that is no mapping from ``known`` words."""
    words = list(known)
    for key in check_section(value):
        if key not in words:
            raise mistake("unknown key", key=key, hint=_instead(key, words))
    return value


def _instead(key: str, words: Collection[str]) -> str:
    """A hint for a key that a section does not have; ``words`` are the keys that it has."""
    section, *inner = key.split(".")
    if not inner or section not in words:
        return one_of(key, words)
    nested = "..."
    for part in reversed(inner):
        nested = f"{{{part}: {nested}}}"
    return f"a section in a section, as in {section}: {nested}"


def mistake(text: str, **context: str) -> PydanticCustomError:
    """The error that a validator raises; the text continues after the name of the key."""
    return PydanticCustomError("config", "{text}", {"text": text, **context})


def show(value: Any) -> str:
    """The value as it stands in messages, its beginning if it is long."""
    return shown(value.item() if isinstance(value, np.generic) else value)


def is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def is_number(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and -_LARGEST <= value <= _LARGEST


def is_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(text, str) for text in value)


Text = Annotated[str, must_be("text", lambda value: isinstance(value, str))]
Count = Annotated[int, must_be("a whole number of at least 1", is_count)]
Positive = Annotated[
    float, must_be("a number greater than 0", lambda value: is_number(value) and value > 0)
]
Limit = Annotated[
    int | Literal["unbounded"],
    must_be(
        'a whole number of at least 1, or "unbounded"',
        lambda value: value == "unbounded" or is_count(value),
    ),
    at_most(2**60, ', or "unbounded"'),
]
# The most items in a queue or buffer, and the largest length or width.
Depth = Annotated[Limit, at_most(10**6, ', or "unbounded"')]
Span = Annotated[Count, at_most(10**9)]
