"""Lines of numbers are read in C as Python reads them, and written so that they read back."""

import random
import struct

import numpy as np
import pytest

from sam.io import number_lines
from sam.io.text import Text

pytestmark = pytest.mark.skipif(number_lines._functions() is None, reason="there is no C compiler")
SPECIAL = [
    "0",
    "0.0",
    "-0.0",
    ".5",
    "5.",
    "00001.50",
    "inf",
    "-inf",
    "nan",
    "-nan",
    "NaN",
    "Infinity",
    "1e400",
    "1e-400",
    "4.9e-324",
    "2.2250738585072011e-308",
    "1.7976931348623157e308",
    "1.7976931348623159e308",
    "1e23",
    "9007199254740993",
    "9007199254740992.5",
    "0.000000000000000000000000000000001234567890123456789",
    "123456789012345678901234567890",
    "0.1e-5",
    "1E+5",
]


@pytest.fixture(autouse=True)
def _reads_little_in_c(monkeypatch):
    monkeypatch.setattr(number_lines, "_LEAST_BYTES", 0)
    monkeypatch.setattr(number_lines, "_FEW", 0)


def _decimals(count):
    chosen = random.Random(0)
    for _ in range(count):
        yield repr(struct.unpack("d", struct.pack("Q", chosen.getrandbits(64)))[0])
        yield repr(chosen.random())
        yield f"{chosen.getrandbits(64)}e{chosen.randint(-345, 310)}"
        yield f"{chosen.uniform(-1, 1):.{chosen.randint(0, 30)}e}"
        half = 2 * chosen.getrandbits(53) + 1  # between two doubles, if it has 54 bits
        yield f"{half << chosen.randint(0, 9)}"
        yield f"{half // 4}.{half % 4 * 25:02}"


class TestScan:
    def test_decimals_are_the_nearest_doubles(self):
        words = [*SPECIAL, *_decimals(5000)]
        text = "".join(f"1 {word}\n" for word in words).encode()
        coordinates, values = number_lines.scan(text, 0, 1, "float64")
        assert (coordinates == 1).all()
        assert values.shape == (len(words),)
        due = np.array([float(word) for word in words])
        same = (values.view(np.int64) == due.view(np.int64)) | (np.isnan(values) & np.isnan(due))
        assert [word for word, right in zip(words, same, strict=True) if not right] == []

    def test_exponents_may_be_written_with_d(self):
        _, values = number_lines.scan(b"1d5\n1.5D-3\n123456789012345678901D-3", 0, 0, "float64")
        assert values.tolist() == [1e5, 1.5e-3, 123456789012345678.901]

    def test_blank_lines_tabs_and_carriage_returns(self):
        text = b"head\n\n 1\t20  -3 \r\n  \n4 5 6"
        coordinates, values = number_lines.scan(text, 5, 2, "int64")
        assert coordinates.tolist() == [[1, 4], [20, 5]]
        assert values.tolist() == [-3, 6]

    def test_complex_values_and_none(self):
        coordinates, values = number_lines.scan(b"7 1.5 -2\n", 0, 1, "complex128")
        assert (coordinates.tolist(), values.tolist()) == ([[7]], [1.5 - 2j])
        coordinates, values = number_lines.scan(b"7 8\n", 0, 2, "")
        assert (coordinates.tolist(), values.tolist()) == ([[7], [8]], [1.0])

    @pytest.mark.parametrize(
        "line",
        [
            "1 2",
            "1 2 3 4",
            "1.0 2 3",
            "1 -2 3",
            "1 2 3x",
            "1 2 0x3",
            "1 2 .",
            "1 2 -",
            "1 2 e5",
            "1 2 1e",
            "1 2 1e+",
            "1 2 +1",
            "1 2 nane",
            "1 2 in",
            "1 2 infinit",
            "1 2 1.2.3",
            "1 2 1-2",
            "1 2 1_0",
            "% 2 3",
            "1234567890123456 2 3",
            "1 2 nan(1)",
            "1 2 3 \x00",
            "1 2\n3",
            "ÿ 2 3",
        ],
    )
    def test_refuses_all_but_plain_numbers(self, line):
        text = f"1 2 3\n{line}\n1 2 3\n".encode("latin-1")
        assert number_lines.scan(text, 0, 2, "float64") is None

    @pytest.mark.parametrize("line", ["1 1.0", "1 1234567890123456789", "1 -", "1 --1"])
    def test_refuses_all_but_plain_integers(self, line):
        assert number_lines.scan(f"1 1\n{line}\n".encode(), 0, 1, "int64") is None

    def test_says_nothing_of_no_lines(self):
        assert number_lines.scan(b"\n \n", 0, 1, "float64") is None

    def test_gives_what_the_reader_in_python_gives(self):
        chosen = np.random.default_rng(0)
        columns = chosen.integers(1, 10**9, 300), chosen.integers(1, 10, 300), chosen.random(300)
        lines = [
            f"{i} {j} {value!r}"
            for i, j, value in zip(*map(np.ndarray.tolist, columns), strict=True)
        ]
        text = Text("file", "\n".join(lines).encode())
        for one, other in zip(
            text.table(0, 2, "float64"), text._parse(0, 2, "float64"), strict=True
        ):
            assert (one == other).all()


class TestEntries:
    @pytest.mark.parametrize("modes", [0, 1, 2, 3])
    @pytest.mark.parametrize("kind", ["int64", "float64", "complex128", "bool"])
    @pytest.mark.parametrize("compiled", [True, False])
    def test_reads_back(self, modes, kind, compiled, monkeypatch):
        chosen = np.random.default_rng(1)
        coordinates = chosen.integers(0, 10 ** np.arange(1, modes + 1)[:, None], (modes, 50))
        values = chosen.integers(-(10**17), 10**17, 50)
        if kind != "int64":
            values = (chosen.normal(size=50) * 10.0 ** chosen.integers(-300, 300, 50)).astype(kind)
        if not compiled:
            monkeypatch.setattr(number_lines, "_functions", lambda: None)
        text = number_lines.entries(coordinates, values)
        monkeypatch.undo()
        stored = "int64" if kind == "bool" else kind
        found, same = Text("file", text).table(0, modes, stored)
        assert (found == coordinates + 1).all()
        assert (same == values).all()
