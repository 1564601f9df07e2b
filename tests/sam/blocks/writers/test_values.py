"""Values of the result."""

from tests.support.writers import check


def test_explicit_zeros_are_stored():
    stored = [([0, 2], [1, 4])]
    check("s", (5,), ["1, 4, S0, D"], "0, N, S0, D", stored=stored, values=[0, 0])


def test_a_scalar():
    check("", (), [], "2.5, D", stored=[], values=[2.5])
