"""Runs the programs of real users on a target, each against dense numpy.

    python experiments/corpus.py [FILE ...] [--target sam] [--engine auto] [--only plain|scheduled]
                                 [--ignore-units] [--limit N] [--jobs N] [--again]
                                 [--output FOLDER]

A file holds command lines of TACO, as ``shared/corpus/accepted.txt`` and ``refused.txt`` do, or is
``taco_tests.json``; all three by default. A program runs on two random inputs (extents 1 to 6), on
all-empty and on all-full ones, or on the inputs that the file records. It comes out

    right    every result is numpy's, or the recorded one
    wrong    some result is not
    refused  a UserError
    crashed  any other exception, a deadlock, or no result in time

``--engine both`` runs each input on both engines, and counts any difference as wrong: values,
cycles, statistics, the text of an error. ``--ignore-units`` passes over each ``parallelize`` with a
unit that the target lacks. ``out/corpus-FILE-TARGET.jsonl`` (with the engine behind the target,
where it is not auto) gets a line with the result of each program. A program with a line is not run
again, so a stopped run continues; ``--again`` reruns programs that were not right. Prints the
counts, and the reasons of all that is not right, most frequent first. Exits with 1 where something
is wrong or crashed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import signal
import sys
import time
import traceback
import zlib
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field, replace
from math import prod
from multiprocessing import active_children
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))
# Waiting threads leave the processor to others.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import custard
from custard import UserError
from custard.language import notation
from custard.language.formats import LEVEL_FORMATS, Format, parse_declaration
from custard.targets import TARGETS
from experiments.dense import evaluate
from sim import Run

CORPUS = Path(__file__).parents[2] / "shared/corpus"
FILES = ("accepted.txt", "refused.txt", "taco_tests.json")

OUTCOMES = ("right", "wrong", "refused", "crashed")
SECONDS = 60
MOST_POINTS = 1500
LARGEST_EXTENT = 6


@dataclass(frozen=True)
class Case:
    """Inputs of a program; ``due`` is the result if a file records it, and numpy tells it if not.

    ``extents``  of every variable that the program uses
    """

    name: str
    extents: Mapping[str, int]
    inputs: Mapping[str, np.ndarray]
    due: np.ndarray | None = None


@dataclass(frozen=True)
class Recorded:
    """Inputs and result as a file records them: lists of (coordinates, value), and shapes."""

    inputs: Mapping[str, Sequence[Any]]
    result: Sequence[Any]
    shapes: Mapping[str, Sequence[int]]


_LOOP_COMMANDS = ("split", "divide", "fuse", "pos", "coord", "precompute", "locate", "coiterate")


@dataclass(frozen=True)
class Entry:
    """A program of a corpus. ``text`` identifies it; ``types`` are numpy's, by tensor.

    ``ignore_units`` passes over units that the target lacks.
    """

    text: str
    expression: str
    formats: tuple[str, ...] = ()
    schedule: tuple[str, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    recorded: tuple[Recorded, ...] = ()
    ignore_units: bool = False

    @property
    def commands(self) -> str:
        """The sort of its scheduling commands: "none", "reorder" only, "loops" if commands derive
        or move loops or precompute a part, or "other", which need a target with processors.
        """
        commands = {text.partition("(")[0].strip() for text in self.schedule} - {""}
        kinds = {"none": set(), "reorder": {"reorder"}, "loops": {"reorder", *_LOOP_COMMANDS}}
        return next((kind for kind, known in kinds.items() if commands <= known), "other")


@dataclass(frozen=True)
class Result:
    """The outcome of an entry.

    ``reason``     one line, empty where all is right; ``detail`` is the whole message
    ``evaluable``  whether the dense evaluator can compute the program
    """

    text: str
    outcome: str
    reason: str = ""
    detail: str = ""
    evaluable: bool = True
    seconds: float = 0.0


def attempt(
    entry: Entry, target: str = "sam", engine: str = "auto", threads: Sequence[int] = (1, 4)
) -> Result:
    """Compiles and runs an entry on all its inputs, in ``SECONDS`` at most."""
    started = time.perf_counter()

    def result(outcome: str, reason: str = "", detail: str = "", evaluable: bool = True) -> Result:
        seconds = round(time.perf_counter() - started, 3)
        return Result(entry.text, outcome, reason, detail, evaluable, seconds)

    try:
        with _time_limit():
            wrong = _first_wrong(entry, target, engine, threads)
        return result("wrong", wrong, wrong) if wrong else result("right")
    except UserError as error:
        if error.what.startswith(_DEADLOCK):
            return result("crashed", error.what.split("\n")[0], str(error))
        return result("refused", error.what.split("\n")[0], str(error), _evaluable(entry))
    except _TooLong:
        return result("crashed", f"no result in {SECONDS} seconds", traceback.format_exc())
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(frame.filename).stem}.{frame.name}"
        first = str(error).split("\n")[0]
        reason = f"{type(error).__name__} in {place}: {first}"
        return result("crashed", reason, traceback.format_exc())


_DEADLOCK = ("deadlock", "the simulation stops")


class _TooLong(BaseException):
    """Not an Exception, so that nothing on the way swallows it."""


@contextmanager
def _time_limit() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _first_wrong(entry: Entry, target: str, engine: str, threads: Sequence[int]) -> str:
    """How the first wrong result differs, or ""."""
    assignment = _parsed(entry)
    formats = _formats(entry, assignment)

    def compiled(dims: Mapping[str, int] | None) -> custard.Program:
        return custard.compile(
            entry.expression,
            formats,
            entry.schedule,
            target,
            dims,
            ignore_units=entry.ignore_units,
        )

    program = compiled(None)
    free = _unfixed(assignment)
    for case in cases(entry, assignment):
        dims = {variable: case.extents[variable] for variable in free}
        if dims:
            program = compiled(dims)
        if engine == "both":
            found, wrong = _on_both(program, case.inputs)
            results = [found]
        elif target == "sam":
            results, wrong = [program.run(case.inputs, engine=engine)], ""
        else:
            numbers = threads if program.lowered.threaded else [1]
            results, wrong = [program.run(case.inputs, threads=n) for n in numbers], ""
        if not wrong:
            due = case.due
            if due is None:
                due = evaluate(_plain(assignment), case.inputs, dims)
            wrong = next(filter(None, (difference(one.to_numpy(), due) for one in results)), "")
        if wrong:
            extents = ", ".join(f"{name}={extent}" for name, extent in case.extents.items())
            return f"{wrong}, on {case.name} inputs with {extents}"
    return ""


def _on_both(program: custard.Program, inputs: Mapping[str, Any]) -> tuple[Any, str]:
    """The result on SimPy, and its difference from the compiled engine's; raises what both
    raise."""
    found: list[Run | UserError] = []
    for engine in ("simpy", "compiled"):
        try:
            found.append(program.simulate(inputs, engine=engine))
        except UserError as error:
            found.append(error)
    wrong = engines_differ(*found)
    if isinstance(found[0], UserError) and not wrong:
        raise found[0]
    return found[0] if isinstance(found[0], UserError) else found[0].output, wrong


def engines_differ(simpy: Run | UserError, compiled: Run | UserError) -> str:
    """The first difference between the runs of two engines, in words; "" for none."""
    if isinstance(simpy, UserError) or isinstance(compiled, UserError):
        said = [str(one) if isinstance(one, UserError) else "a result" for one in (simpy, compiled)]
        if said[0] == said[1]:
            return ""
        return f"the engines differ: {said[0]} on simpy, {said[1]} on compiled"
    if simpy.cycles != compiled.cycles:
        return f"the engines differ: {simpy.cycles} cycles on simpy, {compiled.cycles} on compiled"
    for name in ("blocks", "streams"):
        one, other = getattr(simpy, name), getattr(compiled, name)
        for key in sorted({*one, *other}):
            if one.get(key) != other.get(key):
                return (
                    f"the engines differ in the statistics of {key}: "
                    f"{one.get(key)} on simpy, {other.get(key)} on compiled"
                )
    if simpy.output.format != compiled.output.format:
        return "the engines differ in the format of the result"
    values = [repr(run.output.to_numpy().tolist()) for run in (simpy, compiled)]
    return "" if values[0] == values[1] else "the engines differ in the values of the result"


def _parsed(entry: Entry) -> notation.Assignment:
    declared = [text.partition(":")[0].strip() for text in entry.formats]
    return notation.parse(entry.expression, declared)


def _plain(assignment: notation.Assignment) -> str:
    """The expression with its subscripts in parentheses, as the dense evaluator reads them."""
    text = assignment.text
    for access in sorted(notation.accesses(assignment), key=lambda one: -one.span[0]):
        start, end = access.span
        if access.indices and not text[start:end].endswith(")"):
            subscripts = ",".join(text[slice(*index.span)] for index in access.indices)
            text = f"{text[:start]}{access.tensor}({subscripts}){text[end:]}"
    return text


def _formats(entry: Entry, assignment: notation.Assignment) -> dict[str, Format]:
    orders = {access.tensor: len(access.indices) for access in notation.accesses(assignment)}
    return dict(parse_declaration(text, orders) for text in entry.formats)


def _evaluable(entry: Entry) -> bool:
    try:
        assignment = _parsed(entry)
        case = next(cases(replace(entry, formats=()), assignment))
        free = _unfixed(assignment)
        evaluate(_plain(assignment), case.inputs, {v: case.extents[v] for v in free})
    except (UserError, ValueError):
        return False
    return True


def difference(found: np.ndarray, due: np.ndarray) -> str:
    """The first place where two arrays differ by more than rounding, in words; "" for none.

    Infinities are equal whatever their sign: it may be that of a zero under a fraction, and a
    product of zeros is -0 or 0 in dense numpy while a sparse machine never sees it.
    """
    if found.shape != due.shape:
        return f"the result has the shape {found.shape}, and numpy's has {due.shape}"
    largest = np.abs(due[np.isfinite(due)]).max(initial=1)
    equal = np.isclose(found, due, 1e-9, 1e-9 * largest, equal_nan=True)
    equal |= np.isinf(found) & np.isinf(due)
    if equal.all():
        return ""
    at = tuple(int(axis[0]) for axis in np.nonzero(~np.atleast_1d(equal)))[: found.ndim]
    place = f" at ({','.join(map(str, at))})" if at else ""
    return f"the result{place} is {found[at].item()}, and numpy's is {due[at].item()}"


def cases(entry: Entry, assignment: notation.Assignment) -> Iterator[Case]:
    """The inputs for an entry: its recorded ones, or else four that its text determines."""
    if entry.recorded:
        yield from (_recorded(record, assignment, entry.types) for record in entry.recorded)
        return
    seed = zlib.crc32(entry.text.encode())
    formats = _formats(entry, assignment)
    for n, (name, density) in enumerate(
        (("random", 0.6), ("random", 0.3), ("empty", 0.0), ("full", 1.0))
    ):
        random = np.random.default_rng([seed, n])
        extents = {**_extents(assignment, random), **_bounded(entry, assignment)}
        inputs = {}
        for tensor, variables in _inputs(assignment):
            shape = [extents[variable] for variable in variables]
            array = _array(random, shape, density, entry.types.get(tensor, "float64"))
            inputs[tensor] = _fitted(array, formats[tensor]) if tensor in formats else array
        yield Case(name, extents, inputs)


def _array(
    random: np.random.Generator, shape: Sequence[int], density: float, dtype: str
) -> np.ndarray:
    """Small whole numbers, so that sums are exact in any order and any type."""
    values = random.integers(1, 5, shape)
    if np.dtype(dtype).kind in "ifc":
        values = values * random.choice((-1, 1), shape)
    return np.where(random.random(shape) < density, values, 0).astype(dtype)


def _fitted(array: np.ndarray, format: Format) -> np.ndarray:
    """The array with one child for each parent where a level of the format cannot have others.

    That is a branchless level, unless a level that is not unique gives a parent to each entry.
    """
    array = array.transpose(format.mode_order)
    parents, parent_of_each = np.ones((), bool), False
    for n, code in enumerate(format.levels):
        level, below = LEVEL_FORMATS[code], tuple(range(n + 1, array.ndim))
        parent_of_each = parent_of_each if level.branchless else not level.unique
        if level.branchless and not parent_of_each:
            present = array.any(axis=below)
            chosen = np.arange(array.shape[n]) == np.expand_dims(present.argmax(axis=n), n)
            array = np.where(np.expand_dims(chosen, below), array, 0)
            array.reshape(*parents.shape, -1)[parents & ~present.any(axis=n), 0] = 1
        parents = np.expand_dims(parents, n) & (array.any(axis=below) | level.full)
    return array.transpose(np.argsort(format.mode_order))


def _inputs(assignment: notation.Assignment) -> list[tuple[str, list[str]]]:
    """The accesses that read a tensor, as its name and its variables, in the order of the text."""
    target, *read = notation.accesses(assignment)
    if assignment.operator == "+=":
        read.append(target)
    return [(access.tensor, [index.name for index in access.indices]) for access in read]


def _unfixed(assignment: notation.Assignment) -> list[str]:
    """The variables whose extent no input fixes."""
    fixed = {variable for _, variables in _inputs(assignment) for variable in variables}
    return [variable for variable in _variables(assignment) if variable not in fixed]


def _variables(assignment: notation.Assignment) -> list[str]:
    found = (n.name for n in notation.walk(assignment) if isinstance(n, notation.Variable))
    return list(dict.fromkeys(found))


def _extents(assignment: notation.Assignment, random: np.random.Generator) -> dict[str, int]:
    """Random extents: equal where variables share a mode, and ``MOST_POINTS`` points at most."""
    leader = {variable: variable for variable in _variables(assignment)}
    first: dict[str, list[str]] = {}
    read = _inputs(assignment)
    target = assignment.target
    if target.tensor in dict(read):
        read.append((target.tensor, [index.name for index in target.indices]))
    for tensor, variables in read:
        for one, other in zip(first.setdefault(tensor, variables), variables, strict=True):
            one, other = leader[one], leader[other]
            leader = {v: one if found == other else found for v, found in leader.items()}
    drawn = {v: int(random.integers(1, LARGEST_EXTENT + 1)) for v in dict.fromkeys(leader.values())}
    while prod(drawn[found] for found in leader.values()) > MOST_POINTS:
        drawn[max(drawn, key=lambda v: (drawn[v], random.random()))] -= 1
    return {variable: drawn[found] for variable, found in leader.items()}


def _bounded(entry: Entry, assignment: notation.Assignment) -> dict[str, int]:
    """The extents that ``bound`` tells exactly: of variables, and of those that are split into
    tiles whose number it tells."""
    found: dict[str, int] = {}
    tiles: dict[str, tuple[str, int]] = {}
    commands = [text for whole in entry.schedule for text in re.findall(r"\w+\([^()]*\)", whole)]
    names = {variable: variable for variable in _variables(assignment)}
    for name, _, rest in (text.partition("(") for text in commands):
        words = [word.strip() for word in rest.rstrip(")").split(",")]
        if name == "split" and words[0] in names:
            tiles[words[1]] = (names[words[0]], int(words[3]))
        if name == "bound" and words[3] == "MaxExact":
            number = int(words[2])
            if words[0] in names:
                names[words[1]] = names[words[0]]
                found[names[words[0]]] = number
            elif words[0] in tiles:
                variable, size = tiles[words[0]]
                found[variable] = number * size
    return found


def _recorded(record: Recorded, assignment: notation.Assignment, types: Mapping[str, str]) -> Case:
    """A recorded case; where no shapes are recorded, the coordinates tell the extents."""
    target = assignment.target
    lists = {tensor: record.inputs[tensor] for tensor, _ in _inputs(assignment)}
    extents: dict[str, int] = {}
    accesses = [*_inputs(assignment), (target.tensor, [index.name for index in target.indices])]
    for n, (tensor, variables) in enumerate(accesses):
        entries = record.result if n == len(accesses) - 1 else lists[tensor]
        least = [1 + max((point[mode] for point, _ in entries), default=0)
                 for mode in range(len(variables))]  # fmt: skip
        for variable, extent in zip(variables, record.shapes.get(tensor, least), strict=True):
            extents[variable] = max(extent, extents.get(variable, 1))
    arrays = {
        tensor: _scattered(lists[tensor], [extents[v] for v in variables], types.get(tensor))
        for tensor, variables in _inputs(assignment)
    }
    due = _scattered(record.result, [extents[index.name] for index in target.indices])
    return Case("the recorded", extents, arrays, due)


def _scattered(
    entries: Sequence[Any], shape: Sequence[int], dtype: str | None = None
) -> np.ndarray:
    """The dense array of a list of entries, whose complex numbers look like "(10,0)"."""
    points = [(tuple(point), _number(value)) for point, value in entries]
    array = np.zeros(shape, dtype or np.result_type(float, *(value for _, value in points)))
    for point, value in points:
        array[point] = value
    return array


def _number(value: Any) -> complex | float:
    if isinstance(value, str):
        real, imaginary = value.strip("()").split(",")
        return complex(float(real), float(imaginary))
    return float(value)


# Reading a corpus


def read(path: Path) -> tuple[list[Entry], dict[str, list[str]]]:
    """The distinct entries of a file, and the programs beyond the grammar, by kind."""
    if path.suffix == ".json":
        return read_tests(path)
    lines = path.read_text().splitlines()
    entries = (read_line(line) for line in lines if line.strip())
    distinct = {(e.expression, e.formats, e.schedule): e for e in entries}
    return list(distinct.values()), {}


def read_line(line: str) -> Entry:
    """The entry of a command line of TACO: ``taco "EXPRESSION" -f=FORMAT ... -s=COMMAND ...``."""
    match shlex.split(line):
        case ["taco", expression, *options] if all(o.startswith(("-f=", "-s=")) for o in options):
            pass
        case _:
            raise ValueError(f"not a line of the corpus: {line}")
    return Entry(
        line,
        expression,
        tuple(option[3:] for option in options if option.startswith("-f=")),
        tuple(option[3:] for option in options if option.startswith("-s=")),
    )


_TYPES = {
    "float": "float32", "double": "float64",
    "float complex": "complex64", "complexfloat": "complex64",
    "double complex": "complex128", "complexdouble": "complex128",
    "char": "int8", "short": "int16", "int": "int32", "long": "int64", "longlong": "int64",
    "uchar": "uint8", "ushort": "uint16", "uint": "uint32", "ulong": "uint64",
    "ulonglong": "uint64",
}  # fmt: skip


def read_tests(path: Path) -> tuple[list[Entry], dict[str, list[str]]]:
    """The entries of ``taco_tests.json``, and those beyond the grammar of DESIGN.md, section 3."""
    entries: dict[str, Entry] = {}
    beyond: dict[str, list[str]] = {}
    for test in json.loads(path.read_text()):
        expression = test["expr"]
        formats = [text for text in test["formats"].split() if not text.endswith(":?")]
        kind = beyond_grammar(expression, {text.split(":")[0] for text in formats})
        if kind:
            beyond.setdefault(kind, []).append(expression)
            continue
        used = set(re.findall(r"\w+", expression))
        declared = [text.replace(":scalar", ":") for text in formats if text.split(":")[0] in used]
        options = " ".join(f"-f={text}" for text in declared)
        about = " ".join(filter(None, (test["source_test"].split(";")[0], test["notes"])))
        text = f'taco "{expression}" {options} # {about}'
        recorded = tuple(_record(case, expression) for case in test.get("cases", ()))
        entries[text] = Entry(
            text, expression, tuple(declared), (), _types(test["notes"]), recorded
        )
    return list(entries.values()), beyond


def beyond_grammar(expression: str, tensors: set[str]) -> str:
    """The construct of an expression of TACO's tests that index notation lacks, or ""."""
    _, _, right = expression.partition("=")
    called = {name for name in re.findall(r"(\w+)\(", right) if name not in tensors}
    subscripts = set(re.findall(r"\w+", " ".join(re.findall(r"\(([\w, ]*)\)", expression))))
    bare = set(re.findall(r"\b[A-Za-z]\w*\b(?!\()", re.sub(r"\w+\([\w, ]*\)", "", right)))
    kinds = {
        "several statements": re.match(r"(where|forall|sequence|multi)\(", expression),
        "index sets": "[{" in expression,
        "windows": "[" in expression,
        "other assignments": re.search(r"\w+=", expression),
        "casts": "cast<" in expression,
        "functions and custom operators": tensors and called,
        "index variables as values": tensors and bare & subscripts - tensors,
    }
    return next((kind for kind, found in kinds.items() if found), "")


def _types(notes: str) -> dict[str, str]:
    """numpy's types in notes such as ``b dtype int32_t; c dtype float`` and ``-t a:double``."""
    found = re.findall(r"(\w+) dtype ([\w ]+)", notes)
    found += re.findall(r"(\w+):(\w+)", notes) if "-t " in notes else []
    return {tensor: _TYPES.get(name, name.removesuffix("_t")) for tensor, name in found}


def _record(case: Mapping[str, Any], expression: str) -> Recorded:
    target = re.split(r"[ (]", expression)[0]
    result = case.get("result") or case.get("expected")
    shapes = {tensor: json.loads(shape or "[]") for tensor, shape in case.get("shapes", {}).items()}
    return Recorded(case["inputs"], result[target], shapes)


# Running a corpus


def run(
    entries: Sequence[Entry],
    target: str,
    path: Path,
    jobs: int = 1,
    again: bool = False,
    engine: str = "auto",
) -> dict[str, Result]:
    """The results of entries by text: those that ``path`` has, and new ones, which it gets.

    ``again`` reruns entries that were not right.
    """
    known = read_results(path)
    done = {
        entry.text: known[entry.text]
        for entry in entries
        if entry.text in known and not (again and known[entry.text].outcome != "right")
    }
    waiting = [entry for entry in entries if entry.text not in done]
    path.parent.mkdir(parents=True, exist_ok=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    results = _results(waiting, target, jobs, engine)
    with path.open("a") as file, bar, closing(results):
        task = bar.add_task("", total=len(entries), completed=len(done))
        for result in results:
            done[result.text] = result
            _append(file, result)
            counts = Counter(one.outcome for one in done.values())
            shown = ", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES)
            bar.update(task, advance=1, description=f"{path.stem}: {shown}")
    return done


def read_results(path: Path) -> dict[str, Result]:
    """The results in a file by text; the later of two counts, and a line cut off does not."""
    found: dict[str, Result] = {}
    if path.is_file():
        for line in path.read_text().splitlines():
            try:
                result = Result(**json.loads(line))
            except (json.JSONDecodeError, TypeError):
                continue
            found[result.text] = result
    return found


def _append(file: TextIO, result: Result) -> None:
    file.write(json.dumps(asdict(result)) + "\n")
    file.flush()


def _results(
    entries: Sequence[Entry], target: str, jobs: int, engine: str
) -> Generator[Result, None, None]:
    """The results as they come, on that many processes, which end when the generator is closed."""
    if jobs == 1:
        yield from (attempt(entry, target, engine) for entry in entries)
        return
    pool = ProcessPoolExecutor(jobs, initializer=_ignore_interrupts)
    futures = [pool.submit(attempt, entry, target, engine) for entry in entries]
    try:
        for future in as_completed(futures):
            yield future.result()
    finally:
        if not all(future.done() for future in futures):
            for worker in active_children():
                worker.terminate()
        pool.shutdown(cancel_futures=True)


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


# The summary

_COMMANDS = {
    "none": "none",
    "reorder": "reorder only",
    "loops": f"{', '.join(_LOOP_COMMANDS[:-2])}",
    "other": "others",
}


def counts(pairs: Sequence[tuple[Entry, Result]], title: str) -> Table:
    """The number of programs by outcome and by the sort of their scheduling commands."""
    table = Table(title=title)
    table.add_column("scheduling commands")
    for name in ("programs", *OUTCOMES, "right"):
        table.add_column(name, justify="right")
    rows = {shown: [r for e, r in pairs if e.commands == name] for name, shown in _COMMANDS.items()}
    evaluable = [r for e, r in pairs if e.commands == "none" and r.evaluable]
    rows["none, where numpy can evaluate the program"] = evaluable
    for name, results in rows.items():
        if results:
            found = Counter(result.outcome for result in results)
            share = f"{100 * found['right'] / len(results):.1f} %"
            numbers = (str(found[outcome]) for outcome in OUTCOMES)
            table.add_row(name, str(len(results)), *numbers, share)
    return table


def ranked(pairs: Iterable[tuple[Entry, Result]]) -> list[tuple[int, str, str, str]]:
    """The number of programs for each outcome and reason, most first, and an example."""
    examples: dict[tuple[str, str], list[str]] = {}
    for entry, result in pairs:
        if result.outcome != "right":
            reason = pattern(result.reason, entry)
            examples.setdefault((result.outcome, reason), []).append(entry.text)
    found = (
        (len(texts), outcome, reason, min(texts, key=len))
        for (outcome, reason), texts in examples.items()
    )
    return sorted(found, key=lambda row: -row[0])


def pattern(reason: str, entry: Entry) -> str:
    """A reason with its numbers as N and the names of the entry as _, each list as one of them."""
    arguments = (re.search(r"\(.*\)", text) for text in entry.schedule)
    said = [entry.expression, *(found[0] for found in arguments if found)]
    names = set(re.findall(r"[A-Za-z_]\w*", " ".join(said)))
    article, apostrophe = r"a(?= \w)", r"(?<!')"
    text = re.sub(
        rf"\b(?!{article}){apostrophe}[A-Za-z_]\w*",
        lambda found: "_" if found[0] in names or len(found[0]) == 1 else found[0],
        reason,
    )
    text = re.sub(r"-?\b\d+(\.\d+)?(e[+-]?\d+)?", "N", text)
    return re.sub(r"([^\s,]+)(,\s*\1)+", r"\1", text)


def main(arguments: list[str] | None = None) -> int:
    """Runs the files; the exit status tells whether nothing is wrong or crashed."""
    options = _parse(arguments)
    console = Console(emoji=False, highlight=False)
    status = 0
    for path in options.files:
        entries, beyond = read(path)
        if options.only == "plain":
            entries = [entry for entry in entries if entry.commands in ("none", "reorder")]
        elif options.only == "scheduled":
            entries = [entry for entry in entries if entry.commands in ("loops", "other")]
        ignored = options.ignore_units
        entries = [replace(one, ignore_units=ignored) for one in entries[: options.limit]]
        engine = "" if options.engine == "auto" else f"-{options.engine}"
        units = "-units-ignored" if ignored else ""
        output = options.output / f"corpus-{path.stem}-{options.target}{engine}{units}.jsonl"
        try:
            run(entries, options.target, output, options.jobs, options.again, options.engine)
        except KeyboardInterrupt:
            Console(stderr=True).print(f"interrupted; {output} has what was run")
            return 130
        results = read_results(output)
        pairs = [(entry, results[entry.text]) for entry in entries]
        console.print(
            counts(pairs, f"{path.name} on target {options.target}, engine {options.engine}")
        )
        for number, outcome, reason, example in ranked(pairs):
            console.print(f"{number:5}  [bold]{outcome}[/]  {escape(reason)}", soft_wrap=True)
            console.print(f"       [dim]{escape(example)}[/]", soft_wrap=True)
        for kind, expressions in sorted(beyond.items(), key=lambda item: -len(item[1])):
            console.print(f"{len(expressions):5}  [bold]beyond the grammar[/]  {kind}")
            console.print(f"       [dim]{escape(min(expressions, key=len))}[/]", soft_wrap=True)
        if any(result.outcome in ("wrong", "crashed") for _, result in pairs):
            status = 1
    return status


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    option = parser.add_argument
    option("files", nargs="*", type=Path, default=[CORPUS / name for name in FILES])
    option("--target", default="sam", choices=TARGETS)
    option("--engine", default="auto", choices=("auto", "simpy", "compiled", "both"))
    option("--ignore-units", action="store_true", help="pass over units that the target lacks")
    option("--only", choices=("plain", "scheduled"),
           help="programs without a schedule or with reorder only; or the others")  # fmt: skip
    option("--limit", type=int, metavar="N", help="the first N programs of each file")
    option("--jobs", type=int, default=os.cpu_count(), metavar="N", help="processes")
    option("--again", action="store_true", help="run those again that were not right")
    option("--output", type=Path, default=Path("out"), help="the folder of the results")
    options = parser.parse_args(arguments)
    for path in options.files:
        if not path.is_file():
            parser.error(f"{path} is not there: the corpus is not shipped, so name other files")
    return options


if __name__ == "__main__":
    sys.exit(main())
