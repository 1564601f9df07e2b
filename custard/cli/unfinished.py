"""A run that was ended by its limit of cycles, as commands and sweeps tell of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sam.support.errors import UserError


class UnfinishedRun(UserError):
    """A run is not done within its limit; ``record`` is that of the cycles before, if any."""

    def __init__(self, mistake: UserError, record: Mapping[str, Any] | None) -> None:
        super().__init__(mistake.what, hint=mistake.hint)
        self.record = record
