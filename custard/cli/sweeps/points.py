"""A sweep: points to measure, a result file for each, and the points that are left.

A point's result is a JSON file, named by a hash of the point's settings, which changes as a whole.
So a sweep that was stopped, even by ``kill -9``, goes on with the points that have no file; points
that several sweeps share are measured once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from custard.cli.sweeps.progress import SweepProgress
from custard.cli.sweeps.workers import Outcome, Outcomes, Task
from sam.support.errors import UserError
from sam.support.files import clear_left, write_whole

STATUSES = ("done", "failed", "not run")
# The file of a point that was run, by its status.
_KEPT: Mapping[str, tuple[str, type]] = {"done": ("record", dict), "failed": ("error", str)}


@dataclass(frozen=True)
class Point:
    """One point: the ``settings`` that decide its result, and its ``axes``, which tell it apart.

    Both are JSON data; ``axes`` are columns of the table.
    """

    settings: Mapping[str, Any]
    axes: Mapping[str, Any]

    @cached_property
    def hash(self) -> str:
        """16 hexadecimal digits, the same wherever the settings are the same.

        Which keys of its config overrides have ``changed`` decides no result.
        """
        settings = dict(self.settings)
        if isinstance(config := settings.get("config"), Mapping):
            settings["config"] = {key: value for key, value in config.items() if key != "changed"}
        text = json.dumps(settings, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Results:
    """The result files in a folder.

    ``about``    goes into each file that is written
    ``written``  the hashes of the points whose file was
    """

    folder: Path
    about: Mapping[str, Any]
    written: set[str] = field(default_factory=set)

    def path(self, point: Point) -> Path:
        """The file of a point, whether it exists or not."""
        return self.folder / f"{point.hash}.json"

    def read(self, point: Point) -> dict[str, Any] | None:
        """The result of a point, or None where there is none that is whole."""
        try:
            found = json.loads(self.path(point).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(found, dict) or found.get("hash") != point.hash:
            return None
        for status, (part, kind) in _KEPT.items():
            if found.get("status") == status and isinstance(found.get(part), kind):
                return found
        return None

    def status(self, point: Point) -> str:
        """One of ``STATUSES``."""
        found = self.read(point)
        return "not run" if found is None else found["status"]

    def write(self, point: Point, outcome: Outcome) -> None:
        """Writes the outcome of a point to its file."""
        document = {"hash": point.hash, "point": point.settings, **self.about, **outcome}
        write_whole(self.path(point), _text(document, 2) + "\n")
        self.written.add(point.hash)


def run(
    points: Sequence[Point],
    results: Results,
    start: Callable[[Iterable[Task]], Outcomes],
    retry: bool = False,
    title: str = "",
) -> None:
    """Measures the points that have no result, and keeps each outcome as it comes.

    ``start`` measures tasks, as ``workers.run_local`` does. With ``retry`` points that failed are
    measured again. Shows how far it is.
    """
    by_hash = {point.hash: point for point in points}
    status = {name: results.status(point) for name, point in by_hash.items()}
    again = ("not run", "failed") if retry else ("not run",)
    due = [(name, by_hash[name].settings) for name, found in status.items() if found in again]
    _make_folder(results.folder)
    clear_left(results.folder)
    with SweepProgress(title, len(by_hash), len(by_hash) - len(due)) as progress:
        outcomes = start(due)
        try:
            for name, outcome in outcomes:
                results.write(by_hash[name], outcome)
                status[name] = outcome["status"]
                progress.advance(list(status.values()).count("failed"))
        finally:
            outcomes.close()


def shard(points: Sequence[Point], text: str) -> list[Point]:
    """The points of shard ``i/n``, with i from 1 to n: all shards together have each point once.

    Points of one hash are in one shard.
    """
    number, slash, count = text.partition("/")
    if not (slash and number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise UserError(f'"{text}" is not a shard', hint="I/N with I from 1 to N, as in 1/4")
    places = {name: place for place, name in enumerate(dict.fromkeys(p.hash for p in points))}
    return [p for p in points if places[p.hash] % int(count) == int(number) - 1]


def _text(data: Any, levels: int, indent: str = "") -> str:
    """JSON with a line for each member of some levels of objects; Python's ``indent`` is slow."""
    if not (levels and data and isinstance(data, Mapping)):
        return json.dumps(data)
    inner = f"{indent} "
    members = (f"{inner}{json.dumps(k)}: {_text(v, levels - 1, inner)}" for k, v in data.items())
    return "{\n" + ",\n".join(members) + f"\n{indent}}}"


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as mistake:
        raise UserError(f"cannot make the folder {folder}: {mistake.strerror}") from None
