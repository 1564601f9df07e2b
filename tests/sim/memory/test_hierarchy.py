"""The memory hierarchy: times, lines and traffic, by hand and as properties."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import custard
import sim
from sam.blocks import KINDS
from sam.blocks.base import Block, Kind, into, out
from sam.graph import Edge, End, Graph, Node, Slot
from sam.levels import INDEX
from sam.memory_regions import VALUE, Region
from sam.support.errors import UserError
from sam.support.yaml_sections import validated
from sam.tensor import Tensor
from sam.token import DATA, DONE
from sim.config.memory import Memory
from sim.memory.hierarchy import Hierarchy, Layout, statistics
from tests.custard.to_c.test_levels import _parts, chained
from tests.support.compiler import needs_compiler
from tests.support.profiles import examples
from tests.support.programs import programs
from tests.support.streams import around, run_block

relaxed = settings(suppress_health_check=list(HealthCheck))

engines = pytest.mark.parametrize(
    "engine", ["simpy", pytest.param("compiled", marks=needs_compiler)]
)

DRAM = {"name": "DRAM", "latency_cycles": 100}


def values(length: int, tensor: str = "B", **more) -> Region:
    return Region(tensor, None, "val", VALUE, length, 8, **more)


def hierarchy(levels, regions, blocks=1, **settings):
    memory = validated(Memory, {"levels": levels, **settings}, "memory")
    return Hierarchy(Layout(memory, 1.0, [None] * blocks, regions))


def told(machine):
    machine.finish()
    return statistics(machine.layout, machine)


def loads(n: int, memory, **overrides):
    """The run of an array block that loads n values of 8 bytes, one after the other."""
    refs = ", ".join([*map(str, range(n)), "S0", "D"])
    vector = np.arange(1.0, n + 1)
    result = run_block(
        "array",
        {"slot": "b"},
        {"in_ref": refs},
        tensors={"b": vector},
        config={"memory": memory},
        overrides=overrides,
    )
    assert result.streams["val"] == ", ".join([*map(str, vector), "S0", "D"])
    block = result.run.blocks["block"]
    waits = sum(block.starved.values()) + sum(block.blocked.values())
    assert block.busy + waits + block.memory + block.done == result.run.cycles
    return result.run


# Times


@pytest.mark.parametrize(("n", "latency"), [(1, 1), (5, 1), (7, 2), (7, 100)])
def test_one_outstanding_request_makes_a_load_take_the_latency(n, latency):
    run = loads(n, {"levels": [{**DRAM, "latency_cycles": latency}], "outstanding_requests": 1})
    # The last value is made after n latencies, and seen a cycle later; then come S0 and D.
    assert run.cycles == n * latency + 1 + 3
    assert run.blocks["block"].memory == (n - 1) * (latency - 1)


@pytest.mark.parametrize("places", [1, 2, 3, 10])
def test_outstanding_requests_share_the_latency(places):
    run = loads(12, {"levels": [{**DRAM, "latency_cycles": 30}], "outstanding_requests": places})
    # Request k is asked for when request k - places is there.
    last = (11 // places) * 30 + 11 % places
    assert run.cycles == last + 30 + 1 + 3


@engines
@pytest.mark.parametrize(("form", "cycles"), [("s", 11 + 50), ("l", 12 * 50)])
def test_a_linked_list_is_gone_along_one_node_after_the_other(form, cycles, engine):
    """The coordinates of another level may all be asked for at once."""
    tensors = {"b": Tensor.of(np.ones(12), form)}
    graph = around("level_scanner", {"slot": "b", "level": 0}, {"in_ref": "0, D"}, tensors, {})
    memory = {"levels": [{**DRAM, "latency_cycles": 50}]}
    run = sim.simulate(graph, tensors, {"memory": memory}, engine=engine)
    # The last coordinate is seen a cycle after it is made; then come S0 and D.
    assert run.cycles == cycles + 1 + 3


@pytest.mark.parametrize(("bandwidth", "cycles"), [(8, 1), (4, 2), (1, 8), (0.5, 16), (16, 0.5)])
def test_a_port_is_busy_for_the_bytes_by_the_bandwidth(bandwidth, cycles):
    n, latency = 9, 10
    level = {**DRAM, "latency_cycles": latency, "bandwidth_gb_per_s": bandwidth}
    run = loads(n, {"levels": [level]})
    assert run.cycles == (n - 1) * max(1, cycles) + latency + 1 + 3
    assert run.memory["DRAM"].busy == [n * cycles]
    assert run.blocks["block"].memory == (n - 1) * max(0, cycles - 1)


def test_the_clock_tells_the_bytes_of_a_cycle():
    level = {**DRAM, "bandwidth_gb_per_s": 8}
    config = {"memory": {"levels": [level]}, "clock": {"clock_ghz": 2.0}}
    tensors = {"b": np.ones(3)}
    inputs = {"in_ref": "0, 1, 2, D"}
    run = run_block("array", {"slot": "b"}, inputs, tensors=tensors, config=config).run
    assert run.memory["DRAM"].busy == [3 * 2]


def test_data_are_there_at_the_latency_and_not_before():
    """8 bytes at 3 a cycle: 2 2/3 cycles each. A request is taken in the cycle it begins in."""
    level = {**DRAM, "latency_cycles": 7, "bandwidth_gb_per_s": 3}
    machine = hierarchy([level], [values(9)])
    region = machine.layout.regions[0]
    served = [machine.request(0, 0, [(region, k, False)]) for k in range(4)]
    # They begin at 0, 2 2/3, 5 1/3 and 8; data that are there in mid-cycle are there in the next.
    assert served == [(0, 7), (2, 10), (5, 13), (8, 15)]


def test_a_firing_waits_for_all_that_it_touches():
    level = {**DRAM, "latency_cycles": 7, "bandwidth_gb_per_s": 2}
    machine = hierarchy([level], [values(9)])
    region = machine.layout.regions[0]
    assert machine.request(0, 5, [(region, 1, False), (region, 2, True)]) == (9, 16)


def test_tokens_come_out_in_the_order_of_the_firings():
    """The second value is there long before the first, and comes out right behind it."""
    levels = [{**DRAM, "line_bytes": 8}, {"name": "L1", "line_bytes": 8, "latency_cycles": 2}]
    result = run_block(
        "array",
        {"slot": "b"},
        {"in_ref": "0, 0, 1, 0, D"},
        tensors={"b": np.array([5.0, 6.0])},
        config={"memory": {"levels": levels}},
    )
    assert result.streams["val"] == "5.0, 5.0, 6.0, 5.0, D"
    # Asked for at 0, 1, 2, 3; there at 102, 102, 104, 5; taken by the sink from 103, 104, 105 on.
    assert result.run.cycles == 108


def test_two_blocks_share_a_port_in_the_order_of_the_graph():
    level = {**DRAM, "latency_cycles": 9, "bandwidth_gb_per_s": 2}
    for ports, taken in ((1, [(0, 9), (4, 13), (8, 17)]), (2, [(0, 9), (0, 9), (4, 13)])):
        machine = hierarchy([{**level, "ports": ports}], [values(4)], blocks=2)
        region = machine.layout.regions[0]
        asked = [(0, 0), (1, 0), (0, 1)]
        assert [machine.request(b, t, [(region, 0, False)]) for b, t in asked] == taken
    own = hierarchy([{**level, "ports": "per_block"}], [values(4)], blocks=2)
    assert own.layout.ports == [2]


def test_whoever_asks_first_is_served_first():
    """Two blocks that load 8 bytes at 4 a cycle from one port, and from one each."""
    nodes, edges, slots = [], [], []
    for name, tokens in (("b", "0, 1, 2, 3, 4, 5, 6, 7, S0, D"), ("c", "0, 1, 2, 3, S0, D")):
        source = {"stream": "ref", "depth": 1, "tokens": tokens}
        nodes += [Node(f"from {name}", "source", source), Node(name, "array", {"slot": name})]
        nodes += [Node(f"to {name}", "sink")]
        edges += [Edge(End(f"from {name}", "ref"), End(name, "in_ref"))]
        edges += [Edge(End(name, "val"), End(f"to {name}", "in_stream"))]
        slots += [Slot(name, name, "d", ((0,),), (name,))]
    graph = Graph(tuple(nodes), tuple(edges), tuple(slots))
    inputs = {"b": np.arange(8.0), "c": np.arange(8.0)}

    def run(ports):
        level = {"name": "DRAM", "bandwidth_gb_per_s": 4, "ports": ports}
        return sim.simulate(graph, inputs, {"memory": {"levels": [level]}}, engine="simpy")

    alone, shared = run("per_block").blocks, run(1).blocks
    assert (alone["b"].memory, alone["c"].memory) == (7 * 1, 3 * 1)
    # c is served after b, which is first in the graph, in turns: b in 0, 4, 8, 12, c in 2, 6, 10,
    # 14; then b alone in 16, 18, 20 and 22.
    assert (shared["b"].memory, shared["c"].memory) == (3 * 4 + 3 * 1, 2 + 3 * 3)


# Lines


def touch(machine, text):
    """Reads (a0) and writes (A0) entries of the regions a, b ..., one after the other."""
    for time, word in enumerate(text.split()):
        region = machine.layout.regions["ab".index(word[0].lower())]
        machine.request(0, 1000 * time, [(region, int(word[1:]), word[0].isupper())])


def small(capacity, line=8, inner=None, lengths=(64, 64), **more):
    levels = [DRAM, {"name": "L1", "capacity_bytes": capacity, "line_bytes": line, **more}]
    regions = [values(n, name) for n, name in zip(lengths, "BC", strict=True)]
    return hierarchy(levels + ([inner] if inner else []), regions)


def test_with_lru_the_line_that_was_used_least_recently_is_evicted():
    machine = small(2 * 8)
    touch(machine, "a0 a1 a0 a2 a0 a1")
    stats = told(machine)
    line = stats["L1"].tensors["B"]
    # a1 makes room for a2, not a0, which was used since; then a2 for a1.
    assert (line.hits, line.misses, line.reads) == (2, 4, 6)
    assert stats["DRAM"].tensors["B"].bytes_read == 4 * 8
    assert line.peak_bytes == 16
    assert stats["L1"].peak_bytes == 16


def test_with_fifo_the_line_that_came_first_is_evicted():
    machine = small(2 * 8, replacement="fifo")
    touch(machine, "a0 a1 a0 a2 a0 a1")
    line = told(machine)["L1"].tensors["B"]
    # a0 makes room for a2, though it was used since; then a1 for a0, and a2 for a1.
    assert (line.hits, line.misses, line.reads) == (1, 5, 6)


def test_another_replacement_is_refused():
    due = r'levels\.1\.replacement is "mru"; it must be "lru" or "fifo"'
    with pytest.raises(UserError, match=due):
        small(2 * 8, replacement="mru")


def test_a_line_brings_its_neighbours():
    machine = small(64, line=32)
    touch(machine, "a0 a3 a1 a4 a2")
    stats = told(machine)
    assert (stats["L1"].tensors["B"].hits, stats["L1"].tensors["B"].misses) == (3, 2)
    assert stats["L1"].tensors["B"].bytes_read == 5 * 8
    assert stats["DRAM"].tensors["B"].bytes_read == 2 * 32


def test_the_last_line_ends_where_the_array_does():
    machine = small(1024, line=32, lengths=(6, 1))
    touch(machine, "a0 a5 b0")
    stats = told(machine)
    assert stats["DRAM"].tensors["B"].bytes_read == 6 * 8
    assert stats["DRAM"].tensors["C"].bytes_read == 8
    assert stats["DRAM"].peak_bytes == 7 * 8
    assert stats["L1"].peak_bytes == 3 * 32


def test_changed_lines_are_written_back():
    machine = small(2 * 16, line=16)
    touch(machine, "A0 A1 a2 A3 a4 a0 a2")
    stats = told(machine)
    # A0 is not read before it is written. Then a4 puts out line 0, which is written back, and a0
    # line 1, too; a2 puts out that of a4, which is not. Nothing is left that was changed.
    assert stats["DRAM"].tensors["B"].bytes_written == 2 * 16
    assert stats["DRAM"].tensors["B"].bytes_read == 4 * 16
    assert (stats["L1"].tensors["B"].reads, stats["L1"].tensors["B"].writes) == (4, 3)


def test_lines_left_changed_at_the_end_are_written_back_in_no_time():
    machine = small(1024)
    touch(machine, "A0 A1 A0 b0")
    before = machine.busy
    stats = told(machine)
    assert stats["DRAM"].tensors["B"].bytes_written == 2 * 8
    assert stats["DRAM"].busy == before[0]


def test_writing_back_takes_a_port_but_keeps_nobody_waiting():
    levels = [
        {**DRAM, "latency_cycles": 10, "bandwidth_gb_per_s": 2},
        {"name": "L1", "capacity_bytes": 8, "line_bytes": 8, "latency_cycles": 1},
    ]
    machine = hierarchy(levels, [values(8)])
    region = machine.layout.regions[0]
    assert machine.request(0, 0, [(region, 0, True)]) == (0, 1)
    # Asked of DRAM at 101: there at 111. The port moves it until 105, then the changed line.
    assert machine.request(0, 100, [(region, 1, False)]) == (100, 111)
    assert machine.request(0, 101, [(region, 2, False)]) == (101, 119)
    # Three lines of 8 bytes, at 2 in a cycle; the last is one that the block waits for.
    stats = told(machine)["DRAM"]
    assert (stats.busy, stats.before) == ([12], [8])


def test_a_line_that_is_written_back_last_is_not_waited_for():
    """Its line is read at first, and the changed one before it is written back then."""
    levels = [
        {**DRAM, "bandwidth_gb_per_s": 2},
        {"name": "L1", "capacity_bytes": 8, "line_bytes": 8, "latency_cycles": 1},
    ]
    machine = hierarchy(levels, [values(8)])
    region = machine.layout.regions[0]
    for cycle, (index, write) in enumerate([(0, True), (1, False)]):
        machine.request(0, cycle, [(region, index, write)])
    stats = told(machine)["DRAM"]
    assert (stats.busy, stats.before) == ([8], [0])


def test_a_line_on_its_way_is_there_for_all_when_it_arrives():
    levels = [DRAM, {"name": "L1", "line_bytes": 64, "latency_cycles": 3}]
    machine = hierarchy(levels, [values(8)], blocks=2)
    region = machine.layout.regions[0]
    assert machine.request(0, 5, [(region, 0, False)]) == (5, 108)
    assert machine.request(1, 50, [(region, 1, False)]) == (50, 108)
    assert machine.request(1, 107, [(region, 1, False)]) == (107, 110)
    assert told(machine)["L1"].tensors["B"].hits == 2


def test_three_levels_ask_each_other():
    inner = {"name": "L2", "capacity_bytes": 32, "line_bytes": 16, "latency_cycles": 1}
    machine = small(128, line=32, inner=inner)
    machine.layout.latency[1] = machine.layout.latency[2] * 5
    region = machine.layout.regions[0]
    assert machine.request(0, 0, [(region, 0, False)]) == (0, 1 + 5 + 100)
    assert machine.request(0, 200, [(region, 2, False)]) == (200, 200 + 1 + 5)
    assert machine.request(0, 300, [(region, 3, False)]) == (300, 301)
    stats = told(machine)
    assert stats["DRAM"].tensors["B"].bytes_read == 32
    assert stats["L1"].tensors["B"].bytes_read == 2 * 16
    assert stats["L2"].tensors["B"].bytes_read == 3 * 8


def test_the_outermost_level_moves_whole_bursts():
    machine = hierarchy([{**DRAM, "line_bytes": 32}], [values(6)])
    touch(machine, "a1 a5")
    assert told(machine)["DRAM"].tensors["B"].bytes_read == 32 + 16


def test_tiles_are_lines_of_their_own_sizes():
    tiles = Region("B", None, "tile", length=4, sizes=[40, 30, 50, 10])
    levels = [{**DRAM, "bandwidth_gb_per_s": 10}, {"name": "LLB", "capacity_bytes": 90}]
    machine = hierarchy(levels, [tiles])
    # 40 + 30 fit; 50 needs the place of 0, the oldest, alone; 10 fits; 0 needs the places of both.
    touch(machine, "a0 a1 a2 a3 a0 a3")
    stats = told(machine)
    assert (stats["LLB"].tensors["B"].misses, stats["LLB"].tensors["B"].hits) == (5, 1)
    assert stats["LLB"].tensors["B"].bytes_read == 0
    assert stats["DRAM"].tensors["B"].bytes_read == 40 + 30 + 50 + 10 + 40
    assert stats["LLB"].peak_bytes == 90
    assert stats["DRAM"].busy == [17.0]


def load_tile(p, s, m):
    """Passes a reference on when the tile that it points to is there."""
    kind, value = p.in_ref.peek()
    p.in_ref.take()
    p.ref.give(kind, value)
    if kind == DATA:
        p.memory.read(m.tiles, value)
    return True if kind == DONE else None


SIZES = [40, 30, 50, 10]


@pytest.fixture
def loader(monkeypatch):
    def block(parameters):
        return Block(
            ports=(into("in_ref", "ref"), out("ref", "ref")),
            step=load_tile,
            memory=lambda around: SimpleNamespace(
                tiles=around.tile_region("b", 0, "LLB", sizes=SIZES)
            ),
        )

    monkeypatch.setitem(KINDS, "loader", Kind("loader", None, block))


@engines
def test_a_block_of_ones_own_waits_for_tiles(loader, engine):
    inner = {"name": "L1", "capacity_bytes": 8}
    levels = [{**DRAM, "bandwidth_gb_per_s": 10}, {"name": "LLB", "capacity_bytes": 90}, inner]
    graph = around("loader", {}, {"in_ref": "0, 1, 2, 3, 0, 3, S0, D"}, {"b": np.ones(4)}, {})
    inputs = {"b": np.ones(4)}
    memory = {"levels": levels, "outstanding_requests": 1}
    run = sim.simulate(graph, inputs, {"memory": memory}, engine=engine)
    # Five of the six come from DRAM, one after the other; a hit takes the latency of the buffer.
    assert run.cycles == 5 * 101 + 1 + 1 + 3
    assert run.memory["DRAM"].tensors["b"].bytes_read == 170
    assert run.memory["LLB"].tensors["b"].hits == 1
    ideal = sim.simulate(graph, inputs, engine=engine)
    assert (ideal.cycles, ideal.memory) == (9, {})


def test_a_region_may_be_kept_further_out_than_in_the_innermost_level():
    region = values(8, kept_in="LLB")
    levels = [DRAM, {"name": "LLB", "line_bytes": 16}, {"name": "L1", "capacity_bytes": 8}]
    machine = hierarchy(levels, [region])
    touch(machine, "a0 a1")
    stats = told(machine)
    assert stats["LLB"].tensors["B"].hits == 1
    assert not stats["L1"].tensors


# Places


def test_arrays_with_a_place_are_not_cached():
    program = custard.compile("X(i,j)=B(i,j)", {"B": "ds", "X": "dd"})
    levels = [
        {**DRAM, "energy_pj_per_byte": 10},
        {"name": "pad", "capacity_bytes": 400, "energy_pj_per_byte": 0.5},
    ]
    memory = {"levels": levels, "places": {"B.crd": "pad", "val": "DRAM", "X": "pad"}}
    run = program.simulate({"B": np.eye(4)}, config={"memory": memory}, engine="simpy")
    pad, dram = run.memory["pad"].tensors, run.memory["DRAM"].tensors
    assert (pad["B"].reads, pad["B"].bytes_read, pad["B"].hits) == (
        4 + 8 + 4,
        4 * 4 + 8 * 4 + 32,
        3,
    )
    assert pad["X"].bytes_written == 32
    assert "X" not in dram
    # seg: 5 entries of 4 bytes, and 4 values of 8, each entry a line of its own.
    assert dram["B"].bytes_read == 5 * 4 + 4 * 8
    assert pad["X"].energy_pj == 16
    assert dram["B"].energy_pj == 520
    assert pad["X"].peak_bytes == 16 * 8


def test_arrays_that_do_not_fit_are_refused():
    program = custard.compile("x(i)=b(i)", {"b": "d", "x": "d"})

    def run(capacity, places, line=8):
        level = {"name": "pad", "capacity_bytes": capacity, "line_bytes": line}
        memory = {"levels": [DRAM, level], "places": places}
        return program.simulate({"b": np.ones(9)}, config={"memory": memory}, engine="simpy")

    with pytest.raises(UserError, match="pad has 71 bytes, and the tensors placed there take 72"):
        run(71, {"b": "pad"})
    with pytest.raises(UserError, match="pad has 71 bytes, and the tensors placed there take 72"):
        run(71, {"x": "pad"})
    with pytest.raises(UserError, match="pad has room for 15 bytes, and a line of b has 16"):
        run(15, {"x": "pad"}, line=16)
    run(80, {"x": "pad"})
    with pytest.raises(UserError, match='has "y", and the graph has no tensor y'):
        run(80, {"y": "pad"})


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_a_byte_that_takes_longer_than_engines_count_is_refused(engine):
    program = custard.compile("x(i)=b(i)")
    config = {"memory": {"levels": [{**DRAM, "bandwidth_gb_per_s": 1e-300}]}}
    with pytest.raises(UserError, match="DRAM takes more than 1000000000 cycles to move a byte"):
        program.simulate({"b": np.ones(9)}, config=config, engine=engine)


# What holds for all


def footprint(tensor: Tensor) -> tuple[int, int]:
    """The bytes of the coordinates and such of a tensor, and of its values."""
    indices = 0
    for level in tensor.levels:
        match level.code:
            case "s" | "u":
                parents = len(level.segments) - 1
                indices += 4 * (parents + (parents > 0) + len(level.coordinates))
            case "q" | "c" | "h":
                indices += 4 * len(level.coordinates)
            case "r":
                indices += 4 * (len(level.begins) + len(level.ends))
            case "n":
                parents, runs = len(level.segments) - 1, len(level.begins)
                indices += 4 * (parents + (parents > 0) + 2 * runs)
            case "l":
                indices += 4 * (len(level.heads) + len(level.nexts) + len(level.coordinates))
            case "b":
                indices += 12 * len(level.words)
    return indices, tensor.values.nbytes


def copied(array, form, levels):
    """What a copy of a tensor in some format reads of it from the outermost level."""
    _, modes = form.split(":")
    stored = Tensor.of(array, *_parts(form))
    name = "ijk"[: array.ndim]
    loops = ",".join(name[int(mode)] for mode in modes.split(","))
    left = "".join("d" for _ in name)
    program = custard.compile(
        f"X({','.join(name)})=B({','.join(name)})",
        {"B": form, "X": f"{left}:{modes}"},
        [f"reorder({loops})"],
    )
    config = {"memory": {"levels": levels}}
    run = program.simulate({"B": stored}, config=config, engine="simpy")
    np.testing.assert_array_equal(run.output.to_numpy(), array)
    return run.memory["DRAM"].tensors.get("B"), footprint(stored)


@settings(relaxed, max_examples=examples(300))
@given(st.data())
def test_a_copy_reads_all_of_a_tensor_and_no_more_if_it_fits(data):
    order = data.draw(st.integers(1, 3))
    shape = data.draw(st.lists(st.integers(1, 5), min_size=order, max_size=order))
    density = data.draw(st.sampled_from((0.0, 0.3, 0.8, 1.0)))
    generator = np.random.default_rng(data.draw(st.integers(0, 99)))
    array = np.where(generator.random(shape) < density, generator.integers(1, 9, shape), 0) * 1.0
    modes = ",".join(map(str, data.draw(st.permutations(range(order)))))
    codes = "".join(data.draw(st.sampled_from("dsuhrbln")) for _ in shape)
    form = data.draw(chained(f"{codes}:{modes}"))
    line = data.draw(st.sampled_from((4, 8, 16, 64)))
    burst = {"line_bytes": data.draw(st.sampled_from((4, 16)))} if line >= 16 else {}
    cache = {"name": "L1", "line_bytes": line}
    try:
        Tensor.of(array, *_parts(form))
    except UserError:
        return
    traffic, (indices, of_values) = copied(array, form, [{**DRAM, **burst}, cache])
    read = 0 if traffic is None else traffic.bytes_read
    # What an empty bucket, or a coordinate out of a range, would own is not visited.
    sparse = set(codes) & {"h", "r"}
    assert read <= indices + of_values
    assert read >= (0 if set(codes[:-1]) & {"h", "r"} else indices)
    if not sparse:
        assert read == indices + of_values
        room = data.draw(st.sampled_from((64, 128, 256)))
        for levels in ([DRAM, {**cache, "capacity_bytes": room}], [DRAM]):
            again, _ = copied(array, form, levels)
            assert (0 if again is None else again.bytes_read) >= read


def test_diagonals_and_padded_rows_are_read_whole():
    """Three diagonals of 6, 5 and 4 of a 6 x 6 matrix: 15 of the 18 values are inside of it."""
    matrix = np.eye(6) + 2 * np.eye(6, k=1) + 3 * np.eye(6, k=-2)
    tensor = Tensor.of(matrix)
    # DIA: first and last row and offset of each; no value that is outside. ELL: 18 of each.
    for stored, form, read in (
        (tensor.diagonals(), "DIA", 3 * (2 + 1) * 4 + 15 * 8),
        (tensor.ell(), "ELL", 18 * (4 + 8)),
    ):
        formats = {"B": form, "X": "dd"}
        program = custard.compile("X(i,j)=B(k,i,j)", formats, ["reorder(k,i,j)"])
        memory = {"levels": [DRAM, {"name": "L1", "line_bytes": 8}]}
        run = program.simulate({"B": stored}, config={"memory": memory}, engine="simpy")
        np.testing.assert_array_equal(run.output.to_numpy(), matrix)
        assert run.memory["DRAM"].tensors["B"].bytes_read == read


machines = st.fixed_dictionaries(
    {
        "memory.outstanding_requests": st.sampled_from([1, 2, 5, "unbounded"]),
        "queues.depth": st.sampled_from([1, 2, 4, "unbounded"]),
    },
)


@settings(relaxed, max_examples=examples(200))
@given(programs(max_extent=4), machines, st.integers(0, 30), st.sampled_from([0.3, 1, 2.5, 7]))
def test_with_a_port_of_its_own_more_bandwidth_never_costs_a_block_cycles(
    program, machine, latency, bandwidth
):
    """What a block gets then depends on itself alone, and all that it waits for comes earlier."""
    schedule = [f"reorder({','.join(program.order)})"] if program.order else []
    compiled = custard.compile(program.expression, program.formats, schedule, dims=program.dims)

    def cycles(rate):
        level = {"name": "DRAM", "latency_cycles": latency, "ports": "per_block"}
        config = {"memory": {"levels": [{**level, "bandwidth_gb_per_s": rate}]}}
        try:
            return compiled.simulate(
                program.tensors, config=config, overrides=machine, engine="simpy"
            ).cycles
        except UserError:
            return None

    slow, fast = cycles(bandwidth), cycles(2 * bandwidth)
    assert (slow is None and fast is None) or fast <= slow


@settings(relaxed, max_examples=examples(300))
@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 30), st.booleans()), max_size=60),
    st.sampled_from([4, 8, 16, 64]),
    st.integers(64, 400),
    st.integers(0, 400),
)
def test_a_smaller_buffer_never_lowers_traffic(accesses, line, capacity, more):
    """For accesses in a given order: the larger of two LRU buffers has all that the smaller has.

    (With several blocks a buffer changes when they ask, and so the order: nothing follows then.)
    """

    def traffic(room):
        levels = [DRAM, {"name": "L1", "capacity_bytes": room, "line_bytes": line}]
        regions = [values(31, "B"), Region("B", 1, "crd", INDEX, 31)]
        machine = hierarchy(levels, regions)
        for cycle, (region, index, write) in enumerate(accesses):
            machine.request(0, cycle, [(machine.layout.regions[region], index, write)])
        stats = told(machine)["DRAM"].total
        return stats.bytes_read, stats.bytes_written

    small_reads, small_writes = traffic(capacity)
    reads, writes = traffic(capacity + more)
    assert small_reads >= reads
    assert small_writes >= writes


@settings(relaxed, max_examples=examples(100))
@given(programs(levels="dsub", max_extent=4), st.data())
def test_the_cycles_of_every_block_add_up(program, data):
    schedule = [f"reorder({','.join(program.order)})"] if program.order else []
    compiled = custard.compile(program.expression, program.formats, schedule, dims=program.dims)
    levels = [
        {**DRAM, "bandwidth_gb_per_s": data.draw(st.sampled_from([0.5, 3, 64])), "ports": 2},
        {"name": "L1", "capacity_bytes": 256, "line_bytes": data.draw(st.sampled_from([4, 32]))},
    ]
    config = {"memory": {"levels": levels, "outstanding_requests": data.draw(st.integers(1, 9))}}
    run = compiled.simulate(program.tensors, config=config, engine="simpy")
    for block in run.blocks.values():
        waits = sum(block.starved.values()) + sum(block.blocked.values())
        assert block.busy + waits + block.memory + block.done == run.cycles


def test_waiting_for_data_on_their_way_is_memorys():
    """A load of 100 cycles behind queues of 2 tokens: 2 data are under way at any time.

    Each pair of values takes the latency and a few cycles, of which the array is busy for two; all
    that it waits for while its own data are on their way is memory's, at the array.
    """
    run = loads(20, {"levels": [DRAM]}, **{"queues.depth": 2})
    block = run.blocks["block"]
    assert block.memory > 0.85 * run.cycles
    assert sum(block.blocked.values()) + sum(block.starved.values()) < 0.1 * run.cycles
    parts = block.busy + block.memory + block.done
    parts += sum(block.blocked.values()) + sum(block.starved.values())
    assert parts == run.cycles
