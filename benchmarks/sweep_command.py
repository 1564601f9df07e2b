"""A sweep of 200 points by the command: seconds from its start to its last file, and memory.

    python benchmarks/sweep_command.py [--against TREE] [--runs N] [--jobs N] [--memory]

The points are 4 graphs under 50 configs each: matrix multiplication in the orders ikj and ijk and
SDDMM (500 x 500, 4 nonzeros per row), and MTTKRP (64 x 64 x 64, 8 per slice), with queues of 2
places to unbounded and latencies of 1 to 5 cycles. Each sweep starts in a folder of its own with an
empty cache of kernels, and then once more with the kernels there. ``--against`` runs the same with
the package of another checkout, in turn, and exits with 1 where the cycles of a point differ. Wall
time, the median of N runs (3 by default): the machine must do nothing else.

``--memory`` measures instead how much memory a process takes at most for one run and for a batch of
16 configs, on matrices with 80,000 nonzeros each. The goal is twice that of one run and 200 MB;
exits with 1 where a batch takes more.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.io
import yaml

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.engine import matrix

ROOT = Path(__file__).parents[1]
DEPTHS = (2, 4, 6, 8, 12, 16, 32, 64, 256, "unbounded")
LATENCIES = (1, 2, 3, 4, 5)
GOAL = 8.0
"""How many times as fast as the head before batches."""


def description(folder: Path) -> Path:
    """The sweep's file, with its inputs beside it."""
    for name in "BC":
        scipy.io.mmwrite(folder / f"{name}.mtx", matrix(500, 4, ord(name)))
    for name, shape in {"C": (500, 16), "D": (16, 500)}.items():
        np.save(folder / f"{name}.npy", np.ones(shape))
    random = np.random.default_rng(0)
    rows = np.column_stack([np.repeat(np.arange(64), 8), random.integers(0, 64, (64 * 8, 2))])
    lines = [" ".join(map(str, row + 1)) + " 1" for row in np.unique(rows, axis=0)]
    (folder / "T.tns").write_text("\n".join(lines) + "\n")
    for seed, name in enumerate("FG", 1):
        scipy.io.mmwrite(folder / f"{name}.mtx", matrix(64, 16, seed))
    product = {"expression": "X(i,j) = B(i,k) * C(k,j)", "inputs": {n: f"{n}.mtx" for n in "BC"}}
    dense = {"B": "B.mtx", "C": "C.npy", "D": "D.npy"}
    programs = [
        {**product, "schedule": "reorder(i,k,j)"},
        {**product, "schedule": "reorder(i,j,k)", "formats": {"C": "ss:1,0"}},
        {
            "expression": "X(i,j) = B(i,j) * C(i,k) * D(k,j)",
            "schedule": "reorder(i,j,k)",
            "formats": {"C": "dd", "D": "dd:1,0"},
            "inputs": dense,
        },
        {
            "expression": "X(i,j) = T(i,k,l) * F(j,k) * G(j,l)",
            "schedule": "reorder(i,j,k,l)",
            "inputs": {"T": "T.tns", "F": "F.mtx", "G": "G.mtx"},
        },
    ]
    machines = {"queues.depth": [*DEPTHS], "queues.latency_cycles": [*LATENCIES]}
    path = folder / "points.yaml"
    path.write_text(yaml.safe_dump({"points": programs, "grid": {"set": machines}}))
    return path


class Sweeps:
    """Runs the sweep with the package of a checkout, each time in a folder of its own."""

    def __init__(self, tree: Path, folder: Path, jobs: int) -> None:
        self.tree, self.folder, self.jobs = tree, folder, jobs
        self.cold: list[float] = []
        self.warm: list[float] = []
        self.cycles: list[str] = []

    def run(self) -> None:
        """One sweep with an empty cache, and one with the kernels there."""
        cache = self.folder / "cache"
        shutil.rmtree(cache, ignore_errors=True)
        for seconds in (self.cold, self.warm):
            place = self.folder / "sweep"
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            path = description(place)
            began = time.perf_counter()
            self._custard(place, cache, "sweep", path.name, "--jobs", str(self.jobs))
            seconds.append(time.perf_counter() - began)
            table = self._custard(place, cache, "sweep", path.name, "--table")
            self.cycles = [row["cycles"] for row in csv.DictReader(io.StringIO(table))]

    def _custard(self, place: Path, cache: Path, *arguments: str) -> str:
        """What the command prints."""
        environment = {**os.environ, "PYTHONPATH": str(self.tree), "SAM_CACHE": str(cache)}
        command = [sys.executable, "-m", "custard", *arguments]
        done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{self.tree}: {' '.join(arguments)} failed\n{done.stderr}")
        return done.stdout


def compare(trees: list[Path], runs: int, jobs: int) -> int:
    """Prints the seconds of each tree, and how many times as fast the first is."""
    with tempfile.TemporaryDirectory() as folder:
        sweeps = [Sweeps(tree, Path(folder) / str(n), jobs) for n, tree in enumerate(trees)]
        for _ in range(runs):
            for one in sweeps:
                one.run()
    for one in sweeps:
        cold, warm = map(statistics.median, (one.cold, one.warm))
        times = f"{cold:.1f} s with an empty cache, {warm:.1f} s with kernels"
        print(f"{one.tree}: {len(one.cycles)} points, {times}")
    for other in sweeps[1:]:
        ratios = [
            statistics.median(theirs) / statistics.median(ours)
            for ours, theirs in ((sweeps[0].cold, other.cold), (sweeps[0].warm, other.warm))
        ]
        shown = " and ".join(f"{ratio:.1f}" for ratio in ratios)
        print(f"{other.tree} takes {shown} times as long; the goal is {GOAL:g}")
        if other.cycles != sweeps[0].cycles:
            print("the cycles differ", file=sys.stderr)
            return 1
    return 0


_MEMORY = """
import resource
import custard, sim
from sim.config.hardware import load
from benchmarks.engine import matrix
B, C = (matrix(2000, 40, seed) for seed in (1, 2))
formats = {{}} if "{order}" == "i,k,j" else {{"C": "ss:1,0"}}
program = custard.compile("X(i,j)=B(i,k)*C(k,j)", formats, schedule="reorder({order})")
depths = {depths}
machines = [{{"queues.depth": d, "queues.latency_cycles": 1 + n % 7}} for n, d in enumerate(depths)]
configs = [load(None, one) for one in machines]
runs = sim.simulate_many(program.graph, {{"B": B, "C": C}}, configs)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)
"""


def memory() -> int:
    """Prints the most memory of one run and of a batch of 16, and the limit for that."""
    bounded: list[int | str] = [2 + 2 ** (1 + n % 10) for n in range(16)]
    worst = 0.0
    for order in ("i,k,j", "i,j,k"):
        for depths in (bounded, [*bounded[:-1], "unbounded"]):
            one, batch = _peak(order, depths[:1]), _peak(order, depths)
            limit = 2 * one + 200
            worst = max(worst, batch / limit)
            sizes = f"one run {one:.0f} MB, 16 {batch:.0f} MB, goal {limit:.0f}"
            print(f"{order}, last depth {depths[-1]}: {sizes}")
    return int(worst > 1)


def _peak(order: str, depths: list[int | str]) -> float:
    """The most memory of a process, in MB."""
    script = _MEMORY.format(order=order, depths=depths)
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def main(arguments: list[str] | None = None) -> int:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--against", type=Path, metavar="TREE", help="another checkout")
    parser.add_argument("--runs", type=int, default=3, help="runs of each kind")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes of a sweep")
    parser.add_argument("--memory", action="store_true", help="the memory of a batch instead")
    options = parser.parse_args(arguments)
    if options.memory:
        return memory()
    trees = [ROOT, *([options.against.resolve()] if options.against else [])]
    return compare(trees, options.runs, options.jobs)


if __name__ == "__main__":
    sys.exit(main())
