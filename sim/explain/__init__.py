"""Why a run took as long as it did, and what would make it shorter.

``bounds``    cycles that no change of queues or latencies can go below
``what_if``   changes that each make one resource ideal, for the causes on the critical path
``telling``   the explanation: a sentence, and the tables behind it
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sim.explain.telling import Explanation, explain

__all__ = ["Explanation", "explain"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    from sim.explain import telling  # here, as reports of programs in C need no machine

    return getattr(telling, name)
