"""How long everything before and after a run takes, in CPU seconds: files read and written.

    python benchmarks/start.py [--quick] [--output FILE]

Files have 1,000,000 random entries (``--quick``: 100,000). Beside ours is scipy's ``mmread`` and
``mmwrite`` for .mtx, and for .tns numpy's ``loadtxt`` to read and ``savetxt`` to write. Ours and
the other take turns; times are medians of 5 runs (``--quick``: 3). Ours include that a tensor read
is sorted and compressed; the peers leave its entries as they come. Writes
``out/benchmarks/start.csv``.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse
from rich.console import Console
from rich.table import Table

from sam import io
from sam.tensor import Tensor


@dataclass(frozen=True)
class Timing:
    """What was done, our CPU time and that of the peer, in seconds; a peer may be missing."""

    what: str
    ours: float
    peer: str = ""
    theirs: float | None = None


def alternate(ours: Callable[[], Any], theirs: Callable[[], Any], runs: int) -> tuple[float, float]:
    """The median CPU times of two functions that take turns."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(runs):
        for timed, function in zip(times, (ours, theirs), strict=True):
            started = time.process_time()
            function()
            timed.append(time.process_time() - started)
    return statistics.median(times[0]), statistics.median(times[1])


def files(entries: int, runs: int, folder: Path) -> list[Timing]:
    """Reading and writing, each format beside its peer."""
    random = np.random.default_rng(0)
    timings = []
    for suffix, modes in ((".mtx", 2), (".tns", 3)):
        path, other = folder / f"ours{suffix}", folder / f"theirs{suffix}"
        coordinates = random.integers(0, entries, (modes, entries))
        tensor = Tensor.from_coo(coordinates, random.random(entries), (entries,) * modes)
        read, write = (_scipy if suffix == ".mtx" else _numpy)(tensor, path, other)
        times = alternate(lambda: io.write(path, tensor), write, runs)  # noqa: B023
        timings.append(Timing(f"write {suffix}", times[0], write.__doc__ or "", times[1]))
        for kind in ("sorted", "shuffled"):
            if kind == "shuffled":
                _shuffle(path)
            times = alternate(lambda: io.read(path), read, runs)  # noqa: B023
            timings.append(Timing(f"read {suffix}, {kind}", times[0], read.__doc__ or "", times[1]))
    return timings


_Pair = tuple[Callable[[], Any], Callable[[], Any]]


def _scipy(tensor: Tensor, path: Path, other: Path) -> _Pair:
    matrix = tensor.to_scipy("coo")

    def read() -> Any:
        """scipy.io.mmread"""
        return scipy.io.mmread(path)

    def write() -> None:
        """scipy.io.mmwrite"""
        scipy.io.mmwrite(other, matrix, symmetry="general")

    return read, write


def _numpy(tensor: Tensor, path: Path, other: Path) -> _Pair:
    coordinates, values = tensor.to_coo()
    row = np.dtype([("coordinates", np.int64, (len(coordinates),)), ("value", np.float64)])

    def read() -> Any:
        """numpy.loadtxt"""
        return np.loadtxt(path, row, comments=None)

    def write() -> None:
        """numpy.savetxt"""
        np.savetxt(other, np.vstack([coordinates + 1, values]).T, "%d %d %d %.17g")

    return read, write


def _shuffle(path: Path) -> None:
    """Puts the entries of a file in another order."""
    lines = path.read_bytes().splitlines(keepends=True)
    head = 2 if lines[0].startswith(b"%%") else 0
    body = np.array(lines[head:], object)
    np.random.default_rng(1).shuffle(body)
    path.write_bytes(b"".join([*lines[:head], *body]))


def table(timings: Sequence[Timing]) -> Table:
    """The timings as a table for the terminal."""
    shown = Table("what", "CPU s", "peer", "CPU s", "ratio", box=None)
    for timing in timings:
        theirs = "" if timing.theirs is None else f"{timing.theirs:.3f}"
        ratio = "" if timing.theirs is None else f"{timing.ours / timing.theirs:.2f}"
        shown.add_row(timing.what, f"{timing.ours:.3f}", timing.peer, theirs, ratio)
    return shown


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="smaller files, fewer runs")
    parser.add_argument(
        "--output", type=Path, default=Path("out/benchmarks/start.csv"), metavar="FILE"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        entries, runs = (100_000, 3) if arguments.quick else (1_000_000, 5)
        timings = files(entries, runs, Path(folder))
    Console().print(table(timings))
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    with arguments.output.open("w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Timing)])
        writer.writeheader()
        writer.writerows(asdict(timing) for timing in timings)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
