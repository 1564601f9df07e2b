"""From concrete index notation to SAM graphs: their blocks, wires and notes."""

import numpy as np
import pytest

import custard
from sam.blocks import primitives
from sam.tensor import Tensor
from sam.validate import validate


def edges(expression, formats=None, schedule=()):
    graph = custard.compile(expression, formats, schedule).graph
    validate(graph)
    return {str(edge) for edge in graph.edges}


def kinds(expression, formats=None, schedule=(), **more):
    counts: dict[str, int] = {}
    for node in custard.compile(expression, formats, schedule, **more).graph.nodes:
        counts[node.kind] = counts.get(node.kind, 0) + 1
    return counts


def test_figure_6_of_the_paper_scales_a_vector():
    assert edges("x(i) = c * b(i)") == {
        "root.ref -> scan_b_i.in_ref",
        "scan_b_i.crd -> repeat_c_i.in_coordinates",
        "root.ref -> repeat_c_i.in_ref",
        "repeat_c_i.ref -> array_c.in_ref",
        "scan_b_i.ref -> array_b.in_ref",
        "array_c.val -> multiply.in_val0",
        "array_b.val -> multiply.in_val1",
        "scan_b_i.crd -> write_x_i.in_crd",
        "multiply.val -> write_x_vals.in_val",
    }


def test_figure_4_of_the_paper_multiplies_by_rows():
    wires = edges("X(i,j) = B(i,k) * C(k,j)", schedule=["reorder(i,k,j)"])
    assert len(wires) == 24
    assert wires >= {
        "scan_B_i.crd -> repeat_C_i.in_coordinates",
        "intersect_k.ref1_0 -> scan_C_j.in_ref",
        "scan_C_j.crd -> reduce_k.in_crd0",
        "multiply.val -> reduce_k.in_val",
        "scan_B_i.crd -> drop_i.in_outer",
        "reduce_k.crd0 -> drop_i.in_inner_crd",
    }


def test_operands_of_any_number_meet_in_one_block():
    assert kinds("x(i) = a(i) * b(i) * c(i) * d(i)")["intersecter"] == 1
    assert kinds("x(i) = a(i) + b(i) + c(i) + d(i)")["unioner"] == 1


def test_a_term_that_lacks_a_variable_makes_the_space_full():
    graph = custard.compile("X(i,j) = A(i,j) + b(i)").graph
    assert graph.node("scan_j").parameters == {"variable": "j"}
    assert "repeat_b_i.ref -> scan_j.in_ref" not in edges("X(i,j) = A(i,j) + b(i)")
    assert "unite_i.ref1_0 -> scan_j.in_ref" in edges("X(i,j) = A(i,j) + b(i)")


def test_dense_operands_are_located_and_dense_results_scattered_into():
    formats = {"y": "d", "A": "ss:1,0", "x": "d"}
    found = kinds("y(i) = A(i,j) * x(j)", formats, ["reorder(j,i)"])
    assert (found["locator"], "reducer" in found, "intersecter" in found) == (1, False, False)
    forced = ["reorder(j,i)", "coiterate(x,j)", "coiterate(y,i)"]
    found = kinds("y(i) = A(i,j) * x(j)", formats, forced)
    assert (found["reducer"], found["intersecter"], "locator" in found) == (1, 1, False)


def bits(expression):
    """Bitvectors for b, c and d."""
    return {name: "b" for name in "bcd" if f"{name}(i)" in expression}


def test_bitvectors_are_merged_by_words():
    """Capstan's loop header (SAM, Section 6.5) is two scanners and a block for and or for or."""
    product, total = "x(i) = b(i) * c(i)", "x(i) = b(i) - c(i) + d(i)"
    found = kinds(product, bits(product))
    assert (found["bitvector_scanner"], found["bitvector_intersecter"]) == (2, 1)
    found = kinds(total, bits(total))
    assert (found["bitvector_scanner"], found["bitvector_unioner"]) == (3, 1)
    assert "level_scanner" not in found
    program = custard.compile(product, bits(product))
    assert program.notes == ("b and c are merged at i by words of bits",)
    assert primitives(program.graph) == {
        "alu": 1,
        "array": 2,
        "bitvector_converter": 1,
        "intersecter": 1,
        "level_scanner": 2,
        "level_writer": 2,
    }


@pytest.mark.parametrize(
    ("expression", "schedule"),
    [
        ("x(i) = b(i) * e(i)", ()),
        ("x(i) = b(i) + c(i) + 1", ()),
        ("x(i) = 2 * b(i)", ()),
        ("x(i) = b(i) * c(i)", ("coiterate(b,i)",)),
        ("x(i) = b(i) + c(i) * d(i)", ("coiterate(c,i)",)),
    ],
)
def test_a_merge_of_a_bitvector_with_another_format_is_by_coordinates(expression, schedule):
    assert not any("bitvector" in kind for kind in kinds(expression, bits(expression), schedule))


def test_a_dense_operand_is_located_at_the_ones_that_are_left():
    assert edges("x(i) = b(i) * c(i) * e(i)", {"b": "b", "c": "b", "e": "d"}) >= {
        "intersect_i.bv -> unpack_i.in_bv",
        "unpack_i.crd -> locate_e_i.in_crd",
    }


def test_bitvectors_that_are_asked_for():
    """Compressed levels are packed into words to be merged, and only merged words are unpacked."""
    both = ["bitvector(b,i)", "bitvector(c,i)"]
    found = kinds("x(i) = b(i) * c(i)", {"c": "b"}, both)
    assert (found["level_scanner"], found["bitvector_scanner"]) == (1, 1)
    assert (found["bitvector_converter"], found["bitvector_intersecter"]) == (1, 1)
    assert edges("x(i) = 2 * b(i)", {"b": "b"}, both[:1]) >= {
        "scan_b_i.bv -> unpack_i.in_bv",
        "unpack_i.ref -> array_b.in_ref",
    }
    notes = custard.compile("x(i) = b(i) * c(i)", schedule=both[:1]).notes
    assert notes == ("bitvector(b,i) has no effect: no merge there is by words of bits",)


@pytest.mark.parametrize(("target", "level"), [("sam", "h"), ("sam", "d"), ("c", "b")])
def test_bitvector_commands_that_cannot_be_followed_are_mistakes(target, level):
    formats = {"x": "d", "b": level, "c": "b"}
    with pytest.raises(custard.UserError) as error:
        custard.compile("x(i) = b(i) * c(i)", formats, "bitvector(b,i)", target=target)
    name = {"h": "hashed", "d": "dense"}.get(level)
    assert str(error.value).splitlines()[:1] == [
        f"b cannot be iterated in words of bits at i: its level there is {name}"
        if target == "sam"
        else "target c does not take bitvector: it has no streams"
    ]


def test_scanners_that_skip_are_told_by_the_intersecter():
    found = edges("x(i) = b(i) * c(i) * d(i)", {}, ["skip(b,i)", "skip(d,i)"])
    assert {edge for edge in found if "skip" in edge} == {
        "intersect_i.skip0 -> scan_b_i.in_skip",
        "intersect_i.skip2 -> scan_d_i.in_skip",
    }
    program = custard.compile("x(i) = b(i) * c(i)", schedule="skip(b,i)")
    assert program.notes == ("b skips at i coordinates that the others lack",)
    assert program.graph.node("scan_b_i").parameters["skips"] is True
    assert program.graph.node("intersect_i").parameters["skips"] == [0]


def test_operands_that_skip_are_scanned_and_not_located():
    """A dense level is else located, and a bitvector merged by words."""
    for level in "db":
        found = kinds("x(i) = b(i) * c(i)", {"b": "s", "c": level}, ["skip(c,i)"])
        assert (found["level_scanner"], found["intersecter"]) == (2, 1)


def test_the_lanes_of_a_loop_skip_each_on_its_own():
    commands = ["reorder(i,j,k)", "parallelize(i,Lanes,2)", "skip(B,k)", "skip(C,k)"]
    formats = {"C": "ss:1,0"}
    program = custard.compile("X(i,j) = B(i,k) * C(k,j)", formats, commands)
    wires = [edge for edge in program.graph.edges if edge.target.port == "in_skip"]
    assert len(wires) == 4
    assert len({edge.source.node for edge in wires}) == 2


@pytest.mark.parametrize(
    ("expression", "formats", "why"),
    [
        ("x(i) = b(i) + c(i)", {}, "it is united with others there, and a union needs each"),
        ("x(i) = (b(i) + c(i)) * d(i)", {}, "it is united with others there, and a union"),
        ("x(i) = 2 * b(i)", {}, "no scanned operand is intersected with it there"),
        ("x(i) = b(i) * c(i)", {"c": "d"}, "no scanned operand is intersected with it"),
        ("x(i) = b(i) * c(i)", {"b": "h"}, "its level there is hashed"),
    ],
)
def test_skip_commands_that_cannot_be_followed_are_mistakes(expression, formats, why):
    with pytest.raises(custard.UserError) as error:
        custard.compile(expression, formats, "skip(b,i)")
    assert str(error.value).startswith(f"b cannot be skipped through at i: {why}")
    assert error.value.span == (0, 9)


def test_only_operands_skip():
    with pytest.raises(custard.UserError, match="x is the result, and only operands skip"):
        custard.compile("x(i) = b(i) * c(i)", schedule="skip(x,i)")
    with pytest.raises(custard.UserError, match="target c does not take skip: it has no streams"):
        custard.compile("x(i) = b(i) * c(i)", schedule="skip(b,i)", target="c")


def test_a_workspace_may_skip_where_it_is_read():
    """The workspace is the result of one graph and an operand of the next."""
    commands = ["reorder(i,j)", "precompute(B(i,j)*C(i,j),j,j,T)", "skip(T,j)"]
    program = custard.compile("X(i,j) = B(i,j) * C(i,j) * D(i,j)", schedule=commands)
    assert "T skips at j coordinates that the others lack" in program.notes


def test_the_upper_words_of_a_bit_tree_decide_which_lower_ones_are_read():
    b, c = np.zeros(256), np.zeros(256)
    b[[0, 70, 130]] = c[[1, 130, 200]] = 1
    program = custard.compile("x(o,i) = b(o,i) * c(o,i)", {"b": "BITTREE", "c": "BITTREE"})
    trees = {name: Tensor.of(v).blocked((64,)) for name, v in (("b", b), ("c", c))}
    run = program.simulate(trees)
    np.testing.assert_array_equal(run.output.to_numpy().reshape(-1), b * c)
    for name in "bc":
        assert run.blocks[f"scan_{name}_o"].tokens["bv"]["data"] == 1
        assert run.blocks[f"scan_{name}_i"].tokens["bv"]["data"] == 2  # of 0 and 2; not 1 or 3


def test_computed_terms_of_two_levels_are_aligned_after_a_merge():
    found = kinds("X(i,j) = B(i,j) + sum(k, C(k,i) * D(k,j))", schedule=["reorder(k,i,j)"])
    assert found["fiber_aligner"] == 1
    assert found["reducer"] == 1


def test_a_list_of_coordinates_repeats_the_outer_ones():
    """Rows are repeated over columns, and positions of slices, where they are told, over rows."""
    wires = edges("X(i,j) = B(i,j)", {"X": "uq", "B": "ss"})
    assert wires >= {
        "scan_B_i.crd -> repeat_X_i_j.in_crd",
        "scan_B_j.crd -> repeat_X_i_j.in_coordinates",
        "repeat_X_i_j.crd -> write_X_i.in_crd",
        "scan_B_j.crd -> write_X_j.in_crd",
    }
    wires = edges("X(h,i,j) = B(h,i,j)", {"X": "duq", "B": "sss"})
    assert wires >= {
        "write_X_h.ref -> repeat_X_i.in_ref",
        "scan_B_i.crd -> repeat_X_i.in_coordinates",
        "repeat_X_i.ref -> write_X_i.in_ref",
    }
    parameters = custard.compile("X(i,j) = B(i,j)", {"X": "uq"}).graph.node("write_X_i").parameters
    assert (parameters["repeats"], parameters["by_reference"]) == (1, False)


def test_a_hash_table_tells_where_its_values_belong():
    wires = edges("X(i,j) = B(i,j)", {"X": "sh", "B": "ss"})
    assert wires >= {"write_X_i.ref -> write_X_j.in_ref", "write_X_j.ref -> write_X_vals.in_ref"}


def test_a_diagonal_on_the_left_has_one_level():
    program = custard.compile("X(i,i) += b(i)", {"X": "ds", "b": "s"})
    assert program.graph.result.slot.modes == ((0, 1),)
    assert (program.graph.result.levels, program.graph.result.around) == ("ds", "X")
    assert program.notes == (
        "the diagonal of X(i,i) is taken before the run",
        "X(i,i) is written as s, then put on the diagonal of ds:0,1, whose other entries stay",
    )
    assert custard.compile("X(i,i) = X(i,i) + b(i)").graph.result.around is None


def test_an_empty_mode_needs_another_dropper():
    formats = {"A": "dd", "y": "s"}
    assert "coordinate_dropper" not in kinds("y(i) = A(i,j)", formats)
    assert kinds("y(i) = A(i,j)", formats, dims={"j": 0})["coordinate_dropper"] == 1


@pytest.mark.parametrize(
    ("expression", "formats", "schedule", "note"),
    [
        (
            "X(i,j) = B(j,i)",
            {},
            ["reorder(i,j)"],
            "B(j,i), stored as ss:0,1, is transposed to 1,0 before the run",
        ),
        (
            "X(i,j) = B(i,j)",
            {"B": "ss:1,0"},
            ["reorder(j,i)"],
            "X(i,j) is written as ss:1,0, then stored as ss:0,1",
        ),
        (
            "X(i,j) = B(i,k) * C(k,j)",
            {},
            [],
            "the loop order is i, k, j: the tensors are stored so",
        ),
    ],
)
def test_the_notes_tell_the_decisions(expression, formats, schedule, note):
    assert note in custard.compile(expression, formats, schedule).notes
