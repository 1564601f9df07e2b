"""Declarations of the parameters of blocks: type, range, and whether they may be missing.

A kind declares its parameters by name, as in ``{"slot": TEXT, "level": whole(), "keeps":
optional(FLAG)}``; ``check`` raises for the parameters of a node that do not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sam.support.errors import UserError, one_of, quoted, shown

MOST = 2**16
"""More lanes, operands, levels or dimensions than any graph has."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kind: for which values it ``holds``, what it ``must`` be, in words."""

    must: str
    holds: Callable[[Any], bool]
    required: bool = True


def check(declared: Mapping[str, Parameter], given: Mapping[str, Any]) -> None:
    """Raises UserError, naming the parameter, for one that is unknown, missing or wrong."""
    for name, value in given.items():
        parameter = declared.get(name)
        if parameter is None:
            raise UserError(
                f'unknown parameter "{quoted(str(name))}"', hint=one_of(quoted(name), declared)
            )
        if not parameter.holds(value):
            raise UserError(f"parameter {name} is {shown(value)}; it must be {parameter.must}")
    for name, parameter in declared.items():
        if parameter.required and name not in given:
            raise UserError(f"parameter {name} is missing; it must be {parameter.must}")


def whole(least: int = 0, most: int = MOST) -> Parameter:
    """A parameter that is a whole number in a range, ends included."""

    def holds(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most

    return Parameter(f"a whole number from {least} to {most}", holds)


def choice(words: Iterable[str]) -> Parameter:
    """A parameter that is one of some words."""
    known = list(words)
    return Parameter(
        f"one of {', '.join(known)}", lambda value: isinstance(value, str) and value in known
    )


def many(of: Parameter, least: int = 0, distinct: bool = False) -> Parameter:
    """A parameter that is a list of ``least`` values or more; none twice if ``distinct``."""

    def holds(value: Any) -> bool:
        return (
            isinstance(value, list | tuple)
            and least <= len(value) <= MOST
            and all(map(of.holds, value))
            and not (distinct and len({*value}) < len(value))
        )

    more = f" of at least {least}" if least else ""
    none = ", none of them twice" if distinct else ""
    return Parameter(f"a list{more}, each {of.must}{none}", holds)


def optional(of: Parameter) -> Parameter:
    """A parameter that may be missing."""
    return replace(of, required=False)


def nullable(of: Parameter) -> Parameter:
    """A parameter that may be None."""
    return replace(of, must=f"{of.must}, or null", holds=lambda v: v is None or of.holds(v))


FLAG = Parameter("true or false", lambda value: isinstance(value, bool))
TEXT = Parameter("text", lambda value: isinstance(value, str))
STREAM = choice(("crd", "ref", "val", "bv"))
