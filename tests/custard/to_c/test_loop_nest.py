"""The loops over one variable, along the lattice of its operands."""

import numpy as np
import pytest

import custard
from tests.support.compiler import needs_compiler


@needs_compiler
@pytest.mark.parametrize("count", [1, 2, 3, 4, 6])
def test_sums_of_any_number_of_vectors(count):
    random = np.random.default_rng(count)
    names = "abcdef"[:count]
    vectors = {name: random.integers(0, 2, 30) * random.integers(1, 9, 30) for name in names}
    formats = {"y": "s", **dict.fromkeys(names, "s")}
    text = f"y(i) = {' + '.join(f'{name}(i)' for name in names)}"
    program = custard.compile(text, formats, target="c")
    np.testing.assert_array_equal(program.run(vectors).to_numpy(), sum(vectors.values()))


@needs_compiler
@pytest.mark.parametrize("levels", ["uq", "ss", "hh"])
def test_few_coordinates_are_sought_among_the_rows_of_a_list(levels):
    """Rows of A have 0 to 3 coordinates, B has 400 entries in 100 rows."""
    random = np.random.default_rng(5)
    A, B = np.zeros((12, 200), int), np.zeros((200, 9), int)
    for n, row in enumerate(A):
        row[random.integers(0, 200, n % 4)] = n + 1
    B[random.permutation(200)[:100], :4] = random.integers(1, 9, (100, 4))
    formats = {"X": "uq", "A": "uq", "B": levels}
    program = custard.compile("X(i,j) = A(i,k) * B(k,j)", formats, "reorder(i,k,j)", "c")
    assert ("sought_int32_t" in program.source) == (levels != "hh")
    np.testing.assert_array_equal(program.run({"A": A, "B": B}).to_numpy(), A @ B)
