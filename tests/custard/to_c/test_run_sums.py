"""Lists that repeat coordinates: up to 32 entries are added to an element at once."""

from dataclasses import replace

import numpy as np
import pytest

import custard
from custard.to_c.builder import namer
from custard.to_c.loop_ir import INT, Assign, Call, Const, Declare, For, Type, Var, array
from custard.to_c.run_sums import with_run_sums
from experiments.dense import evaluate
from sam.tensor import Tensor
from tests.support.compiler import needs_compiler
from tests.support.interpreted import run

INTS = array(INT)
rows, columns, A, x, y = (Var(name, INTS) for name in ("rows", "columns", "A", "x", "y"))
p, i, k, n = (Var(name) for name in ("p", "i", "k", "n"))
CHAINS = ((rows, columns),)
LENGTHS = [0, 1, 3, 4, 5, 7, 8, 9, 15, 17, 31, 32, 33, 63, 65, 100]


def loop(target=y[i], value=A[p], before=(), **options):
    """A loop over a list that adds a value to an element."""
    declared = [Declare(i, rows[p]), *before]
    return For(p, Const(0), n, [*declared, Assign(target, value, "+")], **options)


def split(one, chains=CHAINS):
    return with_run_sums([one], chains, namer([one], ()))


def added(one, first, second=None):
    """What the loop adds to each element: as it is, and split."""
    found = []
    for body in ([one], split(one)):
        names = {"rows": [*first], "columns": [*(first if second is None else second)]}
        names |= {"n": len(first), "A": [7**m % 101 for m in range(len(first))], "x": [2, 3, 5]}
        names["y"] = [0] * 60
        run(body, names)
        found.append(names["y"])
    return found


@pytest.mark.parametrize("first", LENGTHS)
def test_runs_of_all_lengths(first):
    for second in LENGTHS:
        numbers = [0] * first + [1] * second + [2, 3, 3, 4] + [5] * 10
        plain, found = added(loop(), numbers)
        assert plain == found


def test_random_runs():
    random = np.random.default_rng(7)
    for mean in (1, 3, 9, 30, 80):
        lengths = random.integers(0, 2 * mean + 1, 20)
        plain, found = added(
            loop(value=A[p] * x[columns[p] % 3]), np.repeat(np.arange(20), lengths)
        )
        assert plain == found


def test_loops_in_a_round_go_on_in_the_sum():
    inner = For(k, Const(0), Const(3), [Assign(y[i], A[p] * x[k], "+")])
    one = For(p, Const(0), n, [Declare(i, rows[p]), inner])
    assert split(one) != [one]
    plain, found = added(one, [0] * 9 + [1, 2, 2] + [4] * 70)
    assert plain == found


def test_an_element_that_two_coordinates_decide():
    one = loop(y[i * 3 + k], before=[Declare(k, columns[p])])
    assert split(one) != [one]
    for lengths in ([80], [40, 0, 0, 40], [2, 3, 4, 1, 1, 1, 8, 8, 8], [20] * 9):
        places = np.repeat(np.arange(len(lengths)), lengths)
        plain, found = added(one, places // 3, places % 3)
        assert plain == found


@pytest.mark.parametrize(
    "one",
    [
        loop(y[columns[p]]),  # columns do not lie in order
        loop(y[p]),
        loop(y[i + p]),
        loop(y[x[i]], value=y[p]),  # reads what it changes
        loop(step=Const(2)),
        loop(vectors="simd"),
        loop(before=[Assign(n, n + 1)]),  # changes what is not its own
        loop(before=[Assign(y[k], p)]),
        replace(loop(), body=[Declare(i, rows[p]), Assign(y[i], A[p])]),
        replace(loop(), body=[Declare(i, rows[p]), Assign(i, i + 1), Assign(y[i], A[p], "+")]),
        loop(before=[Declare(k, Call("next", (y,), INT))]),
    ],
)
def test_other_loops_stay(one):
    assert split(one) == [one]
    assert split(loop(), ()) == [loop()]


def test_sums_of_floats_are_kept_apart_from_the_element():
    """A compiler that may add in any order would load the element first, and wait for it."""
    values, result = (Var(name, array(Type("double"))) for name in "AY")
    printed = repr(split(loop(result[i], values[p])))
    assert printed.count("'apart'") == 3
    assert "'apart'" not in repr(split(loop()))


@needs_compiler
@pytest.mark.parametrize("dtype", [bool, np.int32, np.int64, np.float32, np.float64, np.complex128])
@pytest.mark.parametrize(
    ("expression", "formats"),
    [
        ("y(i) = A(i,j,k)", {"y": "d"}),
        ("y(i) = A(i,j,k) * x(k)", {"y": "d"}),
        ("Y(i,j) = A(i,j,k) * x(k)", {"Y": "dd"}),
        ("Y(j,i) = A(i,j,k) * x(k)", {"Y": "dd"}),
        ("y(j) = A(i,j,k)", {"y": "d"}),
        ("y(i) = -A(i,j,k) * x(k) * x(k)", {"y": "d"}),
    ],
)
def test_values_of_all_types(expression, formats, dtype):
    random = np.random.default_rng(3)
    dense = random.integers(-3, 4, (4, 5, 40)) * (random.random((4, 5, 1)) < 0.7)
    vector = random.integers(-3, 4, 40)
    if dtype is bool and "-" in expression:
        pytest.skip("numpy has no negative booleans")
    inputs = {"A": dense.astype(dtype), "x": vector.astype(dtype)}
    program = custard.compile(expression, {**formats, "A": "ucq"}, target="c")
    places = np.nonzero(dense)
    listed = Tensor.from_coo(np.array(places), inputs["A"][places], dense.shape, "ucq")
    given = {"A": listed, "x": inputs["x"]}
    given = {name: given[name] for name in given if f"{name}(" in expression}
    found = program.run(given).to_numpy()
    due = evaluate(expression, {name: inputs[name] for name in given})
    np.testing.assert_array_equal(found, due)


@needs_compiler
@pytest.mark.parametrize("levels", ["du", "uu", "su", "duc", "duq", "sucq", "dduq"])
@pytest.mark.parametrize("schedule", [[], ["fuse(i,j,f)", "pos(f,p,A)"]])
def test_lists_below_other_levels_are_in_order_in_each_fiber_alone(levels, schedule):
    """A loop over several fibers may find one coordinate at both ends, and others between."""
    random = np.random.default_rng(len(levels))
    shape = (60, 3, 2, 3)[: len(levels)]
    dense = random.integers(-3, 4, shape) * (random.random(shape) < 0.6)
    places = np.nonzero(dense)
    tensor = Tensor.from_coo(np.array(places), dense[places], shape, levels)
    variables = "ijkl"[: len(levels)]
    for n, variable in enumerate(variables):
        expression = f"y({variable}) = A({','.join(variables)})"
        program = custard.compile(expression, {"y": "d", "A": levels}, schedule, "c")
        due = dense.sum(axis=tuple(m for m in range(len(shape)) if m != n))
        np.testing.assert_array_equal(program.run({"A": tensor}).to_numpy(), due)
