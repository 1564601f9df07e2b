"""Starts ``custard sweep``: the processes of a sweep load their modules while it loads its own."""

from __future__ import annotations

from collections.abc import Sequence

from custard.cli.sweeps import server

MODULES = (
    "custard.cli.sweeps.description",
    "custard.to_sam.target",
    "sim.compiled.legs",
    "sim.many",
    "sim.reference.engine",
    "sim.retiming.batch",
)
"""The modules that measure a point."""

_NO_PROCESSES = {"--table", "--plot", "--dask", "-h", "--help"}


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit status. Raises UserError."""
    if not _NO_PROCESSES & {*argv}:
        server.context(MODULES)
    from custard.cli.sweeps import command  # here, as the server loads its modules meanwhile

    return command.main(argv)
