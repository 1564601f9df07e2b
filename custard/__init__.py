"""Custard: from tensor expressions, formats and schedules to programs."""

from custard.compiler import compile
from custard.program import Program
from sam.support.errors import UserError

__all__ = ["Program", "UserError", "compile"]
