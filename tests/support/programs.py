"""Random programs for hypothesis: an expression, formats, a loop order and inputs.

A program is drawn in the order in which this file reads: elements enough for all tensors, a tree
of operators over accesses, the left side, one extent for each variable, the formats and the loop
order.  Hypothesis draws all of it, so a failing program shrinks to a short expression over small,
nearly empty tensors stored in row-major order.  The elements come first, and take the same draws
whatever follows, so that a change to the expression leaves them as they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

RESULT = "X"
_NAMES = "BCDEFGHIJKLMNOPQRSTUVW"
_DENSITIES = (0.8, 0.5, 0.2, 1.0, 0.8, 0.5, 1.0, 0.0)
_BYTES = st.binary(min_size=31, max_size=31)
_RARELY = st.sampled_from((False,) * 9 + (True,))


@dataclass(frozen=True)
class Program:
    """The arguments of the compiler and of the dense evaluator, as a user would give them.

    ``formats``  levels and mode order of each tensor that has modes, the result `X` among them
    ``order``    all the variables, outermost first, as for `reorder`
    ``dims``     the extents of the variables that no input fixes
    """

    expression: str
    formats: dict[str, str]
    order: list[str]
    tensors: dict[str, np.ndarray]
    dims: dict[str, int]


@st.composite
def programs(
    draw: st.DrawFn,
    max_operands: int = 3,
    max_order: int = 3,
    levels: str = "ds",
    operators: str = "+-*",
    max_extent: int = 5,
    allow_zero_extent: bool = True,
    *,
    result_levels: str | None = None,
    variables: str = "ijkl",
    explicit_sums: bool = False,
    accumulate: bool = False,
) -> Program:
    """Programs with 1 to `max_operands` accesses of up to `max_order` modes each.

    Levels are drawn freely from `levels`, those of the result from `result_levels` if given.
    Elements and literals are small multiples of 1/2, so without `/` every sum
    is exact whatever its order.  With `/` in `operators`, divisors may be zero.
    `explicit_sums` also draws `sum(j, ...)`; `accumulate` also draws `+=`, with and without an
    old value of `X` in `tensors`.  `max_order` is at most the number of `variables`.
    """
    pools = [draw(_pools(max_order, max_extent)) for _ in range(max_operands + 1)]
    accesses: list[tuple[str, list[str]]] = []
    right = draw(_terms(max_operands, accesses, max_order, operators, variables, explicit_sums))
    outputs = draw(_outputs(right, max_order, variables))
    assignment = "+=" if accumulate and draw(st.booleans()) else "="
    if assignment == "+=" and draw(st.booleans()):
        accesses.append((RESULT, outputs))

    extents = draw(_extents(accesses, variables, max_extent, allow_zero_extent))
    tensors = {
        name: pool.elements(tuple(extents[v] for v in subscripts))
        for pool, (name, subscripts) in zip(pools, dict(accesses).items(), strict=False)
    }
    formats = {
        name: draw(_formats(result_levels or levels if name == RESULT else levels, subscripts))
        for name, subscripts in {RESULT: outputs, **dict(accesses)}.items()
        if subscripts
    }
    mentioned = sorted(right.mentioned | set(outputs))
    fixed = {v for _, subscripts in accesses for v in subscripts}
    return Program(
        expression=f"{_access(RESULT, outputs)} {assignment} {right.text}",
        formats=formats,
        order=draw(st.permutations(mentioned)),
        tensors=tensors,
        dims={v: extents[v] for v in mentioned if v not in fixed},
    )


@dataclass(frozen=True)
class _Pool:
    """Elements for a tensor of any shape, each at the same coordinates whatever the shape.

    So an extent can shrink without a change to the elements that remain.  All elements at one
    coordinate of one mode, `emptied`, are zero.
    """

    values: np.ndarray
    emptied: tuple[int, int] | None
    stride: int

    def elements(self, shape: tuple[int, ...]) -> np.ndarray:
        coordinates = np.indices(shape, sparse=True)
        places = sum(c * self.stride**mode for mode, c in enumerate(coordinates))
        elements = np.array(self.values[places % len(self.values)])
        if self.emptied is not None and self.emptied[0] < len(shape):
            mode, coordinate = self.emptied
            np.moveaxis(elements, mode, 0)[coordinate : coordinate + 1] = 0
        return elements


@st.composite
def _pools(draw: st.DrawFn, max_order: int, max_extent: int) -> _Pool:
    """Numbers from -1.5 to 2, in halves; the density varies, and now and then a slice is
    empty."""
    drawn = np.frombuffer(draw(_BYTES), np.uint8)
    density = draw(st.sampled_from(_DENSITIES))
    nonzero = np.where(drawn % 7 == 3, 4.0, drawn % 7 - 3.0) / 2
    values = np.where(drawn >= 256 * (1 - density), nonzero, 0.0)
    emptied = None
    if draw(_RARELY):
        emptied = draw(st.integers(0, max_order - 1)), draw(st.integers(0, max_extent - 1))
    return _Pool(values, emptied, max_extent)


@dataclass(frozen=True)
class _Term:
    """A sub-expression; one that binds less strongly than its place needs parentheses."""

    text: str
    binding: int
    free: frozenset[str] = frozenset()
    mentioned: frozenset[str] = frozenset()

    def within(self, binding: int) -> str:
        return self.text if self.binding >= binding else f"({self.text})"


_BINDING = {"+": 1, "-": 1, "*": 2, "/": 2, "neg": 2, "atom": 3}


def _binary(left: _Term, operator: str, right: _Term) -> _Term:
    binding = _BINDING[operator]
    return _Term(
        f"{left.within(binding)} {operator} {right.within(binding + 1)}",
        binding,
        left.free | right.free,
        left.mentioned | right.mentioned,
    )


@st.composite
def _terms(
    draw: st.DrawFn,
    budget: int,
    accesses: list[tuple[str, list[str]]],
    max_order: int,
    operators: str,
    variables: str,
    explicit_sums: bool,
) -> _Term:
    """A tree over at most `budget` accesses, which are appended to `accesses`.

    Any node may be negated, meet a literal, be divided by one that is not 0, or be summed.  Every
    choice is drawn even where the budget overrules it, so that hypothesis can put a subtree in the
    place of the whole.
    """
    rest = (accesses, max_order, operators, variables, explicit_sums)
    branches = draw(st.sampled_from((False, True, True, True)))
    if branches and budget > 1:
        before = len(accesses)
        left = draw(_terms(budget - 1, *rest))
        operator = draw(st.sampled_from(operators))
        right = draw(_terms(budget - (len(accesses) - before), *rest))
        term = _binary(left, operator, right)
    else:
        name, subscripts = draw(_accesses(dict(accesses), max_order, variables))
        accesses.append((name, subscripts))
        names = frozenset(subscripts)
        term = _Term(_access(name, subscripts), _BINDING["atom"], names, names)

    kinds = ("plain",) * 9 + ("neg", "literal", "part") + ("sum",) * explicit_sums
    match draw(st.sampled_from(kinds)):
        case "neg":
            text = f"-{term.within(_BINDING['atom'])}"
            return _Term(text, _BINDING["neg"], term.free, term.mentioned)
        case "literal":
            literal = _Term(draw(st.sampled_from(("2", "1", "0.5", "3.0", "0"))), _BINDING["atom"])
            left, right = draw(st.permutations([term, literal]))
            return _binary(left, draw(st.sampled_from(operators)), right)
        case "part":
            divisor = _Term(draw(st.sampled_from(("2", "4.0", "0.5"))), _BINDING["atom"])
            return _binary(term, "/", divisor)
        case "sum":
            variable = draw(st.sampled_from((*sorted(term.free), *variables)))
            text = f"sum({variable}, {term.text})"
            here = {variable}
            return _Term(text, _BINDING["atom"], term.free - here, term.mentioned | here)
    return term


@st.composite
def _accesses(
    draw: st.DrawFn, known: dict[str, list[str]], max_order: int, variables: str
) -> tuple[str, list[str]]:
    """A tensor and its subscripts; now and then a tensor once more, or a diagonal."""
    new = _NAMES[len(known)]
    name = draw(st.sampled_from((new, new, new, *known)))
    order = draw(st.sampled_from((*range(1, max_order + 1), *range(1, max_order + 1), 0)))
    if name in known:
        order = len(known[name])
    subscripts = draw(st.permutations(variables))[:order]
    if order > 1 and draw(_RARELY):
        mode = draw(st.integers(1, order - 1))
        subscripts[mode] = subscripts[mode - 1]
    return name, subscripts


def _access(name: str, subscripts: Sequence[str]) -> str:
    return f"{name}({','.join(subscripts)})" if subscripts else name


@st.composite
def _outputs(draw: st.DrawFn, right: _Term, max_order: int, variables: str) -> list[str]:
    """Subscripts of the left side; rarely one that no term uses, or one twice."""
    order = draw(st.integers(0, min(max_order, len(right.free))))
    outputs = draw(st.permutations(sorted(right.free)))[:order]
    unused = [v for v in variables if v not in right.mentioned]
    if unused and order < max_order and draw(_RARELY):
        outputs.insert(draw(st.integers(0, order)), draw(st.sampled_from(unused)))
    if 0 < len(outputs) < max_order and draw(_RARELY):
        outputs.insert(draw(st.integers(0, order)), draw(st.sampled_from(outputs)))
    return outputs


@st.composite
def _extents(
    draw: st.DrawFn,
    accesses: list[tuple[str, list[str]]],
    variables: str,
    max_extent: int,
    allow_zero: bool,
) -> dict[str, int]:
    """An extent for each variable, the same for all those that subscript one mode; rarely 0."""
    first: dict[str, list[str]] = {}
    leader = {v: v for v in variables}
    for name, subscripts in accesses:
        for a, b in zip(first.setdefault(name, subscripts), subscripts, strict=True):
            kept, merged = leader[a], leader[b]
            leader = {v: kept if w == merged else w for v, w in leader.items()}
    leaders = sorted(set(leader.values()))
    sizes = (*range(1, max_extent + 1), *range(2, max_extent + 1))
    extent = {v: draw(st.sampled_from(sizes)) for v in leaders}
    if allow_zero and draw(_RARELY):
        extent[draw(st.sampled_from(leaders))] = 0
    return {v: extent[w] for v, w in leader.items()}


@st.composite
def _formats(draw: st.DrawFn, levels: str, subscripts: list[str]) -> str:
    order = len(subscripts)
    drawn = draw(st.lists(st.sampled_from(levels), min_size=order, max_size=order))
    modes = draw(st.permutations(range(order)))
    return f"{''.join(drawn)}:{','.join(map(str, modes))}"
