"""The helper functions that generated C may call; a kernel gets those that it uses.

Each helper is a ``.h`` file here, named after it. Some are templates, whose letters are replaced:

    T  a type of index arrays, or of values; in ``run_end_T`` also part of the name
    N  the type of values as part of a name (``double_complex``)
    B  the unsigned type of the size of a value; R the type of the parts of a complex value
    W  the name of a workspace's struct, H that of one that has a hash table, K the type of keys
    $  the words in ``GATHERED``, for sums of products
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import resources
from string import Template

INDEX_TYPES = ("int32_t", "int64_t")

_PLAIN = (
    "resized",
    "resized_zero",
    "grown",
    "floored",
    "times",
    "lowest_bit",
    "mark_bit",
    "take_bits",
    "bits_of",
)
_KEYS = ("int64_t", "uint64_t", "wide_t")
_INDEXED = ("run_end", "sought", "parent", "locate_hashed", "sort_buckets")
_COMPLEX = ("multiply", "divide")
_PARTS = {"float complex": "float", "double complex": "double"}
_BITS = {
    "bool": "uint8_t",
    "int32_t": "uint32_t",
    "int64_t": "uint64_t",
    "float": "uint32_t",
    "double": "uint64_t",
    "float complex": "uint32_t",
    "double complex": "uint64_t",
}

_EIGHT = {"lanes": 8, "steps": "0, 1, 2, 3, 4, 5, 6, 7", "mask": "__mmask8"}
_SIXTEEN = {
    "lanes": 16,
    "steps": "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
    "mask": "__mmask16",
}
_DOUBLE = {"T": "double", "vector": "__m512d", "s": "pd", **_EIGHT}
_FLOAT = {"T": "float", "vector": "__m512", "s": "ps", **_SIXTEEN}
_BY_INT32 = {"C": "int32_t", "places": "__m512i", "i": "_mm512", "e": "epi32", "g": "i32"}
_BY_INT64 = {"C": "int64_t", "places": "__m512i", "i": "_mm512", "e": "epi64", "g": "i64"}
_DOTS: Mapping[str, Mapping[str, object]] = {
    "dot_double_int32_t": {**_DOUBLE, **_BY_INT32, "places": "__m256i", "i": "_mm256"},
    "dot_double_int64_t": {**_DOUBLE, **_BY_INT64},
    "dot_float_int32_t": {**_FLOAT, **_BY_INT32},
}
_PLAINLY = dict.fromkeys(("of_each", "scale", "scales", "by", "times"), "")
_SCALED = {
    "of_each": ", each\n// times `scale`",
    "scale": ", $T scale",
    "scales": "\n    const $vector scales = _mm512_set1_$s(scale);",
    "by": " * scales",
    "times": "scale * ",
}
GATHERED: Mapping[str, Mapping[str, object]] = {
    **{f"sparse_{name}": {**_PLAINLY, **words} for name, words in _DOTS.items()},
    **{
        f"scaled_{name}": {
            **{key: Template(w).substitute(words) for key, w in _SCALED.items()},
            **words,
        }
        for name, words in _DOTS.items()
    },
}
"""The words of each sum of products that gathers one of its factors, and of those that multiply
each product."""

_NEEDS = {"resized_zero": ("resized",)}

# All names that the text may declare, but for those of sparse workspaces.
NAMES = frozenset(
    (
        "wide_t",
        "in_large_pages",
        "take_some_bits",
        *_PLAIN,
        *(f"{name}_{T}" for name in _INDEXED for T in INDEX_TYPES),
        *(f"key_run_end_{K}" for K in _KEYS),
        *(f"kept_{T.replace(' ', '_')}" for T in _BITS),
        *(f"{name}_{T.replace(' ', '_')}" for name in _COMPLEX for T in _PARTS),
        *GATHERED,
    )
)


def helpers(used: Iterable[str]) -> Iterator[str]:
    """The text of the helpers of these names, and of those that they need, each once."""
    names = list(dict.fromkeys(used))
    workspaces = list(
        dict.fromkeys(n.removesuffix("_new") for n in names if re.search("workspace_.*_new$", n))
    )
    plain = {n for n in names if n in _PLAIN} | ({"resized"} if workspaces else set())
    plain |= {need for name in plain for need in _NEEDS.get(name, ())}
    yield from (_text(name) for name in _PLAIN if name in plain)
    if any(name in GATHERED or name.startswith("run_end_") for name in names):
        yield _text("vectors")
    for name in _INDEXED:
        for index in INDEX_TYPES:
            if f"{name}_{index}" in names:
                yield re.sub(r"\bT\b|(?<=_)T\b", index, _text(name))
    for value, bits in _BITS.items():
        named = value.replace(" ", "_")
        if f"kept_{named}" in names:
            text = _text("kept_pair" if "complex" in value else "kept")
            text = text.replace("kept_N", f"kept_{named}")
            yield re.sub(r"\bT\b", value, re.sub(r"\bB\b", bits, text))
    for value, part in _PARTS.items():
        named = value.replace(" ", "_")
        for name in _COMPLEX:
            if f"{name}_{named}" in names:
                text = _text(name).replace(f"{name}_N", f"{name}_{named}")
                text = re.sub(r"\bT\b", value, re.sub(r"\bR\b", part, text))
                text = text.replace("FMA(", f"__builtin_fma{'f' if part == 'float' else ''}(")
                yield text.replace("CMPLX", "CMPLXF") if part == "float" else text
    for name, words in GATHERED.items():
        if name in names:
            yield Template(_text("sparse_dot")).substitute(words, name=name)
    if any("wide_" in name for name in names):
        yield "\ntypedef unsigned __int128 wide_t;\n"
    for key in _KEYS:
        if f"key_run_end_{key}" in names:
            yield re.sub(r"\bK\b|(?<=_)K\b", key, _text("key_run_end"))
    # The list behind a hash table is one of buckets.
    needed = dict.fromkeys(
        n for name in workspaces for n in (name.replace("hash_", "bucket_"), name)
    )
    for name in needed:
        yield from (_workspace(name, part) for part in _parts(name))
        if f"{name}_merge" in names:
            yield _workspace(name, "workspace_merge")


def _parts(name: str) -> tuple[str, ...]:
    """The files that a workspace is made of."""
    if "hash_" in name:
        return ("workspace_hash",)
    return (
        "workspace",
        "workspace_buckets" if "bucket_" in name else "workspace_list",
        "workspace_sort",
    )


def _workspace(name: str, part: str) -> str:
    """A part of a workspace, whose name tells of what it is; ``wide_`` in it asks for keys of 128
    bits."""
    value = re.sub("^(wide_)?((bucket|hash)_)?workspace_", "", name).replace("_complex", " complex")
    list_name = name if part == "workspace_merge" else name.replace("hash_", "bucket_")
    text = re.sub(r"\bW(?=\b|_)", list_name, _text(part))
    text = re.sub(r"\bH(?=\b|_)", name, text)
    text = re.sub(r"\bK\b", "wide_t" if name.startswith("wide_") else "uint64_t", text)
    text = re.sub(r"\bT\b", value, text)
    return (
        re.sub(r"(?<=value) \+= |(?<=values\[to\]) \+= ", " |= ", text) if value == "bool" else text
    )


@cache
def _text(name: str) -> str:
    """The text of a file, behind an empty line."""
    return "\n" + (resources.files(__package__) / f"{name}.h").read_text()
