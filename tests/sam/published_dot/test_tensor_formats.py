"""Formats in the comment of a published graph."""

import pytest

from sam.levels import LEVELS
from sam.published_dot.tensor_formats import TensorFormat, formats
from sam.support.errors import UserError


def test_formats_have_levels_and_modes():
    assert formats("x=s0, B=ds10,a=none,b=") == {
        "x": TensorFormat("s", (0,)),
        "B": TensorFormat("ds", (1, 0)),
        "a": TensorFormat("", ()),
        "b": TensorFormat("", ()),
    }
    assert formats(" ") == {}


@pytest.mark.parametrize(
    ("comment", "error"),
    [
        ("x=s0,b=z0", f"b has the unknown level format z\nhint: one of {', '.join(LEVELS)}"),
        (
            "x=s0,b=ss00",
            'the format "b=ss00" does not store each mode once\n'
            "hint: a digit for each level, as in B=ss10",
        ),
        ("x:s0", 'the graph\'s comment has no format in "x:s0"\nhint: as in x=s0,B=ss10,a=none'),
    ],
)
def test_mistakes(comment, error):
    with pytest.raises(UserError) as refusal:
        formats(comment)
    assert str(refusal.value) == error
