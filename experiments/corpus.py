"""Runs the programs of real users on a target, each against dense numpy.

    python experiments/corpus.py [FILE ...] [--target sam] [--engine auto] [--only plain|scheduled]
                                 [--ignore-units] [--limit N] [--jobs N] [--again]
                                 [--output FOLDER]

A file holds command lines of TACO, as ``shared/corpus/accepted.txt`` and ``refused.txt`` do, or is
``taco_tests.json``; all three by default. A program runs on two random inputs (extents 1 to 6), on
all-empty and on all-full ones, or on the inputs that the file records. It comes out

    right    every result is numpy's, or the recorded one
    wrong    some result is not
    refused  a UserError
    crashed  any other exception, a deadlock, or no result in time

``--engine both`` runs each input on both engines, and counts any difference as wrong: values,
cycles, statistics, the text of an error. ``--ignore-units`` passes over each ``parallelize`` with a
unit that the target lacks. ``out/corpus-FILE-TARGET.jsonl`` (with the engine behind the target,
where it is not auto) gets a line with the result of each program. A program with a line is not run
again, so a stopped run continues; ``--again`` reruns programs that were not right. Prints the
counts, and the reasons of all that is not right, most frequent first. Exits with 1 where something
is wrong or crashed.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))
# Waiting threads leave the processor to others.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

from custard.targets import TARGETS
from experiments.taco_programs.attempts import OUTCOMES, Result
from experiments.taco_programs.entries import CORPUS, LOOP_COMMANDS, Entry, read
from experiments.taco_programs.runs import read_results, run

FILES = ("accepted.txt", "refused.txt", "taco_tests.json")


def main(arguments: list[str] | None = None) -> int:
    """Runs the files; the exit status tells whether nothing is wrong or crashed."""
    options = _parse(arguments)
    console = Console(emoji=False, highlight=False)
    status = 0
    for path in options.files:
        entries, beyond = read(path)
        if options.only == "plain":
            entries = [entry for entry in entries if entry.commands in ("none", "reorder")]
        elif options.only == "scheduled":
            entries = [entry for entry in entries if entry.commands in ("loops", "other")]
        ignored = options.ignore_units
        entries = [replace(one, ignore_units=ignored) for one in entries[: options.limit]]
        engine = "" if options.engine == "auto" else f"-{options.engine}"
        units = "-units-ignored" if ignored else ""
        output = options.output / f"corpus-{path.stem}-{options.target}{engine}{units}.jsonl"
        try:
            run(entries, options.target, output, options.jobs, options.again, options.engine)
        except KeyboardInterrupt:
            Console(stderr=True).print(f"interrupted; {output} has what was run")
            return 130
        results = read_results(output)
        pairs = [(entry, results[entry.text]) for entry in entries]
        console.print(
            counts(pairs, f"{path.name} on target {options.target}, engine {options.engine}")
        )
        for number, outcome, reason, example in ranked(pairs):
            console.print(f"{number:5}  [bold]{outcome}[/]  {escape(reason)}", soft_wrap=True)
            console.print(f"       [dim]{escape(example)}[/]", soft_wrap=True)
        for kind, expressions in sorted(beyond.items(), key=lambda item: -len(item[1])):
            console.print(f"{len(expressions):5}  [bold]beyond the grammar[/]  {kind}")
            console.print(f"       [dim]{escape(min(expressions, key=len))}[/]", soft_wrap=True)
        if any(result.outcome in ("wrong", "crashed") for _, result in pairs):
            status = 1
    return status


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    option = parser.add_argument
    option("files", nargs="*", type=Path, default=[CORPUS / name for name in FILES])
    option("--target", default="sam", choices=TARGETS)
    option("--engine", default="auto", choices=("auto", "simpy", "compiled", "both"))
    option("--ignore-units", action="store_true", help="pass over units that the target lacks")
    option("--only", choices=("plain", "scheduled"),
           help="programs without a schedule or with reorder only; or the others")  # fmt: skip
    option("--limit", type=int, metavar="N", help="the first N programs of each file")
    option("--jobs", type=int, default=os.cpu_count(), metavar="N", help="processes")
    option("--again", action="store_true", help="run those again that were not right")
    option("--output", type=Path, default=Path("out"), help="the folder of the results")
    options = parser.parse_args(arguments)
    for path in options.files:
        if not path.is_file():
            parser.error(f"{path} is not there: the corpus is not shipped, so name other files")
    return options


_COMMANDS = {
    "none": "none",
    "reorder": "reorder only",
    "loops": f"{', '.join(LOOP_COMMANDS[:-2])}",
    "other": "others",
}


def counts(pairs: Sequence[tuple[Entry, Result]], title: str) -> Table:
    """The number of programs by outcome and by the sort of their scheduling commands."""
    table = Table(title=title)
    table.add_column("scheduling commands")
    for name in ("programs", *OUTCOMES, "right"):
        table.add_column(name, justify="right")
    rows = {shown: [r for e, r in pairs if e.commands == name] for name, shown in _COMMANDS.items()}
    evaluable = [r for e, r in pairs if e.commands == "none" and r.evaluable]
    rows["none, where numpy can evaluate the program"] = evaluable
    for name, results in rows.items():
        if results:
            found = Counter(result.outcome for result in results)
            share = f"{100 * found['right'] / len(results):.1f} %"
            numbers = (str(found[outcome]) for outcome in OUTCOMES)
            table.add_row(name, str(len(results)), *numbers, share)
    return table


def ranked(pairs: Iterable[tuple[Entry, Result]]) -> list[tuple[int, str, str, str]]:
    """The number of programs for each outcome and reason, most first, and an example."""
    examples: dict[tuple[str, str], list[str]] = {}
    for entry, result in pairs:
        if result.outcome != "right":
            reason = pattern(result.reason, entry)
            examples.setdefault((result.outcome, reason), []).append(entry.text)
    found = (
        (len(texts), outcome, reason, min(texts, key=len))
        for (outcome, reason), texts in examples.items()
    )
    return sorted(found, key=lambda row: -row[0])


def pattern(reason: str, entry: Entry) -> str:
    """A reason with its numbers as N and the names of the entry as _, each list as one of them."""
    arguments = (re.search(r"\(.*\)", text) for text in entry.schedule)
    said = [entry.expression, *(found[0] for found in arguments if found)]
    names = set(re.findall(r"[A-Za-z_]\w*", " ".join(said)))
    article, apostrophe = r"a(?= \w)", r"(?<!')"
    text = re.sub(
        rf"\b(?!{article}){apostrophe}[A-Za-z_]\w*",
        lambda found: "_" if found[0] in names or len(found[0]) == 1 else found[0],
        reason,
    )
    text = re.sub(r"-?\b\d+(\.\d+)?(e[+-]?\d+)?", "N", text)
    return re.sub(r"([^\s,]+)(,\s*\1)+", r"\1", text)


if __name__ == "__main__":
    sys.exit(main())
