"""The arrays of tensors as regions of memory."""

from types import SimpleNamespace

import numpy as np

from sam.graph import Slot
from sam.levels import INDEX
from sam.memory_regions import VALUE, Regions, RegionTable, asks_in_turn, asks_memory, tile_sizes
from sam.tensor import Tensor

# Rows 0, 1 and 3 of a 4x4 matrix have 1, 2 and 2 entries.
FIGURE = np.array([[0, 1, 0, 0], [2, 0, 3, 0], [0, 0, 0, 0], [0, 4, 0, 5]], float)
SLOTS = [Slot("B", "B", "ds", ((0,), (1,)), ("i", "j")), Slot("number", None, constant=2)]


def entry_bytes(unit, size):
    return size if unit == VALUE else 4


def test_levels_and_values_have_regions():
    table = RegionTable(SLOTS, None, entry_bytes, kept_in="buffer")
    rows, columns = Tensor.of(FIGURE).convert("ds").levels
    assert table.of_level("B", 0, rows) == {}
    found = table.of_level("B", 1, columns)
    assert {part: (one.unit, one.length, one.kept_in) for part, one in found.items()} == {
        "seg": (INDEX, 5, "buffer"),
        "crd": (INDEX, 5, "buffer"),
    }
    assert table.of_level("B", 1, columns)["seg"] is found["seg"]
    values = table.of_values("B", 5, 8)["val"]
    assert (values.tensor, values.level, values.unit, values.length) == ("B", None, VALUE, 5)


def test_numbers_and_tensors_in_tiles_have_no_regions():
    table = RegionTable(SLOTS, None, entry_bytes, tiled={"B"})
    _, columns = Tensor.of(FIGURE).convert("ds").levels
    assert table.of_values("number", 1, 8) == {}
    assert table.of_level("B", 1, columns) == {}
    assert table.of_result(0, {"crd": INDEX}) == {}
    assert table.of_tiles("number", 0, [8], None, None) is None
    assert table.of_tiles("B", 1, [8, 16], "buffer", "dram").sizes == [8, 16]


def test_a_result_is_written():
    table = RegionTable([], Slot("X", "X", "ds"), entry_bytes)
    assert table.of_result(1, {"crd": INDEX})["crd"].length is None


def test_a_tile_has_all_arrays_below_a_position():
    """A row has two ends of its fiber and for each entry a coordinate and a value: 8 + 12 n."""
    tensor = Tensor.of(FIGURE).convert("ds")
    assert tile_sizes(tensor, 1, entry_bytes) == [8 + 12, 8 + 24, 8, 8 + 24]
    assert tile_sizes(tensor, 2, entry_bytes) == [8] * 5


def test_blocks_that_ask_memory():
    assert not asks_memory(None)
    assert not asks_memory(SimpleNamespace(regions=Regions(), size=3))
    region = RegionTable(SLOTS, None, entry_bytes).of_values("B", 5, 8)
    assert asks_memory(SimpleNamespace(regions=region))
    chained = Tensor.of([1, 0, 2]).convert("l").scanned_levels()[0]
    assert asks_in_turn(SimpleNamespace(level=chained))
    assert not asks_in_turn(SimpleNamespace(level=Tensor.of([1, 2]).levels[0]))
