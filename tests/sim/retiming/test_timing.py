"""The times of firings in many machines at once, held against a run of each by itself."""

from contextlib import closing
from typing import Any

import numpy as np
import pytest

import custard
import sim
from benchmarks.memory import measures_memory, with_memory
from sim.binding import bind
from sim.config.hardware import load
from sim.machine import elaborate
from sim.retiming import batch
from sim.retiming.firings import Firings
from sim.retiming.timing import MOST_LANES, Timing, TooLate, _aligned
from tests.support.compiler import needs_compiler

pytestmark = needs_compiler

PROGRAM = custard.compile("x(i) = b(i) * c(i)", {"b": "s", "c": "s", "x": "s"})
IJK = custard.compile("X(i,j) = B(i,k) * C(k,j)", {"B": "ss", "C": "ss:1,0"}, "reorder(i,j,k)")
INPUTS = {"b": np.arange(30) % 3 * 1.0, "c": np.arange(30) % 4 * 1.0}


def timed(overrides, wide=False):
    """The machines under some configs, timed together."""
    bound = bind(PROGRAM.graph, INPUTS)
    configs = [load(None, one) for one in overrides]
    with closing(Firings(elaborate(bound, configs[0]), 1 << 20)) as firings:
        firings.run()
        with closing(Timing(firings, configs, wide)) as timing:
            timing.run()
            return [
                (timing.cycles(n), timing.blocks(n), timing.streams(n)) for n in range(len(configs))
            ], timing


@pytest.mark.parametrize("wide", [False, True])
def test_each_lane_is_a_run(wide):
    overrides = [
        {},
        {"queues.depth": 1},
        {"queues.depth": 4, "queues.latency_cycles": 3},
        {"blocks.kinds.array.initiation_interval_cycles": 7, "queues.depth": 2},
        {"blocks.kinds.intersecter.latency_cycles": 9},
    ]
    found, timing = timed(overrides, wide)
    assert timing.lanes == 16
    assert timing.live[: len(overrides)].all()
    for config, (cycles, blocks, streams) in zip(overrides, found, strict=True):
        run = PROGRAM.simulate(INPUTS, overrides=config, engine="simpy")
        assert (cycles, blocks, streams) == (run.cycles, run.blocks, run.streams)


def test_there_are_lanes_for_the_most_configs():
    found, timing = timed([{"queues.depth": n} for n in range(1, MOST_LANES + 1)])
    assert timing.lanes == MOST_LANES
    cycles = [one for one, _, _ in found]
    assert cycles == sorted(cycles, reverse=True)


def test_sums_of_latencies_beyond_32_bits_ask_for_wide_cycles():
    slow = [{"queues.latency_cycles": 2**20}]
    with pytest.raises(TooLate):
        timed(slow)
    [(cycles, _, _)], _ = timed(slow, wide=True)
    assert cycles == PROGRAM.simulate(INPUTS, overrides=slow[0], engine="simpy").cycles


@pytest.mark.parametrize("interval", [1, 2, 15, 16, 17, 4097, 2**16])
def test_peaks_of_many_tokens(interval):
    """Takings come in bursts, and with gaps around the bits of a map and of a gap."""
    kinds = "blocks.kinds.{}.initiation_interval_cycles"
    overrides = [
        {kinds.format("array"): interval},
        {kinds.format("intersecter"): interval, "queues.latency_cycles": 5},
        {kinds.format("level_writer"): interval, kinds.format("array"): 3, "queues.depth": 300},
        {kinds.format("reducer"): interval, kinds.format("level_scanner"): 2},
    ]
    rng = np.random.default_rng(2)
    inputs = {name: rng.random((24, 24)) * (rng.random((24, 24)) < 0.7) for name in "BC"}
    bound = bind(IJK.graph, inputs)
    found: dict[int, Any] = {}
    loaded = [load(None, one) for one in overrides]
    assert not batch.run(bound, loaded, [None] * 4, found.__setitem__)
    for n, config in enumerate(loaded):
        alone = sim.simulate(IJK.graph, inputs, config, engine="compiled")
        assert (found[n].cycles, found[n].streams) == (alone.cycles, alone.streams)
        assert max(stream.peak for stream in alone.streams.values()) > 256


@pytest.mark.skipif(not measures_memory(), reason="the most memory is not told")
def test_unbounded_queues_keep_a_byte_or_two_for_each_token():
    """Of 16 machines with two queues of more than three million tokens each."""
    rng = np.random.default_rng(1)
    inputs = {name: rng.random((460, 460)) * (rng.random((460, 460)) < 0.07) for name in "BC"}
    bound = bind(IJK.graph, inputs)
    found: dict[int, Any] = {}
    loaded = [load(None, {"queues.latency_cycles": latency}) for latency in range(1, 17)]
    _, megabytes = with_memory(
        lambda: batch.run(bound, loaded, [None] * len(loaded), found.__setitem__)
    )
    tokens = [sum(one.peak for one in run.streams.values()) / 2 for run in found.values()]
    assert min(tokens) > 6e6
    assert 2**20 * megabytes < 1.5 * sum(tokens)


def test_memory_is_aligned_for_vectors():
    assert all(_aligned(size).ctypes.data % 64 == 0 for size in (1, 64, 1000))


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
    bound = bind(IJK.graph, inputs)
    loaded = [load(None, {"queues.depth": depth}) for depth in (1, 2, 3, 8, "unbounded")]
    found: dict[int, Any] = {}
    left = batch.run(bound, loaded, [None] * 5, found.__setitem__, most_bytes=5000)
    assert left == [0]
    assert len(kept) > 5
    assert max(kept) < 10_000
    for n, config in enumerate(loaded[1:], 1):
        alone = sim.simulate(IJK.graph, bound.given, config, engine="compiled")
        assert found[n].cycles == alone.cycles
        assert found[n].blocks == alone.blocks
        assert found[n].streams == alone.streams
