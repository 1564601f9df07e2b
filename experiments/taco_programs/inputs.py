"""The inputs that a program of a corpus runs on."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from custard.language import notation
from custard.language.formats import LEVEL_FORMATS, Format, parse_declaration
from experiments.taco_programs.entries import Entry, Recorded

MOST_POINTS = 1500
LARGEST_EXTENT = 6


@dataclass(frozen=True)
class Case:
    """Inputs of a program; ``due`` is the result if a file records it, and numpy tells it if not.

    ``extents``  of every variable that the program uses
    """

    name: str
    extents: Mapping[str, int]
    inputs: Mapping[str, np.ndarray]
    due: np.ndarray | None = None


def cases(entry: Entry, assignment: notation.Assignment) -> Iterator[Case]:
    """The inputs for an entry: its recorded ones, or else four that its text determines."""
    if entry.recorded:
        yield from (_recorded(record, assignment, entry.types) for record in entry.recorded)
        return
    seed = zlib.crc32(entry.text.encode())
    declared = formats(entry, assignment)
    for n, (name, density) in enumerate(
        (("random", 0.6), ("random", 0.3), ("empty", 0.0), ("full", 1.0))
    ):
        random = np.random.default_rng([seed, n])
        extents = {**_extents(assignment, random), **_bounded(entry, assignment)}
        inputs = {}
        for tensor, variables in _inputs(assignment):
            shape = [extents[variable] for variable in variables]
            array = _array(random, shape, density, entry.types.get(tensor, "float64"))
            inputs[tensor] = _fitted(array, declared[tensor]) if tensor in declared else array
        yield Case(name, extents, inputs)


def parsed(entry: Entry) -> notation.Assignment:
    """The syntax tree of an entry's expression."""
    declared = [text.partition(":")[0].strip() for text in entry.formats]
    return notation.parse(entry.expression, declared)


def formats(entry: Entry, assignment: notation.Assignment) -> dict[str, Format]:
    """The format of each tensor that an entry declares."""
    orders = {access.tensor: len(access.indices) for access in notation.accesses(assignment)}
    return dict(parse_declaration(text, orders) for text in entry.formats)


def unfixed(assignment: notation.Assignment) -> list[str]:
    """The variables whose extent no input fixes."""
    fixed = {variable for _, variables in _inputs(assignment) for variable in variables}
    return [variable for variable in _variables(assignment) if variable not in fixed]


def _inputs(assignment: notation.Assignment) -> list[tuple[str, list[str]]]:
    """The accesses that read a tensor, as its name and its variables, in the order of the text."""
    target, *read = notation.accesses(assignment)
    if assignment.operator == "+=":
        read.append(target)
    return [(access.tensor, [index.name for index in access.indices]) for access in read]


def _variables(assignment: notation.Assignment) -> list[str]:
    found = (n.name for n in notation.walk(assignment) if isinstance(n, notation.Variable))
    return list(dict.fromkeys(found))


def _array(
    random: np.random.Generator, shape: Sequence[int], density: float, dtype: str
) -> np.ndarray:
    """Small whole numbers, so that sums are exact in any order and any type."""
    values = random.integers(1, 5, shape)
    if np.dtype(dtype).kind in "ifc":
        values = values * random.choice((-1, 1), shape)
    return np.where(random.random(shape) < density, values, 0).astype(dtype)


def _fitted(array: np.ndarray, format: Format) -> np.ndarray:
    """The array with one child for each parent where a level of the format cannot have others.

    That is a branchless level, unless a level that is not unique gives a parent to each entry.
    """
    array = array.transpose(format.mode_order)
    parents, parent_of_each = np.ones((), bool), False
    for n, code in enumerate(format.levels):
        level, below = LEVEL_FORMATS[code], tuple(range(n + 1, array.ndim))
        parent_of_each = parent_of_each if level.branchless else not level.unique
        if level.branchless and not parent_of_each:
            present = array.any(axis=below)
            chosen = np.arange(array.shape[n]) == np.expand_dims(present.argmax(axis=n), n)
            array = np.where(np.expand_dims(chosen, below), array, 0)
            array.reshape(*parents.shape, -1)[parents & ~present.any(axis=n), 0] = 1
        parents = np.expand_dims(parents, n) & (array.any(axis=below) | level.full)
    return array.transpose(np.argsort(format.mode_order))


def _extents(assignment: notation.Assignment, random: np.random.Generator) -> dict[str, int]:
    """Random extents: equal where variables share a mode, and ``MOST_POINTS`` points at most."""
    leader = {variable: variable for variable in _variables(assignment)}
    first: dict[str, list[str]] = {}
    read = _inputs(assignment)
    target = assignment.target
    if target.tensor in dict(read):
        read.append((target.tensor, [index.name for index in target.indices]))
    for tensor, variables in read:
        for one, other in zip(first.setdefault(tensor, variables), variables, strict=True):
            one, other = leader[one], leader[other]
            leader = {v: one if found == other else found for v, found in leader.items()}
    drawn = {v: int(random.integers(1, LARGEST_EXTENT + 1)) for v in dict.fromkeys(leader.values())}
    while prod(drawn[found] for found in leader.values()) > MOST_POINTS:
        drawn[max(drawn, key=lambda v: (drawn[v], random.random()))] -= 1
    return {variable: drawn[found] for variable, found in leader.items()}


def _bounded(entry: Entry, assignment: notation.Assignment) -> dict[str, int]:
    """The extents that ``bound`` tells exactly: of variables, and of those that are split into
    tiles whose number it tells."""
    found: dict[str, int] = {}
    tiles: dict[str, tuple[str, int]] = {}
    commands = [text for whole in entry.schedule for text in re.findall(r"\w+\([^()]*\)", whole)]
    names = {variable: variable for variable in _variables(assignment)}
    for name, _, rest in (text.partition("(") for text in commands):
        words = [word.strip() for word in rest.rstrip(")").split(",")]
        if name == "split" and words[0] in names:
            tiles[words[1]] = (names[words[0]], int(words[3]))
        if name == "bound" and words[3] == "MaxExact":
            number = int(words[2])
            if words[0] in names:
                names[words[1]] = names[words[0]]
                found[names[words[0]]] = number
            elif words[0] in tiles:
                variable, size = tiles[words[0]]
                found[variable] = number * size
    return found


def _recorded(record: Recorded, assignment: notation.Assignment, types: Mapping[str, str]) -> Case:
    """A recorded case; where no shapes are recorded, the coordinates tell the extents."""
    target = assignment.target
    lists = {tensor: record.inputs[tensor] for tensor, _ in _inputs(assignment)}
    extents: dict[str, int] = {}
    accesses = [*_inputs(assignment), (target.tensor, [index.name for index in target.indices])]
    for n, (tensor, variables) in enumerate(accesses):
        entries = record.result if n == len(accesses) - 1 else lists[tensor]
        least = [1 + max((point[mode] for point, _ in entries), default=0)
                 for mode in range(len(variables))]  # fmt: skip
        for variable, extent in zip(variables, record.shapes.get(tensor, least), strict=True):
            extents[variable] = max(extent, extents.get(variable, 1))
    arrays = {
        tensor: _scattered(lists[tensor], [extents[v] for v in variables], types.get(tensor))
        for tensor, variables in _inputs(assignment)
    }
    due = _scattered(record.result, [extents[index.name] for index in target.indices])
    return Case("the recorded", extents, arrays, due)


def _scattered(
    entries: Sequence[Any], shape: Sequence[int], dtype: str | None = None
) -> np.ndarray:
    """The dense array of a list of entries, whose complex numbers look like "(10,0)"."""
    points = [(tuple(point), _number(value)) for point, value in entries]
    array = np.zeros(shape, dtype or np.result_type(float, *(value for _, value in points)))
    for point, value in points:
        array[point] = value
    return array


def _number(value: Any) -> complex | float:
    if isinstance(value, str):
        real, imaginary = value.strip("()").split(",")
        return complex(float(real), float(imaginary))
    return float(value)
