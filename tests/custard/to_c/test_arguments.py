"""Inputs in the storage that a kernel reads."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import custard
from custard.to_c.arguments import Tensors, stored
from custard.to_c.loop_ir import INT, INT32
from sam.graph import Slot
from sam.support.errors import UserError
from sam.tensor import Tensor
from tests.support.compiler import needs_compiler

ROWS = Slot("A", "A", "ds", ((0,), (1,)), ("i", "j"))
COLUMNS = Slot("A_2", "A", "ds", ((1,), (0,)), ("j", "i"))
DENSE = np.array([[0, 1.0, 0], [2.0, 0, 3.0]])


def given(slot, data):
    inputs = {slot.tensor: data}
    return stored(slot, inputs, Tensors(inputs))


def test_arrays_of_scipy_are_taken_as_they_are():
    matrix = sp.csr_array(DENSE)
    found = given(ROWS, matrix)
    assert np.shares_memory(found.members["values"], matrix.data)
    assert np.shares_memory(found.members["coordinates1"], matrix.indices)
    assert (found.index, found.converted) == (INT32, None)


def test_the_indices_of_a_tensor_are_narrowed_once():
    tensor = Tensor.from_numpy(DENSE, "ds")
    first, again = given(ROWS, tensor), given(ROWS, tensor)
    assert (first.index, first.converted) == (INT32, None)
    assert first.members["coordinates1"] is again.members["coordinates1"]
    assert first.members["coordinates1"].tolist() == [1, 0, 2]
    assert np.shares_memory(first.members["values"], tensor.values)


def test_other_formats_are_converted_and_say_so():
    found = given(ROWS, sp.coo_array(DENSE))
    assert found.members["segments1"].tolist() == [0, 1, 3]
    assert found.converted == "coo"


@pytest.mark.parametrize("levels", ["ds", "ss", "uq"])
@pytest.mark.parametrize("data", [sp.csr_array(DENSE), Tensor.from_numpy(DENSE, "ds")])
def test_rows_are_turned_into_columns(data, levels):
    found = given(replace(COLUMNS, levels=levels), data)
    due = Tensor.from_numpy(DENSE, levels, (1, 0))
    for n, level in enumerate(due.levels):
        for name, part in vars(level).items():
            np.testing.assert_array_equal(found.members[f"{name}{n}"], part)
    assert found.members["values"].tolist() == due.values.tolist()
    assert (found.members["size0"], found.members["size1"]) == (3, 2)
    assert found.converted == data.format


def test_columns_are_found_by_their_entries_where_most_are_empty():
    places = np.array([[0, 1], [70_000, 5]])
    for data in (
        Tensor.from_coo(places, [1.0, 2.0], (2, 80_000), "ds"),
        sp.csr_array(([1.0, 2.0], places), shape=(2, 80_000)),
    ):
        found = given(replace(COLUMNS, levels="ss"), data)
        assert found.members["coordinates0"].tolist() == [5, 70_000]
        assert found.members["values"].tolist() == [2.0, 1.0]


def test_rows_with_duplicates_are_summed():
    matrix = sp.csr_array((np.ones(3), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    for slot, values in ((ROWS, [2.0, 1.0]), (COLUMNS, [1.0, 2.0])):
        found = given(slot, matrix)
        assert (found.members["values"].tolist(), found.converted) == (values, "csr")
    assert matrix.data.tolist() == [1.0, 1.0, 1.0]


def test_dense_arrays_in_the_order_of_the_slot_are_not_copied():
    slot = Slot("A", "A", "dd", ((0,), (1,)), ("i", "j"))
    assert np.shares_memory(given(slot, DENSE).members["values"], DENSE)
    turned = Slot("A", "A", "dd", ((1,), (0,)), ("j", "i"))
    found = given(turned, DENSE)
    assert not np.shares_memory(found.members["values"], DENSE)
    assert found.members["values"].tolist() == DENSE.T.ravel().tolist()
    assert (found.members["size0"], found.members["size1"]) == (3, 2)


def test_indices_are_widened_for_others():
    found = given(ROWS, sp.csr_array(DENSE)).widened(INT)
    assert found.members["coordinates1"].dtype == np.int64
    assert found.dtype == np.float64
    assert found.widened(INT) is found
    assert found.widened(INT32).index == INT  # as its arrays still are


@pytest.mark.parametrize("slot", [ROWS, COLUMNS])
@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_array, sp.coo_array])
def test_index_arrays_are_in_one_piece(slot, make):
    matrix = make(DENSE)
    if make is sp.coo_array:
        matrix.coords = tuple(np.repeat(one, 2)[::2] for one in matrix.coords)
    else:
        matrix.indices, matrix.indptr = matrix.indices.repeat(2)[::2], matrix.indptr.repeat(2)[::2]
    for levels in ("ds", "ss", "uq"):
        found = given(replace(slot, levels=levels), matrix)
        arrays = {name: one for name, one in found.members.items() if isinstance(one, np.ndarray)}
        assert all(one.flags.c_contiguous for one in arrays.values())
        due = Tensor.from_numpy(DENSE, levels, tuple(mode for (mode,) in slot.modes))
        for n, level in enumerate(due.levels):
            for name, part in vars(level).items():
                np.testing.assert_array_equal(found.members[f"{name}{n}"], part)


def test_a_constant_is_a_vector_of_one_place():
    found = stored(Slot("unit", None, "d", ((0,),), ("",), True), {}, {})
    assert (found.members["size0"], found.members["values"].tolist()) == (1, [True])


@pytest.mark.parametrize("number", [True, 3, -2.5, 1 + 2j, np.float32(4), np.array(5), 2**40])
def test_numbers_are_values_without_levels(number):
    found = given(Slot("a", "a", "", (), ()), number)
    due = Tensor.of(number)
    assert (found.dtype, found.members["values"].tolist()) == (due.dtype, due.values.tolist())
    assert (found.index, found.converted) == (None, None)


def test_numbers_of_more_than_64_bits_are_mistakes():
    with pytest.raises(UserError, match="does not fit in 64 bits"):
        given(Slot("a", "a", "", (), ()), 2**64)


def test_mistakes_name_the_input():
    with pytest.raises(UserError) as caught:
        given(Slot("A", "A", "ro", ((0,), (1,)), ("i", "j")), DENSE)
    assert caught.value.what.startswith("A: ")


@needs_compiler
def test_runs_of_lists_below_lists():
    """The lists of two rows, of 60 and 100 entries, and the list of these rows."""
    columns = np.concatenate((np.arange(60), np.arange(100)))
    places = np.repeat([0, 1], [60, 100]), columns
    tensor = Tensor.from_coo(np.array(places), np.ones(160), (2, 100), "uu")
    program = custard.compile("y(i) = A(i,j)", {"y": "d", "A": "uu"}, target="c")
    assert program.run({"A": tensor}).to_numpy().tolist() == [60, 100]
