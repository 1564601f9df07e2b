"""``custard EXPRESSION`` on target c: writes the source, runs the kernel, and reports."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from custard.cli.combinations import require_run
from custard.cli.inputs import needs_no_input
from custard.cli.output_files import console_of, output_of, put_record, tell
from custard.cli.progress import Progress
from custard.to_c.program import CProgram
from sam import io
from sam.support.errors import UserError
from sam.support.files import write_whole


def run(program: CProgram, arguments: argparse.Namespace) -> int:
    sources = [text for text in arguments.outputs if "=" not in text]
    outputs = [output_of(t, program.cin.target) for t in arguments.outputs if t not in sources]
    c = program.linkable(arguments.prefix or "")
    for path in sources:
        if io.is_tensor_file(path):
            raise UserError(
                f"the C source would go to {path}, whose suffix is that of a tensor",
                hint=f"write -o {program.cin.target.tensor}={path} for the result",
            )
        what = "header" if Path(path).suffix == ".h" else "source"
        write_whole(path, getattr(c, what))
        console_of(arguments).print(f"the C {what} is in {path}", soft_wrap=True)
    wanted = arguments.inputs or arguments.check or arguments.time or outputs
    if arguments.prefix is not None and wanted and not sources:
        raise UserError("--prefix is for a source, and none is written", hint="-o FILE.c")
    told_only = not wanted and (sources or arguments.json or not needs_no_input(program))
    require_run(arguments, runs=not told_only)
    if told_only and not sources and arguments.json != "-":
        sys.stdout.write(c.source)
    if told_only and arguments.json is None:
        return 0
    from custard.cli import run_record as record  # here, as printed programs need none of it

    if told_only:
        put_record(arguments.json, record.of_program(program, arguments.schedule))
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
