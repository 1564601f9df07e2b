"""Products of several tensors that are computed as two."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

import custard
from tests.support.compiler import needs_compiler

FORMATS = {"y": "d", "A": "CSR", "B": "CSR", "C": "CSR", "x": "d", "z": "d"}
TEXT = "y(i) = A(i,k) * B(k,j) * x(j)"
NOTE = "sum(j, B(k,j) * x(j)) is computed first, for all k: that costs far less"


def compiled(text, formats=FORMATS, **options):
    used = {name: form for name, form in formats.items() if f"{name}(" in text}
    return custard.compile(text, used, target="c", **options)


def matrix(seed, rows, columns, dtype="float64"):
    found = sp.random_array((rows, columns), density=0.3, rng=np.random.default_rng(seed))
    return (found * 9).astype(dtype).tocsr()


def test_a_note_says_what_is_computed_first():
    program = compiled(TEXT)
    assert program.notes == (NOTE,)
    assert str(program.cin.value) == "sum(k, A(i,k) * sum(j, B(k,j) * x(j)))"


@needs_compiler
@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("y(j) = x(i) * A(i,k) * B(k,j)", "CSR"),
        ("y(j) = B(k,j) * A(i,k) * x(i)", "CSR"),
        ("y(i) = A(i,k) * B(k,j) * x(j)", "CSC"),
        ("y(i) = A(k,i) * B(j,k) * x(j)", "CSR"),
    ],
)
def test_products_that_scatter_are_two_as_well(text, form):
    program = compiled(text, {"y": "d", "A": form, "B": form, "x": "d"})
    assert any("is computed first, for all k" in note for note in program.notes)
    a, b, x = matrix(1, 20, 20), matrix(2, 20, 20), np.arange(20.0)
    if text.startswith("y(i) = A(k,i)"):
        due = a.T @ (b.T @ x)
    elif text.startswith("y(i)"):
        due = a @ (b @ x)
    else:
        due = (x @ a) @ b
    found = program.run({"A": a, "B": b, "x": x})
    np.testing.assert_allclose(found.to_numpy(), due)


@needs_compiler
def test_a_first_vector_without_a_value_meets_no_infinity():
    a = sp.csr_array(np.array([[1.0, 0, 0], [0, 0, 2], [0, 0, 0]]))
    b = sp.csr_array(np.array([[1.0, 0, 3], [np.inf, 1, 0], [0, 2, 0]]))
    program = compiled("y(j) = x(i) * A(i,k) * B(k,j)")
    found = program.run({"A": a, "B": b, "x": np.array([1.0, 2, 3])})
    np.testing.assert_array_equal(found.to_numpy(), [1, 8, 3])


@pytest.mark.parametrize(
    "options", [{"strict": True}, {"schedule": "reorder(i,k,j)"}, {"schedule": "reorder(k,j,i)"}]
)
def test_a_schedule_of_the_user_is_kept(options):
    assert NOTE not in compiled(TEXT, **options).notes


@pytest.mark.parametrize(
    "text",
    [
        "y(i) = A(i,k) * x(k)",
        "X(i,j) = A(i,k) * B(k,j)",
        "X(i,j) = A(i,j) * P(i,k) * Q(k,j)",
        "y(i) = A(i,j) * x(j) * z(i)",
        "y(i) = x(j) * z(j)",
        "y(i) = C(i,j) * x(j) * z(j)",
        "y(i) = 2 * A(i,j) * x(j)",
    ],
)
def test_a_product_that_costs_as_much_is_left(text):
    formats = {**FORMATS, "C": "dd"}
    assert not any("computed first" in note for note in compiled(text, formats).notes)


@needs_compiler
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "int64", "complex128", "bool"])
@pytest.mark.parametrize("result", ["d", "s"])
def test_values_and_types_are_those_of_one_einsum(dtype, result):
    a, b, x = matrix(0, 5, 6, dtype), matrix(1, 6, 7, dtype), np.arange(1, 8).astype(dtype)
    program = compiled(TEXT, {**FORMATS, "y": result})
    assert NOTE in program.notes
    found = program.run({"A": a, "B": b, "x": x})
    due = np.einsum("ik,kj,j->i", a.toarray(), b.toarray(), x)
    assert found.dtype == due.dtype
    np.testing.assert_allclose(found.to_numpy(), due, rtol=1e-5)


@needs_compiler
def test_mixed_types_are_those_of_the_whole_product():
    big = 2**31 - 1
    a = sp.csr_array(np.array([[1, 0]], "int64"))
    b, x = sp.csr_array(np.array([[big], [0]], "int32")), np.array([big], "int32")
    found = compiled(TEXT).run({"A": a, "B": b, "x": x})
    assert found.to_numpy().tolist() == [big * big]


@needs_compiler
def test_longer_chains_sums_and_other_factors():
    a, b, c, x = matrix(0, 5, 6), matrix(1, 6, 7), matrix(2, 7, 8), np.arange(1.0, 9)
    inputs = {"A": a, "B": b, "C": c, "x": x}
    program = compiled("y(i) = A(i,k) * B(k,j) * C(j,l) * x(l)")
    assert str(program.cin.value) == ("sum(k, A(i,k) * sum(j, B(k,j) * sum(l, C(j,l) * x(l))))")
    np.testing.assert_allclose(program.run(inputs).to_numpy(), a @ (b @ (c @ x)))
    del inputs["C"]
    inputs |= {"x": x[:7], "z": np.arange(5.0)}
    program = compiled("y(i) = z(i) - 2 * A(i,k) * B(k,j) * x(j)")
    assert any("computed first" in note for note in program.notes)
    np.testing.assert_allclose(program.run(inputs).to_numpy(), inputs["z"] - 2 * (a @ (b @ x[:7])))


@needs_compiler
def test_an_empty_row_is_absent_and_no_zero():
    a = sp.csr_array(np.array([[np.inf, 1.0], [np.inf, 0.0]]))
    b, x = sp.csr_array(np.array([[0.0, 0.0], [2.0, 0.0]])), np.array([3.0, 5.0])
    found = compiled(TEXT, {**FORMATS, "y": "s"}).run({"A": a, "B": b, "x": x})
    coordinates, values = found.to_coo()
    assert (coordinates.tolist(), values.tolist()) == ([[0]], [6.0])
    dense = compiled(TEXT).run({"A": a, "B": b, "x": x})
    assert dense.to_numpy().tolist() == [6.0, 0.0]


@needs_compiler
@pytest.mark.parametrize("first", [np.asarray, sp.csr_array])
def test_undeclared_inputs_may_be_dense(first):
    a, b, x = matrix(0, 5, 6), matrix(1, 6, 7), np.arange(1.0, 8)
    found = custard.compile(TEXT, target="c").run({"A": first(a.toarray()), "B": b, "x": x})
    np.testing.assert_allclose(found.to_numpy(), a @ (b @ x))


@needs_compiler
def test_extents_of_nothing():
    inputs = {"A": sp.csr_array((3, 0)), "B": sp.csr_array((0, 4)), "x": np.ones(4)}
    assert compiled(TEXT).run(inputs).to_numpy().tolist() == [0.0, 0.0, 0.0]


CHAIN = "X(i,j) = A(i,k) * B(k,l) * C(l,j)"
ROWS = "sum(k, A(i,k) * B(k,l)) is computed first, for each i: equal places are joined"


@pytest.mark.parametrize(
    ("formats", "note", "value"),
    [
        (dict.fromkeys("XABC", "CSR"), ROWS, "sum(l, C(l,j) * sum(k, A(i,k) * B(k,l)))"),
        (
            dict.fromkeys("XABC", "CSC"),
            "sum(l, B(k,l) * C(l,j)) is computed first, for each j: equal places are joined",
            "sum(k, A(i,k) * sum(l, B(k,l) * C(l,j)))",
        ),
        ({"X": "dd", "A": "dd", "B": "CSR", "C": "CSR"},
         "sum(k, A(i,k) * B(k,l)) is computed first, for all l, i: that costs far less",
         "sum(l, C(l,j) * sum(k, A(i,k) * B(k,l)))"),
    ],
)  # fmt: skip
def test_a_chain_of_matrices_joins_terms_at_each_row(formats, note, value):
    program = custard.compile(CHAIN, formats, target="c")
    assert note in program.notes
    assert str(program.cin.value) == value


@needs_compiler
@pytest.mark.parametrize(
    ("forms", "result", "dtype"),
    [
        *(("CSR", "CSR", dtype) for dtype in ("float64", "int32", "complex128", "bool")),
        *((forms, "CSR", "float64") for forms in ("CSC", "DCSR", "COO", "DENSE")),
        *(("CSR", result, "float64") for result in ("DCSR", "dd", "CSC")),
    ],
)
def test_chains_of_matrices(forms, result, dtype):
    a, b, c = matrix(0, 5, 6, dtype), matrix(1, 6, 7, dtype), matrix(2, 7, 8, dtype)
    program = custard.compile(CHAIN, {"X": result, **dict.fromkeys("ABC", forms)}, target="c")
    found = program.run({"A": a, "B": b, "C": c})
    due = np.einsum("ik,kl,lj->ij", a.toarray(), b.toarray(), c.toarray())
    assert found.dtype == due.dtype
    np.testing.assert_allclose(found.to_numpy(), due)


@needs_compiler
def test_longer_chains_of_matrices():
    form = dict.fromkeys("XABCD", "CSR")
    text = "X(i,j) = C(i,j) + 2 * A(i,k) * B(k,l) * C(l,m) * D(m,j)"
    program = custard.compile(text, form, target="c")
    assert sum("computed first" in note for note in program.notes) == 2
    given = {name: matrix(n, 6, 6) for n, name in enumerate("ABCD")}
    due = given["C"] + 2 * given["A"] @ given["B"] @ given["C"] @ given["D"]
    np.testing.assert_allclose(program.run(given).to_numpy(), due.toarray())


@needs_compiler
def test_rows_of_a_chain_that_are_empty_are_absent():
    a = sp.csr_array(np.array([[np.inf, 1.0], [0.0, 0.0]]))
    b = sp.csr_array(np.array([[0.0, 0.0], [2.0, 0.0]]))
    c = sp.csr_array(np.array([[0.0, 3.0], [np.inf, 0.0]]))
    found = custard.compile(CHAIN, dict.fromkeys("XABC", "CSR"), target="c")
    coordinates, values = found.run({"A": a, "B": b, "C": c}).to_coo()
    assert (coordinates.tolist(), values.tolist()) == ([[0], [1]], [6.0])


LAST = "sum(l, B(k,l) * C(l,j)) is computed first, for all k, j: that costs far less"


@needs_compiler
@pytest.mark.parametrize("dtype", ["float64", "int32", "complex128", "bool"])
@pytest.mark.parametrize(("forms", "result"), [("CSR", "dd"), ("DCSR", "dd")])
def test_an_array_at_the_end_of_a_chain_meets_the_last_matrix_first(forms, result, dtype):
    formats = {"X": result, "A": forms, "B": forms, "C": "dd"}
    program = custard.compile(CHAIN, formats, target="c")
    assert LAST in program.notes
    a, b, c = matrix(0, 5, 6, dtype), matrix(1, 6, 7, dtype), matrix(2, 7, 8, dtype)
    found = program.run({"A": a, "B": b, "C": c.toarray()})
    due = np.einsum("ik,kl,lj->ij", a.toarray(), b.toarray(), c.toarray())
    assert found.dtype == due.dtype
    np.testing.assert_allclose(found.to_numpy(), due)


@needs_compiler
def test_rows_of_several_dimensions_are_made_first():
    formats = {"X": "ddd", "A": "CSR", "B": "CSR", "C": "ddd"}
    program = custard.compile("X(i,j,m) = A(i,k) * B(k,l) * C(l,j,m)", formats, target="c")
    assert any("for all k, j, m" in note for note in program.notes)
    a, b, c = matrix(0, 5, 6), matrix(1, 6, 7), np.arange(7.0 * 2 * 3).reshape(7, 2, 3)
    found = program.run({"A": a, "B": b, "C": c}).to_numpy()
    np.testing.assert_allclose(found, np.einsum("ik,kl,ljm->ijm", a.toarray(), b.toarray(), c))


@needs_compiler
def test_a_row_that_is_never_written_is_absent():
    a = sp.csr_array(np.array([[np.inf, 1.0]]))
    b, c = sp.csr_array(np.array([[0.0, 0.0], [2.0, 0.0]])), np.array([[3.0, 4.0], [5.0, 6.0]])
    formats = {"X": "dd", "A": "CSR", "B": "CSR", "C": "dd"}
    program = custard.compile(CHAIN, formats, target="c")
    assert program.run({"A": a, "B": b, "C": c}).to_numpy().tolist() == [[6.0, 8.0]]


@needs_compiler
@pytest.mark.parametrize("places", [2**28, 10])
def test_too_many_rows_to_be_made_first(places, monkeypatch):
    monkeypatch.setattr("custard.to_c.workspaces.choice.MOST_PLACES", places)
    formats = {"X": "dd", "A": "CSR", "B": "CSR", "C": "dd"}
    program = custard.compile(CHAIN, formats, target="c")
    a, b, c = matrix(0, 5, 6), matrix(1, 6, 7), np.arange(56.0).reshape(7, 8)
    bound = program.bind({"A": a, "B": b, "C": c})
    assert ("w_set" in bound.kernel.source) == (places > 48)
    np.testing.assert_allclose(bound.run().to_numpy(), a @ (b @ c))


ARRAYS = {"X": "dd", "A": "dd", "B": "dd", "C": "dd"}
FIRST_OF_ARRAYS = "sum(k, A(i,k) * B(k,l)) is computed first, for all i, l: that costs far less"


def array(seed, *shape, dtype="float64"):
    return np.random.default_rng(seed).integers(0, 2 if dtype == "bool" else 5, shape).astype(dtype)


@needs_compiler
@pytest.mark.parametrize(
    "dtype", ["float64", "float32", "int32", "int64", "complex64", "complex128", "bool"]
)
def test_a_chain_of_arrays_is_two_products(dtype):
    program = custard.compile(CHAIN, ARRAYS, target="c")
    assert FIRST_OF_ARRAYS in program.notes
    assert "mark_bit" not in program.source
    for shape in ((17, 9, 20, 33), (1, 1, 1, 1), (3, 0, 4, 5), (3, 4, 0, 5), (0, 2, 2, 0)):
        a, b, c = (array(n, *shape[n : n + 2], dtype=dtype) for n in range(3))
        found = program.run({"A": a, "B": b, "C": c}).to_numpy()
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, a @ b @ c)


@needs_compiler
def test_extents_choose_the_first_product_of_arrays():
    program = custard.compile(CHAIN, ARRAYS, target="c")
    last = "sum(l, B(k,l) * C(l,j)) is computed first, for all k, j: that costs far less"
    for shape, told in (
        ((20, 30, 40, 2), (f"for these inputs, {last}",)),
        ((20, 30, 40, 50), ()),
        ((2, 30, 40, 50), ()),
    ):
        given = {name: array(n, *shape[n : n + 2]) for n, name in enumerate("ABC")}
        for _ in range(2):  # the second time, the choice is known
            bound = program.bind(given)
            assert bound.notes == told
            due = given["A"] @ given["B"] @ given["C"]
            np.testing.assert_array_equal(bound.run().to_numpy(), due)
        given["A"] = given["A"] + 1
        due = given["A"] @ given["B"] @ given["C"]
        np.testing.assert_array_equal(bound.run(A=given["A"]).to_numpy(), due)


@needs_compiler
def test_arrays_without_a_format_are_two_products():
    program = custard.compile(CHAIN, {"X": "dd"}, target="c")
    assert ROWS in program.notes  # without inputs, they are CSR
    a, b, c = array(0, 5, 6), array(1, 6, 7), array(2, 7, 8)
    bound = program.bind({"A": a, "B": b, "C": c})
    assert bound.notes == (f"for these inputs, {FIRST_OF_ARRAYS}",)
    np.testing.assert_array_equal(bound.run().to_numpy(), a @ b @ c)
    bound = program.bind({"A": sp.csr_array(a), "B": b, "C": c})
    assert bound.notes == ()
    np.testing.assert_array_equal(bound.run().to_numpy(), a @ b @ c)


@needs_compiler
@pytest.mark.parametrize(
    ("text", "formats", "expected"),
    [
        ("y(i) = A(i,k) * B(k,l) * x(l)", {"y": "d", "x": "d"}, "ik,kl,l->i"),
        ("X(i,j) = A(i,k) * B(k,l) * C(l,m) * D(m,j)", {"D": "dd"}, "ik,kl,lm,mj->ij"),
        ("X(i,j) = 2 * A(i,k) * B(k,l) * C(j,l)", {}, "ik,kl,jl->ij"),
        ("X(i,j) = D(i,j) - A(i,k) * B(k,l) * C(l,j)", {"D": "dd"}, ""),
        ("T(b,i,j) = U(b,i,k) * V(b,k,l) * C(l,j)", {"T": "ddd", "U": "ddd", "V": "ddd"},
         "bik,bkl,lj->bij"),
    ],
)  # fmt: skip
def test_other_products_of_arrays(text, formats, expected):
    forms = {name: form for name, form in {**ARRAYS, **formats}.items() if f"{name}(" in text}
    program = custard.compile(text, forms, target="c")
    assert any("computed first" in note for note in program.notes)
    extents = dict(zip("bijklm", (3, 11, 12, 13, 14, 15), strict=True))
    accesses = re.findall(r"(\w)\(([\w,]+)\)", text.split("=")[1])
    given = {
        name: array(n, *(extents[v] for v in variables.split(",")))
        for n, (name, variables) in enumerate(accesses)
    }
    values = list(given.values())
    if "D(i,j)" in text:
        due = values[0] - np.einsum("ik,kl,lj->ij", *values[1:])
    else:
        due = np.einsum(expected, *values) * (2 if "2 *" in text else 1)
    np.testing.assert_allclose(program.run(given).to_numpy(), due)


def test_products_of_two_are_not_split_anew():
    assert compiled("y(i) = A(i,k) * x(k)").cin.whole is None
    assert compiled(TEXT).cin.whole is not None
    assert compiled(TEXT, strict=True).cin.whole is None


@needs_compiler
def test_too_large_an_array_is_not_made_first(monkeypatch):
    monkeypatch.setattr("custard.to_c.workspaces.choice.MOST_PLACES", 10)
    a, b, c = array(0, 5, 6), array(1, 6, 7), array(2, 7, 8)
    bound = custard.compile(CHAIN, ARRAYS, target="c").bind({"A": a, "B": b, "C": c})
    assert bound.notes == ("for these inputs, nothing is computed first for all i, l",)
    np.testing.assert_array_equal(bound.run().to_numpy(), a @ b @ c)


VECTORS = "y(i) = A(i,j) * x(j) * z(j)"


def test_vectors_of_one_variable_are_multiplied_first():
    program = compiled(VECTORS)
    assert program.notes == ("x(j) * z(j) is computed first, for all j",)
    assert str(program.cin.value) == "sum(j, A(i,j) * (x(j) * z(j)))"
    both = compiled("y(i) = A(i,k) * z(k) * x(k) * B(k,j) * x(j) * z(j)")
    assert both.notes[-2:] == (
        "x(j) * z(j) is computed first, for all j",
        "z(k) * x(k) is computed first, for all k",
    )
    assert compiled(VECTORS, strict=True).notes == ()


@needs_compiler
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "int64", "complex128", "bool"])
@pytest.mark.parametrize("form", ["CSR", "CSC", "DCSR", "COO"])
def test_products_of_vectors(dtype, form):
    a, x = matrix(0, 5, 6, dtype), np.arange(6).astype(dtype)
    z = x[::-1].copy()
    program = compiled(VECTORS, {**FORMATS, "A": form})
    found = program.run({"A": a, "x": x, "z": z})
    due = np.einsum("ij,j,j->i", a.toarray(), x, z)
    assert found.dtype == due.dtype
    np.testing.assert_allclose(found.to_numpy(), due, rtol=1e-5)


@needs_compiler
def test_vectors_are_multiplied_in_the_type_of_the_whole_product():
    big = 2**31 - 1
    a = sp.csr_array(np.array([[1, 1]], "int64"))
    x, z = np.array([big, 2], "int32"), np.array([big, 3], "int32")
    found = compiled(VECTORS).run({"A": a, "x": x, "z": z})
    assert found.to_numpy().tolist() == [big * big + 6]


@needs_compiler
@pytest.mark.parametrize("entries", [3, 300])
def test_a_vector_that_is_read_less_often_than_it_has_values_is_not_made_first(entries):
    random = np.random.default_rng(entries)
    places = tuple(random.integers(0, 200, (2, entries)))
    a = sp.coo_array((np.ones(entries), places), shape=(200, 200)).tocsr()
    x, z, b = np.arange(200.0), np.ones(200), matrix(3, 200, 200)
    for text, inputs, due in (
        (VECTORS, {"A": a, "x": x, "z": z}, a @ (x * z)),
        (TEXT, {"A": a, "B": b, "x": x}, a @ (b @ x)),
    ):
        bound = compiled(text).bind(inputs)
        variable = "j" if text == VECTORS else "k"
        note = f"for these inputs, nothing is computed first for all {variable}"
        assert (note in bound.notes) == (entries < 200)
        assert ("w_values" in bound.kernel.source) == (entries > 200)
        np.testing.assert_allclose(bound.run().to_numpy(), due)


@needs_compiler
@pytest.mark.parametrize("dtype", ["float64", "int32", "complex128", "bool"])
@pytest.mark.parametrize(("form", "result"), [("CSR", "d"), ("DCSR", "s"), ("COO", "d")])
def test_a_sum_at_each_coordinate_of_an_outer_loop_is_made_once_there(form, result, dtype):
    a, x = matrix(0, 5, 6, dtype), np.arange(6).astype(dtype)
    program = custard.compile(
        "y(j) = A(i,j) * A(i,k) * x(k)", {"y": result, "A": form, "x": "d"}, target="c"
    )
    note = "sum(k, A(i,k) * x(k)) is computed first, for each i: that costs far less"
    assert note in program.notes
    found = program.run({"A": a, "x": x})
    due = np.einsum("ij,ik,k->j", a.toarray(), a.toarray(), x)
    assert found.dtype == due.dtype
    np.testing.assert_allclose(found.to_numpy(), due)


@needs_compiler
def test_a_product_of_two_sums_at_each_row():
    a, b, x, z = matrix(0, 5, 6), matrix(1, 5, 7), np.arange(6.0), np.arange(7.0)
    program = compiled("y(i) = A(i,j) * x(j) * B(i,k) * z(k)")
    assert any("for each i" in note for note in program.notes)
    found = program.run({"A": a, "B": b, "x": x, "z": z}).to_numpy()
    np.testing.assert_allclose(found, (a @ x) * (b @ z))
