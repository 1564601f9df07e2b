"""YAML 1.2 as data: the core schema, within bounds, each mistake with its file and line.

Numbers and truth values are those of the core schema (https://yaml.org/spec/1.2.2, section 10.3):
``010`` is ten, ``0o10`` eight; ``1:30``, ``0b1``, ``1_000``, ``yes`` and ``off`` are text. Beyond
the core schema, ``<<`` merges mappings. Keys are scalars, and stand once in a mapping.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import yaml

from sam.support.errors import UserError, quoted

_MOST_BYTES = 2**20  # of a text
_MOST_LEVELS = 50  # of lists and mappings in each other
_MOST_DIGITS = 60  # of a number
# What the data may take once aliases are expanded: characters, and as many more for each value.
_MOST_SIZE, _SIZE_OF_A_VALUE = 4 * 2**20, 40

_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **{
        f"{sign}.{word}": -math.inf if sign == "-" else math.inf
        for sign in ("", "+", "-")
        for word in ("inf", "Inf", "INF")
    },
}
_TAG = "tag:yaml.org,2002:"
_SCALAR_TAGS = {"null": type(None), "bool": bool, "int": int, "float": float}


def read_yaml(path: str | Path, what: str) -> Any:
    """The data of a YAML file, which errors call the ``what``. Raises UserError."""
    try:
        with open(path, "rb") as file:
            data = file.read(_MOST_BYTES + 1)
        text = data.decode("utf-8-sig") if len(data) <= _MOST_BYTES else ""
    except (OSError, ValueError) as mistake:
        why = "it is not UTF-8 text"
        if not isinstance(mistake, UnicodeDecodeError):
            why = getattr(mistake, "strerror", None) or str(mistake)
        raise UserError(f'cannot read the {what} "{path}": {why}') from None
    if len(data) > _MOST_BYTES:
        raise UserError(f'cannot read the {what} "{path}": it has more than {_MOST_BYTES} bytes')
    return parse_yaml(text, str(path))


def parse_yaml(text: str, origin: str) -> Any:
    """The data of a YAML text. Raises UserError, which names ``origin`` as its file."""
    return _EventReader(text, origin).document()


class _EventReader:
    """Makes data of the events of PyYAML's parser, which does not recurse."""

    def __init__(self, text: str, origin: str) -> None:
        self.text, self.origin = text, quoted(origin)
        self.anchors: dict[str, tuple[Any, int] | None] = {}  # None while it is being made
        self.size = 0
        self.events = self._events()

    def document(self) -> Any:
        if len(self.text) > _MOST_BYTES:
            self._refuse(f"it has more than {_MOST_BYTES} characters")
        next(self.events)
        event = next(self.events)
        if isinstance(event, yaml.StreamEndEvent):
            return None
        data = self._value(next(self.events), 0)
        next(self.events)
        event = next(self.events)
        if not isinstance(event, yaml.StreamEndEvent):
            self._refuse("a second document begins; there must be one", event)
        return data

    def _events(self) -> Iterator[yaml.Event]:
        loader = None
        try:
            loader = yaml.SafeLoader(self.text)
            while loader.check_event():
                yield loader.get_event()
        except yaml.reader.ReaderError as mistake:
            line = self.text.count("\n", 0, mistake.position) + 1
            code = mistake.character
            self._refuse(f"the character U+{code:04X} may not stand in YAML", line=line)
        except yaml.MarkedYAMLError as mistake:
            mark = mistake.problem_mark or mistake.context_mark
            problem = quoted(mistake.problem or mistake.context or "it is not YAML")
            self._refuse(problem, line=1 if mark is None else mark.line + 1)
        except (yaml.YAMLError, ValueError, OverflowError):
            # A directive or an escape whose number is too large.
            line = 1 if loader is None else loader.line + 1
            self._refuse("it is not YAML: a number in it is out of range", line=line)

    def _value(self, event: yaml.Event, level: int) -> Any:
        """The value that begins with an event."""
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        if level > _MOST_LEVELS:
            self._refuse(f"lists and mappings are more than {_MOST_LEVELS} levels deep", event)
        assert isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent)
        anchor, before = event.anchor, self.size
        if anchor is not None:
            self.anchors[anchor] = None
        self._take(_SIZE_OF_A_VALUE, event)
        value: Any
        if isinstance(event, yaml.ScalarEvent):
            self._take(len(event.value), event)
            value = self._scalar(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            self._require_tag(event, "seq")
            value = []
            while not isinstance(item := next(self.events), yaml.SequenceEndEvent):
                value.append(self._value(item, level + 1))
        else:
            assert isinstance(event, yaml.MappingStartEvent)
            self._require_tag(event, "map")
            value = self._mapping(level)
        if anchor is not None:
            self.anchors[anchor] = value, self.size - before
        return value

    def _alias(self, event: yaml.AliasEvent) -> Any:
        name = event.anchor or ""
        if name not in self.anchors:
            self._refuse(f"there is no anchor &{quoted(name)} before this alias", event)
        found = self.anchors[name]
        if found is None:
            self._refuse(f"*{quoted(name)} stands inside the value that it names", event)
        value, size = found
        self._take(size, event)
        return value

    def _mapping(self, level: int) -> dict[Any, Any]:
        own: dict[Any, Any] = {}
        merged: dict[Any, Any] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            merges = isinstance(event, yaml.ScalarEvent) and event.value == "<<" and not event.style
            key = self._value(event, level + 1)
            if isinstance(key, list | dict):
                self._refuse("a key is a list or a mapping; it must be text or a number", event)
            following = next(self.events)
            value = self._value(following, level + 1)
            if merges:
                self._merge(merged, value, following)
            elif key in own:
                self._refuse(f'the key "{quoted(str(key))}" stands twice', event)
            else:
                own[key] = value
        return {**merged, **own}

    def _merge(self, merged: dict[Any, Any], value: Any, event: yaml.Event) -> None:
        parts = value if isinstance(value, list) else [value]
        for part in parts:
            if not isinstance(part, dict):
                self._refuse("<< merges mappings, and this is none", event)
            for key, inner in part.items():
                merged.setdefault(key, inner)

    def _scalar(self, event: yaml.ScalarEvent) -> Any:
        text = event.value
        if any("\ud800" <= character <= "\udfff" for character in text):
            self._refuse("an escape stands for half a character", event)
        tag = event.tag
        if tag == "!" or (tag is None and not event.implicit[0]):
            return text
        value = text if event.style and tag is None else self._plain(text, event)
        if tag is None:
            return value
        name = tag.removeprefix(_TAG)
        if name == "str":
            return text
        if tag == name or name not in _SCALAR_TAGS:
            self._refuse(f"the tag {quoted(tag)} is not known", event)
        if name == "float" and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, _SCALAR_TAGS[name]) or (name == "int" and value in (True, False)):
            self._refuse(f'"{quoted(text)}" is no {name}', event)
        return value

    def _plain(self, text: str, event: yaml.ScalarEvent) -> Any:
        """The value of text without quotes in the core schema."""
        if text in _WORDS:
            return _WORDS[text]
        kind = next((kind for kind in (_INTEGER, _FLOAT) if kind.fullmatch(text)), None)
        if kind is None:
            return text
        if len(text) > _MOST_DIGITS:
            self._refuse(f"a number has {len(text)} digits; {_MOST_DIGITS} is the most", event)
        if kind is _INTEGER:
            base = {"0o": 8, "0x": 16}.get(text[:2], 10)
            return int(text, base)
        number = float(text)
        if math.isinf(number):
            self._refuse(f"{text} is too large for a number", event)
        return number

    def _require_tag(self, event: yaml.CollectionStartEvent, name: str) -> None:
        if event.tag not in (None, "!", _TAG + name):
            self._refuse(f"the tag {quoted(event.tag)} is not known", event)

    def _take(self, size: int, event: yaml.Event) -> None:
        self.size += size
        if self.size > _MOST_SIZE:
            self._refuse("there is too much data, once aliases are expanded", event)

    def _refuse(
        self, problem: str, event: yaml.Event | None = None, line: int | None = None
    ) -> NoReturn:
        if event is not None and event.start_mark is not None:
            line = event.start_mark.line + 1
        place = self.origin if line is None else f"{self.origin}, line {line}"
        raise UserError(f"{place}: {problem}") from None
