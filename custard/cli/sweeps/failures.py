"""Points that failed, those with errors of one kind together."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NUMBER = re.compile(r"\b\d[\d,.]*")


def by_kind(failed: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The names of the points that failed by errors of one kind, and the first of these errors.

    ``failed`` has the name of each point and its error. Errors are of one kind if their first lines
    differ in numbers alone, as deadlocks after other cycles do.
    """
    kinds: dict[str, list[tuple[str, str]]] = {}
    for name, error in failed:
        kinds.setdefault(_NUMBER.sub("", error.partition("\n")[0]), []).append((name, error))
    return [
        (name + f", and {len(others)} more alike" * bool(others), error)
        for (name, error), *others in kinds.values()
    ]
