"""``custard.autoschedule``: schedules and formats, ranked by the time they would take.

All loop orders are estimated on the inputs; the best of them are estimated with tiles, workspaces
and loops that are shared out. Those with the best estimates may be measured: seconds on target c,
simulated cycles on target sam. Measured schedules are ranked by measurement, before the others.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from numbers import Integral
from typing import Any

import numpy as np

from custard.autoscheduling.autoscheduler import MeasuringMachine, Told, autoscheduler
from custard.autoscheduling.candidates import orders
from custard.autoscheduling.fibers import InputFibers
from custard.autoscheduling.measuring import measured
from custard.autoscheduling.problem import Candidate, Problem, follows
from custard.compiler import compile
from custard.ir import cin
from custard.ir.concretization import concretize
from custard.language import notation
from custard.language.formats import Format
from custard.program import Program
from custard.targets import DEFAULT, Target, require_option, require_simulated, target_of
from sam.inputs import as_tensor, extents, require_inputs
from sam.support.errors import UserError
from sam.tensor import Tensor

# How many loop orders, the best by estimate, are tried with the partitions of the target.
_EXTENDED = 24


@dataclass(frozen=True)
class Ranked:
    """A schedule with formats, and its time: seconds on target c, cycles on target sam.

    ``measured``  None where it was only estimated
    ``program``   the compiled program
    """

    schedule: tuple[str, ...]
    formats: Mapping[str, str]
    estimate: float
    measured: float | None
    program: Program

    def __repr__(self) -> str:
        formats = ", ".join(f"{name}:{form}" for name, form in self.formats.items())
        return (
            f"Ranked({'; '.join(self.schedule) or 'no schedule'}; {formats}; "
            f"estimate {self.estimate:.3g}, measured {self.measured})"
        )

    def command(self, options: Sequence[str] = ()) -> str:
        """The command line that compiles it, with more options, such as ``["-i", "B=b.mtx"]``."""
        words = ["custard", self.program.expression]
        words += [f"-f={name}:{form}" for name, form in self.formats.items()]
        words += [f"-s={command}" for command in self.schedule]
        words += ["--target", self.program.target] * (self.program.target != DEFAULT)
        return shlex.join([*words, *options])


def autoschedule(
    expression: str,
    inputs: Mapping[str, Any],
    formats: Mapping[str, str | Format] | None = None,
    target: str = "sam",
    dims: Mapping[str, int] | None = None,
    *,
    time: int = 0,
    simulate: int = 0,
    threads: int | None = None,
    lanes: int = 1,
    config: Any = None,
    overrides: Mapping[str, Any] | None = None,
    engine: str = "auto",
    most: int = 20,
    drop_zeros: bool = False,
    fast_math: bool = False,
    again: bool = False,
    told: Told | None = None,
) -> list[Ranked]:
    """Schedules for an expression on its inputs, the best first.

    ``formats``   those that are asked for. Operands without one are stored in the order of the
                  loops; of results without one, some formats are tried
    ``time``      how many of the best are timed, on target c
    ``simulate``  how many are simulated, on target sam, on the machine of ``config``, ``overrides``
                  and ``engine``, as ``sim.simulate`` has them
    ``threads``   that may share a loop on target c, one for each CPU unless told; ``lanes`` on
                  target sam
    ``drop_zeros``, ``fast_math``  as ``compile`` has them
    ``most``      how many schedules there are in the result, at most
    ``again``     measures what was measured before anew
    ``told``      called now and then with the current work in words

    Measurements are kept in the cache, by the facts that decide them. Raises UserError.
    """
    chosen = target_of(target)
    _require(chosen, time, simulate, lanes, most)
    tell = told or (lambda text: None)
    machine = MeasuringMachine(threads, config, overrides, engine)
    base = compile(expression, formats, (), target, dims, False, drop_zeros, fast_math)
    require_inputs(base.slots, inputs)
    tensors = {name: as_tensor(name, value) for name, value in inputs.items()}
    program = concretize(notation.parse(expression, base.formats))
    names = [cin.base(loop) for loop in base.cin.loops]
    known = extents(base.slots, tensors, base.dims, names, (), base.cin.spans)
    fibers = InputFibers(tensors, {cin.base(variable): size for variable, size in known.items()})
    problem = Problem(
        program,
        {name: form for name, form in base.formats.items() if name not in base.undeclared},
        frozenset(name for name, tensor in tensors.items() if _is_dense(inputs[name], tensor)),
        fibers.extents,
        sum(tensor.nnz for tensor in tensors.values()),
        chosen,
        autoscheduler(chosen).parts(lanes, machine),
    )

    def made(candidate: Candidate) -> Program:
        schedule, given = list(candidate.schedule), _declared(candidate.formats)
        return compile(expression, given, schedule, target, dims, False, drop_zeros, fast_math)

    found = list(islice(_ranked(problem, fibers, made, tell), most))
    count = simulate if chosen.simulated else time
    results = measured([one.program for one in found[:count]], tensors, machine, again, tell)
    for n, result in enumerate(results):
        found[n] = replace(found[n], measured=result)
    return sorted(found, key=lambda one: (one.measured is None, one.measured or one.estimate))


def _ranked(
    problem: Problem, fibers: InputFibers, made: Callable[[Candidate], Program], tell: Told
) -> Iterator[Ranked]:
    """The candidates that the compiler takes, those with the best estimates first.

    If it takes some without transposing an operand, the others are left out.
    """
    rating = _Rating(problem, fibers, tell)
    plain = list(orders(problem))
    orderly = [one for one in plain if follows(one)] or plain
    rating.rate([*_as_they_are(problem, made), *orderly])
    best = [one for _, one in rating.best() if one.schedule or not problem.loops[1:]]
    for one in best[:_EXTENDED]:
        rating.rate(autoscheduler(problem.target).partitions(problem, one))
    others: list[Ranked] = []
    taken = False
    made_before = set()
    for n, (about, candidate) in enumerate(rating.best()):
        tell(f"{n:,} of {len(rating.rated):,} schedules compiled")
        try:
            program = made(candidate)
        except UserError as mistake:
            rating.refused = rating.refused or mistake
            continue
        if program.identity in made_before:
            continue
        made_before.add(program.identity)
        found = Ranked(candidate.schedule, _declared(candidate.formats), about, None, program)
        if program.rearranged:
            others.append(found)
        else:
            taken = True
            yield found
    if not taken:
        yield from others
        if not others and rating.refused is not None:
            raise rating.refused


class _Rating:
    """Candidates with their estimates, and the first mistake that a schedule had."""

    def __init__(self, problem: Problem, fibers: InputFibers, tell: Told) -> None:
        self.problem, self.fibers, self.tell = problem, fibers, tell
        self.rated: list[tuple[float, Candidate]] = []
        self.refused: UserError | None = None

    def rate(self, candidates: Iterable[Candidate]) -> None:
        """Rates more candidates."""
        own = autoscheduler(self.problem.target)
        for one in candidates:
            self.tell(f"{len(self.rated):,} schedules estimated")
            try:
                self.rated.append((own.estimate(one, self.problem, self.fibers), one))
            except UserError as mistake:
                self.refused = self.refused or mistake

    def best(self) -> list[tuple[float, Candidate]]:
        """The candidates, those with the best estimates first."""
        return sorted(self.rated, key=lambda one: one[0])


def _as_they_are(problem: Problem, made: Callable[[Candidate], Program]) -> Iterator[Candidate]:
    """The programs whose loops the compiler chooses itself."""
    for formats in autoscheduler(problem.target).free(problem):
        with suppress(UserError):
            bare = Candidate((), formats, ())
            yield replace(bare, statements=(made(bare).cin,))


def _is_dense(given: Any, tensor: Tensor) -> bool:
    """Whether an input is a dense array, or a tensor with an entry for each place."""
    is_array = isinstance(given, np.ndarray | list | tuple)
    return tensor.ndim > 0 and (is_array or tensor.nnz == math.prod(tensor.shape))


def _declared(formats: Mapping[str, Format]) -> dict[str, str]:
    """Formats as they are written."""
    return {name: str(form) for name, form in formats.items() if form.levels}


def _require(target: Target, time: int, simulate: int, lanes: int, most: int) -> None:
    """Raises UserError for wrong numbers, and for a measurement that the target does not have."""
    whole = {"time": time, "simulate": simulate, "lanes": lanes, "most": most}
    for name, number in whole.items():
        least = int(name in ("lanes", "most"))
        if isinstance(number, bool) or not isinstance(number, Integral) or number < least:
            raise UserError(f"{name} is {number!r}, not a whole number of at least {least}")
    if time:
        require_option(target.name, "time")
    if simulate:
        require_simulated(target.name, "simulate")
