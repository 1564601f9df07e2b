"""Many programs of a corpus, run in processes; a file keeps their outcomes."""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Generator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import closing
from dataclasses import asdict
from multiprocessing import active_children
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from experiments.taco_programs.attempts import OUTCOMES, Result, attempt
from experiments.taco_programs.entries import Entry


def run(
    entries: Sequence[Entry],
    target: str,
    path: Path,
    jobs: int = 1,
    again: bool = False,
    engine: str = "auto",
) -> dict[str, Result]:
    """The results of entries by text: those that ``path`` has, and new ones, which it gets.

    ``again`` reruns entries that were not right.
    """
    known = read_results(path)
    done = {
        entry.text: known[entry.text]
        for entry in entries
        if entry.text in known and not (again and known[entry.text].outcome != "right")
    }
    waiting = [entry for entry in entries if entry.text not in done]
    path.parent.mkdir(parents=True, exist_ok=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    results = _results(waiting, target, jobs, engine)
    with path.open("a") as file, bar, closing(results):
        task = bar.add_task("", total=len(entries), completed=len(done))
        for result in results:
            done[result.text] = result
            _append(file, result)
            counts = Counter(one.outcome for one in done.values())
            shown = ", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES)
            bar.update(task, advance=1, description=f"{path.stem}: {shown}")
    return done


def read_results(path: Path) -> dict[str, Result]:
    """The results in a file by text; the later of two counts, and a line cut off does not."""
    found: dict[str, Result] = {}
    if path.is_file():
        for line in path.read_text().splitlines():
            try:
                result = Result(**json.loads(line))
            except (json.JSONDecodeError, TypeError):
                continue
            found[result.text] = result
    return found


def _append(file: TextIO, result: Result) -> None:
    file.write(json.dumps(asdict(result)) + "\n")
    file.flush()


def _results(
    entries: Sequence[Entry], target: str, jobs: int, engine: str
) -> Generator[Result, None, None]:
    """The results as they come, on that many processes, which end when the generator is closed."""
    if jobs == 1:
        yield from (attempt(entry, target, engine) for entry in entries)
        return
    pool = ProcessPoolExecutor(jobs, initializer=_ignore_interrupts)
    futures = [pool.submit(attempt, entry, target, engine) for entry in entries]
    try:
        for future in as_completed(futures):
            yield future.result()
    finally:
        if not all(future.done() for future in futures):
            for worker in active_children():
                worker.terminate()
        pool.shutdown(cancel_futures=True)


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
