"""Which operand has the positions that a loop goes over."""

from custard.scheduling.loops import LoopNest
from custard.to_c.positions import elsewhere, levels_of, owner
from sam.derivations import Fuse, Rename, Split
from tests.support.kernel_trees import prepared

NEST = LoopNest(
    loops=("p",), derivations=(Fuse("i", "j", "f"), Rename("f", "p")), positions={"p": "A"}
)


def test_the_tensor_with_the_levels_one_below_the_other():
    tree = prepared("y = A(i,j) * B(i,j)", {"A": "ds", "B": "ds"}).tree
    assert owner(NEST, tree, "p").slot.tensor == "A"


def test_a_tensor_in_another_order_does_not_have_them():
    tree = prepared("y = A(i,j)", {"A": "ds:1,0"}, loops="ji").tree
    assert owner(NEST, tree, "p") is None


def test_hash_tables_do_not_number_their_positions_in_order():
    tree = prepared("y = A(i,j)", {"A": "dh"}).tree
    assert owner(NEST, tree, "p") is None


def test_levels_of_a_tree():
    has = levels_of(prepared("y = A(i,j)", {"A": "ds"}).tree)
    assert has("A", ("i", "j"))
    assert has("A", ("j",))
    assert not has("A", ("j", "i"))
    assert not has("B", ("i",))


def test_loops_that_were_fused_and_not_split_are_taken_back_too():
    derivations = (Rename("i", "p"), Split("p", "a", "b", 4), Fuse("a", "b", "f"))
    nest = LoopNest(loops=("f", "j"), derivations=derivations, positions={"p": "A"})
    assert elsewhere(nest, ["a", "b", "j"], "p") == ["i", "j"]
