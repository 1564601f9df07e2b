"""Run-length levels: runs of coordinates that follow each other, as in images and masks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sam.levels.base import (
    INDEX,
    Arrays,
    Entries,
    Ints,
    Level,
    Stored,
    Touches,
    check_range,
    distinct,
)
from sam.support.errors import UserError


@dataclass(frozen=True, eq=False)
class RunLength(Level):
    """The coordinates that occur, as runs without gaps; each run stores where it begins.

    ``segments``  parents + 1 runs: the fiber of parent p has the runs
                  ``segments[p]:segments[p + 1]``
    ``starts``    runs + 1 positions: run r has the positions ``starts[r]:starts[r + 1]``
    ``begins``    the first coordinate of each run, beyond the run before it in the fiber
    """

    code = "n"
    name = "run-length"
    gapless = iterates_positions = True

    segments: Stored
    starts: Stored
    begins: Stored

    @classmethod
    def build(cls, entries: Entries) -> tuple[Level, Ints]:
        first, position_of_entry = distinct(entries.parent, entries.coordinate)
        parent, coordinate = entries.parent[first], entries.coordinate[first]
        begins_run = np.ones(len(parent), bool)
        begins_run[1:] = (parent[1:] != parent[:-1]) | (coordinate[1:] != coordinate[:-1] + 1)
        starts = np.append(np.flatnonzero(begins_run), len(parent))
        segments = np.zeros(entries.parents + 1, np.int64)
        np.cumsum(np.bincount(parent[begins_run], minlength=entries.parents), out=segments[1:])
        return cls(segments, starts, coordinate[begins_run]), position_of_entry

    def arrays(self) -> Arrays:
        return {"seg": (INDEX, len(self.segments)), "crd": (INDEX, 2 * len(self.begins))}

    def touched_by_fiber(self, parent: int) -> Touches:
        return (("seg", parent, True), ("seg", parent + 1, True))

    def touched_by_step(self, parent: int, step: int, width: int) -> Touches:
        """The two numbers of a run, at its first position."""
        return (
            ("crd", 2 * self.run(parent, step), self.is_start(parent, step)),
            ("crd", 2 * self.run(parent, step) + 1, self.is_start(parent, step)),
        )

    def touched_by_move(self, parent: int, before: int, step: int) -> Touches:
        """The two numbers of the run of a step, unless the step before was in the same run."""
        return (
            ("crd", 2 * self.run(parent, step), self._is_new(parent, before, step)),
            ("crd", 2 * self.run(parent, step) + 1, self._is_new(parent, before, step)),
        )

    def _is_new(self, parent: int, before: int, step: int) -> bool:
        """Whether a step is in another run than the step before."""
        run = self.run(parent, before)
        other = self.run(parent, step)
        return before < 0 or run != other

    def fiber(self, parent: int) -> tuple[int, int]:
        return self.starts[self.segments[parent]], self.starts[self.segments[parent + 1]]

    def coordinate(self, parent: int, step: int) -> int:
        run = self.run(parent, step)
        return self.begins[run] + step - self.starts[run]

    def run(self, parent: int, step: int) -> int:
        """The run of a parent that has a position: the last that starts there or before."""
        low = self.segments[parent]
        high = self.segments[parent + 1]
        while high - low > 1:
            middle = (low + high) // 2
            if self.starts[middle] <= step:
                low = middle
            else:
                high = middle
        return low

    def is_start(self, parent: int, step: int) -> bool:
        """Whether a run starts at a position."""
        return self.starts[self.run(parent, step)] == step

    def positions(self, parents: int) -> int:
        return int(self.starts[-1]) if len(self.starts) else 0

    def trace(self, positions: Ints) -> tuple[Ints, Ints]:
        starts, lengths = np.asarray(self.starts), np.diff(self.segments)
        runs = np.searchsorted(starts, positions, "right") - 1
        parents = np.repeat(np.arange(len(lengths)), lengths)
        return parents[runs], np.asarray(self.begins)[runs] + positions - starts[runs]

    def validate(self, parents: int, size: int, above: Sequence[Level] = ()) -> None:
        segments, starts, begins = map(np.asarray, (self.segments, self.starts, self.begins))
        if len(segments) != parents + 1:
            raise UserError(
                f"it has {len(segments)} segments, and {parents} parents need {parents + 1}"
            )
        if segments[0] != 0 or segments[-1] != len(begins) or (np.diff(segments) < 0).any():
            raise UserError(f"its segments do not go up from 0 to its {len(begins)} runs")
        if len(starts) != len(begins) + 1 or starts[0] != 0:
            raise UserError(
                f"it has {len(starts)} starts, and {len(begins)} runs need {len(begins) + 1}, the "
                "first of them 0"
            )
        empty = np.flatnonzero(np.diff(starts) < 1)
        if len(empty):
            raise UserError(f"its run {empty[0]} has no position")
        check_range(begins, size)
        check_range(begins + np.diff(starts) - 1, size)
        first = np.zeros(len(begins) + 1, bool)
        first[segments] = True
        after = begins[1:] <= begins[:-1] + np.diff(starts)[:-1] - 1
        wrong = np.flatnonzero(after & ~first[1:-1])
        if len(wrong):
            raise UserError(f"its run {wrong[0] + 1} does not begin beyond the one before it")
