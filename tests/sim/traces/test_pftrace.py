"""Traces for Perfetto, read back by a reader that is not ours."""

import pytest

from tests.support.runs import MEMORY, in_two, sparse_product

perfetto_trace_pb2 = pytest.importorskip(
    "perfetto.protos.perfetto.trace.perfetto_trace_pb2", reason="perfetto is not installed"
)


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
def test_slices_add_up_to_the_statistics_of_the_run(tmp_path, engine):
    run = sparse_product(overrides={"queues.depth": 4, **MEMORY}, engine=engine)
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


def test_a_window(tmp_path):
    run = sparse_product()
    run.to_trace(tmp_path / "t.pftrace", (20, 50))
    found, _ = slices(tmp_path / "t.pftrace")
    for each in found.values():
        assert all(20 <= start < end <= 50 for _, start, end in each)


def test_a_limit_tells_what_is_left_out(tmp_path):
    run = sparse_product(20)
    note = run.to_trace(tmp_path / "t.pftrace", most_bytes=20_000)
    found, _ = slices(tmp_path / "t.pftrace")
    last = max(end for each in found.values() for _, _, end in each)
    assert note == (
        f"the trace ends at cycle {last:,}, as more would make it larger than 0.02 MB; "
        f"--window {last}:{run.cycles} shows the rest"
    )
    names = 4_000  # come on top
    assert 16_000 < (tmp_path / "t.pftrace").stat().st_size < 20_000 + names


def test_several_graphs_follow_each_other(tmp_path):
    run = in_two(attribution=True)
    run.to_trace(tmp_path / "t.pftrace")
    found, _ = slices(tmp_path / "t.pftrace")
    last = max(end for _, _, end in found["write_y_vals"])
    assert last == run.cycles
