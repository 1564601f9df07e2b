"""Shares that threads take in turn."""

import pytest

from custard.to_c.builder import THREADS, KernelBuilder
from custard.to_c.loop_ir import Assign, Comment, Const, Declare, Var, While
from custard.to_c.statement_printer import c_of, lines_of
from custard.to_c.turns import Turns, several
from sam.support import c_compiler as cc
from tests.support.compiler import needs_compiler
from tests.support.quick_c import QUICK


def turns():
    builder = KernelBuilder()
    return Turns.of(builder, "i", Var("extent"))


@needs_compiler
@pytest.mark.parametrize(
    ("extent", "most", "shares"),
    [(0, 4, []), (1, 4, [1]), (4, 4, [1] * 4), (10, 4, [3, 3, 3, 1]), (9, 8, [2, 2, 2, 2, 1])],
)
def test_all_values_are_dealt_out_in_order(extent, most, shares):
    found = turns()
    _, each, count, *_ = found.dealt(Const(most))
    begin, end = found.limits(Var("n"))
    lines = [
        "#include <stdint.h>",
        "int64_t count(int64_t extent) {",
        *lines_of([Declare(found.most, Const(most)), each, count], 1, set()),
        f"return {found.count.name}; }}",
        "int64_t begin(int64_t extent, int64_t n) {",
        *lines_of([Declare(found.most, Const(most)), each], 1, set()),
        f"return {c_of(begin)}; }}",
        "int64_t end(int64_t extent, int64_t n) {",
        *lines_of([Declare(found.most, Const(most)), each], 1, set()),
        f"return {c_of(end)}; }}",
    ]
    (library,) = cc.build(["\n".join(lines)], flags=QUICK)
    n = library.count(extent)
    limits = [(library.begin(extent, n), library.end(extent, n)) for n in range(n)]
    assert [end - begin for begin, end in limits] == shares
    assert all(begin == before for (begin, _), before in zip(
        limits, [0, *(end for _, end in limits)], strict=False))  # fmt: skip


def test_a_thread_takes_shares_until_none_is_left():
    found = turns()
    first, loop = found.rounds([Comment("work")])
    assert isinstance(first, Declare)
    assert isinstance(loop, While)
    assert first.var == found.share
    assert loop.condition == (found.share < found.count)
    assert loop.body == [Comment("work"), Assign(found.share, first.value)]


@needs_compiler
@pytest.mark.parametrize(
    ("threads", "some", "due"), [(1, 100, 1), (2, 100, 32), (2, 1, 8), (3, 7, 21)]
)
def test_how_many_shares_there_are(threads, some, due):
    expression = several(Const(4), Const(16), Var("some"))
    source = (
        "#include <stdint.h>\n"
        f"int64_t found(int64_t {THREADS.name}, int64_t some) {{ return {c_of(expression)}; }}"
    )
    (library,) = cc.build([source], flags=QUICK)
    assert library.found(threads, some) == due
