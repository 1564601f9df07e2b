"""The helper functions that generated C may call; a kernel gets those that it uses.

Each helper is a ``.h`` file here, named after it. Some are templates, whose letters are replaced:

    T  a type of index arrays, or of values; in ``run_end_T`` also part of the name
    N  the type of values as part of a name (``double_complex``)
    B  the unsigned type of the size of a value; R the type of the parts of a complex value
    E  the type of values as elements of vectors
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
    "as_often_as_not",
    "resized",
    "resized_zero",
    "grown",
    "floored",
    "times",
    "lowest_bit",
    "mark_bit",
    "take_bits",
    "bits_of",
    "least",
    "register_tile",
    "turns",
    "placed",
    "apart",
)
_TILES = "tile", "tile1", "tile2", "tile4", "tile8", "tile16", "tile_of_one", "tiles"
_KEYS = ("int64_t", "uint64_t", "wide_t")
_INDEXED = ("run_end", "sought", "parent", "locate_hashed", "sort_buckets")
_COMPLEX = ("multiply", "divide", "negate")
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

_DOUBLE = {"T": "double", "lanes": 8}
_DOUBLE |= {"vector": "__m512d", "s": "pd", "mask": "__mmask8"}
_FLOAT = {"T": "float", "lanes": 16}
_FLOAT |= {"vector": "__m512", "s": "ps", "mask": "__mmask16"}


def _gathered() -> Iterator[tuple[str, Mapping[str, object]]]:
    """The names of the sums of products that gather factors, each with its words.

    One factor is gathered, or two (``dot3``); ``scaled`` sums multiply each product by a number.
    """
    for words in (_DOUBLE, _FLOAT):
        for index in INDEX_TYPES:
            for dot in ("dot", "dot3"):
                for kind in ("sparse", "scaled"):
                    name = f"{kind}_{dot}_{words['T']}_{index}"
                    yield name, {**words, "C": index, **_factors(words, dot == "dot3", kind)}


def _factors(words: Mapping[str, object], two: bool, kind: str) -> Mapping[str, object]:
    """The words of a sum for its factors: the products at some places, and those of vectors."""
    scale = ["scale"] if kind == "scaled" else []
    arrays = ["others", "more"] if two else ["others"]

    def product(value: str, place: str) -> str:
        factors = [f"values[{value}]", *scale, *(f"{array}[{place}]" for array in arrays)]
        return " * ".join(factors)

    def vector(load: str) -> tuple[str, str]:
        loaded = [f"{load}{array} + (first + p))" for array in arrays]
        *first, last = f"{load}values + p)", *scale, *loaded
        return " * ".join(first), last

    s = words["s"]
    (left, right), (masked_left, masked_right) = map(
        vector, (f"_mm512_loadu_{s}(", f"_mm512_maskz_loadu_{s}(here, ")
    )
    places = {"a": ("p", "a"), "b": ("p + 1", "b"), "c": ("p + 2", "c"), "d": ("p + 3", "d")}
    places |= {"second": ("second", "b"), "third": ("third", "c"), "first": ("p", "first + p")}
    told = " and `more`" if two else ""
    return {
        "more": f", const {words['T']} *more" if two else "",
        "scale": f", {words['T']} scale" if scale else "",
        "of_each": told + (",\n// each times `scale`" if scale else ""),
        "left": left,
        "right": right,
        "masked_left": masked_left,
        "masked_right": masked_right,
        **{f"product_{name}": product(*place) for name, place in places.items()},
    }


GATHERED: Mapping[str, Mapping[str, object]] = dict(_gathered())
"""The words of each sum of products that gathers some of its factors."""

_NEEDS = {"resized_zero": ("resized",)}

# All names that the text may declare, but for those of sparse workspaces.
NAMES = frozenset(
    (
        "wide_t",
        "in_large_pages",
        "take_some_bits",
        "turns_new",
        "turns_free",
        "next_turn",
        "lock_turns",
        "unlock_turns",
        "end_turns",
        *_PLAIN,
        *(f"{name}_{T}" for name in _INDEXED for T in INDEX_TYPES),
        *(f"key_run_end_{K}" for K in _KEYS),
        *(f"{name}_{T.replace(' ', '_')}" for name in ("kept", *_TILES) for T in _BITS),
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
    names += [n.replace("tiles", "multiply") for n in names if re.match("tiles_.*complex", n)]
    names += [f"kept_{GATHERED[n]['T']}" for n in names if n in GATHERED]
    plain |= {"turns"} if "turns_new" in names else set()
    plain |= {"apart"} if any(n.startswith("divide_") for n in names) else set()
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
    if any(name.startswith(("CMPLX", *_COMPLEX)) for name in names):
        yield _text("complex_of_parts")
    for value, part in _PARTS.items():
        named = value.replace(" ", "_")
        for name in _COMPLEX:
            if f"{name}_{named}" in names:
                text = _text(name).replace(f"{name}_N", f"{name}_{named}")
                for letter, type in (("T", value), ("R", part), ("B", _BITS[value])):
                    text = re.sub(rf"\b{letter}\b", type, text)
                text = text.replace("FMA(", f"__builtin_fma{'f' if part == 'float' else ''}(")
                yield text.replace("CMPLX", "CMPLXF") if part == "float" else text
    for value in _BITS:
        if f"tiles_{value.replace(' ', '_')}" in names:
            yield _tiles(value)
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


def _tiles(value: str) -> str:
    """The functions for the tiles of values of a type."""
    files = "tile", "tile_of_pairs" if value in _PARTS else "tile_of_values", "tiles"
    text = re.sub(r"_N\b", f"_{value.replace(' ', '_')}", "".join(map(_text, files)))
    element = "uint8_t" if value == "bool" else value
    for letter, type in (("T", value), ("R", _PARTS.get(value, value)), ("E", element)):
        text = re.sub(rf"\b{letter}\b", type, text)
    if value == "bool":
        text = re.sub(r"\+= (.*\]) \* ", r"|= \1 & ", text).replace("] + sums[", "] | sums[")
    return text.replace("CMPLX", "CMPLXF") if value == "float complex" else text


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
