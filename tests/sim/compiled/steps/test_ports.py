"""Ports of steps in C: the text, and what is refused."""

from types import SimpleNamespace

import pytest

from sam.memory_regions import Region
from sam.support.errors import UserError
from sim.compiled.residual import Wait
from tests.support.steps import PORTS, general, translated, written

REGION, OTHER = Region("A", 0, "crd"), Region("A", 0, "seg")


def test_a_port_is_waited_for_once():
    body = "kind, value = p.a.peek()\nkind, value = p.a.peek()\np.a.take()"
    assert general(body).count("WAIT for a token at 0") == 1


def test_the_ports_of_a_group_follow_each_other():
    body = "for port in p.both:\n    port.peek()\nfor port in p.both:\n    port.take()"
    assert general(body, ports=("both",)) == (
        "WAIT for a token at 0\nWAIT for a token at 1\nTAKE0\nTAKE1\nLEAVE took 0, took 1; last: 0"
    )


def test_a_wait_knows_those_before_it():
    found = translated("p.a.peek()\np.b.peek()\np.crd.give(0, 1)\np.val.give(0, 1.5)").body
    waits = [line for line in found.general if isinstance(line, Wait)]
    assert [(line.output, line.port, line.after) for line in waits] == [
        (False, 0, frozenset()),
        (False, 1, {0}),
        (True, 0, frozenset()),
        (True, 1, {0}),
    ]


def test_in_a_firing_for_data_the_kind_is_known():
    body = "kind, value = p.a.peek()\nif kind == 0:\n    p.a.take()\nreturn kind == 3"
    assert written(translated(body).body.first) == (
        "WAIT for data at 0\nstep0_value = v0;\nTAKE0\nLEAVE took 0; last: 0"
    )


def test_a_message_is_read_without_waiting():
    body = "kind, value = p.told.latest()\nif kind == 0:\n    s.n = value"
    assert general(body, {"n": 0}, ports=("a", "b", "told")).startswith(
        "step0_kind = k2;\nstep0_value = v2;\nif ((step0_kind == 0)) {\n    s_n = step0_value;\n"
    )


def test_regions_are_numbered_as_they_are_touched():
    memory = SimpleNamespace(one=OTHER, two=REGION, ideal=None)
    body = "p.memory.read(m.two, s.n)\np.memory.write(m.one, 3)\np.memory.read(m.ideal, 0)"
    assert general(body, {"n": 0}, memory) == (
        "TOUCH 0[s_n] to read\nTOUCH 1[3] to write\nLEAVE untouched; last: 0"
    )
    assert translated(body, {"n": 0}, memory).regions == (REGION, OTHER)


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("p.told.take()", "take of told, which is a wire,"),
        ("p.a.latest()", "latest of a, which is no wire,"),
        ("p.a.drop()", "the method drop of a"),
        ("p.memory.read(s.n, 0)", "a region of memory that is not known"),
    ],
)
def test_refusals(body, what):
    ports = ("a", "b", "told")
    with pytest.raises(UserError) as caught:
        general(body, {"n": 0}, ports=ports)
    assert str(caught.value) == (
        f"step, in `{body}`: {what} has no translation to C\nhint: use engine simpy"
    )


def test_a_real_number_is_no_whole_value(monkeypatch):
    whole = PORTS["val"].__class__("val", 0, "int64_t", output=True)
    monkeypatch.setitem(PORTS, "crd", whole)
    with pytest.raises(UserError) as caught:
        general("p.crd.give(0, 1.5)")
    assert str(caught.value) == (
        "step, in `p.crd.give(0, 1.5)`: a real number as a value where the values are whole "
        "numbers has no translation to C\nhint: use engine simpy"
    )
