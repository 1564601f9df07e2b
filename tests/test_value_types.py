"""Values of every type, by numpy's promotion rules."""

import shutil
import warnings

import numpy as np
import pytest

import custard
from sam.support import c_compiler as cc
from sam.support.errors import UserError
from tests.support import quick_c

TYPES = ("bool", "int32", "int64", "float32", "float64", "complex64", "complex128")


# Each two types, in one order or the other; ``test_arithmetic`` has both.
PAIRS = [
    (left, right) if (i + j) % 2 else (right, left)
    for i, left in enumerate(TYPES)
    for j, right in enumerate(TYPES[: i + 1])
]


@pytest.fixture(params=["sam", "c"])
def compile(request):
    """The compiler, for each of the targets."""
    if request.param == "c" and not cc.available():
        pytest.skip("needs a C compiler")

    def compiled(*arguments):
        # Sums that are not exact may come in another order, but no operation is left out.
        if request.param == "c":
            return quick_c.compiled(*arguments)
        return custard.compile(*arguments)

    return compiled


def numbers(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    values = generator.integers(-4, 5, shape) * (generator.random(shape) < 0.6)
    if dtype.startswith("complex"):
        values = values + 1j * generator.integers(-2, 3, shape) * (values != 0)
    return values.astype(dtype)


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_products_and_sums(compile, left, right):
    a, b = numbers((4, 5), left, 1), numbers((5, 3), right, 2)
    product = compile("X(i,j)=A(i,k)*B(k,j)").run({"A": a, "B": b})
    assert product.dtype == np.result_type(a, b)
    np.testing.assert_array_equal(product.to_numpy(), a @ b)
    c = numbers((4, 5), right, 3)
    total = compile("X(i,j)=A(i,j)+C(i,j)").run({"A": a, "C": c})
    assert total.dtype == np.result_type(a, c)
    np.testing.assert_array_equal(total.to_numpy(), a + c)


@pytest.mark.parametrize("dtype", TYPES)
def test_numbers_of_the_program_take_on_the_type_that_they_meet(compile, dtype):
    a = numbers((6,), dtype, 4)
    for text, due in (("2*A(i)", 2 * a), ("A(i)*0.5", a * 0.5), ("A(i)+1", a + 1)):
        found = compile(f"x(i)={text}", {"x": "d"}).run({"A": a})
        assert found.dtype == due.dtype
        np.testing.assert_array_equal(found.to_numpy(), due)


def test_two_numbers_combine_before_they_meet_a_tensor(compile):
    found = compile("x(i)=2*3.0*A(i)").run({"A": np.ones(2, "float32")})
    assert found.dtype == np.float32


@pytest.mark.parametrize("text", ["A(i)-(2+B(i))", "A(i)-(B(i)-(1-A(i)))", "1.5+(2+A(i))"])
def test_numbers_in_brackets_leave_fractions_and_imaginary_parts(compile, text):
    a, b = np.array([0.25 + 1j, 2.5]), np.array([4j, 0.75])
    found = compile(f"x(i)={text}", {"x": "d"}).run({"A": a, "B": b} if "B" in text else {"A": a})
    due = {"A(i)-(2+B(i))": a - (2 + b), "1.5+(2+A(i))": 3.5 + a}.get(text, a - (b - (1 - a)))
    np.testing.assert_array_equal(found.to_numpy(), due)


@pytest.mark.parametrize("dtype", TYPES)
def test_division_is_true_division(compile, dtype):
    a, b = numbers((6,), dtype, 5), numbers((6,), dtype, 6)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        due = np.true_divide(a, b)
    found = compile("x(i)=A(i)/B(i)", {"A": "d", "B": "d", "x": "d"})
    result = found.run({"A": a, "B": b})
    assert result.dtype == due.dtype
    finite = np.isfinite(due)
    np.testing.assert_allclose(result.to_numpy()[finite], due[finite], rtol=1e-6)


def test_whole_numbers_stay_exact_beyond_what_a_float_holds(compile):
    big = np.array([2**53 + 1, 3], "int64")
    found = compile("x(i)=A(i)*B(i)").run({"A": big, "B": np.array([1, 5])})
    np.testing.assert_array_equal(found.to_numpy(), [2**53 + 1, 15])


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_whole_numbers_wrap_around_as_in_numpy(compile, dtype):
    a = np.array([np.iinfo(dtype).max, 3], dtype)
    found = compile("x(i)=A(i)*A(i)+A(i)").run({"A": a})
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(found.to_numpy(), a * a + a)


def test_float32_is_rounded_after_each_operation(compile):
    a = np.array([1.0, 1e-8, 1.0], "float32")
    found = compile("x(i)=A(i)+B(i)").run({"A": a, "B": np.float32([1e-8, 1, 3e-8])})
    np.testing.assert_array_equal(found.to_numpy(), a + np.float32([1e-8, 1, 3e-8]))


def test_quotients_by_zero_are_numpys(compile):
    """In C each has its sign and kind; a zero that is not stored has no sign."""
    for dtype in ("int32", "float32", "float64"):
        a, b = np.array([0, 1, -1, 3], dtype), np.array([0, 0, 0, 2], dtype)
        found = compile("x(i)=A(i)/B(i)", dict.fromkeys("xAB", "d")).run({"A": a, "B": b})
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(found.to_numpy(), a / b)


def test_complex_products_and_quotients_are_numpys(compile):
    random = np.random.default_rng(7)
    for dtype, rtol in (("complex64", 1e-6), ("complex128", 1e-14)):
        a, b = (
            (random.normal(size=50) + 1j * random.normal(size=50)).astype(dtype) for _ in range(2)
        )
        for text, due in (("A(i)*B(i)", a * b), ("A(i)/B(i)", a / b), ("-A(i)", -a)):
            inputs = {"A": a, "B": b} if "B" in text else {"A": a}
            formats = dict.fromkeys(["x", *inputs], "d")
            found = compile(f"x(i)={text}", formats).run(inputs).to_numpy()
            assert found.dtype == dtype
            np.testing.assert_allclose(found, due, rtol=rtol)
    huge = np.array([1e200 + 1e200j, 1e-200 + 1e-200j])
    found = compile("x(i)=A(i)/A(i)", {"x": "d", "A": "d"}).run({"A": huge}).to_numpy()
    np.testing.assert_allclose(found, [1, 1])


@pytest.mark.skipif(shutil.which("clang") is None, reason="needs clang")
def test_clang_has_the_same_complex_products_and_quotients(compile, monkeypatch):
    monkeypatch.setenv("CC", "clang")
    test_complex_products_and_quotients_are_numpys(compile)
    a = np.array([3 + 4j, 0, 1j])
    program = custard.compile("x(i)=A(i)*A(i)", {"x": "d", "A": "d"})
    found = program.simulate({"A": a}, engine="compiled").output
    np.testing.assert_array_equal(found.to_numpy(), a * a)


def test_bools_are_not_subtracted(compile):
    program = compile("x(i)=A(i)-B(i)")
    with pytest.raises(UserError) as caught:
        program.run({"A": np.array([True]), "B": np.array([True])})
    # The difference is a sum with a change of sign, which is what target c looks at first.
    what = str(caught.value).removeprefix("subtract").removeprefix("negate")
    assert what == " has no meaning for bool values\nhint: convert the inputs to int64 first"
