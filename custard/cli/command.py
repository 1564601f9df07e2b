"""The command line: compile an expression, run it, and tell where the time went."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.status import Status
from rich.table import Table
from rich.text import Text

from custard.cli import cache
from custard.cli import run_record as record
from custard.cli.arguments import (
    Parser,
    complain,
    of_system,
    parse,
    require_stdout,
    stdout,
    whole_number,
)
from custard.cli.inputs import expand_home, file_of, input_uses
from custard.cli.sweeps import command as sweep_cli
from custard.compiler import compile
from custard.ir import cin
from custard.language import notation
from custard.language.commands import parse_schedule, workspaces
from custard.language.formats import (
    LEVEL_FORMATS,
    NAMED_FORMATS,
    SUPPORTED,
    LevelFormat,
    parse_declaration,
    parse_format,
)
from custard.program import Program
from custard.to_c.program import CProgram
from custard.to_sam.program import SamProgram, Stage
from sam import io
from sam.blocks import StreamError
from sam.dot import to_dot
from sam.drawing import draw
from sam.support.errors import UserError, one_of
from sam.support.files import require_folder, write_whole
from sam.tensor import Tensor
from sim.config import hardware as config
from sim.simulate import require_engine

_EXAMPLES = """\
examples:
  A sparse matrix product with its loops in a given order:
    custard "X(i,j) = B(i,k) * C(k,j)" -s="reorder(i,k,j)" -i B=west0067.mtx -i C=@random
  A matrix times a dense vector on finite queues, compared with numpy:
    custard "y(i) = A(i,j) * x(j)" -f=A:CSR -f=x:d -i A=west0067.mtx -i x=@dense \\
            --config finite --set queues.depth=8 --check
  The same in C, timed; and its source, to be compiled by others:
    custard "y(i) = A(i,j) * x(j)" -f=y:d -f=A:CSR -f=x:d --target c \\
            -i A=west0067.mtx -i x=@dense --time -o spmv.c
  No inputs: only compile, and draw the graph:
    custard "X(i,j) = B(i,j) * C(i,k) * D(k,j)" --draw sddmm.svg
"""

_Options = Mapping[str, Mapping[str, Any]]


def _many(name: str, shown: str, help: str) -> dict[str, Any]:
    return {"action": "append", "default": [], "dest": name, "metavar": shown, "help": help}


_OPTIONS: Mapping[str, _Options] = {
    "the program": {
        "-f": _many(
            "formats",
            "TENSOR:FORMAT",
            "levels and mode order (A:ds:0,1) or a name (A:CSR); all compressed by default",
        ),
        "-s": _many("schedule", "COMMAND", "a scheduling command, as in reorder(i,k,j)"),
        "--dims": _many("dims", "VARIABLE=N", "extents that no input fixes, as in i=5,j=6"),
        "--target": {"default": "sam", "metavar": "NAME", "help": "sam, the default, or c"},
        "--strict": {
            "action": "store_true",
            "help": "refuse to transpose a tensor or pass over a loop",
        },
        "--drop-zeros": {"action": "store_true", "help": "do not store results that are 0"},
        "--fast-math": {"action": "store_true", "help": "target c: give NaN and infinity up"},
    },
    "the inputs and the result": {
        "-i": _many(
            "inputs",
            "NAME=VALUE",
            "a file (B=b.mtx), - for stdin, a number (a=2.5), @random, @random(SHARE) or @dense; "
            "without inputs the program is only compiled",
        ),
        "--seed": {
            "type": whole_number,
            "default": 0,
            "metavar": "N",
            "help": "of @random and @dense; 0 by default",
        },
        "-o": _many(
            "outputs",
            "NAME=FILE",
            "write the result to a file, as in X=x.mtx, or to stdout: X=-; "
            "target c: FILE alone gets the source",
        ),
        "--check": {"action": "store_true", "help": "compare the result with dense numpy"},
        "--time": {"action": "store_true", "help": "target c: run the kernel again and again"},
    },
    "the machine (target sam)": {
        "--config": {"metavar": "NAME", "help": "a shipped config or a file; ideal by default"},
        "--set": _many("overrides", "KEY=VALUE", "a value of the config, as in queues.depth=8"),
        "--engine": {"metavar": "NAME", "help": "auto, the default, simpy or compiled"},
        "--validate": {"action": "store_true", "help": "watch every stream for mistakes"},
    },
    "the report": {
        "--dot": {"metavar": "FILE", "help": "target sam: write the graph as Graphviz DOT"},
        "--draw": {"metavar": "FILE", "help": "target sam: draw the graph: .svg, .png or .pdf"},
        "--json": {
            "nargs": "?",
            "const": "-",
            "metavar": "FILE",
            "help": "all as one JSON object, to the file or in place of the report",
        },
    },
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status.

    0 for success, 1 for a result that ``--check`` finds wrong, a stream that ``--validate`` does or
    a reader that has gone, 2 for a mistake of the user, 130 after Ctrl-C.
    """
    try:
        require_stdout()
        words = list(sys.argv[1:] if argv is None else argv)
        try:
            if words and words[0] in _COMMANDS:
                return _COMMANDS[words[0]][1](words[1:])
            return _run(_parse(words))
        finally:
            sys.stdout.flush()
    except UserError as mistake:
        complain(str(mistake))
        return 2
    except StreamError as mistake:
        complain(f"{mistake}\nhint: a block or the graph is at fault, not the command")
        return 1
    except KeyboardInterrupt:
        complain("interrupted")
        return 130
    except OSError as mistake:
        return of_system(mistake)


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    usages = (f"custard {word} {rest}".rstrip() for word, (rest, _) in _COMMANDS.items())
    parser = Parser(
        prog="custard",
        usage="\n       ".join(['custard "EXPRESSION" [options]', *usages]),
        description="Compiles a sparse tensor expression to a SAM graph or to C, and runs it.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("expression", metavar="EXPRESSION", help="as in X(i,j) = B(i,k) * C(k,j)")
    parser.add_argument("--version", action="version", version=f"custard {version(record.PACKAGE)}")
    for title, options in _OPTIONS.items():
        group = parser.add_argument_group(title)
        for name, settings in options.items():
            group.add_argument(name, **settings)
    known = [name for options in _OPTIONS.values() for name in options]
    return parse(parser, argv, known, "put the expression in quotes")


def _run(arguments: argparse.Namespace) -> int:
    if arguments.expression.isidentifier():
        word = arguments.expression
        raise UserError(f"there is no command {word}", hint=one_of(word, _COMMANDS))
    _refuse_others(arguments)
    _require_apart(arguments)
    program = _compiled(arguments)
    if arguments.json not in (None, "-"):
        require_folder(arguments.json)
    run = _run_sam if isinstance(program, SamProgram) else _run_c
    return run(program, arguments)  # type: ignore[arg-type]


def _run_sam(program: SamProgram, arguments: argparse.Namespace) -> int:
    machine = config.load(arguments.config, dict(map(config.parse_override, arguments.overrides)))
    outputs = [_output(text, program.cin.target) for text in arguments.outputs]
    require_engine(_engine(arguments), arguments.validate)
    for stage in program.stages:
        if arguments.dot is not None:
            path = _of_stage(Path(arguments.dot), stage, program)
            write_whole(path, to_dot(stage.graph))
        if arguments.draw is not None:
            draw(stage.graph, _of_stage(Path(arguments.draw), stage, program))
    if not (arguments.inputs or arguments.check or outputs or _needs_no_input(program)):
        told = record.of_program(program, arguments.schedule)
        record.show(_console(arguments), told)
        _put_json(arguments.json, told)
        return 0
    result, told = _simulated(program, machine, arguments)
    return _told(program, result, told, outputs, arguments)


def _run_c(program: CProgram, arguments: argparse.Namespace) -> int:
    sources = [text for text in arguments.outputs if "=" not in text]
    outputs = [_output(t, program.cin.target) for t in arguments.outputs if t not in sources]
    for path in sources:
        if io.is_tensor_file(path):
            raise UserError(
                f"the C source would go to {path}, which is named as a tensor's file is",
                hint=f"write -o {program.cin.target.tensor}={path} for the result",
            )
        write_whole(path, program.source)
        _console(arguments).print(Text(f"the C source is in {path}"), soft_wrap=True)
    wanted = arguments.inputs or arguments.check or arguments.time or outputs
    if not wanted and (sources or arguments.json or not _needs_no_input(program)):
        if not (sources or arguments.json == "-"):
            sys.stdout.write(program.source)
        _put_json(arguments.json, record.of_program(program, arguments.schedule))
        return 0
    result, told = record.execute(
        program,
        arguments.schedule,
        arguments.inputs,
        seed=arguments.seed,
        compare=arguments.check,
        timed=arguments.time,
    )
    return _told(program, result, told, outputs, arguments)


def _told(
    program: Program,
    result: Tensor,
    told: Mapping[str, Any],
    outputs: Sequence[Path],
    arguments: argparse.Namespace,
) -> int:
    """Tells of a run, and writes its result; the exit status."""
    console = _console(arguments)
    record.show(console, told)
    if told.get("difference"):
        complain(told["difference"])
    _put_json(arguments.json, told)
    for path in outputs:
        if path == _STDOUT:
            sys.stdout.flush()
            sys.stdout.buffer.write(io.write_bytes(result))
            continue
        io.write(path, result)
        console.print(Text(f"{program.cin.target.tensor} is in {path}"), soft_wrap=True)
    return 0 if told.get("matches_numpy", True) else 1


def _console(arguments: argparse.Namespace) -> Console:
    return stdout(quiet=arguments.json == "-" or any(map(_is_stdout, arguments.outputs)))


# A result that goes here is a MatrixMarket text, and nothing else is printed.
_STDOUT = Path("-")


def _is_stdout(output: str) -> bool:
    _, equals, path = output.partition("=")
    return bool(equals) and path.strip() == str(_STDOUT)


# Options that mean something on one target only, by their names in the parsed arguments.
_ONLY = {
    "sam": {
        "config": "--config",
        "overrides": "--set",
        "engine": "--engine",
        "validate": "--validate",
        "dot": "--dot",
        "draw": "--draw",
    },
    "c": {"time": "--time", "fast_math": "--fast-math"},
}


def _refuse_others(arguments: argparse.Namespace) -> None:
    """Raises UserError for an option that another target than the program's takes."""
    for target, options in _ONLY.items():
        for name, option in options.items():
            if getattr(arguments, name) and arguments.target in _ONLY.keys() - {target}:
                raise UserError(
                    f"{option} has no meaning on target {arguments.target}",
                    hint=f"it is for target {target}",
                )


def _engine(arguments: argparse.Namespace) -> str:
    """The engine that is asked for."""
    return "auto" if arguments.engine is None else arguments.engine


def _require_apart(arguments: argparse.Namespace) -> None:
    """Raises UserError where two outputs go to one file, or another than the result to an input's.

    What is no regular file, such as ``/dev/stdout``, takes several.
    """
    told = [arguments.dot, arguments.draw, None if arguments.json == "-" else arguments.json]
    outputs = [name for name in told if name is not None]
    outputs += [text for text in arguments.outputs if "=" not in text]
    results = {
        expand_home(text.partition("=")[2].strip())
        for text in arguments.outputs
        if "=" in text and not _is_stdout(text)
    }
    if arguments.json == "-" and any(map(_is_stdout, arguments.outputs)):
        raise UserError("two outputs go to stdout", hint="--json FILE, or -o NAME=FILE")
    inputs = (file_of(text.partition("=")[2].strip()) for text in arguments.inputs)
    read = {Path(name).resolve() for name in inputs if name is not None}
    written: set[Path] = set()
    for name in [*outputs, *sorted(results)]:
        if Path(name).exists() and not Path(name).is_file():
            continue
        path = Path(name).resolve()
        if path in written:
            raise UserError(f"two outputs go to {name}")
        if path in read and name in outputs:
            raise UserError(f"{name} is an input, and would be lost")
        written.add(path)


def _simulated(
    program: SamProgram, machine: config.Config, arguments: argparse.Namespace
) -> tuple[Tensor, dict[str, Any]]:
    """The result of a run, and its record."""
    with _Progress() as progress:
        return record.simulate(
            program,
            arguments.schedule,
            arguments.inputs,
            machine,
            seed=arguments.seed,
            engine=_engine(arguments),
            compare=arguments.check,
            progress=progress,
            validate=arguments.validate or None,
        )


def _compiled(arguments: argparse.Namespace) -> Program:
    declared = [text.partition(":")[0].strip() for text in arguments.formats]
    accesses = notation.accesses(notation.parse(arguments.expression, declared))
    orders = {access.tensor: len(access.indices) for access in accesses}
    computed = workspaces(parse_schedule(arguments.schedule))
    formats = {}
    for name, text in zip(declared, arguments.formats, strict=True):
        tensor, format = parse_declaration(text, None if name in computed else orders)
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
        arguments.fast_math,
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
        return variable, whole_number(extent)
    except argparse.ArgumentTypeError:
        raise UserError(f'"{text}" is no extent', hint="--dims i=5, or --dims i=5,j=6") from None


def _output(text: str, target: cin.Access) -> Path:
    name, equals, path = (part.strip() for part in text.partition("="))
    if not equals or not path:
        hint = f"NAME=FILE, as in {target.tensor}=result.tns"
        raise UserError(f'"{text}" names no file', hint=hint)
    if name != target.tensor:
        raise UserError(f"{name} is not the result", hint=f"write -o {target.tensor}={path}")
    if path == str(_STDOUT):
        return _STDOUT
    path = expand_home(path)
    io.require_writable(path, len(target.variables))
    return Path(path)


def _of_stage(path: Path, stage: Stage, program: SamProgram) -> Path:
    """Where a graph goes: to the path, or beside it as in g.ws.gv if it is not the last one."""
    if stage is program.stages[-1]:
        return path
    return path.with_suffix(f".{stage.tensor}{path.suffix}")


def _needs_no_input(program: Program) -> bool:
    """Whether the program can run although no input is given."""
    return not input_uses(program) and {*program.cin.loops} <= {*program.dims}


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
    "iterates_words",
    "locates",
    "inserts",
    "appends",
    "appends_anywhere",
)


def _report(argv: Sequence[str]) -> int:
    """Prints the report of a result of a sweep, or of a file of ``--json``."""
    parser = Parser(prog="custard report", description=_report.__doc__, allow_abbrev=False)
    parser.add_argument("file", metavar="RESULT")
    return record.report_file(stdout(), Path(parse(parser, argv, ()).file))


def _listing(name: str, listed: Callable[[], RenderableType]) -> Callable[[Sequence[str]], int]:
    """The command that prints a list."""

    def command(argv: Sequence[str]) -> int:
        parse(Parser(prog=f"custard {name}", allow_abbrev=False), argv, ())
        stdout().print(listed())
        return 0

    return command


# The words that may stand in the place of an expression, each with what follows it.
_COMMANDS: Mapping[str, tuple[str, Callable[[Sequence[str]], int]]] = {
    "sweep": ("SWEEP.yaml", sweep_cli.main),
    "report": ("RESULT", _report),
    "cache": ("[--clear]", cache.main),
    "configs": ("", _listing("configs", _configs)),
    "formats": ("", _listing("formats", _formats)),
}


def _put_json(place: str | None, document: Mapping[str, Any]) -> None:
    """Writes the object to stdout ("-") or a file, if either is asked for."""
    text = json.dumps(document, indent=2) + "\n"
    if place == "-":
        sys.stdout.write(text)
    elif place is not None:
        write_whole(place, text)
