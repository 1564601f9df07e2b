"""A program of a corpus on all its inputs, against dense numpy, and its outcome."""

from __future__ import annotations

import signal
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import custard
from custard import UserError
from custard.language import notation
from experiments.dense import evaluate
from experiments.taco_programs.entries import Entry
from experiments.taco_programs.inputs import cases, formats, parsed, unfixed
from sim import Run

OUTCOMES = ("right", "wrong", "refused", "crashed")
SECONDS = 60
_DEADLOCK = ("deadlock", "the simulation stops")


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
    assignment = parsed(entry)
    declared = formats(entry, assignment)

    def compiled(dims: Mapping[str, int] | None) -> custard.Program:
        return custard.compile(
            entry.expression,
            declared,
            entry.schedule,
            target,
            dims,
            ignore_units=entry.ignore_units,
        )

    program = compiled(None)
    free = unfixed(assignment)
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


def _plain(assignment: notation.Assignment) -> str:
    """The expression with its subscripts in parentheses, as the dense evaluator reads them."""
    text = assignment.text
    for access in sorted(notation.accesses(assignment), key=lambda one: -one.span[0]):
        start, end = access.span
        if access.indices and not text[start:end].endswith(")"):
            subscripts = ",".join(text[slice(*index.span)] for index in access.indices)
            text = f"{text[:start]}{access.tensor}({subscripts}){text[end:]}"
    return text


def _evaluable(entry: Entry) -> bool:
    try:
        assignment = parsed(entry)
        case = next(cases(replace(entry, formats=()), assignment))
        free = unfixed(assignment)
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
