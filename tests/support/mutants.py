"""Mutants of valid files, and the check that each is read, or refused with one UserError.

    require_survival(lambda data: parse(data.decode("utf-8", "replace")), [valid, also_valid])

The n-th mutant is the same in each run. They are read in child processes, in at most 2 GiB and
20 s of CPU time each: 10,000 in the full profile, 300 in the quick one. An exception other than
UserError, an abort, a time-out and a lack of memory each fail the test, which shows the first few
of them and writes the mutants beside each other in ``out/mutants``.
"""

from __future__ import annotations

import faulthandler
import hashlib
import io
import mmap
import os
import random
import resource
import signal
import struct
import sys
import traceback
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from sam.support.errors import UserError
from tests.support.profiles import PROFILE

COUNT = 10_000 if PROFILE == "full" else 300

Mutate = Callable[[random.Random, Sequence[bytes]], bytes]

_MEMORY = 2 << 30
_CPU_SECONDS = 20
_SECONDS = 200
_MOST_FAILURES = 5
_KEPT = Path(__file__).parents[2] / "out" / "mutants"

_TEXT_NUMBERS = (
    *(
        b"0 -1 1 2 3 255 256 65536 2147483647 2147483648 -2147483648 4294967296 "
        b"9223372036854775807 9223372036854775808 -9223372036854775808 18446744073709551616 "
        b"1e308 1e309 -0.0 1.5 1_0 0x10 inf -inf nan 1D3 1e -e + 01 1e400 999999999999 true null"
    ).split(),
    *(b"9" * 400, b"1" * 6000, b"", b" ", b"\n", b"\n\n", b"\x00", b"\xff\xfe", b"{[(", b"%"),
)
_BINARY_NUMBERS = (0, 1, 2, 255, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1, 2**63)


def mutate_bytes(draw: random.Random, valid: Sequence[bytes]) -> bytes:
    """One of the valid files with one to four changes of any kind to its bytes."""
    data = bytearray(draw.choice(valid))
    for _ in range(draw.choice((1, 1, 1, 2, 3, 4))):
        draw.choice(_CHANGES)(draw, data, valid)
    return bytes(data)


def mutate_zip(draw: random.Random, valid: Sequence[bytes]) -> bytes:
    """As ``mutate_bytes``, half of the time inside a member, so that the check sums agree."""
    if draw.random() < 0.5:
        return mutate_bytes(draw, valid)
    with zipfile.ZipFile(io.BytesIO(draw.choice(valid))) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    donors = list(members.values())
    for _ in range(draw.choice((1, 1, 2))):
        name = draw.choice(list(members))
        kind = draw.randrange(8)
        if kind == 0 and len(members) > 1:
            del members[name]
        elif kind == 1:
            members[name] = draw.choice(donors)
        elif kind == 2:
            members[draw.choice((*members, "x.npy", name.upper(), "../" + name))] = members[name]
        else:
            members[name] = mutate_bytes(draw, [members[name]])
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return packed.getvalue()


def require_survival(
    use: Callable[[bytes], object],
    valid: Sequence[bytes],
    mutate: Mutate = mutate_bytes,
    count: int = COUNT,
) -> None:
    """Asserts that ``use`` ends, with or without a UserError, on that many mutants.

    ``valid`` are the files that mutants are made of; ``use`` must take each of them without an
    error, so that the mutants are near to files that work.
    """
    for data in valid:
        use(data)
    failures: list[str] = []
    begin = 0
    while begin < count and len(failures) < _MOST_FAILURES:
        begin = _run_child(use, valid, mutate, begin, count, failures)
    assert not failures, "\n".join(failures)


def _nth(n: int, valid: Sequence[bytes], mutate: Mutate) -> bytes:
    return mutate(random.Random(n), valid)


def _run_child(
    use: Callable[[bytes], object],
    valid: Sequence[bytes],
    mutate: Mutate,
    begin: int,
    count: int,
    failures: list[str],
) -> int:
    """Runs mutants from ``begin`` on until one fails; the number of the one to go on with."""
    with mmap.mmap(-1, 1 << 16) as shared:
        shared[:8] = struct.pack("<q", begin)
        child = os.fork()
        if child == 0:
            # Nothing of the parent's, its clean-up least of all, may run in the child.
            try:
                code = _child(use, valid, mutate, begin, count, shared)
            except BaseException:
                traceback.print_exc()
                code = 3
            os._exit(code)
        _, status = os.waitpid(child, 0)
        (n,) = struct.unpack("<q", shared[:8])
        if status == 0:
            return count
        told = shared[8:].rstrip(b"\x00").decode("utf-8", "replace")
    data = _nth(n, valid, mutate)
    _KEPT.mkdir(parents=True, exist_ok=True)
    kept = _KEPT / hashlib.sha256(data).hexdigest()[:16]
    kept.write_bytes(data)
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        told = f"{name}{' (out of time)' if name in ('SIGPROF', 'SIGALRM') else ''}"
    failures.append(f"mutant {n} ({len(data)} bytes, {kept}): {told or 'the child ended'}")
    return n + 1


def _child(
    use: Callable[[bytes], object],
    valid: Sequence[bytes],
    mutate: Mutate,
    begin: int,
    count: int,
    shared: mmap.mmap,
) -> int:
    """The exit code: 0 where each mutant ended well, 1 where one did not, as ``shared`` tells."""
    _limit_memory()
    faulthandler.disable()
    for name in ("SIGPROF", "SIGALRM"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    for n in range(begin, count):
        shared[:8] = struct.pack("<q", n)
        data = _nth(n, valid, mutate)
        signal.setitimer(signal.ITIMER_PROF, _CPU_SECONDS)
        signal.setitimer(signal.ITIMER_REAL, _SECONDS)
        try:
            use(data)
        except UserError:
            pass
        except BaseException as error:
            where = "".join(traceback.format_tb(error.__traceback__)[-3:])
            text = f"{type(error).__name__}: {str(error)[:500]}\n{where}".encode()
            shared[8 : 8 + len(text[:50_000])] = text[:50_000]
            return 1
    return 0


def _limit_memory() -> None:
    """At most 2 GiB resident; what is mapped without being used does not count."""
    if not sys.platform.startswith("linux"):
        return
    mapped, used = (
        int(pages) * resource.getpagesize()
        for pages in Path("/proc/self/statm").read_text().split()[:2]
    )
    resource.setrlimit(resource.RLIMIT_AS, (mapped - used + _MEMORY,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


# Changes to the bytes of a file, in place.


def _flip(draw: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    if data:
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)


def _set(draw: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    if data:
        data[draw.randrange(len(data))] = draw.choice((draw.randrange(256), draw.randrange(32, 97)))


def _cut(draw: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    begin, end = _slice(draw, data)
    del data[begin:end]


def _end(draw: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    del data[draw.randrange(len(data) + 1) :]


def _repeat(draw: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    begin, end = _slice(draw, data)
    data[begin:begin] = data[begin:end] * draw.choice((1, 1, 2, 50))


def _swap(draw: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    begin, end = _slice(draw, data)
    part = data[begin:end]
    del data[begin:end]
    place = draw.randrange(len(data) + 1)
    data[place:place] = part


def _splice(draw: random.Random, data: bytearray, valid: Sequence[bytes]) -> None:
    other = draw.choice(valid)
    begin, end = _slice(draw, other)
    place = draw.randrange(len(data) + 1)
    data[place : place + draw.choice((0, end - begin))] = other[begin:end]


def _text_number(draw: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    """Another text in place of a whole word, mostly a number."""
    words, begin = [], None
    for place, byte in enumerate([*data, 32]):
        inside = byte not in b" \t\r\n,:;()[]{}=\"'"
        if inside and begin is None:
            begin = place
        elif not inside and begin is not None:
            words.append((begin, place))
            begin = None
    if words:
        begin, end = draw.choice(words)
        data[begin:end] = draw.choice(_TEXT_NUMBERS)


def _binary_number(draw: random.Random, data: bytearray, _: Sequence[bytes]) -> None:
    width = draw.choice((2, 4, 8))
    if len(data) >= width:
        number = draw.choice(_BINARY_NUMBERS) * draw.choice((1, 1, -1)) % 2 ** (8 * width)
        place = draw.randrange(len(data) - width + 1)
        data[place : place + width] = number.to_bytes(width, "little")


def _slice(draw: random.Random, data: Sequence[int]) -> tuple[int, int]:
    begin = draw.randrange(len(data) + 1)
    return begin, min(len(data), begin + draw.choice((1, 2, 4, 8, 8, 32, 200)))


_CHANGES = (
    _flip,
    _set,
    _set,
    _cut,
    _end,
    _repeat,
    _swap,
    _splice,
    _text_number,
    _text_number,
    _text_number,
    _binary_number,
)
