"""Many machines at one go: a graph on its inputs under each of several hardware configs."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sam.blocks import StreamError
from sam.graph import Graph
from sam.support import c_compiler as cc
from sam.support.errors import UserError
from sim.binding import BoundGraph, bind
from sim.config.hardware import Config, alike, load_each
from sim.endless import Unfinished
from sim.simulation import (
    FEW_EVENTS,
    MANY_EVENTS,
    require_engine,
    require_graph,
    require_limit,
    run_bound,
    soon_done,
    with_reruns,
)
from sim.stats import Run
from sim.tiling import with_tiles

_AT_ONCE = 0.5
"""Seconds that a group of runs on SimPy may take before the compiled engine is used."""

Outcome = Run | UserError | StreamError
"""A run, or the error that it ended with."""


def simulate_many(
    graph: Graph,
    inputs: Mapping[str, Any] | None = None,
    configs: Iterable[str | Path | Mapping[str, Any] | Config | None] = (),
    overrides: Mapping[str, Any] | None = None,
    engine: str = "auto",
    elsewhere: Collection[str] = (),
    max_cycles: int | None = None,
    finished: Callable[[int, Outcome], None] | None = None,
    return_errors: bool = False,
) -> list[Any]:
    """The runs of a graph on its inputs under each of some configs, in their order.

    Each is equal to ``sim.simulate`` of that config, in the result, the cycles and all statistics.

    ``configs``    each as ``simulate`` takes it
    ``overrides``  config values by dotted key, the same for all
    ``finished``   called with the number of a config and its outcome, as soon as that is known;
                   configs need not finish in their order
    ``return_errors``  whether the list has the UserError or StreamError of a run that fails in
                   its place. Otherwise the first error is raised when all runs are done

    The other arguments are those of ``simulate``. Raises UserError at once for inputs, configs or a
    graph that do not fit.
    """
    require_engine(engine)
    require_limit(max_cycles)
    require_graph(graph, inputs)
    machines = load_each(configs, overrides)
    outcomes = outcomes_of(
        graph,
        {} if inputs is None else inputs,
        machines,
        engine,
        elsewhere,
        [max_cycles] * len(machines),
        finished,
    )
    return outcomes if return_errors else runs_of(outcomes)


def runs_of(outcomes: Sequence[Outcome]) -> list[Run]:
    """The runs among outcomes; raises the first of the errors, if there are any."""
    for outcome in outcomes:
        if not isinstance(outcome, Run):
            raise outcome
    return [outcome for outcome in outcomes if isinstance(outcome, Run)]


def outcomes_of(
    graph: Graph,
    inputs: Mapping[str, Any],
    configs: Sequence[Config],
    engine: str,
    elsewhere: Collection[str],
    max_cycles: Sequence[int | None],
    finished: Callable[[int, Outcome], None] | None = None,
    tells: bool = True,
) -> list[Outcome]:
    """The outcome for each config; each has its own ``max_cycles``.

    ``tells`` asks for the full report of a deadlock, which takes a run by itself.

    The inputs are bound once for all configs with the same tiles.
    """
    found: list[Outcome | None] = [None] * len(configs)

    def finish(n: int, outcome: Outcome) -> None:
        if isinstance(outcome, Run):
            outcome = with_reruns(outcome, graph, inputs, engine=engine, elsewhere=elsewhere)
        found[n] = outcome
        if finished is not None:
            finished(n, outcome)

    bound_by: dict[str, BoundGraph] = {}
    groups: dict[tuple[str, Hashable], list[int]] = {}
    for n, config in enumerate(configs):
        try:
            tiles = repr((config.tiling, config.memory)) if config.tiling.levels else ""
            if tiles not in bound_by:
                bound_by[tiles] = bind(with_tiles(graph, config), inputs)
            config.require_names_of(bound_by[tiles].graph, elsewhere)
            groups.setdefault((tiles, alike(config)), []).append(n)
        except UserError as mistake:
            finish(n, mistake)
    for (tiles, _), numbers in groups.items():
        _run_group(bound_by[tiles], configs, numbers, engine, max_cycles, finish, tells)
    return [outcome for outcome in found if outcome is not None]


def _run_group(
    bound: BoundGraph,
    configs: Sequence[Config],
    numbers: Sequence[int],
    engine: str,
    max_cycles: Sequence[int | None],
    finish: Callable[[int, Outcome], None],
    tells: bool,
) -> None:
    """Runs configs that are alike."""
    left = list(numbers)
    if engine != "simpy" and cc.available():
        left = _run_together(bound, configs, left, engine, max_cycles, finish, tells)
    for n in left:
        finish(n, _outcome(bound, configs[n], engine, max_cycles[n]))


def _run_together(
    bound: BoundGraph,
    configs: Sequence[Config],
    numbers: Sequence[int],
    engine: str,
    max_cycles: Sequence[int | None],
    finish: Callable[[int, Outcome], None],
    tells: bool,
) -> list[int]:
    """Runs configs in a batch, after short runs on SimPy if the engine is "auto".

    As in a run by itself, these are shorter if the kernels of the batch are at hand. Gives the
    numbers of the configs that have to run alone.
    """
    left = list(numbers)
    if engine == "auto":
        left = _run_short(bound, configs, left, max_cycles, finish, FEW_EVENTS)
        with suppress(cc.NotAtHand):
            return _run_batch(bound, configs, left, max_cycles, finish, tells, at_hand=True)
        left = _run_short(bound, configs, left, max_cycles, finish, MANY_EVENTS)
    return _run_batch(bound, configs, left, max_cycles, finish, tells)


def _run_batch(
    bound: BoundGraph,
    configs: Sequence[Config],
    numbers: Sequence[int],
    max_cycles: Sequence[int | None],
    finish: Callable[[int, Outcome], None],
    tells: bool,
    at_hand: bool = False,
) -> list[int]:
    """Runs configs in a batch; gives the numbers of those that have to run alone.

    Raises NotAtHand where its kernels must be ``at_hand``, and one would have to be made first.
    """
    from sim.retiming import batch  # imported here because runs on SimPy do not need it

    alone = batch.run(
        bound,
        [configs[n] for n in numbers],
        [max_cycles[n] for n in numbers],
        lambda n, outcome: finish(numbers[n], outcome),
        tells,
        at_hand=at_hand,
    )
    return [numbers[n] for n in alone]


def _run_short(
    bound: BoundGraph,
    configs: Sequence[Config],
    numbers: Sequence[int],
    max_cycles: Sequence[int | None],
    finish: Callable[[int, Outcome], None],
    most_events: int,
) -> list[int]:
    """Runs configs on SimPy while that is soon done for all; gives the numbers of the others."""
    left = list(numbers)
    seconds = 0.0
    while left and seconds * len(left) < _AT_ONCE:
        n, started = left[0], time.perf_counter()
        try:
            finish(n, soon_done(bound, configs[n], None, max_cycles[n], most_events=most_events))
        except Unfinished:
            break
        except (UserError, StreamError) as mistake:
            finish(n, mistake)
        seconds = time.perf_counter() - started
        left = left[1:]
    return left


def _outcome(bound: BoundGraph, config: Config, engine: str, max_cycles: int | None) -> Outcome:
    """The outcome of a config that runs alone."""
    try:
        return run_bound(bound, config, engine, max_cycles=max_cycles)
    except (UserError, StreamError) as mistake:
        return mistake
