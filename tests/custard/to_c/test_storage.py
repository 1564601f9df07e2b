"""The storage that a kernel works on."""

import numpy as np
import pytest

from custard.to_c.assembly import Assembly
from custard.to_c.builder import Types
from custard.to_c.loop_ir import INT, INT32, ONE, Field, array
from custard.to_c.storage import lists_coordinates, written_levels
from custard.to_c.values import c_type
from tests.support.kernel_trees import prepared


def test_an_access_keeps_its_storage_where_the_loops_can_follow_it():
    found = prepared("y(i) = A(i,j) * x(j)", {"A": "ds", "x": "d"})
    assert found.operand("A").slot.levels == "ds"
    assert found.storage.rearranged == {}


def test_a_tensor_is_transposed_where_the_loops_cannot_follow_its_storage():
    found = prepared("y(i) = A(j,i)", {"A": "ds"}, loops="ij")
    slot = found.operand("A").slot
    assert (slot.modes, slot.variables) == (((1,), (0,)), ("i", "j"))
    ((note, instead),) = found.storage.rearranged.items()
    assert note == "A(j,i), stored as ds:0,1, is transposed to 1,0 before the run"
    assert instead == "A:ds:1,0"


def test_full_levels_may_come_late():
    found = prepared("y(i) = A(j,i)", {"A": "dd"}, loops="ij")
    assert found.operand("A").slot.modes == ((0,), (1,))
    assert found.storage.rearranged == {}


def test_a_diagonal_is_taken_before_the_run():
    found = prepared("y(i) = A(i,i)", {"A": "ss"})
    assert found.operand("A").slot.modes == ((0, 1),)
    assert list(found.storage.rearranged) == ["the diagonal of A(i,i) is taken before the run"]


def test_extents_are_read_from_the_tensor_that_has_them():
    found = prepared("y(i) = A(i,j) * x(j)", {"A": "ds", "x": "d"})
    storage = found.storage
    assert storage.builder.extents[storage.extent("j")] == Field("A", "size1")
    assert storage.extent("j") is storage.extent("j")


def test_an_extent_that_no_tensor_has_is_a_parameter():
    found = prepared("y = sum(i, sum(j, a(j)))", {})
    storage = found.storage
    storage.assembly = Assembly(
        storage.builder, "y", "", (), np.dtype(float), INT32, ONE, lambda variables: None
    )
    assert storage.extent("i").name == "i_size"
    assert list(storage.numbers) == ["i"]


def test_structs_have_the_fields_of_the_levels():
    found = prepared("y(i) = A(i,j)", {"A": "ds"}, types=Types({"A": np.dtype("float32")}))
    (slot,) = found.storage.slots
    struct = found.storage.input_struct(slot)
    assert struct.about == "A(i,j), ds:0,1"
    assert [name for name, _ in struct.fields] == [
        "size0",
        "size1",
        "segments1",
        "coordinates1",
        "values",
    ]
    assert struct.fields[0][1] == INT
    assert struct.fields[-1][1] == array(c_type(np.dtype("float32")))


def test_the_result_is_written_in_levels_that_can_be():
    slot = prepared("X(i,i) = a(i)", {"X": "ds", "a": "s"}).storage.result_slot()
    assert (slot.modes, slot.levels) == (((0, 1),), "s")


@pytest.mark.parametrize(
    ("asked", "due"),
    [("ds", "ds"), ("ss", "ss"), ("uq", "uq"), ("h", "s"), ("dl", "ds"), ("b", "s"), ("", "")],
)
def test_levels_of_results(asked, due):
    assert written_levels(asked) == due


def test_which_formats_list_coordinates():
    assert [code for code in "dsuqcrobhl" if lists_coordinates(code)] == ["s"]
