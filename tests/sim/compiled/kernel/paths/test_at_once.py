"""At once: many firings in a row that drop tokens of one input are judged together."""

from tests.support.kernels import kernel, long, short, uses
from tests.support.steps import MERGE

PORTS = ("a", "b", "crd")


def test_after_some_firings_that_took_from_one_input_many_are_judged():
    found = kernel(MERGE, [long(0), long(1)], [long(0)], ports=PORTS)
    assert "at_once" in uses(found)
    text = found.source()
    assert "if (1 && ++row >= AT_ONCE) goto several0;" in text
    several = text.partition("several0:")[2].partition("goto again0;")[0]
    assert "alone0 = 1; goto judged0;" in several
    assert several.count("alone0 = 0; goto judged0;") == 2
    assert "PEEK" not in several
    assert "FIRED" not in several
    assert "ready += AT_ONCE * interval;" in several


def test_another_input_starts_the_row_anew():
    ends = [long(0), long(1)], [long(0)]
    text = kernel(MERGE, *ends, ["window"], ports=PORTS).source()
    assert "if (1) row = 0;\n            if (1) goto again0;" in text.replace("    " * 4, " " * 12)


def test_the_path_does_not_apply_to_short_queues_or_where_the_state_changes():
    assert "at_once" not in uses(kernel(MERGE, [short(0), short(1)], [long(0)], ports=PORTS))
    counts = "s.n = s.n + 1\n"
    body = MERGE.replace(
        "if a < b:\n        p.a.take()", f"if a < b:\n        {counts}        p.a.take()"
    )
    body = body.replace(
        "if b < a:\n        p.b.take()", f"if b < a:\n        {counts}        p.b.take()"
    )
    found = kernel(body, [long(0), long(1)], [long(0)], state={"n": 0}, ports=PORTS)
    assert "following" in uses(found)
    assert "at_once" not in uses(found)
    off = kernel(MERGE, [long(0), long(1)], [long(0)], ["at_once"], ports=PORTS)
    assert "several" not in off.source()
