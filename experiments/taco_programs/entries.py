"""The programs of a corpus, and the files that they are read from."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parents[3] / "shared/corpus"
LOOP_COMMANDS = ("split", "divide", "fuse", "pos", "coord", "precompute", "locate", "coiterate")


@dataclass(frozen=True)
class Recorded:
    """Inputs and result as a file records them: lists of (coordinates, value), and shapes."""

    inputs: Mapping[str, Sequence[Any]]
    result: Sequence[Any]
    shapes: Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class Entry:
    """A program of a corpus. ``text`` identifies it; ``types`` are numpy's, by tensor.

    ``ignore_units`` passes over units that the target lacks.
    """

    text: str
    expression: str
    formats: tuple[str, ...] = ()
    schedule: tuple[str, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    recorded: tuple[Recorded, ...] = ()
    ignore_units: bool = False

    @property
    def commands(self) -> str:
        """The sort of its scheduling commands: "none", "reorder" only, "loops" if commands derive
        or move loops or precompute a part, or "other", which need a target with processors.
        """
        commands = {text.partition("(")[0].strip() for text in self.schedule} - {""}
        kinds = {"none": set(), "reorder": {"reorder"}, "loops": {"reorder", *LOOP_COMMANDS}}
        return next((kind for kind, known in kinds.items() if commands <= known), "other")


def read(path: Path) -> tuple[list[Entry], dict[str, list[str]]]:
    """The distinct entries of a file, and the programs beyond the grammar, by kind."""
    if path.suffix == ".json":
        return read_tests(path)
    lines = path.read_text().splitlines()
    entries = (read_line(line) for line in lines if line.strip())
    distinct = {(e.expression, e.formats, e.schedule): e for e in entries}
    return list(distinct.values()), {}


def read_line(line: str) -> Entry:
    """The entry of a command line of TACO: ``taco "EXPRESSION" -f=FORMAT ... -s=COMMAND ...``."""
    match shlex.split(line):
        case ["taco", expression, *options] if all(o.startswith(("-f=", "-s=")) for o in options):
            pass
        case _:
            raise ValueError(f"not a line of the corpus: {line}")
    return Entry(
        line,
        expression,
        tuple(option[3:] for option in options if option.startswith("-f=")),
        tuple(option[3:] for option in options if option.startswith("-s=")),
    )


_TYPES = {
    "float": "float32", "double": "float64",
    "float complex": "complex64", "complexfloat": "complex64",
    "double complex": "complex128", "complexdouble": "complex128",
    "char": "int8", "short": "int16", "int": "int32", "long": "int64", "longlong": "int64",
    "uchar": "uint8", "ushort": "uint16", "uint": "uint32", "ulong": "uint64",
    "ulonglong": "uint64",
}  # fmt: skip


def read_tests(path: Path) -> tuple[list[Entry], dict[str, list[str]]]:
    """The entries of ``taco_tests.json``, and those beyond the grammar of DESIGN.md, section 3."""
    entries: dict[str, Entry] = {}
    beyond: dict[str, list[str]] = {}
    for test in json.loads(path.read_text()):
        expression = test["expr"]
        formats = [text for text in test["formats"].split() if not text.endswith(":?")]
        kind = beyond_grammar(expression, {text.split(":")[0] for text in formats})
        if kind:
            beyond.setdefault(kind, []).append(expression)
            continue
        used = set(re.findall(r"\w+", expression))
        declared = [text.replace(":scalar", ":") for text in formats if text.split(":")[0] in used]
        options = " ".join(f"-f={text}" for text in declared)
        about = " ".join(filter(None, (test["source_test"].split(";")[0], test["notes"])))
        text = f'taco "{expression}" {options} # {about}'
        recorded = tuple(_record(case, expression) for case in test.get("cases", ()))
        entries[text] = Entry(
            text, expression, tuple(declared), (), _types(test["notes"]), recorded
        )
    return list(entries.values()), beyond


def beyond_grammar(expression: str, tensors: set[str]) -> str:
    """The construct of an expression of TACO's tests that index notation lacks, or ""."""
    _, _, right = expression.partition("=")
    called = {name for name in re.findall(r"(\w+)\(", right) if name not in tensors}
    subscripts = set(re.findall(r"\w+", " ".join(re.findall(r"\(([\w, ]*)\)", expression))))
    bare = set(re.findall(r"\b[A-Za-z]\w*\b(?!\()", re.sub(r"\w+\([\w, ]*\)", "", right)))
    kinds = {
        "several statements": re.match(r"(where|forall|sequence|multi)\(", expression),
        "index sets": "[{" in expression,
        "windows": "[" in expression,
        "other assignments": re.search(r"\w+=", expression),
        "casts": "cast<" in expression,
        "functions and custom operators": tensors and called,
        "index variables as values": tensors and bare & subscripts - tensors,
    }
    return next((kind for kind, found in kinds.items() if found), "")


def _types(notes: str) -> dict[str, str]:
    """numpy's types in notes such as ``b dtype int32_t; c dtype float`` and ``-t a:double``."""
    found = re.findall(r"(\w+) dtype ([\w ]+)", notes)
    found += re.findall(r"(\w+):(\w+)", notes) if "-t " in notes else []
    return {tensor: _TYPES.get(name, name.removesuffix("_t")) for tensor, name in found}


def _record(case: Mapping[str, Any], expression: str) -> Recorded:
    target = re.split(r"[ (]", expression)[0]
    result = case.get("result") or case.get("expected")
    shapes = {tensor: json.loads(shape or "[]") for tensor, shape in case.get("shapes", {}).items()}
    return Recorded(case["inputs"], result[target], shapes)
