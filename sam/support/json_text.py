"""JSON as data, within bounds: what is wrong with a text is one UserError, with its place."""

from __future__ import annotations

import json
from typing import Any

from sam.support.errors import UserError

_MOST_DIGITS = 60


def parse_json(text: str, what: str) -> Any:
    """The data of a JSON text, which errors call the ``what``.

    Numbers have at most 60 digits; NaN and infinities, which JSON does not have, are taken as
    Python writes them. Raises UserError.
    """
    try:
        return json.loads(text, parse_int=_integer)
    except json.JSONDecodeError as mistake:
        begin = text.rfind("\n", 0, mistake.pos) + 1
        line = text[begin:].partition("\n")[0]
        place = mistake.pos - begin
        why = mistake.msg[0].lower() + mistake.msg[1:]
        raise UserError(
            f"{what} is not JSON: {why} in line {mistake.lineno}",
            source=line.replace("\t", " "),
            span=(place, place + 1),
        ) from None
    except RecursionError:
        raise UserError(f"{what} is not JSON that can be read: it is nested too deep") from None
    except _TooLong:
        raise UserError(
            f"{what} is not JSON that can be read: a number has more than {_MOST_DIGITS} digits"
        ) from None


class _TooLong(Exception):
    """A number that nobody means."""


def _integer(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise _TooLong
    return int(text)
