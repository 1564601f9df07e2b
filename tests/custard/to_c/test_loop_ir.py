"""The small IR of kernels: expressions are folded as they are made."""

import pytest

from custard.to_c.loop_ir import (
    BOOL,
    FALSE,
    INT,
    INT32,
    ONE,
    TRUE,
    WIDE,
    WORD,
    ZERO,
    Const,
    Load,
    Op,
    Type,
    Var,
    array,
    both,
    cast,
    either,
    op,
    product,
    select,
)

DOUBLE = Type("double")
i, j, n = Var("i"), Var("j"), Var("n")
flag, other = Var("flag", BOOL), Var("other", BOOL)
x = Var("x", DOUBLE)
crd = Var("crd", array(INT32))


@pytest.mark.parametrize(
    ("built", "due"),
    [
        (i + 0, i),
        (0 + i, i),
        (i - 0, i),
        (i * 1, i),
        (ONE * i, i),
        (i // 1, i),
        (i * 0, ZERO),
        (ZERO * i, ZERO),
        (Const(2) + 3, Const(5)),
        (Const(2) < Const(3), TRUE),
        (Const(3) < Const(3), FALSE),
        (i + 1, Op("+", (i, ONE), INT)),
        (i % 7, Op("%", (i, Const(7)), INT)),
        (i < n, Op("<", (i, n), BOOL)),
        (i >= n, Op(">=", (i, n), BOOL)),
        (i.eq(n), Op("==", (i, n), BOOL)),
        (crd[i], Load(crd, i)),
        (product([i]), i),
        (product([i, j, ONE]), Op("*", (i, j), INT)),
        (both(), TRUE),
        (either(), FALSE),
        (both(TRUE, flag), flag),
        (both(flag, TRUE), flag),
        (either(flag, TRUE), TRUE),
        (either(TRUE, flag), TRUE),
        (both(flag, other), Op("&&", (flag, other), BOOL)),
        (either(flag, other), Op("||", (flag, other), BOOL)),
        (select(TRUE, i, j), i),
        (select(flag, i, j), Op("?:", (flag, i, j), INT)),
        (cast(i, INT), i),
        (cast(Const(3), WORD), Const(3, WORD)),
        (cast(i, DOUBLE), Op("cast", (i,), DOUBLE)),
    ],
)
def test_folding(built, due):
    assert built == due
    assert built.type == due.type


def test_numbers_that_are_no_indices_are_not_folded():
    """0 * x is no 0 where x is infinite."""
    zero = Const(0.0, DOUBLE)
    assert op("*", zero, x) == Op("*", (zero, x), DOUBLE)
    assert op("+", zero, x) == Op("+", (zero, x), DOUBLE)


def test_types():
    assert (i < j).type == BOOL
    assert Load(crd, i).type == INT32
    assert op("+", Load(crd, i), j).type == INT
    assert op("*", cast(i, WIDE), cast(j, WIDE)).type == WIDE
    assert str(array(INT32)) == "int32_t *"
    assert str(INT) == "int64_t"
