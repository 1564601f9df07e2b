"""Statistics of a run whose firings were timed."""

from contextlib import closing

import numpy as np

import custard
import sim
from sim.binding import bind
from sim.config.hardware import load
from sim.machine import elaborate
from sim.retiming.firings import Firings
from sim.retiming.reporting import block_stats, stream_stats
from tests.support.compiler import needs_compiler


@needs_compiler
def test_cycles_of_a_block_and_peaks_of_streams():
    program = custard.compile("x(i) = b(i) * c(i)")
    inputs = {"b": np.ones(3), "c": np.ones(3)}
    config = load(None, {})
    run = sim.simulate(program.graph, inputs, config, engine="compiled")
    with closing(Firings(elaborate(bind(program.graph, inputs), config), 2**20)) as firings:
        firings.run()
        one = next(one for one in firings.parts if one.part.name == "scan_b_i")
        due = run.blocks["scan_b_i"]
        waits = [due.starved.get("in_ref", 0), 0, 0]
        last = run.cycles - due.done - 1
        assert block_stats(one, due.fired, 1, last, waits, 0, run.cycles) == due
        peaks = [n + 1 for n in range(len(firings.machine.channels))]
        found = stream_stats(firings, peaks.__getitem__)
        assert {name: found[name].tokens for name in run.streams} == {
            name: stream.tokens for name, stream in run.streams.items()
        }
        assert sorted(stream.peak for stream in found.values()) == peaks
