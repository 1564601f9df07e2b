"""The helper functions of generated C, each called from Python."""

import sys
from ctypes import c_bool, c_double, c_int32, c_int64, c_size_t, c_uint8, c_uint64, c_void_p
from resource import RUSAGE_SELF, getrusage

import numpy as np
import pytest

from custard.to_c.runtime import NAMES, helpers
from sam.support import c_compiler as cc
from tests.support.compiler import needs_compiler
from tests.support.quick_c import QUICK

pytestmark = needs_compiler

HEADERS = "\n".join(
    f"#include <{name}.h>" for name in ("complex", "stdbool", "stdint", "stdlib", "string")
)


def library(names, *wrappers):
    """The helpers, which are static, behind functions that are not."""
    source = "\n".join((HEADERS, *helpers(names), *wrappers))
    (found,) = cc.build([source], flags=(*QUICK, "-Wall", "-Wextra", "-Werror"))
    return found


def test_each_helper_comes_once_and_behind_what_it_needs():
    text = "\n".join(helpers(["resized_zero", "resized_zero", "workspace_double_new"]))
    assert text.count("static void *resized(") == 1
    assert text.count("static void *resized_zero(") == 1
    assert text.count("struct workspace_double {") == 1
    assert text.index("*resized(") < text.index("*resized_zero(")
    assert text.index("*resized(") < text.index("workspace_double_grow(")
    assert "grown" not in text


def test_only_called_helpers_are_printed():
    assert list(helpers(["grow_X1", "something_of_the_kernel"])) == []
    # A function of the kernel may be called nearly like a helper.
    assert list(helpers(["grow_workspace_double_1"])) == []


def test_names_that_tensors_cannot_have():
    assert {"resized", "mark_bit", "sort_buckets_int32_t", "wide_t"} <= NAMES


# Memory


@pytest.fixture(scope="module")
def memory():
    found = library(
        ["resized", "resized_zero", "grown", "times"],
        "void *moved(void *p, int64_t n, size_t s) { return resized(p, n, s); }",
        "void *zeroed(void *p, int64_t o, int64_t n, size_t s)",
        "{ return resized_zero(p, o, n, s); }",
        "int64_t next(int64_t n, int64_t need, int64_t least, int64_t most)",
        "{ return grown(n, need, least, most); }",
        "int64_t product(int64_t a, int64_t b) { return times(a, b); }",
        "void dropped(void *p) { free(p); }",
    )
    found.moved.restype = found.zeroed.restype = c_void_p
    found.moved.argtypes = (c_void_p, c_int64, c_size_t)
    found.zeroed.argtypes = (c_void_p, c_int64, c_int64, c_size_t)
    found.product.restype, found.product.argtypes = c_int64, (c_int64, c_int64)
    found.next.restype, found.next.argtypes = c_int64, (c_int64,) * 4
    found.dropped.argtypes = (c_void_p,)
    return found


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts page faults as Linux does")
def test_a_large_array_grows_without_a_copy(memory):
    """Its pages are moved: a copy would touch all of them."""
    array = memory.moved(None, 1 << 26, 1)
    before = getrusage(RUSAGE_SELF).ru_minflt
    array = memory.moved(array, 1 << 27, 1)
    faults = getrusage(RUSAGE_SELF).ru_minflt - before
    memory.dropped(array)
    assert faults < 100


def test_an_array_keeps_its_values_however_large_it_gets(memory):
    had, array = 0, None
    for count in (1 << 16, 1 << 20, 3 << 20, 5 << 20, 9 << 20, 40 << 20):
        array = memory.zeroed(array, had, count, 1)
        values = np.ctypeslib.as_array((c_uint8 * count).from_address(array))
        assert (values[:had:4096] == 7).all()
        assert not values[had:].any()
        values[:], had = 7, count
    memory.dropped(array)


@pytest.mark.parametrize("count", [2**61, 2**62, 2**63 - 1, -1, -(2**63)])
def test_arrays_that_are_too_large_are_no_memory(memory, count):
    """2**61 numbers of eight bytes are 2**64 bytes, which would be none."""
    assert memory.moved(None, count, 8) is None
    assert memory.zeroed(None, 0, count, 8) is None
    assert memory.zeroed(memory.moved(None, 4, 8), 4, count, 8) is None


def test_no_elements_are_some_memory(memory):
    for place in (memory.moved(None, 0, 8), memory.zeroed(None, 0, 0, 8)):
        assert place is not None
        memory.dropped(place)


def test_a_resized_array_keeps_its_values_and_zeroes_new_ones(memory):
    place = memory.moved(None, 3, 8)
    np.ctypeslib.as_array((c_int64 * 3).from_address(place))[:] = 7, 8, 9
    place = memory.zeroed(place, 2, 1000, 8)
    assert (c_int64 * 1000).from_address(place)[:] == [7, 8, *[0] * 998]
    place = memory.moved(place, 2, 8)
    assert (c_int64 * 2).from_address(place)[:] == [7, 8]
    memory.dropped(place)


@pytest.mark.parametrize(
    ("capacity", "need", "most", "due"),
    [
        (0, 1, 2**31 - 1, 1024),
        (0, 5000, 2**31 - 1, 5000),
        (1024, 1025, 2**31 - 1, 2048),
        (1024, 2049, 2**31 - 1, 2049),
        (2**30, 2**30 + 1, 2**31 - 1, 2**31 - 1),
        (2**31 - 1, 2**31, 2**31 - 1, -1),
        (2**62, 2**62 + 1, 2**63 - 1, 2**63 - 1),
        (1024, 1025, 2048, 2048),
        (2048, 2049, 2048, -1),
    ],
)
def test_capacities_double_up_to_the_most(memory, capacity, need, most, due):
    assert memory.next(capacity, need, 1024, most) == due


@pytest.mark.parametrize(
    ("a", "b", "due"),
    [
        (3, 4, 12),
        (0, 2**63 - 1, 0),
        (-1, 5, -5),
        (2**31, 2**31, 2**62 - 1),
        (2**40, 2**40, 2**62 - 1),
    ],
)
def test_products_that_are_too_large_stay_too_large(memory, a, b, due):
    """One of 2**64 would be 0, for which there is memory."""
    assert memory.product(a, b) == due


# Bits


@pytest.fixture(scope="module")
def bits():
    found = library(
        ["mark_bit", "take_bits", "lowest_bit"],
        "void mark(uint64_t *w, uint64_t *t, int64_t *s, int64_t n) { mark_bit(w, t, s, n); }",
        "int64_t take(uint64_t *w, uint64_t *t, int64_t *s, int64_t *l)",
        "{ return take_bits(w, t, s, l); }",
        "int64_t lowest(uint64_t b) { return lowest_bit(b); }",
    )
    found.take.restype = found.lowest.restype = c_int64
    found.lowest.argtypes = (c_uint64,)
    return found


def test_the_lowest_bit(bits):
    assert [bits.lowest(n) for n in (1, 2, 12, 2**63, 2**63 + 8)] == [0, 1, 2, 63, 3]


@pytest.mark.parametrize("size", [1, 63, 64, 65, 4095, 4096, 4097, 9000, 2_000_000])
@pytest.mark.parametrize("share", [0.0, 1e-5, 0.01, 1.0])
def test_bits_that_are_marked_are_taken_in_order_and_cleared(bits, size, share):
    words = np.zeros(size // 64 + 1, np.uint64)
    tops = np.zeros(len(words) // 64 + 1, np.uint64)
    touched = np.zeros(len(tops) + 1, np.int64)
    taken = np.zeros(size, np.int64)
    pointers = [array.ctypes.data_as(c_void_p) for array in (words, tops, touched)]
    for seed in range(2):
        random = np.random.default_rng(seed)
        marked = np.flatnonzero(random.random(size) < share)
        for n in random.permutation(np.concatenate([marked, marked[::2]])):
            bits.mark(*pointers, c_int64(n))
        count = bits.take(*pointers, taken.ctypes.data_as(c_void_p))
        assert np.array_equal(taken[:count], marked)
        assert not words.any()
        assert not tops.any()


# Hash tables


@pytest.mark.parametrize("index", ["int32", "int64"])
def test_hash_tables(index):
    type = f"{index}_t"
    found = library(
        [f"locate_hashed_{type}", f"sort_buckets_{type}"],
        f"int64_t locate(const {type} *b, int64_t w, int64_t p, int64_t c)",
        f"{{ return locate_hashed_{type}(b, w, p, c); }}",
        f"int64_t sort(const {type} *b, int64_t f, int64_t w, int64_t *l)",
        f"{{ return sort_buckets_{type}(b, f, w, l); }}",
    )
    found.locate.restype = found.sort.restype = c_int64
    # Of width 4: 6 is where 2 would be, 3 in the last, 7 and 11 round at the begin. One is full.
    buckets = np.array([-1, -1, -1, -1, 7, -1, 6, 3, 11, 8, 5, 7], index)
    place = buckets.ctypes.data_as(c_void_p)

    def locate(parent, coordinate):
        return found.locate(place, c_int64(4), c_int64(parent), c_int64(coordinate))

    assert [locate(0, c) for c in range(8)] == [-1] * 8
    assert [locate(1, c) for c in (2, 3, 6, 7, 11, 0)] == [-1, 7, 6, 4, -1, -1]
    assert [locate(2, c) for c in (7, 11, 8, 5, 3, 1)] == [11, 8, 9, 10, -1, -1]

    ranked = np.zeros(4, np.int64)

    def sort(first):
        count = found.sort(place, c_int64(first), c_int64(4), ranked.ctypes.data_as(c_void_p))
        return ranked[:count].tolist()

    assert sort(0) == []
    assert sort(4) == [7, 6, 4]
    assert sort(8) == [10, 11, 9, 8]


@pytest.mark.parametrize("count", [2, 3, 17, 1000])
def test_buckets_are_sorted_whatever_their_order(count):
    found = library(
        ["sort_buckets_int32_t"],
        "int64_t sort(const int32_t *b, int64_t f, int64_t w, int64_t *l)",
        "{ return sort_buckets_int32_t(b, f, w, l); }",
    )
    random = np.random.default_rng(count)
    for order in (np.arange(count), np.arange(count)[::-1], random.permutation(count)):
        buckets, ranked = np.full(2 * count, -1, np.int32), np.zeros(count, np.int64)
        buckets[random.permutation(2 * count)[:count]] = order
        found.sort(
            buckets.ctypes.data_as(c_void_p),
            c_int64(0),
            c_int64(2 * count),
            ranked.ctypes.data_as(c_void_p),
        )
        assert np.array_equal(buckets[ranked], np.arange(count))


# Sparse workspaces

VALUES = {"double": c_double, "int32_t": c_int32, "bool": c_bool}


class Workspace:
    """A sparse workspace behind functions that take and give a key as two halves."""

    def __init__(self, kind, value):
        key = "wide_t" if kind.startswith("wide_") else "uint64_t"
        put = "(wide_t)high << 64 | low" if key == "wide_t" else "low"
        high = "(uint64_t)(w->keys[p] >> 64)" if key == "wide_t" else "(uint64_t)0"
        self.library = library(
            [f"{kind}_{part}" for part in ("new", "insert", "sort", "empty", "free")],
            f"void *make(void) {{ return {kind}_new(); }}",
            f"bool insert(struct {kind} *w, uint64_t high, uint64_t low, {value} v)",
            f"{{ (void)high; return {kind}_insert(w, {put}, v); }}",
            f"int64_t sorted(struct {kind} *w) {{ {kind}_sort(w); return w->sorted; }}",
            f"void empty(struct {kind} *w) {{ {kind}_empty(w); }}",
            f"void drop(struct {kind} *w) {{ {kind}_free(w); }}",
            f"uint64_t high(struct {kind} *w, int64_t p) {{ (void)w; (void)p; return {high}; }}",
            f"uint64_t low(struct {kind} *w, int64_t p) {{ return (uint64_t)w->keys[p]; }}",
            f"{value} value(struct {kind} *w, int64_t p) {{ return w->values[p]; }}",
            f"int64_t capacity(struct {kind} *w)",
            f"{{ return w->{'list->' if 'hash' in kind else ''}capacity; }}",
        )
        made = self.library
        made.make.restype, made.insert.restype = c_void_p, c_bool
        made.sorted.restype = made.capacity.restype = c_int64
        made.high.restype = made.low.restype = c_uint64
        made.value.restype = VALUES[value]
        made.insert.argtypes = (c_void_p, c_uint64, c_uint64, VALUES[value])
        for name in ("sorted", "empty", "drop", "capacity"):
            getattr(made, name).argtypes = (c_void_p,)
        for name in ("high", "low", "value"):
            getattr(made, name).argtypes = (c_void_p, c_int64)
        self.place = made.make()

    def insert(self, key, value):
        assert self.library.insert(self.place, key >> 64, key & (2**64 - 1), value)

    def components(self):
        made, place = self.library, self.place
        return {
            made.high(place, p) << 64 | made.low(place, p): made.value(place, p)
            for p in range(made.sorted(place))
        }


@pytest.mark.parametrize("kind", ["workspace", "bucket_workspace", "hash_workspace"])
def test_components_are_sorted_and_those_with_one_key_added_up(kind):
    workspace = Workspace(f"{kind}_double", "double")
    assert workspace.components() == {}
    for key, value in ((5, 1.0), (3, 2.0), (5, 4.0), (0, 8.0)):
        workspace.insert(key, value)
    found = workspace.components()
    assert list(found.items()) == [(0, 8.0), (3, 2.0), (5, 5.0)]
    workspace.insert(4, 1.0)
    workspace.insert(5, 1.0)
    assert list(workspace.components().items()) == [(0, 8.0), (3, 2.0), (4, 1.0), (5, 6.0)]
    workspace.library.empty(workspace.place)
    assert workspace.components() == {}
    workspace.library.drop(workspace.place)


@pytest.mark.parametrize("distinct", [10, 3000, 10**6])
@pytest.mark.parametrize(
    ("kind", "shift"),
    [
        ("workspace", 40),
        ("wide_workspace", 100),
        ("bucket_workspace", 40),
        ("hash_workspace", 40),
        ("wide_hash_workspace", 100),
    ],
)
def test_many_components(kind, shift, distinct):
    """Beyond the first capacity of 4096, merged again and again; keys that use few of their bits,
    among them the highest."""
    workspace = Workspace(f"{kind}_int32_t", "int32_t")
    random = np.random.default_rng(distinct)
    due: dict[int, int] = {}
    for n in random.integers(0, distinct, 50000).tolist():
        key = (n % 7) << shift | n
        due[key] = due.get(key, 0) + n % 5
        workspace.insert(key, n % 5)
    found = workspace.components()
    assert list(found.items()) == sorted(due.items())
    # It grows for distinct values, not for each insertion.
    assert workspace.library.capacity(workspace.place) <= max(4096, 8 * len(due))
    workspace.library.drop(workspace.place)


def test_bools_are_joined():
    workspace = Workspace("workspace_bool", "bool")
    for key, value in ((1, True), (1, True), (0, False), (0, False)):
        workspace.insert(key, value)
    assert workspace.components() == {0: False, 1: True}
    assert workspace.library.value(workspace.place, 1) is True


def test_a_workspace_that_was_not_made_can_be_freed():
    Workspace("workspace_double", "double").library.drop(None)


# Shares


def test_shares_are_taken_in_turn():
    found = library(
        ["turns_new", "next_turn"],
        "void *made(void *had, int64_t n) { return turns_new(had, n); }",
        "int64_t next(void *turns) { return next_turn(turns); }",
        "int64_t count(struct turns *turns) { return turns->count + turns->counted[6]; }",
        "void freed(void *turns) { turns_free(turns); }",
    )
    found.made.restype = c_void_p
    for function in (found.next, found.count):
        function.argtypes, function.restype = [c_void_p], c_int64
    turns = found.made(None, c_int64(7))
    assert [found.next(turns) for _ in range(9)] == [*range(9)]
    turns = found.made(c_void_p(turns), c_int64(7))
    assert (found.next(turns), found.count(turns)) == (0, 7)
    found.freed(c_void_p(turns))


def test_a_value_that_is_computed_apart_is_the_value():
    wrapper = "double test(double value) { return 1 + apart(value); }"
    found = library(["apart"], wrapper).test
    found.argtypes, found.restype = (c_double,), c_double
    assert found(2.5) == 3.5
