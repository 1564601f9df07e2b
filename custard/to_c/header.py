"""The comment at the head of a C file: its expression, how to compile it, how to call it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace

from custard.language.formats import LEVEL_FORMATS
from custard.to_c.builder import THREADS
from custard.to_c.loop_ir import INT, Kernel
from custard.to_c.lowered import Lowered
from custard.to_c.storage import storage_of

_WIDTH = 96


def documented(lowered: Lowered, flags: Sequence[str], prefix: str = "") -> Kernel:
    """The kernel under a header; ``flags`` are those of the C compiler.

    With a ``prefix`` the names of its functions and structs begin with it and ``_``.
    """
    before = f"{prefix}_" if prefix else ""
    return replace(lowered.kernel, header=tuple(_lines(lowered, flags, before)), prefix=before)


def _lines(lowered: Lowered, flags: Sequence[str], prefix: str) -> Iterator[str]:
    expression, *schedule = lowered.kernel.header
    # As the structs are stored, whatever the program declares.
    formats = [
        f"{slot.tensor}:{storage_of(slot)}"
        for slot in (lowered.result, *lowered.slots)
        if slot.tensor is not None
    ]
    rest = (*dict.fromkeys(formats), *schedule)
    yield from (expression, "", *(f"    {line}" for line in rest), "")
    for note in (*lowered.rearranged, *lowered.decisions):
        yield from _wrapped(f"Note: {note}.")
    yield from ("Compile it with", "")
    yield from _wrapped(f"cc {' '.join(flags)} kernel.c -o kernel.so", "    ", hang="        ")
    yield from ("", *_wrapped(_call(lowered, prefix)), "")
    for code in dict.fromkeys("".join(slot.levels for slot in (*lowered.slots, lowered.result))):
        yield from _wrapped(f"{code}, {LEVEL_FORMATS[code].name}: {_STORAGE[code]}", hang="   ")


def _call(lowered: Lowered, prefix: str) -> str:
    """The contract of ``compute`` and ``release``."""
    compute, release = f"{prefix}compute()", f"{prefix}release()"
    numbers = "".join(
        ", and how many threads share loops" if var == THREADS else f", and the extent {var.name}"
        for var in lowered.kernel.numbers
    )
    result, *_ = (struct.name for struct in lowered.kernel.structs if struct.written)
    if not lowered.kernel.functions:
        sets = "adds to the zeros" if lowered.on_zeros else "sets all"
        return (
            f"{compute} takes the tensors as they are stored below{numbers}; the caller owns all "
            f"arrays. It {sets} of {result}->values, which has room for every coordinate. It "
            f"returns 0, or 1 if there is no memory for its own arrays; {release} frees "
            "nothing."
        )
    most = "" if any(t == INT for _, t in _indices(lowered)) else ", or for its 32-bit indices"
    return (
        f"{compute} takes the tensors as they are stored below{numbers}; the caller owns the "
        f"arrays of the inputs, and sets the sizes of {result}. {compute} makes the arrays of "
        f"{result}, which {release} frees. It returns 0, or 1 if the result is too large for "
        f"memory{most}; there is nothing to release then."
    )


def _indices(lowered: Lowered) -> list[tuple[str, object]]:
    """The members of the result that are arrays of indices, with the types of their elements."""
    members = lowered.kernel.structs[0].fields
    return [
        (name, replace(type, pointer=False))
        for name, type in members
        if type.pointer and name != "values"
    ]


# The meaning of a level's members of a struct; n numbers the levels, p the positions above.
_STORAGE = {
    "d": "position p * size + i has the coordinate i, from 0 to size - 1.",
    "s": "positions segments[p] to segments[p + 1] - 1 have the coordinates[...], in order.",
    "u": "as compressed, and a coordinate may come again.",
    "q": "position p has the coordinate coordinates[p].",
    "c": "as singleton, and a coordinate may come again.",
    "h": (
        "positions p * width to p * width + width - 1 are the buckets of a hash table, which have "
        "the coordinates[...], or -1; i is in the first free bucket from i % width on."
    ),
    "r": "position p * size + i has the coordinate i, from begins[p] to ends[p] - 1.",
    "o": "position p has the coordinate above it plus offsets[the position above that].",
    "b": (
        "bit i % 64 of words[p * ((size + 63) / 64) + i / 64] is set for each coordinate i; its "
        "position is the number of ones before it, ranks[...] of which lie before the word."
    ),
    "l": (
        "position heads[p] has the first of the coordinates[...], in order; position nexts[n] the "
        "one after that of position n; -1 where there is none."
    ),
    "n": (
        "positions starts[r] to starts[r + 1] - 1 have the coordinates from begins[r] on, for the "
        "runs r from segments[p] to segments[p + 1] - 1."
    ),
}


def _wrapped(text: str, pad: str = "", hang: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=pad,
        subsequent_indent=hang or pad,
        break_long_words=False,
        break_on_hyphens=False,
    )
