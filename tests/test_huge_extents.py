"""Extents far beyond the memory: formats that store only entries work on all engines, others are
refused.

The tensors have so few entries that dictionaries of them are the dense reference.
"""

from collections import Counter

import numpy as np
import pytest

import custard
from sam.support import free_memory
from sam.support.errors import UserError
from sam.tensor import Tensor
from tests.support.compiler import needs_compiler

N = 10**13
ENGINES = ["simpy", "compiled", "c"]
MATRIX = {(0, N - 1): 1.0, (5, 7): 2.0, (N - 1, 5): 4.0}
VECTOR = {(5,): 1.0, (7,): 10.0, (N - 1,): 100.0}

pytestmark = needs_compiler


def stored(entries, extent=N):
    coordinates = np.array(list(entries)).T
    return Tensor.from_coo(coordinates, list(entries.values()), (extent,) * len(coordinates))


def run(engine, expression, formats=None):
    inputs = {name: stored(one) for name, one in (("B", MATRIX), ("x", VECTOR))}
    used = {name: one for name, one in inputs.items() if f"{name}(" in expression.partition("=")[2]}
    target = "c" if engine == "c" else "sam"
    program = custard.compile(expression, formats, target=target)
    return program.run(used) if engine == "c" else program.run(used, engine=engine)


def entries(tensor):
    coordinates, values = tensor.to_coo()
    return dict(zip(zip(*coordinates.tolist(), strict=True), values.tolist(), strict=True))


SYMMETRIC = Counter(MATRIX)
SYMMETRIC.update({(j, i): value for (i, j), value in MATRIX.items()})


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("expression", "formats", "due"),
    [
        ("y(j) = B(i,j)", None, {(5,): 4.0, (7,): 2.0, (N - 1,): 1.0}),
        ("y(i) = B(i,j) * x(j)", None, {(0,): 100.0, (5,): 20.0, (N - 1,): 4.0}),
        ("y(i) = B(i,j) * x(j)", {"y": "h"}, {(0,): 100.0, (5,): 20.0, (N - 1,): 4.0}),
        ("X(i,j) = B(i,k) * B(k,j)", None, {(0, 5): 4.0, (N - 1, 7): 8.0}),
        ("X(i,j) = B(i,k) * B(k,j)", {"X": "sh"}, {(0, 5): 4.0, (N - 1, 7): 8.0}),
        ("X(i,j) = B(i,k) * B(k,j)", {"X": "hh"}, {(0, 5): 4.0, (N - 1, 7): 8.0}),
        ("X(i,j) = B(i,j) + B(j,i)", None, dict(SYMMETRIC)),
        (
            "X(i,j) = x(i) * x(j)",
            {"X": "uq"},
            {(i, j): v * w for (i,), v in VECTOR.items() for (j,), w in VECTOR.items()},
        ),
    ],
)
def test_formats_that_store_only_entries_work(engine, expression, formats, due):
    found = run(engine, expression, formats)
    assert entries(found) == due
    assert found.nnz == len(due)  # no empty bucket of a hash table counts
    found.validate()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("expression", "formats", "named"),
    [
        ("y(i) = B(i,j) * x(j)", {"y": "d"}, "y(i)"),
        ("X(i,j) = B(i,k) * B(k,j)", {"X": "CSR"}, "X(i,j)"),
        ("X(i,j) = B(i,k) * B(k,j)", {"B": "CSR"}, "B"),
    ],
)
def test_dense_formats_are_refused_before_memory_is_taken(engine, expression, formats, named):
    given = formats if engine != "c" or "B" in formats else {**formats, "B": "ss"}
    with pytest.raises(UserError) as caught:
        run(engine, expression, given)
    assert str(caught.value).startswith((f"there is no memory for {named}", f"{named}: a tensor"))


def test_target_c_tells_that_a_matrix_is_not_csr():
    program = custard.compile("X(i,j) = B(i,k) * B(k,j)", target="c")
    bound = program.bind({"B": stored(MATRIX)})
    why = "as it has too many rows for an array of all of them"
    assert bound.notes == (
        f"B is stored as ss:0,1, {why}",
        f"X is stored as ss:0,1, {why}",
        "for these inputs, X(i,j) goes through a bucket workspace over j: dense scattering",
    )
    assert bound.run().format == "ss:0,1"
    small = stored({(1, 2): 3.0, (2, 0): 2.0}, 3)
    assert program.run({"B": small}).format == "ds:0,1"


def test_a_format_that_is_given_is_kept():
    found = run("c", "X(i,j) = B(i,k) * B(k,j)", {"X": "ss:1,0", "B": "ss"})
    assert found.format == "ss:1,0"
    assert entries(found) == {(0, 5): 4.0, (N - 1, 7): 8.0}


def test_conversions_that_the_memory_does_not_hold(monkeypatch):
    monkeypatch.setattr(free_memory, "available", lambda: 2**33)
    tensor = stored({(0, 1): 1.0, (2**30, 3): 2.0}, 2**30 + 1)
    with pytest.raises(UserError, match='too large for "ds"'):
        tensor.convert("ds")
    with pytest.raises(UserError, match='too large for "d"'):
        stored({(2**30,): 1.0}, 2**30 + 1).convert("d")
    with pytest.raises(UserError, match="no memory for a csr array"):
        tensor.to_scipy()
    assert tensor.to_scipy("coo").nnz == 2


@pytest.mark.parametrize("engine", ENGINES)
def test_many_entries_are_summed_and_sorted(engine):
    random = np.random.default_rng(5)
    columns = random.integers(0, N, 200)
    rows, picked = random.integers(0, N, 2000), random.integers(0, 200, 2000)
    due = Counter()
    for column in picked:
        due[(int(columns[column]),)] += 1.0
    B = Tensor.from_coo([rows, columns[picked]], np.ones(2000), (N, N))
    program = custard.compile("y(j) = B(i,j)", target="c" if engine == "c" else "sam")
    found = program.run({"B": B}) if engine == "c" else program.run({"B": B}, engine=engine)
    assert entries(found) == due
    found.validate()


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_a_reducer_without_room_says_so(engine):
    program = custard.compile("y(j) = B(i,j)")
    inputs = {"B": stored(MATRIX)}
    three = {"blocks.capacity": 3}
    assert program.run(inputs, overrides=three, engine=engine).nnz == 3
    with pytest.raises(UserError, match="has room for 2 entries"):
        program.run(inputs, overrides={"blocks.capacity": 2}, engine=engine)
