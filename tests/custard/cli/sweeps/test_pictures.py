"""What stands at the axes of pictures."""

import pytest

from custard.cli.sweeps.pictures import label, named, scale


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("cycles", "cycles"),
        ("set.queues.depth", "queues.depth (tokens)"),
        ("set.blocks.kinds.reducer.latency_cycles", "blocks.kinds.reducer.latency (cycles)"),
        ("peak_memory_bytes", "peak memory (bytes)"),
        ("blocks.scan_B_i.busy", "blocks.scan B i.busy (cycles)"),
        ("dataflow", "dataflow"),
        ("seconds", "wall time (seconds)"),
        ("time.seconds", "time (seconds)"),
        ("time.energy_pj", "energy (pJ)"),
        ("memory.DRAM.total.energy_pj", "memory.DRAM.total.energy (pJ)"),
        ("time.memory.DRAM.gb_per_s", "memory.DRAM (GB/s)"),
        ("time.memory.DRAM.peak_gb_per_s", "memory.DRAM.peak (GB/s)"),
        ("set.memory.levels.DRAM.bandwidth_gb_per_s", "memory.levels.DRAM.bandwidth (GB/s)"),
        ("memory.DRAM.tensors.C.bytes_read", "memory.DRAM.tensors.C.bytes read (bytes)"),
        ("time.multiplications_per_cycle", "multiplications per cycle"),
    ],
)
def test_axes_have_units(column, text):
    assert label(column) == text


@pytest.mark.parametrize(
    ("column", "values", "scaled"),
    [
        ("time.seconds", [2.5e-6, 8e-5], (1e-6, "time (microseconds)")),
        ("time.seconds", [2.5e-3], (1e-3, "time (milliseconds)")),
        ("time.seconds", [3e-12], (1e-9, "time (nanoseconds)")),
        ("time.seconds", [0.0, 20.0], (1, "time (seconds)")),
        ("time.seconds", [], (1, "time (seconds)")),
        ("cycles", [0.5], (1, "cycles")),
    ],
)
def test_seconds_have_the_prefix_that_fits(column, values, scaled):
    assert scale(column, values) == scaled


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("set.queues.depth", "depth = 4"),
        ("set.queues.latency_cycles", "latency = 4 cycles"),
        ("set.memory.levels.DRAM.bandwidth_gb_per_s", "bandwidth = 4 GB/s"),
        ("set.memory.levels.LLB.capacity_bytes", "capacity = 4 bytes"),
        ("n", "n = 4"),
    ],
)
def test_numbers_have_the_name_and_the_unit_of_their_column(column, text):
    assert named(column, 4) == text
