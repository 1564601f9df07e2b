"""The command line's inputs: files, numbers, and tensors made up on the spot.

    -i B=west0067.mtx      a file, by its suffix (``sam.io``); also B=@west0067.mtx, B=~/b.mtx
    -i B=b.tns:pattern     a .tns file whose lines have no value: each entry is 1
    -i B=b.tns:0-based     a .tns file whose coordinates count from 0; also :pattern:0-based
    -i B=-                 standard input, whose first bytes tell its format (``sam.io``)
    -i a=2.5               a number; also inf, -inf, nan, 1+2j, True, False
    -i x=@random           a tenth of all places; every place where all levels are dense
    -i x=@random(0.02)     that share of all places
    -i x=@dense            every place
    -i X=@image(0.4)       activations, @pruned(2:4) and @pruned(0.1) pruned weights: ``structured``

Generated tensors have values in (0, 1], drawn from the seed and the tensor's name. Their extents
come from the files and numbers beside them, and from ``--dims``.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from custard.cli import structured
from custard.ir import cin
from custard.ir.accesses import accesses as accesses_of
from custard.language.tokens import number
from custard.program import Program
from sam import io
from sam.inputs import no_input, with_subscripts
from sam.subscripts import Affine, Span, with_inferred
from sam.support.errors import UserError, one_of
from sam.tensor import Tensor

GENERATORS = ("@random", "@dense", *structured.WORDS)
STDIN = "-"
_LISTINGS = {"pattern": "pattern", "0-based": "zero_based"}

_DENSITY = 0.1
_MOST_ENTRIES = 10**8


@dataclass(frozen=True)
class Wanted:
    """The inputs of a program or a graph, and the extents that are known.

    ``uses``    the accesses that read each input
    ``dims``    extents by variable; ``spans`` those that follow from others
    ``loops``   the variables whose extents are needed
    ``levels``  the level formats of each input
    """

    uses: Mapping[str, Sequence[cin.Access]]
    dims: Mapping[str, int]
    spans: Sequence[Span]
    loops: Sequence[str]
    levels: Mapping[str, str]


def read_inputs(texts: Sequence[str], program: Program, seed: int = 0) -> dict[str, Tensor]:
    """The inputs that the ``-i`` options give to a program, by tensor: see ``read_wanted``."""
    uses = input_uses(program)
    levels = {name: program.formats[name].levels for name in uses}
    loops = tuple(program.cin.loops)
    return read_wanted(texts, Wanted(uses, program.dims, program.cin.spans, loops, levels), seed)


def read_wanted(texts: Sequence[str], wanted: Wanted, seed: int = 0) -> dict[str, Tensor]:
    """The inputs that the ``-i`` options give, by tensor.

    Raises UserError for an option that is malformed, names no input of the program or repeats
    one; for a file that cannot be read; for inputs that are missing; and for extents that nothing
    fixes.
    """
    uses = wanted.uses
    variables = {name: [v for one in found for v in one.variables] for name, found in uses.items()}
    given = _parse(texts, variables)
    missing = [name for name in uses if name not in given]
    if missing:
        raise UserError(
            f"no input is given for {', '.join(missing)}",
            hint=f"{' '.join(f'-i {name}=@random' for name in missing)}, or name a file",
        )
    tensors, extents = _read_files(given, uses, wanted.dims)
    sizes = [
        (_by_base(form), size)
        for name, tensor in tensors.items()
        for access in uses[name]
        for form, size in zip(access.computed, tensor.shape, strict=False)
        if form is not None
    ]
    extents = with_inferred(extents, sizes, wanted.spans)
    for variable in map(cin.base, wanted.loops):
        if variable not in extents:
            raise UserError(f"no input fixes the extent of {variable}", hint=f"--dims {variable}=8")
    for name in uses:
        if name not in tensors:
            shape = tuple(
                max(_size(access, mode, extents) for access in uses[name])
                for mode in range(len(uses[name][0].variables))
            )
            tensors[name] = _generate(name, given[name], shape, wanted.levels[name], seed)
    return {name: tensors[name] for name in uses}


def file_of(value: str) -> str | None:
    """The path of the file that an input is read from; None where it is none.

    Numbers, standard input and generated tensors are no files. ``~`` is the home folder.
    """
    place = split_listing(value)[0]
    if place == STDIN or _is_generated(value) or _number(value) is not None:
        return None
    return expand_home(place.removeprefix("@"))


def split_listing(value: str) -> tuple[str, str]:
    """A file or stdin, and how it lists entries, as in ``":pattern:0-based"``."""
    place = value
    while True:
        place, colon, word = place.rpartition(":")
        if not colon or word not in _LISTINGS:
            place = place + colon + word
            return place, value[len(place) :]


def expand_home(path: str) -> str:
    """The path with ``~`` and ``~user`` at its begin as the home folder; raises UserError."""
    try:
        return str(Path(path).expanduser()) if path.startswith("~") else path
    except RuntimeError as error:
        raise UserError(f"cannot tell where {path} is: {error}") from None


def input_uses(program: Program) -> dict[str, list[cin.Access]]:
    """The program's inputs, each with the accesses that read it."""
    uses: dict[str, list[cin.Access]] = {}
    for access in accesses_of(program.cin):
        uses.setdefault(access.tensor, []).append(access)
    return uses


def needs_no_input(program: Program) -> bool:
    """Whether the program can run although no input is given."""
    return not input_uses(program) and {*program.cin.loops} <= {*program.dims}


def _parse(texts: Sequence[str], known: Mapping[str, Collection[str]]) -> dict[str, str]:
    """The text given for each tensor; ``known`` are the inputs with their index variables."""
    given: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name or not value:
            raise UserError(
                f'"{text}" is not an input', hint="NAME=VALUE, as in B=west0067.mtx or x=@random"
            )
        if name not in known:
            raise no_input(name, known)
        if name in given:
            raise UserError(f"two inputs are given for {name}")
        if split_listing(value)[0] == STDIN and STDIN in (
            split_listing(v)[0] for v in given.values()
        ):
            raise UserError(f"standard input cannot be {name} and another input too")
        given[name] = value
    return given


def _read_files(
    given: Mapping[str, str], uses: Mapping[str, Sequence[cin.Access]], dims: Mapping[str, int]
) -> tuple[dict[str, Tensor], dict[str, int]]:
    """The tensors that are not generated, and the extents that they and ``dims`` fix."""
    tensors: dict[str, Tensor] = {}
    extents = dict(dims)
    # A .tns file may leave its shape open; the other inputs and dims then fix it.
    for are_tns in (False, True):
        known = dict(extents)
        for name, accesses in uses.items():
            if _is_generated(given[name]) or _is_tns(given[name]) != are_tns:
                continue
            tensors[name] = _read(name, given[name], accesses, known if are_tns else {})
            for access in accesses:
                for mode, extent in enumerate(tensors[name].shape):
                    if access.form(mode) is None:
                        extents.setdefault(cin.base(access.variables[mode]), extent)
        _spread(extents, uses)
    return tensors, extents


_WITH_A_NUMBER = re.compile(r"@[a-z]+[:=]?\.?[\d.]+")


def _is_generated(value: str) -> bool:
    """Whether the value is generated; a word after @ without a suffix cannot be a file.

    Nor can a word and a number, as in ``@random:0.1``, which ``_density`` refuses.
    """
    if _WITH_A_NUMBER.fullmatch(value):
        return True
    return value.startswith("@") and Path(value.partition("(")[0]).suffix == ""


def _is_tns(value: str) -> bool:
    """Whether the input may leave its shape open, as a .tns file and standard input do."""
    place = split_listing(value)[0]
    return place == STDIN or ".tns" in Path(place.lower()).suffixes


def _read(
    name: str, value: str, accesses: Sequence[cin.Access], known: Mapping[str, int]
) -> Tensor:
    """The tensor in a file, of the shape that the known extents fix, or a number."""
    number = _number(value)
    variables = [cin.base(variable) for variable in accesses[0].variables]
    if number is None and not variables and _may_be_number(value):
        raise UserError(
            f"{value} is not a number, and no file, as it has no suffix",
            hint=f"as in {name}=2.5, {name}=1e-3, {name}=1+2j or {name}=inf",
        )
    if number is not None:
        tensor = Tensor.of(number)
    else:
        is_fixed = not accesses[0].computed and all(variable in known for variable in variables)
        shape = [known[variable] for variable in variables] if variables and is_fixed else None
        tensor = read_place(value, shape, len(variables))
    if tensor.ndim != len(variables):
        raise UserError(
            f"{name} has {_modes(len(variables))} in the program, and {value} has "
            f"{_modes(tensor.ndim)}",
            hint=None if variables else with_subscripts(name, tensor.ndim),
        )
    return tensor


def _may_be_number(value: str) -> bool:
    """Whether a value that is no number may be meant as one: it names no file."""
    place = split_listing(value)[0]
    return place != STDIN and not place.startswith("@") and not Path(place).suffix


def read_place(value: str, shape: Sequence[int] | None, modes: int | None) -> Tensor:
    """The tensor in a file or in standard input."""
    place, listing = split_listing(value)
    options = {_LISTINGS[word]: True for word in listing.split(":")[1:]}
    pattern, zero_based = options.get("pattern", False), options.get("zero_based", False)
    if place == STDIN:
        if sys.stdin is None:
            raise UserError("standard input is closed")
        data, name = sys.stdin.buffer.read(), "standard input"
        if not data:
            raise UserError("standard input is empty")
        return io.read_bytes(data, name, shape, modes=modes, pattern=pattern, zero_based=zero_based)
    path = expand_home(place.removeprefix("@"))
    return io.read(path, shape, modes=modes, pattern=pattern, zero_based=zero_based)


_REAL = r"(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
_PART = rf"(?:{_REAL}|inf|infinity|nan)"
_NUMBER = re.compile(rf"[-+]?{_REAL}", re.ASCII)
_SPECIAL = re.compile(r"[-+]?(?:inf|infinity|nan)", re.IGNORECASE)
_COMPLEX = re.compile(rf"[-+]?(?:{_PART}[-+])?{_PART}[jJ]", re.ASCII | re.IGNORECASE)
_TRUTHS = {"True": True, "true": True, "False": False, "false": False}


def _number(text: str) -> bool | int | float | complex | None:
    """The number that the text writes, in its type; None if it is no number."""
    if text in _TRUTHS:
        return _TRUTHS[text]
    if _SPECIAL.fullmatch(text):
        return float(text)
    found: int | float | complex
    if _COMPLEX.fullmatch(text):
        found = complex(text)
    elif _NUMBER.fullmatch(text):
        size = number(text.lstrip("+-"))
        found = -size if text.startswith("-") else size
    else:
        return None
    if np.isinf(found) and "inf" not in text.lower():
        raise UserError(f"the number {text} is too large", hint="inf is infinity")
    return found


def _modes(count: int) -> str:
    return "1 mode" if count == 1 else f"{count} modes"


def _spread(extents: dict[str, int], uses: Mapping[str, Sequence[cin.Access]]) -> None:
    """Gives the extent of a variable to all that subscript the same mode of some tensor."""
    known = -1
    while known < len(extents):
        known = len(extents)
        for accesses in uses.values():
            for mode in range(len(accesses[0].variables)):
                plain = (one.variables[mode] for one in accesses if one.form(mode) is None)
                variables = [cin.base(variable) for variable in plain]
                found = [extents[variable] for variable in variables if variable in extents]
                for variable in variables if found else ():
                    extents.setdefault(variable, found[0])


def _size(access: cin.Access, mode: int, extents: Mapping[str, int]) -> int:
    """The extent of a mode of a generated tensor: room for all values of its subscript."""
    form = access.form(mode)
    if form is None:
        return extents[cin.base(access.variables[mode])]
    return _by_base(form).span(extents) or 0


def _by_base(form: Affine) -> Affine:
    return form.renamed({variable: cin.base(variable) for variable in form.variables})


def _generate(name: str, value: str, shape: tuple[int, ...], levels: str, seed: int) -> Tensor:
    if value.partition("(")[0] in structured.WORDS:
        random = np.random.default_rng([seed, *name.encode()])
        return structured.structured(value, shape, random, name, _MOST_ENTRIES)
    density = _density(value, dense=set(levels) <= {"d"})
    places = math.prod(shape)
    count = min(places, math.ceil(density * places))
    if places >= 2**63 or count > _MOST_ENTRIES:
        raise UserError(
            f"{name}={value} would have {count:.2g} entries, more than {_MOST_ENTRIES:.0e}",
            hint=f"give fewer, as in {name}=@random({_MOST_ENTRIES / 100 / places:.0e})",
        )
    random = np.random.default_rng([seed, *name.encode()])
    chosen = random.choice(places, count, replace=False, shuffle=False)
    if count == places:
        return Tensor.from_numpy(1 - random.random(shape))
    chosen.sort()
    coordinates = np.array(np.unravel_index(chosen, shape)) if shape else np.zeros((0, count), int)
    return Tensor.from_coo(coordinates, 1 - random.random(count), shape)


def _density(value: str, dense: bool) -> float:
    """The share of all places that ``@dense``, ``@random`` or ``@random(share)`` fills."""
    word, bracket, share = value.partition("(")
    if word not in GENERATORS:
        hint = "a share stands in brackets, as in @random(0.1)"
        if not _WITH_A_NUMBER.fullmatch(value):
            hint = f"a file needs a suffix, as in west0067.mtx; {one_of(word, GENERATORS)}"
        raise UserError(f"there is no generator {word}", hint=hint)
    if not bracket:
        return 1.0 if dense or word == "@dense" else _DENSITY
    text = share.removesuffix(")")
    density = float(text) if _NUMBER.fullmatch(text) else -1
    if word == "@dense" or not 0 <= density <= 1 or not share.endswith(")"):
        raise UserError(
            f"{value} does not give a share of all places",
            hint="@random(SHARE), with a number from 0 to 1, as in @random(0.02)",
        )
    return density
