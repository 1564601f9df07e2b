"""A request to the compiler: its arguments once they have been read, as every target gets them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from custard.language.commands import Command
from custard.language.formats import Format
from sam.support.errors import UserError


@dataclass(frozen=True)
class Request:
    """A compilation: the arguments of ``custard.compile``, checked.

    ``expression``  as it was given
    ``formats``     of the tensors; ``undeclared`` are the tensors that no format was given for
    ``workspaces``  the texts of the formats that are given for workspaces
    ``schedule``    the texts of the commands, and ``commands`` the commands in them
    ``dims``        extents by variable
    """

    expression: str
    formats: Mapping[str, Format]
    undeclared: frozenset[str]
    workspaces: Mapping[str, str]
    schedule: tuple[str, ...]
    commands: tuple[Command, ...]
    dims: Mapping[str, int]
    strict: bool
    drop_zeros: bool
    fast_math: bool
    ignore_units: bool

    @property
    def of_program(self) -> dict[str, Any]:
        """The fields that a ``Program`` takes from the request."""
        return {
            "expression": self.expression,
            "formats": self.formats,
            "undeclared": self.undeclared,
            "drop_zeros": self.drop_zeros,
            "schedule": self.schedule,
            "dims": self.dims,
        }

    def refuse_rearranged(self, rearranged: Mapping[str, str | None]) -> None:
        """Raises UserError under ``strict`` for a tensor that is stored anew.

        ``rearranged`` has a note for each, with the format that avoids it, if there is one.
        """
        if self.strict and rearranged:
            note, instead = next(iter(rearranged.items()))
            write = "" if instead is None else f"write the format {instead}, or "
            raise UserError(note, hint=f"{write}drop strict to let the compiler do it")
