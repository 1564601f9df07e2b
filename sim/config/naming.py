"""How a config is called: its name, and the values that overrides have set.

It works on a config with all its defaults as plain JSON data, as runs and their records have it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from sam.support.errors import visible

_MOST_CHANGES, _MOST_TEXT = 4, 30
NOTHING: Any = object()  # the value of a key that a config does not have
_WORDS = ("name", "description", "changed")  # keys that tell of a config, and change no machine


def called(config: Mapping[str, Any], apart: Collection[str] = ()) -> str:
    """The name of a config with its changes, as in ``ideal with queues.depth=4``.

    The keys ``apart`` are left out.
    """
    found = [f"{key}={text}" for key, text in _changes(config) if key not in apart]
    shown = found if len(found) == _MOST_CHANGES + 1 else found[:_MOST_CHANGES]
    more = [f"{len(found) - len(shown)} more"] if len(found) > len(shown) else []
    changes = " and ".join([", ".join(shown), *more]) if shown else ""
    return visible(f"{config.get('name')} with {changes}" if changes else str(config.get("name")))


def ran_on(config: Mapping[str, Any], engine: str) -> str:
    """The config and the engine of a run, in words."""
    return f"config {called(config)}, engine {engine}"


def changed(before: Mapping[str, Any], after: Mapping[str, Any], keys: Iterable[str]) -> list[str]:
    """The keys that are changed in ``after``: those of ``before``, and of ``keys`` those that
    ``before`` has with another value or not at all."""
    known = list(before.get("changed", ()))
    known += [key for key in keys if key not in _WORDS
              and value_of(before, key) != value_of(after, key)]  # fmt: skip
    return [key for key in dict.fromkeys(known) if value_of(after, key) is not NOTHING]


def path_of(key: str) -> list[str]:
    """The parts of a dotted key; a name in it may have dots itself."""
    path = key.split(".")
    if len(path) > 4 and path[1] == "names":
        path = [*path[:2], ".".join(path[2:-1]), path[-1]]
    if len(path) > 3 and path[1] == "places":
        path = [*path[:2], ".".join(path[2:])]
    return path


def value_of(config: Mapping[str, Any], key: str) -> Any:
    """The value of a key; ``NOTHING`` where a config has none."""
    found: Any = config
    for part in path_of(key):
        if isinstance(found, Sequence) and not isinstance(found, str):
            found = {
                one["name"]: one for one in found if isinstance(one, Mapping) and "name" in one
            }
        if not isinstance(found, Mapping) or part not in found:
            return NOTHING
        found = found[part]
    return found


def _changes(config: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The keys that overrides have set, with their values as text."""
    keys = config.get("changed")
    if not isinstance(keys, Sequence) or isinstance(keys, str):
        return []
    found = [(key, value_of(config, key)) for key in keys if isinstance(key, str)]
    return [(key, _shown(value)) for key, value in found if value is not NOTHING]


def _shown(value: Any) -> str:
    """A value in a name: sections of a list by their names, and no long ones."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{value:.12g}"
    if isinstance(value, Sequence):
        value = [one.get("name", one) if isinstance(one, Mapping) else one for one in value]
    text = json.dumps(value).replace('"', "")
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 3]}..."
