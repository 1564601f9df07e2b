"""Tables in HTML, for pages and notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any


class Markup(str):
    """Text that is HTML already."""


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[Any]], kind: str = "") -> str:
    """A table; cells are text that is escaped, or ``Markup``. The first of a row is its head."""
    head = "".join(f'<th scope="col">{escape(one)}</th>' for one in heads)
    body = "".join(
        "<tr>"
        + "".join(
            f'<th scope="row">{_cell(one)}</th>' if n == 0 else f"<td>{_cell(one)}</td>"
            for n, one in enumerate(row)
        )
        + "</tr>"
        for row in rows
    )
    top = f"<thead><tr>{head}</tr></thead>" if heads else ""
    return (
        f'<div class="wide"><table class="{kind}"><caption>{escape(caption)}</caption>'
        f"{top}<tbody>{body}</tbody></table></div>"
    )


def _cell(value: Any) -> str:
    if isinstance(value, Markup):
        return value
    return escape(f"{value:,}" if isinstance(value, int) else str(value))
