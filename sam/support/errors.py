"""The one exception that a user's mistake raises, and the text that it prints."""

from __future__ import annotations

import json
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


class UserError(Exception):
    """A mistake of the user: what is wrong, where, and the nearest thing that works.

    ``what``    one sentence, without a final full stop
    ``source``  the text in which the mistake stands (an expression, a format, a line of a file)
    ``span``    ``(start, end)`` offsets in ``source``, marked with carets
    ``hint``    what to write instead

    Its text is ``what``, then the marked source and the hint, each on lines of their own. A line
    that quotes a long input is cut to its beginning and its end, and a long source to the text
    around the span: 200 characters.
    """

    def __init__(
        self,
        what: str,
        *,
        source: str | None = None,
        span: tuple[int, int] | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(what)
        self.what, self.source, self.span, self.hint = what, source, span, hint

    def __str__(self) -> str:
        lines = self.what.split("\n")
        if self.source is not None and self.source.strip() and self.span is not None:
            shown, (start, end) = _window(self.source, self.span)
            lines += ["  " + shown, "  " + " " * start + "^" * max(1, end - start)]
        if self.hint is not None:
            lines.append(f"hint: {self.hint}")
        return "\n".join(quoted(line) if len(line) > _LONG_LINE else line for line in lines)

    def about(self, thing: str) -> UserError:
        """The same mistake with the name of the subject that its text lacks."""
        return UserError(
            f"{thing}: {self.what}", source=self.source, span=self.span, hint=self.hint
        )


_MOST_SHOWN = 20
_MOST_QUOTED = 200
_LONG_LINE = 600  # only a line that quotes is as long


def quoted(text: str) -> str:
    """The text as errors quote it: if it is long, its beginning and its end, 200 characters."""
    if len(text) <= _MOST_QUOTED:
        return text
    end = _MOST_QUOTED // 4
    return f"{text[: _MOST_QUOTED - end - 3]}...{text[-end:]}"


_UNSEEN = dict.fromkeys([*range(0x20), *range(0x7F, 0xA0)], "\N{REPLACEMENT CHARACTER}")
del _UNSEEN[ord("\n")], _UNSEEN[ord("\t")]


def visible(text: str) -> str:
    """The text without characters that control a terminal, each replaced by another."""
    return text.translate(_UNSEEN)


def shown(value: Any) -> str:
    """A value as errors quote it, as JSON if it has such a form."""
    try:
        return quoted(json.dumps(value, default=str, ensure_ascii=False))
    except (ValueError, RecursionError):  # a number of thousands of digits, or a list in itself
        kind = "number" if isinstance(value, int) else type(value).__name__
        return f"a {kind} that is too large to show"


def _window(source: str, span: tuple[int, int]) -> tuple[str, tuple[int, int]]:
    """A source and a span in it, cut to the text around the span's beginning."""
    begin, end = span
    if len(source) <= _MOST_QUOTED:
        return source, span
    size = _MOST_QUOTED - 6
    first = max(0, min(begin - size // 2, len(source) - size))
    last = first + size
    left, right = "..." * (first > 0), "..." * (last < len(source))
    moved = len(left) - first
    return left + source[first:last] + right, (begin + moved, min(end, last) + moved)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that ``word`` was most likely meant to be, or None."""
    words = list(known)
    folded = {w.casefold().lstrip("-"): w for w in reversed(words)}
    found = get_close_matches(word.casefold().lstrip("-"), folded, n=1, cutoff=0.5)
    return folded[found[0]] if found else None


def one_of(word: str, known: Iterable[str]) -> str:
    """A hint that names the nearest known word, or all of them if there are not too many."""
    words = list(known)
    close = nearest(str(word), words)
    if close:
        return f"did you mean {close}?"
    if not words:
        return "there is none"
    more = len(words) - _MOST_SHOWN
    return "one of " + ", ".join(words[:_MOST_SHOWN]) + f" and {more} more" * (more > 0)


class StreamError(UserError):
    """A token that does not belong where it comes: a graph that no compiler should make.

    ``value`` takes the place of ``{}`` in the text.
    """

    def __init__(self, what: str, value: Any = None, hint: str | None = None) -> None:
        super().__init__(what if value is None else what.replace("{}", str(value)), hint=hint)

    def about(self, thing: str) -> StreamError:
        return StreamError(f"{thing}: {self.what}", hint=self.hint)
