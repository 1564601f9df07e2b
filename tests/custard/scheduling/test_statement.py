"""Statements: a program with its loops, and parts that are computed before."""

from custard.ir.concretization import concretize
from custard.language import notation
from custard.scheduling.statement import Statement, precomputed
from sam.derivations import Rename, Split


def program(text):
    return concretize(notation.parse(text, ()))


MATVEC = program("y(i) = A(i,j) * x(j)")


def test_a_derivation_takes_the_place_of_its_loop_and_lanes_go_outside():
    statement = Statement(MATVEC, ("i", "j"), lanes={"i": 2})
    found = statement.with_derivation(Split("i", "i0", "i1", 4))
    assert found.loops == ("i0", "i1", "j")
    assert found.lanes == {"i0": 2}
    assert found.with_derivation(Split("k", "k0", "k1", 4)) is found


def test_variables_of_loops_that_go_through_all_of_them():
    found = Statement(MATVEC, ("i", "j")).with_derivation(Rename("j", "m"))
    assert found.variables(["i", "m"]) == ("i", "j")
    split = found.with_derivation(Split("i", "i0", "i1", 4))
    assert split.variables(["i0"]) == ()


def test_a_statement_takes_the_derivations_that_apply_to_it():
    statement = Statement(MATVEC, ("i", "j")).with_derivation(Split("j", "j0", "j1", 4))
    other = Statement.of(program("w(j) = x(j) * x(j)"), statement)
    assert (other.loops, other.derivations) == (("j0", "j1"), statement.derivations)


def test_a_precomputed_part_becomes_a_program_of_its_own():
    part = program("w(j) = x(j) * x(j)").value
    before, after = precomputed(program("y(i) = A(i,j) * (x(j) * x(j))"), part, "w", ())
    assert str(before.target) == "w(j)"
    assert "w(j)" in str(after.value)
    assert precomputed(MATVEC, program("w(j) = z(j)").value, "w", ()) is None
