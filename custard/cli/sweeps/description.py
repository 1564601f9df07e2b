"""Sweep files: YAML that lists the points to run; and the compilation and run of a point.

A point has the keys of ``PointSection``, in the words of the command line. Keys at the top of the
file are defaults; each of ``points`` and each combination of the values of ``grid`` adds to them or
overrides them. Paths are relative to the file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from custard.cli import run_record as record
from custard.cli.inputs import file_of, split_listing
from custard.cli.sweeps import expansion
from custard.cli.sweeps.measuring import Tell
from custard.cli.sweeps.pictures import require_picture
from custard.cli.sweeps.plots import Plot
from custard.cli.sweeps.points import Point
from custard.cli.sweeps.sections import PointSection
from custard.cli.sweeps.table import require_own_names
from custard.cli.sweeps.workers import Limits, Measure, Together
from custard.compiler import compile
from custard.ir import cin
from custard.ir.concretization import concretize
from custard.language import notation
from custard.language.commands import parse_schedule, workspaces
from custard.to_sam.program import SamProgram
from sam.support.errors import UserError, one_of
from sam.support.version import release
from sam.support.yaml_text import read_yaml
from sim.config import hardware as config
from sim.simulation import require_engine


@dataclass(frozen=True)
class Sweep:
    """A sweep file that has been read.

    ``points``   in their order: the last axis of the grid changes fastest
    ``folder``   of the results
    ``measure``  runs one point; ``together`` runs points at one go that differ only in config
    """

    points: list[Point]
    folder: Path
    limits: Limits
    metrics: list[str]
    plots: dict[str, Plot]
    measure: Measure
    together: Together


def read(path: Path) -> Sweep:
    """The sweep of a file. Raises UserError, naming the file and the key."""
    data = read_yaml(path, "sweep")
    file = expansion.read(data, str(path))
    home = path.absolute().parent
    try:
        for name in file.plots:
            require_picture(Path(name))
        digests: dict[str, str | None] = {}
        found = expansion.expanded(file, data)
        points = [_resolved(point, axes, home, digests) for point, axes in found]
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
        together=Together(but_config, partial(measure_together, folder=str(home))),
    )


def measure(settings: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """The record of a point; ``folder`` is that of the sweep file. Raises UserError."""
    program = _compiled(settings)
    _, told = record.simulate(
        program,
        settings["schedule"],
        _inputs(settings, folder),
        config.load(settings["config"]),
        seed=settings["seed"],
        engine=settings["engine"],
        compare=settings["check"],
        max_cycles=settings.get("max_cycles"),
        threads=1 if settings["engine"] == "simpy" else settings.get("threads", 1),
    )
    return _right(told)


def measure_together(several: Sequence[Mapping[str, Any]], tell: Tell, folder: str) -> None:
    """Tells the record or the error of each point, of points that differ only in config."""
    settings = several[0]
    program = _compiled(settings)

    def finished(n: int, outcome: dict[str, Any] | Exception) -> None:
        try:
            tell(n, outcome if isinstance(outcome, Exception) else _right(outcome))
        except UserError as mistake:
            tell(n, mistake)

    record.simulate_many(
        program,
        settings["schedule"],
        _inputs(settings, folder),
        [config.load(settings["config"]) for settings in several],
        finished,
        seed=settings["seed"],
        engine=settings["engine"],
        compare=settings["check"],
        max_cycles=settings.get("max_cycles"),
    )


def but_config(settings: Mapping[str, Any]) -> str:
    """A text that is equal for settings that ``measure_together`` takes at one go."""
    return json.dumps({**settings, "config": None}, sort_keys=True)


def _compiled(settings: Mapping[str, Any]) -> SamProgram:
    return compile(
        settings["expression"],
        settings["formats"],
        settings["schedule"],
        dims=settings["dims"],
        strict=settings["strict"],
        drop_zeros=settings["drop_zeros"],
    )


def _inputs(settings: Mapping[str, Any], folder: str) -> list[str]:
    """The texts of ``-i``."""
    return [
        f"{name}={_given(folder, given) if isinstance(given, Mapping) else given}"
        for name, given in settings["inputs"].items()
    ]


def _right(told: dict[str, Any]) -> dict[str, Any]:
    """The record, unless ``check`` found the result wrong: then raises UserError."""
    if told.get("difference"):
        raise UserError(told["difference"])
    return told


def _resolved(
    point: PointSection,
    axes: Mapping[str, Any],
    home: Path,
    digests: dict[str, str | None],
) -> Point:
    """The point with all settings that decide its result. Raises UserError for wrong ones."""
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


def _commands(point: PointSection) -> list[str]:
    return [point.schedule] if isinstance(point.schedule, str) else list(point.schedule)


def _require_names(point: PointSection) -> None:
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
    assignment = notation.parse(expression)
    tensors = [access.tensor for access in notation.accesses(assignment)]
    variables = map(cin.base, concretize(assignment).loops)
    return list(dict.fromkeys(tensors)), list(dict.fromkeys(variables))


def _machine(point: PointSection, home: Path) -> config.Config:
    named = Path(point.config)
    is_name = named.name == point.config and not named.suffix
    return config.load(point.config if is_name else home / named, point.set, "set")


def _input(value: str, home: Path, digests: dict[str, str | None]) -> str | dict[str, str | None]:
    """The value of an input; a file has a digest of its bytes beside it, so that changes count.

    The digest of a file that cannot be read is None.
    """
    try:
        file = file_of(value)
    except UserError:  # a home folder that is not there
        return value
    if file is None:
        return value
    if file not in digests:
        try:
            digests[file] = hashlib.sha256((home / file).read_bytes()).hexdigest()
        except (OSError, ValueError):
            digests[file] = None
    listing = split_listing(value)[1]
    return {"file": file, "sha256": digests[file], **({"listing": listing} if listing else {})}


def _given(folder: Path | str, input: Mapping[str, str | None]) -> str:
    """The text of ``-i`` for an input that ``_input`` made. Raises UserError where it had none."""
    path = Path(folder, input["file"] or "")
    if input["sha256"] is None:
        try:
            path.open("rb").close()
            why = "it could not be read when the sweep began"
        except (OSError, ValueError) as mistake:
            why = getattr(mistake, "strerror", None) or str(mistake)
        raise UserError(f"cannot read {path}: {why}")
    return f"{path}{input.get('listing', '')}"
