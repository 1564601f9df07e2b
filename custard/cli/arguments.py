"""Arguments, stdout and complaints, for all commands."""

from __future__ import annotations

import argparse
import codecs
import errno
import os
import re
import shlex
import sys
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from sam.support.errors import UserError, one_of, visible

if TYPE_CHECKING:
    from rich.console import Console

_PIPE_WIDTH = 120
_PLAIN = {"█": "#", "░": ":", "▒": "%", "▚": "&", "·": ".", "◀": "<"}  # of bars and marks
# What the system says of a write that fails; it does not name stdout.
_OF_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF, errno.EAGAIN)


class _Once(argparse.Action):
    """Stores the value of an option. Raises UserError where another one is given later."""

    def __call__(
        self, parser: argparse.ArgumentParser, found: argparse.Namespace, value: Any, *words: Any
    ) -> None:
        given = vars(found).setdefault("given", {})
        before = given.setdefault(self.dest, value)
        if before != value:
            raise UserError(f"{words[0]} is given twice: {before}, and then {value}")
        setattr(found, self.dest, value)


class Parser(argparse.ArgumentParser):
    """A parser whose mistakes are UserErrors."""

    def __init__(self, *settings: Any, **named: Any) -> None:
        super().__init__(*settings, **named)
        self.register("action", None, _Once)

    def error(self, message: str) -> NoReturn:
        hint = f"{self.prog} --help lists the options"
        lacking = re.match(r"argument (\S+): expected", message)
        for action in self._actions:
            if lacking and lacking[1].split("/")[0] in action.option_strings and action.metavar:
                hint = f"as in {action.option_strings[0]} {action.metavar}; {hint}"
        raise UserError(message, hint=hint)

    def about(self, name: str) -> str | None:
        """A hint for a name that says what the value of an option is, as ``--input`` for ``-i``."""
        word = name.strip("-").replace("-", "_")
        for action in self._actions:
            names = action.dest, action.dest.removesuffix("s")
            if action.option_strings and word in names and action.help != argparse.SUPPRESS:
                return f"that is {action.option_strings[0]}"
        return None

    def _print_message(self, message: str, file: Any = None) -> None:
        (sys.stderr if file is None else file).write(message)  # argparse would hide a full disk


def parse(
    parser: Parser,
    argv: Sequence[str] | None,
    options: Iterable[str],
    hint: str | None = None,
    repeated: Collection[str] = (),
) -> argparse.Namespace:
    """The arguments. An unknown one is refused, with the nearest of the ``options`` or ``hint``.

    ``repeated`` are the options that may be given several times.
    """
    arguments, unknown = parser.parse_known_args(argv)
    if unknown and unknown[0].startswith("-"):
        name = unknown[0].partition("=")[0]
        hint = parser.about(name) or one_of(name, options)
        raise UserError(f"there is no option {unknown[0]}", hint=hint)
    if unknown:
        again = _option_before(sys.argv[1:] if argv is None else argv, unknown[0])
        if again in repeated:
            hint = f"each value has its {again}: {again}={shlex.quote(unknown[0])}"
        raise UserError(f"{unknown[0]} is one argument too many", hint=hint)
    return arguments


def _option_before(words: Sequence[str], extra: str) -> str:
    """The option whose value a word follows, if another argument is before the option; else ""."""
    before = words[: words.index(extra)]
    if len(before) < 2 or before[0].startswith("-"):
        return ""
    return before[-1].partition("=")[0] if before[-1].startswith("-") else before[-2]


def whole_number(text: str, least: int = 0) -> int:
    """The value of an option that is at least ``least``."""
    if not (text.isascii() and text.isdecimal() and len(text) < 19 and int(text) >= least):
        raise argparse.ArgumentTypeError(f'"{text}" is not a whole number of at least {least}')
    return int(text)


def stdout(quiet: bool = False, files: bool = False) -> Console:
    """Stdout; lines have a fixed width unless it is a terminal or ``$COLUMNS`` is set.

    A reader that has gone, as in ``| head``, ends the command, unless ``files`` are still to be
    written.
    """
    from rich.console import Console  # here, as custard --help needs none of it

    class Stdout(Console):
        def on_broken_pipe(self) -> None:
            self.quiet = True
            _silence(sys.stdout)
            if not files:
                raise SystemExit(1)

    known = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit()
    width = None if known else _PIPE_WIDTH
    return Stdout(width=width, highlight=False, markup=False, emoji=False, quiet=quiet)


def require_stdout() -> None:
    """Raises UserError where stdout is closed; letters that it cannot take become plain ones."""
    if sys.stdout is None:
        raise UserError("stdout is closed", hint="write > /dev/null to throw the output away")
    if isinstance(sys.stdout, TextIOWrapper):
        codecs.register_error("plain", _plain)
        sys.stdout.reconfigure(errors="plain")


def _plain(mistake: UnicodeError) -> tuple[str, int]:
    """Letters for those that an encoding lacks: bars and marks stay apart from each other."""
    assert isinstance(mistake, UnicodeEncodeError)
    lacking = mistake.object[mistake.start : mistake.end]
    return "".join(_PLAIN.get(letter, "?") for letter in lacking), mistake.end


def complain(text: str) -> None:
    """Prints a mistake on stderr, if there is one to print to."""
    from rich.console import Console
    from rich.text import Text

    if sys.stderr is None:
        return
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    try:
        console.print(Text.assemble(("custard: ", "bold red"), visible(text)))
        sys.stderr.flush()
    except OSError:
        _silence(sys.stderr)


def _silence(stream: TextIO) -> None:
    """Throws away the rest of a stream that cannot be written: Python would complain at its end."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def of_system(mistake: OSError) -> int:
    """Tells a refusal of the system that nobody else has told; gives the exit status.

    A reader of stdout that has gone, as in ``| head``, is no mistake, and is not told.
    """
    status = 1 if isinstance(mistake, BrokenPipeError) else 2
    if mistake.filename is None and sys.stdout is not None:
        _silence(sys.stdout)
    if status == 2:
        complain(_in_words(mistake))
    return status


def _in_words(mistake: OSError) -> str:
    try:
        Path.cwd()
    except OSError:
        return "the working folder is gone\nhint: cd to one that is there"
    why = mistake.strerror or str(mistake)
    if mistake.filename is not None:
        return f"cannot use {mistake.filename}: {why}"
    return f"cannot write to stdout: {why}" if mistake.errno in _OF_WRITING else why


def engine(arguments: argparse.Namespace) -> str:
    """The engine that is asked for."""
    return "auto" if arguments.engine is None else arguments.engine
