"""Schedules of target c: from commands to a nest of loops."""

import numpy as np
import pytest

import custard
from custard.ir.concretization import concretize
from custard.language import notation
from custard.language.commands import parse_schedule
from custard.language.formats import parse_format
from custard.scheduling.loop_scheduler import nest
from sam.derivations import Fuse, Split
from sam.support.errors import UserError

MATVEC = "y(i) = A(i,j) * x(j)"
FORMATS = {"y": "d", "A": "ds", "x": "d"}


def scheduled(*commands, text=MATVEC, strict=False):
    program = concretize(notation.parse(text, ()))
    formats = {name: parse_format(form, len(form), name) for name, form in FORMATS.items()}
    return nest(program, formats, parse_schedule(commands), strict, {}, False)


def test_without_commands_the_loops_are_the_programs():
    assert scheduled().loops == ("i", "j")
    assert scheduled().derivations == ()


def test_loops_are_derived_and_ordered():
    found = scheduled("split(i,i0,i1,4)", "split(j,j0,j1,2)", "reorder(i0,j0,i1,j1)")
    assert found.loops == ("i0", "j0", "i1", "j1")
    assert found.derivations == (Split("i", "i0", "i1", 4), Split("j", "j0", "j1", 2))


def test_facts_about_loops_are_kept():
    parallel = "parallelize(b0,CPUThread,NoRaces)"
    found = scheduled("bound(i,b,8,MaxExact)", "split(b,b0,b1,4)", "unroll(b1,4)", parallel)
    assert dict(found.unrolled) == {"b1": 4}
    assert found.parallel["b0"].unit == "CPUThread"
    assert [(one.kind, one.number) for one in found.bounds] == [("MaxExact", 8)]


def test_a_body_is_repeated_as_often_as_compilers_take():
    found = scheduled("unroll(j,3584)")
    assert dict(found.unrolled) == {"j": 64}
    assert found.notes == (
        "unroll(j,3584) repeats the body 64 times: C compilers take minutes for more",
    )


def test_positions():
    found = scheduled("fuse(i,j,f)", "pos(f,p,A)", "split(p,p0,p1,8)")
    assert dict(found.positions) == {"p": "A"}
    assert isinstance(found.derivations[0], Fuse)


def test_a_part_goes_through_a_workspace():
    found = scheduled("precompute(x(j),j,j,w)")
    assert list(found.precomputed) == ["w"]
    assert "w(j)" in str(found.value)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("split(k,k0,k1,4)", "split names k, which is not a loop"),
        ("unroll(i,0)", "unroll"),
        ("fuse(j,i,f)", "fuse"),
        ("pos(i,p,z)", "z"),
    ],
)
def test_mistakes_name_the_command_and_the_argument(command, words):
    with pytest.raises(UserError) as caught:
        scheduled(command)
    assert words in caught.value.what
    assert caught.value.source == command


MTTKRP = "A(i,j) = B(i,k,l) * D(l,j) * C(k,j)"


@pytest.mark.parametrize(
    ("formats", "schedule", "note"),
    [
        ("sss", "fuse(i,k,f);pos(f,p,B);split(p,b,n,4);reorder(b,l,n,j)",
         "p goes over coordinates, as the loop over l, a level of B below, is outside of it"),
        ("sss", "pos(i,p,B);split(p,b,n,2);reorder(b,n,l,k,j)", None),
        ("ssd", "pos(k,p,B);split(p,b,n,2);reorder(i,b,l,n,j)", None),
        ("ssh", "pos(k,p,B);split(p,b,n,2);reorder(i,b,l,n,j)", None),
    ],
)  # fmt: skip
def test_levels_below_positions_are_inside_of_their_loops(formats, schedule, note):
    random = np.random.default_rng(1)
    tensors = {"B": random.integers(0, 2, (3, 4, 5)), "C": random.integers(0, 5, (4, 2))}
    tensors["D"] = random.integers(0, 5, (5, 2))
    stored = {"A": "dd", "B": formats, "C": "dd", "D": "dd"}
    program = custard.compile(MTTKRP, stored, "reorder(i,k,l,j);" + schedule, "c")
    due = np.einsum("ikl,lj,kj->ij", *(tensors[name] for name in "BDC"))
    np.testing.assert_array_equal(program.run(tensors).to_numpy(), due)
    assert (note in program.notes) == (note is not None)
    if note is not None:
        with pytest.raises(UserError, match="is outside of it: the loops are b, l, n, j"):
            custard.compile(MTTKRP, stored, "reorder(i,k,l,j);" + schedule, "c", strict=True)
