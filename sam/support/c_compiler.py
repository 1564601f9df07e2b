"""Finds a C compiler, compiles C with it, and keeps what comes out on disk.

The flags are those of each kind of source, and those of ``$SAM_CFLAGS`` behind them.
The cache is safe under concurrent use: a library is written under a temporary name, then renamed.
"""

from __future__ import annotations

import ctypes
import hashlib
import logging
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from sam.support.errors import UserError
from sam.support.files import write_whole

_log = logging.getLogger(__name__)

FLAGS = ("-std=gnu11", "-O3", "-march=native", "-shared", "-fPIC", "-w")


@cache
def compiler() -> tuple[str, ...]:
    """The command of ``$CC``, cc, gcc, clang, or that of the pip package ziglang.

    Raises UserError where there is none of them.
    """
    asked = os.environ.get("CC")
    if asked:
        command = tuple(shlex.split(asked))
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


def cached() -> Path:
    """The folder of compiled code: ``$SAM_CACHE``, or one in the user's cache."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("SAM_CACHE") or Path(home) / "sparse-abstract-machine")


@cache
def supported(flags: tuple[str, ...]) -> tuple[str, ...]:
    """Those of some flags that the compiler takes; found out once for each compiler.

    A flag may need others that come before it.
    """
    key = "\0".join((*flags, *_version()))
    known = cached() / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.flags"
    try:
        return tuple(known.read_text(encoding="utf-8").splitlines())
    except OSError:
        pass
    if _takes(*flags):
        found = flags
    elif _takes():
        found = ()
        for flag in flags:
            if _takes(*found, flag):
                found = (*found, flag)
    else:
        return flags  # it does not work at all, and will say why
    known.parent.mkdir(parents=True, exist_ok=True)
    write_whole(known, "".join(f"{flag}\n" for flag in found))
    return found


def _takes(*flags: str) -> bool:
    """Whether the compiler takes flags without a word."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "empty.c").write_text("int nothing;\n")
        done = subprocess.run(
            [*compiler(), *flags, "-Werror", "-c", "empty.c", "-o", "empty.o"],
            cwd=folder,
            capture_output=True,
            check=False,
        )
    return done.returncode == 0


def library(source: str, flags: Sequence[str] = FLAGS) -> Path:
    """Where the shared library of a C source is, or will be once it is compiled."""
    key = "\0".join((source, *flags, *_more_flags(), *_version()))
    return cached() / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.so"


def _more_flags() -> list[str]:
    return shlex.split(os.environ.get("SAM_CFLAGS", ""))


def build(
    sources: Sequence[str], headers: Mapping[str, str] | None = None, flags: Sequence[str] = FLAGS
) -> list[ctypes.CDLL]:
    """The shared libraries of C sources, compiled where they are not in the cache yet.

    ``headers`` has the text of the files that the sources include, by name. Raises UserError
    where there is no compiler, or it fails.
    """
    headers = headers or {}
    whole = [source + "".join(headers.values()) for source in sources]
    paths = [library(text, flags) for text in whole]
    missing = {p: s for p, s in zip(paths, sources, strict=True) if not p.exists()}
    if missing:
        _log.info("compiling %d C sources, once on this machine", len(missing))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda one: _compile(one[0], one[1], headers, flags), missing.items()))
    return [ctypes.CDLL(str(path)) for path in paths]


@cache
def _version() -> tuple[str, ...]:
    """What decides what the compiler makes of a source: its version, and the CPU it is on."""
    command = compiler()
    said = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    return *command, said.stdout, _cpu()


def _cpu() -> str:
    """The kind of CPU, with what it can do as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    told = ("model name", "flags", "Features", "CPU part")
    return "\n".join(sorted({line for line in lines if line.startswith(told)}))


def _compile(path: Path, source: str, headers: Mapping[str, str], flags: Sequence[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        for name, text in {**headers, "kernel.c": source}.items():
            (Path(folder) / name).write_text(text)
        made = Path(folder) / "kernel.so"
        done = subprocess.run(
            [*compiler(), *flags, *_more_flags(), "kernel.c", "-o", made.name, "-lm"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise UserError(f"the C compiler {compiler()[0]} fails:\n{done.stderr.strip()[:2000]}")
        made.replace(path)
