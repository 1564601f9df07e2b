"""C that other programs link: from C and C++, and in two halves."""

import os
import shutil
import subprocess

import numpy as np
import pytest
import scipy.sparse as sp

import custard
from sam.support import c_compiler as cc
from tests.support.compiler import needs_compiler

pytestmark = needs_compiler

A = sp.random_array((7, 9), density=0.4, rng=np.random.default_rng(0)).tocsr()
B = sp.random_array((9, 7), density=0.4, rng=np.random.default_rng(1)).tocsr()


def _dense(*shape):
    return np.random.default_rng(2).random(shape)


CASES = {
    "addition": (
        "X(i,j) = A(i,j) + B(j,i)",
        {"X": "CSR", "A": "CSR", "B": "CSC"},
        {"A": A, "B": B},
    ),
    "product": ("X(i,j) = A(i,k) * B(k,j)", {"X": "CSR", "A": "CSR", "B": "CSR"}, {"A": A, "B": B}),
    "sampled": (
        "X(i,j) = A(i,j) * P(i,k) * Q(k,j)",
        {"X": "CSR", "A": "CSR", "P": "dd", "Q": "dd"},
        {"A": A, "P": _dense(7, 3), "Q": _dense(3, 9)},
    ),
    "rows": (
        "X(i,j,r) = A(i,k) * B(k,j) * C(k,r)",
        {"X": "ssd", "A": "CSR", "B": "CSR", "C": "dd"},
        {"A": A, "B": B, "C": _dense(9, 4)},
    ),
    "transposition": ("X(j,i) = A(i,j)", {"X": "CSR", "A": "CSR"}, {"A": A}),
    "list": ("X(i,j) = A(i,j) * 2", {"X": "uq", "A": "CSR"}, {"A": A}),
}


def _called(program, inputs, names, threads=None):
    """The result of functions of the linked source that are called in turn."""
    flags = (*program.flags, *(("-fopenmp",) if threads else ()))
    (library,) = cc.build([program.linkable("some").source], flags=cc.supported(flags))
    bound = program.bind(inputs, threads)
    plan, arguments, _ = bound._ready
    struct, values = plan.empty()
    for name in names:
        assert getattr(library, f"some_{name}")(struct, *arguments) == 0
    return plan.tensor(struct, values, None)


T = sp.random_array((300, 9), density=0.2, rng=np.random.default_rng(3)).tocsr()
CUBE = np.where(_dense(300, 4, 3) < 0.2, _dense(300, 4, 3), 0)
# On threads: rows, tiles of rows, and results whose positions a share does not know.
SHARED = {
    "shared rows": ("X(i,j) = A(i,k) * B(k,j)", {"X": "CSR", "A": "CSR", "B": "CSR"}, "i"),
    "shared tiles": ("X(i,j) = A(i,k) * B(k,j)", {"X": "CSR", "A": "CSR", "B": "CSR"}, "i0"),
    "shared compressed rows": ("X(i,j) = A(i,k) * B(k,j)", {"X": "ss", "A": "ss", "B": "CSR"}, "i"),
    "shared samples": (
        "X(i,j) = A(i,j) * P(i,k) * Q(j,k)",
        {"X": "CSR", "A": "CSR", "P": "dd", "Q": "dd"},
        "i",
    ),
    "shared fibers": ("X(i,j,k) = 2 * C(i,j,k)", {"X": "dss", "C": "sss"}, "i"),
    "shared blocks": ("X(i,j,k) = C(i,j,k) + C(i,j,k)", {"X": "dsd", "C": "sss"}, "i"),
    "shared list": ("X(i,j,k) = C(i,j,k) + C(i,j,k)", {"X": "duq", "C": "sss"}, "i"),
}
GIVEN = {"A": T, "B": B, "P": _dense(300, 5), "Q": _dense(9, 5), "C": CUBE}


def shares(loop):
    """A schedule on threads that share a loop, of rows or of tiles of them."""
    split = ["reorder(i,k,j)", "split(i,i0,i1,7)"] if loop == "i0" else []
    return [*split, f"parallelize({loop},CPUThread,NoRaces)"]


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("case", SHARED)
def test_threads_assemble_and_recompute(case, threads):
    text, formats, loop = SHARED[case]
    inputs = {name: GIVEN[name] for name in formats if name != "X"}
    program = custard.compile(text, formats, shares(loop), "c")
    whole = program.run(inputs, threads)
    for names in (["compute"], ["assemble", "recompute"], ["assemble", "recompute", "recompute"]):
        found = _called(program, inputs, names, threads)
        for one, other in zip(found.to_coo(), whole.to_coo(), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-14)


@pytest.mark.parametrize("case", CASES)
def test_assemble_and_recompute_together_equal_compute(case):
    text, formats, inputs = CASES[case]
    program = custard.compile(text, formats, target="c")
    whole = program.run(inputs)
    # Arrays that are made first have other values when they are computed again.
    for names in (["compute"], ["assemble", "recompute"], ["compute", "recompute"]):
        found = _called(program, inputs, names)
        assert found.format == whole.format
        for one, other in zip(found.to_coo(), whole.to_coo(), strict=True):
            # Linked C has the workspace for unknown inputs, which may add up in another order.
            np.testing.assert_allclose(one, other, rtol=1e-14)


def test_a_dense_result_and_one_without_zeros_have_no_halves():
    names = ("_assemble", "_recompute")
    dense = custard.compile("x(i) = A(i,j) * y(j)", {"x": "d", "A": "CSR", "y": "d"}, target="c")
    dropping = custard.compile(
        "X(i,j) = A(i,j) + B(i,j)", {"X": "CSR", "A": "CSR"}, target="c", drop_zeros=True
    )
    for program in (dense, dropping):
        linked = program.linkable("some")
        assert not any(name in linked.source + linked.header for name in names)


@pytest.mark.parametrize("prefix", ["2x", "a-b", "a b", "_"])
def test_a_prefix_is_a_name(prefix):
    program = custard.compile("x(i) = A(i,j) * y(j)", target="c")
    with pytest.raises(custard.UserError, match=f'the prefix "{prefix}" is not a name in C'):
        program.linkable(prefix)


MAIN = """
#include "first.h"
#include "second.h"
#include <stdio.h>

int main()
{
    int32_t segments[] = {0, 2, 3}, coordinates[] = {0, 2, 1};
    double values[] = {1.0, 2.0, 3.0}, x[] = {10.0, 20.0, 30.0}, y[2];
    struct first_new in = {2, 3, segments, coordinates, values};
    struct first_x vector = {3, x};
    struct first_y result = {2, y};
    if (first_compute(&result, &in, &vector))
        return 1;
    printf("%g %g\\n", y[0], y[1]);

    struct second_new same = {2, 3, segments, coordinates, values};
    struct second_Z twice = {2, 3};
    if (second_assemble(&twice, &same) || second_recompute(&twice, &same))
        return 1;
    values[0] = 5.0;
    if (second_recompute(&twice, &same))
        return 1;
    printf("%d %d: %g %g %g\\n", twice.segments1[2], twice.coordinates1[1], twice.values[0],
           twice.values[1], twice.values[2]);
    second_release(&twice);
    return 0;
}
"""


@pytest.mark.parametrize("language", ["c", "cc"])
def test_two_kernels_are_linked_to_a_program(language, tmp_path):
    compiler = shutil.which(os.environ.get("CC", "cc") if language == "c" else "c++")
    if compiler is None:
        pytest.skip("needs a compiler of C++" if language == "cc" else "needs cc")
    kernels = {
        "first": ("y(i) = new(i,j) * x(j)", {"y": "d", "new": "CSR", "x": "d"}),
        "second": ("Z(i,j) = 2 * new(i,j)", {"Z": "CSR", "new": "CSR"}),
    }
    for name, (text, formats) in kernels.items():
        linked = custard.compile(text, formats, target="c").linkable(name)
        (tmp_path / f"{name}.c").write_text(linked.source)
        (tmp_path / f"{name}.h").write_text(linked.header)
    (tmp_path / f"main.{language}").write_text(MAIN)

    def run(*command):
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=100
        )
        assert done.stderr == ""
        return done.stdout

    objects = ["first.o", "second.o"]
    run(*cc.compiler(), "-Wall", "-std=gnu11", "-c", "first.c", "second.c")
    run(compiler, "-Wall", f"main.{language}", *objects, "-o", "main")
    # By hand: 1 * 10 + 2 * 30, 3 * 20; then twice the entries, the first of which is 5.
    assert run("./main") == "70 60\n3 2: 10 4 6\n"


@pytest.mark.parametrize("case", [*CASES, *SHARED])
def test_all_global_names_begin_with_the_prefix(case, tmp_path):
    """Threads of several kernels once shared a lock of one name."""
    if shutil.which("nm") is None:
        pytest.skip("needs nm")
    text, formats, *_ = CASES.get(case) or SHARED[case]
    schedule = shares(SHARED[case][2]) if case in SHARED else []
    source = custard.compile(text, formats, schedule, "c").linkable("some").source
    assert ("-fopenmp" in source) == (case in SHARED)
    (tmp_path / "some.c").write_text(source)
    flags = cc.supported(("-std=gnu11", "-fopenmp"))
    subprocess.run([*cc.compiler(), *flags, "-c", "some.c"], cwd=tmp_path, check=True)
    listed = subprocess.run(
        ["nm", "-P", "some.o"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    names = [line.split()[:2] for line in listed.stdout.splitlines()]
    assert {name for name, kind in names if kind.isupper() and kind != "U"} == {
        f"some_{name}" for name in ("compute", "assemble", "recompute", "release")
    }


@pytest.mark.parametrize("language", ["c", "cc"])
def test_the_header_of_complex_values_is_read_by_c_and_cpp(language, tmp_path):
    compiler = shutil.which(os.environ.get("CC", "cc") if language == "c" else "c++")
    if compiler is None:
        pytest.skip("needs a compiler")
    matrix = A.astype(complex)
    program = custard.compile("X(i,j) = A(i,j) * 2", {"X": "CSR", "A": "CSR"}, target="c")
    bound = program.bind({"A": matrix})
    linked = program.linkable("twice", bound.types)
    (tmp_path / "twice.h").write_text(linked.header)
    (tmp_path / f"main.{language}").write_text('#include "twice.h"\nstruct twice_A a;\n')
    subprocess.run(
        [compiler, "-Wall", "-Werror", "-c", f"main.{language}"], cwd=tmp_path, check=True
    )
