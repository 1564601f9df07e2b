"""``custard explain EXPRESSION ...``: why the run takes as long as it does, and what would help."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from custard.cli import execution
from custard.cli.arguments import engine, stdout
from custard.cli.inputs import read_inputs
from custard.cli.options import parse_command
from custard.cli.outputs import put_json
from custard.cli.progress import Progress
from custard.targets import require_simulated


def main(argv: Sequence[str]) -> int:
    """Explains a run: takes what the command takes without a word in front."""
    arguments = parse_command(argv, {})
    require_simulated(arguments.target, "explain")
    program, machine = execution.prepared(arguments)
    tensors = read_inputs(arguments.inputs, program, arguments.seed)
    with Progress() as progress:
        run = program.simulate(
            tensors,
            machine,
            engine=engine(arguments),
            progress=progress,
            max_cycles=arguments.max_cycles,
            attribution=True,
            threads=arguments.threads or 1,
        )
        from sim.explain import explain

        explanation = explain(run, trying=lambda what: progress.show(f"trying {what}"))
    console = stdout(quiet=arguments.json == "-" or arguments.quiet)
    first, *others = explanation.lines()
    console.print(Text(first, "bold"), soft_wrap=True)
    for line in others:
        console.print(Text(line), soft_wrap=True)
    put_json(arguments.json, explanation.as_json())
    return 0
