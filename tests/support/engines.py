"""All that a run tells on an engine, to be compared with another."""

from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import custard
from sam.support.errors import UserError
from sim.compiled.kernel.source import PATHS

relaxed = settings(suppress_health_check=list(HealthCheck))

paths_off = st.sampled_from(["", "all", *(path.name for path in PATHS)])
"""Fast paths that are off: none, all, or one of them."""


def outcome(program: custard.Program, inputs: Any, config: Any, engine: str, off: str = "") -> Any:
    """All that a run tells, or the text of its error; some fast paths may be off."""
    try:
        with patch.dict("os.environ", SAM_PATHS_OFF=off):
            run = program.simulate(inputs, overrides=config, engine=engine)
    except UserError as error:
        return str(error)
    values = run.output.to_numpy()
    told = run.cycles, run.blocks, run.streams, run.memory
    return *told, run.output.format, repr(values.tolist())


def agree(program: Any, config: Any, commands: list[str] | None = None, off: str = "") -> None:
    schedule = [f"reorder({','.join(program.order)})"] if program.order else []
    schedule += commands or []
    compiled = custard.compile(program.expression, program.formats, schedule, dims=program.dims)
    inputs = program.tensors
    assert outcome(compiled, inputs, config, "compiled", off) == outcome(
        compiled, inputs, config, "simpy"
    )


def told_after(program, latencies):
    """A config in which the wires of a program have some latencies."""
    ends = [e.target for e in program.graph.edges if e.target.port == "in_skip"]
    names = zip(map(str, ends), latencies, strict=False)
    return {f"queues.names.{name}.latency_cycles": latency for name, latency in names}
