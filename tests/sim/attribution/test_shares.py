"""Where the cycles of each block went."""

import pytest

from sim.attribution.log import Awaited, Log
from sim.attribution.over_time import OverTime
from sim.attribution.shares import Shares, late_until, shares
from tests.support.runs import MEMORY, spmv, waits


def test_shares_add_up_to_the_cycles():
    one = Shares(5, {"in": {"a": 2, "memory of b": 1}}, {"out": {"c": 4}}, {"DRAM latency": 3}, 7)
    assert one.total == 22


@pytest.mark.parametrize("overrides", [{}, {"queues.depth": 2}, MEMORY])
def test_shares_equal_the_statistics(overrides):
    run = spmv(overrides, attribution=True)
    for name, found in shares(run.log).items():
        block = run.blocks[name]
        assert found.total == run.cycles
        assert (found.busy, found.done) == (block.busy, block.done)
        assert sum(found.memory.values()) == block.memory
        for told, counted in ((found.starved, block.starved), (found.blocked, block.blocked)):
            assert {port: sum(by.values()) for port, by in told.items()} == {
                port: cycles for port, cycles in counted.items() if cycles
            }


def test_a_block_that_does_not_wait_is_at_fault_for_waits_on_it():
    """The giver fires in cycles 0, 5 and 10 by itself; the taker waits for each token."""
    token = Awaited("in", "give.out -> take.in", True, 0, 1, 1)
    giver = waits([], [], 10)
    taker = waits([(0, 1, 0), (2, 6, 0), (7, 11, 0)], [token], 11)
    log = Log(["give", "take"], [giver, taker], 12, OverTime.of(12, {}, []))
    found = shares(log)
    assert found["take"].starved == {"in": {"give": 9}}
    assert (found["take"].busy, found["take"].done) == (3, 0)
    assert (found["give"].busy, found["give"].done) == (11, 1)


def test_data_on_their_way_count_as_memory():
    """Without requests there is none: a wait begins when the block might have fired."""
    one = waits([(2, 6, 0)], [Awaited("in", "e", True, 0, 1, 1)], 6)
    assert late_until(one).tolist() == [2]
    run = spmv(MEMORY, attribution=True)
    late = [late_until(one) - one.ready for one in run.log.waits if one.requests is not None]
    assert any(found.any() for found in late)
