"""Tensors that kernels assemble: their room, and results that do not fit."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse

from custard.to_c import program as c_program
from custard.to_c.loop_ir import INT, INT32
from sam.support.errors import UserError
from tests.support.compiler import needs_compiler
from tests.support.quick_c import compiled, run

pytestmark = needs_compiler


BIG = scipy.sparse.random_array((300, 500), density=0.4, format="csr", rng=np.random.default_rng(1))


@pytest.fixture
def small_indices(monkeypatch):
    """Counts of 32 bits end at 5000."""
    whole = c_program.printed
    monkeypatch.setattr(
        c_program, "printed", lambda kernel: whole(kernel).replace("INT32_MAX", "5000")
    )


@pytest.mark.parametrize("form", ["ds", "ss", "sd", "uq", "dd"])
def test_results_grow_beyond_their_first_capacity(form):
    """Of 1024 positions, again and again; each part grows by itself."""
    found = run("X(i,j) = B(i,j)", {"X": form, "B": "CSR"}, {"B": BIG})
    assert BIG.nnz > 50 * 1024
    np.testing.assert_array_equal(found.to_numpy(), BIG.toarray())
    tall = scipy.sparse.csr_array(np.ones((5000, 1)))
    found = run("X(i,j) = B(i,j)", {"X": form, "B": "DCSR"}, {"B": tall})
    assert found.to_numpy().sum() == 5000


def test_exactly_a_full_capacity():
    for count in (1023, 1024, 1025, 2048):
        found = run("x(i) = b(i)", {"x": "s", "b": "s"}, {"b": np.arange(1, count + 1)})
        assert found.to_numpy().tolist() == list(range(1, count + 1))


@pytest.mark.parametrize("form", ["ds", "ss", "uq", "dsd", "sdd"])
@pytest.mark.parametrize("count", [4900, 5000, 5001, 60000])
def test_results_with_more_positions_than_32_bits_count(small_indices, form, count):
    """The kernel gives up, frees what it has, and another with 64 bits takes over."""
    shape = (250, 300) if len(form) == 2 else (250, 300, 1)
    flat = np.zeros(75000)
    flat[:count] = np.arange(1, count + 1)
    dense = flat.reshape(shape)
    names = "i,j" if len(form) == 2 else "i,j,k"
    levels = "ss" if len(form) == 2 else "sss"
    program = compiled(f"X({names}) = B({names})", {"X": form, "B": levels})
    narrow = scipy.sparse.csr_array(dense) if len(form) == 2 else dense
    bound = program.bind({"B": narrow})
    bound.types = replace(bound.types, result=INT32)
    found = bound.run()
    np.testing.assert_array_equal(found.to_numpy(), dense)
    if form in ("ds", "ss", "uq"):
        assert (bound.types.result == INT) == (count > 5000)


@pytest.mark.parametrize("extent", [2**50, 2**61, 2**63 - 1])
@pytest.mark.parametrize("form", ["sd", "dd"])
def test_a_result_larger_than_memory_is_a_mistake_and_no_crash(form, extent):
    program = compiled("X(i,j) = b(i)", {"X": form, "b": "s"}, dims={"j": extent})
    with pytest.raises(UserError) as caught:
        program.run({"b": np.ones(2)})
    assert str(caught.value) == (
        f"there is no memory for X(i,j), which is 2 x {extent}, stored as {form}:0,1"
    )


def _members(bound, names):
    """Members of the struct of the result."""
    plan, struct, _ = bound._computed()
    found = {name: struct[plan.places[name]] for name in names}
    bound.kernel.release(struct)
    return found


def test_few_rows_of_many_columns_take_no_more_memory_than_they_have():
    """The first capacity is one of values, not of rows."""
    extent = 10**6
    program = compiled("X(i,j) = b(i)", {"X": "sd", "b": "s"}, dims={"j": extent})
    bound = program.bind({"b": np.ones(1)})
    assert _members(bound, ["capacity0"]) == {"capacity0": 1}


@pytest.mark.parametrize(
    ("text", "formats", "counts"),
    [
        # By hand: a 3 x 4 x 5 tensor with 4 fibers in 2 rows, vectors with 2 and 3 entries.
        (
            "X(i,j,r) = B(i,j,k) * C(k,r)",
            {"X": "ssd", "B": "sss", "C": "dd"},
            {"capacity0": 2, "capacity1": 4},
        ),
        ("X(i,j) = a(i) * b(j)", {"X": "ss", "a": "s", "b": "s"}, {"capacity1": 6}),
        ("X(i,r) = a(i) * c(r)", {"X": "sd", "a": "s", "c": "d"}, {"capacity0": 2}),
    ],
)
def test_room_is_made_once_where_counts_are_known(text, formats, counts, monkeypatch):
    monkeypatch.setattr("custard.to_c.assembly._LEAST", 1)
    tensor = np.zeros((3, 4, 5))
    tensor[0, 1, 2:4] = tensor[0, 3, 0] = tensor[2, 0, 0] = tensor[2, 2, :] = 1
    inputs = {
        "B": tensor,
        "C": np.ones((5, 2)),
        "a": np.array([0.0, 1, 0, 2]),
        "b": np.array([1.0, 0, 2, 3]),
        "c": np.ones(2),
    }
    inputs = {name: array for name, array in inputs.items() if f"{name}(" in text}
    bound = compiled(text, formats).bind(inputs)
    assert _members(bound, counts) == counts
    subscripts = "ijk,kr->ijr" if "B" in inputs else "i,j->ij"
    np.testing.assert_allclose(bound.run().to_numpy(), np.einsum(subscripts, *inputs.values()))


def test_a_count_that_operands_share_is_not_known():
    program = compiled("X(i,r) = a(i) * b(i) * c(r)", {"X": "sd", "a": "s", "b": "s", "c": "d"})
    assert "grow_X0(X, 1)" in program.source
