"""Statements and expressions in C."""

import ctypes

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from custard.to_c.loop_ir import (
    BOOL,
    INT,
    INT32,
    ONE,
    TRUE,
    WIDE,
    WORD,
    ZERO,
    Assign,
    Call,
    Comment,
    Const,
    Declare,
    Field,
    For,
    If,
    Load,
    Op,
    Require,
    Type,
    Var,
    While,
    array,
    cast,
)
from custard.to_c.statement_printer import c_of, lines_of
from sam.support import c_compiler as cc
from tests.support.compiler import needs_compiler
from tests.support.profiles import examples

DOUBLE, FLOAT = Type("double"), Type("float")
a, b, c, n = (Var(name) for name in "abcn")
p, q, r = (Var(name, BOOL) for name in "pqr")
x, y = Var("x", DOUBLE), Var("y", DOUBLE)
values, crd = Var("values", array(DOUBLE)), Var("crd", array(INT32))


def body(*statements) -> str:
    """The text of statements; the kernel changes y."""
    return "\n".join(lines_of(statements, 0, {"y"}))


text = c_of


def op(name, *operands, type=INT):
    return Op(name, operands, type)


@pytest.mark.parametrize(
    ("expression", "due"),
    [
        (op("+", op("*", a, b), c), "a * b + c"),
        (op("*", op("+", a, b), c), "(a + b) * c"),
        (op("-", a, op("-", b, c)), "a - (b - c)"),
        (op("-", op("-", a, b), c), "a - b - c"),
        (op("-", a, op("+", b, c)), "a - (b + c)"),
        (op("/", a, op("*", b, c)), "a / (b * c)"),
        (op("/", op("*", a, b), c), "a * b / c"),
        (op("%", a, op("/", b, c)), "a % (b / c)"),
        (op("*", a, op("%", b, c)), "a * (b % c)"),
        (op("-", a), "-a"),
        (op("-", op("-", a)), "-(-a)"),
        (op("-", Const(-2)), "-(-2)"),
        (op("-", Const(-2.5, DOUBLE), type=DOUBLE), "-(-2.5)"),
        (op("-", Const(-0.0, DOUBLE), type=DOUBLE), "-(-0.0)"),
        (op("-", op("+", a, b)), "-(a + b)"),
        (op("*", op("-", a), b), "-a * b"),
        (op("-", a, Const(-2)), "a - -2"),
        (op("!", p, type=BOOL), "!p"),
        (op("!", op("&&", p, q, type=BOOL), type=BOOL), "!(p && q)"),
        (op("&&", op("<", a, b), op("==", b, c)), "a < b && b == c"),
        (op("||", op("&&", p, q), r), "(p && q) || r"),
        (op("&&", op("||", p, q), r), "(p || q) && r"),
        (op("==", op("<", a, b), p), "a < b == p"),
        (op("&", a, op("-", a, ONE)), "a & (a - 1)"),
        (op("|", op("&", a, b), c), "(a & b) | c"),
        (op("==", op("&", a, b), c), "(a & b) == c"),
        (op("?:", p, a, b), "p ? a : b"),
        (op("?:", op("?:", p, q, r), a, b), "(p ? q : r) ? a : b"),
        (op("?:", p, a, op("?:", q, b, c)), "p ? a : q ? b : c"),
        (op("+", op("?:", p, a, b), c), "(p ? a : b) + c"),
        (cast(x, INT), "(int64_t)x"),
        (cast(op("+", x, y, type=DOUBLE), INT), "(int64_t)(x + y)"),
        (op("*", cast(a, DOUBLE), x, type=DOUBLE), "(double)a * x"),
        (cast(cast(x, FLOAT), DOUBLE), "(double)(float)x"),
        (op("-", cast(a, DOUBLE), type=DOUBLE), "-((double)a)"),
        (cast(op("-", a), DOUBLE), "(double)-a"),
        (Load(values, op("+", a, b)), "values[a + b]"),
        (Load(crd, cast(Load(crd, a), INT)), "crd[crd[a]]"),
        (cast(Load(crd, a), WIDE), "(wide_t)crd[a]"),
        # C would add numbers of 32 bits as such.
        (op("+", cast(crd[a], INT), cast(crd[b], INT)), "(int64_t)crd[a] + crd[b]"),
        (op("*", cast(crd[a], INT), cast(crd[b], INT)), "(int64_t)crd[a] * crd[b]"),
        (op("-", cast(crd[a], INT), cast(crd[b], INT)), "crd[a] - crd[b]"),
        (
            op("+", op("-", cast(crd[a], INT), cast(crd[b], INT)), cast(crd[c], INT)),
            "(int64_t)(crd[a] - crd[b]) + crd[c]",
        ),
        (op("+", a, cast(crd[b], INT)), "a + crd[b]"),
        (op("-", cast(crd[a], INT), Const(3)), "crd[a] - 3"),
        (op("+", cast(crd[a], INT), ONE), "(int64_t)crd[a] + 1"),
        (op("+", cast(p, INT), ONE), "p + 1"),
        (op("+", cast(p, INT), Const(2**31 - 1)), "(int64_t)p + 2147483647"),
        (Op("+", (Const(2**31 - 1), Const(2**31 - 1))), "(int64_t)2147483647 + 2147483647"),
        (op("-", Const(-(2**31)), cast(p, INT)), "(int64_t)INT32_MIN - p"),
        (op("-", op("+", cast(p, INT), ONE), Op("widen", (crd[a],))), "p + 1 - (int64_t)crd[a]"),
        (Op("-", (op("-", cast(p, INT), Const(2**31)),)), "-(p - 2147483648)"),
        (Op("-", (op("+", cast(p, INT), Const(-(2**31))),)), "-(int64_t)(p + INT32_MIN)"),
        (Load(Field("y", "values", array(DOUBLE)), a), "y->values[a]"),
        (Call("g", (op("+", a, b), c)), "g(a + b, c)"),
        (op("sizeof", Field("y", "values", array(DOUBLE))), "sizeof *y->values"),
        (Const(None, array(DOUBLE)), "NULL"),
        (TRUE, "true"),
        (Const(1.0, DOUBLE), "1.0"),
        (Const(0.1, FLOAT), "0.1f"),
        (Const(2.0, Type("float complex")), "2.0f"),
        (Const(1e300, DOUBLE), "1e+300"),
        (Const(2**31 - 1), "2147483647"),
        (Const(2**40), "INT64_C(1099511627776)"),
        (Const(-(2**63)), "INT64_MIN"),
        (Const(2**63, WORD), "UINT64_C(9223372036854775808)"),
    ],
)
def test_expressions(expression, due):
    assert text(expression) == due


WHOLE = ("+", "-", "*", "&", "|")
COMPARED = ("<", "<=", ">", ">=", "==", "!=")


def expressions(depth: int = 4):
    """Pairs of a tree, and a function that computes it of ``a``, ``b`` and ``c``."""
    leaves = st.sampled_from(
        [(v, lambda e, name=v.name: e[name]) for v in (a, b, c)]
        + [(Const(k), lambda e, k=k: k) for k in (-2, 0, 3)]
    )

    def binary(pair, name):
        (left, f), (right, g) = pair
        return op(name, left, right), lambda e: eval(f"f(e) {name} g(e)", {"f": f, "g": g, "e": e})

    def branch(parts, name):
        (left, f), (right, g), (then, h), (last, k) = parts
        tree = op("?:", op(name, left, right, type=BOOL), then, last)
        known = {"f": f, "g": g}
        return tree, lambda e: h(e) if eval(f"f(e) {name} g(e)", {**known, "e": e}) else k(e)

    def negated(part):
        tree, f = part
        return op("-", tree), lambda e: -f(e)

    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(binary, st.tuples(inner, inner), st.sampled_from(WHOLE)),
            st.builds(branch, st.tuples(inner, inner, inner, inner), st.sampled_from(COMPARED)),
            st.builds(negated, inner),
        ),
        max_leaves=12,
    )


@needs_compiler
@settings(deadline=None, max_examples=max(1, examples(50)))
@given(st.lists(expressions(), min_size=30, max_size=30))
def test_random_expressions_mean_in_c_what_they_are(trees):
    functions = [
        f"int64_t f{k}(int64_t a, int64_t b, int64_t c) {{ return {text(tree)}; }}"
        for k, (tree, _) in enumerate(trees)
    ]
    source = "\n".join(("#include <stdint.h>", *functions))
    (library,) = cc.build([source], flags=("-shared", "-fPIC", "-O0", "-fwrapv", "-w"))
    for k, (_, value) in enumerate(trees):
        function = library[f"f{k}"]
        function.restype = ctypes.c_int64
        for at in ({"a": 5, "b": -3, "c": 2}, {"a": 0, "b": 1, "c": 1}):
            due = (value(at) + 2**63) % 2**64 - 2**63
            assert function(*map(ctypes.c_int64, at.values())) == due, text(trees[k][0])


@pytest.mark.parametrize(
    ("condition", "due"),
    [
        (p, "!p"),
        (op("!=", values, Const(None, values.type), type=BOOL), "!values"),
        (op("!=", a, b, type=BOOL), "a == b"),
        (op("<", a, b, type=BOOL), "a >= b"),
        (op("<=", a, b, type=BOOL), "a > b"),
        (op(">", a, b, type=BOOL), "!(a > b)"),
        (op("&&", p, q, type=BOOL), "!p || !q"),
        (op("||", p, q, type=BOOL), "!p && !q"),
        (op("||", op("&&", p, q, type=BOOL), r, type=BOOL), "(!p || !q) && !r"),
        (op("&&", op("||", p, q, type=BOOL), r, type=BOOL), "(!p && !q) || !r"),
    ],
)
def test_a_requirement_ends_the_kernel(condition, due):
    assert f"if ({due})\n    goto failed;" in body(Require(condition))


def test_statements():
    loop = For(a, ZERO, n, [Assign(x, values[a], "+"), Assign(b, ONE, "+")])
    assert body(loop) == ("for (int64_t a = 0; a < n; a++) {\n    x += values[a];\n    b++;\n}")
    assert body(For(a, ZERO, n, [Assign(b, ONE, "+")])) == (
        "for (int64_t a = 0; a < n; a++)\n    b++;"
    )
    assert body(While(a < n, [Assign(a, b)])) == "while (a < n)\n    a = b;"
    assert body(Comment("what follows")) == "// what follows"


def test_a_loop_that_goes_on_where_its_body_says():
    loop = For(a, ZERO, n, [Declare(b, a + 1), Assign(c, b)], b)
    assert body(loop) == ("for (int64_t a = 0, b; a < n; a = b) {\n    b = a + 1;\n    c = b;\n}")


def test_branches():
    one, two = [Assign(a, ONE)], [Assign(a, ZERO)]
    assert body(If([(p, one)])) == "if (p)\n    a = 1;"
    assert body(If([(p, one), (q, two)], [Assign(b, ONE)])) == (
        "if (p) {\n    a = 1;\n} else if (q) {\n    a = 0;\n} else {\n    b = 1;\n}"
    )


def test_a_lone_branch_inside_another_does_not_take_its_else():
    inner = If([(q, [Assign(a, ONE)])])
    assert body(If([(p, [inner])], [Assign(b, ONE)])) == (
        "if (p) {\n    if (q)\n        a = 1;\n} else {\n    b = 1;\n}"
    )


def test_pointers():
    struct = Field("y", "values", array(DOUBLE))
    assert body(Declare(values, struct), Assign(values[a], x)) == (
        "double *restrict values = y->values;\nvalues[a] = x;"
    )
    other = Field("A", "crd", array(INT32))
    assert body(Declare(crd, other), Assign(a, cast(crd[b], INT))) == (
        "const int32_t *restrict crd = A->crd;\na = crd[b];"
    )
