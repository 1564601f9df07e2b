"""The quality of the loop orders that target c chooses: each kernel in all possible orders.

    python benchmarks/orders.py [--only TEXT] [--runs N] [--limit SECONDS]

The kernels are the smaller ones of ``benchmarks/kernels.py``. Every order is compiled as with
``reorder``, and is given ``--limit`` (4) seconds for all, conversions of its inputs included.
Prints the CPU time with the order that is chosen beside that with the fastest one. Minutes.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

import custard
from benchmarks.kernel_cases import Case, cases

# The mark of a kernel that has an order this much faster than its own.
_FASTER = 1.3


def seconds(case: Case, given: Mapping[str, Any], order: Sequence[str], runs: int) -> float:
    """The CPU time of a kernel in an order of its loops, or in its own where that is empty."""
    schedule = f"reorder({','.join(order)})" if order else ()
    program = custard.compile(case.expression, case.formats, schedule, target="c")
    program.bind(given).seconds()
    found = []
    for _ in range(runs):
        begin = time.thread_time()
        program.bind(given).seconds()
        found.append(time.thread_time() - begin)
    return statistics.median(found)


def within(limit: int, *arguments: Any) -> float:
    """``seconds`` in a process that ends after ``limit``; infinity if it is not done by then."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def run() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        sender.send(seconds(*arguments))

    process = context.Process(target=run)
    process.start()
    sender.close()
    try:
        return float(receiver.recv())
    except EOFError:
        return float("inf")
    finally:
        process.join()


def row(case: Case, runs: int, limit: int) -> tuple[str, ...]:
    """The chosen order and the fastest one, with their times."""
    given = case.inputs()
    program = custard.compile(case.expression, case.formats, target="c")
    own, notes = program.cin.loops, program.notes
    chosen = within(limit * runs, case, given, (), runs)
    times = {
        order: within(limit, case, given, order, runs)
        for order in permutations(own)
        if len(own) > 1
    }
    best = min(times, key=times.__getitem__, default=own)
    print(case.kernel, case.data, own, chosen, best, times, file=sys.stderr)
    ratio = chosen / min(times.get(best, chosen), chosen)
    factored = any("computed first" in note for note in notes)
    name = "".join(own) + (" in two" if factored else "")
    color = "red" if ratio > _FASTER else "green"
    milliseconds = [f"{1e3 * one:.2f}" for one in (chosen, times.get(best, chosen))]
    return (case.kernel, case.data, name, milliseconds[0], "".join(best), milliseconds[1],
            f"[{color}]{ratio:.2f}[/]")  # fmt: skip


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", metavar="TEXT", help="kernels with this in the name")
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="runs of each")
    parser.add_argument("--limit", type=int, default=4, metavar="SECONDS", help="of all runs")
    options = parser.parse_args()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("kernel", "inputs", "chosen", "ms", "fastest", "ms", "ratio"):
        table.add_column(column, no_wrap=True)
    chosen = [
        case
        for case in cases()
        if not case.large and options.only.lower() in f"{case.kernel} {case.data}".lower()
    ]
    for case in track(chosen, "kernels", console=Console(stderr=True), transient=True):
        table.add_row(*row(case, options.runs, options.limit))
    Console(width=None if sys.stdout.isatty() else 120).print(table)


if __name__ == "__main__":
    main()
