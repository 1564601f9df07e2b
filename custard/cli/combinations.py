"""Options that only mean something beside others, or where the program runs."""

from __future__ import annotations

import argparse

from sam.support.errors import UserError

# Options without effect where no program runs, by the name of the argument.
_OF_A_RUN = {
    "validate": "--validate",
    "max_cycles": "--max-cycles",
    "threads": "--threads",
    "all_lanes": "--all-lanes",
    "report": "--report",
    "trace": "--trace",
    "vcd": "--vcd",
}
# Options without effect where the compiler ends after a pass.
_AFTER_A_PASS = {
    "outputs": "-o",
    "json": "--json",
    "check": "--check",
    "time": "--time",
    "dot": "--dot",
    "draw": "--draw",
    "report": "--report",
    "trace": "--trace",
    "vcd": "--vcd",
    "plot": "--plot",
}


def require_together(arguments: argparse.Namespace) -> None:
    """Raises UserError for an option without the option that it is about, or beside an option that
    ends the command before it."""
    given = vars(arguments)
    if given["dot_dialect"] != "custard" and given["dot"] is None:
        raise UserError("--dot-dialect is for a DOT file, and none is asked for", hint="--dot FILE")
    if given["window"] is not None and given["trace"] is None and given["vcd"] is None:
        raise UserError("--window needs a trace, and none is asked for", hint="--trace FILE")
    if given.get("print_after") is not None:
        for name, option in _AFTER_A_PASS.items():
            if given[name]:
                raise UserError(f"{option} has no meaning with --print-after, which ends there")


def require_run(arguments: argparse.Namespace, runs: bool) -> None:
    """Raises UserError for an option about a run where the program is only compiled."""
    for name, option in () if runs else _OF_A_RUN.items():
        if getattr(arguments, name):
            raise UserError(f"{option} is for a run, and no inputs are given", hint="-i NAME=FILE")
