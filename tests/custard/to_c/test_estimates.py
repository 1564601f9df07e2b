"""How many values an expression has, as far as the positions of its operands tell."""

from custard.to_c.estimates import counted, expected
from tests.support.interpreted import evaluated
from tests.support.kernel_trees import prepared

# The arrays of B, a 3x4 matrix with 5 entries, and of c, a vector with 2.
NAMES = {
    "B->size0": 3,
    "B->size1": 4,
    "B_segments1": [0, 1, 3, 5],
    "B_segments0": [0, 3],
    "c_segments0": [0, 2],
    "c->size0": 4,
    "d->size0": 7,
}


def number(text, formats):
    found = prepared(text, formats)
    count = expected(found.tree, found.storage)
    return None if count is None else evaluated(count, NAMES)


def test_a_sparse_operand_has_its_positions():
    assert number("X(i,j) = B(i,j)", {"B": "ds"}) == 5


def test_a_product_has_the_positions_of_one_operand_and_a_sum_those_of_all():
    assert number("X(i,j) = B(i,j) * c(j)", {"B": "ds", "c": "s"}) == 5
    assert number("X(i,j) = B(i,j) + B(i,j)", {"B": "ds"}) == 10


def test_dense_operands_tell_no_number_of_values():
    assert number("X(i,j) = B(i,j)", {"B": "dd"}) is None


def count_of(text, formats, variables):
    found = prepared(text, formats)
    count = counted(found.tree, variables, found.storage)
    if count is None:
        return None
    extents = found.storage.builder.extents
    names = {var.name: evaluated(value, NAMES) for var, value in extents.items()}
    return evaluated(count, {**NAMES, **names})


def test_counts_of_sparse_factors_are_multiplied():
    formats = {"B": "ds", "d": "d", "c": "s"}
    assert count_of("X(i,j,k) = B(i,j) * d(k)", formats, "ijk") == 5 * 7
    assert count_of("X(i,j,k) = B(i,j) * c(k)", formats, "ijk") == 5 * 2


def test_what_is_everywhere_has_a_value_at_each_place():
    assert count_of("X(i,j) = B(i,j)", {"B": "dd"}, "ij") == 3 * 4
    assert count_of("X(i,j) = B(i,j) + B(i,j) * c(j)", {"B": "dd", "c": "d"}, "ij") == 3 * 4
    assert count_of("X(i,j,k) = B(i,j) * (d(k) + d(k))", {"B": "ds", "d": "d"}, "ijk") == 5 * 7
    assert count_of("X(i,j) = B(i,j) + 5", {"B": "ds"}, "ij") == 3 * 4
    assert count_of("X(i,j) = d(j)", {"d": "d"}, "ij") is None


def test_factors_that_share_a_variable_are_not_counted():
    assert count_of("X(i,j) = B(i,j) * c(j)", {"B": "ds", "c": "s"}, "ij") is None


def test_sums_are_not_counted():
    assert count_of("X(i,j) = B(i,j) + B(i,j)", {"B": "ds"}, "ij") is None
