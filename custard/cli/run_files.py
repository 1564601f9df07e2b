"""The files about a run that the command writes: its report and its traces."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from sam.support.errors import UserError
from sam.support.files import require_folder, write_whole

if TYPE_CHECKING:
    from rich.console import Console

    from custard.cli.progress import Progress
    from sim.stats import Run


def pages(arguments: argparse.Namespace) -> dict[str, str]:
    """The files about a run that are asked for, by option."""
    named = {name: getattr(arguments, name) for name in ("report", "trace", "vcd")}
    return {f"--{name}": path for name, path in named.items() if path is not None}


def require_pages(arguments: argparse.Namespace) -> None:
    """Raises UserError where the files about a run cannot be written."""
    for option, path in pages(arguments).items():
        require_folder(path)
        suffix = {"--report": ".html", "--trace": ".pftrace", "--vcd": ".vcd"}[option]
        if Path(path).suffix.lower() != suffix:
            raise UserError(f"{option} writes {suffix} files, and {path} has another suffix")
    if arguments.window is not None:
        from sim.traces.states import parse_window

        parse_window(arguments.window)


def write_pages(
    run: Run, arguments: argparse.Namespace, console: Console, progress: Progress
) -> None:
    """Writes the files about a run; ``progress`` is that of the run, which may be run again."""
    if not pages(arguments):
        return
    from sim.traces.states import parse_window

    if arguments.report is not None:
        _write_report(run, arguments.report, console, progress)
    shown = None if arguments.window is None else parse_window(arguments.window)
    for path in (arguments.trace, arguments.vcd):
        if path is not None:
            note = run.to_trace(path, shown)
            console.print(f"the trace is in {path}", soft_wrap=True)
            if note is not None:
                console.print(f"note: {note}", soft_wrap=True)


def _write_report(run: Run, path: str, console: Console, progress: Progress) -> None:
    """Writes the page about a run."""
    from sim.report_page.page import page

    with progress:
        text = page(run, trying=progress.trying)
    write_whole(path, text)
    console.print(f"the report is in {path}", soft_wrap=True)
