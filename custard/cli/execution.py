"""``custard EXPRESSION ...``: compiles the expression, runs it, and tells where the time went."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from custard.cli import run_record as record
from custard.cli.arguments import complain, stdout, whole_number
from custard.cli.inputs import expand_home, file_of, input_uses
from custard.cli.progress import Progress
from custard.cli.run_files import pages, require_pages, write_pages
from custard.compiler import compile
from custard.ir import cin
from custard.language import notation
from custard.language.commands import parse_schedule, workspaces
from custard.language.formats import parse_declaration
from custard.pipeline import printed_after
from custard.program import Program
from sam import io
from sam.support.errors import UserError
from sam.support.files import require_folder, write_whole
from sam.tensor import Tensor

if TYPE_CHECKING:
    from custard.to_c.program import CProgram
    from custard.to_sam.program import SamProgram, Stage
    from sam.graph import Graph
    from sim.config.hardware import Config
    from sim.stats import Run


def execute(arguments: argparse.Namespace) -> int:
    """Runs the command for arguments that have been parsed; returns its exit status."""
    _refuse_others(arguments)
    require_apart(arguments)
    if arguments.print_after is not None:
        with printed_after(arguments.print_after, print):
            compiled(arguments)
        return 0
    program = compiled(arguments)
    if arguments.json not in (None, "-"):
        require_folder(arguments.json)
    run: Any = _run_sam if arguments.target == "sam" else _run_c
    status: int = run(program, arguments)
    return status


def prepared(arguments: argparse.Namespace) -> tuple[SamProgram, Config]:
    """The program and the machine of a command on target sam, for what runs it by itself."""
    _refuse_others(arguments)
    require_apart(arguments)
    from custard.cli import several  # here, as programs in C need none of it

    chosen = several.machines(arguments.config, arguments.overrides)
    if len(chosen) > 1:
        raise UserError(f"this is for one machine, and --set gives {len(chosen)}")
    program: Any = compiled(arguments)
    return program, chosen[0].config


def _run_sam(program: SamProgram, arguments: argparse.Namespace) -> int:
    from custard.cli import several  # here, as programs in C need none of it
    from sam.dot import to_dot
    from sam.drawing import draw
    from sim.simulation import require_engine

    chosen = several.machines(arguments.config, arguments.overrides)
    several.require_several(arguments, len(chosen))
    outputs = [output_of(text, program.cin.target) for text in arguments.outputs]
    require_engine(engine(arguments), arguments.validate)
    if pages(arguments) or arguments.window is not None:
        require_pages(arguments, bool(arguments.inputs) or _needs_no_input(program))
    for stage in program.stages:
        if arguments.dot is not None:
            path = _of_stage(Path(arguments.dot), stage, program)
            write_whole(path, to_dot(stage.graph, arguments.dot_dialect))
        if arguments.draw is not None:
            path = _of_stage(Path(arguments.draw), stage, program)
            draw(as_run(stage.graph, chosen[0].config), path)
    wanted = arguments.inputs or arguments.check or outputs or len(chosen) > 1
    if not (wanted or _needs_no_input(program)):
        told = record.of_program(program, arguments.schedule)
        record.show(_console(arguments), told)
        put_json(arguments.json, told)
        return 0
    if len(chosen) > 1:
        status, records = several.run(program, arguments, chosen, _console(arguments))
        put_json(arguments.json, records)
        return status
    run, told = _simulated(program, chosen[0].config, arguments)
    assert run.output is not None
    status = tell(program.cin.target.tensor, run.output, told, outputs, arguments)
    write_pages(run, arguments, _console(arguments))
    return status


def as_run(graph: Graph, machine: Config) -> Graph:
    """A graph with the tile loaders that a machine puts into it, if it has tiles that fit."""
    from sim.tiling import with_tiles

    try:
        return with_tiles(graph, machine)
    except UserError:
        return graph


def _run_c(program: CProgram, arguments: argparse.Namespace) -> int:
    sources = [text for text in arguments.outputs if "=" not in text]
    outputs = [output_of(t, program.cin.target) for t in arguments.outputs if t not in sources]
    c = program.linkable(arguments.prefix or "")
    for path in sources:
        if io.is_tensor_file(path):
            raise UserError(
                f"the C source would go to {path}, which is named as a tensor's file is",
                hint=f"write -o {program.cin.target.tensor}={path} for the result",
            )
        what = "header" if Path(path).suffix == ".h" else "source"
        write_whole(path, getattr(c, what))
        _console(arguments).print(Text(f"the C {what} is in {path}"), soft_wrap=True)
    wanted = arguments.inputs or arguments.check or arguments.time or outputs
    if not wanted and (sources or arguments.json or not _needs_no_input(program)):
        if not (sources or arguments.json == "-"):
            sys.stdout.write(c.source)
        put_json(arguments.json, record.of_program(program, arguments.schedule))
        return 0
    with Progress() as progress:
        result, told = record.execute(
            program,
            arguments.schedule,
            arguments.inputs,
            seed=arguments.seed,
            compare=arguments.check,
            timed=arguments.time,
            threads=arguments.threads,
            compiling=progress.compiling,
        )
    return tell(program.cin.target.tensor, result, told, outputs, arguments)


def tell(
    tensor: str,
    result: Tensor,
    told: Mapping[str, Any],
    outputs: Sequence[Path],
    arguments: argparse.Namespace,
) -> int:
    """Tells of a run, and writes its result, a tensor of some name; the exit status."""
    console = _console(arguments)
    record.show(console, told, arguments.all_lanes)
    if told.get("difference"):
        complain(told["difference"])
    put_json(arguments.json, told)
    for path in outputs:
        if path == _STDOUT:
            sys.stdout.flush()
            sys.stdout.buffer.write(io.write_bytes(result))
            continue
        io.write(path, result)
        console.print(Text(f"{tensor} is in {path}"), soft_wrap=True)
    return 0 if told.get("matches_numpy", True) else 1


def _console(arguments: argparse.Namespace) -> Console:
    taken = arguments.json == "-" or any(map(_is_stdout, arguments.outputs))
    return stdout(quiet=taken or arguments.quiet)


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
        "report": "--report",
        "trace": "--trace",
        "vcd": "--vcd",
        "window": "--window",
        "draw": "--draw",
        "plot": "--plot",
        "max_cycles": "--max-cycles",
        "all_lanes": "--all-lanes",
    },
    "c": {
        "time": "--time",
        "fast_math": "--fast-math",
        "prefix": "--prefix",
        "threads": "--threads",
    },
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


def engine(arguments: argparse.Namespace) -> str:
    """The engine that is asked for."""
    return "auto" if arguments.engine is None else arguments.engine


def require_apart(arguments: argparse.Namespace) -> None:
    """Raises UserError where two outputs go to one file, or another than the result to an input's.

    What is no regular file, such as ``/dev/stdout``, takes several.
    """
    told = [arguments.dot, arguments.draw, arguments.plot, *pages(arguments).values()]
    told.append(None if arguments.json == "-" else arguments.json)
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
    program: SamProgram, machine: Config, arguments: argparse.Namespace
) -> tuple[Run, dict[str, Any]]:
    """A run, and its record."""
    with Progress() as progress:
        return record.simulate(
            program,
            arguments.schedule,
            arguments.inputs,
            machine,
            seed=arguments.seed,
            engine=engine(arguments),
            compare=arguments.check,
            progress=progress,
            validate=arguments.validate or None,
            max_cycles=arguments.max_cycles,
            compiling=progress.compiling,
            attribution=bool(pages(arguments)),
        )


def compiled(arguments: argparse.Namespace) -> Program:
    """The program that is asked for. Raises UserError."""
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
        raise UserError(f'"{text}" is no extent', hint="--dims i=5, or --dims i=5,j=6") from None


def output_of(text: str, target: cin.Access) -> Path:
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


def put_json(place: str | None, document: Any) -> None:
    """Writes the object to stdout ("-") or a file, if either is asked for."""
    text = json.dumps(document, indent=2) + "\n"
    if place == "-":
        sys.stdout.write(text)
    elif place is not None:
        write_whole(place, text)
