"""Sweep files: YAML that says which points to run; and how one point is compiled and run.

A point has the keys of ``_Point``, in the words of the command line. What stands at the top of the
file holds for all points; each of ``points`` and each combination of the values of ``grid`` adds
to it or sets it otherwise. Paths are relative to the file.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial, reduce
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from custard.cli import run_record as record
from custard.cli.inputs import file_of, split_listing
from custard.cli.options import release
from custard.cli.sweeps.plots import Plot, require_picture
from custard.cli.sweeps.points import Point
from custard.cli.sweeps.table import require_own_names
from custard.cli.sweeps.workers import Limits, Measure
from custard.compiler import compile
from custard.language import notation
from custard.language.commands import parse_schedule, workspaces
from sam.support.errors import UserError, one_of
from sam.support.yaml_sections import (
    Section,
    Text,
    check_section,
    is_texts,
    must_be,
    show,
    validated,
)
from sam.support.yaml_text import read_yaml
from sim.config import hardware as config
from sim.simulation import require_engine

_MOST_POINTS = 100_000
METRICS = ("cycles", "bottleneck", "result.nnz")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_input(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _is_commands(value: Any) -> bool:
    return isinstance(value, str) or is_texts(value)


_SECTION = BeforeValidator(check_section)
_Flag = Annotated[bool, must_be("true or false", lambda value: isinstance(value, bool))]
_Whole = Annotated[int, must_be("a whole number of at least 0", _is_whole)]
_Input = Annotated[
    str | int | float, must_be("a file, a number, @random, @random(SHARE) or @dense", _is_input)
]
_Commands = Annotated[str | list[str], must_be("a command, or a list of commands", _is_commands)]
_Label = Annotated[str | int | float, must_be("text or a number", _is_input)]


class _Point(Section):
    """What may be said of a point; each option of ``custard`` stands beside its key.

    ``labels``      columns of the table that name the point, and do nothing else
    ``expression``  EXPRESSION
    ``formats``     -f, a format by tensor
    ``schedule``    -s, a command or a list of them
    ``dims``        --dims, an extent by variable
    ``strict``      --strict
    ``drop_zeros``  --drop-zeros
    ``inputs``      -i, a value by tensor
    ``seed``        --seed
    ``config``      --config
    ``set``         --set, a value by dotted key
    ``engine``      --engine
    ``check``       --check; a point whose result is wrong has failed
    """

    labels: Annotated[dict[str, _Label], _SECTION] = Field(default_factory=dict)
    expression: Text | None = None
    formats: Annotated[dict[str, Text], _SECTION] = Field(default_factory=dict)
    schedule: _Commands = Field(default_factory=list)
    dims: Annotated[dict[str, _Whole], _SECTION] = Field(default_factory=dict)
    strict: _Flag = False
    drop_zeros: _Flag = False
    inputs: Annotated[dict[str, _Input], _SECTION] = Field(default_factory=dict)
    seed: _Whole = 0
    config: Text = "ideal"
    set: Annotated[dict[str, Any], _SECTION] = Field(default_factory=dict)
    engine: Text = "auto"
    check: _Flag = False

    def given(self) -> dict[str, Any]:
        """The keys that are set, each with its value."""
        set_ = self.model_fields_set
        return {key: getattr(self, key) for key in _Point.model_fields if key in set_}


class _File(_Point):
    """A sweep file: a point that all start from, and the keys that only a sweep has.

    ``points``   points, each with what it has otherwise
    ``grid``     a list of values in the place of each value: all combinations are run
    ``limits``   of one point: ``seconds``, ``memory_bytes``
    ``output``   the folder of the results; the file's name without its suffix by default
    ``metrics``  columns of the table: places in the record of a run
    ``plots``    by file name, in the folder of the results
    """

    points: Annotated[
        list[Any] | None, must_be("a list of points", lambda v: isinstance(v, list) and v)
    ] = None
    grid: Annotated[dict[str, Any], _SECTION] = Field(default_factory=dict)
    limits: Limits = Field(default_factory=Limits)
    output: Text | None = None
    metrics: Annotated[list[str], must_be("a list of metrics", is_texts)] = Field(
        default_factory=lambda: list(METRICS)
    )
    plots: Annotated[dict[str, Plot], _SECTION] = Field(default_factory=dict)


@dataclass(frozen=True)
class Sweep:
    """A sweep file that has been read.

    ``points``   in their order: the last axis of the grid changes fastest
    ``folder``   of the results
    ``measure``  runs one point
    """

    points: list[Point]
    folder: Path
    limits: Limits
    metrics: list[str]
    plots: dict[str, Plot]
    measure: Measure


def read(path: Path) -> Sweep:
    """The sweep of a file. Raises UserError, naming the file and the key."""
    data = read_yaml(path, "sweep")
    file = validated(_File, data, str(path))
    home = path.absolute().parent
    try:
        for name in file.plots:
            require_picture(Path(name))
        digests: dict[str, str] = {}
        points = [_resolved(merged, axes, home, digests) for merged, axes in _expanded(file)]
        if file.limits.cycles is not None:
            limit = {"max_cycles": file.limits.cycles}
            points = [Point({**point.settings, **limit}, point.axes) for point in points]
        require_own_names((axis for point in points for axis in point.axes), file.metrics)
    except UserError as mistake:
        raise mistake.about(str(path)) from None
    return Sweep(
        points=points,
        folder=home / (path.stem if file.output is None else file.output),
        limits=file.limits,
        metrics=list(file.metrics),
        plots=file.plots,
        measure=partial(measure, folder=str(home)),
    )


def measure(settings: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """The record of a point; ``folder`` is that of the sweep file. Raises UserError."""
    program = compile(
        settings["expression"],
        settings["formats"],
        settings["schedule"],
        dims=settings["dims"],
        strict=settings["strict"],
        drop_zeros=settings["drop_zeros"],
    )
    inputs = [
        f"{name}={_given(folder, given) if isinstance(given, Mapping) else given}"
        for name, given in settings["inputs"].items()
    ]
    _, told = record.simulate(
        program,
        settings["schedule"],
        inputs,
        config.load(settings["config"]),
        seed=settings["seed"],
        engine=settings["engine"],
        compare=settings["check"],
        max_cycles=settings.get("max_cycles"),
    )
    if told.get("difference"):
        raise UserError(told["difference"])
    return told


def _expanded(file: _File) -> Iterator[tuple[_Point, dict[str, Any]]]:
    """Each point with what holds for all, and its axes."""
    base = file.given()
    listed = [
        _part(entry, f"points.{number}") for number, entry in enumerate(file.points or [{}], 1)
    ]
    axes = [
        [_part(_at(place, value), f"grid.{'.'.join(place)}") for value in values]
        for place, values in _axes(file.grid)
    ]
    count = math.prod(map(len, (listed, *axes)))
    if count > _MOST_POINTS:
        raise UserError(
            f"points and grid make {show(count)} points; {_MOST_POINTS} are the most",
            hint="split the sweep into several files",
        )
    changing = [part for axis in (listed, *axes) for part in axis]
    columns = dict.fromkeys(column for part in changing for column in _flat(part))
    for parts in product(listed, *axes):
        merged = reduce(_merged, parts, base)
        values = _flat(merged)
        yield validated(_Point, merged, "the point"), {name: values.get(name) for name in columns}


def _part(data: Any, origin: str) -> dict[str, Any]:
    return validated(_Point, data, origin).given()


def _axes(grid: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
    """The places of the grid, a key or a section and a key in it, and the values of each."""
    for key, given in grid.items():
        inner = given.items() if isinstance(given, Mapping) else [(None, given)]
        for name, values in inner:
            place = (key,) if name is None else (key, name)
            if not isinstance(name, str | None):
                raise UserError(f"grid.{key} has the key {show(name)}, which is not text")
            if not isinstance(values, list) or not values:
                raise UserError(
                    f"grid.{'.'.join(map(str, place))} is no list of values",
                    hint="as in grid: {seed: [0, 1], set: {queues.depth: [2, 4]}}",
                )
            yield place, values


def _at(place: tuple[str, ...], value: Any) -> Any:
    for key in reversed(place):
        value = {key: value}
    return value


def _merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of both; of sections, too, and elsewhere the other's value counts."""
    both = {**one, **other}
    for key in one.keys() & other.keys():
        if isinstance(one[key], dict):
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


def _resolved(point: _Point, axes: Mapping[str, Any], home: Path, digests: dict[str, str]) -> Point:
    """The point with all that decides its result. Raises UserError for what no point can have."""
    if point.expression is None:
        raise UserError(
            "no expression is given", hint='as in expression: "X(i,j) = B(i,k) * C(k,j)"'
        )
    _require_names(point)
    require_engine(point.engine)
    schedule = _commands(point)
    settings = {
        "version": release(),
        "expression": point.expression,
        "formats": point.formats,
        "schedule": schedule,
        "dims": point.dims,
        "strict": point.strict,
        "drop_zeros": point.drop_zeros,
        "inputs": {name: _input(str(value), home, digests) for name, value in point.inputs.items()},
        "seed": point.seed,
        "config": _machine(point, home).resolved(),
        "engine": point.engine,
        "check": point.check,
    }
    return Point(settings, axes)


def _commands(point: _Point) -> list[str]:
    return [point.schedule] if isinstance(point.schedule, str) else list(point.schedule)


def _require_names(point: _Point) -> None:
    """Raises UserError for a tensor or variable that the expression does not have."""
    assert point.expression is not None
    tensors, variables = _names(point.expression)
    stored = tensors
    if not {*point.formats} <= {*tensors}:
        stored = [*tensors, *workspaces(parse_schedule(_commands(point)))]
    for key, given, what, known in (
        ("formats", point.formats, "tensor", stored),
        ("inputs", point.inputs, "tensor", tensors),
        ("dims", point.dims, "variable", variables),
    ):
        for name in given:
            if name not in known:
                raise UserError(
                    f"{key} has {name}, and {point.expression} has no such {what}",
                    hint=one_of(name, known),
                )


@lru_cache
def _names(expression: str) -> tuple[list[str], list[str]]:
    """The tensors and the variables of an expression."""
    nodes = list(notation.walk(notation.parse(expression)))
    tensors = [node.tensor for node in nodes if isinstance(node, notation.Access)]
    variables = [node.name for node in nodes if isinstance(node, notation.Variable)]
    return list(dict.fromkeys(tensors)), list(dict.fromkeys(variables))


def _machine(point: _Point, home: Path) -> config.Config:
    named = Path(point.config)
    is_name = named.name == point.config and not named.suffix
    return config.load(point.config if is_name else home / named, point.set)


def _input(value: str, home: Path, digests: dict[str, str]) -> str | dict[str, str]:
    """What an input is given: a file with a digest of its bytes, so that a change of it counts."""
    file = file_of(value)
    if file is None:
        return value
    if file not in digests:
        try:
            digests[file] = hashlib.sha256((home / file).read_bytes()).hexdigest()
        except OSError as mistake:
            raise UserError(f"cannot read {home / file}: {mistake.strerror}") from None
    listing = split_listing(value)[1]
    return {"file": file, "sha256": digests[file], **({"listing": listing} if listing else {})}


def _given(folder: Path | str, input: Mapping[str, str]) -> str:
    """The text of ``-i`` for an input that ``_input`` made."""
    return f"{Path(folder, input['file'])}{input.get('listing', '')}"
