"""Tiles that move between memories while one graph goes through all of them."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import custard
from custard import UserError
from experiments.corpus import engines_differ
from tests.dense import evaluate
from tests.profiles import examples
from tests.programs import programs

relaxed = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def machine(levels, buffers=2, **more):
    names = [f"m{n}" for n in range(1, levels + 1)]
    tiles = [{"memory": name, "tile": 4, "buffers": buffers} for name in names]
    return {"tiling": {"levels": tiles}, **more}


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
            assert "deadlock" in str(mistake) and config["queues"]["depth"] != "unbounded"
            runs.append(mistake)
    assert engines_differ(*runs) == ""
    if not isinstance(runs[0], UserError):
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
