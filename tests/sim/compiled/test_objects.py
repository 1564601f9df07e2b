"""The memories of blocks as C has them."""

import ctypes
import gc
import resource
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import custard
from sam.arithmetic import Operation
from sam.blocks.block_memory import Accumulator, Growing, Stored
from sim.compiled.objects import CAccumulator, CGrowing, Objects, Room, at
from sim.compiled.structures import SHARED
from sim.compiled.translations import libraries, text
from tests.support.compiler import needs_compiler

pytestmark = needs_compiler


@pytest.fixture
def objects():
    [runtime] = libraries([SHARED.exported(text("scheduler.c"))])
    made = Objects(runtime, Room())
    yield made
    made.close()


def part(dtype=float, **memory):
    return SimpleNamespace(memory=SimpleNamespace(**memory), dtype=np.dtype(dtype))


def test_an_object_at_a_path():
    memory = SimpleNamespace(level=SimpleNamespace(seg=[1]), many=("a", "b"))
    assert at(memory, ("level", "seg")) == [1]
    assert at(memory, ("many", "1")) == "b"
    assert at(memory, ()) is memory


@pytest.mark.parametrize(
    ("dtype", "due"),
    [("bool", "int64"), ("int8", "int64"), ("float32", "float64"), ("complex64", "complex128")],
)
def test_arrays_have_the_types_that_c_computes_in(objects, dtype, due):
    found = objects.of(part(vals=np.arange(3).astype(dtype)[::2]), ("vals",))
    assert found.dtype == due
    assert found.flags.c_contiguous


def test_two_halves_of_a_block_share_their_memory(objects):
    crd = Growing([3, 4])
    first, second = part(crd=crd), part(crd=crd)
    made = objects.of(first, ("crd",))
    assert objects.of(second, ("crd",)) is made
    assert isinstance(made, CGrowing)
    assert made.length == 2


def test_numbers_that_c_has_stored_come_back(objects):
    whole, values = Growing([3]), Growing(values=True)
    made = objects.of(part(crd=whole), ("crd",))
    objects.runtime.append(ctypes.byref(made), ctypes.c_int64(7))
    objects.of(part(out=values), ("out",))
    counted = Stored(0, integers=True)
    objects.runtime.append(ctypes.byref(objects.of(part(n=counted), ("n",))), ctypes.c_int64(5))
    objects.bring_back()
    assert whole.to_list() == [3, 7]
    assert values.to_numpy(float).tolist() == []
    assert counted.to_numpy(3, int).tolist() == [5, 0, 0]


@pytest.mark.parametrize(("capacity", "due"), [(None, -1), (12, 12)])
def test_an_accumulator_knows_its_size(objects, capacity, due):
    plus = Operation("add", np.dtype(float))
    made = objects.of(part(sums=Accumulator(2, capacity, plus)), ("sums",))
    assert isinstance(made, CAccumulator)
    assert (made.dimensions, made.capacity) == (2, due)


def test_an_array_of_addresses():
    room, array, growing = Room(), np.arange(3), CGrowing()
    found = (ctypes.c_void_p * 2).from_address(room.pointers([array, growing]))
    assert list(found) == [array.ctypes.data, ctypes.addressof(growing)]
    assert room.kept[1] is array
    assert room.kept[2] is growing
    assert Room().pointers([]) != 0


def test_a_room_keeps_structures_apart_from_all_others():
    room, other = Room(apart=True), Room(apart=True)
    held = [one.hold(CGrowing(length=5)) for one in (room, other) for _ in range(1000)]
    at = np.array([ctypes.addressof(one) for one in held])
    assert {one.length for one in held} == {5}
    assert np.abs(np.subtract.outer(at[:1000], at[1000:])).min() >= 128 + ctypes.sizeof(CGrowing)
    assert list(room.numbers(3, [7])) == [7, 0, 0]
    assert len(room.hold((ctypes.c_char * 10**5)())) == 10**5


LARGE = 1 << 20
"""Numbers that take more than a large page."""


def large(objects):
    """A memory in which C has stored many numbers."""
    memory = Growing()
    made = objects.of(part(crd=memory), ("crd",))
    for n in range(LARGE):
        objects.runtime.append(ctypes.byref(made), ctypes.c_int64(n))
    return memory


def test_many_numbers_come_back_in_place_and_outlive_the_machine(objects):
    memory = large(objects)
    [(_, made, _)] = objects.grown
    address = made.items
    objects.bring_back()
    found = memory.to_numpy(np.int64)
    assert found.ctypes.data == address
    assert (made.items, made.length, made.mapped) == (None, 0, 0)
    objects.close()
    del memory
    np.testing.assert_array_equal(found, np.arange(LARGE))


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_the_memory_of_many_numbers_is_given_back_with_the_last_array(objects):
    def pages():
        return int(Path("/proc/self/statm").read_text().split()[0])

    memory = large(objects)
    objects.bring_back()
    part_of = memory.to_numpy(np.int64)[5:7]
    memory = None
    objects.close()
    objects.grown.clear()
    objects.made.clear()
    gc.collect()
    before = pages()
    assert part_of.tolist() == [5, 6]
    del part_of
    assert before - pages() >= 8 * LARGE // resource.getpagesize()


def test_arrays_that_outgrow_a_large_page_are_given_back():
    x = np.arange(1.0, 300_001)
    run = custard.compile("y(i) = x(i)", {"x": "d", "y": "d"}).simulate({"x": x}, engine="compiled")
    found = run.output
    del run
    np.testing.assert_array_equal(found.to_numpy(), x)


def test_places_of_many_that_nothing_is_stored_at_are_zero(objects):
    n = 300_000
    x = np.zeros((2, n))
    x[1, ::1000], x[0, 7] = 1, 2
    program = custard.compile("y(i) = A(k,i)", {"A": "ds", "y": "d"}, "reorder(k,i)")
    found = program.simulate({"A": x}, engine="compiled").output
    np.testing.assert_array_equal(found.to_numpy(), x.sum(axis=0))
