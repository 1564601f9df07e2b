"""What ``bound`` says of loops, checked against inputs."""

import numpy as np
import pytest
from scipy.sparse import coo_array

import custard
from custard import UserError
from custard.scheduling.bounds import broken

TARGETS = pytest.mark.parametrize("target", ["sam", "c"])


def run(target, command, n, values=None):
    x = np.arange(1.0, n + 1) if values is None else np.array(values, float)
    return run_with("y(i) = x(i)", {"y": "d", "x": "d"}, [command], target, {"x": x})


def run_with(expression, formats, schedule, target, inputs):
    """Looks at the inputs, and runs the program where no C compiler is needed."""
    program = custard.compile(expression, formats, schedule, target)
    if target == "c":
        return program.bind(inputs)
    return program.simulate(inputs, engine="simpy")


@TARGETS
@pytest.mark.parametrize(
    ("command", "n"),
    [
        ("bound(i,b,4,MaxExact)", 4),
        ("bound(i,b,4,MaxConstraint)", 3),
        ("bound(i,b,0,MinExact)", 3),
        ("bound(i,b,0,MinConstraint)", 3),
    ],
)
def test_inputs_within_the_bounds(target, command, n):
    found = run(target, command, n)
    assert target == "c" or found.output.to_numpy().tolist() == [*range(1, n + 1)]


@TARGETS
@pytest.mark.parametrize(
    ("command", "values", "what"),
    [
        (
            "bound(i,b,4,MaxExact)",
            [1] * 3,
            "i has 3 values, and bound says that there are 4",
        ),
        (
            "bound(i,b,4,MaxConstraint)",
            [1] * 5,
            "i has 5 values, and bound says that there are 4 at most",
        ),
        (
            "bound(i,b,2,MinExact)",
            [0, 1, 1],
            "i has its first value at 1, and bound says at 2",
        ),
        (
            "bound(i,b,2,MinConstraint)",
            [0, 1, 1],
            "i has its first value at 1, and bound says not before at 2",
        ),
    ],
)
def test_inputs_that_break_the_bounds_are_refused(target, command, values, what):
    with pytest.raises(UserError) as caught:
        run(target, command, len(values), values)
    assert caught.value.what == what
    # The hint is a bound that holds.
    run(target, caught.value.hint.removesuffix(" holds of these inputs"), len(values), values)


@TARGETS
def test_an_input_without_values_breaks_no_bound_on_the_first(target):
    found = run(target, "bound(i,b,2,MinExact)", 3, [0, 0, 0])
    assert target == "c" or found.output.to_numpy().tolist() == [0, 0, 0]


# One entry, at (3, 2) of 6 x 5; x has all.
ENTRY = np.zeros((6, 5))
ENTRY[3, 2] = 1.0


@TARGETS
@pytest.mark.parametrize(
    ("schedule", "first"),
    [
        ("split(i,i0,i1,2);bound(i0,b,{},MinExact)", 3 // 2),
        ("split(i,i0,i1,2);bound(i1,b,{},MinConstraint)", 3 % 2),
        ("fuse(i,j,f);bound(f,b,{},MinExact)", 3 * 5 + 2),
    ],
)
def test_the_first_value_of_a_derived_loop(target, schedule, first):
    """Loops over i // 2, i % 2 and 5 i + j."""
    about = "X(i,j) = A(i,j)", {"X": "ss", "A": "ss"}
    run_with(*about, [schedule.format(first)], target, {"A": ENTRY})
    with pytest.raises(UserError, match=f"has its first value at {first}, and bound says"):
        run_with(*about, [schedule.format(first + 1)], target, {"A": ENTRY})


@TARGETS
def test_the_extents_of_derived_loops(target):
    """Tiles of 4 in 6 rows: 2 of them, of 4 rows each."""
    schedule = (
        "bound(i,a,6,MaxExact);split(a,i0,i1,4);bound(i0,b,2,MaxExact);bound(i1,c,4,MaxExact)"
    )
    formats = {"X": "ss", "A": "ss"}
    run_with("X(i,j) = A(i,j)", formats, [schedule], target, {"A": ENTRY})
    with pytest.raises(UserError, match="i1 has 4 values, and bound says that there are 3"):
        custard.compile("X(i,j) = A(i,j)", formats, [schedule.replace("c,4,", "c,3,")], target)


@TARGETS
def test_too_many_pairs_cannot_be_fused(target):
    huge = coo_array(([1.0], ([0], [0])), shape=(2**31, 2**32))
    schedule = ["fuse(i,j,f)", "split(f,f0,f1,4)"]
    with pytest.raises(UserError, match="pairs of values, too many to be fused"):
        run_with("X(i,j) = A(i,j)", {"X": "ss", "A": "ss"}, schedule, target, {"A": huge})


@pytest.mark.parametrize(
    ("kind", "extent", "words"),
    [
        ("MaxExact", 4, ""),
        ("MaxExact", 3, "and bound says that there are 4"),
        ("MaxConstraint", 3, ""),
        ("MaxConstraint", 5, "and bound says that there are 4 at most"),
        ("MinExact", 9, ""),
    ],
)
def test_bounds_in_words(kind, extent, words):
    assert broken(kind, 4, extent) == words


@TARGETS
def test_a_tensor_with_a_computed_subscript_has_the_loop(target):
    inputs = {"X": np.ones((4, 3)), "F": np.ones(2)}
    text, formats = "Y(i,j) = X(i+k,j) * F(k)", {"Y": "dd", "X": "dd", "F": "d"}
    run_with(text, formats, ["bound(j,b,3,MaxExact)"], target, inputs)
    with pytest.raises(UserError, match="j has 3 values, and bound says that there are 4"):
        run_with(text, formats, ["bound(j,b,4,MaxExact)"], target, inputs)


def test_a_loop_that_no_tensor_has_may_be_bound():
    program = custard.compile("y = sum(i, b)", {}, "bound(i,c,9,MaxConstraint)", dims={"i": 5})
    assert program.run({"b": 3.0}, engine="simpy").to_numpy() == 15


def test_the_loop_that_fills_a_workspace_may_be_bound():
    """It has the extent of the loop that it stands for."""
    B, schedule = np.ones((2, 3)), "precompute(B(i,j),i,w);bound(w,v,{},MaxExact)"
    program = custard.compile("x = B(i,j)", {"B": "dd"}, schedule.format(2))
    assert program.run({"B": B}, engine="simpy").to_numpy() == 6
    with pytest.raises(UserError, match="w has 2 values, and bound says that there are 5"):
        custard.compile("x = B(i,j)", {"B": "dd"}, schedule.format(5)).run({"B": B})
