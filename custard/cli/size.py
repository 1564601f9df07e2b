"""``custard size EXPRESSION ...``: the smallest depth of every queue that loses no cycle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import yaml
from rich.text import Text

from custard.cli import execution
from custard.cli.arguments import engine, stdout
from custard.cli.inputs import read_inputs
from custard.cli.options import OF_C, RESULTS, Usage, parse_command
from custard.cli.output_files import put_json
from custard.cli.progress import Progress
from custard.targets import require_simulated
from sam.support.errors import UserError
from sam.support.files import require_folder, write_whole

_USAGE = Usage(
    "size",
    "Finds the smallest depth of every queue that loses no cycle against unbounded queues.",
    'custard size "y(i) = A(i,j) * x(j)" -i A=west0067.mtx -i x=@dense --save queues.yaml',
    {
        "--slack": {
            "metavar": "SHARE",
            "help": "how many more cycles the run may take, as in 1%%; none by default",
        },
        "--save": {"metavar": "FILE", "help": "write the config there instead of printing it"},
    },
    ("--threads", "--validate", "--max-cycles", *RESULTS, *OF_C),
)


def main(argv: Sequence[str]) -> int:
    """Sizes queues, and prints or saves the config."""
    arguments = parse_command(argv, usage=_USAGE)
    slack, place = arguments.slack, arguments.save
    require_simulated(arguments.target, "size")
    if place is not None:
        require_folder(place)
    elif arguments.quiet and arguments.json is None:
        raise UserError("-q leaves nothing to print", hint="--save FILE writes the config")
    program, machine = execution.prepared(arguments)
    tensors = read_inputs(arguments.inputs, program, arguments.seed)
    with Progress() as progress:
        sizing = program.size_queues(
            tensors,
            machine,
            slack=0.0 if slack is None else _share(slack),
            engine=engine(arguments),
            tried=lambda count: progress.show(f"{count:,} machines tried"),
        )
    files = place is not None or arguments.json is not None
    console = stdout(quiet=arguments.json == "-" or arguments.quiet, files=files)
    more = sizing.cycles - sizing.fewest
    queues = f"{len(sizing.depths)} queue{'s' * (len(sizing.depths) != 1)}"
    mark = "# " if place is None else ""  # all that is printed is a config
    console.print(
        Text(
            f"{mark}{sizing.words:,} words in {queues}; "
            f"{sizing.unbounded_words:,} where queues are unbounded"
        ),
        soft_wrap=True,
    )
    told = f"{sizing.cycles:,} cycles, {'none' if more == 0 else f'{more:,}'} more than unbounded"
    console.print(Text(mark + told), soft_wrap=True)
    text = yaml.safe_dump(dict(sizing.config), sort_keys=False, width=200)
    if place is None:
        console.print()
        console.print(Text(text.rstrip()), soft_wrap=True)
    else:
        write_whole(place, text)
        console.print(Text(f"the config is in {place}"), soft_wrap=True)
    put_json(
        arguments.json,
        {**asdict(sizing), "words": sizing.words, "unbounded_words": sizing.unbounded_words},
    )
    return 0


def _share(text: str) -> float:
    """A share, as in ``1%`` or ``0.01``. ``1`` alone could be meant as either 1 or 100 %."""
    number, percent = text.removesuffix("%"), text.endswith("%")
    try:
        share = float(number) / (100 if percent else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share < float("inf") or (share >= 1 and not percent):
        hint = f"--slack {text}% or --slack {100 * share:g}%" if share >= 1 else "as in --slack 1%"
        raise UserError(f'--slack is "{text}", which is not a share', hint=hint)
    return share
