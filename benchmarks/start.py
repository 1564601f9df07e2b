"""The CPU seconds before and after a run: starts, files read and written.

    python benchmarks/start.py [--quick] [--output FILE]

Starts are those of the command, and of ``sim.simulate`` on the compiled engine, each beside its
goal: in a fresh process with a full cache, with an empty cache, so that kernels are compiled (the
CPU time includes the C compiler's), and in later calls in one process, by the default engine. The
program is west0067 squared with the loops ikj, alone and in lanes.

Files have 1,000,000 random entries (``--quick``: 100,000). Beside ours is scipy's ``mmread`` with a
conversion to CSR and ``mmwrite`` for .mtx, and for .tns numpy's ``loadtxt`` to read and ``savetxt``
to write. Ours and the other take turns; times are medians of 5 runs (``--quick``: 3). Our times
include sorting and compressing the tensor read; ``loadtxt`` leaves its entries as they come. Writes
``out/benchmarks/start.csv``.
"""

from __future__ import annotations

import argparse
import csv
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
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
    """A task, our CPU time and that of the peer, in seconds; a peer may be missing.

    Where the peer is a goal, ``theirs`` is our limit. ``wall`` is our wall time.
    """

    what: str
    ours: float
    peer: str = ""
    theirs: float | None = None
    wall: float | None = None


def alternate(ours: Callable[[], Any], theirs: Callable[[], Any], runs: int) -> tuple[float, float]:
    """The median CPU times of two functions that take turns."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(runs):
        for timed, function in zip(times, (ours, theirs), strict=True):
            started = time.process_time()
            function()
            timed.append(time.process_time() - started)
    return statistics.median(times[0]), statistics.median(times[1])


GOAL = "goal"
MATRIX = Path(__file__).parents[1] / "experiments" / "data" / "west0067.mtx"
TINY = ("y(i) = A(i,j) * x(j)", "-i", "A=A.tns", "-i", "x=x.tns")
# Simulates several times in one process; prints the CPU and wall seconds of the first call, and the
# medians of those that follow.
_CALLS = """
import statistics, sys, time
import custard, sim
from sam.io import read

matrix, lanes, calls = read(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
schedule = ["reorder(i,k,j)"] + [f"parallelize(i,Lanes,{lanes})"] * (lanes > 1)
graph = custard.compile("X(i,j) = B(i,k) * C(k,j)", schedule=schedule).graph
times = []
for _ in range(calls):
    cpu, wall = time.process_time(), time.perf_counter()
    engine = "auto" if times else "compiled"
    sim.simulate(graph, {"B": matrix, "C": matrix}, engine=engine)
    times.append((time.process_time() - cpu, time.perf_counter() - wall))
print(*times[0], *map(statistics.median, zip(*times[1:])))
"""


def commands(runs: int, folder: Path) -> list[Timing]:
    """The command in fresh processes, each of which finds its kernels in the cache."""
    (folder / "A.tns").write_text("1 1 2.0\n2 2 3.0\n")
    (folder / "x.tns").write_text("1 4.0\n2 5.0\n")
    timings = []
    for what, arguments, goal in (
        ("custard --help", ("--help",), 0.25),
        ("custard, 2 x 2", TINY, 0.6),
        ("custard, 2 x 2, engine compiled", (*TINY, "--engine", "compiled"), 0.6),
        ("custard --target c, printed", (TINY[0], "--target", "c"), 0.3),
    ):
        command = [sys.executable, "-m", "custard", *arguments]
        process(command, folder)
        cpu, wall = medians([process(command, folder)[0] for _ in range(runs)])
        timings.append(Timing(what, cpu, GOAL, goal, wall))
    return timings


def simulations(runs: int, lanes: Sequence[int], folder: Path) -> list[Timing]:
    """Calls of ``sim.simulate`` by number of lanes, with the cache empty and full."""
    timings = []
    for n in lanes:
        what = f"simulate west0067 ikj, {n} lane{'s' * (n > 1)}"
        command = [sys.executable, "-c", _CALLS, str(MATRIX), str(n), "12"]
        cache = {"SAM_CACHE": str(folder / f"cache{n}")}
        (cpu, wall), _ = process(command, folder, cache)
        timings.append(Timing(f"{what}: process that compiles", cpu, wall=wall))
        told = [list(map(float, process(command, folder, cache)[1].split())) for _ in range(runs)]
        first_cpu, first_wall, cpu, wall = medians(told)
        timings.append(Timing(f"{what}: first call", first_cpu, wall=first_wall))
        goal = {1: 0.01, 64: 0.1}.get(n)
        timings.append(Timing(f"{what}: warm call", cpu, GOAL if goal else "", goal, wall))
    return timings


def process(
    command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None
) -> tuple[tuple[float, float], str]:
    """The CPU and wall seconds of a process with all of its children, and its output."""
    environment = {**os.environ, "PYTHONPATH": str(MATRIX.parents[2]), **(environment or {})}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # modules are compiled once
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        command, cwd=folder, env=environment, check=True, capture_output=True, text=True
    )
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return (cpu, wall), done.stdout


def medians(rows: Sequence[Sequence[float]]) -> list[float]:
    """The median of each column."""
    return [statistics.median(column) for column in zip(*rows, strict=True)]


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
        """scipy.io.mmread, tocsr"""
        return scipy.io.mmread(path).tocsr()

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
    shown = Table("what", "CPU s", "wall s", "peer", "CPU s", "ratio", box=None)
    for timing in timings:
        wall = "" if timing.wall is None else f"{timing.wall:.4f}"
        theirs = "" if timing.theirs is None else f"{timing.theirs:.3f}"
        ratio = "" if timing.theirs is None else f"{timing.ours / timing.theirs:.2f}"
        shown.add_row(timing.what, f"{timing.ours:.4f}", wall, timing.peer, theirs, ratio)
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
        timings = [
            *commands(runs, Path(folder)),
            *simulations(runs, (1, 64) if arguments.quick else (1, 16, 64), Path(folder)),
            *files(entries, runs, Path(folder)),
        ]
    Console().print(table(timings))
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    with arguments.output.open("w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Timing)])
        writer.writeheader()
        writer.writerows(asdict(timing) for timing in timings)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
