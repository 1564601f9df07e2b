"""A vector that is filled once: coordinates are located, or the set ones are listed."""

import numpy as np

from custard.to_c.builder import KernelBuilder
from custard.to_c.levels.place import START
from custard.to_c.loop_ir import Const, Var
from custard.to_c.workspaces.located import LocatedWorkspace
from tests.support.interpreted import Told, evaluated, run


def made(*extents, full=False):
    """A workspace over so many variables, and the names of its arrays."""
    dtype = np.dtype("float64")
    variables = "ij"[: len(extents)]
    workspace = LocatedWorkspace(
        KernelBuilder(), "w", variables, [Const(n) for n in extents], dtype, full
    )
    size = int(np.prod(extents))
    names = {"w_values": [0.0] * size, "w_set": [False] * extents[0], "w_list": [0] * extents[0]}
    return workspace, names


def insert(workspace, names, value, *coordinates):
    bound = {v: Const(c) for v, c in zip("ij", coordinates, strict=False)}
    run(workspace.insert(bound, Const(value)), names)


def located(workspace, names, coordinate):
    """The position of a coordinate; -1 where it is not set."""
    place = workspace.function(0).locate(START, Const(coordinate))
    return evaluated(place.position, names)


def test_values_are_added_and_located():
    workspace, names = made(4)
    for coordinate, value in ((2, 3.0), (0, 1.0), (2, 0.5)):
        insert(workspace, names, value, coordinate)
    assert names["w_values"] == [1.0, 0, 3.5, 0]
    assert [located(workspace, names, n) for n in range(4)] == [0, -1, 2, -1]
    assert workspace.ready() == []  # nothing goes through it, so nothing is listed


def test_set_coordinates_are_listed_in_order_where_a_loop_goes_through_them():
    workspace, names = made(5)
    coordinate, told = Var("x"), Told(Var("x"))
    loop = workspace.function(0).iterate(START, 0, True, True).loop(coordinate, lambda: [told])
    for one in (4, 1):
        insert(workspace, names, 1.0, one)
    run([*workspace.ready(), *loop], names)
    assert told.found == [(1,), (4,)]


def test_over_two_variables_rows_are_set_as_a_whole():
    workspace, names = made(3, 2)
    assert workspace.levels == "sd"
    insert(workspace, names, 7.0, 1, 1)
    assert names["w_values"] == [0, 0, 0, 7.0, 0, 0]  # row 1 of two columns: place 1 * 2 + 1
    assert names["w_set"] == [False, True, False]


def test_a_vector_with_all_values_set_is_an_array():
    workspace, names = made(3, full=True)
    assert (workspace.levels, workspace.set) == ("d", None)
    insert(workspace, names, 2.0, 1)
    assert names["w_values"] == [0, 2.0, 0]
    assert [located(workspace, names, n) for n in range(3)] == [0, 1, 2]
