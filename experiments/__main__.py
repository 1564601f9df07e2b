"""All tables and figures, one after the other.

    python -m experiments [--quick] [--out FOLDER]

Each script tells which part of it needs files that are not shipped. If a claim does not hold or a
script stops, the others go on, and the exit status is 1.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

from experiments import (
    convolution,
    cycles,
    figure11,
    figure12,
    figure13,
    figure14,
    figure15,
    figure16,
    figures,
    formats_study,
    queues,
    table1,
    table2,
)
from sam.support.errors import UserError

SCRIPTS: Mapping[str, Callable[[Sequence[str]], int]] = {
    "table1": table1.main,
    "table2": table2.main,
    "figure11": figure11.main,
    "figure12": figure12.main,
    "figure13": figure13.main,
    "figure14": figure14.main,
    "figure15": figure15.main,
    "figure16": figure16.main,
    "queues": queues.main,
    "convolution": convolution.main,
    "cycles": cycles.main,
    "formats_study": formats_study.main,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs all scripts; the exit status tells whether all claims hold."""
    assert __doc__
    options = figures.arguments(__doc__, argv)
    passed_on = ["--out", str(options.out), *["--quick"] * options.quick]
    wrong = []
    for name, script in SCRIPTS.items():
        print(f"\n{name}", flush=True)
        try:
            status = script(passed_on)
        except UserError as mistake:
            print(f"error: {mistake}", file=sys.stderr)
            status = 2
        if status:
            wrong.append(name)
    if wrong:
        print(f"\n{len(wrong)} of {len(SCRIPTS)} failed: {', '.join(wrong)}")
    else:
        lacks = len(figures.missing)
        without = f", without {lacks} file{'s' * (lacks > 1)}" * bool(lacks)
        print(f"\nAll {len(SCRIPTS)} passed{without}; {options.out} has their tables and pictures")
    return 1 if wrong else 0


if __name__ == "__main__":
    figures.leave(main)
