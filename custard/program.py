"""Compiled programs: the interface that all targets share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from custard.ir import cin
from custard.ir.cin import LoopProgram
from custard.language.commands import Command
from custard.language.formats import Format
from sam.graph import Slot
from sam.tensor import Tensor


@dataclass(frozen=True, repr=False)
class Program(ABC):
    """A compiled program.

    ``schedule``    the scheduling commands, as they were given
    ``cin``         its concrete index notation
    ``notes``       decisions of the compiler: loop order, transpositions, workspaces, locators
    ``undeclared``  the tensors that no format was given for
    ``choices``     commands of the schedule that force an iteration, by tensor and loop
    ``drop_zeros``  whether values that come out as 0 are kept out of its compressed levels
    """

    expression: str
    formats: Mapping[str, Format]
    undeclared: frozenset[str]
    drop_zeros: bool
    choices: Mapping[tuple[str, str], Command]
    cin: cin.LoopProgram
    dims: Mapping[str, int]
    notes: tuple[str, ...]
    schedule: tuple[str, ...]

    target: ClassVar[str]

    @abstractmethod
    def described(self) -> dict[str, Any]:
        """The facts about the target for a record of the program, as plain JSON data."""

    @abstractmethod
    def shown(self) -> dict[str, Any]:
        """The views of the program for a page: pictures of its ``graphs``, or its ``source``."""

    @property
    @abstractmethod
    def slots(self) -> tuple[Slot, ...]:
        """The storage in which the program wants its inputs."""

    @property
    @abstractmethod
    def identity(self) -> str:
        """A key that programs share which do the same, whatever schedule asked for it."""

    @property
    @abstractmethod
    def rearranged(self) -> bool:
        """Whether the program stores some tensor in another way."""

    @property
    def statements(self) -> tuple[LoopProgram, ...]:
        """The programs that are computed in turn, by the loops that the schedule makes."""
        return (self.cin,)

    def __repr__(self) -> str:
        stored = ", ".join(f"{name}:{form}" for name, form in self.formats.items() if form.levels)
        notes = "".join(f"\n  note: {note}" for note in self.notes)
        return f"{type(self).__name__} {self.expression}\n  {self.cin}\n  formats {stored}{notes}"

    def _repr_html_(self) -> str:
        from custard.notebook import of_program

        return of_program(self)

    @abstractmethod
    def run(self, inputs: Mapping[str, Any] | None = None) -> Tensor:
        """The result for inputs given by name: numpy, scipy.sparse, ``sam.Tensor``, numbers."""

    def dense_arrays(
        self, inputs: Mapping[str, Any], tensors: Mapping[str, Tensor]
    ) -> dict[str, Format]:
        """The inputs without a format that are dense arrays, each with the format that it gets."""
        return {
            name: Format("d" * tensors[name].ndim, tuple(range(tensors[name].ndim)))
            for name in sorted(self.undeclared & set(inputs))
            if isinstance(inputs[name], np.ndarray | list | tuple) and tensors[name].ndim > 0
        }
