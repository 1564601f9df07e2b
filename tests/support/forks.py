"""Commands of ``custard`` in processes that have imported it already: most of their time is saved.

The processes are forks of one that does nothing else: a fork of a process with threads, as a test
run has them, may wait for ever for a lock that nobody holds there.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import traceback
from pathlib import Path

from custard.cli import execution, run_record  # noqa: F401 - imported once for all commands
from custard.cli.command import main

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload([__name__])
_SECONDS = 300


def ran(words: list[str], place: Path, told: Path) -> int:
    """The exit status of ``custard`` with these words in a folder; its output goes to a file."""
    process = _CONTEXT.Process(target=_run, args=(words, place, told, dict(os.environ)))
    process.start()
    process.join(_SECONDS)
    if process.exitcode is None:
        process.kill()
        raise TimeoutError(f"{words} ran for {_SECONDS} s")
    return process.exitcode


def _run(words: list[str], place: Path, told: Path, environment: dict[str, str]) -> None:
    status = 1
    try:
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(place)
        out = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream, to in ((0, os.open(os.devnull, os.O_RDONLY)), (1, out), (2, out)):
            os.dup2(to, stream)
        sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
        status = main(words)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
