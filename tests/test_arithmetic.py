"""Every operation on every pair of types, at special values, on three engines, as numpy has it."""

import warnings

import numpy as np
import pytest

import custard
import sim
from custard.dense_evaluator import evaluate
from sam.support import c_compiler as cc
from sam.tensor import Tensor
from tests.support.profiles import PROFILE

TYPES = ("bool", "int32", "int64", "float32", "float64", "complex64", "complex128")
OPERATIONS = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.true_divide,
}
ENGINES = ("simpy", "compiled", "c")


def special(dtype: str) -> np.ndarray:
    """Zeros of both signs, infinities, NaN, the extremes of a type, and plain values.

    Where a part of a complex product overflows, a fused multiplication and addition gives another
    result: the engines have one where numpy has.
    """
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.array([False, True])
    if kind == "i":
        limits = np.iinfo(dtype)
        return np.array([0, 1, -1, 7, limits.min, limits.max], dtype)
    limits = np.finfo(dtype)
    largest, least = float(limits.max), float(limits.smallest_subnormal)
    real = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, largest, -largest, largest**0.5, least]
    if kind == "f":
        return np.array(real, dtype)
    return np.array([complex(a, b) for a in real for b in real], dtype)


def computed(
    engine: str, text: str, inputs: dict[str, np.ndarray], dims: dict[str, int] | None = None
) -> np.ndarray:
    if engine == "c" and not cc.available():
        pytest.skip("needs a C compiler")
    formats = dict.fromkeys(["x", *inputs], "d")
    if engine == "c":
        return custard.compile(text, formats, target="c", dims=dims).run(inputs).to_numpy()
    graph = custard.compile(text, formats, dims=dims).graph
    return sim.simulate(graph, inputs, engine=engine).output.to_numpy()


def assert_same(found: np.ndarray, due: np.ndarray) -> None:
    """Equal, NaN where numpy has it, and with the signs of zeros."""
    assert found.dtype == due.dtype
    if due.dtype.kind not in "fc":
        np.testing.assert_array_equal(found, due)
        return
    parts = [(found.real, due.real), (found.imag, due.imag)]
    for ours, theirs in parts[: 2 if due.dtype.kind == "c" else 1]:
        np.testing.assert_array_equal(ours, theirs)
        zero = theirs == 0
        np.testing.assert_array_equal(np.signbit(ours[zero]), np.signbit(theirs[zero]))


def asked(left: str, right: str) -> list[str]:
    """The operations on two types: all where they are equal, or in full; else one, in turn."""
    every = [*OPERATIONS]
    apart = TYPES.index(left) - TYPES.index(right)
    return every if apart == 0 or PROFILE == "full" else [every[apart % 4]]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("left", TYPES)
@pytest.mark.parametrize("right", TYPES)
def test_operations_are_numpys(engine, left, right):
    a, b = (grid.reshape(-1) for grid in np.meshgrid(special(left), special(right)))
    if engine == "simpy" and a.size > 1000:  # fewer pairs, with each value on both sides
        a, b = a[::7], b[::7]
        assert {*map(repr, a)} == {*map(repr, special(left))}
        assert {*map(repr, b)} == {*map(repr, special(right))}
    for symbol in asked(left, right):
        if symbol == "-" and left == right == "bool":
            with pytest.raises(custard.UserError, match="no meaning for bool"):
                computed(engine, "x(i) = A(i) - B(i)", {"A": a, "B": b})
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            due = OPERATIONS[symbol](a, b)
            found = computed(engine, f"x(i) = A(i) {symbol} B(i)", {"A": a, "B": b})
        assert_same(found, due)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("symbol", OPERATIONS)
def test_complex_results_are_rounded_as_numpys(engine, dtype, symbol):
    random = np.random.default_rng(0)
    parts = random.normal(size=(2, 2, 500)) * 10.0 ** random.integers(-9, 9, (2, 2, 500))
    a, b = (parts[:, 0] + 1j * parts[:, 1]).astype(dtype)
    found = computed(engine, f"x(i) = A(i) {symbol} B(i)", {"A": a, "B": b})
    np.testing.assert_array_equal(found, OPERATIONS[symbol](a, b))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", TYPES[1:])
def test_a_change_of_sign_is_numpys(engine, dtype):
    a = special(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same(computed(engine, "x(i) = -A(i)", {"A": a}), -a)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize(
    "text", ["-(A * B)", "-(A / B)", "-(A * 2)", "-(A * B * A)", "C - -(A * B)"]
)
def test_the_opposite_of_a_complex_result_is_numpys(engine, dtype, text, monkeypatch):
    """With the signs of its zeros; gcc makes one instruction of several, with all optimisations."""
    monkeypatch.delenv("SAM_CFLAGS", raising=False)
    real = [0.0, -0.0, 1.0, -2.0, 3.0, 0.5]
    values = np.array([complex(a, b) for a in real for b in real], dtype)
    a, b = (grid.reshape(-1) for grid in np.meshgrid(values, values))
    inputs = {"A": a, "B": b, "C": a * 0}
    given = {name: one for name, one in inputs.items() if name in text}
    expression = "".join(f"{one}(i)" if one in "ABC" else one for one in text)
    with np.errstate(all="ignore"):
        due = eval(text, {}, inputs)
        assert_same(computed(engine, f"x(i) = {expression}", given), due)


MAX = 2**31 - 1


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("levels", ["d", "s"])
@pytest.mark.parametrize(
    ("text", "due"),
    [
        # By hand: brackets are computed first, each operation in its own type.
        ("a + (a + c)", [4294967299, 8]),
        ("a + a + c", [3, 8]),
        ("c - (c - a)", [MAX, 1]),
        ("a - (c - a)", [2 * MAX - 5, -4]),
        ("a * (a * c)", [5 * MAX * MAX - 2**64, 6]),
        ("2 * a + c", [3, 8]),
        ("2 * (a + c)", [2 * (MAX + 5), 14]),
        ("c * (a * 3 * (c + 1))", [5 * 2147483645 * 6, 6 * 3 * 7]),
    ],
)
def test_brackets_decide_which_type_an_operation_has(engine, levels, text, due):
    inputs = {"a": np.array([MAX, 1], "int32"), "c": np.array([5, 6], "int64")}
    formats = dict.fromkeys("xac", levels)
    expression = f"x(i) = {text.replace('a', 'a(i)').replace('c', 'c(i)')}"
    if engine == "c":
        found = custard.compile(expression, formats, target="c").run(inputs)
    else:
        graph = custard.compile(expression, formats).graph
        found = sim.simulate(graph, inputs, engine=engine).output
    wrapped = [(value + 2**63) % 2**64 - 2**63 for value in due]
    np.testing.assert_array_equal(found.to_numpy(), np.array(wrapped))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_difference_is_made_in_the_type_of_both(engine):
    low = np.array([-(2**31), 3], "int32")
    for x in (np.array([0, 5]), np.array([0.0, 5.0])):
        found = computed(engine, "x(i) = A(i) - B(i)", {"A": x, "B": low})
        np.testing.assert_array_equal(found, [2147483648, 2])
    mask, x = np.array([True, False]), np.array([0.0, 5.0])
    for text, due in (("A(i) - B(i)", x - mask), ("A(i) * (1 - B(i))", x * (1 - mask))):
        found = computed(engine, f"x(i) = {text}", {"A": x, "B": mask})
        np.testing.assert_array_equal(found, due)
    assert computed(engine, "x(i) = 1 - B(i)", {"B": mask}).dtype == np.int64


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "text", ["1 - (-A)", "2.0 + (-A)", "C + (-A)", "C - (-A)", "-A + C", "C - -(A + A)", "- -A"]
)
def test_a_change_of_sign_is_made_in_the_type_of_its_operand(engine, text):
    """The least whole number has no opposite in its type."""
    inputs = {"A": np.array([-(2**31), 3], "int32"), "C": np.array([5, 6])}
    given = {name: one for name, one in inputs.items() if name in text}
    expression = text.replace("A", "A(i)").replace("C", "C(i)")
    found = computed(engine, f"x(i) = {expression}", given)
    assert_same(found, eval(text, {}, inputs))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("text", ["C + (-B)", "- -B"])
def test_the_opposite_of_a_bool_is_refused_as_in_numpy(engine, text):
    inputs = {"B": np.array([True, False]), "C": np.array([5, 6])}
    given = {name: one for name, one in inputs.items() if name in text}
    with pytest.raises(custard.UserError, match="negate has no meaning for bool"):
        computed(engine, f"x(i) = {text.replace('B', 'B(i)').replace('C', 'C(i)')}", given)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("levels", ["d", "s"])
@pytest.mark.parametrize(
    "text",
    [
        "A * (2147483647 + M)",
        "(M + 2147483647) + 2147483647",
        "-2147483647 - M - M",
        "(1 + M) - (-A)",
        "(1 + M) - A",
        "(2147483647 + M) * (2147483647 + M)",
        "-(M - 2147483648)",
    ],
)
def test_truths_and_numbers_are_added_in_64_bits(engine, levels, text):
    """C has int for them, unless it is told otherwise."""
    inputs = {"A": np.array([2**31 - 2, -(2**31)], "int32"), "M": np.array([True, False])}
    given = {name: one for name, one in inputs.items() if name in text}
    expression = f"x(i) = {text.replace('A', 'A(i)').replace('M', 'M(i)')}"
    formats = dict.fromkeys(("x", *given), levels)
    if engine == "c":
        found = custard.compile(expression, formats, target="c").run(given)
    else:
        found = custard.compile(expression, formats).run(given, engine=engine)
    due = eval(text, {}, inputs)
    assert found.to_numpy().tolist() == due.tolist()
    assert found.dtype == due.dtype


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("number", ["9223372036854775807 * 4", "(2 - 9223372036854775807 - 9)"])
def test_whole_numbers_that_grow_beyond_64_bits_are_floats(engine, number):
    """As those that are written with so many digits."""
    found = computed(engine, f"x(i) = A(i) + {number}", {"A": np.array([1, 3], "int32")})
    assert_same(found, np.array([1, 3]) + float(eval(number)))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "text",
    [
        "A * C + B * C",
        "A / C - B / C",
        "A * B - A",
        "-A - A * (128 - A)",
        "2 * (3 / A)",
        "(A / 7) / 7",
        "1e300 * (1e300 / A)",
        "A * B - C * C",
    ],
)
def test_each_operation_is_rounded_where_nothing_is_summed(engine, text, monkeypatch):
    """gcc would take a common factor out, fold numbers or round a product with its sum; with all
    optimisations."""
    monkeypatch.delenv("SAM_CFLAGS", raising=False)
    special = [1e300, -1e300, np.inf, 1e308, 0.1, 1 / 3, -0.0, 3.7, 1e-310, np.nan]
    a, b, c = (grid.reshape(-1) for grid in np.meshgrid(special, special, special))
    inputs = {"A": a, "B": b, "C": c}
    given = {name: one for name, one in inputs.items() if name in text}
    expression = text.replace("A", "A(i)").replace("B", "B(i)").replace("C", "C(i)")
    with np.errstate(all="ignore"):
        due = eval(text, {}, inputs)
        found = computed(engine, f"x(i) = {expression}", given)
    assert_same(found, due)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
@pytest.mark.parametrize(
    "text", ["1e300 * 1e300 + A", "A * -(1e300 * 1e300)", "A - (1e300 * 1e300 - 1e300 * 1e300)"]
)
def test_numbers_may_become_infinite_or_nan(engine, dtype, text):
    a = np.array([3, 0, -5], dtype)
    with np.errstate(all="ignore"):
        due = eval(text, {"A": a})
        found = computed(engine, f"x(i) = {text.replace('A', 'A(i)')}", {"A": a})
    assert_same(found, due)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", ["bool", "int32", "int64"])
@pytest.mark.parametrize(
    "text",
    ["0.0 - A", "-0.0 - A", "(A * 0.0) - A", "0 * 1e3 - A", "(1 + A) * (0.0 - A)", "0 - A * 1.0"],
)
def test_differences_of_whole_and_real_zeros(engine, dtype, text, monkeypatch):
    """gcc makes -x of 0.0 - x where x was a whole number; with all optimisations."""
    monkeypatch.delenv("SAM_CFLAGS", raising=False)
    a = np.array([1, 0, 1, 0, 0], dtype)
    found = computed(engine, f"x(i) = {text.replace('A', 'A(i)')}", {"A": a})
    assert_same(found, eval(text, {"A": a}))


@pytest.mark.parametrize("engine", ENGINES)
def test_differences_of_whole_and_real_zeros_that_are_computed(engine, monkeypatch):
    monkeypatch.delenv("SAM_CFLAGS", raising=False)
    a, b = np.array([5, 0, 7, 0, 3]), np.array([0.0, -0.0, 2.0, 0.0, 0.0])
    given = {"A": a, "B": b}
    found = computed(
        engine, "x(i) = (A(i) - A(i)) * 1.0 - (A(i) - A(i)) - (0.0 - (A(i) - A(i)))", {"A": a}
    )
    assert_same(found, (a - a) * 1.0 - (a - a) - (0.0 - (a - a)))
    found = computed(engine, "x(i) = B(i) - A(i)", given)
    assert_same(found, b - a)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "text", ["3000000000 * A(i)", "A(i) - 2147483648", "A(i) + 2 * 2000000000"]
)
def test_a_number_that_does_not_fit_is_refused_as_in_numpy(engine, text):
    with pytest.raises(custard.UserError, match="does not fit int32"):
        computed(engine, f"x(i) = {text}", {"A": np.array([1, 3], "int32")})
    found = computed(engine, f"x(i) = {text}", {"A": np.array([1, 3], "int64")})
    np.testing.assert_array_equal(found, eval(text.replace("A(i)", "np.array([1, 3])")))


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("A(i) + sum(j, 3000000000)", 6000000000),
        ("A(i) - (-sum(j, 3000000000))", 6000000000),
        ("A(i) + sum(j, 3) * 3000000000", 18000000000),
        ("A(i) + (2147483647 + 2147483647 + sum(j, 3))", 4294967300),
        ("A(i) - sum(j, -2147483649)", 4294967298),
    ],
)
def test_a_number_in_a_sum_that_does_not_fit_is_refused(text, due):
    text, dims = f"x(i) = {text}", {"i": 2, "j": 2}
    for engine in ENGINES:
        with pytest.raises(custard.UserError, match="does not fit int32"):
            computed(engine, text, {"A": np.array([1, 3], "int32")}, dims)
        found = computed(engine, text, {"A": np.array([1, 3], "int64")}, dims)
        np.testing.assert_array_equal(found, [due + 1, due + 3])
    with pytest.raises(custard.UserError, match="out of bounds for int32"):
        evaluate(text, {"A": Tensor.of(np.array([1, 3], "int32"))}, dims)


@pytest.mark.parametrize("engine", ENGINES)
def test_numbers_that_fit_wrap_around_where_they_are_summed(engine):
    a, text, dims = np.array([1, 3], "int32"), "A(i) + sum(j, 2147483647) * 2", {"i": 2, "j": 2}
    found = computed(engine, f"x(i) = {text}", {"A": a}, dims)
    np.testing.assert_array_equal(found, a - 4)
    assert evaluate(f"x(i) = {text}", {"A": Tensor.of(a)}, dims).value.tolist() == [-3, -1]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_a_number_is_rounded_to_the_type_that_it_meets_first(engine, dtype):
    """As numpy does: float32(1.1) * float32(0.1) is another number than float32(1.1 * 0.1)."""
    a = np.array([1.1, 3, 0.7], dtype)
    for text in ("A * 0.1", "0.1 / A", "16777217 + A", "(0.1 + 0.2) * A", "-0.1 * A"):
        found = computed(engine, f"x(i) = {text.replace('A', 'A(i)')}", {"A": a})
        np.testing.assert_array_equal(found, eval(text, {"A": a}), strict=True)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("text", "subscripts"),
    [
        ("x(i) = A(i,j) * B(i)", "ij,i->i"),
        ("x(i) = A(i,j) * A(i,j) * C(j)", "ij,ij,j->i"),
        ("x = A(i,j) * C(k)", "ij,k->"),
        ("x(i) = M(i,j) * C(j)", "ij,j->i"),
        ("x(i) = D(i) * D(i) * C(j)", "i,i,j->i"),
        ("x(i) = D(i) * D(i) * sum(j, C(j))", "i,i,j->i"),
        ("x(i) = sum(j, A(i,j) * A(i,j) * C(j))", "ij,ij,j->i"),
        ("x(i) = B(i) * sum(j, A(i,j))", "i,ij->i"),
        ("x = C(k) * A(i,j) * A(i,j)", "k,ij,ij->"),
    ],
)
def test_a_product_and_its_sums_are_one_einsum(engine, text, subscripts):
    tensors = {
        "A": np.array([[MAX, 1], [5, MAX]], "int32"),
        "B": np.array([2, 3]),
        "C": np.array([7, 2**33]),
        "D": np.array([MAX, 3], "int32"),
        "M": np.array([[True, True], [False, True]]),
    }
    inputs = {name: array for name, array in tensors.items() if f"{name}(" in text}
    names = [name for name in text.split("=")[1].replace("(", " ").split() if name in tensors]
    due = np.einsum(subscripts, *(tensors[name] for name in names))
    if engine == "c":
        found = custard.compile(text, target="c").run(inputs)
    else:
        found = sim.simulate(custard.compile(text).graph, inputs, engine=engine).output
    np.testing.assert_array_equal(found.to_numpy(), due)
    assert found.dtype == due.dtype


def results(text: str, inputs: dict[str, np.ndarray], levels: str) -> list[np.ndarray]:
    """The result on each engine, and as ``--check`` computes it; i and j have two values each."""
    formats = {name: levels * array.ndim for name, array in inputs.items()}
    dims = {name: 2 for name in "ij" if f"{name}," in text or f"{name})" in text}
    program = custard.compile(text, formats, dims=dims)
    found = [program.run(inputs, engine=engine) for engine in ("simpy", "compiled")]
    if cc.available():
        found.append(custard.compile(text, formats, target="c", dims=dims).run(inputs))
    tensors = {name: Tensor.of(array) for name, array in inputs.items()}
    return [*(one.to_numpy() for one in found), evaluate(text, tensors, dims).value]


LOW = np.array([[-(2**31), 0], [3, -(2**31)]], "int32")


@pytest.mark.parametrize("levels", ["d", "s"])
@pytest.mark.parametrize(
    ("text", "due"),
    [
        # numpy.einsum of -A, whose least number has no opposite, in the type of s.
        ("-A(i,j) * s(i)", (-LOW).sum(1, dtype="int64") * [5, 6]),
        ("s(i) * - -A(i,j)", LOW.sum(1, dtype="int64") * [5, 6]),
        ("-A(i,j) * s(j)", -LOW @ [5, 6]),
        # The sign stands around a sum or a product, which has its own type.
        ("-sum(j, A(i,j)) * s(i)", -LOW.sum(1, dtype="int32") * np.array([5, 6])),
        ("-(A(i,j) * A(i,j)) * s(i)", -(LOW * LOW).sum(1, dtype="int32") * np.array([5, 6])),
        ("-(A(i,j) * A(i,j)) * s(j)", -(LOW * LOW) @ [5, 6]),
    ],
)
def test_a_sign_in_a_product_is_changed_before_the_sum(levels, text, due):
    for found in results(f"y(i) = {text}", {"A": LOW, "s": np.array([5, 6])}, levels):
        np.testing.assert_array_equal(found, due, strict=True)


@pytest.mark.parametrize("levels", ["d", "s"])
@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("sum(j, N(i,j)) - n(i) + sum(j, F(i,j))", [1 + 1.5, -2 + 3]),
        ("sum(j, F(i,j)) * z(i) + (sum(j, N(i,j)) - n(i))", [1.5j + 1, 9j - 2]),
        ("z(i) - 1 / F(i,j) * sum(j, z(j))", [1j - 4j / 1.5, 3j - 4j / 3]),
    ],
)
def test_values_of_several_types_go_through_one_merge(levels, text, due):
    """By hand. A value has its own type until an operation takes it."""
    inputs = {
        "N": np.array([[2**61, 2**61 + 1], [1, 2]]),  # 1 is lost in a float
        "F": np.array([[0.5, 1], [1, 2]]),
        "n": np.array([2**62, 5]),
        "z": np.array([1j, 3j]),
    }
    given = {name: array for name, array in inputs.items() if f"{name}(" in text}
    for found in results(f"y(i) = {text}", given, levels):
        np.testing.assert_array_equal(found, np.array(due))


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("sum(j, 2147483647) + a(i)", [-1, 3]),
        ("sum(j, 2147483647) * 2 * a(i)", [-4, -20]),
        ("a(i) - -sum(j, 2147483647)", [-1, 3]),
        ("sum(j, 2147483647) / 2 * a(i)", [2147483647.0, 5 * 2147483647.0]),
    ],
)
def test_a_number_has_the_type_that_it_meets_before_it_is_summed(text, due):
    """By hand: a sum of int32 wraps around, and no operation but the quotient has another type."""
    due = np.array(due, "float64" if "/" in text else "int32")
    for found in results(f"y(i) = {text}", {"a": np.array([1, 5], "int32")}, "d"):
        np.testing.assert_array_equal(found, due, strict=True)
