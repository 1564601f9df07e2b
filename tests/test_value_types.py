"""Values of every type, by numpy's promotion rules."""

import warnings

import numpy as np
import pytest

import custard
from sam.errors import UserError

TYPES = ("bool", "int32", "int64", "float32", "float64", "complex64", "complex128")


def numbers(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    values = generator.integers(-4, 5, shape) * (generator.random(shape) < 0.6)
    if dtype.startswith("complex"):
        values = values + 1j * generator.integers(-2, 3, shape) * (values != 0)
    return values.astype(dtype)


@pytest.mark.parametrize("left", TYPES)
@pytest.mark.parametrize("right", TYPES)
def test_products_and_sums(left, right):
    a, b = numbers((4, 5), left, 1), numbers((5, 3), right, 2)
    product = custard.compile("X(i,j)=A(i,k)*B(k,j)").run({"A": a, "B": b})
    assert product.dtype == np.result_type(a, b)
    np.testing.assert_array_equal(product.to_numpy(), a @ b)
    c = numbers((4, 5), right, 3)
    total = custard.compile("X(i,j)=A(i,j)+C(i,j)").run({"A": a, "C": c})
    assert total.dtype == np.result_type(a, c)
    np.testing.assert_array_equal(total.to_numpy(), a + c)


@pytest.mark.parametrize("dtype", TYPES)
def test_numbers_of_the_program_take_on_the_type_that_they_meet(dtype):
    a = numbers((6,), dtype, 4)
    for text, due in (("2*A(i)", 2 * a), ("A(i)*0.5", a * 0.5), ("A(i)+1", a + 1)):
        found = custard.compile(f"x(i)={text}", {"x": "d"}).run({"A": a})
        assert found.dtype == due.dtype
        np.testing.assert_array_equal(found.to_numpy(), due)


def test_two_numbers_meet_before_they_meet_a_tensor():
    found = custard.compile("x(i)=2*3.0*A(i)").run({"A": np.ones(2, "float32")})
    assert found.dtype == np.float32


@pytest.mark.parametrize("dtype", TYPES)
def test_division_is_true_division(dtype):
    a, b = numbers((6,), dtype, 5), numbers((6,), dtype, 6)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        due = np.true_divide(a, b)
    found = custard.compile("x(i)=A(i)/B(i)", {"A": "d", "B": "d", "x": "d"})
    result = found.run({"A": a, "B": b})
    assert result.dtype == due.dtype
    finite = np.isfinite(due)
    np.testing.assert_allclose(result.to_numpy()[finite], due[finite], rtol=1e-6)


def test_whole_numbers_stay_exact_beyond_what_a_float_holds():
    big = np.array([2**53 + 1, 3], "int64")
    found = custard.compile("x(i)=A(i)*B(i)").run({"A": big, "B": np.array([1, 5])})
    np.testing.assert_array_equal(found.to_numpy(), [2**53 + 1, 15])


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_whole_numbers_wrap_around_as_in_numpy(dtype):
    a = np.array([np.iinfo(dtype).max, 3], dtype)
    found = custard.compile("x(i)=A(i)*A(i)+A(i)").run({"A": a})
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(found.to_numpy(), a * a + a)


def test_float32_is_rounded_after_each_operation():
    a = np.array([1.0, 1e-8, 1.0], "float32")
    found = custard.compile("x(i)=A(i)+B(i)").run({"A": a, "B": np.float32([1e-8, 1, 3e-8])})
    np.testing.assert_array_equal(found.to_numpy(), a + np.float32([1e-8, 1, 3e-8]))


def test_bools_are_not_subtracted():
    program = custard.compile("x(i)=A(i)-B(i)")
    with pytest.raises(UserError) as caught:
        program.run({"A": np.array([True]), "B": np.array([True])})
    assert str(caught.value) == (
        "subtract has no meaning for bool values\nhint: convert the inputs to int64 first"
    )
