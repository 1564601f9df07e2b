"""The published simulator's figures, where ``../shared/reference`` is at hand."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[3] / "shared" / "reference"

needs_published = pytest.mark.skipif(not FOLDER.is_dir(), reason="needs ../shared/reference")


def read(name: str) -> Any:
    """The contents of a file of the reference; an empty list where there is none."""
    path = FOLDER / name
    return json.loads(path.read_text()) if path.is_file() else []


def vectors(test: str) -> list[dict[str, Any]]:
    """The cases of a test of ``primitive_vectors.json``."""
    for file in read("primitive_vectors.json"):
        for found in file["tests"]:
            if found["test"] == test:
                return found["params"].get("arrs", [found["inline_literals"]])
    return []


def stream(tokens: Sequence[Any]) -> str:
    """The text of a stream of theirs; their "" is a cycle without a token."""
    return ", ".join(str(token) for token in tokens if token != "")
