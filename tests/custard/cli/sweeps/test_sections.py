"""Sections of a sweep file."""

import pytest

from custard.cli.sweeps.sections import PointSection, SweepFile, is_label
from sam.support.errors import UserError
from sam.support.yaml_sections import validated


def test_keys_that_are_left_out_have_defaults():
    found = validated(PointSection, {}, "s.yaml")
    assert (found.config, found.engine, found.seed, found.check) == ("ideal", "auto", 0, False)
    assert found.given() == {}


def test_keys_that_are_set_are_known():
    found = validated(PointSection, {"expression": "y = 1", "dims": {"i": 3}}, "s.yaml")
    assert found.given() == {"expression": "y = 1", "dims": {"i": 3}}
    assert validated(SweepFile, {"grid": {"seed": [1, 2]}}, "s.yaml").grid == {"seed": [1, 2]}


def test_labels():
    assert is_label("small")
    assert is_label(3)
    assert not is_label([1])


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ({"expresion": "y"}, 's.yaml: unknown key "expresion"\nhint: did you mean expression?'),
        ({"points": []}, "s.yaml: points is []; it must be a list of at least one point"),
        ({"metrics": 3}, "s.yaml: metrics is 3; it must be a list of metrics"),
        ({"inputs": 3}, "s.yaml: inputs is 3; it must be a section of keys and values"),
    ],
)
def test_mistakes(data, error):
    with pytest.raises(UserError) as caught:
        validated(SweepFile, data, "s.yaml")
    assert str(caught.value) == error
