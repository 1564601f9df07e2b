"""Loop nests: the loops, and the derivation of each."""

from dataclasses import replace

from custard.scheduling.loops import LoopNest
from sam.derivations import Fuse, Rename, Split

TILED = LoopNest(
    loops=("i0", "j", "i1"), derivations=(Split("i", "i0", "i1", 4),), unrolled={"i1": 2}
)
FUSED = LoopNest(
    loops=("p0", "p1"),
    derivations=(Fuse("i", "j", "f"), Rename("f", "p"), Split("p", "p0", "p1", 8)),
    positions={"p": "A"},
)


def test_loops_and_variables():
    assert TILED.leaves("i") == ("i0", "i1")
    assert TILED.originals("i1") == ("i",)
    assert TILED.originals("j") == ("j",)
    assert FUSED.originals("p1") == ("i", "j")
    assert FUSED.variables(["p0", "p1"]) == ["i", "j"]
    assert FUSED.tensor_of("p") == "A"
    assert FUSED.related("f") == {"i", "j", "f", "p", "p0", "p1"}


def test_a_variable_is_complete_with_its_last_loop():
    assert TILED.completed(["i", "j"]) == ["j", "i"]
    assert TILED.order(["i", "j"]) == ["i0", "j", "i1"]
    assert TILED.order(["j"]) == ["j"]


def test_a_fused_loop_holds_where_both_variables_are():
    assert FUSED.order(["i", "j"]) == ["p0", "p1"]
    assert FUSED.order(["i"]) == ["i"]


def test_some_variables_of_a_fused_loop_keep_its_order():
    derivations = (Fuse("i", "k", "f"), Fuse("j", "f", "g"))
    nest = LoopNest(loops=("g",), derivations=derivations)
    assert nest.order(["i", "j"]) == ["j", "i"]
    split = LoopNest(loops=("g0", "g1"), derivations=(*derivations, Split("g", "g0", "g1", 4)))
    assert split.order(["k", "j"]) == ["j", "k"]


def test_a_nest_without_a_fused_loop_has_loops_over_its_variables():
    found = replace(FUSED, loops=("p0", "p1", "k")).without("p1", ["j"])
    assert found.loops == ("j", "k")
    assert found.derivations == ()
    assert replace(TILED, loops=("i0", "j", "i1")).without("j", ["j"]) == TILED


def test_positions_hold_where_their_tensor_is_read():
    assert FUSED.nest(["i", "j"], lambda tensor, variables: False) == ["i", "j"]


def test_primes_tell_copies_of_a_loop_apart():
    assert TILED.order(["i'"]) == ["i0'", "i1'"]
    assert TILED.originals("i0'") == ("i'",)
    assert TILED.repeats("i1'") == 2
    assert TILED.repeats("i0") is None


def test_new_variables_have_loops_behind_those_that_they_follow():
    found = LoopNest(loops=("i",)).with_variables(["i", "k", "j"])
    assert found.loops == ("i", "k", "j")
