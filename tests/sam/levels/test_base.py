"""What all levels have in common."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sam.levels import (
    LEVELS,
    Bitvector,
    Compressed,
    CompressedNonUnique,
    Dense,
    Entries,
    Hashed,
    Linked,
    Offset,
    Range,
    RunLength,
    Singleton,
)
from sam.support.errors import UserError

# Rows 0, 1 and 3 of a 4x4 matrix have the columns (1), (0, 2) and (1, 3).
ROWS = np.array([0, 1, 1, 3, 3])
COLUMNS = np.array([1, 0, 2, 1, 3])


def test_as_lists_gives_python_integers():
    level, _ = Compressed.build(Entries(ROWS, COLUMNS, 4, 4))
    begin, end = level.as_lists().fiber(1)
    assert (type(begin), type(end)) == (int, int)
    assert type(level.as_lists().coordinate(1, begin)) is int


def test_a_coordinate_is_found_by_search():
    level, _ = Compressed.build(Entries(ROWS, COLUMNS, 4, 4))
    assert [level.find(1, column) for column in range(4)] == [1, -1, 2, -1]
    assert level.find(2, 0) == -1


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
        (
            CompressedNonUnique(np.array([0, 1, 3]), np.array([3, 2, 1])),
            "its coordinates decrease after position 1",
        ),
        (Hashed(2, np.array([0, -1])), "it has 2 buckets, not 2 for each of the 2 parents"),
        (Hashed(1, np.array([0, 4])), "coordinate 4 at position 1 is outside the extent 4"),
        (Hashed(2, np.array([0, -1, 2, 2])), "its table 1 has the coordinate 2 twice"),
        (
            Hashed(2, np.array([0, 2, -1, 2])),
            "its coordinate 2 in table 1 cannot be found: a bucket before it is empty",
        ),
        (
            Linked(np.array([0]), np.array([-1]), np.array([0])),
            "it has 1 heads for 2 parents, and 1 nexts for 1 coordinates",
        ),
        (
            Linked(np.array([0, 0]), np.array([-1, -1]), np.array([0, 1])),
            "its 2 nodes do not each lie once in one list",
        ),
        (
            Linked(np.array([0, -1]), np.array([-1, 1]), np.array([0, 1])),
            "one of its lists is a circle",
        ),
        (
            Linked(np.array([0, -1]), np.array([1, -1]), np.array([2, 2])),
            "its coordinates do not increase after position 0",
        ),
        (
            RunLength(*map(np.array, ([0, 1], [0, 1], [2]))),
            "it has 2 segments, and 2 parents need 3",
        ),
        (
            RunLength(*map(np.array, ([0, 2, 1], [0, 1], [2]))),
            "its segments do not go up from 0 to its 1 runs",
        ),
        (
            RunLength(*map(np.array, ([0, 1, 1], [1, 2], [2]))),
            "it has 2 starts, and 1 runs need 2, the first of them 0",
        ),
        (RunLength(*map(np.array, ([0, 1, 2], [0, 1, 1], [2, 3]))), "its run 1 has no position"),
        (
            RunLength(*map(np.array, ([0, 1, 1], [0, 3], [2]))),
            "coordinate 4 at position 0 is outside the extent 4",
        ),
        (
            RunLength(*map(np.array, ([0, 2, 2], [0, 2, 3], [0, 1]))),
            "its run 1 does not begin beyond the one before it",
        ),
        (Range(4, np.array([0]), np.array([1])), "it has 1 begins and 1 ends for 2 parents"),
        (
            Range(4, np.array([0, 2]), np.array([1, 5])),
            "its range 1 goes from 2 to 5, and the extent is 4",
        ),
        (Offset(3, 2, np.array([0])), "its size is 3, the mode's extent is 4"),
        (Offset(4, 2, np.array([0, 1])), "it has 2 offsets for 2 parents, 2 of them to each"),
        (
            Bitvector(4, np.array([1], "uint64"), np.array([0, 1])),
            "it has 1 words and 2 ranks, and 2 parents need 2 and 3",
        ),
        (
            Bitvector(4, np.array([1, 3], "uint64"), np.array([0, 1, 2])),
            "its ranks are not the numbers of ones before each word",
        ),
        (
            Bitvector(4, np.array([1, 16], "uint64"), np.array([0, 1, 2])),
            "parent 1 has a bit outside the extent 4",
        ),
        (Singleton(np.array([0])), "it has 1 coordinates for 2 parents"),
        (Singleton(np.array([0, -1])), "coordinate -1 at position 1 is outside the extent 4"),
    ],
)
def test_validate_names_the_fault(level, text):
    with pytest.raises(UserError) as error:
        level.validate(2, 4)
    assert str(error.value) == text


@pytest.mark.parametrize(
    "level", [Dense(3), Hashed(1, np.array([-1])), Linked.of(*np.zeros((2, 0), int), 1)]
)
def test_duplicates_above_a_level_that_cannot_chain(level):
    with pytest.raises(UserError) as error:
        level.scanned(np.array([2, 2]))
    assert str(error.value) == f"duplicates cannot be joined above a {level.name} level"


@given(st.sampled_from("dsuhrbln"), st.sets(st.tuples(st.integers(0, 3), st.integers(0, 4))))
def test_a_level_gives_back_what_it_was_built_from(code, entries):
    parents, coordinates = np.array(sorted(entries), int).reshape(-1, 2).T
    level, positions = LEVELS[code].build(Entries(parents, coordinates, 4, 5))
    level.validate(4, 5)
    traced_parents, traced_coordinates = level.trace(positions)
    assert traced_parents.tolist() == parents.tolist()
    assert traced_coordinates.tolist() == coordinates.tolist()
    scanned, group_ends = level.scanned()
    listed = scanned.as_lists()
    fibers = [
        (parent, listed.coordinate(parent, step), listed.position(parent, step))
        for parent in range(4)
        for step in range(*listed.fiber(parent))
        if listed.coordinate(parent, step) >= 0
    ]
    found = {(parent, coordinate): position for parent, coordinate, position in fibers}
    assert list(found) == sorted(found)
    assert len(found) == len(fibers)
    for *place, position in zip(parents.tolist(), coordinates.tolist(), positions, strict=True):
        assert found[tuple(place)] == position
    assert group_ends is None
    if code == "d":
        assert len(found) == 4 * 5
    elif code != "r":
        assert len(found) == len(entries)
    if level.locates:
        for place in np.ndindex(4, 5):
            assert level.locate(*place) == found.get(place, -1)
