"""The table of blocks and the JSON data of a run, from a run that is written out here."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import custard
import sim
from custard.cli.run_report import (
    as_json,
    blocks_table,
    bottleneck,
    in_time,
    memory_table,
    summary,
)
from sam.graph import Graph, Result, Slot
from sam.tensor import Tensor
from sim.stats import BlockStats, MemoryStats, Run, StreamStats, Traffic, in_turn

NO_TOKENS = {"data": 0, "empty": 0, "stop": 0, "done": 0}


def _block(kind, fired, busy, starved, blocked, memory, done):
    return BlockStats(kind, fired, busy, starved, blocked, memory, done, {"out": NO_TOKENS})


def _run(memory: int = 0, output: Tensor | None = None) -> Run:
    slot = Slot("X", "X", "s", ((0,),), ("i",))
    return Run(
        graph=Graph((), (), result=Result(slot, "s", (0,))),
        output=output,
        cycles=1000,
        blocks={
            "root": _block("root", 2, 2000, {}, {}, 0, 0),
            "scan": _block("level_scanner", 400, 400, {"in_ref": 2}, {"crd": 348}, 0, 250),
            "merge": _block("intersecter", 800, 800, {"in_crd1": 150, "in_crd0": 50}, {}, 0, 0),
            "array": _block("array", 500, 500, {}, {"val": 500 - memory}, memory, 0),
        },
        streams={
            "scan.crd -> merge.in_crd0": StreamStats(
                {"data": 1200, "empty": 0, "stop": 3, "done": 1}, 4
            ),
            "array.val -> sink.in": StreamStats({"data": 5, "empty": 2, "stop": 0, "done": 1}, 1),
        },
        config={
            "name": "ideal",
            "clock": {"clock_ghz": 2.0},
            "memory": {
                "levels": [
                    {"name": "DRAM", "bandwidth_gb_per_s": 64},
                    {"name": "LLB", "bandwidth_gb_per_s": "unbounded"},
                ]
            },
        },
        engine="simpy",
        sinks={},
    )


def _printed(thing, width: int = 100) -> list[str]:
    console = Console(width=width)
    with console.capture() as captured:
        console.print(thing)
    return [line.rstrip() for line in captured.get().splitlines()]


def test_the_table_shares_out_the_cycles_of_each_block():
    header, *rows, legend = _printed(blocks_table(as_json(_run())))
    assert header.split() == [
        *("block", "fired", "busy", "of", "all", "cycles"),
        *("starved", "by", "blocked", "by", "done"),
    ]
    assert [row.split() for row in rows] == [
        ["scan", "400", "40%", "████████▒▒▒▒▒▒▒·····", "in_ref", "<1%", "crd", "35%", "25%"],
        [
            *("merge", "◀", "800", "80%", "████████████████░░░░"),
            *("in_crd1", "15%,", "in_crd0", "5%", "-", "-"),
        ],
        ["array", "500", "50%", "██████████▒▒▒▒▒▒▒▒▒▒", "-", "val", "50%", "-"],
    ]
    assert legend.endswith("◀ most busy")
    assert "memory" not in legend


@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize("all_lanes", [False, True])
def test_names_of_ports_and_shares_are_whole(width, all_lanes):
    """In a narrow console, columns are left out, bars become short, and one port is shown."""
    long, starved = _run(memory=100), {"in_coordinates_of_the_outer_loop": 240, "in_ref": 10}
    lanes = {
        f"intersect_k{suffix}": _block("intersecter", 9, 490 + 10 * n, starved, {}, 90, 0)
        for n, suffix in enumerate(("", "_2", "_3", "_4"))
    }
    told = as_json(replace(long, blocks={**long.blocks, **lanes})) | {"copies": [[*lanes]]}
    lines = _printed(blocks_table(told, width, all_lanes), width)
    assert max(map(len, lines)) <= width
    assert not any("…" in line for line in lines)
    of_lanes = [line for line in lines if line.startswith("intersect")]
    due = ["49%", "50%", "51%", "52%"] if all_lanes else ["49 50 52%", "49% 50% 52%"]
    assert all(any(share in line for share in due) for line in of_lanes)
    assert len(of_lanes) == (4 if all_lanes else 1)
    legend = "xN: N lanes, the least, mean and most busy; else the mean"
    assert (legend in [line.strip() for line in lines]) == (not all_lanes)
    assert all(" in_coordinates_of_the_outer_loop 24%" in line for line in of_lanes)
    assert all("9%" in line.split() for line in of_lanes)


def test_a_run_in_four_lanes_with_memory_is_readable():
    """All ports that were waited for, or the first of them, at the widths of usual consoles."""
    program = custard.compile(
        "X(i,j) = B(i,k) * C(k,j)",
        {"X": "ds", "B": "ds", "C": "ds"},
        ["reorder(i,k,j)", "parallelize(i,Lanes,4)"],
    )
    matrix = np.eye(8) + np.eye(8, k=1)
    config = Path(__file__).parents[3] / "examples/memory.yaml"
    told = as_json(program.simulate({"B": matrix, "C": matrix}, config=config, engine="simpy"))
    ports = {p for block in told["blocks"].values() for p in (*block["starved"], *block["blocked"])}
    for width in (60, 80, 100, 120):
        lines = _printed(blocks_table(told, width), width)
        assert max(map(len, lines)) <= width
        assert not any("…" in line for line in lines)
        words = {word for line in lines for word in line.split()}
        assert {"in_coordinates", "in_crd0_0", "multiply", "join_i_2"} <= words
        assert width < 100 or ports <= words


def test_narrow_consoles_tell_the_longest_wait():
    """40 columns have room for names of blocks, shares and one port."""
    lines = _printed(blocks_table(as_json(_run(memory=100)), 40), 40)
    assert lines[-1].strip() == "◀ most busy"
    [array] = [line for line in lines if line.startswith("array")]
    assert array.split() == ["array", "50%", "val", "40%", "10%"]


def test_numbers_stay_whole_where_names_need_a_second_line():
    lines = _printed(blocks_table(as_json(_run(memory=100)), 25), 25)
    assert not any("…" in line for line in lines)
    [array] = [line for line in lines if line.startswith("array")]
    assert array.split() == ["array", "50%", "val", "10%"]
    assert lines[lines.index(array) + 1].split() == ["40%"]


@pytest.mark.parametrize("width", [40, 50, 60, 80])
def test_numbers_about_memory_are_whole_at_all_widths(width):
    told = as_json(replace(_run(), memory=MEMORY))
    header, dram, *_ = _printed(memory_table(told, width), width)
    assert "…" not in header + dram
    assert {"6,400", "256", "25%"} <= {*dram.split()}
    assert ("at most" in header, "133,120" in dram) == (width >= 80, width >= 50)


def test_energy_has_a_column_where_some_level_takes_any():
    """The column goes to numbers of bytes elsewhere."""
    told = as_json(replace(_run(), memory={"LLB": MEMORY["LLB"]}))
    assert "pJ" not in _printed(memory_table(told))[0]


def test_memory_has_a_column_where_some_block_waits_for_it():
    header, *rows, legend = _printed(blocks_table(as_json(_run(memory=100))))
    assert header.split()[-2:] == ["memory", "done"]
    assert rows[2].split() == [
        *("array", "500", "50%", "██████████▒▒▒▒▒▒▒▒▚▚", "-", "val", "40%", "10%", "-")
    ]
    assert "▚ memory" in legend


MEMORY = {
    "DRAM": MemoryStats(
        [250.0, 100.0], 9000, {"B": Traffic(10, 4, 6400, 256, 0, 0, 8000, 133120.0)}
    ),
    "LLB": MemoryStats(
        [1.0],
        1024,
        {
            "B": Traffic(1500, 0, 6000, 0, 1490, 10, 640, 0.0),
            "X": Traffic(0, 64, 0, 512, 48, 16, 1024, 0.0),
        },
    ),
}


def test_traffic_of_memory_levels_has_a_table():
    told = as_json(replace(_run(), memory=MEMORY))
    assert json.loads(json.dumps(told)) == told
    assert told["memory"]["LLB"]["total"]["bytes_written"] == 512
    header, *rows = _printed(memory_table(told))
    assert header.split() == [
        *("memory", "reads", "writes", "bytes", "read", "written"),
        *("hits", "at", "most", "pJ", "busy"),
    ]
    assert [row.split() for row in rows] == [
        ["DRAM", "10", "4", "6,400", "256", "-", "9,000", "133,120", "25%"],
        ["B", "10", "4", "6,400", "256", "-", "8,000", "133,120"],
        ["LLB", "1,500", "64", "6,000", "512", "98%", "1,024", "-", "<1%"],
        ["B", "1,500", "0", "6,000", "0", "99%", "640", "-"],
        ["X", "0", "64", "0", "512", "75%", "1,024", "-"],
    ]
    assert rows[0] in _printed(summary(told, 0.25))


def test_memory_of_runs_in_turn_is_added_up():
    both = in_turn([replace(_run(), memory=MEMORY), replace(_run(), memory=MEMORY)])
    assert both.memory["DRAM"].busy == [500.0, 200.0]
    assert both.memory["DRAM"].peak_bytes == 9000
    assert both.memory["LLB"].tensors["X"] == Traffic(0, 128, 0, 1024, 96, 32, 1024, 0.0)


def test_the_summary_ends_with_the_beginning_of_the_result():
    tensor = Tensor.from_coo([[1, 2, 3, 5, 6, 8]], np.arange(6) / 2, (9,))
    assert _printed(summary(as_json(_run(output=tensor)), 0.25))[-12:] == [
        "",
        "1,000 cycles, 500 ns at 2 GHz",
        "1,212 tokens: 1,205 data, 2 empty, 3 stop, 2 done",
        "0.25 s to simulate",
        "",
        "X has the shape (9,), stored as s:0: 5 nonzeros",
        "  X(1) = 0.0",
        "  X(2) = 0.5",
        "  X(3) = 1.0",
        "  X(5) = 1.5",
        "  X(6) = 2.0",
        "  ...",
    ]
    assert _printed(summary(as_json(_run(output=Tensor.of(2.5))), 0.25))[-1] == "X = 2.5"


def test_time_to_compile_is_told_apart():
    told = as_json(_run())
    assert _printed(summary(told | {"compile_seconds": 0.0}, 0.25))[-1] == "0.25 s to simulate"
    assert _printed(summary(told | {"compile_seconds": 2.345}, 0.25))[-1] == (
        "0.25 s to simulate, after 2.35 s to compile kernels, once on this machine"
    )


def test_the_bottleneck_is_in_the_machine():
    assert bottleneck(_run()) == "merge"


def test_json_is_plain_and_whole():
    told = as_json(_run(output=Tensor.of([1.0, 0.0])))
    assert json.loads(json.dumps(told)) == told
    assert told["cycles"] == 1000
    assert told["tokens"] == {"data": 1205, "empty": 2, "stop": 3, "done": 2}
    assert told["blocks"]["scan"] == {
        "kind": "level_scanner",
        "fired": 400,
        "busy": 400,
        "starved": {"in_ref": 2},
        "blocked": {"crd": 348},
        "memory": 0,
        "done": 250,
        "tokens": {"out": NO_TOKENS},
    }
    assert told["streams"]["array.val -> sink.in"]["peak"] == 1
    assert told["result"] == {
        "tensor": "X",
        "shape": [2],
        "format": "d:0",
        "dtype": "float64",
        "nnz": 2,
        "entries": 1,
        "nonzeros": 1,
        "first": [["0", "1.0"]],
    }
    assert as_json(_run())["result"] is None


def test_cycles_by_the_clock():
    told = in_time(_run())
    assert (told["clock_ghz"], told["seconds"]) == (2.0, 5e-7)
    assert told["multiplications"] == 0


def test_the_blocks_of_lanes_are_folded():
    """Four lanes: one row for each block that they have copies of, by least, mean and largest."""
    program = custard.compile(
        "X(i,j) = B(i,k) * C(k,j)", schedule=["reorder(i,k,j)", "parallelize(i,Lanes,4)"]
    )
    matrix = np.eye(8) + np.eye(8, k=1)
    run = sim.simulate(program.graph, {"B": matrix, "C": matrix}, engine="simpy")
    told = as_json(run)
    folded = [str(cell) for cell in blocks_table(told).columns[0]._cells]
    assert "scan_C_j x4" in folded
    assert "deal_i" in folded
    assert not any(name.startswith("scan_C_j_") for name in folded)
    old = {key: part for key, part in told.items() if key != "copies"}
    assert "scan_C_j_2" in [str(cell) for cell in blocks_table(old).columns[0]._cells]
    unfolded = [str(cell) for cell in blocks_table(told, all_lanes=True).columns[0]._cells]
    assert {"scan_C_j", "scan_C_j_2", "scan_C_j_3", "scan_C_j_4"} <= {*unfolded}
