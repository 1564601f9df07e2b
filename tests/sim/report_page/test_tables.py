"""The tables and charts of a page."""

import re
from dataclasses import replace

import numpy as np

from sim.explain.telling import WhatIf
from sim.report_page import tables
from tests.support.runs import MEMORY, spmv


def text_of(html):
    """The text of the cells of each row."""
    cells = re.compile(r"<t[dh].*?>(.*?)</t[dh]>", re.S)
    rows = re.findall(r"<tr>(.*?)</tr>", html, re.S)
    return [[re.sub("<.*?>", "", cell) for cell in cells.findall(row)] for row in rows]


def test_shares_in_words():
    assert tables.percent(0, 5) == "-"
    assert tables.percent(1, 0) == "-"
    assert tables.percent(1, 1000) == "<1 %"
    assert tables.percent(1, 3) == "33 %"


def test_a_bar_has_the_shares_that_are_not_zero():
    found = tables.bar({"busy": 1, "starved": 0, "done": 3}, 4)
    assert re.findall(r'class="(\w+)" style="width:([\d.]+)%"', found) == [
        ("busy", "25.00"),
        ("done", "75.00"),
    ]


def test_every_block_has_a_row_but_the_root():
    run = spmv()
    rows = text_of(tables.stalls(run))
    names = {row[0] for row in rows if row}
    assert {name for name, block in run.blocks.items() if block.kind != "root"} <= names
    assert "root" not in names
    [row] = [row for row in rows if row and row[0] == "multiply"]
    assert tables.percent(run.blocks["multiply"].busy, run.cycles) == row[2]


def test_the_critical_path_adds_up():
    run = spmv()
    rows = text_of(tables.path(run))[1:]
    assert sum(int(row[2].replace(",", "")) for row in rows) == run.cycles


def test_tokens_by_stream():
    run = spmv()
    rows = {row[0]: row[1:] for row in text_of(tables.tokens(run))}
    for name, stream in run.streams.items():
        shown = [*map(str, stream.tokens.values()), str(stream.peak)]
        assert rows[name.replace(">", "&gt;")] == shown


def test_states_over_time_are_one_picture_for_each_block():
    run = spmv(attribution=True)
    found = tables.over_time(run)
    assert found.count('<svg class="strip"') == sum(b.kind != "root" for b in run.blocks.values())
    assert f"cycles 0 to {run.cycles}" in found


def test_a_queue_over_time_has_its_peak():
    run = spmv(attribution=True)
    rows = text_of(tables.queues(run))[1:]
    assert {row[0] for row in rows} == {
        name.replace(">", "&gt;") for name in run.log.over_time.given
    }
    line = tables._line(np.array([0, 2, 1]))
    assert "L0 20.0 L1 1.0 L2 10.5" in line


def test_ideal_memory_has_no_table():
    assert tables.memory(spmv()) == "<p>Memory is ideal in this config: it takes no time.</p>"


def test_memory_by_level_and_tensor():
    run = spmv(MEMORY, attribution=True)
    rows = {row[0]: row[1:] for row in text_of(tables.memory(run)) if row}
    total = run.memory["DRAM"].total
    assert rows["DRAM: all"][:4] == [
        f"{n:,}" for n in (total.reads, total.writes, total.bytes_read, total.bytes_written)
    ]
    assert {f"DRAM: {tensor}" for tensor in "Axy"} <= set(rows)


def test_the_roofline_holds():
    """16 multiplications on one multiplier, at 4 bytes per cycle: no more than the roof."""
    run = spmv(MEMORY, attribution=True)
    moved = run.memory["DRAM"].total
    intensity = 16 / (moved.bytes_read + moved.bytes_written)
    [row] = [row for row in text_of(tables.roofline(run)) if row and row[0] == "DRAM"]
    assert row[1] == f"{intensity:.3g}"
    assert row[2] == f"{16 / run.cycles:.3g}"
    assert row[3] == f"{min(1, 4 * intensity):.3g}"
    assert float(row[2]) <= float(row[3])
    assert tables.roofline(spmv()) == ""


def test_a_cell_has_the_two_longest_waits_and_how_many_more():
    faults = {f"in{n}": {"a": n, "b": 1} for n in range(1, 6)}
    found = re.findall("<li>(.*?)</li>", tables._culprits(faults, 100))
    assert found == ["in5 6 %: a 5 %, 1 more", "in4 5 %: a 4 %, 1 more", "3 more"]
    assert len(re.findall("<li>", tables._listed({"DRAM": 1, "LLB": 2, "L1": 3}, 100))) == 3


def test_changes_have_their_difference_and_options():
    explanation = spmv(MEMORY, attribution=True).explain()
    rows = {row[0]: row for row in text_of(tables.explained(explanation)) if row}
    assert rows["change"][2:] == ["difference", "options that make it"]
    best = explanation.what_ifs[0]
    share = 100 * best.saves / explanation.cycles
    assert rows[best.what][1:3] == [f"{best.cycles:,}", f"-{share:.0f} %"]
    unchanged = [one.what for one in explanation.what_ifs if one.saves == 0]
    assert unchanged
    assert all(rows[what][2] == "same" for what in unchanged)


def test_a_change_that_is_better_in_the_old_order_of_service_has_both_numbers():
    """Of 1,000 cycles; 910 are 9 % less, and 1,020 are 2 % more."""
    explanation = spmv(MEMORY, attribution=True).explain()
    change = WhatIf.of("DRAM with a latency of 0", (), 1000, 1020, 910)
    told = replace(explanation, cycles=1000, what_ifs=(change,))
    rows = {row[0]: row for row in text_of(tables.explained(told)) if row}
    what = "DRAM with a latency of 0: in this order of service, 1,020 (+2 %) in its own"
    assert rows[what][1:3] == ["910", "-9 %"]
