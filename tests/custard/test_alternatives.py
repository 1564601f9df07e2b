"""Other programs for the same expression."""

import numpy as np
import pytest

import custard
from custard.alternatives import alternatives

MATMUL = "X(i,j) = B(i,k) * C(k,j)"


@pytest.fixture(scope="module")
def found():
    return alternatives(custard.compile(MATMUL))


def test_each_alternative_is_named_by_the_words_to_write(found):
    assert "parallelize(i,Lanes,2)" in found
    assert "B:ds:0,1" in found
    for what, program in found.items():
        if what.endswith(")"):
            assert program.schedule[-1] == what
        else:
            name, _, form = what.partition(":")
            assert str(program.formats[name]) == form


def test_other_orders_are_offered_where_nothing_is_transposed():
    program = custard.compile("y = sum(i, sum(j, a(i) * b(j)))")
    assert "reorder(j,i)" in alternatives(program)


def test_all_alternatives_give_the_same_result(found):
    random = np.random.default_rng(1)
    b, c = random.integers(0, 3, (2, 4, 4)).astype(float)
    for program in found.values():
        np.testing.assert_allclose(program.run({"B": b, "C": c}).to_numpy(), b @ c)


def test_a_schedule_that_does_more_than_order_keeps_its_order():
    program = custard.compile(MATMUL, schedule=["parallelize(i,Lanes,2)"])
    assert not any(what.startswith(("reorder", "parallelize")) for what in alternatives(program))
