"""The memory hierarchy of the compiled engine equals the reference's, access by access."""

import ctypes

import numpy as np
import pytest

import custard
from sim.binding import bind
from sim.compiled.memory import SHARED_HIERARCHY, CompiledHierarchy
from sim.compiled.structures import CBlock
from sim.compiled.translations import libraries, text
from sim.config.hardware import load
from sim.machine import elaborate
from sim.memory.hierarchy import Hierarchy, statistics
from tests.support.compiler import needs_compiler

pytestmark = needs_compiler

LEVELS = [
    {"name": "DRAM", "latency_cycles": 9, "bandwidth_gb_per_s": 3, "ports": 2},
    {"name": "LLB", "capacity_bytes": 64, "line_bytes": 16, "bandwidth_gb_per_s": 8},
]


@pytest.fixture
def layout():
    graph = custard.compile("x(i) = b(i)", {"b": "s", "x": "s"}).graph
    config = load(None, {"memory.levels": LEVELS, "memory.places": {"b": "DRAM"}})
    return elaborate(bind(graph, {"b": np.ones(20)}), config).layout


@pytest.fixture
def compiled(layout):
    [library] = libraries([SHARED_HIERARCHY.exported(text("hierarchy.c"))])
    SHARED_HIERARCHY.require(library)
    found = CompiledHierarchy(layout, library)
    yield found
    found.close()


def test_a_hierarchy_in_c_has_the_levels_and_regions_of_the_layout(layout, compiled):
    assert [level.ports for level in compiled.levels] == layout.ports == [2, 1]
    assert [level.room for level in compiled.levels] == [-1, 64]
    assert len(compiled.regions) == len(layout.regions)
    assert compiled.hierarchy.levels == 2
    assert compiled.hierarchy.unit == layout.unit


def test_accesses_take_the_same_cycles_and_are_counted_alike(layout, compiled):
    reference = Hierarchy(layout)
    touch = compiled.library.touch
    generator = np.random.default_rng(3)
    block = CBlock(hierarchy=compiled.address, asker=0)
    cycle = 0
    for _ in range(60):
        cycle += int(generator.integers(0, 4))
        region = int(generator.integers(0, len(layout.regions)))
        index, write = int(generator.integers(0, 20)), bool(generator.integers(0, 2))
        block.taken = block.served = cycle
        arguments = map(ctypes.c_int64, (region, index))
        assert touch(ctypes.byref(block), *arguments, int(write), ctypes.c_int64(cycle))
        due = reference.request(0, cycle, [(layout.regions[region], index, write)])
        assert (block.taken, block.served) == due
    reference.finish()
    assert compiled.finish() == statistics(layout, reference)
