"""The order of the loops before any command."""

from custard.scheduling.loop_order import KEEP_ORDER, STORED_SO, order_notes


def test_an_order_other_than_that_of_the_text_is_noted():
    assert order_notes("ij", ("j", "i"), STORED_SO) == [
        "the loop order is j, i: the tensors are stored so"
    ]
    assert order_notes("ij", ("i", "j"), STORED_SO) == []


def test_commands_that_start_from_the_order_of_the_text():
    assert "reorder" in KEEP_ORDER
    assert {"locate", "coiterate", "skip"} <= KEEP_ORDER
    assert "split" not in KEEP_ORDER
