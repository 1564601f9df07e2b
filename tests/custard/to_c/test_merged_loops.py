"""Loops over several operands: bodies where they meet, and steps where they do not."""

import numpy as np
import pytest

import custard
from custard.to_c.loop_ir import (
    While,
)
from custard.to_c.walks import statements
from experiments.dense import evaluate
from tests.support.compiler import needs_compiler


def whiles(expression, formats):
    kernel = custard.compile(expression, formats, target="c").lowered.kernel
    return sum(isinstance(one, While) for one in statements(kernel.body))


def test_a_union_has_a_loop_for_both_and_one_for_each():
    """Behind the loop for both is one for lengths far apart, with two for what is alone."""
    formats = {"y": "s", "a": "s", "b": "s"}
    assert whiles("y(i) = a(i) + b(i)", formats) == 3 + 3
    assert whiles("y(i) = a(i) * b(i)", formats) == 1
    assert whiles("y(i) = a(i) * b(i) + c(i)", {**formats, "c": "s"}) == 3 + 2


def test_with_too_many_points_each_operand_is_asked():
    names = "abcdef"
    formats = {"y": "s", **dict.fromkeys(names, "s")}
    assert whiles(f"y(i) = {' + '.join(f'{name}(i)' for name in names)}", formats) == 1


@needs_compiler
@pytest.mark.parametrize(
    ("expression", "levels"),
    [
        ("a(i) * b(i) + c(i)", "sss"),
        ("c(i) - a(i) * b(i)", "ubn"),
        ("a(i) * b(i) * d(i) + c(i)", "sbsh"),
        ("a(i) * b(i) + c(i) * d(i)", "ssss"),
        ("(a(i) * b(i) + c(i)) * d(i)", "bsss"),
        ("a(i) * b(i) + c(i) + d(i)", "ssbs"),
    ],
)
def test_products_are_merged_with_others_where_their_factors_meet(expression, levels):
    """An infinity leaves the values at the coordinates of others as they are."""
    random = np.random.default_rng(7)
    names = [name for name in "abcd" if f"{name}(" in expression]
    tensors = {n: random.integers(1, 9, 60) * (random.random(60) < 0.6) * 1.0 for n in names}
    everywhere = np.logical_and.reduce([*tensors.values()])
    tensors["a"][everywhere] = np.inf
    due = evaluate(f"y(i) = {expression}", tensors)
    assert np.isinf(due).any()
    assert not np.isnan(due).any()
    formats = {"y": "s", **dict(zip(names, levels, strict=True))}
    program = custard.compile(f"y(i) = {expression}", formats, target="c")
    np.testing.assert_array_equal(program.run(tensors).to_numpy(), due)


def test_where_factors_do_not_meet_other_operands_are_not_tested():
    """A body where all meet, and one where either is left."""
    formats = {"y": "s", "a": "s", "b": "s", "c": "s"}
    text = custard.compile("y(i) = a(i) * b(i) + c(i)", formats, target="c").source
    kernel = text[text.index("int compute(") :]
    near = kernel[: kernel.index("while (far")]
    assert "} else if (ia != ib) {" in near
    assert near.count("y->values[y_count0] = ") == 2


def test_steps_of_an_intersection_are_no_choices_that_a_compiler_makes_branches_of():
    formats = {"y": "s", "a": "s", "b": "s"}
    text = custard.compile("y(i) = a(i) * b(i)", formats, target="c").source
    steps = text[text.index("} else if (far) {") :]
    assert "pa0 += ia < ib;" in steps
    assert "?" not in steps


@needs_compiler
@pytest.mark.parametrize(
    ("expression", "due"),
    [
        ("a(i) * b(i)", lambda a, b, c: a * b),
        ("a(i) * b(i) * c(i)", lambda a, b, c: a * b * c),
        ("a(i) * b(i) + c(i)", lambda a, b, c: a * b + c),
        ("(a(i) + b(i)) * c(i)", lambda a, b, c: (a + b) * c),
    ],
)
def test_operands_that_meet_go_on_without_a_comparison(expression, due):
    """Their positions are counted on where they meet, and by comparisons where they do not."""
    random = np.random.default_rng(7)
    names = [name for name in "abc" if f"{name}(" in expression]
    vectors = {name: random.integers(0, 3, 60) for name in "abc"}
    vectors["b"][20:40] = vectors["a"][20:40]  # in step for a while
    program = custard.compile(
        f"y(i) = {expression}", {"y": "s", **dict.fromkeys(names, "s")}, target="c"
    )
    met = program.source[program.source.index("(ia == ib") :].partition("} else")[0]
    assert all(f"p{name}0++;" in met for name in names)
    found = program.run({name: vectors[name] for name in names}).to_numpy()
    np.testing.assert_array_equal(found, due(**vectors))
