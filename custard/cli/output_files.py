"""The outputs of the command: the report, the JSON object, and the result's files."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from custard.cli.arguments import complain, stdout
from custard.cli.inputs import expand_home, file_of
from custard.cli.run_files import pages
from custard.ir import cin
from sam import io
from sam.support.errors import UserError
from sam.support.files import require_folder, write_whole
from sam.tensor import Tensor

if TYPE_CHECKING:
    from rich.console import Console

    from custard.cli.unfinished import UnfinishedRun

# A result written here is a MatrixMarket text, and nothing else is printed.
_STDOUT = Path("-")


def tell(
    tensor: str,
    result: Tensor,
    told: Mapping[str, Any],
    outputs: Sequence[Path],
    arguments: argparse.Namespace,
) -> int:
    """Tells of a run, and writes its result, a tensor of some name; the exit status."""
    from custard.cli import run_record as record  # here, as printed programs need none of it

    console = console_of(arguments)
    record.show(console, told, arguments.all_lanes)
    if told.get("difference"):
        complain(told["difference"])
    put_record(arguments.json, told)
    for path in outputs:
        if path == _STDOUT:
            sys.stdout.flush()
            sys.stdout.buffer.write(io.write_bytes(result))
            continue
        io.write(path, result)
        console.print(f"{tensor} is in {path}", soft_wrap=True)
    return 0 if told.get("matches_numpy", True) else 1


def tell_unfinished(late: UnfinishedRun, arguments: argparse.Namespace) -> None:
    """Tells of the cycles of a run before it was ended, and which files are not written."""
    from custard.cli import run_record as record

    if late.record is not None:
        record.show(console_of(arguments), late.record, arguments.all_lanes)
        put_record(arguments.json, late.record)
    if pages(arguments):
        complain(f"{', '.join(pages(arguments))}: nothing is written of a run that is not done")


def console_of(arguments: argparse.Namespace) -> Console:
    """Stdout for the report, if nothing else goes there."""
    outputs = [text for text in arguments.outputs if not _is_stdout(text)]
    taken = arguments.json == "-" or len(outputs) < len(arguments.outputs)
    files = bool(outputs or arguments.json or pages(arguments))
    return stdout(quiet=taken or arguments.quiet, files=files)


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


def _is_stdout(output: str) -> bool:
    _, equals, path = output.partition("=")
    return bool(equals) and path.strip() == str(_STDOUT)


def require_outputs(arguments: argparse.Namespace) -> None:
    """Raises UserError where two outputs go to one file, an output other than the result goes to an
    input's file, one that cannot go to stdout is asked for there, or JSON cannot be written.

    A file that is not regular, such as ``/dev/stdout``, may take several.
    """
    told = [arguments.dot, arguments.draw, arguments.plot, *pages(arguments).values()]
    if arguments.json not in (None, "-"):
        require_folder(arguments.json)
        told.append(arguments.json)
    outputs = [name for name in told if name is not None]
    if "-" in outputs:
        raise UserError(
            "- is stdout, where only results and JSON are written", hint="/dev/stdout is a file"
        )
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


def put_record(place: str | None, told: Mapping[str, Any]) -> None:
    """Writes a record as ``put_json`` does, with the versions of the programs that made it."""
    if place is not None:
        from custard.cli.run_record import versions

        put_json(place, {**told, "versions": versions()})


def put_json(place: str | None, document: Any) -> None:
    """Writes the object to stdout ("-") or a file, if either is asked for."""
    if place is None:
        return
    text = json.dumps(document, indent=2) + "\n"
    if place == "-":
        sys.stdout.write(text)
    else:
        write_whole(place, text)
