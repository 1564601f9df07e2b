"""Computed subscripts on both targets, beside plain loops over all points."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import custard
from custard.cli.inputs import read_inputs
from custard.dense_evaluator import evaluate
from custard.language import notation
from sam.inputs import extents
from sam.support.errors import UserError
from sam.tensor import Tensor
from tests.support.compiler import needs_compiler
from tests.support.computed import cases
from tests.support.profiles import examples
from tests.support.quick_c import QUICK

relaxed = settings(suppress_health_check=list(HealthCheck), deadline=None)


@needs_compiler
@settings(relaxed, max_examples=examples(1000, compiles=True))
@given(cases())
def test_random_programs_on_target_c(case):
    dims, schedule = case.dims, [f"reorder({','.join(case.order)})"] if case.order else []
    for commands in ([], schedule):
        program = custard.compile(case.expression, case.formats, commands, "c", dims)
        bound = replace(program, flags=QUICK).bind(case.tensors)
        np.testing.assert_array_equal(bound.run().to_numpy(), case.due)


@settings(relaxed, max_examples=examples(1000))
@given(cases())
def test_random_programs_on_target_sam(case):
    schedule = [f"reorder({','.join(case.order)})"] if case.order else []
    for commands in ([], schedule):
        program = custard.compile(case.expression, case.formats, commands, "sam", case.dims)
        found = program.run(case.tensors, engine="simpy", validate=True)
        np.testing.assert_array_equal(found.to_numpy(), case.due)


@needs_compiler
@settings(relaxed, max_examples=examples(300, compiles=True))
@given(cases(), st.sampled_from(("ideal", "finite")))
def test_both_engines_agree(case, config):
    program = custard.compile(case.expression, case.formats, (), "sam", case.dims)
    runs = [
        program.simulate(case.tensors, config=config, engine=engine)
        for engine in ("simpy", "compiled")
    ]
    for run in runs:
        np.testing.assert_array_equal(run.output.to_numpy(), case.due)
    assert runs[0].cycles == runs[1].cycles
    assert runs[0].blocks == runs[1].blocks


@settings(relaxed, max_examples=examples(1000))
@given(cases())
def test_the_dense_evaluator_agrees_with_plain_loops(case):
    found = evaluate(case.expression, case.tensors, case.dims, case.formats)
    np.testing.assert_array_equal(found.value, case.due)


X = np.array([0, 5, 0, 0, 7, 0, 2, 0.0])
F = np.array([1, 0, 10.0])


def run(expression, inputs, formats=None, dims=None, target="c"):
    program = custard.compile(expression, formats, target=target, dims=dims)
    return program.run(inputs).to_numpy()


TARGETS = ["sam", pytest.param("c", marks=needs_compiler)]


@pytest.mark.parametrize("target", TARGETS)
class TestMeaning:
    def test_valid_convolution_goes_as_far_as_the_filter_stays_inside(self, target):
        found = run("Y(i) = X(i+k) * F(k)", {"X": X, "F": F}, target=target)
        np.testing.assert_array_equal(found, np.correlate(X, F, "valid"))

    def test_places_outside_are_zero(self, target):
        found = run("Y(i) = X(i+k-1) * F(k)", {"X": X, "F": F}, dims={"i": 8}, target=target)
        np.testing.assert_array_equal(found, np.correlate(np.pad(X, 1), F, "valid"))

    def test_strides_and_dilation(self, target):
        found = run("Y(i) = X(2*i+3*k) * F(k)", {"X": X, "F": F}, target=target)
        wide = np.array([1, 0, 0, 0, 0, 0, 10.0])
        np.testing.assert_array_equal(found, np.correlate(X, wide, "valid")[::2])

    def test_a_negative_coefficient_turns_the_filter(self, target):
        found = run("Y(i) = X(i-k+2) * F(k)", {"X": X, "F": F}, dims={"i": 6}, target=target)
        np.testing.assert_array_equal(found, np.convolve(X, F, "valid"))

    def test_transposed_convolution_is_full(self, target):
        found = run("Y(i+k) = X(i) * F(k)", {"X": X, "F": F}, target=target)
        np.testing.assert_array_equal(found, np.convolve(X, F))

    def test_accumulation_leaves_out_what_lies_outside(self, target):
        old = np.full(4, 100.0)
        found = run("Y(i+k-1) += X(i) * F(k)", {"X": X, "F": F, "Y": old}, target=target)
        np.testing.assert_array_equal(found, old + np.convolve(X, F)[1:5])

    def test_constants(self, target):
        A = np.arange(12.0).reshape(3, 4)
        np.testing.assert_array_equal(run("y(j) = A(2,j)", {"A": A}, target=target), A[2])
        np.testing.assert_array_equal(run("y(j) = A(3,j)", {"A": A}, target=target), [0, 0, 0, 0])
        found = run("B(1,j) = x(j)", {"x": A[0]}, dims={"B0": 2}, target=target)
        np.testing.assert_array_equal(found, [[0, 0, 0, 0], A[0]])

    def test_windows_mean_what_they_mean_in_taco(self, target):
        A = np.arange(36.0).reshape(6, 6)
        found = run("B(i,j) = A(i(1,6,2),j(2,5)) * 2", {"A": A}, target=target)
        np.testing.assert_array_equal(found, 2 * A[1:6:2, 2:5])
        x = np.arange(10.0)
        found = run("c(i(2,4)) = x(i(5,7)) + x(i(1,3))", {"x": x}, dims={"c0": 5}, target=target)
        np.testing.assert_array_equal(found, [0, 0, 6, 8, 0])

    def test_shifted_diagonals(self, target):
        A = np.arange(16.0).reshape(4, 4)
        formats = {"A": "ss"}
        found = run("y(i) = A(i,i+1)", {"A": A}, formats, target=target)
        np.testing.assert_array_equal(found, [*np.diag(A, 1), 0])

    def test_many_terms_in_a_subscript(self, target):
        found = run("y = X(i+2*j+3*k)", {"X": X}, dims={"i": 2, "j": 2, "k": 2}, target=target)
        assert found == sum(X[[0, 1, 2, 3, 3, 4, 5, 6]])

    def test_two_tensors_with_computed_subscripts(self, target):
        dims = {"i": 3, "j": 2, "k": 2}
        found = run("Y(i) = X(i+j) * F(i+k-1)", {"X": X, "F": F}, dims=dims, target=target)
        due = [(X[i] + X[i + 1]) * sum(F[max(0, i - 1) : i + 1]) for i in range(3)]
        np.testing.assert_array_equal(found, due)

    def test_a_layer_of_a_network(self, target):
        rng = np.random.default_rng(1)
        image = rng.integers(-2, 3, (2, 3, 8, 7)).astype(float)
        filters = rng.integers(-2, 3, (4, 3, 3, 3)) * (rng.random((4, 3, 3, 3)) < 0.3) * 1.0
        found = run(
            "Y(n,o,p,q) = X(n,c,2*p+r-1,2*q+s-1) * F(o,c,r,s)",
            {"X": image, "F": filters},
            {"F": "ssss", "X": "ddss"},
            target=target,
        )
        padded = np.pad(image, ((0, 0), (0, 0), (1, 1), (1, 1)))
        due = np.zeros(found.shape)
        for p, q in np.ndindex(found.shape[2:]):
            window = padded[:, :, 2 * p : 2 * p + 3, 2 * q : 2 * q + 3]
            due[:, :, p, q] = np.einsum("ncrs,ocrs->no", window, filters)
        assert found.shape == (2, 4, 4, 3)
        np.testing.assert_array_equal(found, due)

    def test_empty_modes(self, target):
        none = np.zeros(0)
        dims = {"i": 0}
        assert run("Y(i) = X(i+k) * F(k)", {"X": none, "F": F}, dims=dims, target=target).size == 0
        found = run("Y(i) = X(i+k) * F(k)", {"X": X, "F": none}, dims={"k": 0, "i": 2},
                    target=target)  # fmt: skip
        np.testing.assert_array_equal(found, [0, 0])


@needs_compiler
def test_notes_tell_the_extents_that_follow():
    program = custard.compile("Y(i) = X(i+k) * F(k)", target="c")
    assert "the extent of i is the largest with which X(i+k) stays inside" in program.notes
    program = custard.compile("Y(i+k) = X(i) * F(k)", target="c")
    assert (
        "the extent of Y0, which stands for i+k in Y, is one more than its largest value"
        in program.notes
    )


@pytest.mark.parametrize(
    ("expression", "what"),
    [
        (
            "y(i) = A(i(0,4)) + B(i(0,5))",
            "this window gives i 5 values, and another one gives it 4\n"
            "  y(i) = A(i(0,4)) + B(i(0,5))\n"
            "                       ^^^^^^",
        ),
        (
            "y(i) = A(i(4,2))",
            "this window ends before it begins\n  y(i) = A(i(4,2))\n           ^^^^^^",
        ),
        (
            "y(i) = A(i(0,4,0))",
            "this window has a step of 0\n  y(i) = A(i(0,4,0))\n           ^^^^^^^^",
        ),
        (
            "y(i) = A(i(4))",
            "a window has a begin, an end and, if wanted, a step; this one has 1 number\n"
            "  y(i) = A(i(4))\n           ^^^^\n"
            "hint: write, for example, i(2,10) or i(2,10,3)",
        ),
        (
            "y(i) = A(i(4,j))",
            "j is not a bound of a window\n  y(i) = A(i(4,j))\n               ^\n"
            "hint: the bounds of a window are whole numbers, as in A(i(2,10),j)",
        ),
    ],
)
def test_malformed_windows_are_mistakes(expression, what):
    with pytest.raises(UserError) as error:
        custard.compile(expression)
    assert str(error.value) == what


SCHEDULES = [
    "split(i,i0,i1,4)",
    "split(k,k0,k1,2)",
    "tile(4,2)",
    "pos(k,p,F)",
    "parallelize(i,Lanes,2)",
    "parallelize(k,Lanes,3)",
    "precompute(X(i+k)*F(k),i,i,w)",
    "precompute(X(i+k),i,i,w)",
    "reorder(k,i)",
]


@pytest.mark.parametrize("command", SCHEDULES)
@pytest.mark.parametrize("formats", [{}, {"X": "d", "F": "d", "Y": "d"}])
def test_schedules_on_loops_of_computed_subscripts(command, formats):
    program = custard.compile("Y(i) = X(i+k) * F(k)", formats, command)
    found = program.run({"X": X, "F": F}).to_numpy()
    np.testing.assert_array_equal(found, np.correlate(X, F, "valid"))


@pytest.mark.parametrize(
    "schedule",
    ["split(c,c0,c1,2)", "tile(2)", "split(c,c0,c1,2); parallelize(c0,Lanes,2)",
     "split(c,c0,c1,4); split(c1,c2,c3,2)"],
)  # fmt: skip
@pytest.mark.parametrize("formats", [{}, {"X": "ddd", "F": "dddd", "Y": "ddd"}, {"X": "hss"}])
def test_tiles_of_plain_subscripts_beside_computed_ones(schedule, formats):
    """The channels of a layer, 3 of them in tiles of 2: the image stays as it is stored."""
    rng = np.random.default_rng(2)
    image = rng.integers(-2, 3, (3, 4, 5)).astype(float)
    filters = rng.integers(-2, 3, (2, 3, 2, 2)).astype(float)
    program = custard.compile("Y(o,p,q) = X(c,p+r,q+s) * F(o,c,r,s)", formats, schedule)
    windows = np.lib.stride_tricks.sliding_window_view(image, (2, 2), axis=(1, 2))
    found = program.run({"X": image, "F": filters}, engine="simpy", validate=True).to_numpy()
    np.testing.assert_array_equal(found, np.einsum("cpqrs,ocrs->opq", windows, filters))


def test_tiles_of_a_shifted_diagonal_and_of_pooling():
    """The extent of a split variable follows from the mode whose whole subscript it is."""
    A = np.arange(12.0).reshape(3, 4)
    program = custard.compile("y(i) = A(i,i+1)", {"A": "ss"}, "split(i,i0,i1,2)")
    np.testing.assert_array_equal(program.run({"A": A}).to_numpy(), np.diag(A, 1))
    program = custard.compile("Y(c,i) = X(c,2*i+k)", None, "split(c,c0,c1,2)", dims={"k": 2})
    found = program.run({"X": A}).to_numpy()
    np.testing.assert_array_equal(found, [[1, 5], [9, 13], [17, 21]])


@needs_compiler
@pytest.mark.parametrize(
    "command",
    [
        "split(i,i0,i1,4)",
        "split(k,k0,k1,2)",
        "divide(i,i0,i1,4)",
        "tile(4,2)",
        "fuse(i,k,f)",
        "pos(k,p,F)",
        "pos(k,p,X)",
        "unroll(k,2)",
        "reorder(k,i)",
    ],
)
@pytest.mark.parametrize("formats", [{}, {"X": "d", "F": "d", "Y": "d"}])
def test_schedules_on_target_c(command, formats):
    program = custard.compile("Y(i) = X(i+k) * F(k)", formats, command, "c")
    found = program.run({"X": X, "F": F}).to_numpy()
    np.testing.assert_array_equal(found, np.correlate(X, F, "valid"))


@pytest.mark.parametrize("target", TARGETS)
def test_bounds_of_loops_beside_computed_subscripts(target):
    """The first entry of F is at 1; that X has none at 0 tells nothing of i or k."""
    filters = np.array([0, 1, 10.0])
    program = custard.compile("Y(i) = X(i+k) * F(k)", None, "bound(k,b,1,MinExact)", target)
    found = program.run({"X": X, "F": filters}).to_numpy()
    np.testing.assert_array_equal(found, np.correlate(X, filters, "valid"))
    with pytest.raises(UserError, match="k has its first value at 0, and bound says at 1"):
        program.run({"X": X, "F": F})
    program = custard.compile("Y(i+k) = X(i) * F(k)", None, "bound(i,b,1,MinConstraint)", target)
    np.testing.assert_array_equal(program.run({"X": X, "F": F}).to_numpy(), np.convolve(X, F))


@needs_compiler
def test_positions_beside_a_form_on_the_left():
    program = custard.compile("Y(i+k) = X(i) * F(k)", {"X": "s"}, "pos(i,p,X)", "c")
    np.testing.assert_array_equal(program.run({"X": X, "F": F}).to_numpy(), np.convolve(X, F))


@needs_compiler
def test_an_outer_loop_goes_through_nonempty_subsections():
    """In any order, the cost of the loops depends on the stored coordinates, not on the extents."""
    far = Tensor.from_coo([[5, 10**9, 10**9 + 1]], [1.0, 2.0, 3.0], (2 * 10**9,), "s")
    for order in ("reorder(i,k)", "reorder(k,i)"):
        program = custard.compile("Y(i) = X(i+k) * F(k)", {"X": "s", "Y": "s"}, order, "c")
        found = program.run({"X": far, "F": F})
        (places,), values = found.to_coo()
        due = {3: 10.0, 4: 0.0, 5: 1.0}
        due |= {10**9 - 2: 20, 10**9 - 1: 30, 10**9: 2, 10**9 + 1: 3}
        kept = {int(at): value for at, value in zip(places, values, strict=True) if value}
        assert kept == {at: value for at, value in due.items() if value}


def test_the_last_tile_of_a_sum_is_masked_where_a_form_reads_beyond_it():
    program = custard.compile("y = X(i)", {}, "split(i,i0,i1,4)", dims={"i": 8})
    assert program.run({"X": X}).to_numpy() == X.sum()
    program = custard.compile("y = X(i+1)", {}, "split(i,i0,i1,4)", dims={"i": 6})
    assert program.run({"X": X}).to_numpy() == X[1:7].sum()


@pytest.mark.parametrize(
    ("expression", "command", "what"),
    [
        (
            "y = X(i+k) * F(i,k)",
            "fuse(i,k,f)",
            "i and k cannot be fused: X has the computed subscript i+k",
        ),
        (
            "y(i) = X(i+k) * F(k)",
            "divide(i,i0,i1,4)",
            "i cannot be divided: it is part of the computed subscript i+k of X",
        ),
        (
            "y(i) = A(i,i+1)",
            "divide(i,i0,i1,4)",
            "i cannot be divided: A(i,i+1) has another subscript, which is computed",
        ),
        (
            "y(i) = X(i+k) * F(k)",
            "skip(X,k)",
            "X cannot be skipped through at k: its subscript i+k is computed, and a window scanner "
            "takes no skips",
        ),
    ],
)
def test_schedules_that_computed_subscripts_refuse(expression, command, what):
    with pytest.raises(UserError) as error:
        custard.compile(expression, {}, command)
    assert error.value.what == what


def test_extents_that_disagree_or_lack():
    with pytest.raises(UserError, match="dims gives i the extent 5, and its subscript 4"):
        custard.compile("y(i) = A(i(0,4))", target="c", dims={"i": 5})
    program = custard.compile("y(i) = A(i+j)", target="c")
    with pytest.raises(UserError, match="no input fixes the extent of i"):
        program.run({"A": X})


def test_the_dense_evaluator_by_hand():
    inputs = {"X": Tensor.of(X), "F": Tensor.of(F)}
    found = evaluate("Y(i+k) = X(i) * F(k)", inputs, {"i": 8, "k": 3, "Y0": 10}).value
    np.testing.assert_array_equal(found, np.convolve(X, F))
    found = evaluate("y = X(1) + X(6) * X(9)", inputs, {}).value
    assert found == 5


@pytest.mark.parametrize("engine", ["simpy", pytest.param("compiled", marks=needs_compiler)])
def test_a_line_buffer_of_k_rows_reads_each_entry_of_the_image_once(engine):
    rng = np.random.default_rng(5)
    image = rng.random((12, 20)) * (rng.random((12, 20)) < 0.4)
    filters = rng.random((3, 3))
    program = custard.compile(
        "Y(p,q) = X(p+r,q+s) * F(r,s)",
        {"X": "ds", "F": "dd", "Y": "dd"},
        "reorder(p,r,q,s)",
    )
    rows = (image != 0).sum(axis=1)
    three_rows = max(rows[n : n + 3].sum() for n in range(10))
    entries = 13 + 2 * rows.sum()  # segments, coordinates and values

    def read(lines: int) -> int:
        overrides = {
            "memory.levels.line_buffer.capacity_bytes": 4 * lines,
            "memory.levels.DRAM.line_bytes": 4,
            "memory.value_bytes": 4,
            "memory.places": {"F": "line_buffer"},
        }
        run = program.simulate({"X": image, "F": filters}, "line_buffer", overrides, engine)
        return run.memory["DRAM"].tensors["X"].reads

    room = int(9 + 2 * three_rows + 6 + 20)  # the filter, three rows, their segments, the result
    assert read(room) == entries
    assert read(room // 3) > entries


def _taco_windows():
    path = Path(__file__).parents[3] / "shared" / "corpus" / "taco_tests.json"
    if not path.is_file():
        return []
    entries = json.loads(path.read_text())
    return [one for one in entries if "[" in one["expr"] and "{" not in one["expr"]]


def _array(entries, shape):
    found = np.zeros(shape)
    for coordinates, value in entries:
        found[tuple(coordinates)] += value
    return found


@pytest.mark.parametrize("target", TARGETS)
def test_windows_of_tacos_own_tests(target):
    entries = _taco_windows()
    if not entries:
        pytest.skip("shared/corpus is not here")
    for entry in entries:
        expression = re.sub(r"\[(\d+):(\d+):(\d+)\]", r"(\1,\2,\3)", entry["expr"])
        formats = dict(one.split(":", 1) for one in entry["formats"].split())
        assignment = notation.parse(expression, formats)
        name = assignment.target.tensor
        for case in entry.get("cases") or [None]:
            if case is None:
                rng = np.random.default_rng(0)
                orders = {one.tensor: len(one.indices) for one in notation.accesses(assignment)}
                inputs = {
                    tensor: rng.integers(0, 9, (12,) * order) * 1.0
                    for tensor, order in orders.items()
                    if tensor != name
                }
                shape = (12,) * orders[name]
            else:
                shapes = {key: json.loads(text or "[]") for key, text in case["shapes"].items()}
                inputs = {
                    key: _array(values, shapes[key]) for key, values in case["inputs"].items()
                }
                shape = tuple(shapes[name])
                if assignment.operator == "+=":
                    inputs.setdefault(name, np.zeros(shape))
            computed = [
                isinstance(one, notation.ComputedSubscript) for one in assignment.target.indices
            ]
            dims = {f"{name}{mode}": shape[mode] for mode, one in enumerate(computed) if one}
            program = custard.compile(expression, formats, target=target, dims=dims)
            found = program.run(inputs).to_numpy()
            if case is None:
                extents = _extents(program, inputs)
                tensors = {key: Tensor.of(value) for key, value in inputs.items()}
                due = evaluate(expression, tensors, extents, formats).value
            else:
                due = _array(case["result"][name], shape)
            np.testing.assert_array_equal(found, due, err_msg=expression)


def _extents(program, inputs):
    tensors = {key: Tensor.of(value) for key, value in inputs.items()}
    return extents(program.slots, tensors, program.dims, (), (), program.cin.spans)


def test_generated_inputs_have_room_for_their_subscripts():
    program = custard.compile("Y(i) = X(2*i+k) * F(k)", dims={"i": 5, "k": 3})
    found = read_inputs(["X=@image(0.5)", "F=@pruned(1:3)"], program)
    assert (found["X"].shape, found["F"].shape) == ((11,), (3,))
    assert program.run(found).shape == (5,)


def test_an_outer_loop_on_sam_goes_through_nonempty_subsections():
    """Cycles depend on the stored entries: each lies in three windows."""
    far = Tensor.from_coo([[5, 500, 90_000]], [1.0, 2.0, 3.0], (10**5,), "s")
    program = custard.compile("Y(i) = X(i+k) * F(k)", {"X": "s", "F": "d"}, "reorder(i,k)")
    run = program.simulate({"X": far, "F": F})
    assert run.cycles < 40
    assert run.output.to_numpy()[500] == 2
