"""The logs of C: room for entries of any size, and how long they stay."""

import gc

import numpy as np
import scipy.sparse

import custard
from tests.support.compiler import needs_compiler

pytestmark = needs_compiler

SUM = custard.compile("y(i) = A(i,j)", {"A": "ss", "y": "s"})


def test_a_call_of_thousands_of_firings_after_large_entries():
    """Rows of one entry come seldom, so each is a large entry of the log. After them there is
    little room, but the log does not grow yet; the same call goes on with a long row."""
    rows, long = 1300, 7000
    matrix = scipy.sparse.lil_array((rows + 1, long))
    matrix[:rows, 0] = 1
    matrix[rows] = 1
    overrides = {
        "queues.depth": 20_000,
        "blocks.names.scan_A_i.initiation_interval_cycles": 4200,
        "blocks.names.scan_A_j.initiation_interval_cycles": 2,
    }
    simpy, fast = (
        SUM.simulate({"A": matrix}, overrides=overrides, engine=name, attribution=True)
        for name in ("simpy", "compiled")
    )
    for one, other in zip(simpy.log.waits, fast.log.waits, strict=True):
        assert np.array_equal(one.ready, other.ready)
        assert np.array_equal(one.asked, other.asked)
    assert simpy.critical_path == fast.critical_path
    array = fast.log.waits[fast.log.blocks.index("array_A")]
    assert (array.asked - array.ready > 4096).sum() == rows
    assert len(array.asked) > rows + long


def test_logs_outlive_their_machine_and_go_with_the_run():
    closed = []
    run = SUM.simulate({"A": np.eye(40)}, engine="compiled", attribution=True)
    one = run.log.waits[run.log.blocks.index("array_A")]
    gc.collect()
    runtime = one.entries.args[0].runtime
    close = runtime.close_pages
    try:
        runtime.close_pages = lambda pages: (closed.append(pages), close(pages))
        assert run.critical_path
        assert len(one.asked) > 0
        assert not closed
        del run, one
        gc.collect()
        assert len(closed) == 1
    finally:
        runtime.close_pages = close
