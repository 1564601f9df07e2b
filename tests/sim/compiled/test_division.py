"""Parts on threads: by hand, and against all divisions."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.compiled.division import Passage, busiest, divided


def test_equal_parts_of_a_chain_are_cut_where_the_fewest_tokens_pass():
    chain = [Passage(0, 1, 9.0), Passage(1, 2, 1.0), Passage(2, 3, 9.0)]
    assert divided([10, 10, 10, 10], chain, 2) in ([0, 0, 1, 1], [1, 1, 0, 0])


def test_a_part_that_has_most_to_do_gets_a_thread_of_its_own():
    weights = [5, 50, 5, 20, 5]
    found = divided(weights, [Passage(n, n + 1, 1.0) for n in range(4)], 2)
    assert [thread == found[1] for thread in found] == [False, True, False, False, False]
    assert busiest(weights, [], found) == 50


def test_parts_whose_queue_cannot_be_cut_stay_together():
    passages = [Passage(0, 2, None), Passage(2, 3, None), Passage(0, 1, 1.0)]
    found = divided([1, 3, 1, 1], passages, 2)
    assert found[0] == found[2] == found[3] != found[1]


def test_tokens_between_threads_cost_both():
    assert busiest([1, 2], [Passage(0, 1, 5.0)], [0, 1]) == 7
    assert busiest([1, 2], [Passage(0, 1, 5.0)], [0, 0]) == 3
    assert busiest([], [], []) == 0


def test_a_queue_that_costs_more_than_it_brings_is_not_cut():
    assert len({*divided([3, 3], [Passage(0, 1, 10.0)], 2)}) == 1


@pytest.mark.parametrize("threads", [2, 3])
@given(st.data())
def test_the_busiest_thread_has_little_more_to_do_than_it_must(threads, data):
    count = data.draw(st.integers(0, 6))
    weights = data.draw(st.lists(st.integers(0, 9), min_size=count, max_size=count))
    ends = st.integers(0, max(0, count - 1))
    passage = st.builds(Passage, ends, ends, st.one_of(st.none(), st.integers(0, 4)))
    passages = data.draw(st.lists(passage, max_size=6 if count else 0))
    found = divided(weights, passages, threads)
    assert all(found[one.giver] == found[one.taker] for one in passages if one.cost is None)
    least = min(
        busiest(weights, passages, division)
        for division in product(range(threads), repeat=count)
        if all(division[one.giver] == division[one.taker] for one in passages if one.cost is None)
    )
    assert busiest(weights, passages, found) <= 1.5 * least
