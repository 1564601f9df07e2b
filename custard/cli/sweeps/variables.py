"""Variables in the texts of a sweep file: ``${name}`` stands for a value of the point.

A text that is only a variable becomes the value itself, so that a number stays a number; in a
longer text the variable becomes the value's text. ``$${`` is the text ``${``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from sam.support.errors import UserError, one_of, quoted

_VARIABLE = re.compile(r"(\$?)\$\{([^{}]*)(\}?)")
_MOST_LEVELS = 50  # of variables in the values of variables
_MOST_CHARACTERS = 2**16  # that variables add to one point


def names(value: Any) -> Iterator[str]:
    """The variables in all texts of a value, which may be of lists and mappings."""
    if isinstance(value, str):
        for escaped, name, _ in _VARIABLE.findall(value):
            if not escaped:
                yield name
    elif isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from names(inner)


def split(
    data: Mapping[str, Any], keys: Collection[str]
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The mapping without the values that have variables, and a mapping of only those. Only
    ``keys`` are split; a section is split key by key.
    """
    closed: dict[str, Any] = {}
    opened: dict[str, Any] = {}
    for key, value in data.items():
        if key not in keys or not _has_dollar(value):
            closed[key] = value
        elif isinstance(value, Mapping):
            closed[key] = {name: v for name, v in value.items() if not _has_dollar(v)}
            opened[key] = {name: v for name, v in value.items() if _has_dollar(v)}
        else:
            opened[key] = value
    return closed, opened


def _has_dollar(value: Any) -> bool:
    """Whether a value has variables, or escaped ones."""
    if isinstance(value, str):
        return "${" in value
    inner = value.values() if isinstance(value, Mapping) else value
    return isinstance(value, Mapping | list) and any(map(_has_dollar, inner))


class VariableValues:
    """The values of the variables, in whose texts there may be variables, too."""

    def __init__(self, known: Mapping[str, Any]) -> None:
        self.known = known
        self.found: dict[str, Any] = {}
        self.under_way: list[str] = []
        self.added = 0

    def fill(self, value: Any) -> Any:
        """The value with all variables replaced. Raises UserError for an unknown variable."""
        if isinstance(value, Mapping):
            return {key: self.fill(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.fill(inner) for inner in value]
        if not isinstance(value, str) or "${" not in value:
            return value
        whole = _VARIABLE.fullmatch(value)
        if whole and whole[3] and not whole[1]:
            return self._value(whole[2], value)
        return _VARIABLE.sub(lambda match: self._text(match, value), value)

    def _text(self, match: re.Match[str], source: str) -> str:
        escaped, name, closed = match.groups()
        if escaped:
            return match[0][1:]
        if not closed:
            raise UserError(f'"{quoted(source)}" has a variable without its closing bracket }}')
        value = self._value(name, source)
        text = str(value).lower() if isinstance(value, bool) else str(value)
        self.added += len(text)
        if self.added > _MOST_CHARACTERS:
            raise UserError(f"variables make more than {_MOST_CHARACTERS} characters of a point")
        return text

    def _value(self, name: str, source: str) -> Any:
        if name not in self.known:
            raise UserError(
                f'"{quoted(source)}" has the variable {quoted(name)}, and the point has no axis, '
                "label or key of that name",
                hint=one_of(name, self.known),
            )
        if name in self.found:
            return self.found[name]
        if name in self.under_way or len(self.under_way) == _MOST_LEVELS:
            raise UserError(f"the variable {quoted(name)} stands for itself")
        value = self.known[name]
        if isinstance(value, Mapping | list):
            kind = "a list" if isinstance(value, list) else "a section"
            raise UserError(
                f'"{quoted(source)}" has the variable {quoted(name)}, which is {kind}',
                hint="a variable is text, a number, true or false",
            )
        self.under_way.append(name)
        self.found[name] = self.fill(value)
        self.under_way.pop()
        return self.found[name]
