"""The work of the server's processes: a request in plain data in, an answer in plain data out.

A request becomes the words of the command, so the page shows what the command does; the answer has
it as ``command``.
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Collection, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from custard.cli import execution
from custard.cli.inputs import input_uses, read_inputs
from custard.cli.options import parse_command
from custard.language.commands import COMMANDS
from custard.language.formats import LEVEL_FORMATS, NAMED_FORMATS
from custard.targets import DEFAULT, target_of
from sam.support.errors import StreamError, UserError

SAMPLE = "west0067.mtx"
MOST_CYCLES = 5_000_000
_MOST_TEXT = 10_000
_GENERATED = re.compile(r"@dense|@random(\([0-9.]{1,8}\))?|[-+]?[0-9.]{1,20}(e[-+]?[0-9]{1,3})?")
_LONG_RUN = 200_000


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """Does what a request asks for: its ``do`` is "compile" or "run".

    A mistake of the user is an answer too: its text is ``error``.
    """
    try:
        return _run(request) if request.get("do") == "run" else _compile(request)
    except UserError as mistake:
        return {"error": str(mistake)}
    except StreamError as mistake:
        return {"error": f"{mistake}\nhint: a block or the graph is at fault, not what you wrote"}
    except MemoryError:
        return {"error": "the run needs more memory than the server gives to a run"}


def words_to_complete() -> dict[str, Any]:
    """The words that the page can complete: formats, scheduling commands and configs."""
    from sim.config.hardware import shipped

    return {
        "formats": [*NAMED_FORMATS, *LEVEL_FORMATS],
        "commands": {name: f"{name}({one})" for name, one in COMMANDS.items()},
        "configs": list(shipped()),
        "sample": SAMPLE,
    }


def sample() -> Path:
    """The matrix that comes with the page."""
    return Path(str(resources.files("custard.cli.serve").joinpath(SAMPLE)))


def _text(request: Mapping[str, Any], name: str) -> str:
    value = request.get(name, "")
    if not isinstance(value, str) or len(value) > _MOST_TEXT:
        raise UserError(f"{name} is not a text of at most {_MOST_TEXT:,} characters")
    return value.strip()


def _texts(request: Mapping[str, Any], name: str) -> dict[str, str]:
    value = request.get(name) or {}
    if not isinstance(value, dict) or len(value) > 100:
        raise UserError(f"{name} is not a table of texts")
    return {str(key): _text(value, key) for key in value}


def words(request: Mapping[str, Any], inputs: bool) -> list[str]:
    """The words of the command that a request stands for. Raises UserError."""
    expression = _text(request, "expression")
    if not expression:
        raise UserError("there is no expression", hint="as in y(i) = A(i,j) * x(j)")
    if expression.startswith("-"):
        raise UserError("an expression begins with the tensor that it computes")
    found = [expression]
    for tensor, form in _texts(request, "formats").items():
        if form:
            found.append(f"-f={tensor}:{form}")
    for line in _text(request, "schedule").splitlines():
        if line.strip():
            found.append(f"-s={line.strip()}")
    target = _text(request, "target")
    if target and target != DEFAULT:
        found.append(f"--target={target}")
    if _text(request, "dims"):
        found.append(f"--dims={_text(request, 'dims')}")
    if target_of(target or DEFAULT).simulated:
        found += _machine(request)
    if inputs:
        for tensor, value in _texts(request, "inputs").items():
            found += ["-i", f"{tensor}={_input(request, tensor, value)}"]
    return found


def _machine(request: Mapping[str, Any]) -> list[str]:
    """The words about the machine: a shipped config, no path."""
    from sim.config.hardware import shipped

    found = []
    config = _text(request, "config")
    if config and config != "ideal":
        if config not in shipped():
            raise UserError(f"there is no shipped config {config}")
        found.append(f"--config={config}")
    for line in _text(request, "overrides").splitlines():
        if line.strip():
            found.append(f"--set={line.strip()}")
    return found


def _input(request: Mapping[str, Any], tensor: str, value: str) -> str:
    """The word for an input in the command; paths are only those that the server has given."""
    if value == "@sample":
        return str(sample())
    if value.startswith("@upload:"):
        uploads = request.get("uploads") or {}
        if value[8:] not in uploads:
            raise UserError(f"the file of {tensor} is no longer there", hint="upload it again")
        return str(uploads[value[8:]])
    if not _GENERATED.fullmatch(value):
        raise UserError(
            f'"{value}" is not an input for {tensor}',
            hint="@random, @random(0.1), @dense, a number, the sample or a file",
        )
    return value


def _parsed(found: list[str]) -> argparse.Namespace:
    return parse_command(found)


def _compile(request: Mapping[str, Any]) -> dict[str, Any]:
    """The program: its inputs, its CIN and notes, and its graph or its C."""
    found = words(request, inputs=False)
    arguments = _parsed(found)
    program: Any
    if target_of(arguments.target).simulated:
        program, _ = execution.prepared(arguments)
    else:
        program = execution.compiled(arguments)
    inputs = {name: len(program.formats[name].levels) for name in sorted(input_uses(program))}
    told = {
        "cin": [str(one) for one in program.statements],
        "notes": list(program.notes),
        "formats": {name: str(form) for name, form in program.formats.items() if form.levels},
        "inputs": inputs,
        "result": program.cin.target.tensor,
        "command": shlex.join(["custard", *_with_inputs(request, inputs)]),
    }
    return {**told, **program.shown()}


def _with_inputs(request: Mapping[str, Any], known: Collection[str]) -> list[str]:
    """The words of the command with the inputs of the tensors that it has, as far as they are
    there."""
    inputs = {}
    for tensor, value in _texts(request, "inputs").items():
        try:
            _input(request, tensor, value)
        except UserError:
            continue
        if tensor in known:
            inputs[tensor] = value
    return words({**request, "inputs": inputs}, inputs=True)


def _run(request: Mapping[str, Any]) -> dict[str, Any]:
    """A run: its cycles, the page about it, and the command that does the same."""
    found = words(request, inputs=True)
    arguments = _parsed(found)
    if not target_of(arguments.target).simulated:
        return _run_in_c(arguments, found)
    program, machine = execution.prepared(arguments)
    tensors = read_inputs(arguments.inputs, program, arguments.seed)
    run = program.simulate(tensors, machine, max_cycles=MOST_CYCLES, attribution=True)
    from sim.report_page.page import page

    html = page(run, explained=run.cycles <= _LONG_RUN)
    return {"cycles": run.cycles, "report": html, "command": shlex.join(["custard", *found])}


def _run_in_c(arguments: argparse.Namespace, found: list[str]) -> dict[str, Any]:
    from custard.cli.run_record import execute

    program: Any = execution.compiled(arguments)
    output, told = execute(program, arguments.schedule, arguments.inputs, timed=True)
    return {
        "milliseconds": 1e3 * told["times"]["median"],
        "nnz": output.nnz,
        "command": shlex.join(["custard", *found, "--time"]),
    }
