"""The part of the search for a schedule that differs by target: candidates, estimates,
measurements.

The table of targets (``custard.targets``) names the module of each target's ``AUTOSCHEDULER``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from custard.autoscheduling.fibers import InputFibers
from custard.autoscheduling.problem import Candidate, Problem
from custard.language.formats import Format
from custard.program import Program
from custard.targets import Target
from custard.to_c.program import number_of_threads
from sam.tensor import Tensor

Told = Callable[[str], None]
Key = tuple[str, ...]


@dataclass(frozen=True)
class MeasuringMachine:
    """The machine that programs are measured on: threads of this machine, or a simulated one."""

    asked_threads: int | None = None
    config: Any = None
    overrides: Mapping[str, Any] | None = None
    engine: str = "auto"

    @property
    def threads(self) -> int:
        """How many threads share a loop; raises UserError for a number that is none of threads."""
        return number_of_threads(self.asked_threads)


class Autoscheduler(ABC):
    """The part of the search that a target has to itself."""

    @abstractmethod
    def parts(self, lanes: int, machine: MeasuringMachine) -> int:
        """How many lanes, or threads, may share a loop."""

    @abstractmethod
    def partitions(self, problem: Problem, plain: Candidate) -> Iterator[Candidate]:
        """The candidates made from one that only orders its loops: with tiles, say."""

    @abstractmethod
    def free(self, problem: Problem) -> Iterator[Mapping[str, Format]]:
        """The formats with which the compiler may choose the loops by itself."""

    @abstractmethod
    def estimate(self, candidate: Candidate, problem: Problem, fibers: InputFibers) -> float:
        """About how many seconds, or cycles, a candidate takes; raises UserError where the
        schedule cannot be followed."""

    @abstractmethod
    def key(self, program: Program, machine: MeasuringMachine) -> Key:
        """The facts that decide a measurement of a program, except its inputs."""

    @abstractmethod
    def measured(
        self,
        programs: Mapping[Key, Program],
        inputs: Mapping[str, Tensor],
        machine: MeasuringMachine,
        tell: Told,
    ) -> Iterator[tuple[Key, float]]:
        """The seconds, or cycles, that programs take on the machine."""


def autoscheduler(target: Target) -> Autoscheduler:
    """The autoscheduler of a target."""
    found: Autoscheduler = import_module(target.autoscheduling).AUTOSCHEDULER
    return found
