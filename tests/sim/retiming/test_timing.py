"""Times of many machines from one set of codes."""

from typing import Any

import numpy as np
import pytest

import custard
import sim
from sam.support import c_compiler
from sim.binding import bind
from sim.config.hardware import load
from sim.retiming import batch
from sim.retiming.firings import Firings


@pytest.mark.skipif(not c_compiler.available(), reason="there is no C compiler")
def test_a_deadlock_is_told_before_all_codes_are_kept(monkeypatch):
    """Machines that are stuck keep no codes waiting: the others read them as they come."""
    kept: list[int] = []

    class Watched(Firings):
        def run(self) -> None:
            super().run()
            kept.append(self.scheduled.packed)

    monkeypatch.setattr(batch, "Firings", Watched)
    rng = np.random.default_rng(1)
    inputs = {name: rng.random((60, 60)) * (rng.random((60, 60)) < 0.3) for name in "BC"}
    formats = {"B": "ss", "C": "ss:1,0"}
    program = custard.compile("X(i,j) = B(i,k) * C(k,j)", formats, "reorder(i,j,k)")
    bound = bind(program.graph, inputs)
    loaded = [load(None, {"queues.depth": depth}) for depth in (1, 2, 3, 8, "unbounded")]
    found: dict[int, Any] = {}
    left = batch.run(bound, loaded, [None] * 5, found.__setitem__, most_bytes=5000)
    assert left == [0]
    assert len(kept) > 5
    assert max(kept) < 10_000
    for n, config in enumerate(loaded[1:], 1):
        alone = sim.simulate(program.graph, bound.given, config, engine="compiled")
        assert found[n].cycles == alone.cycles
        assert found[n].blocks == alone.blocks
        assert found[n].streams == alone.streams
