"""Inputs in the storage that a kernel reads."""

import numpy as np
import pytest
import scipy.sparse as sp

from custard.to_c.arguments import StructLayout, Tensors, stored
from custard.to_c.loop_ir import INT, INT32
from sam.graph import Slot
from sam.support.errors import UserError
from sam.tensor import Tensor

ROWS = Slot("A", "A", "ds", ((0,), (1,)), ("i", "j"))
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


def test_a_constant_is_a_vector_of_one_place():
    found = stored(Slot("unit", None, "d", ((0,),), ("",), True), {}, {})
    assert (found.members["size0"], found.members["values"].tolist()) == (1, [True])


def test_mistakes_name_the_input():
    with pytest.raises(UserError) as caught:
        given(Slot("A", "A", "ro", ((0,), (1,)), ("i", "j")), DENSE)
    assert caught.value.what.startswith("A: ")


def test_structs_of_one_length_share_a_type():
    one, other, longer = (StructLayout({name: n for n, name in enumerate(names)})
                          for names in ("ab", "cd", "abc"))  # fmt: skip
    assert type(one.words) is type(other.words)
    assert (len(one.words), len(longer.words)) == (2, 3)
