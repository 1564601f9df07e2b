"""Problems: names that are free, places, and candidates that follow the storage."""

from custard.autoscheduling.candidates import orders
from custard.autoscheduling.problem import follows
from tests.support.problems import problem


def test_a_new_name_differs_from_all_loops_and_tensors():
    found = problem("y(p) = p_(p,j) * x(j)")
    assert [found.new(name) for name in ("p", "q", "x")] == ["p__", "q", "x_"]


def test_places_are_the_product_of_all_extents():
    found = problem("y(i) = A(i,j) * x(j)", extents=7)
    assert [found.places(one) for one in found.accesses()] == [7, 49, 7]
    assert found.result == "y"


def test_a_candidate_follows_compressed_levels_alone():
    def follow(form):
        given = {"X": "dd", "A": form, "B": "ds"}
        return list(map(follows, orders(problem("X(i,j) = A(j,i) + B(i,j)", given=given))))

    assert follow("dd") == [True]
    assert follow("ds") == [False, False]
