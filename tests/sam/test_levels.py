"""The levels of the matrix of the SAM paper's Figure 1, worked out by hand.

Those of other formats hold examples of the formats paper: its Sections 2 and 3.1, Figure 2.
"""

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
    SingletonNonUnique,
    repeats,
)
from sam.support.errors import UserError

# Rows 0, 1 and 3 of a 4x4 matrix have the columns (1), (0, 2) and (1, 3).
ROWS = np.array([0, 1, 1, 3, 3])
COLUMNS = np.array([1, 0, 2, 1, 3])


def test_levels_are_listed_by_code():
    listed = {code: (level, level.name) for code, level in LEVELS.items()}
    assert listed == {
        "d": (Dense, "dense"),
        "s": (Compressed, "compressed"),
        "u": (CompressedNonUnique, "compressed non-unique"),
        "q": (Singleton, "singleton"),
        "c": (SingletonNonUnique, "singleton non-unique"),
        "h": (Hashed, "hashed"),
        "r": (Range, "range"),
        "o": (Offset, "offset"),
        "b": (Bitvector, "bitvector"),
        "l": (Linked, "linked list"),
        "n": (RunLength, "run-length"),
    }


def test_compressed_rows_below_the_root():
    level, positions = Compressed.build(Entries(np.zeros(5, int), ROWS, 1, 4))
    assert level.as_lists().segments == [0, 3]
    assert level.as_lists().coordinates == [0, 1, 3]
    assert positions.tolist() == [0, 1, 1, 2, 2]
    assert level.positions(1) == 3


def test_compressed_columns_below_compressed_rows():
    level, positions = Compressed.build(Entries(np.array([0, 1, 1, 2, 2]), COLUMNS, 3, 4))
    assert level.as_lists().segments == [0, 1, 3, 5]
    assert level.as_lists().coordinates == [1, 0, 2, 1, 3]
    assert positions.tolist() == [0, 1, 2, 3, 4]
    assert [level.fiber(parent) for parent in range(3)] == [(0, 1), (1, 3), (3, 5)]
    assert [level.coordinate(1, position) for position in (1, 2)] == [0, 2]


def test_compressed_columns_below_dense_rows_have_an_empty_fiber():
    level, _ = Compressed.build(Entries(ROWS, COLUMNS, 4, 4))
    assert level.as_lists().segments == [0, 1, 3, 3, 5]
    assert level.fiber(2) == (3, 3)


def test_dense_stores_its_size_only():
    level, positions = Dense.build(Entries(np.array([0, 1, 1, 2, 2]), COLUMNS, 3, 4))
    assert level.size == 4
    assert positions.tolist() == [1, 4, 6, 9, 11]
    assert level.positions(3) == 12
    assert level.fiber(2) == (8, 12)
    assert level.coordinate(2, 9) == 1
    assert level.as_lists().size == 4


def test_singleton_stores_one_coordinate_for_each_parent():
    level, positions = Singleton.build(Entries(np.arange(5), COLUMNS, 5, 4))
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
        Singleton.build(Entries(np.array(parents), np.array(coordinates), number, 4))
    assert str(error.value) == f"the level cannot be stored as singleton: {text}"


def test_as_lists_gives_python_integers():
    level, _ = Compressed.build(Entries(ROWS, COLUMNS, 4, 4))
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
            "its 2 nodes are not in one list each, at one place",
        ),
        (
            Linked(np.array([0, -1]), np.array([-1, 1]), np.array([0, 1])),
            "a list of its goes round",
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


def test_non_unique_rows_have_a_position_for_each_chain():
    """The rows of the COO matrix, and those of its blocks of 1 x 2: row 1 is in two of them."""
    rows = np.zeros(5, int), ROWS, 1, 4
    level, positions = CompressedNonUnique.build(Entries(*rows, chain=np.arange(5)))
    assert level.as_lists().segments == [0, 5]
    assert level.as_lists().coordinates == [0, 1, 1, 3, 3]
    assert positions.tolist() == [0, 1, 2, 3, 4]
    blocks = np.array([0, 1, 2, 3, 3])
    level, positions = CompressedNonUnique.build(Entries(*rows, chain=blocks))
    assert level.as_lists().coordinates == [0, 1, 1, 3]
    assert positions.tolist() == [0, 1, 2, 3, 3]


def test_non_unique_without_chains_is_compressed():
    level, positions = CompressedNonUnique.build(Entries(np.zeros(5, int), ROWS, 1, 4))
    assert level.as_lists().coordinates == [0, 1, 3]
    assert positions.tolist() == [0, 1, 1, 2, 2]


def test_the_hash_map_of_the_paper():
    """Section 3.1: a table of 6 buckets with the coordinates 0, 1, 6 and 4."""
    level = Hashed(6, np.array([0, 1, 6, -1, 4, -1]))
    level.validate(1, 12)
    assert level.fiber(0) == (0, 6)
    assert [level.coordinate(0, step) for step in range(6)] == [0, 1, 6, -1, 4, -1]
    assert [level.locate(0, coordinate) for coordinate in (0, 1, 6, 4, 2, 12)] == [
        0,
        1,
        2,
        4,
        -1,
        -1,
    ]


def test_hashed_probes_linearly_and_round_the_end():
    # Tables of 8: 3 and 11 want bucket 3, and 4 the next one; 7 and 15 want the last.
    level, positions = Hashed.build(
        Entries(np.array([0, 0, 0, 2, 2, 2]), np.array([3, 4, 11, 0, 7, 15]), 3, 16)
    )
    assert level.width == 8
    tables = level.coordinates.reshape(3, 8).tolist()
    assert tables[0] == [-1, -1, -1, 3, 11, 4, -1, -1]
    assert tables[1] == [-1] * 8
    assert tables[2] == [15, 0, -1, -1, -1, -1, -1, 7]
    assert positions.tolist() == [3, 5, 4, 17, 23, 16]
    assert level.locate(2, 15) == 16
    assert level.locate(2, 8) == -1
    level.validate(3, 16)


def test_hashed_without_entries_has_a_bucket_for_each_parent():
    level, _ = Hashed.build(Entries(np.zeros(0, int), np.zeros(0, int), 3, 4))
    assert (level.width, level.positions(3)) == (1, 3)


# Figure 2e, stored as in Figure 2j: diagonals -3, -1, 0 and 1 of a matrix of 4 rows, 6 columns.
DIAGONALS = Range(4, np.array([3, 1, 0, 0]), np.array([4, 4, 4, 4]))
COLUMNS_OF_DIAGONALS = Offset(6, 4, np.array([-3, -1, 0, 1]))


def test_the_range_of_the_paper():
    """Section 3.1: parent 1, of the offset -1, has max(0, 1) to min(4, 6 + 1)."""
    assert DIAGONALS.fiber(1) == (4 + 1, 4 + 4)
    assert [DIAGONALS.coordinate(1, step) for step in range(5, 8)] == [1, 2, 3]
    assert DIAGONALS.positions(4) == 16
    assert DIAGONALS.holds(np.arange(16)).tolist() == [*[False] * 3, True, False, *[True] * 11]
    DIAGONALS.validate(4, 4)


def test_the_offset_of_the_paper():
    """Section 3.1: parent coordinate 3 and offset index 1 encode 3 + -1 = 2."""
    assert COLUMNS_OF_DIAGONALS.fiber(4 + 3) == (7, 8)
    assert COLUMNS_OF_DIAGONALS.coordinate(7, 7) == 2
    assert COLUMNS_OF_DIAGONALS.coordinate(4, 4) == -1
    assert COLUMNS_OF_DIAGONALS.positions(16) == 16
    COLUMNS_OF_DIAGONALS.validate(16, 6, [Dense(4), DIAGONALS])


def test_range_goes_from_the_first_entry_to_the_last():
    level, positions = Range.build(Entries(np.array([0, 2, 2]), np.array([3, 1, 3]), 3, 5))
    assert level.as_lists().begins == [3, 0, 1]
    assert level.as_lists().ends == [4, 0, 4]
    assert positions.tolist() == [3, 11, 13]


def test_run_length_stores_runs_without_gaps():
    """Rows (0, 1, 3), () and (1, 2): three runs, with positions 0 to 1, 2, and 3 to 4."""
    level, positions = RunLength.build(
        Entries(np.array([0, 0, 0, 2, 2]), np.array([0, 1, 3, 1, 2]), 3, 4)
    )
    assert level.as_lists().segments == [0, 2, 2, 3]
    assert level.as_lists().starts == [0, 2, 3, 5]
    assert level.as_lists().begins == [0, 3, 1]
    assert positions.tolist() == [0, 1, 2, 3, 4]
    assert [level.fiber(row) for row in range(3)] == [(0, 3), (3, 3), (3, 5)]
    assert [level.coordinate(0, step) for step in range(3)] == [0, 1, 3]
    level.validate(3, 4)


def test_offset_is_the_difference_from_the_coordinate_above():
    level, positions = Offset.build(
        Entries(np.array([3, 5, 7]), np.array([0, 0, 2]), 8, 6, [Dense(2), Dense(4)])
    )
    assert level.as_lists().offsets == [-3, -1]
    assert positions.tolist() == [3, 5, 7]


@pytest.mark.parametrize(
    ("above", "coordinates", "text"),
    [
        (
            [Compressed(np.array([0, 4]), np.arange(4))],
            [0, 1],
            "the level above it does not have a position for every coordinate of its mode",
        ),
        (
            [],
            [0, 1],
            "the level above it does not have a position for every coordinate of its mode",
        ),
        (
            [Dense(4)],
            [1, 3],
            "its coordinates differ from those above by 0 and by 1 in the same fiber 0",
        ),
    ],
)
def test_offset_refuses(above, coordinates, text):
    with pytest.raises(UserError) as error:
        Offset.build(Entries(np.array([1, 2]), np.array(coordinates), 4, 6, above))
    assert str(error.value) == f"the level cannot be stored as offset: {text}"


def test_bitvector_counts_the_ones_before():
    """A parent of 70 coordinates has two words: 1 and 64 of parent 0, 0, 2 and 69 of parent 1."""
    level, positions = Bitvector.build(
        Entries(np.array([0, 0, 1, 1, 1]), np.array([1, 64, 0, 2, 69]), 2, 70)
    )
    assert level.as_lists().words == [0b10, 0b1, 0b101, 0b100000]
    assert level.as_lists().ranks == [0, 1, 2, 4, 5]
    assert positions.tolist() == [0, 1, 2, 3, 4]
    assert level.positions(2) == 5
    assert level.fiber(1) == (70, 140)
    listed = level.as_lists()
    assert [listed.coordinate(1, 70 + c) for c in (0, 1, 2, 69)] == [0, -1, 2, 69]
    assert [listed.position(1, 70 + c) for c in (0, 2, 69)] == [2, 3, 4]
    level.validate(2, 70)


def test_a_bitvector_of_words():
    level = Bitvector.of(70, np.array([0b10, 0b1, 0b101, 1 << 63], "uint64"))
    assert level.ranks.tolist() == [0, 1, 2, 4, 5]
    assert Bitvector.of(0, np.zeros(0, "uint64")).ranks.tolist() == [0]


@pytest.mark.parametrize(
    ("codes", "due"),
    [
        ("", ()),
        ("u", (0,)),
        ("uq", (1, 0)),
        ("uccq", (3, 2, 1, 0)),
        ("uqs", (1, 0, 0)),
        ("duqd", (0, 1, 0, 0)),
        ("uuq", (0, 1, 0)),
        ("scq", (0, 0, 0)),
        ("q", (0,)),
        ("dro", (0, 0, 0)),
    ],
)
def test_levels_that_repeat_their_coordinates(codes, due):
    assert repeats(codes) == due


def test_nodes_are_appended_to_any_list():
    """To the lists of parents 1, 0, 1, 1: the lists are (1) and (0, 2, 3), parent 2 has none."""
    level = Linked.of(np.array([1, 0, 1, 1]), np.array([3, 7, 5, 8]), 3)
    assert level.heads.tolist() == [1, 0, -1]
    assert level.nexts.tolist() == [2, -1, 3, -1]
    level.validate(3, 9)
    assert [level.fiber(parent) for parent in range(3)] == [(0, 1), (1, 4), (4, 4)]
    assert [level.coordinate(1, step) for step in range(1, 4)] == [3, 5, 8]
    assert [level.position(1, step) for step in range(1, 4)] == [0, 2, 3]
    parents, coordinates = level.trace(np.arange(4))
    assert parents.tolist() == [1, 0, 1, 1]
    assert coordinates.tolist() == [3, 7, 5, 8]


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
