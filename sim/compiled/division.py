"""Divides the parts of a machine among threads, so that none has much more to do than the others.

Weights come from the start of the run itself: the time that each part has taken, and how many
tokens each queue has passed on. A token between two threads costs each of them the time of a copy.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

COPY = 12.0
"""Nanoseconds of a thread for a token that it passes on or takes over (measured)."""

# Bounds of the search: changes, groups that are exchanged, and the share that a change must gain.
_MOST_CHANGES, _HEAVY, _LEAST_GAIN = 200, 16, 1e-6


@dataclass(frozen=True)
class Passage:
    """A queue between two parts, given by their numbers.

    ``cost``  nanoseconds that it costs each of two threads that share it; None if they cannot
    """

    giver: int
    taker: int
    cost: float | None


def divided(weights: Sequence[float], passages: Sequence[Passage], threads: int) -> list[int]:
    """The thread of each part, in the best division found: the busiest thread has the least to do.

    Local search from a few starting divisions: it moves one part, or exchanges two, while that
    helps.
    """
    groups = _groups(len(weights), passages)
    known = {group: n for n, group in enumerate(dict.fromkeys(groups))}
    numbers = [known[group] for group in groups]
    loads = [0.0] * len(known)
    for n, weight in zip(numbers, weights, strict=True):
        loads[n] += weight
    costs: list[dict[int, float]] = [defaultdict(float) for _ in loads]
    for one in passages:
        a, b = numbers[one.giver], numbers[one.taker]
        if a != b and one.cost is not None:
            costs[a][b] += one.cost
            costs[b][a] += one.cost
    starts = [
        _in_order(loads, threads),
        _in_order(loads[::-1], threads)[::-1],
        _by_weight(loads, threads),
    ]
    found = [_Division(start, loads, costs, threads) for start in starts]
    for division in found:
        division.improve()
    best = min(found, key=_Division.measure)
    return [best.at[n] for n in numbers]


def busiest(weights: Sequence[float], passages: Sequence[Passage], threads: Sequence[int]) -> float:
    """The work of the busiest thread, in nanoseconds."""
    loads: dict[int, float] = defaultdict(float)
    for thread, weight in zip(threads, weights, strict=True):
        loads[thread] += weight
    for one in passages:
        a, b = threads[one.giver], threads[one.taker]
        if a != b:
            loads[a] += one.cost or 0.0
            loads[b] += one.cost or 0.0
    return max(loads.values(), default=0.0)


class _Division:
    """Groups of parts on threads.

    ``at``    the thread of each group
    ``sums``  the work of each thread
    """

    def __init__(
        self,
        at: list[int],
        loads: Sequence[float],
        costs: Sequence[Mapping[int, float]],
        threads: int,
    ) -> None:
        self.at, self.loads, self.costs = at, loads, costs
        self.sums = [0.0] * threads
        for n, load in enumerate(loads):
            self.sums[at[n]] += load
            self.sums[at[n]] += sum(cost for m, cost in costs[n].items() if at[m] != at[n])

    def measure(self) -> tuple[float, float]:
        """The work of the busiest thread, and of all together."""
        return max(self.sums), sum(self.sums)

    def move(self, n: int, thread: int) -> None:
        """Moves a group to a thread."""
        before, self.at[n] = self.at[n], thread
        self.sums[before] -= self.loads[n]
        self.sums[thread] += self.loads[n]
        for m, cost in self.costs[n].items():
            if self.at[m] != before:
                self.sums[before] -= cost
                self.sums[self.at[m]] -= cost
            if self.at[m] != thread:
                self.sums[thread] += cost
                self.sums[self.at[m]] += cost

    def improve(self) -> None:
        """Makes the best of all changes again and again, as long as one helps."""
        heavy = sorted(range(len(self.at)), key=lambda n: -self.loads[n])[:_HEAVY]
        for _ in range(_MOST_CHANGES):
            changes = [[(n, t)] for n in range(len(self.at)) for t in range(len(self.sums))]
            changes += [[(a, self.at[b]), (b, self.at[a])] for a in heavy for b in heavy if a < b]
            best, found = self.measure(), None
            for change in changes:
                back = [(n, self.at[n]) for n, _ in change]
                for n, thread in change:
                    self.move(n, thread)
                measure = self.measure()
                for n, thread in back:
                    self.move(n, thread)
                if measure[0] < best[0] * (1 - _LEAST_GAIN):
                    best, found = measure, change
            if found is None:
                return
            for n, thread in found:
                self.move(n, thread)


def _groups(count: int, passages: Sequence[Passage]) -> list[int]:
    """For each part the first part of its group, whose parts must stay together."""
    leader = list(range(count))

    def find(n: int) -> int:
        while leader[n] != n:
            n = leader[n]
        return n

    for one in passages:
        if one.cost is None:
            a, b = sorted((find(one.giver), find(one.taker)))
            leader[b] = a
    return [find(n) for n in range(count)]


def _in_order(loads: Sequence[float], threads: int) -> list[int]:
    """Equal shares of the groups in their order."""
    total, before, found = sum(loads) or 1.0, 0.0, []
    for load in loads:
        found.append(min(threads - 1, int((before + load / 2) / total * threads)))
        before += load
    return found


def _by_weight(loads: Sequence[float], threads: int) -> list[int]:
    """Each group, heaviest first, on the thread that has the least work."""
    found, sums = [0] * len(loads), [0.0] * threads
    for n in sorted(range(len(loads)), key=lambda n: -loads[n]):
        found[n] = sums.index(min(sums))
        sums[found[n]] += loads[n]
    return found
