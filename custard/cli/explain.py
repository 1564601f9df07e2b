"""``custard explain EXPRESSION ...``: why the run takes as long as it does, and what would help."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from custard.cli import execution
from custard.cli.arguments import engine, stdout
from custard.cli.inputs import read_inputs
from custard.cli.options import RESULTS, Usage, parse_command
from custard.cli.output_files import put_json
from custard.cli.progress import Progress
from custard.targets import require_simulated

_USAGE = Usage(
    "explain",
    "Tells why a run takes as long as it does, and which changes would save cycles.",
    'custard explain "y(i) = A(i,j) * x(j)" -i A=west0067.mtx -i x=@dense --config finite',
    without=("--validate", *RESULTS),
)


def main(argv: Sequence[str]) -> int:
    """Explains a run."""
    arguments = parse_command(argv, usage=_USAGE)
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
