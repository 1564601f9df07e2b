"""Lower bounds of a run's cycles, by hand."""

import re

from hypothesis import HealthCheck, given, settings

from sim.explain.bounds import LowerBound, bounds, bytes_per_cycle
from sim.explain.what_if import changes
from tests.sim.test_order_of_service import kept, larger
from tests.support.compiler import needs_compiler
from tests.support.profiles import examples
from tests.support.runs import copied, in_two, spmv


def test_the_bounds_of_a_product_on_ideal_memory():
    """16 products on one multiplier; the matrix has 16 values in 6 rows."""
    run = spmv()
    found = bounds(run)
    assert LowerBound("16 multiplications on 1 multiplier", 16) in found
    busiest = max(b.busy for b in run.blocks.values() if b.kind != "root")
    assert found[0].cycles == busiest
    assert found[0].why.endswith(" is busy")
    assert all(bound.cycles <= run.cycles for bound in found)


def test_memory_moves_its_bytes_at_its_rate():
    """20 values of 8 bytes and 20 coordinates, read and written: 2 bytes per cycle and port.

    What a port moves last, it may move after the last firing: a value of 8 bytes that is read, one
    that is written, and a place of 4 bytes.
    """
    level = {"name": "DRAM", "bandwidth_gb_per_s": 2, "ports": 3}
    run = copied(20, {"memory.levels": [level], "clock.clock_ghz": 1})
    moved = run.memory["DRAM"].total
    total = moved.bytes_read + moved.bytes_written
    [bound] = [one for one in bounds(run) if "DRAM" in one.why]
    before_the_end = total - 8 - 8 - 4
    assert bound.why == f"DRAM moves {before_the_end:,} bytes at 6 per cycle of 3 ports"
    assert bound.cycles == -(-before_the_end // 6)


@needs_compiler
@settings(suppress_health_check=list(HealthCheck), max_examples=examples(100))
@given(larger())
def test_a_memory_is_no_faster_where_other_causes_are_ideal(run):
    """Other resources than its ports: the bytes are the same, in the same order of service."""
    due = [bound.cycles for bound in bounds(run) if " bytes at " in bound.why]
    for change in changes(run):
        if change.is_ideal and not re.search("bandwidth|ports", str(change.overrides)):
            assert kept(run, change.overrides).cycles >= max(due, default=0), change


def test_graphs_that_run_in_turn_add_up():
    run = in_two()
    first, second = (bounds(part) for part in run.parts)
    busy = [b for b in bounds(run) if b.why.endswith("is busy")]
    assert [one.cycles for one in busy] == [
        sum(b.cycles for part in (first, second) for b in part if b.why.endswith("is busy"))
    ]
    told = [word for b in busy for word in b.why.replace(",", "").split() if "." in word]
    assert len(told) == 2
    assert {*told} <= {*run.blocks}


def test_the_rate_of_a_level():
    config = {
        "memory": {
            "levels": [
                {"name": "DRAM", "bandwidth_gb_per_s": 68},
                {"name": "LLB", "bandwidth_gb_per_s": "unbounded"},
            ]
        },
        "clock": {"clock_ghz": 2},
    }
    assert bytes_per_cycle(config, "DRAM") == 34
    assert bytes_per_cycle(config, "LLB") is None
    assert bytes_per_cycle(config, "L1") is None
