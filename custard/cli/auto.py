"""``custard auto EXPRESSION ...``: schedules and formats, ranked by their time on inputs."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from custard.autoscheduling.fibers import InputFibers
from custard.autoscheduling.ranking import Ranked, autoschedule
from custard.cli import execution
from custard.cli.arguments import engine, whole_number
from custard.cli.inputs import input_uses, read_inputs
from custard.cli.options import RESULTS, Usage, parse_command
from custard.cli.output_files import console_of, put_json, require_outputs
from custard.cli.progress import Progress
from custard.program import Program
from custard.targets import DEFAULT, TARGETS, target_of
from sam.tensor import Tensor

_SHOWN = 10
_USAGE = Usage(
    "auto",
    "Ranks schedules, and the formats that are not given, by their time on the inputs.",
    'custard auto "X(i,j) = B(i,k) * C(k,j)" -i B=west0067.mtx -i C=west0067.mtx --simulate 3',
    {
        "--time": {
            "type": whole_number,
            "default": 0,
            "metavar": "K",
            "help": "target c: time the K best",
        },
        "--simulate": {
            "type": whole_number,
            "default": 0,
            "metavar": "K",
            "help": "target sam: simulate the K best",
        },
        "--lanes": {
            "type": whole_number,
            "default": 1,
            "metavar": "N",
            "help": "target sam: how many lanes may share a loop; 1 by default",
        },
        "--most": {
            "type": whole_number,
            "default": _SHOWN,
            "metavar": "N",
            "help": f"how many schedules are shown; {_SHOWN} by default",
        },
        "-t --target": {
            "default": DEFAULT,
            "metavar": "NAME",
            "help": " or ".join(TARGETS),
        },
    },
    ("-s", "--validate", "--max-cycles", *RESULTS),
    "run the command of a schedule that it prints",
)


def main(argv: Sequence[str]) -> int:
    """Ranks schedules, and prints the command of the first."""
    arguments = parse_command(argv, usage=_USAGE)
    program, machine = _prepared(arguments)
    tensors = read_inputs(arguments.inputs, program, arguments.seed)
    declared = {n: form for n, form in program.formats.items() if n not in program.undeclared}
    with Progress() as progress:
        ranked = autoschedule(
            arguments.expression,
            tensors,
            declared,
            arguments.target,
            program.dims,
            time=arguments.time,
            simulate=arguments.simulate,
            threads=arguments.threads,
            lanes=arguments.lanes,
            config=machine,
            engine=engine(arguments),
            most=arguments.most,
            drop_zeros=arguments.drop_zeros,
            fast_math=arguments.fast_math,
            told=progress.show,
        )
    console = console_of(arguments)
    console.print(Text(arguments.expression, "bold"), soft_wrap=True)
    for line in _statistics(program, tensors):
        console.print(Text(f"  {line}"), soft_wrap=True)
    console.print(_table(ranked, target_of(arguments.target).simulated))
    console.print()
    console.print(Text(ranked[0].command(_options(arguments))), soft_wrap=True)
    put_json(arguments.json, [_as_json(one) for one in ranked])
    return 0


def _prepared(arguments: argparse.Namespace) -> tuple[Program, Any]:
    """The program without a schedule, and the machine on target sam."""
    if target_of(arguments.target).simulated:
        return execution.prepared(arguments)
    execution.refuse_others(arguments)
    require_outputs(arguments)
    return execution.compiled(arguments), None


def _options(arguments: argparse.Namespace) -> list[str]:
    """The words of a command that are the same for all schedules."""
    words = [word for text in arguments.inputs for word in ("-i", text)]
    words += [word for text in arguments.dims for word in ("--dims", text)]
    words += [word for text in arguments.overrides for word in ("--set", text)]
    for name in ("seed", "config", "threads"):
        value = getattr(arguments, name)
        words += [f"--{name}", str(value)] if value else []
    words += ["--drop-zeros"] * arguments.drop_zeros + ["--fast-math"] * arguments.fast_math
    return words + ["--time"] * (not target_of(arguments.target).simulated)


def _statistics(program: Program, tensors: Mapping[str, Tensor]) -> list[str]:
    """A line for each input: its size, entries and fibers."""
    lines, fibers = [], InputFibers(tensors, {})
    for name, accesses in input_uses(program).items():
        tensor = tensors[name]
        if not tensor.ndim:
            continue
        line = f"{name}: {' x '.join(f'{n:,}' for n in tensor.shape)}, {tensor.nnz:,} entries"
        access = accesses[0]
        if not access.computed and len(set(access.variables)) == tensor.ndim > 1:
            inner = fibers.statistics(access, access.variables)[1:]
            found = zip(access.variables[1:], inner, strict=True)
            line += "".join(
                f"; {v}: {one.fibers:,} fibers of {one.mean:.3g}, at most {one.longest:,}"
                for v, one in found
            )
        lines.append(line)
    return lines


def _table(ranked: Sequence[Ranked], simulated: bool) -> Table:
    unit = "cycles" if simulated else "ms"
    done = "simulated" if simulated else "timed"
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("rank", justify="right")
    # Lines break between commands, and between formats, where a console is narrow.
    table.add_column(
        "schedule", min_width=_longest(each for one in ranked for each in one.schedule)
    )
    table.add_column(
        "formats", min_width=_longest(each for one in ranked for each in _formats(one))
    )
    table.add_column(f"estimated\n{unit}", justify="right")
    if any(one.measured is not None for one in ranked):
        table.add_column(f"{done}\n{unit}", justify="right")
    for rank, one in enumerate(ranked, 1):
        formats = " ".join(_formats(one))
        cells = [str(rank), " ".join(one.schedule), formats, _written(one.estimate, simulated)]
        table.add_row(*map(Text, [*cells, _written(one.measured, simulated)][: len(table.columns)]))
    return table


def _formats(one: Ranked) -> list[str]:
    return [f"{name}:{form}" for name, form in one.formats.items()]


def _longest(texts: Iterable[str]) -> int:
    return max(map(len, texts), default=0)


def _written(number: float | None, simulated: bool) -> str:
    if number is None:
        return ""
    return f"{number:,.0f}" if simulated else f"{1e3 * number:.3g}"


def _as_json(one: Ranked) -> dict[str, Any]:
    return {
        "schedule": list(one.schedule),
        "formats": dict(one.formats),
        "estimated": one.estimate,
        "measured": one.measured,
    }
