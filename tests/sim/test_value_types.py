"""The types of the values in a graph; ``tests/test_value_types.py`` has those of programs."""

import pytest

from sam.blocks import KINDS
from sam.blocks.base import Block, Kind, Values, out
from sam.support.errors import UserError
from sam.token import DATA, DONE
from sim import simulate
from tests.support.streams import around


def two_and_a_half(p, s, m):
    kind = DONE if s.given else DATA
    p.outs[0].give(kind, 0 if s.given else 2.5)
    s.given = True
    return True if kind == DONE else None


def squared(monkeypatch, **declared):
    """The square of the number that a source of one's own gives."""

    def source(parameters):
        ports = (out("val", "val", 0, group="outs"),)
        return Block(ports, two_and_a_half, {"given": False}, **declared)

    monkeypatch.setitem(KINDS, "source", Kind("source", None, source, source=True))
    inputs = {"in_val0": "", "in_val1": ""}
    graph = around("alu", {"operation": "multiply"}, inputs, {}, {})
    return simulate(graph, {}, engine="simpy", validate=False).sinks["val"][0]


def test_values_of_a_block_that_takes_none_have_the_type_that_it_declares(monkeypatch):
    assert squared(monkeypatch, values=Values(number=0.0)) == (DATA, 6.25)


def test_values_of_no_known_type_are_refused(monkeypatch):
    with pytest.raises(UserError) as raised:
        squared(monkeypatch)
    assert str(raised.value) == (
        "node in_val0 gives values of no known type: it takes none\n"
        "hint: declare their type, as in Block(..., values=Values(number=0.0))"
    )
