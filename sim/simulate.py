"""One simulation: a graph, its inputs and a hardware config in; the result and its cycles out."""

from __future__ import annotations

import os
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
    validate: bool | None = None,
) -> Run:
    """Runs a SAM graph on its inputs.

    ``inputs``    a tensor by name: numpy, any scipy.sparse format, ``sam.Tensor``, a number
    ``config``    a shipped config by name (``ideal`` by default), a path, or its contents
    ``overrides`` config values by dotted key, as in ``{"queues.depth": 8}``
    ``engine``    "auto", "simpy" or "compiled"
    ``progress``  called now and then with the cycle that the run has come to
    ``validate``  whether to watch every stream, on the engine simpy. By default only where the
                  environment has SAM_VALIDATE=1, as in the tests, unless the engine is compiled

    Raises UserError for inputs, configs or graphs that do not fit, and for a deadlock; under
    ``validate`` StreamError at the first token that does not belong where it comes.
    """
    require_engine(engine, validate is True)
    if validate is None:
        validate = engine != "compiled" and os.environ.get("SAM_VALIDATE") == "1"
    if not isinstance(graph, Graph):
        raise UserError(
            f"{type(graph).__name__} is not a graph",
            hint="program.graph, or sam.dot.from_dot(text)",
        )
    resolved = load(config, overrides)
    bound = bind(graph, {} if inputs is None else inputs)
    resolved.require_names_of(graph)
    if validate:
        return simpy_engine.run(bound, resolved, progress, validate)
    run = _ENGINES[_AUTO if engine == "auto" else engine]
    return run(bound, resolved, progress)


def require_engine(name: str, validate: bool = False) -> None:
    """Raises UserError unless there is an engine of that name, which validates if it is to."""
    known = ["auto", *_ENGINES]
    if name not in known:
        raise UserError(f"unknown engine {name}", hint=one_of(name, known))
    if validate and name == "compiled":
        raise UserError("the engine compiled does not validate streams", hint="use engine simpy")
