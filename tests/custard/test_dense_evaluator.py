"""The check's evaluator against the tests' own, and its test for a difference."""

import numpy as np
import pytest
from hypothesis import given, settings

from custard import dense_evaluator as check
from custard.dense_evaluator import Expected, evaluate, first_difference
from custard.language import notation
from experiments import dense
from sam.support.errors import UserError
from sam.tensor import Tensor
from tests.support.profiles import examples
from tests.support.programs import Program, programs


def _extents(program: Program) -> dict[str, int]:
    found = dict(program.dims)
    for access in notation.accesses(notation.parse(program.expression)):
        shape = program.tensors[access.tensor].shape if access.tensor in program.tensors else ()
        found |= {index.name: extent for index, extent in zip(access.indices, shape, strict=False)}
    return found


@settings(max_examples=examples(1000))
@given(programs(operators="+-*/", explicit_sums=True))
def test_the_evaluator_agrees_with_that_of_the_experiments(program: Program):
    tensors = {name: Tensor.of(array) for name, array in program.tensors.items()}
    expected = evaluate(program.expression, tensors, _extents(program))
    value = dense.evaluate(program.expression, program.tensors, program.dims)
    assert expected.value.shape == value.shape
    np.testing.assert_allclose(
        expected.value, value, rtol=1e-9, atol=1e-12 * expected.largest, equal_nan=True
    )


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_a_sum_of_a_number_takes_on_the_type_that_it_meets(dtype):
    b = Tensor.of(np.array([1, 2], dtype))
    found = evaluate("y(i) = b(i) - sum(j, 3)", {"b": b}, {"i": 2, "j": 4}).value
    assert found.dtype == dtype
    assert found.tolist() == [-11, -10]


def test_adds_to_the_old_value():
    inputs = {"y": Tensor.of([1.0, 2.0]), "x": Tensor.of([10.0, 20.0])}
    np.testing.assert_array_equal(evaluate("y(i) += x(i)", inputs, {"i": 2}).value, [11.0, 22.0])


def test_diagonals_on_the_left():
    inputs = {"A": Tensor.of([[1.0, 2.0], [3.0, 4.0]]), "x": Tensor.of([10.0, 20.0])}
    value = evaluate("A(i,i) = x(i)", inputs, {"i": 2}).value
    np.testing.assert_array_equal(value, [[10.0, 0.0], [0.0, 20.0]])
    value = evaluate("A(i,i) += x(i)", inputs, {"i": 2}).value
    np.testing.assert_array_equal(value, [[11.0, 2.0], [3.0, 24.0]])


def test_subscripts_in_tacos_way():
    inputs = {"x": Tensor.of([1.0, 2.0])}
    value = evaluate("y_i = x_{i}", inputs, {"i": 2}, {"y", "x"}).value
    np.testing.assert_array_equal(value, [1.0, 2.0])


def test_long_chains():
    inputs = {"x": Tensor.of([1.0, 2.0])}
    total = evaluate("y(i) = " + " + ".join(["x(i)"] * 3000), inputs, {"i": 2})
    np.testing.assert_array_equal(total.value, [3000.0, 6000.0])
    product = evaluate("y(i) = " + " * ".join(["x(i)"] * 30), inputs, {"i": 2})
    np.testing.assert_array_equal(product.value, [1.0, 2.0**30])


@pytest.mark.parametrize(
    ("found", "expected", "message"),
    [
        ([1.0, 2.0], [1.0, 2.0], None),
        ([1.0, 2.0 + 1e-12], [1.0, 2.0], None),
        ([1.0, np.nan, np.inf], [1.0, np.nan, np.inf], None),
        ([1.0, 2.001], [1.0, 2.0], "the result at (1) is 2.001, and numpy's is 2.0"),
        ([1.0, np.inf], [1.0, 2.0], "the result at (1) is inf, and numpy's is 2.0"),
        ([[1, 2], [3, 4]], [[1, 2], [5, 6]], "the result at (1,0) is 3, and numpy's is 5"),
        (7, 8, "the result is 7, and numpy's is 8"),
        ([1.0], [1.0, 2.0], "the result has the shape (1,), and numpy's has (2,)"),
        ([1, 0], [1.0, 0.0], "the result has the type int64, and numpy's has float64"),
    ],
)
def test_differences(found, expected, message):
    assert first_difference(Tensor.of(found), Expected(np.asarray(expected), 2.0)) == message


def test_rounding_of_terms_that_cancel_is_no_difference():
    inputs = {"x": Tensor.of([0.1]), "z": Tensor.of([0.3])}
    expected = evaluate("y(i) = x(i) + x(i) + x(i) - z(i)", inputs, {"i": 1})
    assert expected.value[0] != 0  # 5.6e-17
    assert first_difference(Tensor.of([0.0]), expected) is None
    assert first_difference(Tensor.of([1e-9]), expected) is not None


def test_arrays_and_products_that_are_too_large_are_refused(monkeypatch):
    monkeypatch.setattr(check, "MOST_POINTS", 7)
    inputs = {"x": Tensor.of([1.0, 2.0]), "z": Tensor.of([1.0, 2.0, 3.0, 4.0])}
    with pytest.raises(UserError) as raised:
        evaluate("y = x(i) * z(j) * x(i) * z(j)", inputs, {"i": 2, "j": 4})
    assert str(raised.value) == (
        "the check would need a product of 8.0e+00 points in dense numpy, more than 7e+00\n"
        "hint: leave out --check, or check on smaller inputs"
    )


def test_terms_in_brackets_are_summed_by_themselves_in_mixed_types():
    """By hand: (1 + (1 + 1)) * 2; ``u`` counts once, whatever the types."""
    tensors = {"u": [1.0], "C": [[1.0, 1.0]]}
    for dtype in (np.float32, np.float64):
        inputs = {name: Tensor.of(np.array(one, dtype)) for name, one in tensors.items()}
        inputs["s"] = Tensor.of(2.0)
        found = evaluate("y(i) = (u(i) + C(i,j)) * s", inputs, {"i": 1, "j": 2}).value
        assert found.tolist() == [6.0]


def test_a_number_times_a_bool_is_no_number():
    """numpy has int64 for ``7 * u``, which ``s`` then takes on."""
    inputs = {"u": Tensor.of([True, False]), "s": Tensor.of(np.int32(2**31 - 1))}
    found = evaluate("y = 7 * u(i) * -s", inputs, {"i": 2}).value
    assert found == -7 * (2**31 - 1)
    assert found.dtype == np.int64


def test_operands_of_a_quotient_are_summed_by_themselves_in_mixed_types():
    """By hand: 1 / (-1 - 1) * 4j; a quotient that is summed has the type of the whole."""
    inputs = {"D": Tensor.of([1.0]), "B": Tensor.of(np.float32([[-1, -1]])), "z": Tensor.of([4j])}
    found = evaluate("y(i) = D(i) / B(i,j) * z(i)", inputs, {"i": 1, "j": 2}).value
    assert found.tolist() == [-2j]


def test_infinity_is_added_up_without_nan():
    inputs = {"a": Tensor.of(np.array([complex(np.inf, 2)]))}
    found = evaluate("y(i) = sum(j, a(i))", inputs, {"i": 1, "j": 3}).value
    assert found.tolist() == [complex(np.inf, 6)]
    assert evaluate("y(i) = sum(j, a(i))", inputs, {"i": 1, "j": 0}).value.tolist() == [0]
