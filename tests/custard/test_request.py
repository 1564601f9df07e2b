"""What every target is given."""

import pytest

import custard
from custard.language.formats import parse_format
from custard.request import Request
from sam.support.errors import UserError


def request(**more):
    given = {
        "expression": "y(i) = x(i)",
        "formats": {"y": parse_format("s", 1, "y"), "x": parse_format("s", 1, "x")},
        "undeclared": frozenset("y"),
        "workspaces": {},
        "schedule": (),
        "commands": (),
        "dims": {"i": 3},
        "strict": False,
        "drop_zeros": True,
        "fast_math": False,
        "ignore_units": False,
    }
    return Request(**{**given, **more})


def test_programs_have_fields_of_the_request():
    asked = request()
    program = custard.compile("y(i) = x(i)", {"x": "s"}, dims={"i": 3}, drop_zeros=True)
    for name, value in asked.of_program.items():
        assert getattr(program, name) == value


def test_strict_refuses_tensors_that_are_stored_anew():
    told = {"A is transposed": "A:ds:1,0"}
    request().refuse_rearranged(told)
    request(strict=True).refuse_rearranged({})
    with pytest.raises(UserError) as caught:
        request(strict=True).refuse_rearranged(told)
    assert str(caught.value) == (
        "A is transposed\nhint: write the format A:ds:1,0, or drop strict to let the compiler do it"
    )
    with pytest.raises(UserError) as caught:
        request(strict=True).refuse_rearranged({"A is transposed": None})
    assert caught.value.hint == "drop strict to let the compiler do it"
