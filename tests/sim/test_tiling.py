"""Tiles that move between memories while one graph goes through all of them."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import custard
import sim
from custard import UserError
from experiments.dense import evaluate
from experiments.taco_programs.attempts import engines_differ
from sam.derivations import Split, derived, with_derived
from sam.graph import Edge, End, Graph, Node, Slot
from sam.memory_regions import tile_sizes
from sam.tensor import Tensor
from sam.token import format_stream
from sim.config.memory import Memory
from tests.support.profiles import examples
from tests.support.programs import programs

engines = pytest.mark.parametrize("engine", ["simpy", "compiled"])
relaxed = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def machine(levels, buffers=2, **more):
    names = [f"m{n}" for n in range(1, levels + 1)]
    tiles = [{"memory": name, "tile": 4, "buffers": buffers} for name in names]
    memory = [{"name": name} for name in ("dram", *names)]
    return {"tiling": {"levels": tiles}, "memory": {"levels": memory}, **more}


def product(*schedule):
    formats = dict.fromkeys("XBC", "ss")
    return custard.compile("X(i,j) = B(i,k) * C(k,j)", formats, schedule)


MATRIX = np.arange(1.0, 37).reshape(6, 6)


def test_each_tensor_has_a_loader_at_each_level():
    run = product("reorder(i,k,j)", "tile(4,2)").simulate(
        {"B": MATRIX, "C": MATRIX}, config=machine(2)
    )
    loaders = [node for node in run.graph.nodes if node.kind == "tile_loader"]
    assert [(node.name, node.parameters["memory"]) for node in loaders] == [
        ("load_B", "m1"),
        ("load_C", "m1"),
        ("load_B_2", "m2"),
        ("load_C_2", "m2"),
    ]
    np.testing.assert_array_equal(run.output.to_numpy(), MATRIX @ MATRIX)
    # 2 x 2 x 2 pairs of large tiles; a large tile has 2 small ones in a row, or 1 at the edge.
    tokens = [run.blocks[node.name].tokens["ref"]["data"] for node in loaders]
    assert tokens == [8, 8, 27, 27]


def test_fewer_levels_of_tiles_use_the_inner_memories():
    run = product("tile(3)").simulate({"B": MATRIX, "C": MATRIX}, config=machine(2))
    places = [n.parameters["memory"] for n in run.graph.nodes if n.kind == "tile_loader"]
    assert places == ["m2", "m2"]


def test_empty_tiles_are_not_loaded():
    sparse = np.zeros((8, 8))
    sparse[0, 0], sparse[7, 7] = 2, 3
    run = product("tile(4)").simulate({"B": sparse, "C": sparse}, config=machine(1))
    assert run.blocks["load_B"].tokens["ref"]["data"] == 2
    np.testing.assert_array_equal(run.output.to_numpy(), sparse @ sparse)


def sparse(n, density, seed):
    random = np.random.default_rng(seed)
    return (random.random((n, n)) < density) * random.integers(1, 9, (n, n)).astype(float)


def test_the_bytes_of_a_tile_by_hand():
    """An index has 4 bytes and a value 8; a 4 x 4 matrix in tiles of 2 x 2."""
    matrix = np.zeros((4, 4))
    matrix[0, 0] = matrix[1, 1] = matrix[0, 3] = matrix[3, 2] = 1
    stored = derived(Tensor.of(matrix), ("i", "j"), SPLITS, with_derived({"i": 4, "j": 4}, SPLITS))
    tiled = stored.arrange("ssss", ((0,), (2,), (1,), (3,)))
    size = Memory().entry_bytes
    # Tile (0, 0) has 2 rows, with a coordinate and a value each; 2 and 3 ends of fibers.
    first, other = (2 + 2 + 3 + 2) * 4 + 2 * 8, (2 + 1 + 2 + 1) * 4 + 8
    assert tile_sizes(tiled, 2, size) == [first, other, other]
    # Above all, one more level: the rows of tiles, and the tiles in each.
    assert tile_sizes(tiled, 4, size) == [8] * 4
    assert len(tile_sizes(tiled, 0, size)) == 1
    dense = stored.arrange("dddd", ((0,), (2,), (1,), (3,)))
    assert tile_sizes(dense, 2, size) == [4 * 8] * 4


SPLITS = (Split("i", "i1", "i0", 2), Split("j", "j1", "j0", 2))


def moved(run, level, tensor):
    return run.memory[level].tensors[tensor].bytes_read


@engines
def test_a_tile_still_held_is_not_loaded_again(engine):
    """Tiles that fit are moved once. In the order i, k, j a tile of B is used without a break, and
    all tiles of C come again for each i."""
    inputs = {"B": sparse(12, 0.3, 1), "C": sparse(12, 0.3, 2)}
    program = product("reorder(i,k,j)", "tile(4)")
    sizes = {}
    for capacity in (300, 100_000):
        config = machine(1)
        config["memory"] = {
            "levels": [{"name": "dram"}, {"name": "m1", "capacity_bytes": capacity}],
        }
        run = program.simulate(inputs, config=config, engine=engine)
        for name in "BC":
            tiles = run.graph.node(f"load_{name}")
            sizes[name, capacity] = moved(run, "dram", name)
            assert run.memory["m1"].tensors[name].reads == tiles_loaded(run, name)
            assert tiles.parameters["from"] is None
    for name in "BC":
        assert sizes[name, 100_000] == footprint(inputs[name])
    assert sizes["B", 300] == footprint(inputs["B"])
    assert sizes["C", 300] > 2 * footprint(inputs["C"])


def tiles_loaded(run, name):
    return run.blocks[f"load_{name}"].tokens["ref"]["data"]


def footprint(matrix):
    """The bytes of all tiles of 4 x 4: all of them are used."""
    splits = (Split("i", "i1", "i0", 4), Split("j", "j1", "j0", 4))
    stored = derived(
        Tensor.of(matrix), ("i", "j"), splits, with_derived({"i": 12, "j": 12}, splits)
    )
    tiled = stored.arrange("ssss", ((0,), (2,), (1,), (3,)))
    return sum(tile_sizes(tiled, 2, Memory().entry_bytes))


@engines
def test_more_buffers_hide_more_of_the_latency(engine):
    """Full matrices of 3 x 3 tiles: the loads of tiles overlap as far as there are buffers."""
    program = product("reorder(i,k,j)", "tile(4)")
    matrix = np.ones((12, 12))
    cycles = []
    for buffers in (2, 3, 4):
        config = machine(1, buffers)
        config["memory"] = {
            "levels": [
                {"name": "dram", "latency_cycles": 300},
                {"name": "m1", "capacity_bytes": 500},
            ],
        }
        run = program.simulate({"B": matrix, "C": matrix}, config=config, engine=engine)
        cycles.append(run.cycles)
    assert cycles[0] > cycles[1] > cycles[2]


def releases_before(references, room, engine, buffers=None):
    """How many releases, of which one comes every 50 cycles, a loader takes until its references
    have passed. A tile is row r of a matrix with r + 1 nonzeros in it, of 12 bytes each, and two
    ends: 20, 32, 44 and 56 bytes."""
    loader = {"slot": "B", "level": 1, "depth": 1, "from": None, "memory": "m1"}
    tokens = {"ref": f"{references}, S0, D", "val": "S0, S0, S0, S0, S1, D"}
    graph = Graph(
        nodes=(
            Node("refs", "source", {"stream": "ref", "depth": 1, "tokens": tokens["ref"]}),
            Node("vals", "source", {"stream": "val", "depth": 2, "tokens": tokens["val"]}),
            Node("load", "tile_loader", {**loader, "buffers": buffers, "room": room}),
            Node("release", "tile_releaser", {"depth": 2, "levels": 1}),
            Node("passed", "sink"),
        ),
        edges=(
            Edge(End("refs", "ref"), End("load", "in_ref")),
            Edge(End("load", "ref"), End("passed", "in_stream")),
            Edge(End("vals", "val"), End("release", "in_stream")),
            Edge(End("release", "release"), End("load", "in_release")),
        ),
        slots=(Slot("B", "B", "ds", ((0,), (1,)), ("i", "j")),),
    )
    config = {
        "memory": {"levels": [{"name": "dram"}, {"name": "m1"}]},
        "blocks": {"names": {"release": {"latency_cycles": 50, "initiation_interval_cycles": 50}}},
    }
    run = sim.simulate(graph, {"B": np.tri(4)}, config, engine=engine)
    assert format_stream(run.sinks["passed"]) == tokens["ref"]
    return (run.cycles - run.blocks["passed"].done) // 50


@engines
def test_a_loader_holds_the_bytes_that_it_has_room_for(engine):
    def needed(references, room):
        return releases_before(references, room, engine)

    # 20 + 32 + 44 = 96.
    assert needed("0, 1, 2", 96) == 0
    assert needed("0, 1, 2", 95) == 1
    # 56 fits beside 44, not beside 32 + 44: two are released, in two firings.
    assert needed("0, 1, 2, 3", 100) == 2
    assert needed("0, 1, 2, 3", 131) == 2
    assert needed("0, 1, 2, 3", 132) == 1
    assert needed("0, 1, 2, 3", 152) == 0
    # The oldest is 56, then 44.
    assert needed("3, 2, 1, 0", 96) == 1
    assert needed("3, 2, 1, 0", 132) == 1
    # An empty tile takes no room, and is released as others are: 44 has to wait for 20.
    assert needed("0, N, N, 1", 52) == 0
    assert needed("N, 0, 1, 2", 76) == 2


@engines
def test_a_tile_that_comes_again_right_away_takes_no_more_room(engine):
    assert releases_before("1, 1, 1, 1, 0", 52, engine) == 0
    assert releases_before("1, 0, 1", 52, engine) == 1
    assert releases_before("1, N, 1", 52, engine) == 1
    # It is held until its last reference is released: 20 + 44 fit, 32 + 20 + 44 do not.
    assert releases_before("1, 1, 0, 2", 76, engine) == 2
    assert releases_before("1, 1, 0, 2", 96, engine) == 0


@engines
def test_tiles_without_room_are_held_in_two_buffers(engine):
    for references in ("0, 1", "0, 1, 2, 3", "3, 3, 3", "0, 1, N, 3, 3"):
        two = releases_before(references, None, engine, buffers=2)
        assert releases_before(references, 10, engine) == two == references.count(",") - 1
        assert releases_before(references, None, engine) == 0


@engines
def test_room_for_three_tiles_is_three_buffers(engine):
    """Full matrices of 3 x 3 tiles, of which each tile is used once, and takes 236 bytes."""
    formats = dict.fromkeys("XBC", "ss")
    program = custard.compile("X(i,j) = B(i,j) * C(i,j)", formats, ["tile(4)"])
    inputs = {"B": np.ones((12, 12)), "C": np.ones((12, 12))}
    size = footprint(inputs["B"]) // 9
    assert size == (2 + 4 + 5 + 16) * 4 + 16 * 8

    def run(buffers, capacity):
        config = machine(1, buffers)
        config["memory"]["levels"] = [
            {"name": "dram", "latency_cycles": 300},
            {"name": "m1", "capacity_bytes": capacity},
        ]
        found = program.simulate(inputs, config=config, engine=engine)
        return found.cycles, found.blocks, found.memory

    three = 2 * 3 * size
    assert run("unbounded", three) == run("unbounded", three + 1) == run(3, three)
    assert run("unbounded", three - 2) == run(2, three - 2) != run(3, three - 2)
    assert run("unbounded", "unbounded") == run(9, "unbounded") != run(3, "unbounded")


def test_loaders_share_a_memory_evenly():
    config = machine(2, "unbounded")
    config["memory"]["levels"][1]["capacity_bytes"] = 1001
    run = product("tile(4,2)").simulate({"B": MATRIX, "C": MATRIX}, config=config)
    loaders = [node.parameters for node in run.graph.nodes if node.kind == "tile_loader"]
    assert [one["room"] for one in loaders] == [500, 500, None, None]
    assert [one["buffers"] for one in loaders] == [None] * 4


@settings(relaxed, max_examples=examples(100, compiles=True))
@given(st.data())
def test_any_program_in_tiles(data):
    program = data.draw(programs(max_operands=3, max_order=2, levels="dsb"))
    assume(program.order)
    levels = data.draw(st.integers(1, 2))
    config = machine(levels, data.draw(st.sampled_from((2, 3, 4, "unbounded"))))
    config["queues"] = {"depth": data.draw(st.sampled_from((16, 64, "unbounded")))}
    schedule = [f"reorder({','.join(program.order)})", "tile(2)" if levels == 1 else "tile(4,2)"]
    found = custard.compile(program.expression, program.formats, schedule, dims=program.dims)
    runs = []
    for engine in ("simpy", "compiled"):
        try:
            runs.append(found.simulate(program.tensors, config=config, engine=engine))
        except UserError as mistake:
            runs.append(mistake)
    assert engines_differ(*runs) == ""
    if isinstance(runs[0], UserError):
        assert "deadlock" in runs[0].what
        assert config["queues"]["depth"] != "unbounded"
    else:
        due = evaluate(program.expression, program.tensors, program.dims)
        np.testing.assert_array_equal(runs[0].output.to_numpy(), due)


@pytest.mark.parametrize(
    ("schedule", "words", "hint"),
    [
        ([], "has no loops over tiles", "schedule tile(4)"),
        (["tile(4,2)"], "2 levels of tiles", "split each loop at most that often"),
        (
            ["split(i,i1,i0,2)", "split(k,k1,k0,2)", "reorder(i1,i0,k1,k0,j)"],
            "loop k1 goes over tiles, inside loop i0, which is in a tile",
            "put k1 outside, with reorder",
        ),
    ],
)
def test_mistakes(schedule, words, hint):
    with pytest.raises(UserError) as mistake:
        product(*schedule).simulate({"B": MATRIX, "C": MATRIX}, config=machine(1))
    assert words in mistake.value.what
    assert hint in mistake.value.hint


@pytest.mark.parametrize("buffers", [1, 2.5, True, "many"])
def test_a_malformed_number_of_buffers_is_a_mistake(buffers):
    words = 'at least 2, as streams look one tile ahead, or "unbounded"'
    with pytest.raises(UserError, match=words):
        product("tile(4)").simulate({"B": MATRIX, "C": MATRIX}, config=machine(1, buffers))
