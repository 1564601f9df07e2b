"""Graphs under construction: slots, merges, and choices of the schedule."""

import pytest

import custard
from custard import UserError
from custard.to_sam.builder import diagonal_levels, modes_of

MATMUL = "X(i,j) = B(i,k) * C(k,j)"


def kinds(graph):
    return [node.kind for node in graph.nodes]


def test_a_tensor_that_is_used_twice_has_one_slot():
    graph = custard.compile("y(i) = x(i) * x(i)").graph
    assert [slot.name for slot in graph.slots] == ["x"]
    assert kinds(graph).count("array") == 2


def test_mergers_follow_the_expression():
    assert "intersecter" in kinds(custard.compile("y(i) = a(i) * b(i)").graph)
    assert "unioner" in kinds(custard.compile("y(i) = a(i) + b(i)").graph)
    dense = custard.compile("y(i) = a(i) * b(i)", {"a": "d", "b": "d"}).graph
    assert not {"intersecter", "unioner"} & {*kinds(dense)}


def test_words_of_bits_are_merged_by_their_own_blocks():
    graph = custard.compile(
        "y(i) = a(i) * b(i)", {"a": "b", "b": "b"}, ["bitvector(a,i)", "bitvector(b,i)"]
    ).graph
    assert "bitvector_intersecter" in kinds(graph)


def test_a_scanner_skips_where_an_intersecter_tells_it_to():
    program = custard.compile("y(i) = a(i) * b(i)", schedule=["skip(a,i)"])
    assert "a skips at i coordinates that the others lack" in program.notes
    with pytest.raises(UserError) as caught:
        custard.compile("y(i) = a(i) + b(i)", schedule=["skip(a,i)"])
    assert caught.value.what == (
        "a cannot be skipped through at i: it is united with others there, and a union needs each "
        "coordinate"
    )


def test_numbers_have_slots():
    (slot,) = custard.compile("y(i) = 3 * x(i)", {"x": "s"}).graph.slots[:1]
    constants = [one.constant for one in custard.compile("y(i) = 3 * x(i)").graph.slots]
    assert 3 in constants
    assert slot.name


def test_a_diagonal_is_taken_before_the_run():
    program = custard.compile("y(i) = A(i,i)")
    assert "the diagonal of A(i,i) is taken before the run" in program.notes


def test_modes_and_levels_of_diagonals():
    from custard.ir import cin

    access = cin.Access("A", ("i", "j", "i"))
    assert modes_of(access, ("i", "j")) == ((0, 2), (1,))
    assert diagonal_levels("dd", ((0, 1),)) == "d"
    assert diagonal_levels("ds", ((0, 1),)) == "s"
