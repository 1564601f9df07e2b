"""Lower bounds of a run's cycles, by hand."""

from sim.explain.bounds import LowerBound, bounds, bytes_per_cycle
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
    """20 values of 8 bytes and 20 coordinates, read and written: 2 bytes per cycle and port."""
    level = {"name": "DRAM", "bandwidth_gb_per_s": 2, "ports": 3}
    run = copied(20, {"memory.levels": [level], "clock.clock_ghz": 1})
    moved = run.memory["DRAM"].total
    total = moved.bytes_read + moved.bytes_written
    [bound] = [one for one in bounds(run) if "DRAM" in one.why]
    before_the_end = total - 2  # the last write takes one more cycle
    assert bound.why == f"DRAM moves {before_the_end:,} bytes at 6 per cycle of 3 ports"
    assert bound.cycles == -(-total // 6)


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
