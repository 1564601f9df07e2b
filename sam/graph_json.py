"""The parts of a graph beside its nodes and edges, as JSON for both DOT dialects."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING, Any

from sam.derivations import Derivation
from sam.graph import Graph, Result, Slot
from sam.subscripts import Span
from sam.support.errors import UserError, quoted
from sam.support.json_text import parse_json

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_PARTS: Mapping[str, Any] = {
    "slots": tuple[Slot, ...],
    "result": Result | None,
    "nonempty": tuple[str, ...],
    "dims": tuple[tuple[str, int], ...],
    "derived": tuple[Derivation, ...],
    "spans": tuple[Span, ...],
}


def described(graph: Graph) -> dict[str, str]:
    """The parts of a graph by name, each as JSON."""
    found = {
        "slots": "[" + ",".join("\n    " + as_json(_slot(slot)) for slot in graph.slots) + "]",
        "result": as_json(None if graph.result is None else _result(graph.result)),
        "nonempty": as_json(graph.nonempty),
        "dims": as_json(graph.dims),
        "derived": as_json([asdict(one) for one in graph.derived]),
    }
    if graph.spans:
        found["spans"] = as_json([asdict(one) for one in graph.spans])
    return found


def _slot(slot: Slot) -> dict[str, Any]:
    """The parts of a slot; rare parts are told only where there are some."""
    parts = asdict(slot)
    for rare in ("computed", "shares"):
        if not parts[rare]:
            del parts[rare]
    return parts


def _result(result: Result) -> dict[str, Any]:
    return {**asdict(result), "slot": _slot(result.slot)}


def parts_of(attributes: Mapping[str, str]) -> dict[str, Any]:
    """The parts of a graph that some attributes tell; raises UserError."""
    return {name: _read(name, attributes[name]) for name in _PARTS if name in attributes}


def as_json(value: Any) -> str:
    """A value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False)


def read_json(text: str, name: str, where: str) -> Any:
    """The data that an attribute holds as JSON; raises UserError."""
    return parse_json(text, f'{where}: attribute "{name}"')


def _read(name: str, text: str) -> Any:
    from pydantic import ValidationError

    try:
        return _reader(name).validate_python(read_json(text, name, "graph"))
    except ValidationError as mistake:
        first = mistake.errors(include_url=False)[0]
        place = "".join(f"[{key!r}]" for key in first["loc"])
        raise UserError(
            f'graph: attribute "{name}" does not hold a graph\'s {name}: '
            f"{quoted(repr(first['input']))} at {name}{place}"
        ) from None


@cache
def _reader(name: str) -> TypeAdapter[Any]:
    """The validator of a part of a graph, made when it is first needed, as that takes long."""
    from pydantic import TypeAdapter

    return TypeAdapter(_PARTS[name])
