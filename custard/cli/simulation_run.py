"""``custard EXPRESSION`` on target sam: draws the graphs, simulates them, and reports."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from custard.cli import run_record as record
from custard.cli import several
from custard.cli.arguments import engine
from custard.cli.combinations import require_run
from custard.cli.inputs import needs_no_input
from custard.cli.output_files import (
    console_of,
    output_of,
    put_json,
    put_record,
    tell,
    tell_unfinished,
)
from custard.cli.progress import Progress
from custard.cli.run_files import pages, require_pages, write_pages
from custard.cli.unfinished import UnfinishedRun
from custard.to_sam.program import SamProgram, Stage
from sam.graph import Graph
from sam.support.errors import UserError
from sam.support.files import write_whole
from sim.config.hardware import Config
from sim.simulation import require_engine
from sim.stats import Run
from sim.tiling import with_tiles


def run(program: SamProgram, arguments: argparse.Namespace) -> int:
    """Runs a program, or only draws or describes it; returns the exit status."""
    chosen = several.machines(arguments.config, arguments.overrides)
    several.require_several(arguments, len(chosen))
    outputs = [output_of(text, program.cin.target) for text in arguments.outputs]
    require_engine(engine(arguments), arguments.validate)
    require_pages(arguments)
    wanted = arguments.inputs or arguments.check or outputs or len(chosen) > 1
    runs = bool(wanted) or needs_no_input(program)
    require_run(arguments, runs)
    if arguments.dot is not None:
        from sam.dot import to_dot

        for stage in program.stages:
            path = _of_stage(Path(arguments.dot), stage, program)
            write_whole(path, to_dot(stage.graph, arguments.dot_dialect))
    if arguments.draw is not None:
        draw(program, chosen[0].config, arguments.draw)
    if not runs:
        told = record.of_program(program, arguments.schedule)
        record.show(console_of(arguments), told)
        put_record(arguments.json, told)
        return 0
    if len(chosen) > 1:
        status, records = several.run(program, arguments, chosen, console_of(arguments))
        put_json(arguments.json, records)
        return status
    progress = Progress()
    try:
        found, told = _simulated(program, chosen[0].config, arguments, progress)
    except UnfinishedRun as late:
        tell_unfinished(late, arguments)
        raise
    assert found.output is not None
    status = tell(program.cin.target.tensor, found.output, told, outputs, arguments)
    write_pages(found, arguments, console_of(arguments), progress)
    return status


def draw(program: SamProgram, machine: Config, picture: str) -> None:
    """Draws the graphs of a program."""
    from sam.drawing import draw

    for stage in program.stages:
        draw(as_run(stage.graph, machine), _of_stage(Path(picture), stage, program))


def as_run(graph: Graph, machine: Config) -> Graph:
    """A graph with the tile loaders that a machine puts into it, if it has tiles that fit."""
    try:
        return with_tiles(graph, machine)
    except UserError:
        return graph


def _of_stage(path: Path, stage: Stage, program: SamProgram) -> Path:
    """The file of a graph: the path for the last graph, others beside it, as in g.ws.gv."""
    if stage is program.stages[-1]:
        return path
    return path.with_suffix(f".{stage.tensor}{path.suffix}")


def _simulated(
    program: SamProgram, machine: Config, arguments: argparse.Namespace, progress: Progress
) -> tuple[Run, dict[str, Any]]:
    """A run, and its record."""
    with progress:
        return record.simulate(
            program,
            arguments.schedule,
            arguments.inputs,
            machine,
            seed=arguments.seed,
            engine=engine(arguments),
            compare=arguments.check,
            progress=progress,
            validate=arguments.validate or None,
            max_cycles=arguments.max_cycles,
            compiling=progress.compiling,
            attribution=bool(pages(arguments)),
            threads=arguments.threads or 1,
        )
