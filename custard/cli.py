"""The command line: compile an expression, simulate it, and tell where the cycles went."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields
from importlib.metadata import version
from io import TextIOWrapper
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.status import Status
from rich.table import Table
from rich.text import Text

from custard import check, cin, notation
from custard.formats import (
    LEVEL_FORMATS,
    NAMED_FORMATS,
    SUPPORTED,
    LevelFormat,
    parse_declaration,
    parse_format,
)
from custard.inputs import input_uses, read_inputs
from custard.program import Program, compile
from sam import io
from sam.blocks import StreamError
from sam.dot import to_dot
from sam.drawing import draw
from sam.errors import UserError, one_of
from sam.files import require_folder, write_whole
from sam.tensor import Tensor
from sim import binding, config, report
from sim.simulate import require_engine

_EXAMPLES = """\
examples:
  A sparse matrix product with its loops in a given order:
    custard "X(i,j) = B(i,k) * C(k,j)" -s="reorder(i,k,j)" -i B=west0067.mtx -i C=@random
  A matrix times a dense vector on finite queues, compared with numpy:
    custard "y(i) = A(i,j) * x(j)" -f=A:CSR -f=x:d -i A=west0067.mtx -i x=@dense \\
            --config finite --set queues.depth=8 --check
  No inputs: only compile, and draw the graph:
    custard "X(i,j) = B(i,j) * C(i,k) * D(k,j)" --draw sddmm.svg
"""

_Options = Mapping[str, Mapping[str, Any]]


def _many(name: str, shown: str, help: str) -> dict[str, Any]:
    return {"action": "append", "default": [], "dest": name, "metavar": shown, "help": help}


def _whole_number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise argparse.ArgumentTypeError(f'"{text}" is no whole number of at least 0')
    return int(text)


_OPTIONS: Mapping[str, _Options] = {
    "the program": {
        "-f": _many(
            "formats",
            "TENSOR:FORMAT",
            "levels and mode order (A:ds:0,1) or a name (A:CSR); all compressed by default",
        ),
        "-s": _many("schedule", "COMMAND", "a scheduling command, as in reorder(i,k,j)"),
        "--dims": _many("dims", "VARIABLE=N", "extents that no input fixes, as in i=5,j=6"),
        "--target": {"default": "sam", "help": "what to compile to: sam, the only one yet"},
        "--strict": {
            "action": "store_true",
            "help": "refuse to transpose a tensor or pass over a loop",
        },
        "--drop-zeros": {"action": "store_true", "help": "do not store results that are 0"},
    },
    "the inputs and the result": {
        "-i": _many(
            "inputs",
            "NAME=VALUE",
            "a file (B=b.mtx), a number (a=2.5), @random, @random(SHARE) or @dense; "
            "without inputs the program is only compiled",
        ),
        "--seed": {
            "type": _whole_number,
            "default": 0,
            "metavar": "N",
            "help": "of @random and @dense; 0 by default",
        },
        "-o": _many("outputs", "NAME=FILE", "write the result to a file, as in X=x.mtx"),
        "--check": {"action": "store_true", "help": "compare the result with dense numpy"},
    },
    "the machine": {
        "--config": {"metavar": "NAME", "help": "a shipped config or a file; ideal by default"},
        "--set": _many("overrides", "KEY=VALUE", "a value of the config, as in queues.depth=8"),
        "--engine": {"default": "auto", "metavar": "NAME", "help": "auto, simpy or compiled"},
        "--validate": {"action": "store_true", "help": "watch every stream for mistakes"},
    },
    "the report": {
        "--dot": {"metavar": "FILE", "help": "write the graph as Graphviz DOT"},
        "--draw": {"metavar": "FILE", "help": "draw the graph: .svg, .png or .pdf"},
        "--json": {
            "nargs": "?",
            "const": "-",
            "metavar": "FILE",
            "help": "all as one JSON object, to the file or in place of the report",
        },
    },
}

_PACKAGE = "sparse-abstract-machine"
_PIPE_WIDTH = 120


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status.

    0 for success, 1 for a result that ``--check`` finds wrong, a stream that ``--validate`` does or
    a reader that has gone, 2 for a mistake of the user, 130 after Ctrl-C.
    """
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # the bars are not in every encoding
    try:
        status = _run(_parse(argv))
        sys.stdout.flush()
        return status
    except UserError as mistake:
        _complain(str(mistake))
        return 2
    except StreamError as mistake:
        _complain(f"{mistake}\nhint: a block or the graph is at fault, not the command")
        return 1
    except KeyboardInterrupt:
        _complain("interrupted")
        return 130
    except BrokenPipeError:
        # Python flushes stdout once more at its end, and would complain then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UserError(message, hint="custard --help lists the options")


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = _Parser(
        prog="custard",
        usage='custard "EXPRESSION" [options]\n       custard configs\n       custard formats',
        description="Compiles a sparse tensor expression to a SAM graph and simulates it.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("expression", metavar="EXPRESSION", help="as in X(i,j) = B(i,k) * C(k,j)")
    parser.add_argument("--version", action="version", version=f"custard {version(_PACKAGE)}")
    for title, options in _OPTIONS.items():
        group = parser.add_argument_group(title)
        for name, settings in options.items():
            group.add_argument(name, **settings)
    arguments, unknown = parser.parse_known_args(argv)
    if unknown and unknown[0].startswith("-"):
        known = [name for options in _OPTIONS.values() for name in options]
        raise UserError(
            f"there is no option {unknown[0]}", hint=one_of(unknown[0].partition("=")[0], known)
        )
    if unknown:
        raise UserError(
            f"{unknown[0]} is one argument too many", hint="put the expression in quotes"
        )
    return arguments


def _run(arguments: argparse.Namespace) -> int:
    if arguments.expression in _LISTS:
        _console().print(_LISTS[arguments.expression]())
        return 0
    if arguments.expression.isidentifier():
        word = arguments.expression
        raise UserError(f"there is no command {word}", hint=one_of(word, _LISTS))
    program = _compiled(arguments)
    machine = config.load(arguments.config, dict(map(config.parse_override, arguments.overrides)))
    outputs = [_output(text, program.cin.target) for text in arguments.outputs]
    require_engine(arguments.engine, arguments.validate)
    if arguments.json not in (None, "-"):
        require_folder(arguments.json)
    if arguments.dot:
        write_whole(arguments.dot, to_dot(program.graph))
    if arguments.draw:
        draw(program.graph, arguments.draw)
    console = _console(quiet=arguments.json == "-")
    about = _about(program, arguments)
    if not (arguments.inputs or arguments.check or outputs or _needs_no_input(program)):
        _print_program(console, program, "compiled, not run: no inputs are given")
        console.print(_primitives(program))
        _put_json(arguments.json, about)
        return 0
    result, told = _simulate(program, machine, arguments, console)
    _put_json(arguments.json, {**about, **told})
    for path in outputs:
        io.write(path, result)
        console.print(Text(f"{program.cin.target.tensor} is in {path}"), soft_wrap=True)
    return 1 if told.get("matches_numpy") is False else 0


def _simulate(
    program: Program, machine: config.Config, arguments: argparse.Namespace, console: Console
) -> tuple[Tensor, dict[str, Any]]:
    """The result of a run, which is reported on the console, and what the JSON tells of it."""
    inputs = read_inputs(arguments.inputs, program, arguments.seed)
    expected = _expected(program, inputs) if arguments.check else None
    started = time.perf_counter()
    with _Progress() as progress:
        run = program.simulate(
            inputs,
            machine,
            engine=arguments.engine,
            progress=progress,
            validate=arguments.validate or None,
        )
    seconds = time.perf_counter() - started
    assert run.output is not None
    _print_program(console, program, f"config {machine.name}, engine {run.engine}")
    console.print(report.summary(run, seconds))
    told = {
        "inputs": arguments.inputs,
        "seed": arguments.seed,
        **report.as_json(run),
        "seconds": seconds,
    }
    if expected is not None:
        difference = check.first_difference(run.output, expected)
        told["matches_numpy"] = difference is None
        if difference is None:
            console.print(Text("matches numpy", "green"))
        else:
            _complain(difference)
    return run.output, told


def _compiled(arguments: argparse.Namespace) -> Program:
    declared = [text.partition(":")[0].strip() for text in arguments.formats]
    accesses = notation.accesses(notation.parse(arguments.expression, declared))
    orders = {access.tensor: len(access.indices) for access in accesses}
    formats = {}
    for text in arguments.formats:
        tensor, format = parse_declaration(text, orders)
        if tensor in formats:
            raise UserError(f"two formats are given for {tensor}")
        formats[tensor] = format
    return compile(
        arguments.expression,
        formats,
        arguments.schedule,
        arguments.target,
        _extents(arguments.dims),
        arguments.strict,
        arguments.drop_zeros,
    )


def _extents(texts: Sequence[str]) -> dict[str, int]:
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
        return variable, _whole_number(extent)
    except argparse.ArgumentTypeError:
        raise UserError(f'"{text}" is no extent', hint="--dims i=5, or --dims i=5,j=6") from None


def _output(text: str, target: cin.Access) -> Path:
    name, equals, path = (part.strip() for part in text.partition("="))
    if not equals or not path:
        hint = f"NAME=FILE, as in {target.tensor}=result.tns"
        raise UserError(f'"{text}" names no file', hint=hint)
    if name != target.tensor:
        raise UserError(f"{name} is not the result", hint=f"write -o {target.tensor}={path}")
    io.require_writable(path, len(target.variables))
    return Path(path)


def _needs_no_input(program: Program) -> bool:
    """Whether the program can run although no input is given."""
    return not input_uses(program) and {*program.cin.loops} <= {*program.dims}


def _expected(program: Program, inputs: Mapping[str, Tensor]) -> check.Expected:
    extents = binding.extents(program.graph, inputs)
    by_base = {cin.base(variable): extent for variable, extent in extents.items()}
    return check.evaluate(program.expression, inputs, by_base, program.formats)


class _Progress:
    """Shows on a terminal, once a run takes long, the cycle that it has come to."""

    def __init__(self) -> None:
        self.console = Console(stderr=True)
        self.status: Status | None = None
        self.started = time.perf_counter()

    def __call__(self, cycle: int) -> None:
        seconds = time.perf_counter() - self.started
        if not self.console.is_terminal or seconds < 1:
            return
        text = f"{cycle:,} cycles, {cycle / seconds:,.0f} cycles/s"
        if self.status is None:
            self.status = self.console.status(text)
            self.status.start()
        self.status.update(text)

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self.status is not None:
            self.status.stop()


def _about(program: Program, arguments: argparse.Namespace) -> dict[str, Any]:
    """What the JSON object tells of the program, run or not."""
    return {
        "expression": program.expression,
        "formats": {tensor: str(format) for tensor, format in program.formats.items()},
        "schedule": arguments.schedule,
        "loops": list(program.cin.loops),
        "notes": list(program.notes),
        "dims": dict(program.dims),
        "primitives": program.graph.counts(),
        "versions": {
            _PACKAGE: version(_PACKAGE),
            "python": platform.python_version(),
            "numpy": np.__version__,
        },
    }


def _print_program(console: Console, program: Program, how: str) -> None:
    formats = [f"{tensor} {format}" for tensor, format in program.formats.items() if format.levels]
    lines = [str(program.cin), f"formats {', '.join(formats)}", how]
    console.print(Text(program.expression, "bold"), soft_wrap=True)
    for line in (*lines, *(f"note: {note}" for note in program.notes)):
        console.print(Text(f"  {line}"), soft_wrap=True)


def _primitives(program: Program) -> Table:
    table = Table("primitive", "count", box=None, pad_edge=False, header_style="bold")
    for primitive, count in program.graph.counts().items():
        table.add_row(primitive.replace("_", " "), str(count))
    return table


def _configs() -> RenderableType:
    table = Table("config", "machine", box=None, pad_edge=False, header_style="bold")
    for name, description in config.shipped().items():
        table.add_row(name, description)
    return table


def _formats() -> RenderableType:
    return Group(_level_formats(), "", _named_formats())


def _level_formats() -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("code", "level format", "properties", "capabilities", "works"):
        table.add_column(column)
    for code, level in LEVEL_FORMATS.items():
        has = [field.name for field in fields(LevelFormat) if getattr(level, field.name) is True]
        able = [name for name in has if name in _CAPABILITIES]
        works = "yes" if code in SUPPORTED else "not yet"
        is_ = " ".join(name for name in has if name not in able)
        table.add_row(code, level.name, is_, " ".join(able), works)
    return table


def _named_formats() -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("write")
    table.add_column("for", overflow="fold")
    for column in ("levels", "in the expression", "and give"):
        table.add_column(column, no_wrap=True)
    for name, form in NAMED_FORMATS.items():
        orders = [f"{name}(2)", f"{name}(3)"] if form.order is None else [name]
        levels = ", ".join(str(parse_format(text)) for text in orders)
        access = "" if form.access is None else f"A{form.access}"
        view = "" if form.view is None else f"sam.Tensor.of(A).{form.view}"
        table.add_row(f"-f=A:{name}", form.stores, levels, access, view)
    return table


_CAPABILITIES: Collection[str] = (
    "iterates_values",
    "iterates_positions",
    "locates",
    "inserts",
    "appends",
)
_LISTS: Mapping[str, Callable[[], RenderableType]] = {"configs": _configs, "formats": _formats}


def _put_json(place: str | None, document: Mapping[str, Any]) -> None:
    """Writes the object to stdout ("-") or a file, if either is asked for."""
    text = json.dumps(document, indent=2) + "\n"
    if place == "-":
        sys.stdout.write(text)
    elif place is not None:
        write_whole(place, text)


def _console(quiet: bool = False) -> Console:
    """Stdout; what is not read on a terminal has lines of a fixed width."""
    width = None if sys.stdout.isatty() else _PIPE_WIDTH
    return Console(width=width, highlight=False, quiet=quiet)


def _complain(text: str) -> None:
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    console.print(Text.assemble(("custard: ", "bold red"), text))
