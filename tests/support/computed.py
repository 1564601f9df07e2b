"""Random programs with computed subscripts, and their values by plain loops over all points."""

from dataclasses import dataclass
from itertools import product

import numpy as np
from hypothesis import strategies as st

from sam.subscripts import Affine
from tests.support.c_programs import LEVELS, stored

VARIABLES = "ijk"
Subscript = tuple[tuple[tuple[str, int], ...], int]


@dataclass(frozen=True)
class Access:
    """A tensor at its subscripts: of each the terms, and a constant."""

    tensor: str
    subscripts: tuple[Subscript, ...]

    def __str__(self) -> str:
        return f"{self.tensor}({','.join(map(text, self.subscripts))})"

    @property
    def variables(self) -> list[str]:
        return list(dict.fromkeys(v for terms, _ in self.subscripts for v, _ in terms))


@dataclass(frozen=True)
class Case:
    expression: str
    formats: dict
    order: list
    dims: dict
    tensors: dict
    due: np.ndarray


def text(subscript: Subscript) -> str:
    terms, constant = subscript
    if not terms:
        return str(constant)
    *others, (variable, scale) = terms
    return str(Affine(variable, scale, tuple(others), constant))


def place(subscript: Subscript, at: dict) -> int:
    terms, constant = subscript
    return constant + sum(scale * at[variable] for variable, scale in terms)


def read(array: np.ndarray, access: Access, at: dict) -> float:
    """The value at the subscripts; 0 outside."""
    where = tuple(place(subscript, at) for subscript in access.subscripts)
    inside = all(0 <= x < size for x, size in zip(where, array.shape, strict=True))
    return float(array[where]) if inside else 0.0


def evaluated(terms, signs, target: Access, shape, extents, arrays) -> np.ndarray:
    """Each term is summed over its own variables, and added at the place of the target."""
    found = np.zeros(shape)
    kept = target.variables
    for point in product(*(range(extents[v]) for v in kept)):
        at = dict(zip(kept, point, strict=True))
        where = tuple(place(subscript, at) for subscript in target.subscripts)
        if not all(0 <= x < size for x, size in zip(where, shape, strict=True)):
            continue
        for sign, factors in zip(signs, terms, strict=True):
            own = dict.fromkeys(v for f in factors for v in f.variables if v not in kept)
            for inner in product(*(range(extents[v]) for v in own)):
                here = {**at, **dict(zip(own, inner, strict=True))}
                value = sign
                for factor in factors:
                    value *= read(arrays[factor.tensor], factor, here)
                found[where] += value
    return found


_scales = st.sampled_from((1, 1, 2, 3, -1, -2))


@st.composite
def _subscripts(draw, compound: bool) -> Subscript:
    if not compound:
        return (((draw(st.sampled_from(VARIABLES)), 1),), 0)
    count = draw(st.integers(0, 3))
    names = draw(st.permutations(VARIABLES))[:count]
    return tuple((name, draw(_scales)) for name in names), draw(st.integers(-2, 3))


def _is_plain(subscript: Subscript) -> bool:
    terms, constant = subscript
    return constant == 0 and [scale for _, scale in terms] == [1]


@st.composite
def cases(draw, levels: str = LEVELS, result_levels: str = "dsuqchbl") -> Case:
    """Up to two terms of up to three factors of up to two modes, 1 to 3 subscripts computed."""
    left = draw(st.integers(1, 3))
    terms, names = [], iter("ABCDEFG")
    extents = {v: draw(st.integers(0, 4)) for v in VARIABLES}

    def access(tensor: str, order: int) -> Access:
        nonlocal left
        found = []
        for _ in range(order):
            compound = left > 0 and draw(st.booleans())
            left -= compound
            found.append(draw(_subscripts(compound)))
        return Access(tensor, tuple(found))

    for _ in range(draw(st.integers(1, 2))):
        factors = [access(next(names), draw(st.integers(1, 2)))
                   for _ in range(draw(st.integers(1, 3)))]  # fmt: skip
        terms.append(factors)
    signs = [1.0, *(draw(st.sampled_from((1.0, -1.0))) for _ in terms[1:])]
    used = list(dict.fromkeys(v for factors in terms for f in factors for v in f.variables))
    kept = draw(st.permutations(used))[: draw(st.integers(0, min(2, len(used))))]
    target = Access("Y", tuple((((v, 1),), 0) for v in kept))
    if kept and draw(st.integers(0, 3)) == 0:
        target = Access("Y", (draw(_subscripts(True)), *target.subscripts[1:]))
    used = list(dict.fromkeys([*used, *target.variables]))
    dims = {v: extents[v] for v in used}

    def size(subscript: Subscript) -> int:
        if _is_plain(subscript):
            return extents[subscript[0][0][0]]
        return draw(st.integers(0, 6))

    arrays, formats, tensors = {}, {}, {}
    for one in (f for factors in terms for f in factors):
        shape = tuple(map(size, one.subscripts))
        count = int(np.prod(shape))
        values = draw(st.lists(st.sampled_from((0, 0, 1, 2, 3)), min_size=count, max_size=count))
        arrays[one.tensor] = np.array(values, float).reshape(shape)
        codes = "".join(draw(st.sampled_from(levels)) for _ in shape)
        modes = ",".join(map(str, draw(st.permutations(range(len(shape))))))
        form, tensors[one.tensor] = stored(arrays[one.tensor], f"{codes}:{modes}")
        formats[one.tensor] = form
    shape = tuple(map(size, target.subscripts))
    for mode, subscript in enumerate(target.subscripts):
        if not _is_plain(subscript):
            dims[f"Y{mode}"] = shape[mode]
    if shape:
        codes = "".join(draw(st.sampled_from(result_levels)) for _ in shape)
        modes = ",".join(map(str, draw(st.permutations(range(len(shape))))))
        formats["Y"], _ = stored(np.zeros(shape), f"{codes}:{modes}")
    parts = [" * ".join(map(str, factors)) for factors in terms]
    value = parts[0] + "".join(
        f" {'+' if sign > 0 else '-'} {part}"
        for sign, part in zip(signs[1:], parts[1:], strict=True)
    )
    left_side = str(target) if target.subscripts else "Y"
    due = evaluated(terms, signs, target, shape, extents, arrays)
    order = draw(st.permutations(list(dims)))
    return Case(f"{left_side} = {value}", formats, order, dims, tensors, due)
