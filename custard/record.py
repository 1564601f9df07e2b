"""The record of a program and its run: one JSON object, and the report that is printed of it."""

from __future__ import annotations

import json
import platform
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from custard import check
from custard.console import complain
from custard.inputs import read_inputs
from custard.sam_program import SamProgram
from sam.errors import UserError
from sam.tensor import Tensor
from sim import report
from sim.config import Config
from sim.simpy_engine import Progress

PACKAGE = "sparse-abstract-machine"


def versions() -> dict[str, str]:
    """Of this package, of Python and of numpy."""
    return {
        PACKAGE: version(PACKAGE),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def of_program(program: SamProgram, schedule: Sequence[str]) -> dict[str, Any]:
    """What is known of a program before it runs."""
    return {
        "expression": program.expression,
        "formats": {tensor: str(format) for tensor, format in program.formats.items()},
        "schedule": list(schedule),
        "loops": list(program.statements[-1].loops),
        "cin": "; ".join(map(str, program.statements)),
        "notes": list(program.notes),
        "dims": dict(program.dims),
        "primitives": _counts(program),
        "versions": versions(),
    }


def simulate(
    program: SamProgram,
    schedule: Sequence[str],
    inputs: Sequence[str],
    machine: Config,
    *,
    seed: int = 0,
    engine: str = "auto",
    compare: bool = False,
    progress: Progress | None = None,
    validate: bool | None = None,
) -> tuple[Tensor, dict[str, Any]]:
    """The result of a run, and its record.

    ``inputs`` are texts as of ``-i``. With ``compare`` the record tells whether the result
    ``matches_numpy`` and, if not, the first ``difference``. Raises UserError.
    """
    tensors = read_inputs(inputs, program, seed)
    expected = _expected(program, tensors) if compare else None
    started = time.perf_counter()
    run = program.simulate(tensors, machine, engine=engine, progress=progress, validate=validate)
    seconds = time.perf_counter() - started
    assert run.output is not None
    told = {
        **of_program(program, schedule),
        "inputs": list(inputs),
        "seed": seed,
        **report.as_json(run),
        "seconds": seconds,
    }
    told["notes"] += run.notes
    if expected is not None:
        told["difference"] = check.first_difference(run.output, expected)
        told["matches_numpy"] = told["difference"] is None
    return run.output, told


def show(console: Console, told: Mapping[str, Any]) -> None:
    """Prints the report of a record."""
    ran = "cycles" in told
    how = "compiled, not run: no inputs are given"
    if ran:
        how = f"config {told['config']['name']}, engine {told['engine']}"
    stored = (f"{tensor} {format}" for tensor, format in told["formats"].items() if format != ":")
    lines = [told["cin"], f"formats {', '.join(stored)}", how]
    console.print(Text(told["expression"], "bold"), soft_wrap=True)
    for line in (*lines, *(f"note: {note}" for note in told["notes"])):
        console.print(Text(f"  {line}"), soft_wrap=True)
    console.print(report.summary(told, told["seconds"]) if ran else _primitives(told))
    if told.get("matches_numpy"):
        console.print(Text("matches numpy", "green"))


def report_file(console: Console, path: Path) -> int:
    """Prints the report of a record in a file: a result of a sweep, or what ``--json`` wrote.

    Returns the exit status that the run would have had. Raises UserError.
    """
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except OSError as mistake:
        raise UserError(f"cannot read {path}: {mistake.strerror}") from None
    except ValueError:
        told = None
    if isinstance(told, dict) and told.get("status") == "failed":
        complain(told["error"])
        return 1
    told = told.get("record", told) if isinstance(told, dict) else None
    if told is None or "cin" not in told:
        raise UserError(
            f"{path} is no result", hint="give a file of a sweep's folder, or of custard --json"
        )
    show(console, told)
    if told.get("difference"):
        complain(told["difference"])
        return 1
    return 0


def _counts(program: SamProgram) -> dict[str, int]:
    """How many blocks of each primitive all graphs have."""
    counts: Counter[str] = Counter()
    for graph in program.graphs:
        counts.update(graph.counts())
    return dict(sorted(counts.items()))


def _primitives(told: Mapping[str, Any]) -> Table:
    table = Table("primitive", "count", box=None, pad_edge=False, header_style="bold")
    for primitive, count in told["primitives"].items():
        table.add_row(primitive.replace("_", " "), str(count))
    return table


def _expected(program: SamProgram, inputs: Mapping[str, Tensor]) -> check.Expected:
    return check.evaluate(program.expression, inputs, program.extents(inputs), program.formats)
