"""Loops over nonempty subsections: their cost depends on the stored coordinates, in any order."""

import numpy as np
import pytest

import custard
from sam.tensor import Tensor
from tests.support.compiler import needs_compiler

pytestmark = needs_compiler

FAR = 2 * 10**9
F = np.array([1.0, 0, 10.0])


def entries(tensor):
    """The entries of a tensor that are not 0, by their coordinates."""
    coordinates, values = tensor.to_coo()
    return {tuple(map(int, at)): v for at, v in zip(coordinates.T, values, strict=True) if v}


def correlated(stored, filters, extents):
    """The valid correlation of entries by their coordinates."""
    found = {}
    for at, value in stored.items():
        for offset in np.ndindex(filters.shape):
            place = tuple(x - k for x, k in zip(at, offset, strict=True))
            if all(0 <= x < n for x, n in zip(place, extents, strict=True)) and filters[offset]:
                found[place] = found.get(place, 0.0) + value * filters[offset]
    return found


STORED = {(5,): 1.0, (10**9,): 2.0, (10**9 + 1,): 3.0, (FAR - 1,): 4.0}


@pytest.mark.parametrize(
    ("levels", "subscript", "order"),
    [
        *(
            (levels, "i+k", order)
            for levels in "sunlh"
            for order in ("reorder(i,k)", "reorder(k,i)")
        ),
        *((levels, "2*i+k", "reorder(i,k)") for levels in "snh"),
        *((levels, "i+2*k-1", "reorder(k,i)") for levels in "suh"),
    ],
)
def test_one_mode_of_two_billion(levels, subscript, order):
    places = np.array(list(STORED)).T
    x = Tensor.from_coo(places, np.array(list(STORED.values())), (FAR,), "s").convert(levels)
    dims = {"i": FAR - 5, "k": 3}
    formats = {"X": levels, "Y": "s", "F": "d"}
    program = custard.compile(f"Y(i) = X({subscript}) * F(k)", formats, order, "c", dims)
    step = 2 if subscript == "2*i+k" else 1
    spread, shift = (2, 1) if subscript == "i+2*k-1" else (1, 0)
    due = {}
    for (at,), value in STORED.items():
        for k in (0, 2):
            place, rest = divmod(at + shift - spread * k, step)
            if not rest and 0 <= place < dims["i"]:
                due[(place,)] = due.get((place,), 0) + value * F[k]
    assert entries(program.run({"X": x, "F": F})) == due


def test_a_coefficient_that_is_negative():
    places = np.array(list(STORED)).T
    x = Tensor.from_coo(places, np.array(list(STORED.values())), (FAR,), "s")
    for order in ("reorder(i,k)", "reorder(k,i)"):
        formats = {"X": "s", "Y": "s", "F": "d"}
        program = custard.compile(
            "Y(i) = X(2000000000-i-k) * F(k)", formats, order, "c", {"i": FAR}
        )
        due = {}
        for (at,), value in STORED.items():
            for k in (0, 2):
                if 0 <= FAR - at - k < FAR:
                    due[(FAR - at - k,)] = due.get((FAR - at - k,), 0) + value * F[k]
        assert entries(program.run({"X": x, "F": F})) == due


@pytest.mark.parametrize(
    ("levels", "order"),
    [
        *(("ss", order) for order in ("ijkl", "jilk", "ikjl", "jlki", "kjli", "lijk")),
        *((levels, order) for levels in ("uq", "hh", "ll", "sn") for order in ("ijkl", "jikl")),
    ],
)
def test_two_modes_of_two_billion(levels, order):
    """Whichever loops come first, also where the rows are not known at the columns' loop."""
    stored = {(7, 10**9): 1.0, (8, 10**9 + 1): 2.0, (10**9, 3): 3.0, (10**9, 10**9): 5.0}
    places, values = np.array(list(stored)).T, np.array(list(stored.values()))
    x = Tensor.from_coo(places, values, (FAR, FAR), "ss").convert(levels)
    filters = np.array([[1.0, 2.0], [3.0, 0.0]])
    formats = {"X": levels, "F": "dd", "Y": "ss"}
    schedule = f"reorder({','.join(order)})"
    program = custard.compile("Y(i,j) = X(i+k,j+l) * F(k,l)", formats, schedule, "c")
    found = program.run({"X": x, "F": filters})
    assert entries(found) == correlated(stored, filters, (FAR - 1, FAR - 1))


@pytest.mark.parametrize(
    ("levels", "command"),
    [
        *((levels, "split(j,j0,j1,4)") for levels in ("ss", "ds", "sb")),
        *((levels, "split(i,i0,i1,3)") for levels in ("bs", "nn")),
        *((levels, "parallelize(i,CPUThread,NoRaces)") for levels in ("ss", "rs")),
    ],
)
def test_a_part_of_the_values(levels, command):
    """A tile, or a thread's share, collects its part of the halo."""
    rng = np.random.default_rng(1)
    x = rng.integers(1, 9, (9, 70)) * (rng.random((9, 70)) < 0.2) * 1.0
    filters = rng.integers(-3, 4, (2, 3)) * 1.0
    formats = {"X": levels, "F": "dd", "Y": "dd"}
    program = custard.compile(
        "Y(i,j) = X(i+k,j+l) * F(k,l)", formats, ["reorder(i,j,k,l)", command], "c"
    )
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 3))
    found = program.run({"X": Tensor.of(x).convert(levels), "F": filters}).to_numpy()
    np.testing.assert_array_equal(found, np.einsum("ijkl,kl->ij", windows, filters))


def test_sums_go_through_what_either_term_holds():
    formats = {"A": "ss", "X": "ss", "Y": "ss"}
    program = custard.compile(
        "Y(i,j) = A(i,j) + X(i+k,j+l)", formats, "reorder(i,j,k,l)", "c",
        {"k": 2, "l": 3},
    )  # fmt: skip
    rng = np.random.default_rng(2)
    x = rng.integers(1, 9, (9, 12)) * (rng.random((9, 12)) < 0.1) * 1.0
    a = rng.integers(1, 9, (8, 10)) * (rng.random((8, 10)) < 0.2) * 1.0
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 3))
    due = a + windows.sum(axis=(2, 3))
    found = program.run({"A": a, "X": x})
    np.testing.assert_array_equal(found.to_numpy(), due)
    assert found.values.size == np.count_nonzero(due)


def test_room_for_the_result_depends_on_the_stored_coordinates():
    """A result is given room for so many values as lie in windows, not for the whole extent."""
    for levels in "snl":
        formats = {"X": levels, "F": "d", "Y": "s"}
        program = custard.compile("Y(i) = X(i+k) * F(k)", formats, "reorder(i,k)", "c")
        assert "Y_count0 + i_size" not in program.source
