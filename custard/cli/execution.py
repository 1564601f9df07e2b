"""``custard EXPRESSION ...``: compiles the expression, and runs it as its target does."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from custard.cli.arguments import whole_number
from custard.cli.combinations import require_together
from custard.cli.options import require_expression
from custard.cli.output_files import require_outputs
from custard.compiler import compile
from custard.language import notation
from custard.language.commands import WORKSPACES, parse_schedule, workspaces
from custard.language.formats import Format, parse_declaration
from custard.pipeline import printed_after
from custard.program import Program
from custard.targets import TARGETS, require_option, target_of
from sam.support.errors import UserError

if TYPE_CHECKING:
    from custard.to_sam.program import SamProgram
    from sim.config.hardware import Config

# The module whose ``run`` runs a program, by target; imported when it is needed.
_RUNS = {"sam": "custard.cli.simulation_run", "c": "custard.cli.kernel_run"}


def execute(arguments: argparse.Namespace) -> int:
    """Runs the command for arguments that have been parsed; returns its exit status."""
    refuse_others(arguments)
    require_outputs(arguments)
    require_together(arguments)
    if arguments.print_after is not None:
        with printed_after(arguments.print_after, print):
            compiled(arguments)
        return 0
    program = compiled(arguments)
    status: int = import_module(_RUNS[program.target]).run(program, arguments)
    return status


def prepared(arguments: argparse.Namespace) -> tuple[SamProgram, Config]:
    """The program and the machine of a command that simulates the program itself."""
    refuse_others(arguments)
    require_outputs(arguments)
    require_together(arguments)
    machine = one_machine(arguments)
    program: Any = compiled(arguments)
    return program, machine


def one_machine(arguments: argparse.Namespace) -> Config:
    """The one machine that is asked for; raises UserError where several are."""
    from custard.cli import several  # here, as programs in C need none of it

    chosen = several.machines(arguments.config, arguments.overrides)
    if len(chosen) > 1:
        raise UserError(f"only one machine can be used here, and --set gives {len(chosen)}")
    return chosen[0].config


def refuse_others(arguments: argparse.Namespace) -> None:
    """Raises UserError for an unknown target, and for an option that only other targets take."""
    target_of(arguments.target)
    for target in TARGETS.values():
        for name, option in target.options.items():
            if getattr(arguments, name):
                require_option(arguments.target, name, option)


def compiled(arguments: argparse.Namespace) -> Program:
    """The program that is asked for. Raises UserError."""
    require_expression(arguments.expression)
    declared = [text.partition(":")[0].strip() for text in arguments.formats]
    accesses = notation.accesses(notation.parse(arguments.expression, declared))
    orders = {access.tensor: len(access.indices) for access in accesses}
    computed = workspaces(parse_schedule(arguments.schedule))
    formats: dict[str, str | Format] = {}
    for name, text in zip(declared, arguments.formats, strict=True):
        if name in computed and text.partition(":")[2].strip().lower() in WORKSPACES:
            tensor, format = name, text.partition(":")[2].strip()
        else:
            tensor, format = parse_declaration(text, None if name in computed else orders)
        if tensor in formats:
            raise UserError(f"two formats are given for {tensor}")
        formats[tensor] = format
    return compile(
        arguments.expression,
        formats,
        arguments.schedule,
        arguments.target,
        extents_of(arguments.dims),
        arguments.strict,
        arguments.drop_zeros,
        arguments.fast_math,
        arguments.ignore_units,
    )


def extents_of(texts: Sequence[str]) -> dict[str, int]:
    extents: dict[str, int] = {}
    for variable, extent in (_extent(part) for text in texts for part in text.split(",")):
        if extents.setdefault(variable, extent) != extent:
            raise UserError(
                f"--dims gives {variable} the extent {extents[variable]}, and then {extent}"
            )
    return extents


def _extent(text: str) -> tuple[str, int]:
    variable, _, extent = (part.strip() for part in text.partition("="))
    try:
        return variable, whole_number(extent)
    except argparse.ArgumentTypeError:
        raise UserError(
            f'"{text}" is not an extent', hint="--dims i=5, or --dims i=5,j=6"
        ) from None
