"""What the commands share on the console: arguments, stdout, complaints."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from typing import NoReturn

from rich.console import Console
from rich.text import Text

from sam.support.errors import UserError, one_of

_PIPE_WIDTH = 120


class Parser(argparse.ArgumentParser):
    """A parser whose mistakes are UserErrors."""

    def error(self, message: str) -> NoReturn:
        raise UserError(message, hint=f"{self.prog} --help lists the options")


def parse(
    parser: Parser, argv: Sequence[str] | None, options: Iterable[str], hint: str | None = None
) -> argparse.Namespace:
    """The arguments; what is too much has the nearest of the ``options`` or ``hint`` as a hint."""
    arguments, unknown = parser.parse_known_args(argv)
    if unknown and unknown[0].startswith("-"):
        name = unknown[0]
        raise UserError(f"there is no option {name}", hint=one_of(name.partition("=")[0], options))
    if unknown:
        raise UserError(f"{unknown[0]} is one argument too many", hint=hint)
    return arguments


def whole_number(text: str) -> int:
    """The value of an option that is at least 0."""
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise argparse.ArgumentTypeError(f'"{text}" is no whole number of at least 0')
    return int(text)


def stdout(quiet: bool = False) -> Console:
    """Stdout; what is not read on a terminal has lines of a fixed width."""
    width = None if sys.stdout.isatty() else _PIPE_WIDTH
    return Console(width=width, highlight=False, quiet=quiet)


def complain(text: str) -> None:
    """Says on stderr what is wrong."""
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    console.print(Text.assemble(("custard: ", "bold red"), text))
