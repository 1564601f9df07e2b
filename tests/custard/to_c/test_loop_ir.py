"""The small IR of kernels: what is folded as it is made, and what ``verify`` finds."""

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
    Assign,
    Call,
    CallStatement,
    Comment,
    Const,
    Declare,
    Field,
    For,
    Function,
    If,
    Kernel,
    Load,
    Op,
    Require,
    Struct,
    Type,
    Var,
    While,
    all_expressions,
    array,
    both,
    cast,
    either,
    op,
    product,
    reads,
    select,
    substituted,
    verify,
    without_variable,
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


def test_substitution_goes_everywhere():
    before = Op("+", (Load(crd, i), Call("f", (i, j))), INT)
    assert substituted(before, i, n) == Op("+", (Load(crd, n), Call("f", (n, j))), INT)
    assert substituted(before, Load(crd, i), j) == Op("+", (j, Call("f", (i, j))), INT)


NESTED = [
    Declare(n, ZERO),
    For(i, ZERO, n, [If([(flag, [Assign(n, i)])], [While(i < j, [Assign(j, ONE, "+")])])]),
]


def test_variables_are_found_and_taken_out_at_any_depth():
    assert reads(NESTED, flag)
    assert reads(NESTED, j)
    assert not reads(NESTED, x)
    without = [For(i, ZERO, n, [If([(flag, [])], [While(i < j, [Assign(j, ONE, "+")])])])]
    assert without_variable(NESTED, n) == without
    assert Op("<", (i, j), BOOL) in set(all_expressions(NESTED))


def kernel(*body, functions=()):
    fields = (("size0", INT), ("crd", array(INT32)))
    struct = Struct("A", "A(i), s:0", fields)
    return Kernel("compute", [], [struct], [n], functions, [], list(body))


SIZE = Field("A", "size0")


@pytest.mark.parametrize(
    "body",
    [
        [],
        [Comment("nothing")],
        [Declare(i, SIZE), Assign(i, n, "+")],
        [For(i, ZERO, n, []), For(i, ZERO, n, [])],
        [If([(TRUE, [Declare(i, ZERO)])], [Declare(i, ONE)])],
        [Declare(i, ZERO), While(i < n, [Declare(j, i), Assign(i, j + 1)])],
        [For(i, ZERO, n, [Declare(j, i + 1)], j)],
        [Declare(crd, Field("A", "crd", array(INT32))), Declare(i, cast(crd[n], INT))],
        [Require(n < SIZE), CallStatement(Call("f", (n,)))],
    ],
)
def test_what_is_well_formed(body):
    verify(kernel(*body))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ([Declare(i, j)], "j is not declared as int64_t"),
        ([Assign(i, ZERO)], "i is not declared as int64_t"),
        ([Declare(i, ZERO), Declare(i, ZERO)], "i is declared twice"),
        ([Declare(i, ZERO), For(i, ZERO, n, [])], "i is declared twice"),
        ([For(i, ZERO, n, [Declare(i, ZERO)])], "i is declared twice"),
        ([For(i, ZERO, n, [For(i, ZERO, n, [])])], "i is declared twice"),
        ([Declare(n, ZERO)], "n is declared twice"),
        ([If([(TRUE, [Declare(i, ZERO)])]), Assign(i, ZERO)], "i is not declared as int64_t"),
        ([For(i, ZERO, n, []), Declare(j, i)], "i is not declared as int64_t"),
        ([For(i, ZERO, i, [])], "i is not declared as int64_t"),
        ([For(i, ZERO, n, [], j)], "j is not declared as int64_t"),
        ([While(i < n, [])], "i is not declared as int64_t"),
        ([If([(flag, [])])], "flag is not declared as bool"),
        ([Require(flag)], "flag is not declared as bool"),
        ([CallStatement(Call("f", (i,)))], "i is not declared as int64_t"),
        ([Declare(x, ZERO)], "mixes types"),
        ([Declare(i, ZERO), Assign(i, Const(0.0, DOUBLE))], "mixes types"),
        ([Declare(i, Field("A", "width0"))], "A has no int64_t width0"),
        ([Declare(i, Field("B", "size0"))], "B has no int64_t size0"),
        ([Declare(x, Field("A", "size0", DOUBLE))], "A has no double size0"),
        ([Declare(i, Load(n, ZERO))], "is not an array"),
        (
            [Declare(crd, Field("A", "crd", array(INT32))), Assign(crd[Const(0.5, DOUBLE)], ZERO)],
            "is no index",
        ),
    ],
)
def test_what_is_not(body, message):
    with pytest.raises(AssertionError, match=message):
        verify(kernel(*body))


def test_functions_are_verified_too():
    grow = Function("grow", "Grows.", "A", (), [Assign(SIZE, i)], TRUE)
    with pytest.raises(AssertionError, match="i is not declared"):
        verify(kernel(functions=(grow,)))
