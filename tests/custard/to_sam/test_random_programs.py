"""Random programs on target sam agree with the dense evaluator.

The evaluator shares no code with the compiler, and reads the text of the expression itself.
"""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

import custard
from experiments.dense import evaluate
from tests.support.profiles import examples
from tests.support.programs import Program, programs

relaxed = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def check(program: Program) -> None:
    schedule = [f"reorder({','.join(program.order)})"] if program.order else []
    compiled = custard.compile(program.expression, program.formats, schedule, dims=program.dims)
    found = compiled.run(program.tensors)
    due = evaluate(program.expression, program.tensors, program.dims)
    np.testing.assert_array_equal(found.to_numpy(), due)
    found.validate()
    assert found.format == str(program.formats.get("X", found.format))


@settings(relaxed, max_examples=examples(300))
@given(programs())
def test_up_to_three_operands_and_dimensions(program):
    check(program)


@settings(relaxed, max_examples=examples(300))
@given(programs(max_operands=4, max_order=4, explicit_sums=True))
def test_up_to_four_operands_and_dimensions_with_explicit_sums(program):
    check(program)


@settings(relaxed, max_examples=examples(200))
@given(programs(result_levels="d", levels="d", max_order=3))
def test_dense_programs_locate_and_scatter(program):
    check(program)


@settings(relaxed, max_examples=examples(200))
@given(programs(accumulate=True))
def test_accumulation_keeps_the_other_old_values(program):
    """The old value is added to; beside a diagonal on the left, it stays as it was."""
    assume("+=" not in program.expression or "X" in program.tensors)
    check(program)


@settings(relaxed, max_examples=examples(200))
@given(programs(operators="+-*/", max_order=3))
def test_quotients_are_numpys_up_to_the_sign_of_zero(program):
    """A zero that is not stored has no sign, so an infinity behind a division by it has none."""
    compiled = custard.compile(program.expression, program.formats, dims=program.dims)
    found = compiled.run(program.tensors).to_numpy()
    due = evaluate(program.expression, program.tensors, program.dims)
    finite = np.isfinite(found) & np.isfinite(due)
    np.testing.assert_allclose(found[finite], due[finite])
    assert np.array_equal(np.isfinite(found), np.isfinite(due))


@settings(relaxed, max_examples=examples(100))
@given(programs(max_order=3))
def test_zeros_that_are_dropped_leave_the_values_as_they_are(program):
    compiled = custard.compile(
        program.expression, program.formats, dims=program.dims, drop_zeros=True
    )
    found = compiled.run(program.tensors)
    due = evaluate(program.expression, program.tensors, program.dims)
    np.testing.assert_array_equal(found.to_numpy(), due)
    if found.levels and not found.levels[-1].full:
        assert (found.values != 0).all()


def test_a_sum_without_points_leaves_nothing_around_it():
    """The reducer over l keeps points (i, j): where no fiber over j has any, it has no i either."""
    B, C = np.zeros((2, 2, 2)), np.zeros((2, 2, 2))
    B[:, :, 0], C[0, :, 1], C[1, :, 0] = 1, 1, 1
    expression = "X(k,i,j) = B(l,i,j) * C(k,i,j)"
    formats = {"X": "sss", "B": "dds", "C": "dds"}
    compiled = custard.compile(expression, formats, "reorder(k,l,i,j)")
    found = compiled.run({"B": B, "C": C})
    assert np.array_equal(found.to_numpy(), evaluate(expression, {"B": B, "C": C}))
    found.validate()


def test_a_located_operand_may_be_absent():
    """Under the sum with X, the product is absent where B is; D's fibers are there all the same."""
    rng = np.random.default_rng(0)
    shapes = {"B": (2, 5), "C": (2, 2), "D": (2, 2, 5), "X": (2, 5)}
    tensors = {name: rng.integers(0, 2, shape).astype(float) for name, shape in shapes.items()}
    expression = "X(j,k) += B(j,k) * (D(j,i,k) - C(i,j))"
    formats = {"X": "dd", "B": "sd:1,0", "C": "ss", "D": "sss"}
    compiled = custard.compile(expression, formats, "reorder(i,k,j)")
    due = evaluate(expression, tensors)
    assert np.array_equal(compiled.run(tensors).to_numpy(), due)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_an_empty_array_without_a_format_is_a_dense_one(shape):
    program = custard.compile("X(i,j) = B(i,j)", {"X": "ds"})
    assert program.run({"B": np.zeros(shape)}).to_numpy().shape == shape
