"""The lines of a text file, and errors that name them."""

import pytest

from sam.io.text import Text, count, short
from sam.support.errors import UserError

DATA = b"# comment\n\n2 3\r\n  \n1 1 2.5\n# more\n2 3 1d2\n"


def test_comments_and_blank_lines_are_passed_over():
    text = Text("a.tns", DATA)
    assert len(text) == 3
    assert text.first(2) == ["2 3", "1 1 2.5"]
    assert [text.number(n) for n in range(3)] == [3, 5, 7]
    assert Text("a.mtx", b"% no\n1\n", comment="%").first(5) == ["1"]


def test_a_table_of_entries():
    coordinates, values = Text("a.tns", DATA).table(1, 2, "float64")
    assert coordinates.tolist() == [[1, 2], [1, 3]]
    assert values.tolist() == [2.5, 100.0]
    coordinates, values = Text("a", b"1 2\n").table(0, 2, "")
    assert (coordinates.tolist(), values.tolist()) == ([[1], [2]], [1.0])
    assert Text("a", b"").table(0, 2, "float64")[0].shape == (2, 0)
    assert Text("a", b"1 2 3\n").table(0, 1, "complex128")[1].tolist() == [2 + 3j]


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (b"1 x 2", '"x" is not a coordinate'),
        (b"1 1 y", '"y" is not a value of the type float64'),
        (b"1 1", "expected 3 numbers, not 2"),
        (b"1 1 1 1", "expected 3 numbers, not 4"),
    ],
)
def test_the_first_wrong_line_is_named(line, error):
    with pytest.raises(UserError) as caught:
        Text("a.tns", b"1 1 1\n\n" + line + b"\n").table(0, 2, "float64")
    assert caught.value.what == f"a.tns, line 3: {error}"


def test_coordinates_count_from_a_base():
    text = Text("a.tns", b"1 1 5\n3 1 5\n")
    coordinates, _ = text.table(0, 2, "float64")
    assert text.zero_based(0, coordinates, (3, 1)).tolist() == [[0, 2], [0, 0]]
    with pytest.raises(UserError) as caught:
        text.zero_based(0, coordinates, (2, 1))
    assert (
        caught.value.what == "a.tns, line 2: the coordinate 3 is outside: mode 0 has the extent 2"
    )
    with pytest.raises(UserError, match="the coordinate 1 is outside: coordinates count from 2"):
        text.zero_based(0, coordinates, (3, 3), base=2)


def test_whole_numbers_of_a_line():
    text = Text("a.mtx", b"3 4\n3 -4\n")
    assert text.integers(0, "a size") == [3, 4]
    with pytest.raises(UserError) as caught:
        text.integers(1, "a size")
    assert caught.value.what == 'a.mtx, line 2: "-4" is not a size'
    text.require_entries(4, 4, 0)
    with pytest.raises(UserError, match="the sizes say 1 entry, and 2 entries are listed"):
        text.require_entries(2, 1, 0)


def test_words_for_errors():
    assert (count(1, "entry", "entries"), count(2, "mode")) == ("1 entry", "2 modes")
    assert short("x" * 101) == "x" * 100 + "…"
