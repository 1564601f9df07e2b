"""Loops of which four rounds are taken together, as each adds to the same elements."""

from dataclasses import replace

import numpy as np
import pytest

import custard
from custard.to_c.builder import namer
from custard.to_c.loop_ir import INT, Assign, Call, Const, Declare, For, Op, Type, Var, array, op
from custard.to_c.unroll_and_jam import unrolled_and_jammed
from experiments.dense import evaluate
from tests.support.compiler import needs_compiler
from tests.support.interpreted import run
from tests.support.quick_c import compiled

DOUBLE = Type("double")
x, y, A = (Var(name, array(DOUBLE)) for name in "xyA")
i, j, n = Var("i"), Var("j"), Var("n")
ZERO = Const(0)


def loops(target=y[j], value=x[i], end=n, declared=(), **options):
    """A loop over i around one over j that adds a value to an element."""
    inner = For(j, ZERO, end, [Assign(target, value, "+")])
    return [For(i, ZERO, n, [*declared, inner], **options)]


def in_two(body, taken=()):
    """The three statements that a loop of more than three rounds becomes."""
    (split,) = unrolled_and_jammed(body, namer(body, taken))
    ((_, found),) = split.cases
    assert split.otherwise == body
    return found


def test_four_rounds_add_to_an_element_in_their_order():
    declared, one, four = in_two(loops(), {"i_first"})
    first = Var("i_first_2")
    assert declared == Declare(first, op("&", n, Const(3)), const=True)
    assert one == replace(*loops(), end=first)
    total = y[j]
    for value in (x[i], x[i + 1], x[i + 2], x[i + 3]):
        total = Op("+", (total, value), DOUBLE)
    assert (four.begin, four.end, four.step) == (first, n, Const(4))
    assert four.body == [For(j, ZERO, n, [Assign(y[j], total)])]


def test_fibers_of_fewer_than_four_entries_have_one_loop():
    segments = Var("segments", array(INT))
    (loop,) = loops()
    loop = replace(loop, begin=segments[n], end=segments[n + 1])
    (split,) = unrolled_and_jammed([loop], namer([loop], ()))
    ((condition, (_, one, four)),) = split.cases
    assert condition == (segments[n] < segments[n + 1] - 3)
    assert (one.begin, four.end) == (loop.begin, loop.end)
    assert split.otherwise == [loop]


def test_as_many_rounds_as_are_known_need_no_test():
    (loop,) = loops()
    known = replace(loop, end=Const(9))
    _, _, four = unrolled_and_jammed([known], namer([known], ()))
    assert (four.end, four.step) == (Const(9), Const(4))


def test_loops_that_end_before_they_begin_have_no_rounds():
    """As the part of a fiber that a piece of a fused loop has."""
    (loop,) = loops()
    body = unrolled_and_jammed([replace(loop, begin=i, end=n)], namer(loops(), ()))
    for begin, end, due in ((5, 3, 0), (5, 5, 0), (3, 5, 2), (0, 5, 5)):
        names = {"x": [1.0] * 5, "y": [0.0] * 5, "i": begin, "n": end}
        run(body, names)
        assert names["y"][:end] == [due] * end


def test_each_round_has_its_own_declarations():
    k = Var("k")
    body = loops(value=A[k], declared=[Declare(k, Call("next", (i,), INT))])
    _, _, four = in_two(body)
    *declared, inner = four.body
    assert [one.var.name for one in declared] == ["k", "k_2", "k_3", "k_4"]
    assert [one.value.arguments for one in declared] == [(i,), (i + 1,), (i + 2,), (i + 3,)]
    assert inner.body[0].value.operands[1] == A[Var("k_4")]


def test_vectors_of_the_inner_loop_stay():
    (outer,) = loops()
    body = [replace(outer, body=[replace(outer.body[0], vectors="simd")])]
    _, one, four = in_two(body)
    assert [four.body[0].vectors, one.body[0].vectors] == ["simd", "simd"]


@pytest.mark.parametrize(
    "body",
    [
        loops(target=y[i]),  # another element in each round
        loops(value=y[i]),  # may be the element of a later round
        loops(end=i),
        loops(target=y[Var("k")], declared=[Declare(Var("k"), i)]),
        loops(declared=[Assign(Var("k"), i)]),
        loops(vectors="simd"),
        loops(unroll=2),
        loops(step=Const(2)),
        loops(next=i + 1),
    ],
)
def test_other_loops_stay(body):
    assert unrolled_and_jammed(body, namer(body, ())) == body


@needs_compiler
@pytest.mark.parametrize("dtype", ["float64", "int32", "bool", "complex128"])
@pytest.mark.parametrize(
    ("text", "formats"),
    [
        ("Y(i,j) = A(i,k) * X(k,j)", {"Y": "dd", "A": "CSR", "X": "dd"}),
        ("y(j) = x(i) * A(i,j)", {"y": "d", "x": "d", "A": "dd"}),
    ],
)
def test_values_of_rows_of_all_lengths(text, formats, dtype):
    program = compiled(text, formats)
    assert " += 4)" in program.source
    random = np.random.default_rng(3)
    for rows in (1, 4, 7, 10):
        A = random.integers(1, 9, (rows, 11)) * (np.arange(11) < np.arange(rows)[:, None] + 1)
        A = np.where(A > 0, A, 0).astype(dtype)
        given = {"A": A, "X": random.integers(0, 3, (11, 5)).astype(dtype)}
        given["x"] = random.integers(0, 3, rows).astype(dtype)
        given = {name: given[name] for name in formats if name in given}
        np.testing.assert_array_equal(program.run(given).to_numpy(), evaluate(text, given))


@needs_compiler
def test_terms_that_are_subtracted_stay_so():
    formats = {"Y": "dd", "A": "CSR", "X": "dd", "D": "dd"}
    text = "Y(i,j) = D(i,j) - A(i,k) * X(k,j)"
    random = np.random.default_rng(4)
    A = random.integers(0, 3, (6, 9)) * 1.0
    given = {"A": A, "X": random.integers(0, 3, (9, 5)) * 1.0, "D": np.ones((6, 5))}
    program = custard.compile(text, formats, target="c")
    assert "- A_values[pA1 + 3] * " in program.source
    found = program.run(given)
    np.testing.assert_array_equal(found.to_numpy(), given["D"] - A @ given["X"])
