"""Programs on target c: inputs that they take and refuse, and runs at the same time."""

import copy
import ctypes
import os
import pickle
import re
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

import custard
from custard.to_c.compiler_flags import FAST_MATH, FLAGS, LIBRARY
from custard.to_c.loop_ir import INT, INT32
from sam.levels import Compressed, Dense
from sam.support import c_compiler as cc
from sam.support.errors import UserError
from sam.tensor import Tensor
from tests.support import quick_c
from tests.support.compiler import needs_compiler
from tests.support.golden_kernels import GOLDEN
from tests.support.page_faults import faults, needs_glibc

pytestmark = needs_compiler

MATVEC = "y(i) = A(i,j) * x(j)"
FORMATS = {"y": "d", "A": "CSR", "x": "d"}
DENSE = np.array([[0, 2.0, 0, 3], [0] * 4, [4, 0, 5, 6]])
X = np.arange(1.0, 5)
DUE = DENSE @ X


def compiled(expression=MATVEC, formats=FORMATS, **options):
    return quick_c.compiled(expression, formats, **options)


# Inputs that are taken as they are


def same_memory(bound, slot, **arrays):
    """Whether the members of a struct are the arrays themselves."""
    members = bound.structs[slot]
    return all(members[name] == array.ctypes.data for name, array in arrays.items())


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize(("form", "kind"), [("CSR", "csr"), ("CSC", "csc")])
@pytest.mark.parametrize("made", [scipy.sparse.csr_array, scipy.sparse.csr_matrix])
def test_compressed_matrices_of_scipy_are_not_copied(index, form, kind, made):
    a = made(DENSE).asformat(kind)
    a.indices, a.indptr = a.indices.astype(index), a.indptr.astype(index)
    x = X.copy()
    bound = compiled(formats={**FORMATS, "A": form}).bind({"A": a, "x": x})
    members = {"segments1": a.indptr, "coordinates1": a.indices, "values": a.data}
    assert same_memory(bound, "A", **members)
    assert same_memory(bound, "x", values=x)
    assert bound.types.index("A") == (INT32 if index is np.int32 else INT)
    np.testing.assert_array_equal(bound.run().to_numpy(), DUE)
    # A change in place is seen by the next run.
    a.data *= 2
    x += 1
    np.testing.assert_array_equal(bound.run().to_numpy(), 2 * DENSE @ x)


def test_dense_arrays_are_not_copied_if_they_are_in_order():
    program = compiled("y(i) = A(i,j) * x(j)", {"y": "d", "A": "dd", "x": "d"})
    rows = DENSE.copy()
    bound = program.bind({"A": rows, "x": X})
    assert same_memory(bound, "A", values=rows)
    for other in (np.asfortranarray(DENSE), DENSE.repeat(2, 1)[:, ::2], DENSE[::-1][::-1]):
        assert program.run({"A": other, "x": X}).to_numpy().tolist() == DUE.tolist()
    columns = compiled("y(i) = A(i,j) * x(j)", {"y": "d", "A": "dd:1,0", "x": "d"})
    other = np.asfortranarray(DENSE)
    assert same_memory(columns.bind({"A": other, "x": X}), "A", values=other)


def test_inputs_are_not_written_to():
    a, x = scipy.sparse.csr_array(DENSE), X.copy()
    for array in (a.data, a.indices, a.indptr, x):
        array.flags.writeable = False
    np.testing.assert_array_equal(compiled().run({"A": a, "x": x}).to_numpy(), DUE)


@pytest.mark.parametrize(
    "made",
    [
        lambda: scipy.sparse.coo_array((np.ones(3), ([2, 0, 2], [1, 3, 1])), shape=(3, 4)),
        lambda: scipy.sparse.csr_array((np.ones(3), [3, 0, 0], [0, 1, 1, 3]), shape=(3, 4)),
        lambda: scipy.sparse.csr_array((np.arange(3.0), [3, 1, 0], [0, 0, 3, 3]), shape=(3, 4)),
        lambda: scipy.sparse.csc_array(DENSE),
        lambda: scipy.sparse.dia_array(DENSE),
        lambda: scipy.sparse.lil_array(DENSE),
        lambda: scipy.sparse.dok_array(DENSE),
        lambda: scipy.sparse.bsr_array(scipy.sparse.csr_array(DENSE), blocksize=(3, 2)),
    ],
)
@pytest.mark.parametrize("form", ["CSR", "CSC", "DCSR", "uq", "hb", "dd"])
def test_matrices_of_scipy_in_any_format_and_order(made, form):
    """With duplicates, and out of order, too; the matrix stays as it is."""
    matrix = made()
    before = matrix.copy()
    found = compiled(formats={**FORMATS, "A": form}).run({"A": matrix, "x": X})
    np.testing.assert_array_equal(found.to_numpy(), before.toarray() @ X)
    assert (matrix.toarray() == before.toarray()).all()


def test_results_outlive_their_program_and_inputs():
    found = [
        compiled("X(i,j) = A(i,j)", {"X": "CSR", "A": "CSR"}).run({"A": n * DENSE}).to_numpy()
        for n in range(50)
    ]
    for n, one in enumerate(found):
        np.testing.assert_array_equal(one, n * DENSE)


def test_programs_that_have_run_are_copied_and_pickled():
    program = custard.compile("y(i)=A(i,j)*x(j)", {"A": "CSR"}, target="c")
    inputs = {"A": np.array([[1.0, 2.0], [0.0, 3.0]]), "x": np.array([1.0, 10.0])}
    program.run(inputs)
    for other in (copy.deepcopy(program), pickle.loads(pickle.dumps(program))):
        assert other == program
        assert other.run(inputs).to_numpy().tolist() == [21, 30]


@pytest.mark.parametrize("extent", [2**28 + 1, 3 * 10**12, 2**50])
def test_a_workspace_over_a_large_extent_is_sparse(extent):
    one = Tensor.from_coo([[3, extent - 1], [3, 3]], [2.0, 5.0], (extent, extent))
    total = custard.compile("x = A(i,j) * A(j,k)", {"A": "ss"}, target="c")
    assert total.run({"A": one}).to_numpy() == 2 * 2 + 5 * 2
    product = custard.compile("X(i,j) = A(i,k) * A(k,j)", {"X": "ss", "A": "ss"}, target="c")
    coordinates, values = product.run({"A": one}).to_coo()
    assert coordinates.tolist() == [[3, extent - 1], [3, 3]]
    assert values.tolist() == [4.0, 10.0]


def test_one_tensor_more_than_once():
    square = np.array([[1.0, 2, 0], [0, 0, 3], [4, 0, 0]])
    for form in ("CSR", "ss", "hh", "dd"):
        formats = {"X": "ss", "B": form}
        found = compiled("X(i,j) = B(i,k) * B(k,j)", formats).run({"B": square})
        np.testing.assert_array_equal(found.to_numpy(), square @ square)
        # In two orders: a matrix whose storage the loops cannot follow is transposed.
        found = compiled("X(i,j) = B(i,j) + B(j,i)", formats).run({"B": square})
        np.testing.assert_array_equal(found.to_numpy(), square + square.T)
    csr = scipy.sparse.csr_array(square)
    csr.indices, csr.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
    program = compiled("X(i,j) = B(i,j) + B(j,i)", {"X": "ss", "B": "CSR"})
    np.testing.assert_array_equal(program.run({"B": csr}).to_numpy(), square + square.T)


def test_tensors_whose_indices_have_32_bits():
    for index in (np.int32, np.int64, np.uint8):
        levels = (Dense(2), Compressed(np.array([0, 1, 3], index), np.array([1, 0, 2], index)))
        tensor = Tensor((2, 3), (0, 1), levels, np.array([5.0, 6, 7]))
        found = compiled().run({"A": tensor, "x": np.array([1.0, 10, 100])})
        assert found.to_numpy().tolist() == [50, 706]


def test_copies_of_an_input_have_indices_of_one_width():
    # So many columns that the transpose does not go through scipy, which keeps 64 bits.
    places = np.array([1, 5, 99_999]), np.array([7, 2, 4])
    a = scipy.sparse.csr_array((np.array([1.0, 2, 3]), places), shape=(100_000, 100_000))
    a.indices, a.indptr = a.indices.astype(np.int64), a.indptr.astype(np.int64)
    bound = compiled("C(i,j) = A(i,j) + A(j,i)", dict.fromkeys("AC", "CSR")).bind({"A": a})
    assert {one.index for one in bound.stored.values()} == {INT}
    assert abs(bound.run().to_scipy() - (a + a.T)).sum() == 0


# Inputs that are refused


def refused(inputs, program=None):
    with pytest.raises(UserError) as caught:
        (program or compiled()).run(inputs)
    return str(caught.value)


@pytest.mark.parametrize("form", ["CSR", "CSC", "DCSR", "hh"])
@pytest.mark.parametrize(
    ("indices", "indptr"),
    [([0, 2**30], [0, 1, 2]), ([0, -1], [0, 1, 2]), ([0, 1], [0, 2**30, 2]), ([0, 1], [0, -5, 2])],
)
def test_matrices_that_point_elsewhere(form, indices, indptr):
    matrix = scipy.sparse.csr_array((2, 4))
    matrix.data, matrix.indices = np.ones(2), np.array(indices, np.int32)
    matrix.indptr = np.array(indptr, np.int32)
    said = refused({"A": matrix, "x": X}, compiled(formats={**FORMATS, "A": form}))
    assert said.startswith("A: the scipy.sparse matrix is not valid: ind")


@pytest.mark.parametrize(
    ("segments", "coordinates", "said"),
    [
        ([0, 1, 2], [0, 2**40], "coordinate 1099511627776 at position 1 is outside the extent 4"),
        ([0, 1, 2], [0, -1], "coordinate -1 at position 1 is outside the extent 4"),
        ([0, 2**40, 2], [0, 1], "its segments decrease after entry 1"),
        ([0, 2, 2], [1, 0], "its coordinates do not increase after position 0"),
    ],
)
def test_tensors_that_point_elsewhere(segments, coordinates, said):
    levels = (Dense(2), Compressed(np.array(segments), np.array(coordinates)))
    tensor = Tensor((2, 4), (0, 1), levels, np.ones(2))
    for form in ("CSR", "CSC", "ss"):
        program = compiled(formats={**FORMATS, "A": form})
        assert refused({"A": tensor, "x": X}, program) == (
            f"A: level 1 (compressed) is not valid: {said}"
        )


def test_segments_that_are_no_whole_numbers():
    levels = (Dense(2), Compressed(np.array([0.0, 1, 2]), np.array([0, 1])))
    with pytest.raises(UserError, match="the segments of a compressed level are of the type float"):
        Tensor((2, 4), (0, 1), levels, np.ones(2))


def test_values_that_are_of_no_type():
    levels = (Dense(2), Compressed(np.array([0, 1, 2]), np.array([0, 1])))
    tensor = Tensor((2, 4), (0, 1), levels, np.ones(2, ">f8"))
    assert refused({"A": tensor, "x": X}).startswith("A: its values are of the type >f8\nhint: ")
    assert refused({"A": DENSE, "x": np.array(["a"] * 4)}) == (
        "x: values of the type <U1 are not numbers"
    )


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"A": DENSE}, "no input is given for x"),
        ({"A": DENSE, "x": X, "z": X}, "the program has no input z\nhint: one of A, x"),
        ({"A": DENSE, "x": X[:3]}, "the extent of j is 4 by mode 1 of A and 3 by mode 0 of x"),
        ({"A": X, "x": X}, "A has 2 modes in the program, and its input has 1 mode"),
        (7, 'the inputs are int, not a mapping from names\nhint: as in {"B": B, "C": C}'),
        ({"A": "a.mtx", "x": X}, "A: str is not a tensor\nhint: a number, nested lists, a "),
    ],
)
def test_inputs_that_do_not_fit(inputs, said):
    assert refused(inputs).startswith(said)


def test_an_extent_that_nothing_fixes():
    program = compiled("X(i,j) = b(i)", {"X": "dd", "b": "d"})
    assert refused({"b": X}, program).startswith("no input fixes the extent of j\nhint: give it in")


# Names


NAMES = """
int I true main compute release status failed had need key NULL INT64_C SIZE_MAX EOF unix linux
_Bool __LINE__ printf resized resized_zero grown times mark_bit take_bits lowest_bit
sort_buckets_int32_t locate_hashed_int32_t run_end_int32_t kept_double workspace_double
workspace_double_new wide_t wide_workspace_double x_values X_count1 i_size p w w_values X_need
grow_X1 B_2
"""


def _in_turn(size):
    """The names in groups of a size, each name once; the last group begins anew if it is short."""
    names = NAMES.split()
    return [
        [names[n % len(names)] for n in range(begin, begin + size)]
        for begin in range(0, len(names), size)
    ]


A = np.array([[0, 2.0], [3, 0]])


@pytest.fixture
def not_optimised(monkeypatch):
    """A name clashes, or does not, at each level of optimisation."""
    monkeypatch.setenv("SAM_CFLAGS", "-O0")


def _check(expression, formats, due):
    inputs = {name: A if len(word) == 2 else A[0] for name, word in formats.items()}
    target = expression.partition("(")[0]
    inputs.pop(target)
    np.testing.assert_array_equal(compiled(expression, formats).run(inputs).to_numpy(), due)


@pytest.mark.parametrize("names", _in_turn(4))
def test_tensors_whose_names_mean_something_in_c(names, not_optimised):
    """As operands in formats whose levels need all helper functions."""
    a, b, c, d = names
    bits, ordered, hashed = (dict.fromkeys(names, word) for word in ("bs", "ds", "hh"))
    product = f"X(i,j) = {a}(i,k) * {b}(i,k) * {c}(k,j) * {d}(k,j)"
    _check(product, {"X": "ss", **bits}, (A * A) @ (A * A))
    product = f"X(i,j) = {a}(k,i) * {b}(k,i) * {c}(k,j) * {d}(k,j)"
    _check(product, {"X": "uq", **ordered}, (A * A).T @ (A * A))
    total = f"X(i,j) = D(i,j) + {' + '.join(f'{name}(i,j)' for name in names)}"
    _check(total, {"X": "ss", "D": "uq", **hashed}, 5 * A)


@pytest.mark.parametrize("name", NAMES.split())
def test_results_whose_names_mean_something_in_c(name, not_optimised):
    _check(f"{name}(i,j) = Q(k,i) * Q(k,j)", {name: "ds", "Q": "sb"}, A.T @ A)


@pytest.mark.parametrize(("i", "j", "k"), _in_turn(3))
def test_variables_whose_names_mean_something_in_c(i, j, k, not_optimised):
    _check(f"X({i},{j}) = Q({k},{i}) * Q({k},{j})", {"X": "ss", "Q": "su"}, A.T @ A)


@pytest.mark.parametrize(("i", "j"), _in_turn(2))
def test_tensors_that_are_variables_too(i, j, not_optimised):
    formats = {"X": "s", "Q": "uq", i: "h", j: "h"}
    _check(f"X({i}) = Q({i},{j}) * {i}({j}) * {j}({j})", formats, A @ (A[0] * A[0]))


# Types of values


@pytest.mark.parametrize("flags", [FLAGS, (*LIBRARY, "-O0")])
def test_nan_and_infinity_are_kept_by_default(flags):
    program = replace(custard.compile("y = x(i)", {"x": "d"}, target="c"), flags=flags)
    for values in ([1.0, np.inf], [np.inf, -np.inf], [np.nan, 1.0], [-np.inf, 2.0]):
        with np.errstate(invalid="ignore"):
            due = np.sum(np.tile(values, 50))
        assert np.array_equal(program.run({"x": np.tile(values, 50)}).to_numpy(), due, True)
    program = replace(custard.compile("y(i) = x(i) / z(i)", dict.fromkeys("xyz", "d"), target="c"))
    x, z = np.array([0, 1, -1, np.nan, 1]), np.array([0, 0, 0, 1, np.inf])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(program.run({"x": x, "z": z}).to_numpy(), x / z)


def test_fast_math_is_other_flags_and_the_same_values():
    fast = custard.compile(MATVEC, FORMATS, target="c", fast_math=True)
    assert fast.flags == FAST_MATH
    assert "-ffinite-math-only" in fast.source
    assert "-ffinite-math-only" not in custard.compile(MATVEC, FORMATS, target="c").source
    np.testing.assert_allclose(fast.run({"A": DENSE, "x": X}).to_numpy(), DUE)


def test_fast_math_leaves_the_process_as_it_is():
    """Some compilers link -ffast-math with code that has every thread flush to zero."""
    custard.compile("y = 3 * x(i)", {"x": "d"}, target="c", fast_math=True).run({"x": X})
    tiny = np.full(8, 5e-324) * np.ones(8)
    assert (tiny.view(np.int64) == 1).all()


# Many at once


def test_threads_that_run_the_same_program_and_others():
    random = np.random.default_rng(1)
    matrices = [scipy.sparse.random_array((50, 60), density=0.2, rng=random) for _ in range(16)]
    same = compiled("X(i,j) = A(k,i) * A(k,j)", {"X": "CSR", "A": "CSR"})

    def one(n):
        a = matrices[n].tocsr().astype((np.float64, np.float32, np.complex64)[n % 3])
        other = compiled(f"y(i) = {n + 1} * A(i,j)", {"y": "d", "A": "DCSR"})
        return same.run({"A": a}).to_numpy(), other.run({"A": a}).to_numpy()

    with ThreadPoolExecutor(8) as pool:
        for n, (product, total) in enumerate(pool.map(one, range(len(matrices)))):
            dense = matrices[n].toarray()
            np.testing.assert_allclose(product, dense.T @ dense, rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(total, (n + 1) * dense.sum(axis=1), rtol=1e-4)


RACE = """
    import numpy as np, custard
    for n in range(3):
        program = custard.compile(f"y = {n} + x(i)", {"x": "d"}, target="c")
        assert program.run({"x": np.arange(4)}).to_numpy() == n + 6
    print("right")
"""


def test_processes_that_fill_one_cache(tmp_path):
    started = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(RACE)],
            env={**os.environ, "SAM_CACHE": str(tmp_path / "cache")},
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    assert [process.communicate()[0] for process in started] == ["right\n"] * 4
    # The libraries, facts about the compiler's flags, their records, and nothing half done.
    assert {path.suffix for path in (tmp_path / "cache").iterdir()} == {".so", ".flags", ".sum"}


# The compiler


@pytest.fixture
def other_compiler(monkeypatch, tmp_path):
    """Another command in the place of the compiler, with a cache of its own."""

    def use(command):
        monkeypatch.setenv("CC", str(command))
        monkeypatch.setenv("SAM_CACHE", str(tmp_path / "cache"))
        cc._compiler.cache_clear()

    yield use
    monkeypatch.undo()
    cc._compiler.cache_clear()


def test_a_named_compiler_that_does_not_exist_is_a_mistake(other_compiler):
    program = custard.compile(MATVEC, FORMATS, target="c")
    other_compiler("/nonexistent")
    assert refused({"A": DENSE, "x": X}, program) == (
        "the C compiler /nonexistent, which CC names, is not found"
    )
    assert "int compute(" in program.source


def test_no_compiler_at_all(monkeypatch, other_compiler):
    other_compiler("")
    monkeypatch.setattr(cc.shutil, "which", lambda _: None)
    monkeypatch.setattr(cc, "find_spec", lambda _: None)
    program = custard.compile(MATVEC, FORMATS, target="c")
    assert refused({"A": DENSE, "x": X}, program) == (
        "there is no C compiler\nhint: install gcc or clang, or pip install ziglang"
    )


def script(path: Path, text: str) -> Path:
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


def test_flags_that_a_compiler_does_not_know_are_left_out(other_compiler, tmp_path):
    real = " ".join(cc.compiler())
    refuse = 'for a; do [ "$a" = -fcx-fortran-rules ] && exit 1; done\n'
    log = tmp_path / "log"
    other_compiler(script(tmp_path / "picky", f'echo run >> {log}\n{refuse}exec {real} "$@"\n'))
    known = cc.supported(FLAGS)
    assert known == tuple(flag for flag in FLAGS if flag != "-fcx-fortran-rules")
    program = custard.compile(MATVEC, FORMATS, target="c")
    np.testing.assert_array_equal(program.run({"A": DENSE, "x": X}).to_numpy(), DUE)
    # Found out once, for this process and later ones.
    before = log.read_text()
    cc._supported.cache_clear()
    assert cc.supported(FLAGS) == known
    assert log.read_text() == before


def test_a_compiler_that_fails(other_compiler, tmp_path):
    other_compiler(script(tmp_path / "broken", "echo out of order >&2; exit 1\n"))
    program = custard.compile(MATVEC, FORMATS, target="c")
    assert refused({"A": DENSE, "x": X}, program) == (
        f"the C compiler {tmp_path}/broken fails:\nout of order"
    )


# Without Python


MAIN = """
#include <stdio.h>
#include "KERNEL"

int main(void)
{
    // 1 2 .     . 4
    // . . 3     5 .
    //           . 6
    const int32_t b_segments[] = {0, 2, 3}, b_coordinates[] = {0, 1, 2};
    const int32_t c_segments[] = {0, 1, 2, 3}, c_coordinates[] = {1, 0, 1};
    const double b_values[] = {1, 2, 3}, c_values[] = {4, 5, 6};
    struct A A = {2, 3, b_segments, b_coordinates, b_values};
    struct B B = {3, 2, c_segments, c_coordinates, c_values};
    struct X X = {.size0 = 2, .size1 = 2};
    if (compute(&X, &A, &B))
        return 1;
    for (int64_t i = 0; i < X.size0; i++)
        for (int32_t p = X.segments1[i]; p < X.segments1[i + 1]; p++)
            printf("%d %d %g\\n", (int)i, (int)X.coordinates1[p], X.values[p]);
    release(&X);
    return X.values != NULL;
}
"""


def test_a_file_is_called_from_c_as_its_header_says(tmp_path):
    source = GOLDEN / "spgemm.c"
    (tmp_path / "main.c").write_text(MAIN.replace("KERNEL", str(source)))
    flags = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "main.c", "-o", "main"]
    subprocess.run([*cc.compiler(), *flags], cwd=tmp_path, check=True)
    found = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True)
    assert found.stdout == "0 0 10\n0 1 4\n1 1 18\n"


def test_the_command_in_the_header_compiles_the_file(tmp_path):
    source = custard.compile(MATVEC, FORMATS, target="c").source
    (tmp_path / "kernel.c").write_text(source)
    command = re.search(r"//     cc (.*(\n//  .*)*)", source)[1].replace("//", " ").split()
    known = [word for word in command if not word.startswith("-f") or word in cc.supported(FLAGS)]
    subprocess.run([*cc.compiler(), *known], cwd=tmp_path, check=True)
    assert (tmp_path / "kernel.so").exists()


@pytest.mark.parametrize("expression", ["y = a", "X(i,j) = B(i,j)", "X(i) = b(i) + c"])
def test_headers_have_expression_formats_and_schedule(expression):
    source = custard.compile(expression, schedule=[], target="c").source
    head = source[: source.index("#include")]
    assert head.startswith(f"// {expression}\n")
    assert "compute()" in head
    assert "release()" in head
    assert all(len(line) <= 100 for line in head.split("\n"))


def test_a_bound_program_takes_new_arrays():
    bound = compiled(formats={**FORMATS, "A": "CSR"}).bind(
        {"A": scipy.sparse.csr_array(DENSE), "x": X}
    )
    np.testing.assert_array_equal(bound.run(x=2 * X).to_numpy(), 2 * DUE)
    np.testing.assert_array_equal(bound.run().to_numpy(), 2 * DUE)  # from then on
    np.testing.assert_array_equal(
        bound.run(A=scipy.sparse.csr_array(3 * DENSE)).to_numpy(), 6 * DUE
    )
    for value, message in (
        (np.ones(len(X) + 1), "x is bound with the shape"),
        (X.astype("complex128"), "x is bound with values or indices of another type"),
    ):
        with pytest.raises(UserError, match=message):
            bound.run(x=value)
    with pytest.raises(UserError, match="the program has no input z"):
        bound.run(z=X)


def test_conversions_are_noted():
    program = compiled(formats={**FORMATS, "A": "CSC"})
    matrix = scipy.sparse.csr_array(DENSE)
    assert program.bind({"A": matrix.tocsc(), "x": X}).notes == ()
    (note,) = program.bind({"A": matrix, "x": X}).notes
    assert note.startswith("A is converted from csr on each call")


@pytest.mark.parametrize("format", ["DCSR", "COO"])
def test_rows_of_csr_that_are_listed_anew_are_noted(format):
    """Its values and columns are shared; the rows are made on each call."""
    program = compiled(formats={**FORMATS, "A": format})
    (note,) = program.bind({"A": scipy.sparse.csr_array(DENSE), "x": X}).notes
    assert note.startswith("A is converted from csr on each call")
    assert (
        compiled(formats={**FORMATS, "A": "CSR"})
        .bind({"A": scipy.sparse.csr_array(DENSE), "x": X})
        .notes
        == ()
    )


def test_rows_that_are_put_in_order_are_noted():
    matrix = scipy.sparse.csr_array(DENSE)
    matrix.indices[:2], matrix.data[:2] = matrix.indices[1::-1].copy(), matrix.data[1::-1].copy()
    matrix.has_sorted_indices = matrix.has_canonical_format = False
    (note,) = compiled(formats={**FORMATS, "A": "CSR"}).bind({"A": matrix, "x": X}).notes
    assert note.startswith("A is converted from csr on each call")


def test_a_result_that_is_fed_back_needs_no_second_kernel():
    matrix = scipy.sparse.random_array((50, 50), density=0.02, rng=np.random.default_rng(0)).tocsr()
    matrix.indices, matrix.indptr = matrix.indices.astype("i4"), matrix.indptr.astype("i4")
    formats = {"X": "CSR", "A": "CSR", "B": "CSR"}
    program = custard.compile("X(i,j) = A(i,k) * B(k,j)", formats, target="c")
    square = program.run({"A": matrix, "B": matrix})
    assert square.to_scipy().indices.dtype == square.to_scipy().indptr.dtype == np.int32
    fourth = program.run({"A": square, "B": square.to_scipy()})
    np.testing.assert_allclose(fourth.to_numpy(), np.linalg.matrix_power(matrix.toarray(), 4))
    assert len(program.kernels) == 1


@pytest.mark.parametrize(
    "form",
    [
        *("ds", "ds:1,0", "ss", "ss:1,0", "uq", "uq:1,0", "sd", "dd", "dd:1,0"),
        *("hh", "dh", "db", "bb", "dl", "sh"),
    ],
)
def test_a_result_in_any_format_is_fed_back_in_any_way_without_a_second_kernel(form):
    matrix = scipy.sparse.random_array((30, 30), density=0.1, rng=np.random.default_rng(0)).tocsr()
    program = custard.compile("Y(i,j) = 2 * A(i,j)", {"Y": form, "A": form}, target="c")
    twice = program.run({"A": matrix})
    ways = [twice, twice.to_numpy(), *map(twice.to_scipy, ("csr", "csc", "coo", "bsr", "dia"))]
    for way in ways:
        np.testing.assert_array_equal(program.run({"A": way}).to_numpy(), 4 * matrix.toarray())
    assert len(program.kernels) == 1
    for found in ways[2:]:
        arrays = [getattr(found, name, None) for name in ("indices", "indptr", "offsets")]
        arrays += getattr(found, "coords", ())
        assert {array.dtype for array in arrays if array is not None} == {np.dtype(np.int32)}


def test_a_tensor_of_three_modes_is_fed_back_without_a_second_kernel():
    cube = np.arange(24.0).reshape(2, 3, 4) % 5
    for form in ("sss", "ucq", "dss"):
        program = custard.compile("Y(i,j,k) = 2 * A(i,j,k)", {"Y": form, "A": form}, target="c")
        twice = program.run({"A": scipy.sparse.coo_array(cube)})
        fourth = program.run({"A": twice.to_scipy()})
        np.testing.assert_array_equal(fourth.to_numpy(), 4 * cube)
        assert len(program.kernels) == 1


def test_a_result_has_no_more_memory_than_its_values():
    usable = getattr(ctypes.CDLL(None), "malloc_usable_size", None)
    if usable is None:
        pytest.skip("needs malloc_usable_size")
    usable.argtypes, usable.restype = (ctypes.c_void_p,), ctypes.c_size_t
    few = scipy.sparse.random_array((300, 400), density=0.02, rng=np.random.default_rng(0)).tocsr()
    many = scipy.sparse.random_array((300, 400), density=0.9, rng=np.random.default_rng(1)).tocsr()
    formats = {"X": "CSR", "A": "CSR", "B": "CSR"}
    program = custard.compile("X(i,j) = A(i,j) * B(i,j)", formats, target="c")
    values = program.run({"A": many, "B": few}).values
    assert usable(values.ctypes.data) < 8 * len(values) + 100
    assert np.count_nonzero(values) == (many * few).count_nonzero()


@needs_glibc
def test_calls_after_the_first_take_no_new_pages():
    run = "import custard; custard.compile('y(i) = x(i)', target='c').run({'x': [1.0, 2.0]})"
    assert faults(run) < 100
