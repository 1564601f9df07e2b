"""What a simulation tells."""

from dataclasses import replace

import pytest

from sam.support.errors import UserError
from sim.stats import MemoryStats, Traffic, in_turn
from tests.support.runs import MEMORY, copied, in_two, spmv


def test_the_cycles_of_each_block_add_up():
    for run in (spmv(), spmv({"queues.depth": 2}), spmv(MEMORY)):
        for block in run.blocks.values():
            waits = sum(block.starved.values()) + sum(block.blocked.values()) + block.memory
            assert block.busy + waits + block.done == run.cycles


def test_tokens_are_those_of_all_streams():
    """Three values: a scanner gives 3 coordinates and references, S0 and D each, and so on."""
    run = copied(3)
    given = run.blocks["scan_b_i"].tokens["crd"]
    assert given == {"data": 3, "empty": 0, "stop": 1, "done": 1}
    assert run.tokens == sum(sum(stream.tokens.values()) for stream in run.streams.values())


def test_a_run_in_words():
    text = repr(copied(3))
    assert text.startswith("Run(x(i) = b(i): ")
    assert " cycles on ideal, engine " in text


def test_a_run_of_several_graphs_in_words_has_their_expression():
    text = repr(in_two())
    assert text.startswith("Run(y(i) = A(i,j) * x(j): ")


def test_one_run_in_turn_is_itself():
    run = copied(3)
    assert in_turn([run]) is run


def test_runs_in_turn_add_up():
    run = in_two()
    first, second = run.parts
    assert run.cycles == first.cycles + second.cycles
    assert run.output is second.output
    assert set(run.blocks) == {f"w.{n}" for n in first.blocks} | {f"y.{n}" for n in second.blocks}
    assert run.streams.keys() == {f"w.{n}" for n in first.streams} | {
        f"y.{n}" for n in second.streams
    }
    assert sum(share.total for share in run.attribution.values()) == (
        len(first.blocks) * first.cycles + len(second.blocks) * second.cycles
    )
    assert sum(part.cycles for part in run.critical_path) == run.cycles


def test_memory_of_runs_in_turn():
    run = copied(3, MEMORY)
    twice = in_turn([run, run]).memory["DRAM"]
    once = run.memory["DRAM"]
    assert twice.total.bytes_read == 2 * once.total.bytes_read
    assert twice.total.peak_bytes == once.total.peak_bytes
    assert list(twice.busy) == [2 * busy for busy in once.busy]


def test_the_traffic_of_all_tensors():
    reads = dict.fromkeys(Traffic.__dataclass_fields__, 0)
    one = Traffic(**{**reads, "reads": 2, "bytes_read": 16})
    other = Traffic(**{**reads, "reads": 1, "hits": 3})
    total = MemoryStats([1.0], 8, {"A": one, "B": other}).total
    assert (total.reads, total.bytes_read, total.hits) == (3, 16, 3)


def test_a_run_that_cannot_be_run_again_says_what_to_ask_for():
    run = replace(copied(3), again=None)
    with pytest.raises(UserError) as caught:
        run.attributed  # noqa: B018
    assert str(caught.value) == (
        "this run did not keep why its blocks waited\n"
        "hint: simulate(..., attribution=True) of a run that is done"
    )
    kept = copied(3, attribution=True)
    assert kept.attributed is kept
