"""The kernels of ``benchmarks/kernels.py``: expressions, formats, inputs, and scipy or numpy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from sam.tensor import Tensor

PER_ROW, BAND, COLUMNS, RANK = 10, 32, 64, 32


@dataclass(frozen=True)
class Case:
    """A kernel on inputs, and the function to compare it with.

    ``other``      computes the same with scipy or numpy
    ``published``  the published compiler's time, as a share of scipy's or numpy's
    ``asked``      the largest share that ours may have
    ``converts``   whether our time includes the conversion of inputs, as the other's does
    """

    kernel: str
    data: str
    expression: str
    formats: Mapping[str, str]
    inputs: Callable[[], Mapping[str, Any]]
    other: Callable[[Mapping[str, Any]], Callable[[], Any]]
    asked: float = 1.0
    published: float | None = None
    large: bool = False
    converts: bool = False


@cache
def uniform(entries: int, seed: int = 0) -> sp.csr_array:
    """A square matrix with about ``entries`` entries, at places drawn uniformly."""
    random, n = np.random.default_rng(seed), entries // PER_ROW
    places = tuple(random.integers(0, n, (2, entries), dtype=np.int32))
    return sp.csr_array(sp.coo_array((random.random(entries), places), shape=(n, n)))


@cache
def banded(entries: int, band: int = BAND) -> sp.csr_array:
    """A square matrix with about ``entries`` entries, all on ``band`` diagonals on each side of the
    main one, and on this one."""
    random, n = np.random.default_rng(1), entries // (2 * band + 1)
    offsets = list(range(-band, band + 1))
    diagonals = [random.random(n - abs(offset)) for offset in offsets]
    return sp.csr_array(sp.diags_array(diagonals, offsets=offsets, shape=(n, n)))


@cache
def coordinates(make: Callable[[int], sp.csr_array], entries: int) -> sp.coo_array:
    """A matrix as a list of coordinates, which ours and scipy's kernel share."""
    return make(entries).tocoo()


@cache
def third_order(n: int) -> Tensor:
    """A tensor of 1,000,000 entries at places drawn uniformly, less those that coincide."""
    random = np.random.default_rng(2)
    places = random.integers(0, n, (3, 1_000_000))
    return Tensor.from_coo(places, random.random(places.shape[1]), (n, n, n))


def dense(*shape: int) -> np.ndarray:
    """An array of numbers between 0 and 1."""
    return np.random.default_rng(3).random(shape)


def cases() -> Iterator[Case]:
    """The kernels of all groups."""
    for entries, size in ((200_000, "200 k"), (2_000_000, "2 M")):
        large = entries > 200_000
        for name, make in (("uniform", uniform), ("banded", banded)):
            yield from _matrix_cases(name, size, entries, make, large)
            small = "500 k" if large else "50 k"
            yield from _transposed(f"{name} {small}", make(entries // 4), large)
        yield from _scaled(size, entries, large)
        yield from _sparse_results(size, entries, large)
        yield from _several(size, entries, large)
        yield from _blocks(size, entries, large)
    yield from _steady()
    yield from _unequal()
    yield from _listed()
    yield from _masked()
    yield _outer()
    yield from _arrays()
    for n in (1000, 200):
        yield from _tensor_cases(n)


def _matrix_cases(
    name: str, size: str, entries: int, make: Callable[[int], sp.csr_array], large: bool
) -> Iterator[Case]:
    """Matrix times vector, and times 64 columns."""
    data = f"{name} {size}"

    def times(format: str) -> Callable[[Mapping[str, Any]], Callable[[], Any]]:
        matrix = coordinates(make, entries) if format == "coo" else make(entries).asformat(format)
        return lambda given: lambda: matrix @ given["x"]

    def vector(convert: Callable[[sp.csr_array], Any]) -> Callable[[], Mapping[str, Any]]:
        matrix = make(entries)
        return lambda: {"A": convert(matrix), "x": dense(matrix.shape[1])}

    def case(
        format: str,
        expression: str,
        convert: Callable[[sp.csr_array], Any],
        other: str,
        asked: float = 1.0,
        published: float | None = None,
    ) -> Case:
        formats = {"y": "d", "A": format, "x": "d"}
        kernel = f"SpMV {format}"
        inputs = vector(convert)
        return Case(
            kernel, data, expression, formats, inputs, times(other), asked, published, large
        )

    plain, diagonal = "y(i) = A(i,j) * x(j)", "y(i) = A(k,i,j) * x(j)"
    is_banded = name == "banded"
    goal = {False: (0.84, 0.84), True: (0.61, 0.61)}[is_banded] if large else (1.0, None)
    yield case("CSR", plain, lambda m: m, "csr", *goal)
    goal = (0.25, 0.25) if is_banded and large else ()
    yield case("COO", plain, lambda _: coordinates(make, entries), "coo", *goal)
    if is_banded:
        yield case("DIA", diagonal, lambda m: Tensor.of(m).diagonals(), "dia")
        ell = case("ELL", diagonal, lambda m: Tensor.of(m).ell(), "csr")
        yield replace(ell, other=_by_slots)
    if not is_banded:
        matrix = make(entries)
        asked = (0.68, 0.68) if large else (1.0, None)
        yield Case(
            "SpMM 64",
            data,
            "Y(i,j) = A(i,k) * X(k,j)",
            {"Y": "dd", "A": "CSR", "X": "dd"},
            lambda: {"A": matrix, "X": dense(matrix.shape[1], COLUMNS)},
            lambda given: lambda: matrix @ given["X"],
            *asked,
            large,
        )


def _by_slots(given: Mapping[str, Any]) -> Callable[[], Any]:
    """ELL in numpy: scipy has no such format."""
    ell = given["A"]
    slots, rows, _ = ell.shape
    columns = ell.levels[2].coordinates.reshape(slots, rows)
    values = ell.values.reshape(slots, rows)
    return lambda: np.einsum("si,si->i", values, given["x"][columns])


def ordered(product: Any) -> sp.csr_array:
    """A product in the order of its coordinates."""
    product = product.tocsr()
    product.sort_indices()
    return product


def _scaled(size: str, entries: int, large: bool) -> Iterator[Case]:
    """Matrix times vector with one more factor, and a dense matrix times a sparse one."""
    matrix = uniform(entries)
    n = matrix.shape[0]

    def case(
        kernel: str,
        expression: str,
        formats: Mapping[str, str],
        others: Mapping[str, Any],
        other: Callable[..., Any],
    ) -> Case:
        return Case(
            kernel,
            f"uniform {size}",
            expression,
            {"A": "CSR", **formats},
            lambda: {"A": matrix, **others},
            lambda given: lambda: other(*given.values()),
            1.2,
            large=large,
        )

    x, z = dense(n), dense(n)[::-1].copy()
    vectors = {"y": "d", "x": "d"}
    yield case("2 A x", "y(i) = 2 * A(i,j) * x(j)", vectors, {"x": x},
               lambda A, x: 2 * (A @ x))  # fmt: skip
    yield case("a A x", "y(i) = a * A(i,j) * x(j)", vectors, {"x": x, "a": 0.5},
               lambda A, x, a: a * (A @ x))  # fmt: skip
    yield case("z * A x", "y(i) = z(i) * A(i,j) * x(j)", {**vectors, "z": "d"}, {"x": x, "z": z},
               lambda A, x, z: z * (A @ x))  # fmt: skip
    yield case("A (x * z)", "y(i) = A(i,j) * x(j) * z(j)", {**vectors, "z": "d"}, {"x": x, "z": z},
               lambda A, x, z: A @ (x * z))  # fmt: skip
    yield case("dense x CSR", "Y(i,j) = X(i,k) * A(k,j)", {"Y": "dd", "X": "dd"},
               {"X": dense(COLUMNS, n)}, lambda A, X: X @ A)  # fmt: skip
    yield case("CSR x dense^T", "Y(i,j) = A(i,k) * X(j,k)", {"Y": "dd", "X": "dd"},
               {"X": dense(COLUMNS, n)}, lambda A, X: A @ X.T)  # fmt: skip


CSR = {"X": "CSR", "A": "CSR", "B": "CSR"}


def _sparse_results(size: str, entries: int, large: bool) -> Iterator[Case]:
    """Kernels that assemble a sparse matrix."""
    half = entries // 2
    half_size = "1 M" if large else "100 k"
    for name, make, others in (
        ("uniform", uniform, (uniform(entries, 4), uniform(half, 4))),
        ("banded", banded, (banded(entries), banded(half))),
    ):
        for kernel, expression, count, other, data, other_does, asked, published in (
            ("addition", "X(i,j) = A(i,j) + B(i,j)", entries, others[0], size,
             lambda a, b: a + b, 1.1, 2.07),
            ("A * B", "X(i,j) = A(i,j) * B(i,j)", entries, others[0], size,
             lambda a, b: a.multiply(b), 1.1, None),
            ("SpGEMM", "X(i,j) = A(i,k) * B(k,j)", half, others[1], half_size,
             lambda a, b: ordered(a @ b), 0.9, 1.19),
        ):  # fmt: skip
            yield Case(
                kernel,
                f"{name} {data}",
                expression,
                CSR,
                lambda make=make, count=count, other=other: {"A": make(count), "B": other},  # type: ignore[misc]
                lambda given, does=other_does: lambda: does(*given.values()),  # type: ignore[misc]
                asked,
                published if name == "uniform" else None,
                large,
            )
    matrix = uniform(half)
    stored = Tensor.of(matrix).convert("ss")
    yield Case(
        "SpGEMM DCSR",
        f"uniform {half_size}",
        "X(i,j) = A(i,k) * B(k,j)",
        dict.fromkeys("XAB", "DCSR"),
        lambda: {"A": stored, "B": stored},
        lambda given: lambda: ordered(matrix @ matrix),
        1.2,
        large=large,
    )
    yield Case(
        "A B x",
        f"uniform {size}",
        "y(i) = A(i,k) * B(k,j) * x(j)",
        {"y": "d", "A": "CSR", "B": "CSR", "x": "d"},
        lambda: {"A": matrix, "B": uniform(half, 4), "x": dense(half // PER_ROW)},
        lambda given: lambda: given["A"] @ (given["B"] @ given["x"]),
        1.2,
        large=large,
    )
    if not large:
        yield from _chains(entries)

    def sampled(given: Mapping[str, Any]) -> Callable[[], Any]:
        places = given["A"].tocoo().coords

        def multiply() -> Any:
            products = np.einsum("nk,nk->n", given["P"][places[0]], given["Q"][places[1]])
            return sp.csr_array((given["A"].data * products, places), shape=given["A"].shape)

        return multiply

    def factors() -> Mapping[str, Any]:
        matrix = uniform(entries)
        shape = (matrix.shape[0], COLUMNS)
        return {"A": matrix, "P": dense(*shape), "Q": dense(*shape)}

    yield Case(
        "SDDMM 64",
        f"uniform {size}",
        "X(i,j) = A(i,j) * P(i,k) * Q(j,k)",
        {"X": "CSR", "A": "CSR", "P": "dd", "Q": "dd"},
        factors,
        sampled,
        large=large,
    )


def _several(size: str, entries: int, large: bool) -> Iterator[Case]:
    """Sums of all values, three sparse operands, an array beside a sparse matrix, and lists."""
    random = [uniform(entries, seed) for seed in (0, 4, 5)]
    diagonals = [banded(entries)] * 3
    three = {**CSR, "C": "CSR"}

    def case(
        kernel: str, data: str, expression: str, formats: Mapping[str, str],
        inputs: Mapping[str, Any], other: Callable[..., Any],
    ) -> Case:  # fmt: skip
        return Case(
            kernel, data, expression, formats, lambda: inputs,
            lambda given: lambda: other(*given.values()), 1.2, large=large,
        )  # fmt: skip

    for name, matrices in (("uniform", random), ("banded", diagonals)):
        data, given = f"{name} {size}", dict(zip("ABC", matrices, strict=True))
        yield case("A + B + C", data, "X(i,j) = A(i,j) + B(i,j) + C(i,j)", three, given,
                   lambda A, B, C: A + B + C)  # fmt: skip
        yield case("A * B * C", data, "X(i,j) = A(i,j) * B(i,j) * C(i,j)", three, given,
                   lambda A, B, C: A.multiply(B).multiply(C))  # fmt: skip
        yield case("A * B + C", data, "X(i,j) = A(i,j) * B(i,j) + C(i,j)", three, given,
                   lambda A, B, C: A.multiply(B) + C)  # fmt: skip
    data, matrix = f"uniform {size}", random[0]
    yield case("sum of A", data, "a = A(i,j)", {"A": "CSR"}, {"A": matrix}, lambda A: A.sum())
    yield case("A^T A x", data, "y(j) = A(i,j) * A(i,k) * x(k)", {"y": "d", "A": "CSR", "x": "d"},
               {"A": matrix, "x": dense(matrix.shape[1])},
               lambda A, x: A.T @ (A @ x))  # fmt: skip
    if not large:
        few, listed = uniform(entries // 10), coordinates(uniform, entries // 2)
        yield case("A + dense", f"uniform {entries // 10_000} k",
                   "X(i,j) = A(i,j) + D(i,j)", {"X": "dd", "A": "CSR", "D": "dd"},
                   {"A": few, "D": dense(*few.shape)}, lambda A, D: A + D)  # fmt: skip
        yield case("SpGEMM COO", f"uniform {entries // 2000} k", "X(i,j) = A(i,k) * B(k,j)",
                   dict.fromkeys("XAB", "COO"), {"A": listed, "B": listed},
                   lambda A, B: ordered(A @ B))  # fmt: skip


@cache
def blocked(entries: int, side: int) -> tuple[sp.bsr_array, Tensor]:
    """A matrix of square blocks at places drawn alike, as scipy has it, and as ours."""
    places = uniform(entries // (side * side) // PER_ROW * PER_ROW)
    rows = places.shape[0]
    values = np.random.default_rng(7).random((places.nnz, side, side))
    shape = (rows * side, rows * side)
    blocks = sp.bsr_array((values, places.indices, places.indptr), shape=shape)
    outer = np.stack(places.tocoo().coords).repeat(side * side, axis=1)
    inner = np.tile(np.indices((side, side)).reshape(2, -1), places.nnz)
    extents = (rows, rows, side, side)
    stored = Tensor.from_coo(np.concatenate([outer, inner]), values.ravel(), extents)
    return blocks, stored.convert("dsdd")


def _blocks(size: str, entries: int, large: bool) -> Iterator[Case]:
    """Matrices of dense blocks times a vector."""

    def inputs(side: int) -> Mapping[str, Any]:
        matrix = blocked(entries, side)[1]
        return {"A": matrix, "x": dense(matrix.shape[1], side)}

    def times(given: Mapping[str, Any]) -> Callable[[], Any]:
        x = given["x"]
        matrix = blocked(entries, x.shape[1])[0]
        return lambda: (matrix @ x.ravel()).reshape(x.shape)

    for side in (2, 3, 4, 8):
        yield Case(
            f"SpMV BCSR {side}",
            f"uniform {size}",
            "y(i,k) = A(i,j,k,l) * x(j,l)",
            {"y": "dd", "A": "dsdd", "x": "dd"},
            partial(inputs, side),
            times,
            1.2,
            large=large,
        )


def _masked() -> Iterator[Case]:
    """Products at the places of a third matrix."""
    matrix, narrow = uniform(100_000), banded(140_000, 3)
    for data, factor, mask in (
        ("uniform 100 k", matrix, matrix),
        ("7 diagonals of 20 k", narrow, narrow),
        ("7 diagonals at 13", narrow, banded(260_000, 6)),
    ):
        yield Case(
            "M * (A B)",
            data,
            "X(i,j) = M(i,j) * A(i,k) * B(k,j)",
            {**CSR, "M": "CSR"},
            lambda factor=factor, mask=mask: {"M": mask, "A": factor, "B": factor},  # type: ignore[misc]
            lambda given: lambda: (given["A"] @ given["B"]).multiply(given["M"]),
            1.2,
        )


def _chains(entries: int) -> Iterator[Case]:
    """Products of three matrices."""
    for name, make in (("uniform", uniform), ("banded", banded)):
        matrix = make(entries // 4)
        yield Case(
            "A B C",
            f"{name} {entries // 4000} k",
            "X(i,j) = A(i,k) * B(k,l) * C(l,j)",
            {**CSR, "C": "CSR"},
            lambda matrix=matrix: dict.fromkeys("ABC", matrix),  # type: ignore[misc]
            lambda given: lambda: ordered(given["A"] @ given["B"] @ given["C"]),
            1.2,
        )
    matrix = uniform(entries)
    yield Case(
        "A B C dense",
        f"uniform {entries // 1000} k",
        "X(i,j) = A(i,k) * B(k,l) * C(l,j)",
        {"X": "dd", "A": "CSR", "B": "CSR", "C": "dd"},
        lambda: {"A": matrix, "B": matrix, "C": dense(matrix.shape[0], RANK)},
        lambda given: lambda: given["A"] @ (given["B"] @ given["C"]),
        1.2,
    )


def _transposed(data: str, matrix: sp.csr_array, large: bool) -> Iterator[Case]:
    """Kernels of which one operand is transposed, by us and by scipy."""
    columns, rows = matrix.tocsc(), Tensor.of(matrix).convert("ss")
    for kernel, expression, formats, given, other in (
        ("transposition", "X(j,i) = A(i,j)", CSR, (matrix,), lambda: matrix.T.tocsr()),
        ("CSR to CSC", "X(i,j) = A(i,j)", {**CSR, "X": "CSC"}, (matrix,), matrix.tocsc),
        ("CSC to CSR", "X(i,j) = A(i,j)", {**CSR, "A": "CSC"}, (columns,), columns.tocsr),
        ("A + A^T", "X(i,j) = A(i,j) + A(j,i)", CSR, (matrix,), lambda: matrix + matrix.T),
        ("A^T B", "X(i,j) = A(k,i) * B(k,j)", CSR, (matrix, matrix),
         lambda: ordered(matrix.T.tocsr() @ matrix)),
        ("A B^T", "X(i,j) = A(i,k) * B(j,k)", CSR, (matrix, matrix),
         lambda: ordered(matrix @ matrix.T.tocsr())),
        ("CSC x CSR", "X(i,j) = A(i,k) * B(k,j)", {**CSR, "A": "CSC"}, (columns, matrix),
         lambda: ordered(columns.tocsr() @ matrix)),
        ("A B^T DCSR", "X(i,j) = A(i,k) * B(j,k)", dict.fromkeys("XAB", "DCSR"), (rows, rows),
         lambda: ordered(matrix @ matrix.T.tocsr())),
    ):  # fmt: skip
        inputs = dict(zip("AB", given, strict=False))
        used = {tensor: form for tensor, form in formats.items() if tensor in {"X", *inputs}}
        yield Case(
            kernel,
            data,
            expression,
            used,
            lambda inputs=inputs: inputs,  # type: ignore[misc]
            lambda given, other=other: other,  # type: ignore[misc]
            1.2,
            large=large,
            converts=True,
        )


def _steady() -> Iterator[Case]:
    """Matrices with few entries in each row, always as many, times a vector."""
    random, n = np.random.default_rng(7), 450
    line = sp.diags_array([1.0, -2.0, 1.0], offsets=(-1, 0, 1), shape=(n, n))
    stencil = sp.kronsum(line, line).tocsr()
    for data, matrix in (
        ("5-point stencil", sp.csr_array(stencil)),
        ("3 in each row", _each_row(3, 200_000, random)),
        ("1 in each row", _each_row(1, 200_000, random)),
    ):
        yield Case(
            "SpMV CSR",
            data,
            "y(i) = A(i,j) * x(j)",
            {"y": "d", "A": "CSR", "x": "d"},
            lambda matrix=matrix: {"A": matrix, "x": dense(matrix.shape[1])},  # type: ignore[misc]
            lambda given: lambda: given["A"] @ given["x"],
            1.2,
        )


def _each_row(entries: int, n: int, random: np.random.Generator) -> sp.csr_array:
    """A square matrix with so many entries in each row, at places drawn uniformly."""
    columns = np.sort(random.integers(0, n, (n, entries)), axis=1).astype(np.int32)
    begins = np.arange(0, columns.size + 1, entries, dtype=np.int32)
    return sp.csr_array((random.random(columns.size), columns.ravel(), begins), shape=(n, n))


def _unequal() -> Iterator[Case]:
    """Matrices with far more columns than entries, and vectors of very unequal lengths."""
    random = np.random.default_rng(5)
    for entries in (1000, 100_000):
        places = random.integers(0, 4_000_000, (2, entries))
        shape = (4_000_000, 4_000_000)
        matrix = sp.coo_array((np.ones(entries), tuple(places)), shape=shape).tocsr()
        yield Case(
            "SpGEMM",
            f"4 M square, {entries}",
            "X(i,j) = A(i,k) * B(k,j)",
            {"X": "CSR", "A": "CSR", "B": "CSR"},
            lambda matrix=matrix: {"A": matrix, "B": matrix},  # type: ignore[misc]
            lambda given: lambda: given["A"] @ given["B"],
            1.2,
        )
    few, some, many, more = (
        sp.coo_array(
            (np.ones(n), (np.zeros(n, int), np.sort(random.choice(10**7, n, replace=False)))),
            shape=(1, 10**7),
        ).tocsr()
        for n in (1000, 100_000, 1_000_000, 1_000_000)
    )
    yield Case(
        "a * b",
        "1 k x 1 M",
        "X(i,j) = A(i,j) * B(i,j)",
        {"X": "CSR", "A": "CSR", "B": "CSR"},
        lambda: {"A": few, "B": many},
        lambda given: lambda: given["A"].multiply(given["B"]),
        0.2,
    )
    named = zip("ABCD", (few, many, more, some), strict=True)
    vectors = {name: one.reshape((-1,)) for name, one in named}
    for kernel, expression, other, asked in (
        ("a * b, 100 k", "D(i) * B(i)", lambda: some.multiply(many), 0.8),
        ("a + b, 100 k", "D(i) + B(i)", lambda: some + many, 0.9),
        ("a + b", "A(i) + B(i)", lambda: few + many, 0.8),
        ("b - a", "B(i) - A(i)", lambda: many - few, 0.8),
        ("a * b * c", "A(i) * B(i) * C(i)", lambda: few.multiply(many).multiply(more), 0.2),
        ("a * (b + c)", "A(i) * (B(i) + C(i))",
         lambda: few.multiply(many) + few.multiply(more), 0.2),
        ("a * b + c", "A(i) * B(i) + C(i)", lambda: few.multiply(many) + more, 0.8),
    ):  # fmt: skip
        given = {name: one for name, one in vectors.items() if f"{name}(" in expression}
        yield Case(
            kernel,
            "1 k, 1 M",
            f"y(i) = {expression}",
            dict.fromkeys(("y", *given), "s"),
            lambda given=given: given,  # type: ignore[misc]
            lambda given, other=other: other,  # type: ignore[misc]
            asked,
        )


def _listed() -> Iterator[Case]:
    """Operands that list their rows, or their entries, with few of these or many."""
    random = np.random.default_rng(8)
    for rows, extent in ((10_000, 10_000), (100_000, 1_000_000)):
        at = np.sort(random.choice(extent, rows, replace=False))
        places = np.repeat(at, 2), random.choice(at, 2 * rows)
        entries = random.random(2 * rows)
        matrix = sp.coo_array((entries, places), shape=(extent, extent)).tocsr()
        stored = Tensor.of(matrix).convert("ss")
        yield Case(
            "SpGEMM DCSR",
            f"{rows // 1000} k rows of 2",
            "X(i,j) = A(i,k) * B(k,j)",
            dict.fromkeys("XAB", "DCSR"),
            lambda stored=stored: dict.fromkeys("AB", stored),  # type: ignore[misc]
            lambda given, matrix=matrix: lambda: ordered(matrix @ matrix),  # type: ignore[misc]
            1.2,
        )
    matrix = uniform(200_000)
    for count in (200, 10_000):
        at = np.sort(random.choice(matrix.shape[1], count, replace=False))
        x = sp.coo_array((random.random(count), (at,)), shape=matrix.shape[1:])
        column = x.reshape((-1, 1)).tocsr()
        yield Case(
            "A x sparse",
            f"uniform 200 k, {count}",
            "y(i) = A(i,j) * x(j)",
            {"y": "s", "A": "CSR", "x": "s"},
            lambda x=x: {"A": matrix, "x": x},  # type: ignore[misc]
            lambda given, column=column: lambda: (matrix @ column).T,  # type: ignore[misc]
            1.0,
        )
        z = sp.coo_array((random.random(count), (at[::-1] // 2,)), shape=x.shape)
        z.sum_duplicates()
        other = z.reshape((-1, 1)).tocsr()
        yield Case(
            "A (x + z) sparse",
            f"uniform 200 k, {count}",
            "y(i) = A(i,j) * (x(j) + z(j))",
            {"y": "s", "A": "CSR", "x": "s", "z": "s"},
            lambda x=x, z=z: {"A": matrix, "x": x, "z": z},  # type: ignore[misc]
            lambda given, column=column, other=other: lambda: (matrix @ (column + other)).T,  # type: ignore[misc]
            1.0,
        )
        yield Case(
            "COO x sparse",
            f"uniform 200 k, {count}",
            "y(i) = A(i,j) * x(j)",
            {"y": "d", "A": "COO", "x": "s"},
            lambda x=x: {"A": coordinates(uniform, 200_000), "x": x},  # type: ignore[misc]
            lambda given, column=column: lambda: (matrix @ column).T,  # type: ignore[misc]
            1.0,
        )


def _outer() -> Case:
    """Two sparse vectors, each with each."""
    random = np.random.default_rng(6)
    left, right = (
        sp.coo_array(
            (random.random(2000), (np.sort(random.choice(10**5, 2000, replace=False)),)),
            shape=(10**5,),
        )
        for _ in range(2)
    )

    def product(given: Mapping[str, Any]) -> Callable[[], Any]:
        column = given["A"].reshape((-1, 1)).tocsr()
        row = given["B"].reshape((1, -1)).tocsr()
        return lambda: column @ row

    return Case(
        "a b^T",
        "2 k x 2 k",
        "X(i,j) = A(i) * B(j)",
        {"X": "ss", "A": "s", "B": "s"},
        lambda: {"A": left, "B": right},
        product,
        1.2,
    )


def _arrays() -> Iterator[Case]:
    """Arrays alone, with BLAS beside them, and few columns beside many diagonals.

    Single small arrays are in ``benchmarks/calls.py``: what surrounds their kernels takes as long.
    """
    matrix, x = dense(1500, 1500), dense(1500)
    yield Case(
        "x^T A dense", "1500 square", "y(j) = x(i) * A(i,j)", dict.fromkeys(("y", "x"), "d"),
        lambda: {"A": matrix, "x": x}, lambda given: lambda: given["x"] @ given["A"], 1.2,
    )  # fmt: skip
    product, batched = "C(i,j) = A(i,k) * B(k,j)", "C(b,i,j) = A(b,i,k) * B(b,k,j)"
    shapes = [(n, n) for n in (500, 100)]
    shapes += [(50, 96, 96), (30, 100, 100), (100, 50, 50), (200, 33, 33)]
    for shape in shapes:
        A = dense(*shape)
        B = A[::-1].copy()  # numpy takes half the time for A @ A.T
        single, data = len(shape) == 2, f"{shape[-1]} square"
        forms = (
            [("A B dense", product, np.matmul)] if single else [("A B batched", batched, np.matmul)]
        )
        if shape == (500, 500):
            forms.append(("A B^T dense", "C(i,j) = A(i,k) * B(j,k)", lambda A, B: A @ B.T))
        for kernel, expression, other in forms:
            yield Case(
                kernel, data if single else f"{shape[0]} x {data}", expression,
                dict.fromkeys("CAB", "d" * A.ndim),
                lambda A=A, B=B: {"A": A, "B": B},  # type: ignore[misc]
                lambda given, other=other: lambda: other(given["A"], given["B"]), 1.2,  # type: ignore[misc]
            )  # fmt: skip
    for data, (m, k, n, o) in (
        ("100 square", (100,) * 4),
        ("200 square", (200,) * 4),
        ("500 square", (500,) * 4),
        ("1 k square, 4 columns", (1000, 1000, 1000, 4)),
        ("1 k x 10 x 1 k x 10", (1000, 10, 1000, 10)),
        ("20 k x 10 x 20 k x 10", (20_000, 10, 20_000, 10)),
    ):
        yield Case(
            "A B C arrays", data, "X(i,j) = A(i,k) * B(k,l) * C(l,j)", dict.fromkeys("XABC", "dd"),
            lambda m=m, k=k, n=n, o=o: {"A": dense(m, k), "B": dense(k, n), "C": dense(n, o)},  # type: ignore[misc]
            lambda given: lambda: np.linalg.multi_dot(list(given.values())), 1.2,
        )  # fmt: skip
    few = banded(200_000)
    yield Case(
        "SpMM 4", "banded 200 k", "Y(i,j) = A(i,k) * X(k,j)", {"Y": "dd", "A": "CSR", "X": "dd"},
        lambda: {"A": few, "X": dense(few.shape[1], 4)},
        lambda given: lambda: given["A"] @ given["X"],
    )  # fmt: skip


def _tensor_cases(n: int) -> Iterator[Case]:
    """Tensors of three modes; numpy adds up by flat places, which are found before."""
    data, csf = f"{n}³, 1 M", {"B": "CSF(3)"}

    def scattered(
        shape: tuple[int, ...], rows: Callable[[np.ndarray], tuple[np.ndarray, ...]]
    ) -> Callable[..., Callable[[Mapping[str, Any]], Callable[[], Any]]]:
        def other(values: Callable[..., np.ndarray]) -> Any:
            def with_inputs(given: Mapping[str, Any]) -> Callable[[], Any]:
                places, entries = given["B"].to_coo()
                flat = np.ravel_multi_index(rows(places), shape)
                starts = np.flatnonzero(np.diff(flat, prepend=-1))

                def compute() -> Any:
                    sums = np.add.reduceat(values(given, places, entries), starts)
                    result = np.zeros((np.prod(shape), *sums.shape[1:]))
                    result[flat[starts]] = sums
                    return result.reshape(*shape, *sums.shape[1:])

                return compute

            return with_inputs

        return other

    yield Case(
        "TTV",
        data,
        "X(i,j) = B(i,j,k) * x(k)",
        {"X": "dd", **csf, "x": "d"},
        lambda: {"B": third_order(n), "x": dense(n)},
        scattered((n, n), lambda p: (p[0], p[1]))(lambda g, p, v: v * g["x"][p[2]]),
    )
    small = n == 200
    yield Case(
        f"TTM {RANK}",
        data,
        "X(i,j,r) = B(i,j,k) * C(k,r)",
        {"X": "ddd" if small else "ssd", **csf, "C": "dd"},
        lambda: {"B": third_order(n), "C": dense(n, RANK)},
        scattered((n, n), lambda p: (p[0], p[1]))(lambda g, p, v: v[:, None] * g["C"][p[2]]),
    )
    yield Case(
        f"MTTKRP {RANK}",
        data,
        "X(i,r) = B(i,k,l) * C(k,r) * D(l,r)",
        {"X": "dd", **csf, "C": "dd", "D": "dd"},
        lambda: {"B": third_order(n), "C": dense(n, RANK), "D": dense(n, RANK)},
        scattered((n,), lambda p: (p[0],))(
            lambda g, p, v: v[:, None] * g["C"][p[1]] * g["D"][p[2]]
        ),
        *((1.0, None) if small else (0.16, 0.16)),
    )
