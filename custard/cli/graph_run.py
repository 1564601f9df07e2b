"""``custard sim GRAPH.gv``: runs the graph of a DOT file, ours or the published compiler's."""

from __future__ import annotations

import argparse
import shlex
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from custard.cli import execution
from custard.cli import run_record as record
from custard.cli import run_report as report
from custard.cli.arguments import engine
from custard.cli.combinations import require_run, require_together
from custard.cli.inputs import Wanted, read_wanted
from custard.cli.options import parse_graph_command
from custard.cli.output_files import (
    console_of,
    output_of,
    put_record,
    require_outputs,
    tell,
    tell_unfinished,
)
from custard.cli.progress import Progress
from custard.cli.run_files import pages, require_pages, write_pages
from custard.cli.simulation_run import as_run
from custard.ir import cin
from sam.blocks import primitives
from sam.dot import from_dot, to_dot
from sam.drawing import draw
from sam.graph import Graph, Slot
from sam.support import c_compiler
from sam.support.errors import UserError
from sam.support.files import write_whole
from sam.validate import validate
from sim.config.hardware import Config
from sim.endless import OutOfCycles
from sim.simulation import require_engine, simulate

_MOST_BYTES = 64 * 2**20


def main(argv: Sequence[str]) -> int:
    """Reads a graph, draws or writes it where that is asked for, and runs it on its inputs."""
    arguments = parse_graph_command(argv)
    graph = read_graph(Path(arguments.graph))
    machine = execution.one_machine(arguments)
    require_engine(engine(arguments), arguments.validate)
    require_outputs(arguments)
    require_together(arguments)
    require_pages(arguments)
    if arguments.dot is not None:
        write_whole(arguments.dot, to_dot(graph, arguments.dot_dialect))
    if arguments.draw is not None:
        draw(as_run(graph, machine), arguments.draw)
    wanted = wanted_by(graph, arguments)
    if wanted.uses and not arguments.inputs and (arguments.dot or arguments.draw):
        require_run(arguments, runs=False)
        return 0
    named = replace(graph, title=graph.title or arguments.graph)
    return _run(named, wanted, machine, arguments)


def read_graph(path: Path) -> Graph:
    """The graph in a file; raises UserError."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise UserError(f"{path} is larger than any graph")
        return from_dot(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise UserError(f"{path} is not a text in UTF-8") from None
    except OSError as mistake:
        is_expression = "=" in str(path) and isinstance(mistake, FileNotFoundError)
        hint = f"custard {shlex.quote(str(path))} runs an expression" if is_expression else None
        raise UserError(f"cannot read {path}: {mistake.strerror}", hint=hint) from None
    except UserError as mistake:
        raise mistake.about(str(path)) from None


def wanted_by(graph: Graph, arguments: argparse.Namespace) -> Wanted:
    """The inputs of a graph, each as an access by the variables of its modes.

    Extents are those of the graph and of ``--dims``. Raises UserError.
    """
    dims = execution.extents_of(arguments.dims)
    uses: dict[str, list[cin.Access]] = {}
    levels: dict[str, str] = {}
    for slot in graph.slots:
        if slot.tensor is not None:
            uses.setdefault(slot.tensor, []).append(cin.Access(slot.tensor, _variables(slot)))
            levels.setdefault(slot.tensor, slot.levels)
    for name, accesses in uses.items():
        if len({len(access.variables) for access in accesses}) > 1:
            raise UserError(f"the graph reads {name} with different numbers of modes")
    extents = {**dict(graph.dims), **dims}
    variables = dict.fromkeys(
        name for of_one in uses.values() for one in of_one for name in one.variables
    )
    return Wanted(uses, extents, graph.spans, tuple(variables), levels)


def _variables(slot: Slot) -> tuple[str, ...]:
    """The variables of a tensor's modes."""
    if slot.subscripts:
        return slot.subscripts
    by_mode = {
        mode: variable
        for variable, modes in zip(slot.variables, slot.modes, strict=False)
        for mode in modes
    }
    if sorted(by_mode) != [*range(len(by_mode))]:
        raise UserError(f"slot {slot.name} does not store each mode of its tensor once")
    return tuple(by_mode[mode] for mode in range(len(by_mode)))


def _run(graph: Graph, wanted: Wanted, machine: Config, arguments: argparse.Namespace) -> int:
    validate(graph)
    result = graph.result
    outputs = []
    for text in arguments.outputs:
        if result is None:
            raise UserError("the graph writes no tensor")
        order = range(len(result.mode_order))
        target = cin.Access(result.slot.tensor or "", tuple(str(n) for n in order))
        outputs.append(output_of(text, target))
    tensors = read_wanted(arguments.inputs, wanted, arguments.seed)
    about = {
        **described(graph, arguments.graph),
        "inputs": list(arguments.inputs),
        "seed": arguments.seed,
    }
    started, progress = time.perf_counter(), Progress()
    try:
        with progress, c_compiler.watched(progress.compiling) as compiled:
            run = simulate(
                graph,
                tensors,
                machine,
                engine=engine(arguments),
                progress=progress,
                validate=arguments.validate or None,
                max_cycles=arguments.max_cycles,
                attribution=bool(pages(arguments)),
                threads=arguments.threads or 1,
            )
    except OutOfCycles as late:
        unfinished = record.unfinished(late, about, started, compiled)
        tell_unfinished(unfinished, arguments)
        raise unfinished from None
    seconds = time.perf_counter() - started - compiled.seconds
    told = {
        **about,
        **report.as_json(run),
        "seconds": seconds,
        "compile_seconds": compiled.seconds,
    }
    told["notes"] = list(run.notes)
    if run.output is not None and result is not None:
        status = tell(result.slot.tensor or "", run.output, told, outputs, arguments)
    else:
        record.show(console_of(arguments), told, arguments.all_lanes)
        put_record(arguments.json, told)
        status = 0
    write_pages(run, arguments, console_of(arguments), progress)
    return status


def described(graph: Graph, name: str) -> dict[str, Any]:
    """The fields of a record that describe a graph."""
    stored = {}
    for slot in graph.slots:
        if slot.tensor is not None:
            modes = (str(mode) for group in slot.modes for mode in group)
            stored[slot.tensor] = f"{slot.levels}:{','.join(modes)}"
    return {
        "record_version": record.RECORD_VERSION,
        "target": "sam",
        "expression": graph.title,
        "formats": stored,
        "schedule": [],
        "cin": f"{name}, a graph of {len(graph.nodes)} blocks",
        "notes": [],
        "dims": dict(graph.dims),
        "primitives": primitives(graph),
    }
