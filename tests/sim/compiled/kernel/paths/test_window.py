"""Window: firings that drop a token of either input are a path through a table."""

import pytest

from tests.support.kernels import kernel, long, short, uses
from tests.support.steps import MERGE

PORTS = ("a", "b", "crd")


def window_of(text):
    """The C of the window, with one space in the place of several."""
    return " ".join(text.partition("    window:\n")[2].partition("        continue;")[0].split())


def test_each_pair_of_tokens_is_judged_once():
    found = kernel(MERGE, [long(0), long(1)], [long(0)], ports=PORTS)
    assert "window" in uses(found)
    text = found.source()
    window = window_of(text)
    assert '#include "mask.h"\n' in text
    assert "PEEK" not in window
    for kinds in ("0_0", "0_2", "2_0"):
        assert window.count(f"judged_{kinds}:;") == 1
    assert "judged_2_2" not in window


def test_a_pair_says_which_token_a_firing_would_only_take():
    window = window_of(kernel(MERGE, [long(0), long(1)], [long(0)], ports=PORTS).source())
    data, end_of_b, end_of_a = window.split("if (kind == ")[1:]
    assert data.count("alone0 = 1; alone1 = 0;") == data.count("alone0 = 0; alone1 = 1;") == 1
    assert "alone0 = 0; alone1 = 0;" in data
    assert "alone0 = 1; alone1 = 0;" in end_of_b
    assert "alone0 = 0; alone1 = 1;" in end_of_a
    assert "& columns2;" in end_of_b


def test_a_window_follows_firings_that_may_have_done_more():
    text = kernel(MERGE, [long(0), long(1)], [long(0)], ports=PORTS).source()
    assert "PEEK_DATA0" in text.partition("goto window;")[0]
    assert "if (!last) goto window;\n" in text
    alone = kernel(MERGE, [long(0), long(1)], [long(0)], ["window"], ports=PORTS).source()
    assert "window" not in alone
    assert text.count("goto again0;") == alone.count("goto again0;")


@pytest.mark.parametrize("inputs", [[short(0), long(1)], [long(0), short(1)]])
def test_it_does_not_apply_where_a_queue_is_short(inputs):
    found = kernel(MERGE, inputs, [long(0)], ports=PORTS)
    assert "at_once" in uses(found)
    assert "window" not in uses(found)
