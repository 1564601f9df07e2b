"""Helpers of the scripts for the paper's figures and tables: options, published counts, pictures.

The published counts and inputs are those of the SAM simulator for its own figures, from
``data/sam_simulator_figures.json``, on the ideal machine. Ours agree where they differ by at most
2 % plus 10 cycles.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np
from rich.console import Console
from rich.table import Table

from custard import Program, UserError
from custard.cli.sweeps.pictures import save, styled
from sam.support.files import write_whole
from sam.tensor import Tensor
from sim.stats import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DATA = Path(__file__).parent / "data"
OUT = Path(__file__).parents[1] / "out"


@dataclass(frozen=True)
class Count:
    """The cycles of one program on one input, ours and the published simulator's.

    ``published``  None where it has no record of that name
    ``right``      whether our result is numpy's
    ``fewer``      why ours may be below the published
    """

    name: str
    ours: int
    published: int | None
    right: bool
    fewer: str = ""

    @property
    def verdict(self) -> str:
        """Agrees up to 2 % plus 10 cycles; else fewer, if there is a reason, or differs."""
        if not self.right:
            return "WRONG VALUES"
        if self.published is None:
            return ""
        if abs(self.ours - self.published) <= 0.02 * self.published + 10:
            return "agrees"
        return "fewer" if self.ours < self.published and self.fewer else "differs"


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, our finding, and whether the claim holds."""

    paper: str
    ours: str
    holds: Literal["yes", "in part", "no"]


def spread(values: Iterable[float], form: str = ".2f") -> str:
    """The least and the most of some values; one number where they print alike."""
    found = list(values)
    least, most = format(min(found), form), format(max(found), form)
    return least if least == most else f"{least} to {most}"


def holds(condition: bool) -> Literal["yes", "no"]:
    """The verdict of a claim, by a condition."""
    return "yes" if condition else "no"


def arguments(
    description: str, argv: Sequence[str] | None, *more: tuple[str, Path | str, str]
) -> argparse.Namespace:
    """The options of a script: ``--quick``, ``--out``, and ``more`` with their defaults.

    Raises UserError where the folder of ``--out`` cannot be made.
    """
    parser = argparse.ArgumentParser(description=description.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a small part, in seconds")
    parser.add_argument("--out", type=Path, default=OUT, help="the folder for CSV, PNG and PDF")
    for option, default, about in more:
        parser.add_argument(option, type=type(default), default=default, help=about)
    options = parser.parse_args(argv)
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot make the folder {options.out}: {error.strerror}") from None
    return options


# The files that were asked for in this process and are not there.
missing: list[Path] = []


def is_there(path: Path, default: Path, what: str) -> bool:
    """Whether a file that is not shipped is there; if not, prints which part is left out. Raises
    UserError if the user named the file, so that ``path`` is not ``default``.
    """
    if path.exists():
        return True
    if path != default:
        raise UserError(f"there is no file {path}", hint=f"without it, {what} left out")
    print(f"{what[0].upper()}{what[1:]} left out: there is no file {path}")
    missing.append(path)
    return False


def leave(main: Callable[[], int]) -> NoReturn:
    """Runs a script and exits with its status, or with 2 for a mistake of the user."""
    try:
        sys.exit(main())
    except UserError as mistake:
        print(f"error: {mistake}", file=sys.stderr)
        sys.exit(2)


def simulate(
    program: Program, inputs: Mapping[str, Tensor], overrides: Mapping[str, int] | None = None
) -> tuple[Tensor, Run]:
    """The program on the ideal machine, or on one that differs from it: its result, and the run."""
    run: Run = program.simulate(inputs, config="ideal", overrides=overrides)
    assert run.output is not None
    return run.output, run


def published(record: str) -> int | None:
    """The cycles that the published simulator takes, or None where it has no such record."""
    return _published()["cycles"].get(record)


def recorded(ending: str) -> list[str]:
    """The names of the published counts with an ending."""
    return [name for name in _published()["cycles"] if name.endswith(ending)]


def pattern(name: str) -> Tensor:
    """An input of the published simulator; its values are 1, 2, 3 and so on."""
    found = _published()["patterns"][name]
    ranges = (text.split("-") for text in found["positions"].split())
    positions = np.concatenate([np.arange(int(ends[0]), int(ends[-1]) + 1) for ends in ranges])
    shape = tuple(found["shape"])
    coordinates = np.array(np.unravel_index(positions, shape))
    return Tensor.from_coo(coordinates, np.arange(1.0, len(positions) + 1), shape)


def patterns(record: str) -> dict[str, Tensor]:
    """The inputs of a published count that are not all ones, by the names of the tensors."""
    stems = {name.rpartition(".")[0]: None for name in _published()["patterns"]}
    words = set(record.split("_"))
    stem = max((one for one in stems if set(one.split("_")) <= words), key=len)
    names = (name for name in _published()["patterns"] if name.rpartition(".")[0] == stem)
    return {name.rpartition(".")[2]: pattern(name) for name in names}


def compare(title: str, counts: Sequence[Count]) -> int:
    """Prints published and our cycles; returns 1 where a result is wrong or a count differs."""
    console = _console()
    console.print(f"[bold]{title}[/]", _counted(counts), sep="\n")
    for reason in dict.fromkeys(count.fewer for count in counts if count.verdict == "fewer"):
        console.print(f"fewer: {reason}")
    return 0 if all(count.verdict in ("", "agrees", "fewer") for count in counts) else 1


def tell(claims: Sequence[Claim]) -> int:
    """Prints the paper's claims beside our findings; returns 1 where a claim does not hold."""
    table = Table("the paper", "here", "holds", show_lines=True)
    for claim in claims:
        table.add_row(claim.paper, claim.ours, claim.holds)
    _console().print(table)
    return 0 if all(claim.holds != "no" for claim in claims) else 1


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Writes a table whole; None is an empty cell."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(header)
    lines.writerows(rows)
    write_whole(path, text.getvalue())


@contextmanager
def picture(folder: Path, name: str, width: float, height: float) -> Iterator[Figure]:
    """A figure of that size in inches, written as PNG and PDF when it has been drawn."""
    with styled() as make:
        figure = make(figsize=(width, height), layout="constrained")
        yield figure
        for axes in figure.axes:
            axes.spines[["top", "right"]].set_visible(False)
            axes.set_axisbelow(True)
        for suffix in (".png", ".pdf"):
            save(figure, folder / f"{name}{suffix}")


def _console() -> Console:
    return Console(width=120, highlight=False)


def _counted(counts: Sequence[Count]) -> Table:
    table = Table()
    table.add_column("")
    for name in ("published", "ours", "ratio"):
        table.add_column(name, justify="right")
    table.add_column("")
    for count in counts:
        known = count.published is not None
        table.add_row(
            count.name,
            f"{count.published:,}" if known else "-",
            f"{count.ours:,}",
            f"{count.ours / count.published:.3f}" if count.published else "-",
            count.verdict,
        )
    return table


@cache
def _published() -> Any:
    return json.loads((DATA / "sam_simulator_figures.json").read_text())
