"""A run that was ended by its limit of cycles, as commands and sweeps tell of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from sam.support.errors import UserError


class UnfinishedRun(UserError):
    """A run is not done within its limit.

    ``find_record`` gives the record of the cycles before, if somebody asks for it.
    """

    def __init__(
        self, mistake: UserError, find_record: Callable[[], Mapping[str, Any] | None]
    ) -> None:
        super().__init__(mistake.what, hint=mistake.hint)
        self._find_record = find_record

    @cached_property
    def record(self) -> Mapping[str, Any] | None:
        """The record of the cycles before the limit; None where there are none."""
        return self._find_record()
