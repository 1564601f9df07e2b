"""Custard: from tensor expressions, formats and schedules to programs."""

from custard.program import Program, compile
from sam.errors import UserError

__all__ = ["Program", "UserError", "compile"]
