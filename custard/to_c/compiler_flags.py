"""The flags of the C compiler."""

from __future__ import annotations

from collections.abc import Iterator

from custard.ir import cin
from custard.to_c.lowered import Lowered
from sam.support import c_compiler as cc

LIBRARY = ("-std=gnu11", "-shared", "-fPIC", "-fwrapv", "-fcx-fortran-rules")
# Numbers may be added up and multiplied in another order; NaN and infinity keep their meaning,
# whole numbers wrap around, and complex numbers are multiplied as numpy does it.
FLAGS = (
    *(*LIBRARY, "-O3", "-march=native", "-fno-math-errno"),
    *("-fno-signed-zeros", "-fno-trapping-math", "-fassociative-math"),
)
# The flags behind -ffast-math, which itself would make the whole process flush denormal numbers to
# 0 once such a library is linked.
FAST_MATH = (*FLAGS, "-ffinite-math-only", "-freciprocal-math", "-fcx-limited-range")
# Terms are added up, and factors multiplied, in the order in which they stand.
ORDERED = tuple(flag for flag in FLAGS if flag != "-fassociative-math")
# Besides, each result is rounded, and zeros keep their signs: all values are those of numpy.
EXACT = (*(flag for flag in ORDERED if flag != "-fno-signed-zeros"), "-ffp-contract=off")

_THREADS, _VECTORS = ("-fopenmp",), ("-fopenmp-simd",)


def has_threads() -> bool:
    """Whether the C compiler has OpenMP."""
    return bool(cc.supported(_THREADS))


def flags_of(value: cin.Expression, fast_math: bool) -> tuple[str, ...]:
    """The flags for a program that computes a value."""
    if fast_math:
        return FAST_MATH
    if not any(isinstance(node, cin.Reduce) for node in cin.walk(value)):
        return EXACT
    return ORDERED if keeps_order(value) else FLAGS


def keeps_order(value: cin.Expression) -> bool:
    """Whether gcc must not reorder the terms or factors of a value.

    gcc would make ``-b`` of ``a - b - a``, which is NaN where ``a`` is infinite, and 0 where ``b``
    is far smaller; ``(a * b) * (c * d)`` of ``a * b * c * d``, which may overflow where that does
    not; ``(a + b) * c`` of ``a * c + b * c``; and ``6 / a`` of ``2 * (3 / a)``. The order of a sum
    over a variable is open, and that of the factors of its terms if they have no brackets, as in
    ``numpy.einsum``.
    """
    outside = list(_outside_of_sums(value))
    return any(_factors(node) > 2 or _has_like_terms(node) for node in outside) or any(
        _terms(node) > 2 or _has_brackets(node) or _divides_numbers(node)
        for node in cin.walk(value)
    )


def _outside_of_sums(node: cin.Expression) -> Iterator[cin.Expression]:
    """The parts of a value that are in no sum over variables."""
    if not isinstance(node, cin.Reduce):
        yield node
        for child in cin.children(node):
            yield from _outside_of_sums(child)


def _terms(node: cin.Expression) -> int:
    """How many terms a node adds up; what a sum over a variable has so far is one beside those of
    its operand."""
    match node:
        case cin.Add(terms):
            return sum(map(_terms, terms))
        case cin.Negate(operand):
            return _terms(operand)
        case cin.Reduce(_, operand):
            return 1 if _terms(operand) == 1 else 3
    return 1


def _has_like_terms(node: cin.Expression) -> bool:
    """Whether a sum may have a factor or a denominator in two of its terms."""
    if not isinstance(node, cin.Add):
        return False
    terms = [one.operand if isinstance(one, cin.Negate) else one for one in node.terms]
    products = [one for one in terms if isinstance(one, cin.Multiply | cin.Divide)]
    factors = [factor for product in products for factor in cin.children(product)]
    return len(products) > 1 or any(term in factors for term in terms)


def _has_brackets(node: cin.Expression) -> bool:
    """Whether a factor behind the first is a product."""
    return isinstance(node, cin.Multiply) and any(_factors(one) > 1 for one in node.factors[1:])


def _factors(node: cin.Expression) -> int:
    """How many factors a node multiplies."""
    match node:
        case cin.Multiply(factors):
            return sum(map(_factors, factors))
        case cin.Negate(operand):
            return _factors(operand)
    return 1


def _divides_numbers(node: cin.Expression) -> bool:
    """Whether products and quotients in one another have two numbers."""
    parts = list(_factored(node))
    numbers = sum(isinstance(part, cin.Literal) for part in parts)
    return numbers > 1 and any(isinstance(part, cin.Divide) for part in parts)


def _factored(node: cin.Expression) -> Iterator[cin.Expression]:
    """The node, and the factors, numerators and denominators of which it is made."""
    yield node
    if isinstance(node, cin.Multiply | cin.Divide | cin.Negate):
        for child in cin.children(node):
            yield from _factored(child)


def flags_for(lowered: Lowered, flags: tuple[str, ...]) -> tuple[str, ...]:
    """The flags for a kernel: also those for its threads and vectors, and complex values are
    computed exactly.

    For complex values, the flags that ignore the sign of zero are left out, and each product is
    rounded. Otherwise gcc multiplies by a real factor without its imaginary zero, so that infinity
    times it is infinity, where numpy has NaN.
    """
    fields = (field for struct in lowered.kernel.structs for field in struct.fields)
    if "-ffinite-math-only" not in flags and any("complex" in type.name for _, type in fields):
        loose = ("-fno-signed-zeros", "-fassociative-math")
        kept = (flag for flag in flags if flag not in loose)
        flags = tuple(dict.fromkeys((*kept, "-ffp-contract=off")))
    if lowered.threaded:
        return (*flags, *_THREADS)
    return (*flags, *(_VECTORS if lowered.has_vectors else ()))
