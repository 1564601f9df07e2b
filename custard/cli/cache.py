"""The command ``custard cache``: the place and number of compiled kernels, and their removal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from custard.cli.arguments import Parser, parse, stdout
from sam.support import disk_cache
from sam.support.free_memory import in_words


def main(argv: Sequence[str]) -> int:
    """Tells how much the cache of compiled kernels holds; with --clear, empties it."""
    parser = Parser(prog="custard cache", description=main.__doc__, allow_abbrev=False)
    parser.add_argument("--clear", action="store_true", help="remove all that is in it")
    if parse(parser, argv, ["--clear"]).clear:
        entries, size = disk_cache.clear()
        line = f"{_count(entries)}, {in_words(size)}, removed from {disk_cache.folder()}"
    else:
        entries, size = disk_cache.usage()
        most = in_words(disk_cache.most_bytes())
        line = f"{_count(entries)}, {in_words(size)} of at most {most}, in {disk_cache.folder()}"
    stdout().print(Text(line), soft_wrap=True)
    return 0


def _count(entries: int) -> str:
    return f"{entries} {'entry' if entries == 1 else 'entries'}"
