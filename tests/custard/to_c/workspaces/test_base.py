"""The base of all workspaces: keys that encode the coordinates of all variables."""

import numpy as np
import pytest

from custard.to_c.builder import KernelBuilder
from custard.to_c.levels.place import START
from custard.to_c.loop_ir import Const, Var
from custard.to_c.workspaces.dense import DenseWorkspace
from custard.to_c.workspaces.sparse import SparseWorkspace
from tests.support.interpreted import Told, evaluated, run

EXTENTS = (4, 6, 5)
# By hand: the place in an array of 4 x 6 x 5; and 2 + 3 + 3 bits.
DENSE = {(0, 0, 0): 0, (1, 2, 3): 30 + 10 + 3, (3, 5, 4): 119}
SPARSE = {(0, 0, 0): 0, (1, 2, 3): 64 + 16 + 3, (3, 5, 4): 192 + 40 + 4}


def made(kind, extents=EXTENTS):
    """A workspace over so many variables."""
    extents = [Const(extent) for extent in extents]
    more = ("coord", False) if kind is SparseWorkspace else ()
    dtype = np.dtype("float64")
    return kind(KernelBuilder(), "w", "ijk"[: len(extents)], extents, dtype, *more)


@pytest.mark.parametrize(("variables", "levels"), [(1, "s"), (2, "uq"), (3, "ucq")])
def test_levels_behave_like_a_list_of_coordinates(variables, levels):
    assert made(DenseWorkspace, EXTENTS[:variables]).levels == levels


@pytest.mark.parametrize(("kind", "keys"), [(DenseWorkspace, DENSE), (SparseWorkspace, SPARSE)])
def test_keys_by_hand(kind, keys):
    workspace = made(kind)
    for coordinates, key in keys.items():
        assert evaluated(workspace.key_of([Const(c) for c in coordinates]), {}) == key


@pytest.mark.parametrize("kind", [DenseWorkspace, SparseWorkspace])
def test_a_key_begins_with_those_of_the_levels_above(kind):
    workspace = made(kind)
    for coordinates in DENSE:
        whole = [Const(c) for c in coordinates]
        for level in range(3):
            key = workspace.key_of(whole[: level + 1])
            assert evaluated(workspace.leading(workspace.key_of(whole), level), {}) == (
                evaluated(key, {})
            )
            # The least key of all that begin so: the other coordinates are 0.
            zeros = [*whole[: level + 1], *[Const(0)] * (2 - level)]
            assert evaluated(workspace.widened(key, level), {}) == (
                evaluated(workspace.key_of(zeros), {})
            )


ENTRIES = [(0, 0, 0), (0, 0, 3), (0, 5, 1), (2, 4, 0), (2, 4, 4), (3, 0, 2)]


@pytest.mark.parametrize("kind", [DenseWorkspace, SparseWorkspace])
def test_levels_in_a_chain_go_through_the_coordinates_in_order(kind):
    """The first level has runs of keys; below it each run is divided, and the last gives each."""
    workspace = made(kind)
    keys = [evaluated(workspace.key_of([Const(c) for c in one]), {}) for one in ENTRIES]
    found = Told()

    def loops(level, above):
        if level == 3:
            found.wanted = above.coordinates
            return [found]
        iterator = workspace.function(level).iterate(above, 0, True, True)
        coordinate = Var(f"x{level}")

        def body():
            below = above.below(iterator.position, coordinate, iterator.group_end)
            return loops(level + 1, below)

        return iterator.loop(coordinate, body)

    names = {"w_list": keys, "w_count": len(keys), "w->keys": keys, "w->sorted": len(keys)}
    run(loops(0, START), names)
    assert found.found == ENTRIES
