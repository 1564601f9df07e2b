"""The quality of the loop orders that target c chooses: each kernel in all possible orders.

    python benchmarks/orders.py [--only TEXT] [--runs N] [--limit SECONDS]

The kernels are the smaller ones of ``benchmarks/kernels.py``. Every order is compiled as with
``reorder``, and is given ``--limit`` (4) seconds for all, conversions of its inputs included.
Then the order that is chosen and the fastest one take turns, for at least a quarter of a second,
and the CPU times of both are printed: in runs of a fifth of a millisecond one after the other, any
order of ``SpMV BCSR 4`` is ahead by half now and then. Minutes.
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
# How long at least, in seconds, an order is run, and two of them in turn.
_ALONE, _IN_TURN = 0.02, 0.25


def seconds(
    case: Case, given: Mapping[str, Any], orders: Sequence[Sequence[str]], runs: int, least: float
) -> list[float]:
    """The CPU times of a kernel in some orders of its loops, in turn, or in its own where that is
    empty: medians of so many runs, or of more that take so many seconds."""
    schedules = [f"reorder({','.join(order)})" if order else () for order in orders]
    programs = [
        custard.compile(case.expression, case.formats, schedule, target="c")
        for schedule in schedules
    ]
    for program in programs:
        program.bind(given).seconds()
    found: list[list[float]] = [[] for _ in programs]
    while len(found[-1]) < runs or sum(map(sum, found)) < least:
        for program, times in zip(programs, found, strict=True):
            begin = time.thread_time()
            program.bind(given).seconds()
            times.append(time.thread_time() - begin)
    return list(map(statistics.median, found))


def within(limit: int, orders: Sequence[Sequence[str]], *arguments: Any) -> list[float]:
    """``seconds`` in a process that ends after ``limit``; infinity if it is not done by then."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def run() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        case, given, runs, least = arguments
        sender.send(seconds(case, given, orders, runs, least))

    process = context.Process(target=run)
    process.start()
    sender.close()
    try:
        return list(receiver.recv())
    except EOFError:
        return [float("inf")] * len(orders)
    finally:
        process.join()


def row(case: Case, runs: int, limit: int) -> tuple[str, ...]:
    """The chosen order and the fastest one, with their times."""
    given = case.inputs()
    program = custard.compile(case.expression, case.formats, target="c")
    own, notes = program.cin.loops, program.notes
    times = {
        order: within(limit, [order], case, given, runs, _ALONE)[0]
        for order in permutations(own)
        if len(own) > 1
    }
    best = min(times, key=times.__getitem__, default=own)
    chosen, fastest = within(limit * runs, [(), best], case, given, runs, _IN_TURN)
    print(case.kernel, case.data, own, chosen, best, fastest, times, file=sys.stderr)
    ratio = chosen / min(fastest, chosen)
    factored = any("computed first" in note for note in notes)
    name = "".join(own) + (" in two" if factored else "")
    color = "red" if ratio > _FASTER else "green"
    milliseconds = [f"{1e3 * one:.2f}" for one in (chosen, fastest)]
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
