"""Work that Ctrl-C can end while it is in C."""

import ctypes
import os
import signal
import threading
import time

import pytest

from sam.support.errors import UserError
from sam.support.interrupts import interruptible


def test_gives_what_the_work_returns():
    assert interruptible(lambda: 7) == 7


def test_raises_what_the_work_raises():
    def work():
        raise UserError("no memory")

    with pytest.raises(UserError, match="no memory"):
        interruptible(work)


def test_ctrl_c_is_heeded_while_the_work_is_in_c():
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    started = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        interruptible(lambda: ctypes.CDLL(None).sleep(5))
    assert time.perf_counter() - started < 2
