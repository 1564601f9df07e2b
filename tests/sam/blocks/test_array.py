"""Arrays (Definition 3.5)."""

import numpy as np
import pytest

from sam.tensor import Tensor
from tests.support.published import needs_published, stream, vectors
from tests.support.streams import check_block, run_block


def check(values, ref, due):
    check_block("array", {"slot": "b"}, {"in_ref": ref}, {"val": due}, tensors={"b": values})


def test_figure_1_the_values_of_the_matrix():
    matrix = Tensor.from_coo([[0, 1, 1, 3, 3], [1, 0, 2, 1, 3]], [1, 2, 3, 4, 5], (4, 4), "ss")
    check(matrix, "0, S0, 1, 2, S0, 3, 4, S1, D", "1, S0, 2, 3, S0, 4, 5, S1, D")


def test_values_come_in_any_order_and_more_than_once():
    check([10, 11, 12], "2, 0, 2, S0, D", "12, 10, 12, S0, D")


def test_an_unknown_reference_loads_zero():
    check([10, 11], "N, 1, N, S0, N, S1, D", "0, 11, 0, S0, 0, S1, D")
    check([0.5], "N, 0, S0, D", "0.0, 0.5, S0, D")


def test_a_number_that_is_everywhere_has_its_value_for_an_unknown_reference_too():
    parameters = {"slot": "b", "everywhere": True}
    streams = {"in_ref": "N, 0, S0, D"}, {"val": "2.5, 2.5, S0, D"}
    check_block("array", parameters, *streams, tensors={"b": np.array(2.5)})


def test_zero_has_the_type_of_the_values():
    for values, due in (
        (np.array([7]), "7, 0, D"),
        (np.array([0.5]), "0.5, 0.0, D"),
        (np.array([True]), "True, False, D"),
        (np.array([1 + 2j]), "(1+2j), 0j, D"),
    ):
        result = run_block("array", {"slot": "b"}, {"in_ref": "0, N, D"}, tensors={"b": values})
        assert result.streams["val"] == due


def test_explicit_zeros_are_values():
    stored = Tensor.from_coo([[1, 3]], [0.0, 2.5], (4,), "s")
    check(stored, "0, 1, S0, D", "0.0, 2.5, S0, D")


def test_a_scalar():
    check(7, "0, D", "7, D")


@pytest.mark.parametrize("text", ["D", "S0, D", "S0, S1, S12, S0, S13, D"])
def test_stop_tokens_pass(text):
    check([1], text, text)


# The published vectors. Not used: test_arr_load_1d and test_arr_store_1d, whose streams are made
# by code (stores belong to our value writers).


@needs_published
@pytest.mark.parametrize("vector", vectors("test_arr_load_direct_0tkn"))
def test_published_loads(vector):
    check(vector["arr"], stream(vector["ref"]), stream(vector["gold"]))
