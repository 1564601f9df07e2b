"""One simulation: a graph, its inputs and a hardware config in; the result and its cycles out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sam.errors import UserError, one_of
from sam.graph import Graph
from sim import compiled_engine, simpy_engine
from sim.binding import bind
from sim.config import Config, load
from sim.simpy_engine import Progress
from sim.stats import Run

_ENGINES = {"simpy": simpy_engine.run, "compiled": compiled_engine.run}
_AUTO = "simpy"


def simulate(
    graph: Graph,
    inputs: Mapping[str, Any] | None = None,
    config: str | Path | Mapping[str, Any] | Config | None = None,
    overrides: Mapping[str, Any] | None = None,
    engine: str = "auto",
    progress: Progress | None = None,
) -> Run:
    """Runs a SAM graph on its inputs.

    ``inputs``    a tensor by name: numpy, any scipy.sparse format, ``sam.Tensor``, a number
    ``config``    a shipped config by name (``ideal`` by default), a path, or its contents
    ``overrides`` config values by dotted key, as in ``{"queues.depth": 8}``
    ``engine``    "auto", "simpy" or "compiled"
    ``progress``  called now and then with the cycle that the run has come to

    Raises UserError for inputs, configs or graphs that do not fit, and for a deadlock.
    """
    if engine != "auto" and engine not in _ENGINES:
        raise UserError(f"unknown engine {engine}", hint=one_of(engine, ["auto", *_ENGINES]))
    resolved = load(config, overrides)
    run = _ENGINES[_AUTO if engine == "auto" else engine]
    return run(bind(graph, inputs or {}), resolved, progress)
