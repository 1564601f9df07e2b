"""Explanations: the first line names the bottleneck of a machine that has a known one."""

import numpy as np
import pytest

import custard
import sim
from sam.support.errors import UserError
from sim.explain.telling import WhatIf


def dense(shape, every=1):
    """Numbers at every so many places, the first among them."""
    values = np.zeros(shape)
    values.flat[::every] = 1.0
    return values


def spmv(schedule=(), formats=None):
    formats = {"A": "ss", "x": "s", "y": "s", **(formats or {})}
    return custard.compile("y(i) = A(i,j) * x(j)", formats, schedule)


INPUTS = {"A": dense((12, 20)), "x": dense(20)}


def first_line(program, inputs, overrides=None):
    explanation = program.simulate(inputs, overrides=overrides).explain()
    assert explanation.lines()[0] == explanation.sentence
    assert sum(cause.cycles for cause in explanation.causes) == explanation.cycles
    return explanation.sentence


def test_a_slow_block():
    """240 products, 13 stop tokens and a done token, of which each but the first waits 6 cycles."""
    slow = {"blocks.names.multiply.initiation_interval_cycles": 7}
    line = first_line(spmv(), INPUTS, slow)
    assert line.split("; ")[0].endswith("85 %: multiply may not fire every cycle")
    assert "; multiply firing every cycle would save " in line


def test_a_block_that_is_late():
    late = {"blocks.names.array_A.latency_cycles": 5000}
    assert "the latency of array_A" in first_line(spmv(), INPUTS, late).split("; ")[0]


def test_a_shallow_queue():
    """Coordinates wait beside values that the reducer has to sum up first."""
    line = first_line(spmv(), INPUTS, {"queues.depth": 1})
    assert "; all queues unbounded would save " in line


def test_the_latency_of_memory():
    levels = [{"name": "DRAM", "latency_cycles": 100}]
    line = first_line(spmv(), INPUTS, {"memory.levels": levels, "memory.outstanding_requests": 1})
    assert "%: DRAM outstanding requests on" in line or "%: DRAM latency on" in line
    assert "; DRAM with a latency of 0 would save " in line


def test_the_bandwidth_of_memory():
    levels = [{"name": "DRAM", "latency_cycles": 2, "bandwidth_gb_per_s": 0.5}]
    line = first_line(spmv(), INPUTS, {"memory.levels": levels})
    assert line.split(" ", 2)[2].split("%: ")[1].startswith("DRAM bandwidth on")
    assert "; DRAM with unbounded bandwidth would save " in line


def test_a_conflict_of_ports():
    """Of three ports, the scanner of the rows of A shares its one with the array of x."""
    levels = [{"name": "DRAM", "latency_cycles": 2, "bandwidth_gb_per_s": 4, "ports": 3}]
    run = spmv().simulate(INPUTS, overrides={"memory.levels": levels})
    explanation = run.explain()
    assert "%: DRAM port conflict on A.crd, x.val" in explanation.sentence.split("; ")[0]
    tried = {one.what: one.saves for one in explanation.what_ifs}
    assert tried["DRAM with a port for each block"] > run.cycles / 4


def test_an_intersection_that_is_empty():
    inputs = {"b": dense(1000, 2), "c": 1 - dense(1000, 2)}
    program = custard.compile("x = b(i) * c(i)", {"b": "s", "c": "s"})
    line = first_line(program, inputs)
    assert line.split("; ")[0] == (
        "1,007 cycles, 99 %: intersect_i compares, and finds 0 matches in 1,002 firings"
    )


def test_lanes_that_are_uneven():
    matrix = dense((32, 40), 10)
    matrix[::4] = 1
    program = spmv(["parallelize(i,Lanes,4)"])
    line = first_line(program, {"A": matrix, "x": dense(40)})
    assert "; the 4 lanes are uneven: scan_A_j is busy for" in line


def test_bounds():
    run = spmv().simulate(INPUTS)
    told = {bound.why: bound.cycles for bound in run.explain().bounds}
    assert told["240 multiplications on 1 multiplier"] == 240
    assert max(told.values()) <= run.cycles


def test_changes_that_save_nothing_or_cost_cycles_are_told_apart():
    """Skipping costs a message to the scanner and back for each coordinate of a full vector."""
    inputs = {"A": dense((12, 20), 3), "x": dense(20)}
    explanation = spmv(formats={"x": "d"}).simulate(inputs).explain()
    parts = "\n".join(explanation.lines()).split("\n\n")
    [saving] = [one.split("\n")[1:] for one in parts if one.startswith("what would save cycles")]
    [others] = [one.split("\n")[1:] for one in parts if one.startswith("what would not")]
    tried = explanation.what_ifs
    assert len(saving) == sum(one.saves > 0 for one in tried) > 0
    assert len(others) == sum(one.saves <= 0 for one in tried)
    [skipping] = [one for one in tried if one.what == "skip(x,j)"]
    more = 100 * -skipping.saves / explanation.cycles
    assert f"{f'+{more:.0f} %':>9}  skip(x,j): {skipping.cycles:,} cycles" in others
    assert any(line.startswith("     same  ") for line in others)
    assert not any(line.lstrip().startswith("-") for line in saving)


def test_an_ideal_resource_that_costs_cycles_is_told_with_the_reason():
    """With long queues a scanner is far ahead of the messages that it skips by."""
    numbers = np.random.default_rng(57)
    inputs = {"A": (numbers.random((3, 60)) < 0.5) * 1.0, "x": (numbers.random(60) < 0.05) * 1.0}
    explanation = spmv(["skip(A,j)"]).simulate(inputs, overrides={"queues.depth": 2}).explain()
    [longer] = [one for one in explanation.what_ifs if one.what == "all queues unbounded"]
    assert longer.cycles > explanation.cycles >= longer.kept
    assert longer.saves == explanation.cycles - longer.kept
    [line] = [line for line in explanation.lines() if longer.what in line]
    more = round(100 * (longer.cycles / explanation.cycles - 1))
    told = f"{longer.kept} cycles in this order of service, {longer.cycles} (+{more} %) in its own"
    assert f"all queues unbounded: {told}" in line
    assert explanation.notes[-1] == (
        "the work depends on time, so an ideal resource may cost cycles in an order of its own: a "
        "scanner that skips may run ahead of the messages that it skips by"
    )
    assert "cycles that the work of this run takes at least" in explanation.lines()


def test_a_cause_that_is_not_worth_mending_by_itself():
    """40 values of 8 bytes come in ten lines of 32 bytes, a byte per cycle, so the last line begins
    at cycle 9 * 32 at the earliest, however many requests are under way."""
    program = custard.compile("x = b(i)", {"b": "d"})
    dram = {"name": "DRAM", "latency_cycles": 2, "bandwidth_gb_per_s": 1, "line_bytes": 32}
    llb = {"name": "LLB", "latency_cycles": 1, "capacity_bytes": 128, "line_bytes": 32}
    overrides = {"memory.levels": [dram, llb], "memory.outstanding_requests": 1}
    run = program.simulate({"b": np.ones(40)}, overrides=overrides)
    explanation = run.explain()
    assert run.cycles > 9 * 32
    [more] = [one for one in explanation.what_ifs if "outstanding" in one.what]
    assert more.saves == 0
    first, *_, last = explanation.sentence.removeprefix(f"{run.cycles:,} cycles, ").split("; ")
    assert first == "75 %: LLB outstanding requests on b.val (ideal, that alone saves nothing)"
    assert last == "DRAM with unbounded bandwidth would save 78 %"


def test_bounds_are_no_larger_than_the_cycles():
    """The last write goes on after the last firing: its bytes are no bound."""
    program = custard.compile("y(i) = b(i)", {"b": "d", "y": "d"})
    level = {"name": "DRAM", "latency_cycles": 1, "bandwidth_gb_per_s": 1, "ports": "per_block"}
    for count in (1, 3, 40):
        run = program.simulate({"b": np.ones(count)}, overrides={"memory.levels": [level]})
        assert max(bound.cycles for bound in run.explain().bounds) <= run.cycles


def test_long_options_have_lines_of_their_own():
    levels = [{"name": "DRAM", "latency_cycles": 100}]
    explanation = spmv().simulate(INPUTS, overrides={"memory.levels": levels}).explain()
    lines = explanation.lines()
    [n] = [n for n, line in enumerate(lines) if "DRAM with a latency of 0:" in line]
    assert lines[n + 1] == '         --set "memory.levels.DRAM.latency_cycles=0"'
    assert max(len(line) for line in lines[1:] if not line.startswith("note: ")) <= 80


def test_alternatives_name_the_words_to_write():
    explanation = spmv(schedule=["reorder(i,j)"]).simulate(INPUTS).explain()
    tried = [one.what for one in explanation.what_ifs]
    assert {"parallelize(i,Lanes,2)", "skip(A,j)", "A:ds:0,1"} <= set(tried)
    how = {one.what: one.how for one in explanation.what_ifs}
    assert how["skip(A,j)"] == ('-s "skip(A,j)"',)
    assert how["A:ds:0,1"] == ("-f A:ds:0,1",)
    assert [one.saves for one in explanation.what_ifs] == sorted(
        (one.saves for one in explanation.what_ifs), reverse=True
    )


def test_several_graphs_in_turn():
    program = custard.compile(
        "y(i) = A(i,j) * x(j)",
        {"A": "ss", "x": "s", "w": "ds"},
        ["precompute(A(i,j) * x(j), j, jw, w)"],
    )
    run = program.simulate(INPUTS, overrides={"queues.depth": 4})
    explanation = run.explain()
    assert sum(cause.cycles for cause in explanation.causes) == run.cycles


def test_a_run_that_cannot_be_run_again():
    from dataclasses import replace

    run = replace(sim.simulate(spmv().graph, INPUTS), again=None)
    with pytest.raises(UserError) as caught:
        run.explain()
    assert str(caught.value) == (
        "this run did not keep why its blocks waited\n"
        "hint: simulate(..., attribution=True) of a run that is done"
    )


def test_a_change_that_takes_for_ever_is_given_up(monkeypatch):
    from sim.explain import telling

    monkeypatch.setattr(telling, "_MOST_TIMES", 0)
    monkeypatch.setattr(telling, "_MOST_MORE", 50)
    explanation = spmv().simulate(INPUTS).explain()
    assert explanation.what_ifs == ()
    assert any(note.startswith("skip(A,j): ") for note in explanation.notes)


def test_a_change_is_told_by_the_better_order_of_service():
    """The parts of the JSON, and the line that is printed."""
    own = WhatIf.of("more ports", ("--set x",), 1000, 700, 800)
    assert (own.saves, own.least, own.order) == (300, 700, "")
    assert own.told == "more ports: 700 cycles"
    old = WhatIf.of("no latency", (), 1000, 1020, 910)
    assert (old.saves, old.cycles, old.kept) == (90, 1020, 910)
    [line] = old.lines(1000)
    assert line == (
        "    9 %  no latency: 910 cycles in this order of service, 1,020 (+2 %) in its own"
    )
    alone = WhatIf.of("skip(B,j)", (), 1000, 1030, None)
    assert (alone.saves, alone.told) == (-30, "skip(B,j): 1,030 cycles")


def test_ideal_resources_of_a_shared_memory_are_tried_in_both_orders():
    explanation = (
        spmv()
        .simulate(INPUTS, overrides={"memory.levels": [{"name": "DRAM", "latency_cycles": 100}]})
        .explain()
    )
    tried = {one.what: one for one in explanation.what_ifs}
    ideal = [one for one in explanation.what_ifs if one.how[0].startswith("--set")]
    assert ideal
    assert all(one.kept is not None and one.kept <= explanation.cycles for one in ideal)
    assert tried["A:ds:0,1"].kept is None
    found = {one["what"]: one for one in explanation.as_json()["what_ifs"]}
    assert found["DRAM with a latency of 0"]["cycles_in_this_order"] == (
        tried["DRAM with a latency of 0"].kept
    )
