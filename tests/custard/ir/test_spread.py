"""How far apart the coordinates of a loop lie."""

import numpy as np
import pytest

from custard.ir.spread import ANYWHERE, EVEN, THROUGH_ALL, LevelSpread, Loop, Spread, sampled

BESIDE = LevelSpread(Spread(0.25, 0.02), 0.1)


def rows(count, *offsets):
    """The coordinates of rows that have the same entries beside the diagonal."""
    return (1000 + np.arange(count)[:, None] + np.array(offsets)).ravel()


def test_a_band():
    """256 coordinates are 85 rows of 3, which touch 87 or 88 places in 2 or 3 words; a row has its
    three in one word, but for two rows of 64."""
    found = sampled(rows(20_000, -1, 0, 1), 1e6, 3)
    assert found.stored.places == pytest.approx(87.5 / 256, rel=0.01)
    assert found.stored.words == pytest.approx(2.36 / 256, rel=0.2)
    assert found.fiber == pytest.approx((1 + 2 / 64) / 3, rel=0.01)


def test_a_stencil_has_a_word_for_each_neighbour():
    found = sampled(rows(20_000, 0, 100_000, 200_000), 1e6, 3)
    assert found.stored.places == 1
    assert found.stored.words == pytest.approx(7.0 / 256, rel=0.2)
    assert found.fiber == 1


def test_random_coordinates_are_even():
    """In any extent: what many values share in few places is no sign of order."""
    random = np.random.default_rng(0)
    for extent, fiber in ((1e6, 10), (3000, 10), (100, 30)):
        found = random.integers(0, extent, (20_000, fiber))
        found.sort(axis=1)
        found = sampled(found.ravel(), extent, fiber)
        assert found.stored.places == pytest.approx(1, abs=0.06)
        assert found.stored.words == pytest.approx(1, abs=0.06)
        assert found.fiber == pytest.approx(1, abs=0.15)


def test_few_coordinates_are_taken_to_be_even():
    assert sampled(rows(1000, -1, 0, 1), 1e6, 3) == LevelSpread()


def test_a_loop_goes_through_storage_or_where_another_operand_sends_it():
    assert Loop.of("C", BESIDE, THROUGH_ALL).spread == BESIDE.stored
    same = Loop.of("C", LevelSpread(Spread(0.5, 0.5), 1), Loop.of("C", BESIDE, THROUGH_ALL))
    assert same.spread == Spread(0.5, 0.5)
    # A random row each time: all its places are new, and it has its words to itself.
    assert Loop.of("C", BESIDE, ANYWHERE).spread == Spread(1, 0.1)
    # A row beside the last ones: of the quarter that is not the same again, all but 0.02.
    sent = Loop.of("C", BESIDE, Loop.of("B", BESIDE, THROUGH_ALL)).spread
    assert sent.places == pytest.approx(0.02 + 0.23 * 0.25)
    assert sent.words == pytest.approx(0.02 * 0.1 + 0.23 * 0.02)
    assert Loop.of("C", LevelSpread(), ANYWHERE).spread == EVEN
