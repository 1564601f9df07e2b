"""The levels of the matrix of the SAM paper's Figure 1, worked out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sam.errors import UserError
from sam.levels import LEVELS, Compressed, Dense, Singleton

# Rows 0, 1 and 3 of a 4x4 matrix have the columns (1), (0, 2) and (1, 3).
ROWS = np.array([0, 1, 1, 3, 3])
COLUMNS = np.array([1, 0, 2, 1, 3])


def test_levels_are_listed_by_code():
    listed = {code: (level, level.name) for code, level in LEVELS.items()}
    assert listed == {
        "d": (Dense, "dense"),
        "s": (Compressed, "compressed"),
        "q": (Singleton, "singleton"),
    }


def test_compressed_rows_below_the_root():
    level, positions = Compressed.build(np.zeros(5, int), ROWS, 1, 4)
    assert level.as_lists().segments == [0, 3]
    assert level.as_lists().coordinates == [0, 1, 3]
    assert positions.tolist() == [0, 1, 1, 2, 2]
    assert level.positions(1) == 3


def test_compressed_columns_below_compressed_rows():
    level, positions = Compressed.build(np.array([0, 1, 1, 2, 2]), COLUMNS, 3, 4)
    assert level.as_lists().segments == [0, 1, 3, 5]
    assert level.as_lists().coordinates == [1, 0, 2, 1, 3]
    assert positions.tolist() == [0, 1, 2, 3, 4]
    assert [level.fiber(parent) for parent in range(3)] == [(0, 1), (1, 3), (3, 5)]
    assert [level.coordinate(1, position) for position in (1, 2)] == [0, 2]


def test_compressed_columns_below_dense_rows_have_an_empty_fiber():
    level, _ = Compressed.build(ROWS, COLUMNS, 4, 4)
    assert level.as_lists().segments == [0, 1, 3, 3, 5]
    assert level.fiber(2) == (3, 3)


def test_dense_stores_its_size_only():
    level, positions = Dense.build(np.array([0, 1, 1, 2, 2]), COLUMNS, 3, 4)
    assert level.size == 4
    assert positions.tolist() == [1, 4, 6, 9, 11]
    assert level.positions(3) == 12
    assert level.fiber(2) == (8, 12)
    assert level.coordinate(2, 9) == 1
    assert level.as_lists().size == 4


def test_singleton_stores_one_coordinate_for_each_parent():
    level, positions = Singleton.build(np.arange(5), COLUMNS, 5, 4)
    assert level.as_lists().coordinates == [1, 0, 2, 1, 3]
    assert positions.tolist() == [0, 1, 2, 3, 4]
    assert level.positions(5) == 5
    assert level.fiber(2) == (2, 3)
    assert level.coordinate(2, 2) == 2


@pytest.mark.parametrize(
    ("parents", "coordinates", "number", "text"),
    [
        ([0, 1, 1], [1, 0, 2], 2, "position 1 above it has 2 coordinates, not 1"),
        ([0, 2], [1, 0], 3, "position 1 above it has 0 coordinates, not 1"),
    ],
)
def test_singleton_refuses_other_counts(parents, coordinates, number, text):
    with pytest.raises(UserError) as error:
        Singleton.build(np.array(parents), np.array(coordinates), number, 4)
    assert str(error.value) == f"the level cannot be stored as singleton: {text}"


def test_as_lists_gives_python_integers():
    level, _ = Compressed.build(ROWS, COLUMNS, 4, 4)
    begin, end = level.as_lists().fiber(1)
    assert (type(begin), type(end)) == (int, int)
    assert type(level.as_lists().coordinate(1, begin)) is int


@pytest.mark.parametrize(
    ("level", "text"),
    [
        (Dense(3), "its size is 3, the mode's extent is 4"),
        (Compressed(np.array([0, 1]), np.array([0])), "it has 2 segments, and 2 parents need 3"),
        (
            Compressed(np.array([0, 1, 1]), np.array([0, 1])),
            "its segments go from 0 to 1, not from 0 to its 2 coordinates",
        ),
        (Compressed(np.array([0, 3, 2]), np.array([0, 1])), "its segments decrease after entry 1"),
        (
            Compressed(np.array([0, 1, 2]), np.array([0, 4])),
            "coordinate 4 at position 1 is outside the extent 4",
        ),
        (
            Compressed(np.array([0, 1, 3]), np.array([3, 2, 2])),
            "its coordinates do not increase after position 1",
        ),
        (Singleton(np.array([0])), "it has 1 coordinates for 2 parents"),
        (Singleton(np.array([0, -1])), "coordinate -1 at position 1 is outside the extent 4"),
    ],
)
def test_validate_names_the_fault(level, text):
    with pytest.raises(UserError) as error:
        level.validate(2, 4)
    assert str(error.value) == text


@given(st.sampled_from("ds"), st.sets(st.tuples(st.integers(0, 3), st.integers(0, 4))))
def test_a_level_gives_back_what_it_was_built_from(code, entries):
    parents, coordinates = np.array(sorted(entries), int).reshape(-1, 2).T
    level, positions = LEVELS[code].build(parents, coordinates, 4, 5)
    level.validate(4, 5)
    traced_parents, traced_coordinates = level.trace(positions)
    assert traced_parents.tolist() == parents.tolist()
    assert traced_coordinates.tolist() == coordinates.tolist()
    fibers = {
        (parent, level.coordinate(parent, position))
        for parent in range(4)
        for position in range(*level.fiber(parent))
    }
    every = {(parent, coordinate) for parent in range(4) for coordinate in range(5)}
    assert fibers == (every if code == "d" else entries)
    assert level.positions(4) == len(fibers)
