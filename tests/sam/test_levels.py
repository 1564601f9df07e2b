"""The levels of the matrix of the SAM paper's Figure 1, worked out by hand.

Those of other formats hold examples of the formats paper: its Sections 2 and 3.1, Figure 2.
"""

import pytest

from sam.levels import (
    LEVELS,
    Bitvector,
    Compressed,
    CompressedNonUnique,
    Dense,
    Hashed,
    Linked,
    Offset,
    Range,
    RunLength,
    Singleton,
    SingletonNonUnique,
    repeats,
)


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
