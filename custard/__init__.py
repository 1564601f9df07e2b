"""Custard: from tensor expressions, formats and schedules to programs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sam.support.errors import UserError
from sam.support.version import release

if TYPE_CHECKING:
    from custard.autoscheduling.ranking import autoschedule
    from custard.compiler import compile
    from custard.program import Program

__all__ = ["Program", "UserError", "__version__", "autoschedule", "compile"]

# Imported when they are first asked for, so that the command has its help at once.
_LATER = {
    "autoschedule": "custard.autoscheduling.ranking",
    "compile": "custard.compiler",
    "Program": "custard.program",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return release()
    if name in _LATER:
        found = globals()[name] = getattr(import_module(_LATER[name]), name)
        return found
    raise AttributeError(f"module {__name__} has no attribute {name}")
