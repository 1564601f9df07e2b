"""Bitvector streams: converters, intersecters and unioners (SAM paper, Sections 4.3 and 6.5).

A fiber of a bitvector stream is a row of words, of a bit for each coordinate, the lowest first:
word n has coordinates n times ``word_bits`` and up. It may end early: missing words are zero.
Each word comes with the reference of its first one. The reference of a later one is that plus the
number of ones below it (population count).

A word takes one firing, or one for each of its ones where a token is emitted for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

from sam.blocks.base import MERGER, Block, Drawing, Kind, Step, StreamError
from sam.blocks.merge import Merger
from sam.blocks.parameters import FLAG, whole
from sam.blocks.ports import Port, into, out
from sam.blocks.scan import Scanned
from sam.graph import End, Parameters
from sam.graph_builder import GraphBuilder
from sam.levels import WORD_BITS, bits_below
from sam.token import DATA, DONE, EMPTY, STOP

_ALL_ONES = -1
_ABOVE_THE_LOWEST = -2


def pack(p: Any, s: Any, m: Any) -> bool | None:
    """Sets the bit of a coordinate in the word that it belongs to (Definition 4.2).

    The word before is emitted first: in the same firing, if the coordinate is in the next word. The
    last word of a fiber comes before its stop token.
    """
    kind, value = p.in_crd.peek()
    for ref in p.in_refs:
        ref.peek()
    if kind == DATA:
        index = value // m.width
        if index > s.index:
            _give_word(p, s)
            s.index += 1
        if index == s.index:
            _take_bit(p, s, value % m.width)
        return None
    if s.word != 0:
        _give_word(p, s)
        return None
    p.bv.give(kind, value)
    for result in p.refs:
        result.give(kind, value)
    _take(p)
    s.index = 0
    return True if kind == DONE else None


def _take_bit(p: Any, s: Any, bit: Any) -> None:
    for ref in p.in_refs:
        reference = ref.peek()[1]
        if s.word == 0:
            s.reference = reference
        elif reference != s.reference + s.word.bit_count():
            raise StreamError("the references of a word of bits do not follow each other")
    s.word = s.word | 1 << bit
    _take(p)


def _give_word(p: Any, s: Any) -> None:
    p.bv.give(DATA, s.word)
    for result in p.refs:
        result.give(DATA, s.reference)
    s.word = 0


def _take(p: Any) -> None:
    p.in_crd.take()
    for ref in p.in_refs:
        ref.take()


def unpack(p: Any, s: Any, m: Any) -> bool | None:
    """Emits the coordinate of each one of a word, with its reference; nothing for a zero word."""
    kind, word = p.in_bv.peek()
    for ref in p.in_refs:
        ref.peek()
    if kind == DATA:
        todo = s.rest if s.rest != 0 else word
        bit = lowest(todo)
        if todo != 0:
            p.crd.give(DATA, s.begin + bit)
            for ref, result in zip(p.in_refs, p.refs, strict=True):
                result.give(DATA, ref.peek()[1] + (word & bits_below(bit)).bit_count())
        s.rest = todo & (_ABOVE_THE_LOWEST << bit)
        if s.rest != 0:
            return None
        s.begin += m.width
    else:
        p.crd.give(kind, word)
        for result in p.refs:
            result.give(kind, word)
        s.begin = 0
    p.in_bv.take()
    for ref in p.in_refs:
        ref.take()
    return True if kind == DONE else None


def intersect(p: Any, s: Any, m: Any) -> bool | None:
    """Emits the ones that all operands have, as a word; for each the operands' references."""
    found = _ALL_ONES
    waiting = 0
    for bv in p.bvs:
        kind, word = bv.peek()
        waiting += kind != DATA
        found = found & (word if kind == DATA else 0)
    return _merge(p, s, found, waiting)


def unite(p: Any, s: Any, m: Any) -> bool | None:
    """Emits the ones that an operand has; the reference is ``N`` where an operand lacks one."""
    found = 0
    waiting = 0
    for bv in p.bvs:
        kind, word = bv.peek()
        waiting += kind != DATA
        found = found | (word if kind == DATA else 0)
    return _merge(p, s, found, waiting)


def _merge(p: Any, s: Any, found: Any, waiting: Any) -> bool | None:
    """Emits the word ``found`` at its first firing, and the references of a one at each firing."""
    for ref in p.refs:
        ref.peek()
    if waiting == len(p.bvs):
        return _forward(p)
    todo = s.rest if s.rest != 0 else found
    if s.rest == 0:
        p.bv.give(DATA, found)
    bit = lowest(todo)
    if todo != 0:
        for bv, ref, result in zip(p.bvs, p.refs, p.results, strict=True):
            kind, word = bv.peek()
            if kind == DATA and (word >> bit) & 1 == 1:
                result.give(DATA, ref.peek()[1] + (word & bits_below(bit)).bit_count())
            else:
                result.give(EMPTY, 0)
    s.rest = todo & (_ABOVE_THE_LOWEST << bit)
    if s.rest == 0:
        for bv, ref in zip(p.bvs, p.refs, strict=True):
            kind, word = bv.peek()
            if kind == DATA:
                bv.take()
                ref.take()
    return None


def _forward(p: Any) -> bool | None:
    """Passes on the stop or done token at which all operands wait."""
    kind, value = p.bvs[0].peek()
    for stream in p.bvs + p.refs:
        other_kind, other_value = stream.peek()
        if other_kind != kind or other_value != value:
            raise StreamError("the operands of a bitvector merger end their fibers differently")
    p.bv.give(kind, value)
    for result in p.results:
        result.give(kind, value)
    for stream in p.bvs + p.refs:
        stream.take()
    return None if kind == STOP else True


def lowest(word: Any) -> Any:
    """The number of the lowest one of a word; of a zero word, any number below 64."""
    above = (word >> 1) & bits_below(WORD_BITS - 1)
    return 0 if above == 0 or word & 1 == 1 else 1 + ((above & -above) - 1).bit_count()


def _references(
    parameters: Parameters, counted: str | None, counting: str | None
) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
    """The ports of references that go along, in and out, with the words whose ones they count."""
    if not parameters["references"]:
        return (), ()
    return (
        (into("in_ref", "ref", group="in_refs", payload=True, counts=counted),),
        (out("ref", "ref", group="refs", of=("in_ref",), counts=counting),),
    )


def _width(around: Any) -> SimpleNamespace:
    return SimpleNamespace(width=around.word_bits)


def _packer(parameters: Parameters) -> Block:
    """Coordinates into words; ``references`` tells whether references go along."""
    ref_in, ref_out = _references(parameters, None, "bv")
    return Block(
        ports=(into("in_crd", "crd"), *ref_in, out("bv", "bv", of=("in_crd",)), *ref_out),
        step=pack,
        state={"index": 0, "word": 0, "reference": 0},
        memory=_width,
        groups=("in_refs", "refs"),
    )


def _unpacker(parameters: Parameters) -> Block:
    """Words into coordinates; ``references`` tells whether references go along."""
    ref_in, ref_out = _references(parameters, "in_bv", None)
    return Block(
        ports=(into("in_bv", "bv"), *ref_in, out("crd", "crd", of=("in_bv",)), *ref_out),
        step=unpack,
        state={"begin": 0, "rest": 0},
        memory=_width,
        groups=("in_refs", "refs"),
    )


def _merger(step: Step, parameters: Parameters) -> Block:
    """Merges as many operands as the parameter ``operands`` says, each with its references."""
    operands = range(parameters["operands"])
    return Block(
        ports=(
            *(into(f"in_bv{n}", "bv", group="bvs", operand=n) for n in operands),
            *(
                into(f"in_ref{n}", "ref", group="refs", operand=n, payload=True, counts=f"in_bv{n}")
                for n in operands
            ),
            out("bv", "bv", of=tuple(f"in_bv{n}" for n in operands)),
            *(out(f"ref{n}", "ref", group="results", of=(f"in_ref{n}",)) for n in operands),
        ),
        step=step,
        state={"rest": 0},
    )


_CONVERTED, _MERGED = {"references": FLAG}, {"operands": whole(1)}
BITVECTOR_CONVERTER = Kind("bitvector_converter", "bitvector_converter", _packer, _CONVERTED)
COORDINATE_CONVERTER = Kind("coordinate_converter", "bitvector_converter", _unpacker, _CONVERTED)
BITVECTOR_INTERSECTER = Kind(
    "bitvector_intersecter",
    "intersecter",
    partial(_merger, intersect),
    _MERGED,
    drawing=Drawing("hexagon", MERGER),
    work="compares",
)
BITVECTOR_UNIONER = Kind(
    "bitvector_unioner",
    "unioner",
    partial(_merger, unite),
    _MERGED,
    drawing=Drawing("hexagon", MERGER),
    work="merges",
)


def pack_coordinates(graph: GraphBuilder, name: str, crd: End, ref: End) -> Scanned:
    """Adds a converter of coordinates to words; the words are ``crd`` of the result."""
    ports = graph.add("bitvector_converter", name, {"references": True}, crd=crd, ref=ref)
    return Scanned(ports["bv"], ports["ref"])


def unpack_words(graph: GraphBuilder, name: str, words: End, ref: End | None = None) -> Scanned:
    """Adds a converter of words to coordinates; their references come out if ``ref`` goes in."""
    inputs = {} if ref is None else {"ref": ref}
    ports = graph.add(
        "coordinate_converter", name, {"references": ref is not None}, bv=words, **inputs
    )
    return Scanned(ports["crd"], ports["ref"])


def merge_words(
    graph: GraphBuilder, merger: Merger, name: str, operands: Sequence[Scanned]
) -> tuple[End, list[End]]:
    """Adds an intersecter or a unioner of words of bits.

    Gives the words, and the references of each operand.
    """
    inputs = {f"bv{n}": operand.crd for n, operand in enumerate(operands)}
    inputs |= {f"ref{n}": operand.ref for n, operand in enumerate(operands)}
    ports = graph.add(merger.of_words, name, {"operands": len(operands)}, **inputs)
    return ports["bv"], [ports[f"ref{n}"] for n in range(len(operands))]
