"""Slots and streams of a published graph while it is read."""

import pytest

from sam.dot import from_dot
from sam.support.errors import UserError
from sam.validate import validate
from tests.support.published_text import dot

COPY = dot(
    "X=ss01,B=ss10",
    """
    1 fiberlookup index=j tensor=B mode=1 root=true
    2 fiberlookup index=i tensor=B mode=0 root=false block=rows
    3 arrayvals tensor=B
    """,
    """
    1 2 ref
    2 3 ref
    """,
)


def test_each_tensor_that_is_read_has_a_slot_in_its_storage_order():
    (slot,) = from_dot(COPY).slots
    assert (slot.tensor, slot.levels, slot.modes) == ("B", "ss", ((1,), (0,)))
    assert slot.variables == ("j", "i")


def test_a_node_has_the_name_that_the_text_tells_or_one_of_its_type():
    assert [node.name for node in from_dot(COPY).nodes] == ["root", "scan_B_j", "rows", "array_B"]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            dot("x=s0,b=s0", "1 fiberlookup index=i mode=0", ""),
            'node "1" of type fiberlookup has no attribute "tensor"',
        ),
        (
            dot("x=s0,b=s0", "1 fiberlookup index=i tensor=b mode=one", ""),
            'node "1" of type fiberlookup: attribute "mode" is not a whole number: one',
        ),
        (
            dot("x=s0,b=s0", "1 fiberlookup index=i tensor=b mode=1 root=true", ""),
            'node "1" of type fiberlookup has the mode 1, and the tensor has 1',
        ),
        (
            dot("x=s0,b=s0", "1 fiberlookup index=i tensor=b mode=0 root=false", ""),
            'node "1" of type fiberlookup reads 0 ref streams; it must read one',
        ),
        (
            dot("x=s0,b=s0", "1 fiberlookup index=i tensor=b mode=0 format=dense root=true", ""),
            'node "1" of type fiberlookup says that mode 0 is dense, and the graph\'s comment that '
            "it is compressed",
        ),
        (
            dot("x=s0", "1 fiberlookup index=i tensor=b mode=0 root=true", ""),
            'node "1" of type fiberlookup names the tensor b, whose format the graph\'s comment '
            'does not tell\nhint: comment="x=s0,B=ss01" has a format for each tensor',
        ),
        (
            dot("x=s0,b=none", "1 arrayvals tensor=b\n2 reduce", "1 2 ref"),
            'node "2" of type reduce reads a ref stream, which it does not take',
        ),
        (
            dot(
                "x=s0,y=s0", "1 fiberwrite mode=vals tensor=x\n2 fiberwrite mode=vals tensor=y", ""
            ),
            "the graph writes x and y; it must write one",
        ),
    ],
)
def test_mistakes(text, error):
    with pytest.raises(UserError) as refusal:
        validate(from_dot(text))
    assert str(refusal.value) == error
