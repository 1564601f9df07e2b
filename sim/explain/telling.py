"""An explanation of a run: a sentence that can be quoted, and the tables behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sam.blocks import KINDS
from sam.support.errors import UserError
from sim.attribution.critical_path import PathPart
from sim.config.naming import ran_on
from sim.explain.bounds import LowerBound, bounds
from sim.explain.lanes import Imbalance, imbalance
from sim.explain.what_if import changes, ideal, why_timed
from sim.stats import Run

_RERUNS, _SHOWN, _WIDTH = 8, 6, 80
_WORTH, _LESS = 0.02, 0.5
# A trial run is given up after this many times the cycles of the run, and some more.
_MOST_TIMES, _MOST_MORE = 3, 10_000
_MANY_FIRINGS, _FEW_MATCHES = 16, 0.25


@dataclass(frozen=True)
class Cause:
    """A cause that takes a share of a run's cycles: parts of the critical path that go together.

    ``what`` names the cause in words. ``parts`` are its parts of the path, the longest first.
    """

    what: str
    cycles: int
    parts: tuple[PathPart, ...] = field(repr=False)


@dataclass(frozen=True)
class WhatIf:
    """The cycles with a change; ``how`` has the options that make it.

    ``cycles``  those of the changed machine or program
    ``kept``    those with the order of service of the run before; None where that makes no
                difference, and for a change that makes no cause ideal
    ``saves``   what the change saves, in the better of the two orders; below 0 if it costs cycles
    """

    what: str
    how: tuple[str, ...]
    cycles: int
    saves: int
    kept: int | None = None

    @staticmethod
    def of(what: str, how: Sequence[str], before: int, cycles: int, kept: int | None) -> WhatIf:
        """What a change saves of the cycles before it."""
        least = cycles if kept is None else min(cycles, kept)
        return WhatIf(what, tuple(how), cycles, before - least, kept)

    @property
    def least(self) -> int:
        """The cycles in the better of the two orders."""
        return self.cycles if self.kept is None else min(self.cycles, self.kept)

    @property
    def order(self) -> str:
        """The order of service that ``least`` is for, if that is not the machine's own, and the
        cycles in its own."""
        if self.least == self.cycles:
            return ""
        before = self.least + self.saves
        own = f"{self.cycles:,} ({_change(before - self.cycles, before)})"
        return f"in this order of service, {own} in its own"

    @property
    def told(self) -> str:
        """The change and the cycles with it."""
        return f"{self.what}: {self.least:,} cycles {self.order}".rstrip()

    def change(self, before: int) -> str:
        """How the cycles change, as a share: ``-12 %``, ``same`` or ``+3 %``."""
        return _change(self.saves, before)

    def lines(self, before: int) -> list[str]:
        """What the change saves, and the options that make it."""
        first = f"  {_share(self.saves, before):>5}  {self.told}"
        how = " ".join(self.how)
        if not how or len(first) + len(how) + 4 <= _WIDTH:
            return [f"{first}  ({how})" if how else first]
        return [first, *(f"         {one}" for one in self.how)]


@dataclass(frozen=True, repr=False)
class Explanation:
    """Why a run took as long as it did.

    ``sentence``   a sentence to quote
    ``machine``    the config that it ran on, with its changes, and the engine
    ``causes``     the causes on the critical path, largest first; they add up to the run's cycles
    ``what_ifs``   changes that were tried, those that save most first
    ``bounds``     cycles that it cannot go below, the largest first
    ``imbalance``  of the lanes in words, if their work differs
    ``is_timed``   whether the work depends on time; the bounds are then those of this run's work
    ``notes``      changes that could not be tried, and why; why the work depends on time
    """

    sentence: str
    machine: str
    cycles: int
    causes: tuple[Cause, ...]
    what_ifs: tuple[WhatIf, ...]
    bounds: tuple[LowerBound, ...]
    imbalance: str | None
    is_timed: bool = False
    notes: tuple[str, ...] = ()

    @property
    def bounded(self) -> str:
        """What the bounds are, in words."""
        if self.is_timed:
            return "cycles that the work of this run takes at least"
        return "cycles that this graph cannot go below on this machine"

    def lines(self) -> list[str]:
        """The explanation as lines of text, the sentence first."""
        lines = [self.sentence, f"  {self.machine}", "", f"the {self.cycles:,} cycles went to"]
        shown = len(self.causes) if len(self.causes) == _SHOWN + 1 else _SHOWN
        for cause in self.causes[:shown]:
            lines.append(f"  {_share(cause.cycles, self.cycles):>5}  {cause.what}")
        rest = sum(cause.cycles for cause in self.causes[shown:])
        if rest:
            lines.append(f"  {_share(rest, self.cycles):>5}  {len(self.causes) - shown} others")
        better = [one for one in self.what_ifs if one.saves > 0]
        others = [one for one in self.what_ifs if one.saves <= 0]
        if better:
            lines += ["", "what would save cycles"]
        for one in better:
            lines += one.lines(self.cycles)
        if others:
            lines += ["", "what would not"]
            lines += [f"  {one.change(self.cycles):>7}  {one.told}" for one in others]
        lines += ["", self.bounded]
        for bound in self.bounds:
            lines.append(f"  {bound.cycles:>12,}  {bound.why}")
        if self.imbalance is not None:
            lines += ["", self.imbalance]
        lines += [f"note: {note}" for note in self.notes]
        return lines

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return str(self)

    def as_json(self) -> dict[str, Any]:
        """The explanation as plain JSON data."""
        return {
            "sentence": self.sentence,
            "machine": self.machine,
            "cycles": self.cycles,
            "causes": [{"what": one.what, "cycles": one.cycles} for one in self.causes],
            "what_ifs": [
                {
                    "what": n.what,
                    "how": list(n.how),
                    "cycles": n.cycles,
                    "cycles_in_this_order": n.kept,
                    "saves": n.saves,
                }
                for n in self.what_ifs
            ],
            "bounds": [{"why": one.why, "cycles": one.cycles} for one in self.bounds],
            "imbalance": self.imbalance,
            "is_timed": self.is_timed,
            "notes": list(self.notes),
        }

    @staticmethod
    def of_json(told: Mapping[str, Any]) -> Explanation:
        """The explanation that ``as_json`` told; its causes have no parts."""
        return Explanation(
            sentence=told["sentence"],
            machine=told["machine"],
            cycles=told["cycles"],
            causes=tuple(Cause(one["what"], one["cycles"], ()) for one in told["causes"]),
            what_ifs=tuple(
                WhatIf(
                    one["what"],
                    tuple(one["how"]),
                    one["cycles"],
                    one["saves"],
                    one.get("cycles_in_this_order"),
                )
                for one in told["what_ifs"]
            ),
            bounds=tuple(LowerBound(one["why"], one["cycles"]) for one in told["bounds"]),
            imbalance=told["imbalance"],
            is_timed=told.get("is_timed", False),
            notes=tuple(told["notes"]),
        )


def explain(
    run: Run, reruns: int = _RERUNS, trying: Callable[[str], None] | None = None
) -> Explanation:
    """Explains a run; at most ``reruns`` changes of each sort are tried, those on the path first.

    Each trial is a run of its own; where the work depends on time, a change that makes a cause
    ideal has a second run, in the order of service of this one. ``trying`` is called with each
    change in words before it. Raises UserError where the run can neither be run again nor has a
    log.
    """
    run = run.attributed
    tried: list[WhatIf] = []
    notes: list[str] = []

    most_cycles = _MOST_TIMES * run.cycles + _MOST_MORE

    reasons = why_timed(run)

    def attempt(
        what: str,
        how: Sequence[str],
        again: Callable[..., Run],
        in_order: Callable[..., Run] | None = None,
    ) -> None:
        if trying is not None:
            trying(what)
        try:
            cycles = again(max_cycles=most_cycles).cycles
            kept = None if in_order is None else in_order().cycles
        except UserError as mistake:
            notes.append(f"{what}: {str(mistake).splitlines()[0]}")
        else:
            tried.append(WhatIf.of(what, how, run.cycles, cycles, kept))

    if run.again is not None:
        for change in changes(run)[:reruns]:
            how = [f'--set "{key}={value}"' for key, value in change.overrides.items()]
            again = partial(run.again, config=run.config, overrides=change.overrides)
            kept = partial(again, orders=run.orders) if reasons and change.is_ideal else None
            attempt(change.what, how, again, kept)
    if run.alternatives is not None:
        for other in run.alternatives()[:reruns]:
            attempt(other.what, other.how, other.run)
    if reasons:
        timed = (
            "the work depends on time, so an ideal resource may cost cycles in an order of its own"
        )
        notes.append(f"{timed}: {', and '.join(reasons)}")
    tried.sort(key=lambda one: -one.saves)
    causes = grouped(run)
    uneven = imbalance(run)
    return Explanation(
        sentence=_sentence(run, causes, tried, uneven),
        machine=ran_on(run.config, run.engine),
        cycles=run.cycles,
        causes=causes,
        what_ifs=tuple(tried),
        bounds=tuple(bounds(run)),
        imbalance=None if uneven is None else uneven.text,
        is_timed=bool(reasons),
        notes=tuple(notes),
    )


def grouped(run: Run) -> tuple[Cause, ...]:
    """The causes on the critical path of a run: parts with one remedy go together."""
    groups: dict[tuple[str, ...], list[PathPart]] = {}
    for part in run.critical_path:
        key = (part.cause, part.memory) if part.memory else (part.cause, part.block, part.stream)
        groups.setdefault(key, []).append(part)
    found = [
        Cause(_words(run, parts), sum(part.cycles for part in parts), tuple(parts))
        for parts in groups.values()
    ]
    return tuple(sorted(found, key=lambda cause: -cause.cycles))


def _words(run: Run, parts: Sequence[PathPart]) -> str:
    """Parts of the path that go together, in words."""
    part = parts[0]
    block = run.blocks[part.block]
    if part.memory:
        arrays = list(dict.fromkeys(one.array for one in parts))
        more = f" and {len(arrays) - 2} more" if len(arrays) > 2 else ""
        kind = "latency" if part.cause == "memory latency" else part.cause
        kind = "outstanding requests" if part.cause == "outstanding" else kind
        return f"{part.memory} {kind} on {', '.join(arrays[:2])}{more}"
    if part.cause == "queue full":
        return f"room in the queue {part.stream}"
    if part.cause == "queue latency":
        return f"the latency of the queue {part.stream}"
    if part.cause == "interval":
        return f"{part.block} may not fire every cycle"
    if part.cause == "latency":
        return f"the latency of {part.block}"
    work = f"{part.block} {KINDS[block.kind].work}"
    matches = _matches(run, part.block)
    if (
        matches is not None
        and block.fired >= _MANY_FIRINGS
        and matches < _FEW_MATCHES * block.fired
    ):
        found = "1 match" if matches == 1 else f"{matches:,} matches"
        work += f", and finds {found} in {block.fired:,} firings"
    return work


def _matches(run: Run, name: str) -> int | None:
    """The coordinates that an intersecter has found; None for any other block."""
    block = run.blocks[name]
    port = KINDS[block.kind].matches
    return None if port is None else block.tokens[port]["data"]


def _sentence(
    run: Run, causes: Sequence[Cause], tried: Sequence[WhatIf], uneven: Imbalance | None
) -> str:
    if not causes:
        return "the run took no cycles"
    shares = "; ".join(
        f"{_share(cause.cycles, run.cycles)}: {cause.what}{_in_vain(run, cause, tried)}"
        for n, cause in enumerate(causes[:3])
        if n == 0 or cause.cycles >= 0.1 * run.cycles
    )
    found = f"{run.cycles:,} cycles, {shares}"
    best = tried[0] if tried else None
    saves = best.saves if best is not None and best.saves >= _WORTH * run.cycles else 0
    if uneven is not None and uneven.cycles >= max(saves, _WORTH * run.cycles):
        return f"{found}; {uneven.text}"
    if best is not None and saves:
        order = " in this order of service" if best.order else ""
        return f"{found}; {best.what} would save {_share(best.saves, run.cycles)}{order}"
    return found


def _in_vain(run: Run, cause: Cause, tried: Sequence[WhatIf]) -> str:
    """What mending a cause by itself saves, as measured, where that is less than half of its
    cycles, as another cause takes its place."""
    changes_of = {what for part in cause.parts for what, _ in ideal(run, part)}
    saves = [one.saves for one in tried if one.what in changes_of]
    if not saves or max(saves) >= _LESS * cause.cycles:
        return ""
    saved = _share(max(saves), run.cycles) if max(saves) > 0 else "nothing"
    return f" (ideal, that alone saves {saved})"


def _change(saves: int, before: int) -> str:
    """How cycles change that were as many as ``before``."""
    if saves == 0:
        return "same"
    return f"{'-' if saves > 0 else '+'}{_share(abs(saves), before)}"


def _share(part: float, whole: float) -> str:
    share = 100 * part / whole
    return f"{share:.0f} %" if share >= 1 or share == 0 else "<1 %"
