"""The structures of ``runtime.h`` and ``scheduler.c``, field by field in the same order."""

from __future__ import annotations

import ctypes
from enum import IntEnum

from sim.compiled.logs import CLog
from sim.compiled.objects import CAccumulator, CGrowing
from sim.compiled.order import CReads
from sim.compiled.shared_layout import SharedLayout

GAP, FEW = 8, 64
"""As in ``runtime.h``."""


class Status(IntEnum):
    """Why a block came to a stop."""

    RUNNING = 0
    STARVED = 1
    BLOCKED = 2
    CROWDED = 3
    HELD = 4
    FINISHED_BLOCK = 5
    ORDERED = 6
    LATE = 7
    FAILED = 8
    OVER_CAPACITY = 9
    NO_MEMORY = 10


class CQueue(ctypes.Structure):
    """``Queue`` in ``runtime.h``."""

    _fields_ = [
        ("writer", ctypes.c_void_p),
        ("reader", ctypes.c_void_p),
        ("from_", ctypes.c_void_p),
        ("to", ctypes.c_void_p),
        ("oldest", ctypes.c_void_p),
        ("newest", ctypes.c_void_p),
        ("spare", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("size", "places", "head", "tail", "base")),
        ("depth", ctypes.c_int64),
        *((name, ctypes.c_int64) for name in ("latency", "seen", "batch", "peak", "grew")),
        *((name, ctypes.c_int64) for name in ("starves", "crowds", "prepared", "stamps", "wire")),
        *((name, ctypes.c_void_p) for name in ("given", "taken")),
        ("latest", ctypes.c_uint32 * FEW),
    ]


class CBlock(ctypes.Structure):
    """``Block`` in ``runtime.h``."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("in_", "out")),
        ("outs", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("state", "memory", "numbers", "waits", "counts")),
        *((name, ctypes.c_void_p) for name in ("fire", "account", "pull")),
        ("pulls", ctypes.c_int64),
        ("awake", ctypes.c_void_p),
        ("bit", ctypes.c_uint64),
        *(
            (name, ctypes.c_int64)
            for name in ("interval", "ready", "fired", "status", "port", "which")
        ),
        *((name, ctypes.c_int64) for name in ("allowed", "end", "key", "limit", "ahead")),
        *((name, ctypes.c_int64) for name in ("asks", "until", "reach")),
        *((name, ctypes.c_void_p) for name in ("hierarchy", "touch", "regions")),
        *((name, ctypes.c_int64) for name in ("asker", "taken", "served", "waited", "made")),
        *((name, ctypes.c_void_p) for name in ("reads", "places")),
        *((name, ctypes.c_int64) for name in ("outstanding", "place")),
        *((name, ctypes.c_void_p) for name in ("waits_log", "requests_log")),
        *((name, ctypes.c_void_p) for name in ("log", "log_end")),
        ("logged", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("write", "note")),
        *((name, ctypes.c_int64) for name in ("placed", "held_up", "crowded")),
        *((name, ctypes.c_int64) for name in ("last_region", "links")),
        ("link", ctypes.c_void_p),
    ]


class CMachine(ctypes.Structure):
    """``Machine`` in ``scheduler.c``."""

    _fields_ = [
        ("count", ctypes.c_int64),
        ("blocks", ctypes.c_void_p),
        ("awake", ctypes.c_void_p),
        ("failed", ctypes.c_int64),
        ("ordered_count", ctypes.c_int64),
        ("ordered", ctypes.c_void_p),
    ]


SHARED = SharedLayout(
    {
        "Queue": CQueue,
        "Log": CLog,
        "Block": CBlock,
        "Machine": CMachine,
        "Growing": CGrowing,
        "Accumulator": CAccumulator,
        "Reads": CReads,
    },
    {"GAP": GAP, "FEW": FEW, **Status.__members__},
)
"""The structures that ``scheduler.c`` shares with Python."""
