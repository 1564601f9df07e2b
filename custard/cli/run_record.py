"""The record of a program and its run: one JSON object, and the report that is printed of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from custard.cli import run_report as report
from custard.cli.arguments import Parser, complain, parse, stdout
from custard.cli.inputs import read_inputs
from custard.cli.unfinished import UnfinishedRun
from custard.ir import cin
from custard.program import Program
from sam.inputs import extents
from sam.support import c_compiler
from sam.support.errors import UserError
from sam.support.interrupts import interruptible
from sam.support.json_text import parse_json
from sam.support.version import PACKAGE, release
from sam.tensor import Tensor
from sim.config.naming import ran_on

if TYPE_CHECKING:
    from custard.dense_evaluator import Expected
    from custard.to_c.call import Bound
    from custard.to_c.program import CProgram
    from custard.to_sam.program import SamProgram
    from sim.config.hardware import Config
    from sim.endless import OutOfCycles
    from sim.simulation import Progress
    from sim.stats import Run

_RUNS, _LEAST_SECONDS = 7, 0.2
_AT_ONCE = 0.02  # seconds between outcomes that were found together, at most
_MOST_BYTES = 64 * 2**20  # of a file with a record
RECORD_VERSION = 1


def versions() -> dict[str, str]:
    """The versions of this package, of Python and of numpy, for records that are kept."""
    import platform  # here, as is ``release``, as most commands keep nothing

    return {
        PACKAGE: release(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def of_program(program: Program, schedule: Sequence[str]) -> dict[str, Any]:
    """The record of a program that has not run."""
    of_target = program.described()
    return {
        "record_version": RECORD_VERSION,
        "target": program.target,
        "expression": program.expression,
        "formats": {tensor: str(format) for tensor, format in program.formats.items()},
        "schedule": list(schedule),
        "loops": list(program.statements[-1].loops),
        "cin": "; ".join(map(str, program.statements)),
        "notes": list(program.notes),
        "dims": dict(program.dims),
        **of_target,
    }


def simulate(
    program: SamProgram,
    schedule: Sequence[str],
    inputs: Sequence[str],
    machine: Config,
    *,
    seed: int = 0,
    engine: str = "auto",
    compare: bool = False,
    progress: Progress | None = None,
    validate: bool | None = None,
    max_cycles: int | None = None,
    compiling: Callable[[int], None] | None = None,
    attribution: bool = False,
    threads: int = 1,
) -> tuple[Run, dict[str, Any]]:
    """A run, and its record.

    ``inputs`` are texts as of ``-i``. With ``compare`` the record tells whether the result
    ``matches_numpy`` and, if not, the first ``difference``. ``compiling`` is called with the
    number of kernels before they are compiled, and with 0 afterwards. Raises UserError, which is
    UnfinishedRun for a run that takes more than ``max_cycles``.
    """
    from sim.endless import OutOfCycles

    tensors = read_inputs(inputs, program, seed)
    expected = _expected(program, tensors) if compare else None
    about = {**of_program(program, schedule), "inputs": list(inputs), "seed": seed}
    started = time.perf_counter()
    with c_compiler.watched(compiling) as compiled:
        try:
            run = program.simulate(
                tensors,
                machine,
                engine=engine,
                progress=progress,
                validate=validate,
                max_cycles=max_cycles,
                attribution=attribution,
                threads=threads,
            )
        except OutOfCycles as late:
            raise unfinished(late, about, started, compiled) from None
    seconds = time.perf_counter() - started - compiled.seconds
    return run, _of_run(about, run, seconds, compiled.seconds, expected)


def unfinished(
    late: OutOfCycles, about: Mapping[str, Any], started: float, compiled: c_compiler.Compilation
) -> UnfinishedRun:
    """The error for a run that was ended; ``about`` is the record of its program.

    It has ``started`` at that time; ``compiled`` counts the kernels compiled for it.
    """

    def record() -> dict[str, Any] | None:
        with c_compiler.watched() as more:
            run = late.reached
        if not run.cycles:
            return None
        compile_seconds = compiled.seconds + more.seconds
        told = {
            **about,
            **report.as_json(run),
            "seconds": time.perf_counter() - started - compile_seconds,
            "compile_seconds": compile_seconds,
            "unfinished": late.what,
        }
        first = f"the run is not done: all numbers are of its first {run.cycles:,} cycles"
        return {**told, "notes": [*about["notes"], first]}

    return UnfinishedRun(late, record)


def simulate_many(
    program: SamProgram,
    schedule: Sequence[str],
    inputs: Sequence[str],
    machines: Sequence[Config],
    finished: Callable[[int, dict[str, Any] | Exception], None],
    *,
    seed: int = 0,
    engine: str = "auto",
    compare: bool = False,
    max_cycles: int | None = None,
) -> None:
    """Runs a program on several machines.

    ``finished`` is called with the number of a machine and the record, which is that of
    ``simulate``, or the error, as soon as that is known. Raises UserError for inputs that do not
    fit.
    """
    from sim.endless import OutOfCycles

    tensors = read_inputs(inputs, program, seed)
    expected = _expected(program, tensors) if compare else None
    about = {**of_program(program, schedule), "inputs": list(inputs), "seed": seed}
    held: list[tuple[int, Any]] = []
    before = last = (time.perf_counter(), 0.0)  # and the seconds in compilers until then

    def finish(n: int, outcome: Any) -> None:
        nonlocal last
        now = (time.perf_counter(), compiled.seconds)
        if now[0] - last[0] > _AT_ONCE:
            tell()
        held.append((n, outcome))
        last = now

    def tell() -> None:
        """Passes on the outcomes that were found together; each has its share of the time."""
        nonlocal before
        compiling = last[1] - before[1]
        seconds = last[0] - before[0] - compiling
        for n, outcome in held:
            if isinstance(outcome, OutOfCycles):
                outcome = unfinished(outcome, about, last[0], c_compiler.Compilation())
            elif not isinstance(outcome, Exception):
                share = 1 / len(held)
                outcome = _of_run(about, outcome, seconds * share, compiling * share, expected)
            finished(n, outcome)
        held.clear()
        before = last

    with c_compiler.watched(None) as compiled:
        program.simulate_many(
            tensors,
            machines,
            engine=engine,
            max_cycles=max_cycles,
            finished=finish,
            return_errors=True,
        )
        tell()


def _of_run(
    about: Mapping[str, Any],
    run: Run,
    seconds: float,
    compile_seconds: float,
    expected: Expected | None,
) -> dict[str, Any]:
    """The record of a run; ``about`` is that of its program and inputs."""
    assert run.output is not None
    told = {
        **about,
        **report.as_json(run),
        "seconds": seconds,
        "compile_seconds": compile_seconds,
    }
    return {**told, "notes": [*about["notes"], *run.notes], **_compared(run.output, expected)}


def execute(
    program: CProgram,
    schedule: Sequence[str],
    inputs: Sequence[str],
    *,
    seed: int = 0,
    compare: bool = False,
    timed: bool = False,
    threads: int | None = None,
    compiling: Callable[[int], None] | None = None,
) -> tuple[Tensor, dict[str, Any]]:
    """The result of a run in C, and its record.

    With ``timed`` the record has the ``times`` of the kernel alone; ``threads`` share its parallel
    loops. The other arguments are those of ``simulate``. Raises UserError.
    """
    tensors = read_inputs(inputs, program, seed)
    expected = _expected(program, tensors) if compare else None
    started = time.perf_counter()
    with c_compiler.watched(compiling) as compiled:
        bound = program.bind(tensors, threads)
        bound.prepare()  # on this thread, where Ctrl-C leaves no files of a compiler behind
        output = interruptible(bound.run)
    seconds = time.perf_counter() - started - compiled.seconds
    told = {
        **of_program(program, schedule),
        "inputs": list(inputs),
        "seed": seed,
        "seconds": seconds,
        "compile_seconds": compiled.seconds,
        "result": report.result_as_json(program.cin.target.tensor, output),
    }
    if program.lowered.threaded:
        told["threads"] = bound.threads
    told["notes"] += [note for note in bound.decisions if note not in told["notes"]]
    if timed:
        told["times"] = _times(program, bound, tensors)
    return output, {**told, **_compared(output, expected)}


def _times(program: CProgram, bound: Bound, inputs: Mapping[str, Tensor]) -> dict[str, Any]:
    """The median and the minimum of many runs, and the median per entry of the largest input, a
    sparse one if there is any.
    """

    def timed() -> list[float]:
        found: list[float] = []
        started = time.perf_counter()
        while len(found) < _RUNS or time.perf_counter() - started < _LEAST_SECONDS:
            found.append(bound.seconds())
        return found

    seconds = interruptible(timed)
    import statistics  # here, as few runs are timed

    times: dict[str, Any] = {
        "runs": len(seconds),
        "median": statistics.median(seconds),
        "minimum": min(seconds),
    }

    def size(name: str) -> tuple[bool, int]:
        return not set(program.formats[name].levels) <= {"d"}, inputs[name].nnz

    largest = max(inputs, key=size, default=None)
    if largest is not None and inputs[largest].nnz:
        entries = inputs[largest].nnz
        times |= {"largest": largest, "entries": entries}
        times["nanoseconds_per_entry"] = 1e9 * times["median"] / entries
    return times


def _compared(output: Tensor, expected: Expected | None) -> dict[str, Any]:
    if expected is None:
        return {}
    from custard.dense_evaluator import first_difference  # here, as few runs are checked

    difference = first_difference(output, expected)
    return {"difference": difference, "matches_numpy": difference is None}


def show(console: Console, told: Mapping[str, Any], all_lanes: bool = False) -> None:
    """Prints the report of a record; with ``all_lanes`` a row for the blocks of each lane."""
    if "sentence" in told:
        _show_explained(console, told)
        return
    ran = "cycles" in told
    how = "compiled, not run: no inputs are given"
    if "compiler" in told and told.get("result"):
        how = f"compiled to C by {told['compiler']}"
    elif ran:
        how = ran_on(told["config"], told["engine"])
    stored = (f"{tensor} {format}" for tensor, format in told["formats"].items() if format != ":")
    lines = [told["cin"], f"formats {', '.join(stored)}", how]
    console.print(Text(told["expression"], "bold"), soft_wrap=True)
    for line in (*lines, *(f"note: {note}" for note in told["notes"])):
        console.print(Text(f"  {line}"), soft_wrap=True)
    if ran:
        console.print(report.summary(told, told["seconds"], console.width, all_lanes))
    elif "primitives" in told:
        console.print(_primitives(told))
    else:
        for line in _run_in_c(told):
            console.print(line, soft_wrap=True)
    if told.get("matches_numpy"):
        console.print(Text("matches numpy", "green"))


def _show_explained(console: Console, told: Mapping[str, Any]) -> None:
    """Prints an explanation, and of which run it is."""
    from sim.explain.telling import Explanation  # here, as few records are of explanations

    console.print(Text(told["expression"], "bold"), soft_wrap=True)
    console.print(Text(f"  {told['cin']}"), soft_wrap=True)
    console.print(Text(f"  inputs {', '.join(told['inputs'])}\n"), soft_wrap=True)
    for line in Explanation.of_json(told).lines():
        console.print(Text(line), soft_wrap=True)


def _run_in_c(told: Mapping[str, Any]) -> Iterator[Text]:
    """The report of a run in C: the time of the kernel, and its result."""
    if times := told.get("times"):
        yield Text(f"\n{1e3 * times['median']:.4g} ms", "bold").append(
            f", the median of {times['runs']:,} runs; the minimum is "
            f"{1e3 * times['minimum']:.4g} ms",
            "not bold",
        )
        if "largest" in times:
            yield Text(
                f"{times['nanoseconds_per_entry']:.3g} ns for each of the "
                f"{_count(times['entries'], 'entry', 'entries')} of {times['largest']}"
            )
    if told.get("result"):
        yield from report.result_lines(told["result"])


def _count(n: int, one: str, more: str) -> str:
    return f"{n:,} {one if n == 1 else more}"


def report_file(console: Console, path: Path) -> int:
    """Prints the report of a record in a file: a result of a sweep, or what ``--json`` wrote.

    That may be an explanation, too.

    Returns the exit status that the run would have had. Raises UserError.
    """
    from custard.cli import record_schema as schema  # here, as its models take long to make

    found = parse_json(_text(path), str(path))
    if isinstance(found, dict) and found.get("status") == "failed":
        if found.get("reached") is not None:
            show(console, schema.record(found["reached"], str(path)))
        complain(str(UserError(schema.failure(found, str(path)))))  # shortened, if it is long
        return 1
    inner = found.get("record", found) if isinstance(found, dict) else found
    told = schema.record(inner, str(path))
    show(console, told)
    if told.get("unfinished"):
        complain(told["unfinished"])
        return 2
    if told.get("difference"):
        complain(told["difference"])
        return 1
    return 0


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise UserError(f"{path} is not a result: it has more than {_MOST_BYTES} bytes")
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise UserError(f"{path} is not a result: it is not UTF-8 text") from None
    except (OSError, ValueError) as mistake:
        why = getattr(mistake, "strerror", None) or str(mistake)
        raise UserError(f"cannot read {path}: {why}") from None


def report_command(argv: Sequence[str]) -> int:
    """Prints the report of a result of a sweep, or of a file of --json."""
    parser = Parser(prog="custard report", description=report_command.__doc__, allow_abbrev=False)
    parser.add_argument("file", metavar="RESULT")
    return report_file(stdout(), Path(parse(parser, argv, ()).file))


def _primitives(told: Mapping[str, Any]) -> Table:
    table = Table("primitive", "count", box=None, pad_edge=False, header_style="bold")
    for primitive, count in told["primitives"].items():
        table.add_row(primitive.replace("_", " "), str(count))
    return table


def _expected(program: Program, inputs: Mapping[str, Tensor]) -> Expected:
    from custard.dense_evaluator import evaluate  # here, as few runs are checked

    needed = map(cin.base, program.cin.loops)
    found = extents(program.slots, inputs, program.dims, needed, (), program.cin.spans)
    by_base = {cin.base(variable): extent for variable, extent in found.items()}
    return evaluate(program.expression, inputs, by_base, program.formats)
