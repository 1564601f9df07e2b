"""``--set KEY=A,B,...``: a program on several machines, as a table and as a plot.

Several values of one key are separated by commas; several such keys are combined.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from custard.cli import run_record as record
from custard.cli.arguments import complain, engine
from custard.cli.progress import Progress
from custard.cli.sweeps.pictures import require_picture
from sam.support.errors import StreamError, UserError
from sam.support.files import require_folder
from sim.config import hardware as config
from sim.config.naming import called

if TYPE_CHECKING:
    from custard.to_sam.program import SamProgram

# Options for the run of one machine only, by the name of the argument.
_OF_ONE = {
    "outputs": "-o",
    "validate": "--validate",
    "threads": "--threads",
    "all_lanes": "--all-lanes",
    "report": "--report",
    "trace": "--trace",
    "vcd": "--vcd",
}


@dataclass(frozen=True)
class ChosenMachine:
    """A machine, and the ``values`` that tell it apart, by key."""

    values: Mapping[str, Any]
    config: config.Config


def machines(name: str | None, overrides: Sequence[str]) -> list[ChosenMachine]:
    """The machines that a config and overrides mean: one for each combination of values."""
    keys = [_values(*config.parse_override(text)) for text in overrides]
    for n, (key, given) in enumerate(keys):
        for other, before in keys[:n]:
            if key == other and given != before:
                raise UserError(f"--set gives {key} twice", hint=f"several values: --set {key}=A,B")
    several = {key for key, values in keys if len(values) > 1}
    found = []
    for values in product(*(values for _, values in keys)):
        chosen = dict(zip((key for key, _ in keys), values, strict=True))
        apart = {key: value for key, value in chosen.items() if key in several}
        found.append(ChosenMachine(apart, config.load(name, chosen, "--set")))
    return found


def _values(key: str, value: Any) -> tuple[str, list[Any]]:
    """The values that an override lists; one if it lists none."""
    if not isinstance(value, str) or "," not in value:
        return key, [value]
    return key, [config.parse_override(f"{key}={part.strip()}")[1] for part in value.split(",")]


def require_several(arguments: argparse.Namespace, count: int) -> None:
    """Raises UserError for options that need several machines, or one."""
    if count == 1 and arguments.plot is not None:
        raise UserError(
            "--plot draws a curve over several values",
            hint="as in --set queues.depth=1,2,4,8,inf --plot depths.png",
        )
    if arguments.plot is not None:
        require_picture(Path(arguments.plot))
        require_folder(arguments.plot)
    for name, option in _OF_ONE.items() if count > 1 else ():
        if getattr(arguments, name):
            raise UserError(f"{option} is for one machine, and --set gives {count}")


def run(
    program: SamProgram,
    arguments: argparse.Namespace,
    chosen: Sequence[ChosenMachine],
    console: Console,
) -> tuple[int, list[dict[str, Any]]]:
    """Runs a program on some machines, prints a table and draws the plot.

    Returns the exit status, 1 where a machine failed or its result is wrong, and for each machine
    the values that are ``set``, and its ``record`` or ``error``.
    """
    told: list[dict[str, Any]] = [{"set": dict(machine.values)} for machine in chosen]
    versions = record.versions()

    def finished(n: int, outcome: dict[str, Any] | Exception) -> None:
        progress.show(f"{sum(len(each) > 1 for each in told)} of {len(told)} machines")
        if isinstance(outcome, UserError | StreamError):
            told[n]["error"] = str(outcome)
        elif isinstance(outcome, Exception):
            raise outcome
        else:
            told[n]["record"] = {**outcome, "versions": versions}

    with Progress() as progress:
        record.simulate_many(
            program,
            arguments.schedule,
            arguments.inputs,
            [machine.config for machine in chosen],
            finished,
            seed=arguments.seed,
            engine=engine(arguments),
            compare=arguments.check,
            max_cycles=arguments.max_cycles,
        )
    console.print(Text(program.expression, "bold"), soft_wrap=True)
    machine = called(chosen[0].config.resolved(), apart=chosen[0].values)
    console.print(Text(f"  config {machine}"), soft_wrap=True)
    console.print(_table(told))
    wrong = [each for each in told if each.get("record", {}).get("difference")]
    for each in wrong:
        complain(f"{_called(each['set'])}: {each['record']['difference']}")
    if arguments.check and not wrong and all("record" in each for each in told):
        console.print(Text("all match numpy", "green"))
    if arguments.plot is not None:
        _draw(told, Path(arguments.plot))
        console.print(Text(f"{arguments.plot} is drawn"), soft_wrap=True)
    failed = wrong or not all("record" in each for each in told)
    return int(bool(failed)), told


def _called(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in values.items())


def _table(told: Sequence[Mapping[str, Any]]) -> Table:
    """A row for each machine; cycles beside the fewest of all."""
    cycles = [each["record"]["cycles"] for each in told if "record" in each]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for key in told[0]["set"]:
        table.add_column(key, justify="right")
    table.add_column("cycles", justify="right")
    table.add_column("x fewest", justify="right")
    table.add_column("most busy")
    for each in told:
        cells = [str(value) for value in each["set"].values()]
        if "record" in each:
            found = each["record"]
            ratio = found["cycles"] / min(cycles)
            cells += [f"{found['cycles']:,}", f"{ratio:.2f}", found["bottleneck"] or ""]
        else:
            cells += ["", "", each["error"].partition("\n")[0]]
        table.add_row(*map(Text, cells))
    return table


def _draw(told: Sequence[Mapping[str, Any]], path: Path) -> None:
    """The cycles over the first key with several values, a line for each value of the others."""
    from custard.cli.sweeps import plots  # here, as it takes long and few plot
    from sam.support.yaml_sections import is_number

    keys = list(told[0]["set"])
    numbers = [value for each in told if is_number(value := each["set"][keys[0]])]
    is_log = len(numbers) == len(told) and min(numbers) > 0 and max(numbers) > 8 * min(numbers)
    columns: dict[str, list[Any]] = {
        f"set.{key}": [each["set"][key] for each in told] for key in keys
    }
    columns["status"] = ["done" if "record" in each else "failed" for each in told]
    columns["cycles"] = [each["record"]["cycles"] if "record" in each else None for each in told]
    columns["error"] = [each.get("error", "").partition("\n")[0] or None for each in told]
    plot = plots.Plot(x=f"set.{keys[0]}", log=["x"] if is_log else [])
    plots.draw(plot, columns, [f"set.{key}" for key in keys], path)
