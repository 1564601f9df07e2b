"""The protocol of cursors: every kind of cursor answers all that iteration asks."""

import inspect

from custard.to_sam import cursors, leaf
from custard.to_sam.cursor import Cursor


def kinds():
    return [
        one
        for module in (cursors, leaf)
        for _, one in inspect.getmembers(module, inspect.isclass)
        if issubclass(one, Cursor) and not inspect.isabstract(one)
    ]


def test_there_is_a_cursor_for_each_kind_of_node():
    assert len(kinds()) >= 4


def test_every_cursor_answers_the_whole_protocol():
    asked = [name for name, one in vars(Cursor).items() if getattr(one, "__isabstractmethod__", 0)]
    assert {"descend", "payloads", "repeated", "value"} <= {*dir(Cursor)}
    for kind in kinds():
        assert not kind.__abstractmethods__
        for name in asked:
            assert callable(getattr(kind, name))
