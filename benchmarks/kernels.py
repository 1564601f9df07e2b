"""How fast generated C is: nanoseconds per stored entry, beside scipy or numpy in the same run.

    python benchmarks/kernels.py [--quick] [--only TEXT] [--runs N] [--output FILE]

Kernels of target ``c`` on one thread: matrix times vector in four formats, times 64 dense columns,
sampled dense times dense (k = 64), addition, sparse times sparse, and tensor times vector, times
matrix and MTTKRP (32 columns). Matrices are uniform (coordinates drawn alike, 10 to a row) or
banded (65 diagonals), of about 200,000 and 2,000,000 entries; tensors have 1,000,000, drawn alike
in 1000 x 1000 x 1000 and 200 x 200 x 200. Ours and the other take turns; times are medians of
``--runs`` (9) of each, inputs converted before. Assembly of a sparse result is counted; so is the
sorting that scipy's product needs to be canonical. Of products of which one matrix is transposed,
the time of ours has that in it too.

The ratio of the published compiler, where one is known, was measured on another such machine. Every
result is checked against the other's. Writes ``out/benchmarks/kernels.csv``. Some minutes;
``--quick`` takes the smaller matrices alone. Exits with 1 where a result is wrong.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from rich.console import Console
from rich.progress import track
from rich.table import Table

import custard
from sam.tensor import Tensor

PER_ROW, BAND, COLUMNS, RANK = 10, 32, 64, 32


@dataclass(frozen=True)
class Case:
    """A kernel on inputs, and what to compare it with.

    ``other``      does the same with scipy or numpy
    ``published``  the published compiler's time, as a share of scipy's or numpy's
    ``asked``      the share that ours is to have at most
    ``converts``   whether the time of ours has the conversion of inputs in it, as the other's has
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


@dataclass(frozen=True)
class Timing:
    """Medians in seconds, with the number of entries that the sparse input stores."""

    kernel: str
    data: str
    entries: int
    ours: float
    other: float
    asked: float
    published: float | None
    right: bool

    @property
    def ratio(self) -> float:
        """Our time as a share of the other's."""
        return self.ours / self.other


@cache
def uniform(entries: int, seed: int = 0) -> sp.csr_array:
    """A square matrix with about so many entries, at places drawn alike."""
    random, n = np.random.default_rng(seed), entries // PER_ROW
    places = tuple(random.integers(0, n, (2, entries), dtype=np.int32))
    return sp.csr_array(sp.coo_array((random.random(entries), places), shape=(n, n)))


@cache
def banded(entries: int) -> sp.csr_array:
    """A square matrix with about so many entries, all on the diagonals next to the main one."""
    random, n = np.random.default_rng(1), entries // (2 * BAND + 1)
    offsets = list(range(-BAND, BAND + 1))
    diagonals = [random.random(n - abs(offset)) for offset in offsets]
    return sp.csr_array(sp.diags_array(diagonals, offsets=offsets, shape=(n, n)))


@cache
def coordinates(make: Callable[[int], sp.csr_array], entries: int) -> sp.coo_array:
    """The same matrix as a list of coordinates, which ours and scipy's kernel share."""
    return make(entries).tocoo()


@cache
def third_order(n: int) -> Tensor:
    """A tensor of 1,000,000 entries at places drawn alike; less where two fall together."""
    random = np.random.default_rng(2)
    places = random.integers(0, n, (3, 1_000_000))
    return Tensor.from_coo(places, random.random(places.shape[1]), (n, n, n))


def dense(*shape: int) -> np.ndarray:
    """An array of numbers between 0 and 1."""
    return np.random.default_rng(3).random(shape)


def cases() -> Iterator[Case]:
    """All of them."""
    for entries, size in ((200_000, "200 k"), (2_000_000, "2 M")):
        large = entries > 200_000
        for name, make in (("uniform", uniform), ("banded", banded)):
            yield from _matrix_cases(name, size, entries, make, large)
        yield from _sparse_results(size, entries, large)
        yield from _transposed(size, entries, large)
    yield from _unequal()
    yield _outer()
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


def _sparse_results(size: str, entries: int, large: bool) -> Iterator[Case]:
    """Kernels that assemble a sparse matrix."""
    csr = {"X": "CSR", "A": "CSR", "B": "CSR"}
    yield Case(
        "addition",
        f"uniform {size}",
        "X(i,j) = A(i,j) + B(i,j)",
        csr,
        lambda: {"A": uniform(entries), "B": uniform(entries, 4)},
        lambda given: lambda: given["A"] + given["B"],
        1.1,
        2.07,
        large,
    )
    half = entries // 2

    def sorted_product(given: Mapping[str, Any]) -> Callable[[], Any]:
        def multiply() -> Any:
            product = given["A"] @ given["B"]
            product.sort_indices()
            return product

        return multiply

    yield Case(
        "SpGEMM",
        f"uniform {'1 M' if large else '100 k'}",
        "X(i,j) = A(i,k) * B(k,j)",
        csr,
        lambda: {"A": uniform(half), "B": uniform(half, 4)},
        sorted_product,
        0.9,
        1.19,
        large,
    )

    yield Case(
        "A B x",
        f"uniform {size}",
        "y(i) = A(i,k) * B(k,j) * x(j)",
        {"y": "d", "A": "CSR", "B": "CSR", "x": "d"},
        lambda: {"A": uniform(half), "B": uniform(half, 4), "x": dense(half // PER_ROW)},
        lambda given: lambda: given["A"] @ (given["B"] @ given["x"]),
        1.2,
        large=large,
    )

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


def _transposed(size: str, entries: int, large: bool) -> Iterator[Case]:
    """Kernels of which one operand is transposed, by us and by scipy."""
    csr = {"X": "CSR", "A": "CSR", "B": "CSR"}
    for name, make in (("uniform", uniform), ("banded", banded)):
        matrix = make(entries // 4)
        columns = matrix.tocsc()

        def ordered(product: Any) -> Any:
            product = product.tocsr()
            product.sort_indices()
            return product

        for kernel, expression, formats, given, other in (
            ("transposition", "X(j,i) = A(i,j)", csr, (matrix,), lambda a: a.T.tocsr()),
            ("A^T B", "X(i,j) = A(k,i) * B(k,j)", csr, (matrix, matrix),
             lambda a, b: ordered(a.T.tocsr() @ b)),
            ("A B^T", "X(i,j) = A(i,k) * B(j,k)", csr, (matrix, matrix),
             lambda a, b: ordered(a @ b.T.tocsr())),
            ("CSC x CSR", "X(i,j) = A(i,k) * B(k,j)", {**csr, "A": "CSC"}, (columns, matrix),
             lambda a, b: ordered(a.tocsr() @ b)),
        ):  # fmt: skip
            inputs = dict(zip("AB", given, strict=False))
            used = {tensor: form for tensor, form in formats.items() if tensor in {"X", *inputs}}
            yield Case(
                kernel,
                f"{name} {size}",
                expression,
                used,
                lambda inputs=inputs: inputs,  # type: ignore[misc]
                lambda given, other=other: lambda: other(*given.values()),  # type: ignore[misc]
                1.2,
                large=large,
                converts=True,
            )


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
    few, many = (
        sp.coo_array(
            (np.ones(n), (np.zeros(n, int), np.sort(random.choice(10**7, n, replace=False)))),
            shape=(1, 10**7),
        ).tocsr()
        for n in (1000, 1_000_000)
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


def measure(case: Case, runs: int) -> Timing:
    """Ours and the other's in turn, after one run of each that is not counted."""
    given = case.inputs()
    program = custard.compile(case.expression, case.formats, target="c")
    bound = program.bind(given)
    other = case.other(given)
    right = _same(bound.run(), other())
    ours, others = [], []
    for _ in range(runs):
        begin = time.perf_counter()
        seconds = program.bind(given).seconds() if case.converts else bound.seconds()
        ours.append(time.perf_counter() - begin if case.converts else seconds)
        begin = time.perf_counter()
        other()
        others.append(time.perf_counter() - begin)
    sparse = given.get("A", given.get("B"))
    return Timing(
        case.kernel,
        case.data,
        sparse.nnz,
        statistics.median(ours),
        statistics.median(others),
        case.asked,
        case.published,
        right,
    )


def _same(ours: Tensor, other: Any) -> bool:
    """Whether two results are equal, up to rounding."""
    if sp.issparse(other):
        return abs(ours.to_scipy() - other).max() < 1e-9
    return bool(np.allclose(ours.to_numpy(), other))


def table(timings: list[Timing]) -> Table:
    """The timings, one to a line; ratios above what is asked are red."""
    found = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("kernel", "inputs"):
        found.add_column(column, no_wrap=True)
    for column in ("entries", "ns per entry", "other's", "ratio", "asked", "published compiler"):
        found.add_column(column, justify="right", no_wrap=True)
    for one in timings:
        color = "green" if one.ratio <= one.asked else "red"
        found.add_row(
            one.kernel,
            one.data + ("" if one.right else "  [red]WRONG[/]"),
            f"{one.entries:,}",
            f"{one.ours / one.entries * 1e9:.2f}",
            f"{one.other / one.entries * 1e9:.2f}",
            f"[{color}]{one.ratio:.2f}[/]",
            f"{one.asked:.2f}",
            "" if one.published is None else f"{one.published:.2f}",
        )
    return found


def main() -> int:
    """Runs the command; returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="the smaller matrices alone")
    parser.add_argument("--only", default="", metavar="TEXT", help="kernels with this in the name")
    parser.add_argument("--runs", type=int, default=9, metavar="N", help="runs of each")
    parser.add_argument(
        "--output", type=Path, default=Path("out/benchmarks/kernels.csv"), metavar="FILE"
    )
    options = parser.parse_args()
    chosen = [
        case
        for case in cases()
        if options.only.lower() in f"{case.kernel} {case.data}".lower()
        and not (options.quick and (case.large or "³" in case.data))
    ]
    console = Console(width=None if sys.stdout.isatty() else 120)
    timings = [
        measure(case, options.runs)
        for case in track(chosen, "kernels", console=Console(stderr=True), transient=True)
    ]
    console.print(table(timings))
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with options.output.open("w", newline="") as file:
        rows = [{**asdict(timing), "ratio": timing.ratio} for timing in timings]
        writer = csv.DictWriter(file, list(rows[0]) if rows else ["kernel"])
        writer.writeheader()
        writer.writerows(rows)
    return 0 if all(timing.right for timing in timings) else 1


if __name__ == "__main__":
    sys.exit(main())
