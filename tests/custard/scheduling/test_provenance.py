import pytest

from custard.ir import cin
from custard.ir.concretization import concretize
from custard.language import notation
from custard.language.formats import parse_format
from custard.scheduling.provenance import derive, vanishes
from sam.derivations import Fuse, Rename, Split


def program_of(text):
    return concretize(notation.parse(text))


def derived(text, derivations, loops, **formats):
    program = program_of(text)
    orders = {
        node.tensor: len(node.variables)
        for node in (program.target, *cin.walk(program.value))
        if isinstance(node, cin.Access)
    }
    given = {
        name: parse_format(formats.get(name, "s" * order), order, name)
        for name, order in orders.items()
    }
    return derive(program, derivations, loops.split(), given)


def test_a_split_gives_each_tensor_that_has_the_variable_two_levels():
    found = derived(
        "y(i) = A(i,j) * x(j)", [Split("j", "j0", "j1", 4)], "j0 i j1", A="ds:0,1", y="d", x="d"
    )
    assert str(found.program) == (
        "forall(j0) forall(i) forall(j1) y(i) = sum(j0, j1, A(i,j0,j1) * x(j0,j1))"
    )
    assert str(found.formats["A"]) == "sds:1,0,2"
    assert str(found.formats["x"]) == "dd:0,1"
    assert str(found.formats["y"]) == "d:0"
    assert found.notes == (
        "A(i,j) is stored as sds by j0, i, j1 before the run",
        "x(j) is stored as dd by j0, j1 before the run",
    )


def test_one_tensor_may_be_stored_in_several_ways():
    found = derived("X(i,j) = B(i,k) * B(k,j)", [Split("i", "i0", "i1", 4)], "i0 i1 k j")
    assert str(found.program.value) == "sum(k, B'(i0,i1,k) * B(k,j))"
    assert found.tensor("B'") == found.tensor("B") == "B"


def test_primes_stay():
    found = derived("y(i) = a(i) + sum(i, b(i))", [Split("i", "p", "q", 2)], "p q")
    assert str(found.program.value) == "a(p,q) + sum(p', q', b(p',q'))"


def test_levels_that_are_fused_are_full_where_both_are():
    loops = [Fuse("i", "j", "f")]
    found = derived("X(i,j) = B(i,j,k) * c(k)", loops, "f k", X="dd", B="dss:0,1,2")
    assert str(found.program) == "forall(f) forall(k) X(f) = sum(k, B(f,k) * c(k))"
    assert str(found.formats["X"]) == "d:0"
    assert str(found.formats["B"]) == "ss:0,1"


def test_a_renamed_loop_changes_no_format():
    found = derived("y(i) = A(i,j)", [Rename("j", "p")], "i p", A="ds:1,0")
    assert str(found.formats["A"]) == "ds:1,0"
    assert found.notes == ()


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("y = b(i) + 2 * c(i)", False),
        ("y = sum(i, b(i) + 2)", True),
        ("y = sum(i, a)", True),
        ("y = sum(i, b(i) * (c(i) + 2))", False),
        ("y = sum(i, b(i) / c(i))", True),
        ("y = sum(i, b(i) / 2)", False),
        ("y(i) = b(i) + 2", False),
    ],
)
def test_sums_of_terms_that_are_not_zero_beyond_an_extent_are_masked(text, masked):
    found = derived(text, [Split("i", "i0", "i1", 4)], "i0 i1")
    masks = [node for node in cin.walk(found.program.value) if isinstance(node, cin.Mask)]
    assert bool(masks) == masked
    note = "sums over i mask the padding of the last tile"
    assert (note in found.notes) == masked
    assert all(str(found.formats[mask.tensor]) == "ds:0,1" for mask in masks)


def test_expressions_that_vanish_with_their_tensors():
    value = program_of("y(i) = b(i) * (c(i) + d)").value
    assert vanishes(value, "i")
    assert not vanishes(value, "j")
