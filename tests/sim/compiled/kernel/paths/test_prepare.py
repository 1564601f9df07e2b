"""Preparing: a writer that waits for room prepares tokens, which the reader lets in."""

from sim.compiled.kernel.paths.prepare import may_prepare
from tests.support.kernels import kernel, long, short, uses
from tests.support.steps import FORWARD, REPEAT, translated

LEFT = {"left": 0}


def test_only_firings_that_give_alone_can_be_prepared():
    assert may_prepare(translated(REPEAT, LEFT, ports=("a", "crd")).body)
    assert not may_prepare(translated(FORWARD, ports=("a", "crd")).body)


def test_a_writer_prepares_behind_the_end_of_its_queue():
    found = kernel(REPEAT, [long(0)], [short(0, ahead=True)], state=LEFT, ports=("a", "crd"))
    assert "prepare" in uses(found)
    text = found.source()
    assert "    if (r0->prepared) return 0;\nspent:" in text
    assert "out0->control[(T0 + n) & 63] = gk0; out0->column0[(T0 + n) & 63] = gv0;" in text
    prepared = text[text.index("blocked:") :]
    assert "            s_left = (s_left - 1);\n" in prepared
    assert "goto unprepared;" in prepared
    assert "ROOM0" not in prepared


def test_the_reader_lets_tokens_in():
    text = kernel(FORWARD, [short(0, ahead=True)], [long(0)], ports=("a", "crd")).source()
    assert "if (1 && q0->prepared) e0 = admit(q0, &in0->control[e0 & 63], e0, now);" in text
    assert "if (q0->crowds && e0 - h0 < q0->depth) {" in text


def test_a_reader_that_may_not_take_lets_in_only_if_it_did():
    body = "kind, value = p.a.peek()\nif value > s.last:\n    p.a.take()\ns.last = value"
    text = kernel(body, [short(0, ahead=True)], [], state={"last": 0}, ports=("a",)).source()
    assert "if (take0 && q0->prepared)" in text


def test_without_the_path_both_ends_are_plain():
    for off in ("prepare", "short", "pull"):
        reader = kernel(FORWARD, [short(0, ahead=True)], [long(0)], [off], ports=("a", "crd"))
        ends = ([long(0)], [short(0, ahead=True)])
        writer = kernel(REPEAT, *ends, [off], state=LEFT, ports=("a", "crd"))
        assert "prepare" not in uses(reader) | uses(writer)
        assert "prepared" not in reader.source() + writer.source()
