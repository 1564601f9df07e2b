"""Made-up activations and weights."""

import numpy as np
import pytest

from custard.cli.structured import structured
from sam.support.errors import UserError


def made(value, shape, most=10**6):
    return structured(value, shape, np.random.default_rng(0), "X", most).to_numpy()


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
def test_an_image_has_its_share_of_entries_in_connected_places(share):
    found = made(f"@image({share})", (3, 40, 50))
    assert (found >= 0).all()
    assert np.count_nonzero(found) == round(share * found.size)
    if 0 < share < 1:  # a neighbour of a place that is there is there more often than not
        here, beside = found[:, :, :-1] != 0, found[:, :, 1:] != 0
        assert (here & beside).sum() > 1.2 * share * here.sum()


def test_weights_are_pruned_n_of_m():
    found = made("@pruned(2:4)", (5, 10))
    for begin in (0, 4):
        assert (np.count_nonzero(found[:, begin : begin + 4], axis=1) == 2).all()
    assert (np.count_nonzero(found[:, 8:], axis=1) == 2).all()  # the last group is of two


def test_weights_are_pruned_by_size():
    found = made("@pruned(0.1)", (20, 20))
    assert np.count_nonzero(found) == 40
    assert made("@pruned(2:4)", (3, 0)).size == 0


@pytest.mark.parametrize("value", ["@image(2)", "@image(x)", "@pruned(0.5", "@image()"])
def test_a_malformed_share_is_a_mistake(value):
    with pytest.raises(UserError, match="does not give a share of all places"):
        made(value, (4, 4))


def test_pruning_that_keeps_too_many_and_tensors_that_are_too_large_are_mistakes():
    with pytest.raises(UserError, match=r"@pruned\(5:4\) keeps 5 of 4"):
        made("@pruned(5:4)", (4, 4))
    with pytest.raises(UserError, match=r"X=@image\(0.5\) would have 16 places, more than 1e\+01"):
        made("@image(0.5)", (4, 4), 10)
