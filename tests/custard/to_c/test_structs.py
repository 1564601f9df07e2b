"""Structs in memory, and the arrays that kernels make."""

import ctypes

import numpy as np

from custard.to_c.structs import Packer, address, taken


def test_members_are_numbers_and_the_addresses_of_arrays():
    values = np.array([1.0, 2.0])
    packer = Packer(["size0", "values"], ["values"])
    packed = packer.packed({"values": values, "size0": 2})
    assert packer.unpacked(packed) == {"size0": 2, "values": values.ctypes.data}
    values.flags.writeable = False
    assert address(values) == values.ctypes.data
    assert isinstance(address(np.empty(0)), int)


def test_arrays_of_a_kernel_are_trimmed():
    calloc = ctypes.CDLL(None).calloc
    calloc.argtypes, calloc.restype = (ctypes.c_size_t, ctypes.c_size_t), ctypes.c_void_p
    for room in (10, 10_000):
        found = taken(calloc(room, 8), room - 3, np.dtype(np.int64))
        assert found.tolist() == [0] * (room - 3)
