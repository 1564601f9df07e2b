"""A folder of files that can be made again: compiled kernels, and features of compilers.

Several processes may use the folder at once. An entry is two files: its content, and beside it a
record of the content's size and checksum. ``find`` gives an entry only if the two agree, so a
half-written, truncated or empty file counts as missing. The least recently used entries go once
all of them take more than ``most_bytes``. Trimming looks at every file, so a process does it once
at the start, and again after it has put in a sixteenth of that limit, or after ten minutes.
"""

from __future__ import annotations

import atexit
import hashlib
import logging
import math
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sam.support.errors import UserError
from sam.support.files import clear_left, write_whole
from sam.support.locks import is_at, lock

_log = logging.getLogger(__name__)

_MOST_BYTES = 512 * 2**20
_NAME = "sparse-abstract-machine"
# What the folder holds besides folders in use: entries, their records, and locks.
_ENTRY = re.compile(r"[0-9a-f]{32}\.[a-z]+(\.sum|\.lock)?|\.[0-9a-f]{32}\.tmp")
_IN_USE = "making-"
_SECONDS_IN_USE = 3600.0
_SHARE_BETWEEN_TRIMS, _SECONDS_BETWEEN_TRIMS = 16, 600.0


@dataclass
class _SinceTrim:
    """The bytes that this process has put into a folder since it was trimmed, and when that was."""

    put: int = 0
    trimmed: float = -math.inf


_since_trim: dict[Path, _SinceTrim] = {}


def key(*parts: str) -> str:
    """A name that the parts determine."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def folder() -> Path:
    """The folder: ``$SAM_CACHE``, or one in the user's cache; it exists and can be written.

    If it cannot be written, a private folder among the temporary files takes its place, and a
    warning is logged.
    """
    wanted = _wanted()
    path = _usable(wanted)
    if not path.is_dir():  # it has gone since
        _usable.cache_clear()
        path = _usable(wanted)
    return path


def most_bytes() -> int:
    """The most bytes of all entries together: ``$SAM_CACHE_BYTES``, 512 MiB by default.

    Raises UserError where the variable is not a whole number.
    """
    text = os.environ.get("SAM_CACHE_BYTES", "").strip()
    if not text:
        return _MOST_BYTES
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise UserError(f'SAM_CACHE_BYTES is "{text}"; it must be a whole number of bytes')
    return int(text)


def find(name: str) -> Path | None:
    """The file of an entry, None if there is none that is whole."""
    path = folder() / name
    try:
        if _record(path.read_bytes()) != _sum(path).read_text(encoding="ascii"):
            return None
        if time.time() - path.stat().st_mtime > 60:
            os.utime(path)
    except (OSError, ValueError):
        return None
    return path


def put(name: str, content: bytes) -> Path:
    """Stores an entry and gives its file. Raises UserError where it cannot be written."""
    path = folder() / name
    write_whole(path, content)
    write_whole(_sum(path), _record(content))
    _since_trim.setdefault(path.parent, _SinceTrim()).put += len(content)
    return path


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Keeps all other threads and processes from making the same entry.

    The lock goes with the process that holds it. Where the file system has no locks, nothing is
    locked: an entry may then be made twice, and is whole all the same.
    """
    path = folder() / f"{name}.lock"
    handle = None
    try:
        while handle is None:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            if lock(handle) and not is_at(handle, path):  # its holder has removed the file
                os.close(handle)
                handle = None
    except OSError:
        _log.debug("%s cannot be locked", path)
    try:
        yield
    finally:
        if handle is not None:
            path.unlink(missing_ok=True)
            os.close(handle)


@contextmanager
def workplace() -> Iterator[Path]:
    """A folder to make an entry in, removed afterwards. Raises UserError without room."""
    try:
        made = tempfile.TemporaryDirectory(prefix=_IN_USE, dir=folder(), ignore_cleanup_errors=True)
    except OSError as mistake:
        raise UserError(f"cannot write to the cache {folder()}: {mistake.strerror}") from None
    with made as path:
        yield Path(path)


def trim_if_due() -> None:
    """Trims, unless this process has done so lately and has put little into the folder since."""
    since = _since_trim.setdefault(folder(), _SinceTrim())
    little = since.put * _SHARE_BETWEEN_TRIMS <= most_bytes()
    if not little or time.monotonic() - since.trimmed > _SECONDS_BETWEEN_TRIMS:
        trim()


def trim() -> None:
    """Removes the least recently used entries until the others take at most ``most_bytes``."""
    _since_trim[folder()] = _SinceTrim(trimmed=time.monotonic())
    entries = sorted(_contents(), key=lambda entry: entry[1].st_mtime, reverse=True)
    room = most_bytes()
    for path, found in entries:
        room -= found.st_size
        if room < 0 and path.suffix not in (".lock", ".sum"):
            _remove(path)
    clear_left(folder())
    for path in folder().glob(f"{_IN_USE}*"):  # left by a process that was killed
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _SECONDS_IN_USE:
                shutil.rmtree(path, ignore_errors=True)


def usage() -> tuple[int, int]:
    """How many entries there are, and the bytes that they take."""
    entries = [(path, found) for path, found in _contents() if path.suffix != ".lock"]
    return (
        sum(path.suffix != ".sum" for path, _ in entries),
        sum(found.st_size for _, found in entries),
    )


def clear() -> tuple[int, int]:
    """Removes all entries, and nothing else; gives how many there were, and their bytes."""
    found = usage()
    for path, _ in _contents():
        if path.suffix != ".lock":
            path.unlink(missing_ok=True)
    return found


def _wanted() -> Path:
    asked = os.environ.get("SAM_CACHE")
    if asked:
        return Path(asked)
    home = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(home) if home else Path.home() / ".cache") / _NAME
    except RuntimeError:  # nobody knows the user's home
        return _private()


@cache
def _usable(path: Path) -> Path:
    """The folder, or a private one if it cannot be written; found out once for each."""
    try:
        path = path.absolute()
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            return path
    except (OSError, ValueError) as mistake:
        instead = _private()
        why = getattr(mistake, "strerror", None) or str(mistake)
        _log.warning(
            "note: the cache %s cannot be written (%s); compiled kernels go to %s",
            path,
            why,
            instead,
        )
        return instead


@cache
def _private() -> Path:
    """A folder among the temporary files that is the user's alone."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    path = Path(tempfile.gettempdir(), f"{_NAME}-{user}")
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        found = path.lstat()
        own = stat.S_ISDIR(found.st_mode) and found.st_uid == user
        if own and not stat.S_IMODE(found.st_mode) & 0o077 and os.access(path, os.W_OK):
            return path
        path = Path(tempfile.mkdtemp(prefix=f"{_NAME}-"))
        atexit.register(_remove_own, path, os.getpid())
        return path
    except OSError as mistake:
        raise UserError(
            f"there is no folder for compiled kernels: {path} cannot be made: {mistake.strerror}",
            hint="set SAM_CACHE to a folder that can be written",
        ) from None


def _remove_own(path: Path, process: int) -> None:
    """Removes a folder at the end of the process that made it, not of one that it has forked."""
    if os.getpid() == process:
        shutil.rmtree(path, ignore_errors=True)


def _sum(path: Path) -> Path:
    return path.with_name(f"{path.name}.sum")


def _record(content: bytes) -> str:
    return f"{len(content)} {hashlib.sha256(content).hexdigest()}\n"


def _contents() -> list[tuple[Path, os.stat_result]]:
    """The files that are ours, each with what the system knows of it."""
    here, found = folder(), []
    with os.scandir(here) as files:
        for file in files:
            if _ENTRY.fullmatch(file.name):
                with suppress(OSError):  # another process has removed it
                    found.append((here / file.name, file.stat()))
    return found


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink(missing_ok=True)
        _sum(path).unlink(missing_ok=True)
