"""The command ``custard``, or ``python -m custard``, in a process of its own."""

import gc
import sys

from custard.cli.command import main


def run() -> int:
    """Runs the command; returns its exit status.

    Nearly all objects of a command stay to its end, so collections are rare, and there is none as
    the process ends: they took a quarter of the time of a command on a tiny input.
    """
    gc.set_threshold(50_000)
    try:
        return main()
    finally:
        gc.freeze()


if __name__ == "__main__":
    sys.exit(run())
