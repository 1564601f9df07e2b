"""The order of the loops before any command; all targets use this."""

from __future__ import annotations

from collections.abc import Sequence

from custard.language.commands import CHOICES

# With these commands, the loops start in the order of the text.
KEEP_ORDER = frozenset({"reorder", *CHOICES})
STORED_SO = "the tensors are stored so"


def order_notes(before: Sequence[str], loops: Sequence[str], why: str) -> list[str]:
    """The note that loops are in another order than that of the text, if they are."""
    changed = tuple(loops) != tuple(before)
    return [f"the loop order is {', '.join(loops)}: {why}"] if changed else []
