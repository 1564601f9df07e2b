"""Traces for waveform viewers, read back by a reader that is not ours."""

import pytest

from sim.traces.states import states
from tests.support.runs import MEMORY, in_two, sparse_product

vcdvcd = pytest.importorskip("vcdvcd", reason="vcdvcd is not installed")


def texts(path):
    """The changes of signals that are texts, by signal, which vcdvcd does not read."""
    names, found, cycle = {}, {}, None
    for line in path.read_text().splitlines():
        word = line.split()
        if line.startswith("$var string"):
            names[word[3]] = word[4]
        elif line.startswith("#"):
            cycle = int(line[1:])
        elif line.startswith("s"):
            found.setdefault(names[word[1]], []).append((cycle, word[0][1:]))
    return found


def test_waveforms(tmp_path):
    run = sparse_product(overrides=MEMORY).attributed
    assert run.to_trace(tmp_path / "t.vcd") is None
    read, told_by = vcdvcd.VCDVCD(str(tmp_path / "t.vcd")), texts(tmp_path / "t.vcd")
    for n, name in enumerate(run.log.blocks):
        found = states(run.log, n)
        expected = [
            (cycle, found.names[state].replace(" ", "_"))
            for cycle, state in zip(found.cycles.tolist(), found.state.tolist(), strict=True)
        ]
        assert [change for change in told_by[name] if change[1] != "idle"] == expected
    for edge, held in run.log.over_time.given.items():
        changes = read[f"queues.{edge.replace(' -> ', '>')}"].tv
        occupancy = run.log.over_time.occupancy(edge)
        assert max(int(value, 2) for _, value in changes) == occupancy.max()
        assert int(changes[-1][1], 2) == held.sum() - run.log.over_time.taken[edge].sum() == 0
    assert read.endtime == run.cycles


def test_the_comment_tells_the_machine(tmp_path):
    """A name that would end the comment is no harm."""
    run = sparse_product(overrides={"name": "my $end", "queues.depth": 3})
    run.to_trace(tmp_path / "t.vcd")
    [comment] = [line for line in (tmp_path / "t.vcd").read_text().splitlines() if "config" in line]
    assert "; config my end with queues.depth=3, engine " in comment
    assert vcdvcd.VCDVCD(str(tmp_path / "t.vcd")).endtime == run.cycles


def test_a_window(tmp_path):
    run = sparse_product()
    run.to_trace(tmp_path / "t.vcd", (20, 50))
    read = vcdvcd.VCDVCD(str(tmp_path / "t.vcd"))
    assert (read.begintime, read.endtime) == (20, 50)


def test_a_limit_is_used(tmp_path):
    run = sparse_product(20)
    note = run.to_trace(tmp_path / "t.vcd", most_bytes=8_000)
    read = vcdvcd.VCDVCD(str(tmp_path / "t.vcd"))
    assert note.startswith(f"the trace ends at cycle {read.endtime:,}, ")
    changes = (tmp_path / "t.vcd").read_text().partition("$enddefinitions $end")[2]
    assert 6_000 < len(changes) <= 8_000


def test_the_names_of_several_graphs_begin_with_their_results(tmp_path):
    in_two(attribution=True).to_trace(tmp_path / "t.vcd")
    signals = vcdvcd.VCDVCD(str(tmp_path / "t.vcd")).signals
    assert any(name.startswith("w.blocks.") for name in signals)
