"""One simulation: a graph, its inputs and a hardware config in; the result and its cycles out."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from sam.graph import Graph
from sam.support import c_compiler as cc
from sam.support.errors import UserError, one_of
from sim.binding import BoundGraph, bind
from sim.config.hardware import Config, load
from sim.endless import Progress, Unfinished, no_memory
from sim.order_of_service import Order
from sim.stats import Alternative, Run
from sim.tiling import with_tiles

# The events that SimPy handles in a tenth of a second; longer runs go to the compiled engine. So do
# those that take it more than some milliseconds, if their kernels are at hand, and those that take
# it more than one, if they are loaded.
MANY_EVENTS, FEW_EVENTS, _FEWEST_EVENTS = 30_000, 1_000, 150

# By their ids, the graphs whose kernels are loaded.
_loaded: WeakValueDictionary[int, Graph] = WeakValueDictionary()


def _run_compiled(
    bound: BoundGraph,
    config: Config,
    progress: Progress | None,
    max_cycles: int | None,
    attribution: bool,
    threads: int,
    order: Order | None,
    at_hand: bool = False,
) -> Run:
    from sim.compiled import legs  # here and below: a run imports the engine that it needs

    run = legs.run(bound, config, progress, max_cycles, attribution, threads, at_hand, order)
    _loaded[id(bound.graph)] = bound.graph
    return run


def _run_simpy(
    bound: BoundGraph,
    config: Config,
    progress: Progress | None,
    max_cycles: int | None,
    attribution: bool,
    threads: int,
    order: Order | None,
) -> Run:
    from sim.reference import engine

    return engine.run(
        bound,
        config,
        progress,
        max_cycles=max_cycles,
        attribution=attribution,
        order=order,
    )


def _run_either(
    bound: BoundGraph,
    config: Config,
    progress: Progress | None,
    max_cycles: int | None,
    attribution: bool,
    threads: int,
    order: Order | None,
) -> Run:
    """Runs on SimPy if that is soon done, else on the compiled engine, if that is possible."""
    given = bound, config, progress, max_cycles, attribution
    is_loaded = _loaded.get(id(bound.graph)) is bound.graph
    with suppress(Unfinished):
        return soon_done(*given, _FEWEST_EVENTS if is_loaded else FEW_EVENTS, order)
    if not cc.available():
        return _run_simpy(*given, 1, order)
    with suppress(cc.NotAtHand):
        return _run_compiled(*given, threads, order, at_hand=True)
    with suppress(Unfinished):
        return soon_done(*given, MANY_EVENTS, order)
    from sim.compiled.steps.writing import Untranslatable

    try:
        return _run_compiled(*given, threads, order)
    except Untranslatable:
        return _run_simpy(*given, 1, order)


def soon_done(
    bound: BoundGraph,
    config: Config,
    progress: Progress | None,
    max_cycles: int | None,
    attribution: bool = False,
    most_events: int = MANY_EVENTS,
    order: Order | None = None,
) -> Run:
    """Runs on SimPy; raises Unfinished if the run takes more than ``most_events``."""
    from sim.reference import engine

    return engine.run(
        bound,
        config,
        progress,
        most_events=most_events,
        max_cycles=max_cycles,
        attribution=attribution,
        order=order,
    )


_ENGINES = {
    "auto": _run_either,
    "simpy": _run_simpy,
    "compiled": _run_compiled,
}


def simulate(
    graph: Graph,
    inputs: Mapping[str, Any] | None = None,
    config: str | Path | Mapping[str, Any] | Config | None = None,
    overrides: Mapping[str, Any] | None = None,
    engine: str = "auto",
    progress: Progress | None = None,
    validate: bool | None = None,
    elsewhere: Collection[str] = (),
    max_cycles: int | None = None,
    attribution: bool = False,
    tokens: bool = False,
    threads: int = 1,
    orders: Sequence[Order | None] | None = None,
) -> Run:
    """Runs a SAM graph on its inputs.

    ``inputs``    a tensor by name: numpy, any scipy.sparse format, ``sam.Tensor``, a number
    ``config``    a shipped config by name (``ideal`` by default), a path, or its contents
    ``overrides`` config values by dotted key, as in ``{"queues.depth": 8}``
    ``engine``    "simpy", "compiled", or "auto": SimPy for short runs, else compiled,
                  which takes short runs too if its kernels have been compiled before
    ``progress``  called now and then with the cycle that the run has come to
    ``validate``  whether to watch every stream, on the engine simpy. By default only where the
                  environment has SAM_VALIDATE=1, as in the tests, unless the engine is compiled
    ``elsewhere`` tensors of other graphs of the same program, which the config may name too
    ``max_cycles``  the cycles within which the run must be done; else OutOfCycles is raised, a
                  UserError whose ``reached`` is the run up to there
    ``attribution``  whether the run keeps why each firing waited, as its critical path needs
    ``tokens``    whether it also keeps each token with its cycles, on the engine simpy
    ``threads``   how many threads of the engine compiled may share a long run, cut in time;
                  the run is the same with any number
    ``orders``    ``run.orders`` of a run on another machine, to be served in the same order: which
                  block memory serves next, and which messages on wires a firing reads. No firing
                  then comes later on a faster machine. Such a run keeps no log and no tokens, and
                  takes no ``max_cycles``

    Raises UserError for inputs, configs or graphs that do not fit, for a deadlock, a block that
    makes no progress, and where memory or ``max_cycles`` do not suffice; under ``validate``
    StreamError at the first token that does not belong where it comes.
    """
    require_engine(engine, validate is True)
    _require_threads(threads, engine, validate is True)
    require_limit(max_cycles)
    order = _order_to_keep(orders)
    if order is not None and (attribution or tokens or max_cycles is not None):
        raise UserError("a run that keeps an order of service has no log, tokens or max_cycles")
    if validate is None:
        validate = engine != "compiled" and os.environ.get("SAM_VALIDATE") == "1"
    require_graph(graph, inputs)
    resolved = load(config, overrides)
    tiled = with_tiles(graph, resolved)
    bound = bind(tiled, {} if inputs is None else inputs)
    resolved.require_names_of(tiled, elsewhere)
    if tokens:
        from sim.reference import engine as simpy_engine

        run = simpy_engine.run(bound, resolved, progress, attribution=True, tokens=True)
    else:
        run = run_bound(
            bound, resolved, engine, progress, validate, max_cycles, attribution, threads, order
        )
    if order is not None:
        return run
    return with_reruns(
        run,
        graph,
        inputs,
        engine=engine,
        progress=progress,
        validate=validate,
        elsewhere=elsewhere,
        threads=threads,
    )


def _order_to_keep(orders: Sequence[Order | None] | None) -> Order | None:
    """The order of the only graph. Raises UserError if there are those of several."""
    if orders is not None and len(orders) != 1:
        raise UserError(f"one graph has one order of service, not {len(orders)}")
    return orders[0] if orders else None


def with_reruns(run: Run, graph: Graph, inputs: Mapping[str, Any] | None, **others: Any) -> Run:
    """A run of a graph that can be run again; ``others`` are arguments of ``simulate``."""
    return replace(
        run,
        again=partial(simulate, graph, inputs, **others),
        alternatives=partial(_alternatives, graph, inputs, run.config, others),
    )


def _alternatives(
    graph: Graph,
    inputs: Mapping[str, Any] | None,
    config: Mapping[str, Any],
    others: Mapping[str, Any],
) -> list[Alternative]:
    """The graph with scanners that skip."""
    from sim.explain.skipping import skippings  # here, as few runs are explained

    return [
        Alternative(one.what, one.how, partial(simulate, one.graph, inputs, config, **others))
        for one in skippings(graph)
    ]


def require_graph(graph: Graph, inputs: Mapping[str, Any] | None) -> None:
    """Raises UserError unless ``graph`` is a graph with the inputs that other graphs compute."""
    if not isinstance(graph, Graph):
        raise UserError(
            f"{type(graph).__name__} is not a graph",
            hint="program.graph, or sam.dot.from_dot(text)",
        )
    missing = [name for name in graph.computed if name not in (inputs or {})]
    if missing:
        raise UserError(
            f"{missing[0]} is computed by another graph of the program",
            hint="program.simulate(inputs, ...) runs all graphs in turn, and takes the "
            "arguments of sim.simulate",
        )


def run_bound(
    bound: BoundGraph,
    config: Config,
    engine: str = "auto",
    progress: Progress | None = None,
    validate: bool = False,
    max_cycles: int | None = None,
    attribution: bool = False,
    threads: int = 1,
    order: Order | None = None,
) -> Run:
    """Runs a bound graph, with its tiles; arguments and errors as ``simulate`` has them."""
    try:
        if validate:
            from sim.reference import engine as simpy_engine

            return simpy_engine.run(
                bound,
                config,
                progress,
                validate,
                max_cycles=max_cycles,
                attribution=attribution,
                order=order,
            )
        return _ENGINES[engine](bound, config, progress, max_cycles, attribution, threads, order)
    except MemoryError:
        raise no_memory() from None


def require_engine(name: str, validate: bool = False) -> None:
    """Raises UserError for an unknown engine, and for one that cannot validate if it must."""
    if name not in _ENGINES:
        raise UserError(f"unknown engine {name}", hint=one_of(name, _ENGINES))
    if validate and name == "compiled":
        raise UserError("the engine compiled does not validate streams", hint="use engine simpy")


def require_limit(max_cycles: int | None) -> None:
    """Raises UserError unless ``max_cycles`` is a limit of cycles."""
    whole = isinstance(max_cycles, Integral) and not isinstance(max_cycles, bool)
    if max_cycles is not None and not (whole and max_cycles >= 0):
        raise UserError(f"max_cycles is {max_cycles!r}, which is not a whole number of at least 0")


def _require_threads(threads: int, engine: str, validate: bool) -> None:
    """Raises UserError unless the engine may use that number of threads."""
    if not isinstance(threads, int) or isinstance(threads, bool) or threads < 1:
        raise UserError(f"threads is {threads!r}, which is not a whole number of at least 1")
    if threads > 1 and engine == "simpy":
        raise UserError("the engine simpy runs on one thread", hint="use engine compiled or auto")
    if threads > 1 and validate:
        raise UserError("streams are validated on the engine simpy, which runs on one thread")
