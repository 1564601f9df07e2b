"""The commands that print a list: the configs that are shipped, and the level formats."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields

from rich.console import Group, RenderableType
from rich.table import Table

from custard.cli.arguments import Parser, parse, stdout
from custard.language.formats import (
    LEVEL_FORMATS,
    NAMED_FORMATS,
    LevelFormat,
    parse_format,
)
from sim.config import hardware as config


def configs(argv: Sequence[str]) -> int:
    """Lists the configs that are shipped."""
    return _print("configs", configs.__doc__, _configs(), argv)


def formats(argv: Sequence[str]) -> int:
    """Lists the level formats, and the names of whole ones."""
    return _print("formats", formats.__doc__, _formats(), argv)


def _print(name: str, about: str | None, listed: RenderableType, argv: Sequence[str]) -> int:
    parse(Parser(prog=f"custard {name}", description=about, allow_abbrev=False), argv, ())
    stdout().print(listed)
    return 0


def _configs() -> RenderableType:
    table = Table("config", "machine", box=None, pad_edge=False, header_style="bold")
    for name, description in config.shipped().items():
        table.add_row(name, description)
    return table


def _formats() -> RenderableType:
    tables = _level_formats(), _named_formats(), _views(), _convolution_formats()
    return Group(*(line for table in tables for line in (table, "")))


def _level_formats() -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("code", "level format", "properties", "capabilities"):
        table.add_column(column)
    for code, level in LEVEL_FORMATS.items():
        has = [field.name for field in fields(LevelFormat) if getattr(level, field.name) is True]
        able = [name for name in has if name in _CAPABILITIES]
        is_ = " ".join(name for name in has if name not in able)
        table.add_row(code, level.name, is_, " ".join(able))
    return table


def _named_formats() -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("write")
    table.add_column("for", overflow="fold")
    table.add_column("levels", no_wrap=True)
    for name, form in NAMED_FORMATS.items():
        orders = [f"{name}(2)", f"{name}(3)"] if form.order is None else [name]
        levels = ", ".join(str(parse_format(text)) for text in orders)
        table.add_row(f"-f=A:{name}", form.stores, levels)
    return table


def _views() -> Table:
    """The named formats that store a matrix or a vector as a tensor of more modes."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("with", "write in the expression", "and give"):
        table.add_column(column, no_wrap=True)
    for name, form in NAMED_FORMATS.items():
        if form.access is not None:
            table.add_row(f"-f=A:{name}", f"A{form.access}", f"sam.Tensor.of(A).{form.view}")
    return table


CONVOLUTION = "Y(n,o,p,q) = X(n,c,p+r,q+s) * F(o,c,r,s)"
CONVOLUTION_FORMATS = {
    "X:ddss": "images: the pixels of a channel compressed",
    "X:ddbb": "images: a bit for each row and pixel of a channel",
    "X:ddds:0,2,3,1": "images: of each pixel the channels compressed",
    "X:dssb:0,2,3,1": "images: empty pixels left out, a bit for each channel of others",
    "F:ssss": "filters: pruned, empty ones left out",
    "F:uccq": "filters: pruned, a list of coordinates",
    "F:ssdd": "filters: pairs of channels left out as a whole",
    "F:dddb:0,2,3,1": "filters: a bit for each channel",
}
"""Some formats of the tensors of a convolution, and their uses."""


def _convolution_formats() -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("write")
    table.add_column(f"in {CONVOLUTION}, for", overflow="fold")
    for form, stored in CONVOLUTION_FORMATS.items():
        table.add_row(f"-f={form}", stored)
    return table


_CAPABILITIES: Collection[str] = (
    "iterates_values",
    "iterates_positions",
    "iterates_words",
    "locates",
    "inserts",
    "appends",
    "appends_anywhere",
)
