"""Traces, read back by readers that are not ours."""

import signal

import numpy as np
import pytest

import custard
from sam.support.errors import UserError
from sim.traces.states import parse_window, states

perfetto_trace_pb2 = pytest.importorskip(
    "perfetto.protos.perfetto.trace.perfetto_trace_pb2", reason="perfetto is not installed"
)
vcdvcd = pytest.importorskip("vcdvcd", reason="vcdvcd is not installed")
# Importing vcdvcd makes SIGPIPE deadly, for all tests of the process.
signal.signal(signal.SIGPIPE, signal.SIG_IGN)

MEMORY = {"memory.levels": [{"name": "DRAM", "latency_cycles": 9, "bandwidth_gb_per_s": 4}]}


def product(n=6, overrides=None, **more):
    program = custard.compile(
        "X(i,j) = B(i,k) * C(k,j)", {"B": "ss", "C": "ss", "X": "ss"}, ["reorder(i,k,j)"]
    )
    values = np.random.default_rng(1).random((2, n, n)).round(2) * (
        np.random.default_rng(2).random((2, n, n)) < 0.4
    )
    return program.simulate({"B": values[0], "C": values[1]}, overrides=overrides, **more)


def slices(path):
    """By track, the slices of a trace: name, first cycle, cycle after the last; and counters."""
    trace = perfetto_trace_pb2.Trace()
    trace.ParseFromString(path.read_bytes())
    names, tracks, opened, found, counted = {}, {}, {}, {}, {}
    for packet in trace.packet:
        for one in packet.interned_data.event_names:
            names[one.iid] = one.name
        if packet.HasField("track_descriptor"):
            tracks[packet.track_descriptor.uuid] = packet.track_descriptor.name
        event = packet.track_event
        if event.type == event.TYPE_SLICE_BEGIN:
            assert event.track_uuid not in opened
            opened[event.track_uuid] = names[event.name_iid], packet.timestamp
        elif event.type == event.TYPE_SLICE_END:
            name, start = opened.pop(event.track_uuid)
            assert packet.timestamp > start
            told = (name, start, packet.timestamp)
            found.setdefault(tracks[event.track_uuid], []).append(told)
        elif event.type == event.TYPE_COUNTER:
            told = (packet.timestamp, event.counter_value)
            counted.setdefault(tracks[event.track_uuid], []).append(told)
    assert not opened
    return found, counted


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_slices_add_up_to_what_the_run_tells(tmp_path, engine):
    run = product(overrides={"queues.depth": 4, **MEMORY}, engine=engine)
    assert run.to_trace(tmp_path / "t.pftrace") is None
    found, counted = slices(tmp_path / "t.pftrace")
    assert set(found) == set(run.blocks)
    for name, block in run.blocks.items():
        spent = {}
        for what, start, end in found[name]:
            spent[what] = spent.get(what, 0) + end - start
        starved = {f"starved by {port}": n for port, n in block.starved.items() if n}
        blocked = {f"blocked by {port}": n for port, n in block.blocked.items() if n}
        memory = {"memory": block.memory} if block.memory else {}
        assert spent == {"busy": block.busy, **starved, **blocked, **memory}
    assert {f"tokens in {edge}" for edge in run.streams} <= set(counted)
    moved = (
        sum(value for _, value in counted["bytes of DRAM per 1 cycles"]) if run.cycles < 256 else 0
    )
    assert moved <= run.memory["DRAM"].total.bytes_read + run.memory["DRAM"].total.bytes_written


def texts(path):
    """By signal, the changes of those that are texts: what vcdvcd does not read."""
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
    run = product(overrides=MEMORY).attributed
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


def test_a_window(tmp_path):
    run = product()
    run.to_trace(tmp_path / "t.pftrace", (20, 50))
    found, _ = slices(tmp_path / "t.pftrace")
    for each in found.values():
        assert all(20 <= start < end <= 50 for _, start, end in each)
    run.to_trace(tmp_path / "t.vcd", (20, 50))
    read = vcdvcd.VCDVCD(str(tmp_path / "t.vcd"))
    assert (read.begintime, read.endtime) == (20, 50)


def test_a_limit_tells_what_is_left_out(tmp_path):
    run = product(20)
    note = run.to_trace(tmp_path / "t.pftrace", most_bytes=20_000)
    found, _ = slices(tmp_path / "t.pftrace")
    last = max(end for each in found.values() for _, _, end in each)
    assert note == (
        f"the trace ends at cycle {last:,}, as more would make it larger than 0.02 MB; "
        f"--window {last}:{run.cycles} shows the rest"
    )
    assert (tmp_path / "t.pftrace").stat().st_size < 20_000 + 4_000  # names of tracks come on top


def test_several_graphs_follow_each_other(tmp_path):
    program = custard.compile(
        "y(i) = A(i,j) * x(j)",
        {"A": "ss", "x": "s", "w": "ds"},
        ["precompute(A(i,j) * x(j), j, jw, w)"],
    )
    run = program.simulate({"A": np.eye(3), "x": np.ones(3)}, attribution=True)
    run.to_trace(tmp_path / "t.pftrace")
    found, _ = slices(tmp_path / "t.pftrace")
    last = max(end for _, _, end in found["write_y_vals"])
    assert last == run.cycles
    run.to_trace(tmp_path / "t.vcd")
    signals = vcdvcd.VCDVCD(str(tmp_path / "t.vcd")).signals
    assert any(name.startswith("w.blocks.") for name in signals)


def test_mistakes(tmp_path):
    run = product()
    with pytest.raises(UserError) as caught:
        run.to_trace(tmp_path / "t.json")
    assert str(caught.value).endswith("is no trace by its suffix\nhint: one of .pftrace, .vcd")
    with pytest.raises(UserError) as caught:
        run.to_trace(tmp_path / "t.vcd", (10_000_000, 10_000_001))
    assert "has no cycle of the run" in str(caught.value)
    with pytest.raises(UserError) as caught:
        parse_window("10-20")
    assert str(caught.value) == '"10-20" is no window of cycles\nhint: as in --window 1000:2000'
