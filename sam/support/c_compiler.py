"""Finds a C compiler, and compiles C with it; libraries are kept in ``sam.support.disk_cache``.

The flags are those of each kind of source, then those of ``$SAM_CFLAGS``. Several processes that
need the same library at once wait for the one that compiles it.
"""

from __future__ import annotations

import ctypes
import logging
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path

from sam.support import disk_cache
from sam.support.errors import UserError

_log = logging.getLogger(__name__)

FLAGS = ("-std=gnu11", "-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC", "-w")


@dataclass
class Compilation:
    """How many C sources were compiled, and the wall time in ``seconds`` that it took.

    ``tells`` is called with the number of sources before they are compiled, and with 0 afterwards.
    """

    tells: Callable[[int], None] | None = None
    sources: int = 0
    seconds: float = 0.0


_watching: ContextVar[Compilation | None] = ContextVar("watching", default=None)


class NotAtHand(Exception):
    """Something would have to be compiled that must be at hand."""


@contextmanager
def watched(tells: Callable[[int], None] | None = None) -> Iterator[Compilation]:
    """Gives a ``Compilation`` that counts the kernels compiled in this context."""
    found = Compilation(tells)
    token = _watching.set(found)
    try:
        yield found
    finally:
        _watching.reset(token)


@contextmanager
def _told(sources: int) -> Iterator[None]:
    """Tells the watchers that sources are being compiled in this context."""
    _log.info("compiling %d C source%s, once on this machine", sources, "" if sources == 1 else "s")
    watcher = _watching.get()
    if watcher is None:
        yield
        return
    if watcher.tells is not None:
        watcher.tells(sources)
    started = time.perf_counter()
    try:
        yield
    finally:
        watcher.sources += sources
        watcher.seconds += time.perf_counter() - started
        if watcher.tells is not None:
            watcher.tells(0)


def compiler() -> tuple[str, ...]:
    """The command of ``$CC``, cc, gcc, clang, or that of the pip package ziglang.

    Raises UserError where there is none of them.
    """
    return _compiler(os.environ.get("CC", ""))


@cache
def _compiler(asked: str) -> tuple[str, ...]:
    command = _words("CC", asked)
    if command:
        if shutil.which(command[0]) is None:
            raise UserError(f"the C compiler {command[0]}, which CC names, is not found")
        return command
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return (name,)
    if find_spec("ziglang"):
        return sys.executable, "-m", "ziglang", "cc"
    raise UserError("there is no C compiler", hint="install gcc or clang, or pip install ziglang")


def available() -> bool:
    """Whether there is a C compiler."""
    try:
        compiler()
    except UserError:
        return False
    return True


def supported(flags: tuple[str, ...]) -> tuple[str, ...]:
    """The flags that the compiler accepts, of those given; tried once for each compiler.

    A flag may need others that come before it.
    """
    return _supported(flags, compiler())


@cache
def _supported(flags: tuple[str, ...], command: tuple[str, ...]) -> tuple[str, ...]:
    name = f"{disk_cache.key(*flags, *_maker(command))}.flags"
    known = disk_cache.find(name)
    if known is not None:
        return tuple(known.read_text(encoding="utf-8").splitlines())
    if _takes(*flags):
        found = flags
    elif _takes():
        found = ()
        for flag in flags:
            if _takes(*found, flag):
                found = (*found, flag)
    else:
        return flags  # it does not work at all, and will say why
    disk_cache.put(name, "".join(f"{flag}\n" for flag in found).encode())
    return found


def _takes(*flags: str) -> bool:
    """Whether the compiler makes a library with flags without a message.

    clang has a message about ``-shared`` where nothing is linked.
    """
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "empty.c").write_text("int nothing;\n")
        done = _ran(*flags, "-Werror", "-shared", "empty.c", "-o", "empty.so", folder=folder)
    return done.returncode == 0


def build(
    sources: Sequence[str],
    headers: Mapping[str, str] | None = None,
    flags: Sequence[str] | Callable[[str], Sequence[str]] = FLAGS,
    at_hand: bool = False,
) -> list[ctypes.CDLL]:
    """The shared libraries of C sources, compiled if they are not in the cache.

    ``headers`` has the text of the files that the sources include, by name; ``flags`` the flags of
    all sources, or of each. Raises UserError where there is no compiler, or it fails; NotAtHand
    where they must be ``at_hand`` in the cache, and some are not.
    """
    headers = headers or {}
    maker = (*headers.values(), *_more_flags(), *_maker(compiler()))
    names, makes = [], {}
    for source in sources:
        own = tuple(flags(source) if callable(flags) else flags)
        names.append(f"{disk_cache.key(source, *own, *maker)}.so")
        makes[names[-1]] = partial(_made, names[-1], source, headers, own)
    found = {name: disk_cache.find(name) for name in makes}
    missing = {name: make for name, make in makes.items() if found[name] is None}
    if missing and at_hand:
        raise NotAtHand
    if missing:
        with _told(len(missing)), ThreadPoolExecutor(os.cpu_count()) as pool:
            made = pool.map(lambda make: make(), missing.values())
            found |= dict(zip(missing, made, strict=True))
    loaded = {name: _loaded(found[name], make) for name, make in makes.items()}
    if missing:
        disk_cache.trim_if_due()
    return [loaded[name] for name in names]


def _loaded(found: Path | None, made: Callable[[], Path]) -> ctypes.CDLL:
    """The library of a file; ``made`` gives it anew if the file has gone meanwhile."""
    for path in (found or made(), None):
        path = path or made()
        try:
            return ctypes.CDLL(str(path))
        except OSError as mistake:
            problem = str(mistake)
            path.unlink(missing_ok=True)
    command = shlex.join(compiler())
    raise UserError(f"the library that the C compiler {command} makes cannot be loaded: {problem}")


def _made(name: str, source: str, headers: Mapping[str, str], flags: Sequence[str]) -> Path:
    """The library of that name in the cache, compiled by one process if it is not there yet."""
    found = disk_cache.find(name)
    if found is None:
        with disk_cache.locked(name):
            found = disk_cache.find(name)
            if found is None:
                found = disk_cache.put(name, _compile(source, headers, flags))
    return found


def _compile(source: str, headers: Mapping[str, str], flags: Sequence[str]) -> bytes:
    with disk_cache.workplace() as folder:
        for name, text in {**headers, "kernel.c": source}.items():
            (folder / name).write_text(text, encoding="utf-8")
        made = folder / "kernel.so"
        done = _ran(*flags, *_more_flags(), "kernel.c", "-o", made.name, "-lm", folder=folder)
        command = shlex.join(compiler())
        if done.returncode:
            why = done.stderr.strip() or done.stdout.strip() or f"exit status {done.returncode}"
            raise UserError(f"the C compiler {command} fails:\n{why[:2000]}")
        try:
            return made.read_bytes()
        except OSError:
            raise UserError(
                f"the C compiler {command} reports success and makes no file",
                hint="set CC to a C compiler, or unset it",
            ) from None


def _ran(*arguments: str, folder: str | Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs the compiler in a folder; gives its status and messages. Raises UserError."""
    command = compiler()
    try:
        return subprocess.run(
            [*command, *arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as mistake:
        raise UserError(
            f"the C compiler {shlex.join(command)} cannot be run: {mistake.strerror}"
        ) from None


def _words(variable: str, text: str) -> tuple[str, ...]:
    """The words of an environment variable, split as in a shell."""
    try:
        return tuple(shlex.split(text))
    except ValueError as mistake:
        raise UserError(f"{variable} cannot be split into words: {mistake}: {text}") from None


def _more_flags() -> tuple[str, ...]:
    return _words("SAM_CFLAGS", os.environ.get("SAM_CFLAGS", ""))


@cache
def _maker(command: tuple[str, ...]) -> tuple[str, ...]:
    """The facts that decide the machine code of a source: the compiler's version, and the CPU."""
    return *command, _ran("--version").stdout, _cpu()


def _cpu() -> str:
    """The model of the CPU and its features, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    told = ("model name", "flags", "Features", "CPU part")
    return "\n".join(sorted({line for line in lines if line.startswith(told)}))
