"""The simulators of SAM graphs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sam.support.errors import UserError
from sam.support.version import release

if TYPE_CHECKING:
    from sim.endless import OutOfCycles
    from sim.many import simulate_many
    from sim.simulation import simulate
    from sim.stats import BlockStats, Run, StreamStats

__all__ = [
    "BlockStats",
    "OutOfCycles",
    "Run",
    "StreamStats",
    "UserError",
    "__version__",
    "simulate",
    "simulate_many",
]

# Imported when they are first asked for, so that the command has its help at once.
_LATER = {
    "simulate": "sim.simulation",
    "simulate_many": "sim.many",
    "BlockStats": "sim.stats",
    "OutOfCycles": "sim.endless",
    "Run": "sim.stats",
    "StreamStats": "sim.stats",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return release()
    if name in _LATER:
        found = globals()[name] = getattr(import_module(_LATER[name]), name)
        return found
    raise AttributeError(f"module {__name__} has no attribute {name}")
