"""``custard explain``: why the run of an expression or of a DOT file takes as long as it does.

It also tells what would help.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from custard.cli import execution, graph_run
from custard.cli.arguments import engine
from custard.cli.combinations import require_together
from custard.cli.inputs import read_inputs, read_wanted
from custard.cli.options import (
    OF_C,
    RESULTS,
    Usage,
    is_graph_file,
    parse_command,
    require_no_program,
)
from custard.cli.output_files import console_of, put_record, require_outputs
from custard.cli.progress import Progress
from custard.cli.run_record import of_program
from custard.targets import require_simulated

if TYPE_CHECKING:
    from sim.stats import Run

_USAGE = Usage(
    "explain",
    "Tells why a run takes as long as it does, and which changes would save cycles.",
    'custard explain "y(i) = A(i,j) * x(j)" -i A=west0067.mtx -i x=@dense --config finite\n'
    "  custard explain spmv.gv -i B=west0067.mtx -i c=@dense --config finite",
    without=("--validate", *RESULTS, *OF_C),
    takes='"EXPRESSION" | GRAPH.gv',
)


def main(argv: Sequence[str]) -> int:
    """Explains a run."""
    arguments = parse_command(argv, usage=_USAGE)
    require_simulated(arguments.target, "explain")
    with Progress() as progress:
        if is_graph_file(arguments.expression):
            run, about = _of_graph(arguments, progress)
        else:
            run, about = _of_program(arguments, progress)
        from sim.explain import explain

        explanation = explain(run, trying=progress.trying)
    console = console_of(arguments)
    first, *others = explanation.lines()
    console.print(Text(first, "bold"), soft_wrap=True)
    for line in others:
        console.print(Text(line), soft_wrap=True)
    about |= {"inputs": list(arguments.inputs), "seed": arguments.seed}
    put_record(arguments.json, {**about, "config": run.config, **explanation.as_json()})
    return 0


def _of_program(arguments: argparse.Namespace, progress: Progress) -> tuple[Run, dict[str, Any]]:
    """The run of an expression, and the record of its program."""
    program, machine = execution.prepared(arguments)
    tensors = read_inputs(arguments.inputs, program, arguments.seed)
    run: Run = program.simulate(
        tensors,
        machine,
        engine=engine(arguments),
        progress=progress,
        max_cycles=arguments.max_cycles,
        attribution=True,
        threads=arguments.threads or 1,
    )
    return run, of_program(program, arguments.schedule)


def _of_graph(arguments: argparse.Namespace, progress: Progress) -> tuple[Run, dict[str, Any]]:
    """The run of the graph in a DOT file, and the record of the graph."""
    from sim.simulation import simulate

    require_no_program(arguments)
    execution.refuse_others(arguments)
    require_outputs(arguments)
    require_together(arguments)
    machine = execution.one_machine(arguments)
    graph = graph_run.read_graph(Path(arguments.expression))
    wanted = graph_run.wanted_by(graph, arguments)
    run = simulate(
        graph,
        read_wanted(arguments.inputs, wanted, arguments.seed),
        machine,
        engine=engine(arguments),
        progress=progress,
        max_cycles=arguments.max_cycles,
        attribution=True,
        threads=arguments.threads or 1,
    )
    named = replace(graph, title=graph.title or arguments.expression)
    return run, graph_run.described(named, arguments.expression)
