"""Inputs that go into slots, and the extents that they fix."""

import numpy as np
import pytest

from sam.graph import Slot
from sam.inputs import as_tensor, extents, gather
from sam.subscripts import Affine
from sam.support.errors import UserError

MATRIX = Slot("A", "A", "ds", ((0,), (1,)), ("i", "j"))
VECTOR = Slot("x", "x", "d", ((0,),), ("j",))
NUMBER = Slot("number", None, constant=2)


def test_inputs_become_tensors():
    found = gather([MATRIX, NUMBER], {"A": [[1, 0], [0, 2]]})
    assert list(found) == ["A"]
    assert found["A"].format == "dd:0,1"


@pytest.mark.parametrize(
    ("inputs", "error"),
    [
        ([1], 'the inputs are list, not a mapping from names\nhint: as in {"B": B, "C": C}'),
        ({"A": 1, "y": 1}, "the program has no input y\nhint: one of A, x"),
        (
            {"A": 1, "x": 1, "j": 1},
            "the program has no input j\n"
            "hint: j indexes the tensor A; an expression has no function but sum",
        ),
        ({"A": 1}, "no input is given for x"),
        ({}, "no input is given for A, x"),
    ],
)
def test_names_that_are_wrong(inputs, error):
    with pytest.raises(UserError) as caught:
        gather([MATRIX, VECTOR, NUMBER], inputs)
    assert str(caught.value) == error


def test_an_input_that_is_no_tensor_is_named():
    with pytest.raises(UserError) as caught:
        as_tensor("A", "b.mtx")
    assert caught.value.what == "A: str is not a tensor"


def test_extents_come_from_shapes_and_dims():
    given = {"A": np.zeros((2, 3)), "x": np.zeros(3)}
    assert extents([MATRIX, VECTOR, NUMBER], given, {"k": 7}, ["k"]) == {"i": 2, "j": 3, "k": 7}


def test_transposed_storage_fixes_the_same_extents():
    slot = Slot("A", "A", "ds", ((1,), (0,)), ("j", "i"))
    assert extents([slot], {"A": np.zeros((2, 3))}, {}) == {"i": 2, "j": 3}


def test_a_computed_subscript_keeps_inside():
    """x(2*i+k): of the 9 places k takes 3, so i goes to (9 - 3) / 2 + 1."""
    slot = Slot("x", "x", "d", ((0,),), ("i",), computed=(Affine("i", 2, (("k", 1),)),))
    filter = Slot("f", "f", "d", ((0,),), ("k",))
    assert extents([slot, filter], {"x": np.zeros(9), "f": np.zeros(3)}, {}) == {"k": 3, "i": 4}


@pytest.mark.parametrize(
    ("shapes", "dims", "needed", "error"),
    [
        (
            {"A": (2, 3), "x": (4,)},
            {},
            (),
            "the extent of j is 3 by mode 1 of A and 4 by mode 0 of x",
        ),
        (
            {"A": (2, 3), "x": (3,)},
            {"i": 5},
            (),
            "the extent of i is 5 by dims and 2 by mode 0 of A",
        ),
        (
            {"A": (2, 3), "x": ()},
            {},
            (),
            "x has 1 mode in the program, and its input has 0 modes",
        ),
        (
            {"A": (2, 3), "x": (3,)},
            {},
            ("k",),
            'no input fixes the extent of k\nhint: give it in dims, as in dims={"k": 8}',
        ),
    ],
)
def test_extents_that_do_not_fit(shapes, dims, needed, error):
    given = {name: np.zeros(shape) for name, shape in shapes.items()}
    with pytest.raises(UserError) as caught:
        extents([MATRIX, VECTOR], given, dims, needed)
    assert str(caught.value) == error


def test_a_tensor_in_the_place_of_a_number():
    with pytest.raises(UserError) as caught:
        extents([Slot("s", "s")], {"s": np.zeros((3, 4, 5))}, {}, ())
    assert str(caught.value) == (
        "s has 0 modes in the program, and its input has 3 modes\n"
        "hint: s without subscripts is a number; a tensor is written s(i,j,k)"
    )
