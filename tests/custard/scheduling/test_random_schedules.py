"""Random programs under random schedules give what the dense evaluator gives, on both engines."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import custard
from custard import UserError
from experiments.dense import evaluate
from experiments.taco_programs.attempts import engines_differ
from sam.blocks import primitives
from tests.support.profiles import examples
from tests.support.programs import Program, programs
from tests.support.schedules import SAM, commands

relaxed = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def compiled(program: Program, schedule: list[str]):
    return custard.compile(program.expression, program.formats, schedule, dims=program.dims)


@st.composite
def schedules(draw: st.DrawFn, program: Program, kinds=SAM) -> list[str]:
    """Commands that the compiler takes; those that it refuses are left out."""
    schedule = [f"reorder({','.join(program.order)})"]
    loops = list(program.order)
    for n in range(draw(st.integers(1, 6))):
        command = draw(commands(program.expression, loops, n, kinds))
        try:
            found = compiled(program, [*schedule, command])
        except UserError:
            continue
        schedule.append(command)
        statements = found.scheduled.statements
        loops = list(dict.fromkeys(loop for one in statements for loop in one.loops))
    return schedule


def check(program: Program, schedule: list[str], engines: tuple[str, ...] = ("simpy",)) -> None:
    found = compiled(program, schedule)
    runs = [found.simulate(program.tensors, engine=engine) for engine in engines]
    due = evaluate(program.expression, program.tensors, program.dims)
    np.testing.assert_array_equal(runs[0].output.to_numpy(), due)
    assert engines_differ(runs[0], runs[-1]) == ""
    runs[0].output.validate()
    assert runs[0].output.format == str(program.formats.get("X", runs[0].output.format))


@settings(relaxed, max_examples=examples(1000, compiles=True))
@given(st.data())
def test_any_schedule(data):
    program = data.draw(programs(explicit_sums=True, accumulate=True))
    assume(program.order and ("+=" not in program.expression or "X" in program.tensors))
    check(program, data.draw(schedules(program)))


@settings(relaxed, max_examples=examples(40, compiles=True))
@given(st.data())
def test_engines_agree(data):
    program = data.draw(programs(max_operands=2))
    assume(program.order)
    check(
        program, data.draw(schedules(program, ("split", "shares", "lanes"))), ("simpy", "compiled")
    )


@settings(relaxed, max_examples=examples(100, compiles=True))
@given(st.data())
def test_bitvectors_and_hash_tables_in_tiles(data):
    program = data.draw(programs(levels="dshb", max_order=2))
    assume(program.order)
    check(program, data.draw(schedules(program, ("split", "divide", "fuse", "reorder"))))


def rows(m: int, n: int, lanes: int) -> int:
    """The cycles of the sums of m full rows of n entries, in so many lanes."""
    program = custard.compile("x(i) = A(i,j)", schedule=f"parallelize(i,Lanes,{lanes})")
    run = program.simulate({"A": np.ones((m, n))})
    assert run.output.to_numpy().tolist() == [n] * m
    return run.cycles


@pytest.mark.parametrize("lanes", [2, 4, 8])
@pytest.mark.parametrize(("m", "n"), [(8, 10), (16, 10), (16, 20)])
def test_cycles_of_lanes_in_closed_form(m, n, lanes):
    """Each lane scans its share of the rows, and the ends of them.

    The last lane is dealt its first row that many cycles late, and joined as many later.
    """
    assert rows(m, n, 1) == m * (n + 1) + 6
    if n >= lanes:
        assert rows(m, n, lanes) == m * (n + 1) // lanes + 2 * lanes + 6


@pytest.mark.parametrize(
    ("order", "loop", "config"),
    [
        ("i,k,j", "i", "ideal"),
        ("i,k,j", "i", "finite"),
        ("i,j,k", "i", "ideal"),
        ("i,j,k", "j", "ideal"),
        ("i,j,k", "j", "finite"),
    ],
)
def test_more_lanes_take_fewer_cycles(order, loop, config):
    random = np.random.default_rng(1)
    B = np.where(random.random((20, 20)) < 0.3, random.integers(1, 5, (20, 20)), 0)
    cycles = []
    for lanes in (1, 2, 4):
        program = custard.compile(
            "X(i,j) = B(i,k) * C(k,j)",
            schedule=[f"reorder({order})", f"parallelize({loop},Lanes,{lanes})"],
        )
        run = program.simulate({"B": B, "C": B}, config=config)
        assert np.array_equal(run.output.to_numpy(), B @ B)
        cycles.append(run.cycles)
    assert cycles[0] > 1.6 * cycles[1]
    assert cycles[1] > 1.5 * cycles[2]


@pytest.mark.parametrize("config", ["ideal", "finite"])
@pytest.mark.parametrize("order", ["i,k,j", "k,i,j", "k,j,i"])
def test_lanes_of_a_sum_are_summed_by_one_reducer(order, config):
    random = np.random.default_rng(1)
    B = np.where(random.random((16, 16)) < 0.4, random.integers(1, 5, (16, 16)), 0)
    cycles = []
    for lanes in (1, 2, 4):
        program = custard.compile(
            "X(i,j) = B(i,k) * C(k,j)",
            schedule=[f"reorder({order})", f"parallelize(k,Lanes,{lanes})"],
        )
        run = program.simulate({"B": B, "C": B}, config, validate=True)
        assert np.array_equal(run.output.to_numpy(), B @ B)
        cycles.append(run.cycles)
    assert cycles[0] > cycles[1] > cycles[2]
    (reducer,) = (node for node in program.graph.nodes if node.kind == "reducer")
    assert reducer.parameters == {"dimensions": order.count(",") - order.index("k") // 2, "ways": 4}
    assert "unioner" not in primitives(program.graph)


def test_a_precomputed_part_takes_cycles_of_its_own():
    random = np.random.default_rng(1)
    tensors = {name: random.integers(0, 2, (8, 8)) for name in "BCD"}
    program = custard.compile(
        "A(i,j) = B(i,j) * C(i,k) * D(k,j)",
        schedule=["reorder(i,k,j)", "precompute(C(i,k)*D(k,j),j,j,T)"],
    )
    run = program.simulate(tensors)
    first, second = run.parts
    assert np.array_equal(first.output.to_numpy(), tensors["C"] @ tensors["D"])
    assert np.array_equal(run.output.to_numpy(), tensors["B"] * (tensors["C"] @ tensors["D"]))
    assert run.cycles == first.cycles + second.cycles
    assert [graph.result.slot.tensor for graph in program.graphs] == ["T", "A"]
    assert run.blocks["T.scan_C_i"] == first.blocks["scan_C_i"]
    assert run.tokens == first.tokens + second.tokens


def test_extents_that_disagree_are_told_by_the_users_variables():
    program = custard.compile("x(i) = a(i) + b(i)", schedule="split(i,i0,i1,4)")
    with pytest.raises(UserError, match="the extent of i is 5 by mode 0 of a and 6 by mode 0 of b"):
        program.run({"a": np.ones(5), "b": np.ones(6)})


def test_a_tensor_without_a_format_may_be_dense():
    program = custard.compile("y(i) = A(i,j) * x(j)", {"A": "CSR"}, "split(j,j0,j1,2)")
    A, x = np.arange(15.0).reshape(3, 5), np.arange(5.0)
    run = program.simulate({"A": A, "x": x})
    assert np.array_equal(run.output.to_numpy(), A @ x)
    assert run.notes[0] == "x is a dense array, stored as d:0"
