"""Random programs on tensors in every level format give what the dense evaluator gives."""

import itertools
import re

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import custard
from experiments.dense import evaluate
from sam.support.errors import UserError
from sam.tensor import Tensor
from tests.support.profiles import examples
from tests.support.programs import programs

relaxed = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])

# Levels that hold any tensor; q and c do where they hang on u or c. A result cannot be a range.
RESULT_LEVELS = "dsuuhbl"
LEVELS = RESULT_LEVELS + "rn"


@st.composite
def chained(draw, form):
    """The format with a q or c for some levels behind a u or c."""
    levels, modes = form.split(":")
    codes = ""
    for code in levels:
        behind = codes[-1:] in ("u", "c")
        codes += draw(st.sampled_from((code, "q", "q", "c"))) if behind else code
    return f"{codes}:{modes}"


@settings(relaxed, max_examples=examples(300))
@given(st.data())
def test_any_program_in_any_formats(data):
    program = data.draw(programs(levels=LEVELS, result_levels=RESULT_LEVELS))
    formats = {name: data.draw(chained(form)) for name, form in program.formats.items()}
    schedule = [f"reorder({','.join(program.order)})"] if program.order else []
    compiled = custard.compile(program.expression, formats, schedule, dims=program.dims)
    given = {
        name: Tensor.of(array, *(_parts(formats[name]) if array.ndim else ()))
        for name, array in program.tensors.items()
    }
    found = compiled.run(given)
    found.validate()
    due = evaluate(program.expression, program.tensors, program.dims)
    np.testing.assert_array_equal(found.to_numpy(), due)
    assert found.format == formats.get("X", "")


@st.composite
def in_words(draw, program):
    """Commands that ask for words of bits, or for coordinates, of some tensors at some loops."""
    accesses = re.findall(r"(\w)\(([\w,]+)\)", program.expression.partition("=")[2])
    places = [(name, v) for name, variables in accesses for v in variables.split(",")]
    chosen = draw(st.lists(st.sampled_from(["", "bitvector", "coiterate"]), max_size=len(places)))
    return [f"{c}({t},{v})" for c, (t, v) in zip(chosen, places, strict=False) if c]


@st.composite
def skipping(draw, expression, formats, schedule, dims):
    """Commands that have tensors skip at loops, where they can, or be scanned whole."""
    accesses = re.findall(r"(\w)\(([\w,]+)\)", expression.partition("=")[2])
    able = [f"skip({name},{v})" for name, variables in accesses for v in variables.split(",")]
    while True:
        try:
            custard.compile(expression, formats, [*schedule, *able], dims=dims)
        except UserError as error:
            able.remove(error.source)
        else:
            skips = [draw(st.booleans()) for _ in able]
            rest = [command.replace("skip", "coiterate") for command in able]
            return [
                one if skip else other for one, other, skip in zip(able, rest, skips, strict=True)
            ]


@settings(relaxed, max_examples=examples(300))
@given(st.data(), st.sampled_from([1, 2, 3, 5, 64]))
def test_bitvectors_merged_by_words(data, width):
    program = data.draw(programs(levels="bbs", max_extent=9, explicit_sums=True))
    schedule = data.draw(in_words(program))
    order = [f"reorder({','.join(program.order)})"] if program.order else []
    compiled = custard.compile(
        program.expression, program.formats, order + schedule, dims=program.dims
    )
    found = compiled.run(program.tensors, overrides={"blocks.word_bits": width}, validate=True)
    due = evaluate(program.expression, program.tensors, program.dims)
    np.testing.assert_array_equal(found.to_numpy(), due)


@settings(relaxed, max_examples=examples(100))
@given(st.data())
def test_loops_in_the_order_of_the_storage(data):
    """Without a schedule, no operand needs to be transposed where the orders agree."""
    program = data.draw(programs(2, levels=LEVELS, result_levels=RESULT_LEVELS))
    formats = {name: data.draw(chained(form)) for name, form in program.formats.items()}
    compiled = custard.compile(program.expression, formats, dims=program.dims)
    found = compiled.run(program.tensors)
    due = evaluate(program.expression, program.tensors, program.dims)
    np.testing.assert_array_equal(found.to_numpy(), due)


def _parts(form):
    levels, modes = form.split(":")
    return levels, tuple(map(int, modes.split(",")))


B = np.array([[0, 2, 0, 3], [0] * 4, [4, 0, 5, 6]])
C = np.array([[1, 0, 7, 2], [3, 0, 0, 0], [0, 0, 8, 9]])


@pytest.mark.parametrize("form", ["uq", "hh", "bb", "dh", "sb", "us", "ub", "hd", "bd", "bu"])
@pytest.mark.parametrize("other", ["ss", "uq", "hb"])
def test_merges(form, other):
    formats = {"X": "uq", "B": form, "C": other}
    for operator, due in (("+", B + C), ("*", B * C), ("-", B - C)):
        program = custard.compile(f"X(i,j) = B(i,j) {operator} C(i,j)", formats)
        found = program.run({"B": B, "C": C})
        assert np.array_equal(found.to_numpy(), due)
        found.validate()


@pytest.mark.parametrize("levels", ["uq", "hh", "bb", "uc", "dh", "sd", "ub"])
def test_results(levels):
    program = custard.compile("X(i,j) = B(i,k) * C(j,k)", {"X": f"{levels}:1,0"})
    found = program.run({"B": B, "C": C})
    assert found.format == f"{levels}:1,0"
    assert np.array_equal(found.to_numpy(), B @ C.T)
    found.validate()


@pytest.mark.parametrize("levels", ["hh", "dh", "hd"])
@pytest.mark.parametrize("order", ["ikj", "kij", "kji", "jki"])
def test_sums_are_inserted_where_the_schedule_asks_for_it(levels, order):
    schedule = [f"reorder({','.join(order)})", "locate(X,j)", "locate(X,i)"]
    modes = "0,1" if order.index("i") < order.index("j") else "1,0"
    program = custard.compile("X(i,j) = B(i,k) * C(j,k)", {"X": f"{levels}:{modes}"}, schedule)
    assert "reducer" not in [node.kind for node in program.graph.nodes]
    found = program.run({"B": B, "C": C})
    assert found.format == f"{levels}:{modes}"
    assert np.array_equal(found.to_numpy(), B @ C.T)
    found.validate()


@settings(relaxed, max_examples=examples(200))
@given(st.data(), st.booleans())
def test_any_program_into_linked_lists(data, dropping):
    """Below levels that insert: so a result is written as its loops come, whatever they are."""
    program = data.draw(programs(levels="dsl", explicit_sums=True))
    formats = dict(program.formats)
    if "X" in formats:
        _, modes = formats["X"].split(":")
        above = "".join(data.draw(st.sampled_from("ddh")) for _ in modes.split(",")[1:])
        formats["X"] = f"{above}l:{modes}"
    schedule = [f"reorder({','.join(program.order)})"] if program.order else []
    compiled = custard.compile(
        program.expression, formats, schedule, dims=program.dims, drop_zeros=dropping
    )
    found = compiled.run(program.tensors, validate=True)
    found.validate()
    due = evaluate(program.expression, program.tensors, program.dims)
    np.testing.assert_array_equal(found.to_numpy(), due)
    assert found.format == formats.get("X", "")
    assert not re.search("then stored as", " ".join(compiled.notes))


T = np.array([B, C[::-1], np.zeros((3, 4))])


@pytest.mark.parametrize("order", [*itertools.permutations("ijk")], ids="".join)
@pytest.mark.parametrize("levels", ["dll", "dls", "hlb", "ddl", "hdl", "dhl", "lsd", "sls"])
@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_a_linked_list_is_written_in_the_order_of_the_loops(levels, order, engine):
    """All levels above the list must insert, and those below it follow the inner loops."""
    formats = {"X": levels, "B": "sss"}
    program = custard.compile("X(i,j,k) = B(i,j,k)", formats, [f"reorder({','.join(order)})"])
    run = program.simulate({"B": T}, "finite", engine=engine)
    run.output.validate()
    np.testing.assert_array_equal(run.output.to_numpy(), T)
    assert run.output.format == f"{levels}:0,1,2"
    above = levels.index("l")
    while levels[above + 1 : above + 2] == "l" and tuple("ijk"[above + 1 :]) != order[above + 1 :]:
        above += 1
    as_stored = tuple("ijk") == order
    able = set(levels[:above]) <= {"d", "h"} and tuple("ijk"[above + 1 :]) == order[above + 1 :]
    written = [node.parameters for node in program.graph.nodes if node.kind == "level_writer"]
    assert any(one.get("beside") for one in written) == (able and not as_stored)
    clash = [note for note in program.notes if note.startswith("X(i,j,k) is written as")]
    assert bool(clash) == (not able and not as_stored)


def test_sums_outside_of_a_linked_list_are_reduced_first():
    schedule = ["reorder(k,j,i)"]
    program = custard.compile("X(i,j) = B(i,k) * C(j,k)", {"X": "dl"}, schedule)
    assert "reducer" in [node.kind for node in program.graph.nodes]
    found = program.run({"B": B, "C": C})
    found.validate()
    np.testing.assert_array_equal(found.to_numpy(), B @ C.T)
    with pytest.raises(UserError) as error:
        custard.compile("X(i,j) = B(i,k) * C(j,k)", {"X": "dl"}, [*schedule, "locate(X,i)"])
    assert error.value.what.startswith("X cannot be located into: it is stored as dl:0,1")


def test_locating_the_old_value_of_a_result_does_not_change_its_writer():
    formats = {"y": "h", "B": "ss"}
    commands = ["reorder(i,j)", "locate(y,j)"]
    program = custard.compile("y(i) = B(i,j) * y(j)", formats, commands)
    assert "reducer" in [node.kind for node in program.graph.nodes]
    assert "y is located at j" in program.notes
    y = np.array([2, 0, 3])
    found = program.run({"B": B[:, :3], "y": y})
    assert np.array_equal(found.to_numpy(), B[:, :3] @ y)


def test_only_levels_inside_of_a_sum_have_to_insert():
    formats = {"X": "sh", "B": "ss", "C": "ss"}
    product = "X(i,j) = B(i,k) * C(k,j)"
    program = custard.compile(product, formats, ["reorder(i,k,j)", "locate(X,j)"])
    assert np.array_equal(program.run({"B": B, "C": C.T}).to_numpy(), B @ C.T)
    with pytest.raises(UserError) as error:
        custard.compile(product, formats, ["reorder(k,i,j)", "locate(X,j)"])
    assert error.value.what == (
        "X cannot be located into: it is stored as sh:0,1, and only dense and hashed levels can be"
    )
    with pytest.raises(UserError) as error:
        custard.compile(product, formats, ["locate(X,j)"], drop_zeros=True)
    assert error.value.what == (
        "zeros cannot be dropped while X is located into: whether a sum is zero is known only at "
        "the end"
    )


@pytest.mark.parametrize("levels", ["ss", "uq", "hb", "db", "dd"])
def test_results_are_written_in_their_own_levels(levels):
    """No note, and no conversion: the writers of the graph fill the levels that are asked for."""
    program = custard.compile("X(i,j) = B(i,j)", {"X": levels, "B": "ss"})
    writers = [node.parameters for node in program.graph.nodes if node.kind == "level_writer"]
    assert "".join(writer["format"] for writer in writers) == levels
    assert program.notes == ()
    found = program.run({"B": B})
    due = Tensor.from_numpy(B, levels)
    assert found.format == due.format
    assert [as_lists(level) for level in found.levels] == [as_lists(level) for level in due.levels]
    assert found.values.tolist() == due.values.tolist()


def as_lists(level):
    return {name: np.asarray(stored).tolist() for name, stored in vars(level).items()}


def test_coo_of_scipy_is_run_as_it_is():
    matrix = scipy.sparse.coo_array(B)
    program = custard.compile("y(i) = B(i,j) * x(j)", {"B": "COO(2)", "y": "d", "x": "d"})
    assert program.run({"B": matrix, "x": np.arange(4)}).to_numpy().tolist() == [11, 0, 28]


def test_a_singleton_result_has_one_entry_in_each_row():
    program = custard.compile("X(i,j) = B(i,j)", {"X": "dq", "B": "ss"})
    assert program.run({"B": np.eye(3)}).format == "dq:0,1"


def test_a_result_that_does_not_fit_stays_as_it_was_written():
    run = custard.compile("X(i,j) = B(i,j)", {"X": "dq", "B": "ss"}).simulate({"B": B})
    np.testing.assert_array_equal(run.output.to_numpy(), B)
    assert run.output.format == "ds:0,1"
    assert run.notes == (
        "B is converted from ndarray on each run, as the graph reads ss:0,1",
        "X is stored as ds:0,1, not dq:0,1: the level cannot be stored as singleton: "
        "position 0 above it has 2 coordinates, not 1",
    )


def test_a_result_cannot_be_a_range():
    with pytest.raises(UserError) as error:
        custard.compile("X(i,j) = B(i,j)", {"X": "dr"})
    assert str(error.value).startswith(
        "level 1 of the result X is range (r), which supports neither append nor insert\n"
        "  dr:0,1\n   ^\nhint: the levels of a result are d dense, s compressed, "
    )


def test_notes_tell_conversions_on_the_fly():
    program = custard.compile("X(i,j) = B(i,j) * C(i,j)", {"B": "uq", "C": "sh"})
    assert program.notes == (
        "duplicates of B are joined on the fly at i: its level there is compressed non-unique",
        "C is sorted on the fly at j: its level there is hashed",
    )


def test_levels_are_kept_where_a_transposed_tensor_fits_them():
    formats = {"X": "ss", "B": "uq:0,1", "C": "dr:0,1"}
    program = custard.compile("X(i,j) = B(i,j) * C(i,j)", formats, ["reorder(j,i)"])
    slots = {slot.name: slot.levels for slot in program.graph.slots}
    assert slots == {"B": "uq", "C": "ds"}
    assert np.array_equal(program.run({"B": B, "C": C}).to_numpy(), B * C)


@pytest.mark.parametrize("levels", ["hh", "dh", "sh", "uh"])
@pytest.mark.parametrize(
    ("expression", "due"),
    [
        ("X(i,j) = B(i,j) * C(i,j)", B * C),
        ("X(i,j) = B(i,j) * C(i,j) * B(i,j)", B * C * B),
        ("X(i,j) = (B(i,j) + 2 * B(i,j)) * C(i,j)", 3 * B * C),
        ("X(i) = B(i,j) * C(i,j)", (B * C).sum(axis=1)),
        ("X(i,j) = sum(k, B(i,k)) * C(i,j)", B.sum(axis=1, keepdims=True) * C),
    ],
)
def test_hash_tables_are_located_on_demand(levels, expression, due):
    program = custard.compile(expression, {"C": levels}, ["locate(C,j)"])
    assert np.array_equal(program.run({"B": B, "C": C}).to_numpy(), due)


def test_locating_leaves_out_coordinates_that_are_not_found():
    formats = {"X": "ss", "B": "ss", "C": "hh"}
    commands = ["locate(C,i)", "locate(C,j)"]
    program = custard.compile("X(i,j) = B(i,j) * C(i,j)", formats, commands)
    assert "C is located at i" in program.notes
    assert not re.search("on the fly", " ".join(program.notes))
    found = program.run({"B": B, "C": C})
    assert found.to_coo()[0].T.tolist() == [[0, 3], [2, 2], [2, 3]]
    assert found.to_coo()[1].tolist() == [6, 40, 54]


def test_a_banded_matrix_has_ranges_and_offsets():
    band = np.diag([1, 2, 3]) + np.diag([4, 5], 1)
    for form in ("dr", "sr", "hr"):
        program = custard.compile("y(i) = B(i,j) * x(j)", {"B": form, "y": "s", "x": "s"})
        assert program.run({"B": band, "x": np.arange(1, 4)}).to_numpy().tolist() == [9, 19, 9]
    program = custard.compile("y(i) = B(i,j) * x(j)", {"B": "ro", "y": "s", "x": "s"})
    shifted = np.diag([4, 5], 1)
    assert program.run({"B": shifted, "x": np.arange(1, 4)}).to_numpy().tolist() == [8, 15, 0]
