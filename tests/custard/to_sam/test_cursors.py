"""Cursors: parts of an expression while its loops are entered."""

import numpy as np
import pytest

import custard

CASES = [
    ("y(i) = -a(i)", lambda a, b, c: -a),
    ("y(i) = a(i) * b(i) * c(i)", lambda a, b, c: a * b * c),
    ("y(i) = a(i) - b(i) + c(i)", lambda a, b, c: a - b + c),
    ("y(i) = a(i) * (b(i) + c(i))", lambda a, b, c: a * (b + c)),
    ("y(i) = a(i) - (b(i) - c(i))", lambda a, b, c: a - (b - c)),
    ("y(i) = a(i) + 2 * b(i) * c(i)", lambda a, b, c: a + 2 * b * c),
    ("y(i) = a(i) / 2 + b(i)", lambda a, b, c: a / 2 + b),
    ("y(i) = a(i) * b(i) / 4 - c(i) / -2", lambda a, b, c: a * b / 4 - c / -2),
    ("y(i) = a(i) / 2 / b(i)", lambda a, b, c: a / 2 / b),
    ("y(i) = a(i) / (b(i) - c(i) / 2)", lambda a, b, c: a / (b - c / 2)),
    ("y(i) = (a(i) / 2 * b(i)) / c(i)", lambda a, b, c: a / 2 * b / c),
]


@pytest.mark.parametrize(("text", "due"), CASES)
@pytest.mark.parametrize("levels", ["s", "d", "h"])
def test_values(text, due, levels):
    random = np.random.default_rng(3)
    a, b, c = random.integers(0, 2, (3, 9)) * random.integers(1, 9, (3, 9)).astype(float)
    given = {"a": a, "b": b, "c": c}
    inputs = {name: one for name, one in given.items() if f"{name}(i)" in text}
    program = custard.compile(text, dict.fromkeys(inputs, levels))
    found = program.run(inputs, engine="simpy").to_numpy()
    with np.errstate(invalid="ignore", divide="ignore"):
        np.testing.assert_allclose(found, due(a, b, c))


def names(text, schedule=(), formats=None):
    graph = custard.compile(text, formats, schedule).graph
    return {node.name for node in graph.nodes}


def test_a_sum_inside_a_product_is_computed_first():
    """The sum of a row is a nest of its own, which the product's loop goes along with."""
    found = names("y(i) = b(i) * sum(j, A(i,j))")
    assert "reduce_j" in found


def test_an_operand_that_lacks_a_variable_is_repeated():
    assert any(name.startswith("repeat_") for name in names("X(i,j) = a(i) * b(j)"))


def test_a_full_operand_is_located():
    found = names("y(i) = a(i) * b(i)", formats={"b": "d"})
    assert "locate_b_i" in found
