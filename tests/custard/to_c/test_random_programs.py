"""Random programs on target c agree with the dense evaluator and with target sam."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import custard
from custard.to_c.compiler_flags import FLAGS
from experiments.dense import evaluate
from sam.support import c_compiler as cc
from tests.support.c_programs import cases, check
from tests.support.compiler import needs_compiler
from tests.support.profiles import PROFILE, examples

pytestmark = needs_compiler
relaxed = settings(suppress_health_check=list(HealthCheck))


@pytest.fixture(autouse=True, scope="module")
def _cache(tmp_path_factory):
    """Kernels of the full profile are never used again, so they are not kept."""
    before = os.environ.get("SAM_CACHE")
    if PROFILE == "full":
        os.environ["SAM_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    yield
    os.environ.pop("SAM_CACHE", None)
    if before is not None:
        os.environ["SAM_CACHE"] = before


@settings(relaxed, max_examples=examples(1000, compiles=True))
@given(cases(max_operands=4, max_order=4, explicit_sums=True, accumulate=True))
def test_up_to_four_operands_and_dimensions_in_any_formats(case):
    check(case)


@settings(relaxed, max_examples=examples(100, compiles=True))
@given(cases(max_operands=4, levels="ds", result_levels="ds"))
def test_dense_and_compressed_levels_as_they_are_compiled_by_default(case):
    check(case, FLAGS)


@settings(relaxed, max_examples=examples(200, compiles=True))
@given(cases(max_order=3, operators="+-*/"))
def test_quotients_are_numpys_up_to_the_sign_of_zero(case):
    """A zero that is not stored has no sign, so an infinity behind a division by it has none."""
    found = case.compiled().run(case.tensors).to_numpy()
    finite = np.isfinite(found) & np.isfinite(case.due)
    np.testing.assert_allclose(found[finite], case.due[finite])
    assert np.array_equal(np.isfinite(found), np.isfinite(case.due))


@settings(relaxed, max_examples=examples(100, compiles=True))
@given(cases(max_order=3))
def test_zeros_that_are_dropped_leave_the_values_as_they_are(case):
    found = case.compiled(drop_zeros=True).run(case.tensors)
    np.testing.assert_array_equal(found.to_numpy(), case.due)
    if found.levels and not found.levels[-1].full:
        assert (found.to_coo()[1] != 0).all()


@settings(relaxed, max_examples=examples(150, compiles=True))
@given(cases(max_order=3, explicit_sums=True, accumulate=True, levels="dsuhb"))
def test_sam_and_c_agree(case):
    """Not only in their values: the storage is the same too."""
    compiled = custard.compile(case.expression, case.formats, case.schedule, dims=case.dims)
    due = compiled.run(case.tensors)
    found = case.compiled().run(case.tensors)
    np.testing.assert_array_equal(found.to_numpy(), due.to_numpy())


def test_no_sanitizer_complains(tmp_path):
    """About reads and writes out of bounds, overflow, bools that are neither, and so on."""
    library = subprocess.run(
        [*cc.compiler(), "-print-file-name=libasan.so"], capture_output=True, text=True, check=False
    ).stdout.strip()
    if not os.path.isabs(library):
        pytest.skip("the compiler has no libasan.so")
    options = {
        "LD_PRELOAD": library,
        "ASAN_OPTIONS": "detect_leaks=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "SAM_CACHE": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.c_programs", str(examples(200, compiles=True))],
        env={**os.environ, **options},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.endswith("all is well\n"), done.stdout[-2000:] + done.stderr[-4000:]


@pytest.mark.parametrize(
    ("expression", "formats"),
    [
        # A loop over one coordinate has no block of its own, in which its names would be.
        (
            "X(i,j,k) = B(i,l,j,k) + C(l,i) + D(i,j,k)",
            {"X": "ddd", "B": "dddu:1,2,0,3", "C": "qc", "D": "sss"},
        ),
        # A coordinate located in a hash table may be absent, even beside merged operands.
        ("X(i,j) = (sum(l, C(l,j)) + E(i)) * D(i,j)", {"X": "dd", "C": "dh", "D": "dh", "E": "d"}),
        ("X(i) = C(l,i) + D(l,i)", {"X": "d", "C": "qc", "D": "qc"}),
        ("X(i) = sum(l, C(l,i)) * sum(l, D(l,i))", {"X": "s", "C": "qq", "D": "qq"}),
    ],
)
def test_programs_that_were_wrong_once(expression, formats):
    random = np.random.default_rng(1)
    tensors = {
        "B": random.integers(1, 9, (2, 2, 2, 2)),
        "C": np.array([[0, 0], [0, 5]]),
        "D": np.array([[0, 7], [0, 0]]),
        "E": np.array([1, 2]),
    }
    if "D(i,j,k)" in expression:
        tensors["D"] = random.integers(1, 9, (2, 2, 2))
    given = {name: tensors[name] for name in formats if name != "X"}
    found = custard.compile(expression, formats, target="c").run(given)
    np.testing.assert_array_equal(found.to_numpy(), evaluate(expression, given))


def test_operands_that_are_tested_at_each_coordinate():
    """Also inside of the loops over others; so many that a lattice would have too many points."""
    random = np.random.default_rng(0)
    expression = "X(l,j) = Y(l,j) + (B(l,j) * C(l,k) - 0.5 * C(j,k)) * B(l,i)"
    formats = {"X": "ss", "Y": "bu", "B": "ru", "C": "su"}
    program = custard.compile(expression, formats, target="c")
    for _ in range(10):
        tensors = {n: random.integers(-3, 4, (4, 4)) * (random.random((4, 4)) < 0.4) for n in "YBC"}
        found = program.run(tensors).to_numpy()
        np.testing.assert_array_equal(found, evaluate(expression, tensors))


def test_lists_do_not_tell_how_many_nodes_they_have():
    """So nothing is read behind the segments of the level below, which an empty one has none of."""
    program = custard.compile("X(i,j) = 2 * B(i,j)", {"X": "ss", "B": "ls"}, target="c")
    assert "B_segments1[1]" not in program.source
    assert program.run({"B": np.zeros((3, 4))}).nnz == 0


def test_chains_that_differ_further_in_only():
    """A level of singletons repeats a coordinate then, also where its format is unique."""
    formats = {"X": "uqq", "B": "ddd"}
    program = custard.compile("X(i,j,k) += B(i,j,k)", formats, target="c")
    tensors = {"X": np.array([[[2, 1, 1, 0]]]), "B": np.array([[[-1, -2, -2, -2]]])}
    found = program.run(tensors)
    found.validate()
    np.testing.assert_array_equal(found.to_numpy(), [[[1, -1, -1, -2]]])


def test_terms_that_are_added_one_after_the_other_to_a_sparse_workspace():
    formats = {"X": "ds", "B": "dd", "C": "q", "D": "dds"}
    program = custard.compile("X(j,i) = B(i,j) + (C(j) + D(i,k,j))", formats, target="c")
    random = np.random.default_rng(3)
    shapes = {"B": (3, 1), "C": (1,), "D": (3, 4, 1)}
    given = {name: random.integers(1, 9, shape) for name, shape in shapes.items()}
    found = program.run(given).to_numpy()
    np.testing.assert_array_equal(found, evaluate(program.expression, given))
