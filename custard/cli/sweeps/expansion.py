"""The points of a sweep file: all combinations of ``points`` and the axes of ``grid``.

An axis is a key of points with a list of values, or has a name of its own, with labels that may
each stand for a part of a point.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import reduce
from itertools import product
from typing import Any

from custard.cli.sweeps import variables
from custard.cli.sweeps.sections import PointSection, SweepFile, is_label
from sam.support.errors import UserError
from sam.support.yaml_sections import show, validated

_MOST_POINTS = 100_000
_KEYS = PointSection.model_fields


def read(data: Any, origin: str) -> SweepFile:
    """The sections of a file; ``expanded`` needs its data, too. Raises UserError."""
    closed = variables.split(data, _KEYS)[0] if isinstance(data, Mapping) else data
    return validated(SweepFile, closed, origin)


def expanded(
    file: SweepFile, data: Mapping[str, Any]
) -> Iterator[tuple[PointSection, dict[str, Any]]]:
    """Each point, with the keys that all points share, and its columns of the table.

    ``data`` is that of the file. The last axis changes fastest. Raises UserError.
    """
    base = _merged(file.given(), variables.split(data, _KEYS)[1])
    entries = [_step(entry, f"points.{n}") for n, entry in enumerate(file.points or [{}], 1)]
    axes = [entries, *(_axis(place, given) for place, given in _places(file.grid))]
    count = math.prod(map(len, axes))
    if count > _MOST_POINTS:
        raise UserError(
            f"points and grid make {show(count)} points; {_MOST_POINTS} are the most",
            hint="split the sweep into several files",
        )
    _require_labels_of_use(axes, base)
    columns = dict.fromkeys(column for axis in axes for step in axis for column in step.columns())
    for steps in product(*axes):
        merged = reduce(_merged, (step.part for step in steps), base)
        known = _flat(merged)
        for step in steps:
            known.update(step.label)
        values = variables.VariableValues(known)
        axes_of_point = {name: values.fill(known.get(name)) for name in columns}
        point = validated(PointSection, values.fill(merged), _called(axes_of_point))
        yield point, axes_of_point


@dataclass(frozen=True)
class _Step:
    """One value of an axis.

    ``part``   of a point
    ``label``  the axis and its label, if the axis has a name of its own
    """

    part: Mapping[str, Any]
    label: Mapping[str, Any] = field(default_factory=dict)

    def columns(self) -> list[str]:
        """The columns of the table that it fills."""
        if not self.label:
            return list(_flat(self.part))
        return [*self.label, *self.part.get("labels", {})]


def _step(data: Any, origin: str, label: Mapping[str, Any] | None = None) -> _Step:
    """A value of an axis, checked as far as it has no variables."""
    if not isinstance(data, Mapping):
        validated(PointSection, data, origin)
    closed, opened = variables.split(data, _KEYS)
    try:
        given = validated(PointSection, closed, origin).given()
    except UserError as mistake:
        torn = next((text for text in _texts(closed) if text.count("(") > text.count(")")), None)
        if torn is None:
            raise
        hint = f'{torn}... needs quotes in braces or brackets, as in "reorder(i,j)"'
        raise UserError(mistake.what, hint=hint) from None
    return _Step(_merged(given, opened), label or {})


def _texts(data: Mapping[str, Any]) -> Iterator[str]:
    """The texts that stand in a section, or in a list in it."""
    for value in data.values():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, str):
                yield item


def _places(grid: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The places of the axes: a key of points, a section and a key in it, or a name."""
    for key, given in grid.items():
        if key not in _KEYS or not isinstance(given, Mapping):
            yield (key,), given
            continue
        for name, values in given.items():
            if not isinstance(name, str):
                raise UserError(f"grid.{key} has the key {show(name)}, which is not text")
            yield (key, name), values


def _axis(place: tuple[str, ...], given: Any) -> list[_Step]:
    """The values of an axis. Raises UserError where there are none, or one is there twice."""
    origin = f"grid.{'.'.join(place)}"
    values = given if isinstance(given, list) else []
    counts = Counter(map(repr, values))
    twice = [value for value in values if counts[repr(value)] > 1]
    if twice:
        raise UserError(f"{origin} has the value {show(twice[0])} twice")
    if place[0] not in _KEYS:
        return _named_axis(place[0], given, origin)
    if not isinstance(given, list) or not given:
        raise UserError(
            f"{origin} is not a list of values",
            hint="as in grid: {seed: [0, 1], set: {queues.depth: [2, 4]}}",
        )
    return [_step(_at(place, value), origin) for value in given]


def _named_axis(name: str, given: Any, origin: str) -> list[_Step]:
    section = name.partition(".")[0]
    if section != name and section in _KEYS:
        raise UserError(
            f"{origin} has a dot in its name",
            hint=f"as in grid: {{{section}: {{{name[len(section) + 1 :]}: [...]}}}}",
        )
    labels = list(given) if isinstance(given, Mapping | list) else []
    if not labels or not all(map(is_label, labels)):
        raise UserError(
            f"{origin} has no labels",
            hint="as in grid: {matrix: {small: {inputs: {B: small.mtx}}, large: {...}}}, or a "
            'list, as in grid: {n: [8, 16], dims: {i: ["${n}"]}}',
        )
    parts = given if isinstance(given, Mapping) else dict.fromkeys(labels)
    steps = []
    for label in labels:
        part = {} if parts[label] is None else parts[label]
        try:
            steps.append(_step(part, f"{origin}.{label}", {name: label}))
        except UserError as mistake:
            if isinstance(part, list) and (near := _near(name)):  # as set: {queues.depth: [2, 4]}
                raise UserError(mistake.what, hint=f"did you mean grid.{near}?") from None
            raise
    return steps


def _require_labels_of_use(axes: Sequence[Sequence[_Step]], base: Mapping[str, Any]) -> None:
    """Raises UserError for an axis whose labels stand for nothing, or with the name of another."""
    values = [given for axis in axes for step in axis for given in (step.part, step.label)]
    used = set(variables.names([base, *values]))
    labels = {name for axis in axes for step in axis for name in step.part.get("labels", {})}
    for axis in axes:
        for name in axis[0].label:
            if name in labels:
                raise UserError(f"an axis and a label are both called {name}")
            if name not in used and not any(step.part for step in axis):
                near = _near(name)
                use = f'as in inputs: {{B: "${{{name}}}.mtx"}}'
                if "." in name:
                    use = f"a value of the config: grid: {{set: {{{name}: [...]}}}}"
                raise UserError(
                    f"grid.{name} is not a key of a point, and no text uses ${{{name}}}",
                    hint=f"did you mean {near}?" if near else use,
                )


def _near(name: str) -> str | None:
    """The key of points that an axis was most likely meant to be, by its name."""
    found = get_close_matches(name, _KEYS, n=1, cutoff=0.7)
    return found[0] if found else None


def _called(axes: Mapping[str, Any]) -> str:
    """The name of a point in errors."""
    named = ", ".join(f"{name}={show(value)}" for name, value in axes.items())
    return f"the point {named}" if named else "the point"


def _at(place: tuple[str, ...], value: Any) -> Any:
    for key in reversed(place):
        value = {key: value}
    return value


def _merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of both. Sections are merged likewise; elsewhere the other's value counts."""
    both = {**one, **other}
    for key in one.keys() & other.keys():
        if isinstance(one[key], dict) and isinstance(other[key], dict):
            both[key] = {**one[key], **other[key]}
    return both


def _flat(part: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of the table that the keys of a point fill."""
    columns: dict[str, Any] = {}
    for key, value in part.items():
        if key == "labels":
            columns.update(value)
        elif isinstance(value, dict):
            columns.update({f"{key}.{name}": inner for name, inner in value.items()})
        else:
            columns[key] = value
    return columns
