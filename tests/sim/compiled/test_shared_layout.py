"""Python and C agree on the structures and numbers that they share."""

import ctypes

import pytest

from sam.support import c_compiler as cc
from sim.compiled.shared_layout import SharedLayout
from tests.support.compiler import needs_compiler

pytestmark = needs_compiler

C = """
#include <stdint.h>
typedef struct { int32_t from; int64_t head; void *next; } Queue;
enum { STARVED = 1, FEW = 64 };
"""


class CQueue(ctypes.Structure):
    _fields_ = [("from_", ctypes.c_int32), ("head", ctypes.c_int64), ("next", ctypes.c_void_p)]


class Shorter(ctypes.Structure):
    _fields_ = [("from_", ctypes.c_int32), ("head", ctypes.c_int64)]


class Moved(ctypes.Structure):
    _fields_ = [("head", ctypes.c_int64), ("from_", ctypes.c_int32), ("next", ctypes.c_void_p)]


def required(shared):
    [library] = cc.build([shared.exported(C)], {})
    shared.require(library)


def test_sizes_offsets_and_values_are_compared():
    assert SharedLayout({"Queue": CQueue}, {"FEW": 64}).expressions == {
        "sizeof(Queue)": 24,
        "offsetof(Queue, from)": 0,
        "offsetof(Queue, head)": 8,
        "offsetof(Queue, next)": 16,
        "FEW": 64,
    }


def test_structures_that_agree():
    required(SharedLayout({"Queue": CQueue}, {"FEW": 64, "STARVED": 1}))
    required(SharedLayout({"Queue": Shorter}, beginnings=frozenset({"Queue"})))


@pytest.mark.parametrize(
    ("structure", "numbers", "text"),
    [
        (Shorter, {}, "sizeof(Queue) is 24 in C, and 16 in Python"),
        (Moved, {}, "offsetof(Queue, head) is 8 in C, and 0 in Python"),
        (CQueue, {"STARVED": 2}, "STARVED is 1 in C, and 2 in Python"),
    ],
)
def test_structures_that_differ(structure, numbers, text):
    with pytest.raises(RuntimeError) as caught:
        required(SharedLayout({"Queue": structure}, numbers))
    assert str(caught.value) == text
