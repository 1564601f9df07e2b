"""Texts that parse, their trees and places; every error word for word; real users' programs."""

import shlex
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custard.ir.concretization import concretize
from custard.language.notation import (
    MAX_DEPTH,
    Access,
    Assignment,
    Binary,
    ComputedSubscript,
    Negate,
    Number,
    Reduction,
    SyntaxNode,
    Variable,
    accesses,
    parse,
    walk,
)
from sam.support.errors import UserError

CORPUS = Path(__file__).parents[4] / "shared" / "corpus"
EXAMPLE = "\nhint: write, for example, X(i,j) = B(i,k) * C(k,j)"
PRODUCT = "\nhint: a product is written with *, as in 2 * B(i)"
POWER = "\nhint: a power is a product of equal factors: B(i) * B(i)"
ASSIGNMENT = "\nhint: an assignment is written with = or +="
AFFINE = "\nhint: a subscript is a sum of index variables times whole numbers, as in A(2*i+k-1,j)"
SUM = "\nhint: write, for example, sum(j, B(i,j))"


def access(tensor: str, *variables: str) -> Access:
    return Access(tensor, tuple(map(Variable, variables)))


a, b, c = access("a"), access("b"), access("c")


def value(text: str) -> SyntaxNode:
    return parse("y = " + text).value


def subscript(text: str) -> SyntaxNode:
    return parse(f"y = A({text})").value.indices[0]


def test_matrix_product_and_scaled_sum():
    assert parse("X(i,j) = B(i,k) * C(k,j) + 2 * D(i,j)") == Assignment(
        access("X", "i", "j"),
        "=",
        Binary(
            "+",
            Binary("*", access("B", "i", "k"), access("C", "k", "j")),
            Binary("*", Number(2), access("D", "i", "j")),
        ),
        "",
    )


def test_blanks_do_not_matter():
    assert parse(" X ( i , j )\n=\tB(i,j) ") == parse("X(i,j)=B(i,j)")


def test_accumulation():
    assert parse("y += a").operator == "+="
    assert parse("y+=a") == parse("y += a") != parse("y = a")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a - b - c", Binary("-", Binary("-", a, b), c)),
        ("a / b * c", Binary("*", Binary("/", a, b), c)),
        ("a - b * c", Binary("-", a, Binary("*", b, c))),
        ("a * b - c", Binary("-", Binary("*", a, b), c)),
        ("a * (b - c)", Binary("*", a, Binary("-", b, c))),
        ("a - (b - c)", Binary("-", a, Binary("-", b, c))),
        ("-a * b", Binary("*", Negate(a), b)),
        ("a * -b", Binary("*", a, Negate(b))),
        ("a - -b", Binary("-", a, Negate(b))),
        ("a+-1.0*b", Binary("+", a, Binary("*", Negate(Number(1.0)), b))),
        ("a * 9223372036854775807", Binary("*", a, Number(2**63 - 1))),
        ("a * 9223372036854775808", Binary("*", a, Number(2.0**63))),
        ("a * 00000000000000000000000000007", Binary("*", a, Number(7))),
        ("-(a + b)", Negate(Binary("+", a, b))),
        ("- -a", Negate(Negate(a))),
        ("+a", a),
        ("+-+a", Negate(a)),
        ("((a))", a),
    ],
)
def test_precedence_and_signs(text, tree):
    assert value(text) == tree


@pytest.mark.parametrize(
    ("text", "number"),
    [("2", 2), ("2.", 2.0), (".5", 0.5), ("3.14", 3.14), ("1e3", 1000.0), ("2.5E-3", 0.0025)],
)
def test_numbers(text, number):
    found = value(text).value
    assert found == number
    assert type(found) is type(number)


def test_scalars_have_no_subscripts():
    assert parse("y() = a()") == parse("y = a")


def test_names():
    assert value("_long_Name2(i1)") == access("_long_Name2", "i1")


def test_a_tensor_and_a_variable_may_share_a_name():
    tree = parse("o(m)=i(c,h,w)*w(m,c,h,w)").value
    assert tree == Binary("*", access("i", "c", "h", "w"), access("w", "m", "c", "h", "w"))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("sum(j, A(j))", Reduction((Variable("j"),), access("A", "j"))),
        (
            "sum(j, k, A(j,k)*a)",
            Reduction(
                (Variable("j"), Variable("k")),
                Binary("*", access("A", "j", "k"), a),
            ),
        ),
        ("sum(j, a)", Reduction((Variable("j"),), a)),
        ("sum", access("sum")),
        ("sum()", access("sum")),
        ("sum(i)", access("sum", "i")),
    ],
)
def test_sum_is_a_reduction_where_an_expression_follows_the_variables(text, tree):
    assert value(text) == tree


def test_sum_as_a_target():
    assert parse("sum(i,j) = A(i,j)").target == access("sum", "i", "j")


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("2*i + j + 1", ComputedSubscript((("i", 2), ("j", 1)), 1)),
        ("i-1", ComputedSubscript((("i", 1),), -1)),
        ("3", ComputedSubscript((), 3)),
        ("-i", ComputedSubscript((("i", -1),), 0)),
        ("i*2*3 - i", ComputedSubscript((("i", 5),), 0)),
        ("i - i", ComputedSubscript((), 0)),
        ("1*i + 0", Variable("i")),
        ("+i", Variable("i")),
    ],
)
def test_affine_subscripts(text, index):
    assert subscript(text) == index


def test_spans_are_the_places_in_the_text():
    text = " y(i) =(a + -b) * sum(j, A(i, 2*j))"
    tree = parse(text)
    assert [text[slice(*node.span)] for node in walk(tree)] == [
        "y(i) =(a + -b) * sum(j, A(i, 2*j))",
        "y(i)",
        "i",
        "(a + -b) * sum(j, A(i, 2*j))",
        "(a + -b)",
        "a",
        "-b",
        "b",
        "sum(j, A(i, 2*j))",
        "j",
        "A(i, 2*j)",
        "i",
        "2*j",
    ]
    assert [x.tensor for x in accesses(tree)] == ["y", "a", "b", "A"]


def test_spans_are_no_part_of_equality():
    assert parse("y=a+b") == parse("y  =  a  +  b")


@pytest.mark.parametrize(
    ("text", "symbol", "hint"),
    [
        ("y := a", ":=", "an assignment is written with = or +="),
        ("y(i) = A(i,j) > 0", ">", "an expression has + - * / and sum(j, ...)"),
        ("y(i) = A.T(i,j)", ".T", "the transpose of B(i,j) is B(j,i)"),
        ("y(i) = A(i,:)", ":", "each mode has a subscript, as in A(i,j)"),
        ("y = \u2211 a(i)", "\u2211", "write sum(j, ...)"),
        ("y = a \u2212 b", "\u2212", "write -"),
        ("y = a \u00d7 b", "\u00d7", "write *"),
        ("y = a;", ";", "an expression is one assignment, and ends without ;"),
        ("\u00e9 = a", "'\u00e9'", "names have the letters a to z, digits and _"),
    ],
)
def test_hints_for_other_notations(text, symbol, hint):
    with pytest.raises(UserError) as caught:
        parse(text)
    assert caught.value.what == f"{symbol} is not part of the notation"
    assert caught.value.hint == hint


@pytest.mark.parametrize("text", ["y = 0x10", "y = 1_000 * a", "y = 1j * a"])
def test_hints_for_numbers_of_other_notations(text):
    with pytest.raises(UserError, match="and a number in decimal digits, as in 2500 or 2"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", f"the expression is empty{EXAMPLE}"),
        ("y(i) * 2", f"the expression has no =\n  y(i) * 2\n  ^^^^^^^^{EXAMPLE}"),
        (
            "y = a = b",
            "the expression has a second =\n  y = a = b\n        ^\n"
            "hint: one expression makes one assignment",
        ),
        (
            "y = a += b",
            "the expression has a second +=\n  y = a += b\n        ^^\n"
            "hint: one expression makes one assignment",
        ),
        ("y == a", f"== is not part of the notation\n  y == a\n    ^^{ASSIGNMENT}"),
        ("y -= a", f"-= is not part of the notation\n  y -= a\n    ^^{ASSIGNMENT}"),
        ("y = a ^ 2", f"^ is not part of the notation\n  y = a ^ 2\n        ^{POWER}"),
        ("y = a**2", f"** is not part of the notation\n  y = a**2\n       ^^{POWER}"),
        (
            "y = B[i]",
            "[ is not part of the notation\n  y = B[i]\n       ^\n"
            "hint: subscripts stand in parentheses: B(i,j)",
        ),
        ("y = a $ b", "'$' is not part of the notation\n  y = a $ b\n        ^"),
        ("y = 1e999", "this number is too large\n  y = 1e999\n      ^^^^^"),
        ("= a", f"nothing stands before =\n  = a\n  ^{EXAMPLE}"),
        ("2 = a", f"a number cannot be assigned to\n  2 = a\n  ^{EXAMPLE}"),
        ("(y) = a", f"( does not begin a tensor\n  (y) = a\n  ^{EXAMPLE}"),
        (
            "y(i) + z = a",
            "y(i) + z is not one tensor, which is all that can stand before =\n"
            f"  y(i) + z = a\n  ^^^^^^^^{EXAMPLE}",
        ),
        ("y_{i = a", "this { is never closed\n  y_{i = a\n    ^"),
        ("y = B_{i)", "this ) closes nothing\n  y = B_{i)\n          ^"),
        ("y = B_{i,}", "a subscript is empty\n  y = B_{i,}\n           ^"),
        ("y = B}", "this } closes nothing\n  y = B}\n       ^"),
        ("y = B{i}", "{ is not expected here\n  y = B{i}\n       ^"),
        ("y =", "an operand is missing at the end\n  y =\n     ^"),
        ("y = a *", "an operand is missing at the end\n  y = a *\n         ^"),
        ("y = a * / b", "an operand is missing before /\n  y = a * / b\n          ^"),
        ("y = ()", "an operand is missing before )\n  y = ()\n       ^"),
        ("y = 2 a", f"an operator is missing before a\n  y = 2 a\n        ^{PRODUCT}"),
        ("y = 2(a)", f"an operator is missing before (\n  y = 2(a)\n       ^{PRODUCT}"),
        ("y = A(2 i)", f"an operator is missing before i\n  y = A(2 i)\n          ^{PRODUCT}"),
        ("y = (a + b", "this ( is never closed\n  y = (a + b\n      ^"),
        ("y = B(i,", "this ( is never closed\n  y = B(i,\n       ^"),
        ("y(i = B(i)", "this ( is never closed\n  y(i = B(i)\n   ^"),
        ("y = a)", "this ) closes nothing\n  y = a)\n       ^"),
        ("y) = a", "this ) closes nothing\n  y) = a\n   ^"),
        ("y = a, b", ", is not expected here\n  y = a, b\n       ^"),
        ("y = B(i,,j)", "a subscript is empty\n  y = B(i,,j)\n          ^"),
        ("y = B(i,)", "a subscript is empty\n  y = B(i,)\n          ^"),
        ("y = B(,i)", "a subscript is empty\n  y = B(,i)\n        ^"),
        ("y = B(i*j)", f"j cannot stand in a subscript here\n  y = B(i*j)\n          ^{AFFINE}"),
        ("y = B(i/2)", f"/ cannot stand in a subscript here\n  y = B(i/2)\n         ^{AFFINE}"),
        ("y = B(1.5)", f"1.5 cannot stand in a subscript here\n  y = B(1.5)\n        ^^^{AFFINE}"),
        ("y = f(B(i))", f"( cannot stand in a subscript here\n  y = f(B(i))\n         ^{AFFINE}"),
        ("y = B(i+)", "an operand is missing before )\n  y = B(i+)\n          ^"),
        ("y = sum(B(j))", f"sum has no variable to sum over\n  y = sum(B(j))\n      ^^^{SUM}"),
        ("y = sum(j, j, a)", "j repeats in one sum\n  y = sum(j, j, a)\n             ^"),
        ("y = sum(j, -a, k)", ", is not expected here\n  y = sum(j, -a, k)\n               ^"),
        (
            "y(i) = B(i,k) * B(k)",
            "B has 1 subscript here and 2 in B(i,k)\n"
            "  y(i) = B(i,k) * B(k)\n"
            "                  ^^^^",
        ),
        (
            "y(i) = y + a",
            "y has 0 subscripts here and 1 in y(i)\n  y(i) = y + a\n         ^",
        ),
    ],
)
def test_errors(text, message):
    with pytest.raises(UserError) as error:
        parse(text)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("before", "after"), [("(", ")"), ("-", ""), ("sum(j, ", ")"), ("2 - 3 * (", ")")]
)
def test_nesting_has_a_limit_and_not_a_recursion_error(before, after):
    parse("y = " + before * MAX_DEPTH + "a" + after * MAX_DEPTH)
    with pytest.raises(UserError) as error:
        parse("y = " + before * (MAX_DEPTH + 1) + "a" + after * (MAX_DEPTH + 1))
    assert error.value.what == "more than 200 parentheses and signs nest here"


@pytest.mark.parametrize("operator", ["+", "*"])
def test_chains_have_no_limit(operator):
    tree = parse("y = " + operator.join(["(-a)"] * 5000))
    assert len(accesses(tree)) == 5001


ARITHMETIC = st.recursive(
    st.integers(0, 9).map(str),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(" ".join),
        inner.map("({})".format),
        inner.map("-{}".format),
    ),
    max_leaves=12,
)


def evaluate(node: SyntaxNode) -> Fraction:
    match node:
        case Number():
            return Fraction(node.value)
        case Negate():
            return -evaluate(node.operand)
        case Binary():
            left, right = evaluate(node.left), evaluate(node.right)
            match node.operator:
                case "+":
                    return left + right
                case "-":
                    return left - right
                case "*":
                    return left * right
                case _:
                    return left / right
    raise AssertionError(node)


@given(ARITHMETIC)
def test_arithmetic_means_what_python_means(text):
    exact = "".join(f"Fraction({c})" if c.isdigit() else c for c in text)
    try:
        expected = eval(exact, {"Fraction": Fraction})
    except ZeroDivisionError:
        with pytest.raises(ZeroDivisionError):
            evaluate(value(text))
    else:
        assert evaluate(value(text)) == expected


def test_subscripts_in_tacos_way():
    tree = parse("y_i = A_{i,j} * x_j + T_{}", declared={"y", "A", "x"})
    assert [(a.tensor, a.indices, a.span) for a in accesses(tree)] == [
        ("y", (Variable("i"),), (0, 3)),
        ("A", (Variable("i"), Variable("j")), (6, 13)),
        ("x", (Variable("j"),), (16, 19)),
        ("T", (), (22, 26)),
    ]
    assert tree.target.indices[0].span == (2, 3)


@pytest.mark.parametrize(
    ("text", "declared", "tensor", "variables"),
    [
        ("T_x", (), "T_x", []),
        ("T_x", ("T",), "T", ["x"]),
        ("T_x", ("T", "T_x"), "T_x", []),
        ("T_x", ("x",), "T_x", []),
        ("T_x_y", ("T",), "T", ["x_y"]),
        ("T_x_y", ("T", "T_x"), "T_x", ["y"]),
        ("T_1", ("T",), "T_1", []),
        ("T_", ("T",), "T_", []),
        ("_x", ("T",), "_x", []),
        ("T_x(i)", ("T",), "T_x", ["i"]),
        ("T_m1m0", ("T",), "T", ["m1m0"]),
        ("T_x_{i}", ("T",), "T_x", ["i"]),
        ("S_x", ("T",), "S_x", []),
    ],
)
def test_a_name_with_an_underscore(text, declared, tensor, variables):
    access = parse(f"y = {text}", declared).value
    assert (access.tensor, [index.name for index in access.indices]) == (tensor, variables)
    assert access.span == (4, 4 + len(text))


def test_a_subscript_is_a_variable_whatever_is_declared():
    tree = parse("y(k_0) = B(k_0)", declared={"y", "B", "k"})
    assert tree == parse("y(k_0) = B(k_0)")


@given(st.text("yBij()=+-*/,. 2e^s{}_\nµ²") | st.text("yBij()=+-*/,. 2e^s").map("y(i) = ".__add__))
def test_any_text_parses_or_is_a_user_error(text):
    try:
        parse(text)
    except UserError as error:
        start, end = error.span
        assert 0 <= start <= end <= len(text)


@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus is not here")
@pytest.mark.parametrize(
    ("name", "errors"),
    [("accepted", {}), ("refused", {})],
)
def test_expressions_of_real_users(name, errors):
    found: dict[str, int] = {}
    for line in (CORPUS / f"{name}.txt").read_text().splitlines():
        words = shlex.split(line)
        declared = {word[3:].partition(":")[0] for word in words if word.startswith("-f=")}
        try:
            concretize(parse(words[1], declared))
        except UserError as error:
            kind = next((known for known in errors if known in error.what), str(error))
            found[kind] = found.get(kind, 0) + 1
    assert found == errors
