"""The classes of Figure 5 of the workspace paper, and results in every order of the loops."""

from itertools import permutations

import numpy as np
import pytest

import custard
from custard.to_c.workspaces.taxonomy import Class
from tests.support.compiler import needs_compiler
from tests.support.quick_c import compiled
from tests.support.workspaces import sparse


@pytest.mark.parametrize(
    ("expression", "loops", "stored", "scatters", "order", "words"),
    [
        ("A(i,j) = B(i,j) * C(i,j)", "ij", "ij", False, 0, "dense appending"),
        ("A(i,j) = B(i,j) + C(i,j)", "ij", "ij", False, 0, "dense appending"),
        ("A(j,i) = B(i,j)", "ij", "ji", False, 2, "sparse appending"),
        ("A(i,k,j) = B(i,j,k)", "ijk", "ikj", False, 2, "sparse appending"),
        ("A(i,j) = B(i,k) * C(k,j)", "ijk", "ij", True, 0, "dense scattering"),
        ("A(i,j) = B(i,k) * C(k,j)", "ikj", "ij", True, 1, "dense scattering"),
        ("A(i,j) = B(i,k) * C(k,j)", "kij", "ij", True, 2, "sparse scattering"),
        ("A(i,j) = B(i,k) * C(k,j)", "jik", "ij", True, 2, "sparse scattering"),
        ("A(i,j) = B(k,l,i) * C(k,j) * D(l,j)", "klij", "ij", True, 2, "sparse scattering"),
        ("A(i,j,l) = B(k,i,j) * C(k,l)", "kijl", "ijl", True, 3, "sparse scattering"),
        ("A(k,j,l) = B(k,i,j) * C(i,l)", "kijl", "kjl", True, 2, "sparse scattering"),
        ("a() = b(i) * c(i)", "i", "", True, 0, "dense scattering"),
    ],
)
def test_classes(expression, loops, stored, scatters, order, words):
    found = _classified(loops, stored)
    assert found == Class(scatters, order)
    assert str(found) == words
    # The workspace that the compiler makes has so many dimensions.
    formats = {name: "s" * order for name, order in _orders(expression).items()}
    schedule = [f"reorder({','.join(loops)})"]
    notes = custard.compile(expression.replace("()", ""), formats, schedule, "c").notes
    ends = [note.split(" workspace over ")[1] for note in notes if "workspace" in note]
    kept = [v for v in stored if v in [w for w in loops if w in stored][-order:]]
    assert ends == ([f"{', '.join(kept)}: {words}"] if order else [])


def _classified(loops, stored):
    """The class of an expression.

    ``loops``   its variables in the order of the loops
    ``stored``  those of the result in the order of its storage
    """
    written = [variable for variable in loops if variable in stored]
    matching = 0
    while matching < len(stored) and written[matching] == stored[matching]:
        matching += 1
    summed = [n for n, variable in enumerate(loops) if variable not in stored]
    inside = sum(variable in stored for variable in loops[summed[0] :]) if summed else 0
    return Class(bool(summed), max(len(stored) - matching, inside))


def _orders(expression):
    """The number of modes of each tensor."""
    found = {}
    for piece in expression.replace("=", " ").replace("*", " ").replace("+", " ").split():
        name, inside = piece.rstrip(")").split("(")
        found[name] = len(inside.split(",")) if inside else 0
    return found


FORMATS = ["dd", "ds", "ss", "CSC", "DCSC", "COO", "hh"]


@needs_compiler
@pytest.mark.parametrize("result", FORMATS)
@pytest.mark.parametrize("order", [*permutations("ikj")], ids="".join)
def test_products_in_every_order(result, order):
    """With one thread, and with four of them that share the outermost loop."""
    b, c = sparse(17, 12, density=0.2), sparse(12, 19, density=0.2)
    formats = {"X": result, "B": "CSR", "C": "CSR"}
    schedule = [f"reorder({','.join(order)})", f"parallelize({order[0]},CPUThread,Atomics)"]
    program = compiled("X(i,j) = B(i,k) * C(k,j)", formats, schedule)
    for threads in (1, 4):
        found = program.run({"B": b, "C": c}, threads=threads)
        found.validate()
        np.testing.assert_array_equal(found.to_numpy(), b @ c)
