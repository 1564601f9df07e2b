import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sam.derivations import Fuse, Rename, Share, Split, derived, replaced, underived, with_derived
from sam.tensor import Tensor


def test_variables_are_replaced_in_their_places():
    derivations = [Split("i", "i0", "i1", 4), Fuse("i1", "j", "f"), Rename("k", "kk")]
    assert replaced(["k", "i", "j"], derivations) == ("kk", "i0", "f")


def test_derived_variables_keep_the_primes():
    assert replaced(["i''", "i"], [Split("i", "a", "b", 2)]) == ("a''", "b''", "a", "b")


@pytest.mark.parametrize(
    ("split", "extent", "outer", "inner"),
    [
        (Split("i", "a", "b", 4), 8, 2, 4),
        (Split("i", "a", "b", 4), 9, 3, 4),
        (Split("i", "a", "b", 4), 3, 1, 3),
        (Split("i", "a", "b", 4), 0, 0, 1),
        (Split("i", "a", "b", 3, counts=True), 9, 3, 3),
        (Split("i", "a", "b", 3, counts=True), 10, 3, 4),
        (Split("i", "a", "b", 4, counts=True), 5, 3, 2),
        (Split("i", "a", "b", 3, counts=True), 0, 0, 1),
    ],
)
def test_extents_of_a_split(split, extent, outer, inner):
    assert with_derived({"i": extent}, [split]) == {"i": extent, "a": outer, "b": inner}


def test_extents_whose_sources_are_unknown_are_left_out():
    assert with_derived({"i": 3}, [Fuse("i", "j", "f"), Rename("i", "n")]) == {"i": 3, "n": 3}


def test_a_matrix_in_tiles():
    matrix = np.arange(1, 16).reshape(3, 5)
    derivations = [Split("i", "i0", "i1", 2), Split("j", "j0", "j1", 2)]
    extents = with_derived({"i": 3, "j": 5}, derivations)
    tiles = derived(Tensor.of(matrix), ("i", "j"), derivations, extents)
    assert tiles.shape == (2, 2, 3, 2)
    assert tiles.to_numpy()[1, 0, 2, 0] == matrix[2, 4]
    assert tiles.to_numpy()[1, 1].sum() == 0


def test_a_matrix_in_one_level():
    matrix = np.arange(1, 16).reshape(3, 5)
    extents = with_derived({"i": 3, "j": 5}, [Fuse("i", "j", "f")])
    fused = derived(Tensor.of(matrix), ("i", "j"), [Fuse("i", "j", "f")], extents)
    assert fused.to_numpy().tolist() == matrix.reshape(-1).tolist()


def test_entries_beyond_an_intermediate_extent_are_left_out():
    derivations = [Split("i", "a", "b", 4), Split("b", "c", "d", 3)]
    extents = with_derived({"i": 8}, derivations)
    everywhere = Tensor.of(np.ones([extents[v] for v in ("a", "c", "d")]))
    assert everywhere.shape == (2, 2, 3)
    assert underived(everywhere, ("i",), derivations, extents).to_numpy().tolist() == [1] * 8


def test_other_names_leave_the_storage_as_it_is():
    matrix = Tensor.of(np.eye(3), "dl")
    derivations = [Split("k", "k0", "k1", 2), Rename("j", "n"), Rename("n", "m")]
    assert derived(matrix, ("i", "j"), derivations, {"i": 3, "j": 3}) is matrix
    assert underived(matrix, ("i", "j"), derivations, {"i": 3, "j": 3}) is matrix
    derivations = [Rename("j", "n"), Split("n", "a", "b", 2)]
    extents = with_derived({"i": 3, "j": 3}, derivations)
    assert derived(matrix, ("i", "j"), derivations, extents).shape == (3, 2, 2)


@st.composite
def chains(draw):
    """Derivations from i, j and k, of which the fused ones are next to each other."""
    variables = ["i", "j", "k"]
    found = []
    for n in range(draw(st.integers(0, 5))):
        at = draw(st.integers(0, len(variables) - 1))
        name = variables[at]
        if draw(st.booleans()) and at + 1 < len(variables):
            one = Fuse(name, variables[at + 1], f"f{n}")
        else:
            one = Split(name, f"a{n}", f"b{n}", draw(st.integers(1, 4)), draw(st.booleans()))
        found.append(one)
        variables = one.replaced(variables)
    return found


@given(chains(), st.tuples(*[st.integers(1, 6)] * 3), st.integers(0, 99))
def test_a_tensor_comes_back(derivations, shape, seed):
    random = np.random.default_rng(seed)
    array = np.where(random.random(shape) < 0.5, random.integers(1, 9, shape), 0)
    extents = with_derived(dict(zip("ijk", shape, strict=True)), derivations)
    stored = derived(Tensor.of(array, "sss"), "ijk", derivations, extents)
    stored.validate()
    assert stored.shape == tuple(extents[v] for v in replaced("ijk", derivations))
    assert np.array_equal(underived(stored, "ijk", derivations, extents).to_numpy(), array)


def _shares(array, share):
    """The shares of the entries of an array, by their coordinates."""
    coordinates = np.argwhere(array)
    shuffled = np.random.default_rng(1).permutation(coordinates)
    numbers = share.numbers(list(shuffled.T))
    return dict(zip(map(tuple, shuffled.tolist()), numbers.tolist(), strict=True))


ENTRIES = np.array([[1, 0, 1, 1], [0, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 1], [1, 0, 0, 1]])


def _pairs(*shares):
    return {(i, j): n for n, points in enumerate(shares) for i, j in points}


@pytest.mark.parametrize(
    ("share", "due"),
    [
        # Three entries each, whatever the rows are.
        (Share("A", ("i", "j"), ("i", "j"), 0, "s", 3),
         [[(0, 0), (0, 2), (0, 3)], [(2, 0), (2, 1), (3, 3)], [(4, 0), (4, 3)]]),
        # Three shares of as many.
        (Share("A", ("i", "j"), ("i", "j"), 0, "s", 3, counts=True),
         [[(0, 0), (0, 2), (0, 3)], [(2, 0), (2, 1), (3, 3)], [(4, 0), (4, 3)]]),
        # Two rows that hold something each.
        (Share("A", ("i", "j"), ("i",), 0, "s", 2),
         [[(0, 0), (0, 2), (0, 3), (2, 0), (2, 1)], [(3, 3), (4, 0), (4, 3)]]),
        # Two entries of each row.
        (Share("A", ("i", "j"), ("i", "j"), 1, "s", 2),
         [[(0, 0), (0, 2), (2, 0), (2, 1), (3, 3), (4, 0), (4, 3)], [(0, 3)]]),
        # Each row in two.
        (Share("A", ("i", "j"), ("i", "j"), 1, "s", 2, counts=True),
         [[(0, 0), (0, 2), (2, 0), (3, 3), (4, 0)], [(0, 3), (2, 1), (4, 3)]]),
        # By columns.
        (Share("A", ("i", "j"), ("j", "i"), 0, "s", 4),
         [[(0, 0), (2, 0), (4, 0), (2, 1)], [(0, 2), (0, 3), (3, 3), (4, 3)]]),
        # The first and the second two of each four.
        (Share("A", ("i", "j"), ("i", "j"), 0, "s", 2, around=((4, False),)),
         [[(0, 0), (0, 2), (2, 1), (3, 3)], [(0, 3), (2, 0), (4, 0), (4, 3)]]),
    ],
)  # fmt: skip
def test_equal_shares_of_entries(share, due):
    assert _shares(ENTRIES, share) == _pairs(*due)


def test_a_tensor_is_stored_by_its_shares():
    share = Share("A", ("i", "j"), ("i", "j"), 0, "s", 3)
    extents = with_derived({"i": 5, "j": 4}, [share])
    assert extents == {"i": 5, "j": 4, "s": 7}
    stored = derived(Tensor.of(ENTRIES), ("i", "j"), [share], extents, ("s",))
    assert stored.shape == (7, 5, 4)
    assert np.array_equal(stored.to_numpy().sum(axis=0), ENTRIES)
    assert (stored.to_numpy() != 0).sum(axis=(1, 2)).tolist() == [3, 3, 2, 0, 0, 0, 0]


@pytest.mark.parametrize(("extent", "shares"), [(0, 0), (1, 1), (7, 4)])
def test_extents_of_shares(extent, shares):
    share = Share("A", ("i",), ("i",), 0, "s", 2)
    assert with_derived({"i": extent}, [share])["s"] == shares
    empty = Share("A", ("i",), ("i",), 0, "s", 2).numbers([np.zeros(0, np.int64)])
    assert empty.tolist() == []
    assert "s" not in with_derived({}, [share])


@pytest.mark.parametrize("around", [(), ((3, False),), ((2, True),)])
@pytest.mark.parametrize("counts", [True, False])
@pytest.mark.parametrize("size", range(1, 10))
def test_shares_are_within_their_extent(size, counts, around):
    share = Share("A", ("i",), ("i",), 0, "s", size, counts, around)
    for extent in range(1, 13):
        bound = with_derived({"i": extent}, [share])["s"]
        for entries in range(1, extent + 1):
            assert share.numbers([np.arange(entries)]).max() < bound


def test_copies_of_variables_are_fused_with_each_other():
    assert Fuse("i", "j", "f").replaced(["k", "i'", "j'", "i", "j"]) == ["k", "f'", "f"]
