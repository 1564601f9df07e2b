"""The report of a run on the compiled engine, of one that was ended too."""

import numpy as np

import custard
from sim.binding import bind
from sim.compiled.engine import CompiledRun
from sim.compiled.layout import CompiledMachine
from sim.config.hardware import load
from tests.support.compiler import needs_compiler

pytestmark = needs_compiler


def reported(end=None):
    """The run of y = 2 b with 3 entries, ended before a cycle or not."""
    program = custard.compile("y(i) = 2 * b(i)", {"b": "s"})
    bound = bind(program.graph, {"b": np.arange(1.0, 4)})
    running = CompiledRun(CompiledMachine(bound, load(None), end=end))
    try:
        running.run(None)
        return running.report(["one thread"])
    finally:
        running.close()


def test_a_finished_run_has_its_result():
    run = reported()
    assert run.output.to_numpy().tolist() == [2, 4, 6]
    given = {"data": 3, "empty": 0, "stop": 1, "done": 1}
    assert run.blocks["array_b"].tokens == {"val": given}
    assert run.streams["scan_b_i.ref -> array_b.in_ref"].tokens == given
    assert run.notes[-1] == "one thread"


def test_a_run_that_was_ended_has_the_statistics_of_its_cycles():
    run = reported(end=3)
    assert run.output is None
    assert run.cycles == 3
    assert run.blocks["scan_b_i"].fired == 3
    assert run.blocks["array_b"].fired == 2
    assert run.streams["scan_b_i.ref -> array_b.in_ref"].peak == 2
