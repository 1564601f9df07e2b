"""Tiles that move between memories while one graph goes through all of them."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import custard
from custard import UserError
from experiments.corpus import engines_differ
from sam.derived import Split, derived, with_derived
from sam.regions import tile_sizes
from sam.tensor import Tensor
from sim.memory_config import Memory
from tests.dense import evaluate
from tests.profiles import examples
from tests.programs import programs

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


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_a_tile_that_is_there_is_not_loaded_again(engine):
    """What fits is moved once. In the order i, k, j a tile of B is used without a break, and all
    tiles of C come again for each i."""
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


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
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


@settings(relaxed, max_examples=examples(100, compiles=True))
@given(st.data())
def test_any_program_in_tiles(data):
    program = data.draw(programs(max_operands=3, max_order=2, levels="dsb"))
    assume(program.order)
    levels = data.draw(st.integers(1, 2))
    config = machine(levels, data.draw(st.integers(2, 4)))
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


def test_one_buffer_is_too_few():
    with pytest.raises(UserError, match="at least 2, as streams look one tile ahead"):
        product("tile(4)").simulate({"B": MATRIX, "C": MATRIX}, config=machine(1, buffers=1))
