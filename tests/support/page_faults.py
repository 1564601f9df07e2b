"""How many pages a process takes for arrays that it allocates again and again."""

import os
import platform
import subprocess
import sys

import pytest

needs_glibc = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="for glibc's malloc")

_CALLS = """
import ctypes, resource

libc = ctypes.CDLL(None)
libc.calloc.restype, libc.free.argtypes = ctypes.c_void_p, (ctypes.c_void_p,)
libc.memset.argtypes = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t
sizes = 8 << 20, 8 << 20, 1 << 20

def calls(count):
    for _ in range(count):
        arrays = [libc.calloc(size, 1) for size in sizes]
        for array, size in zip(arrays, sizes):
            libc.memset(array, 1, size)
        for array in arrays:
            libc.free(array)

{first}
calls(3)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
calls(4)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(first: str, **environment: str) -> int:
    """The page faults of four calls that use 17 MiB (4352 pages) each, in a process that runs some
    Python before. Of the settings of malloc, it has those of ``environment`` alone: Dask sets some
    in processes that start its workers."""
    own = {name: text for name, text in os.environ.items() if not name.startswith("MALLOC_")}
    run = [sys.executable, "-c", _CALLS.format(first=first)]
    done = subprocess.run(run, check=True, capture_output=True, text=True, env=own | environment)
    return int(done.stdout)
