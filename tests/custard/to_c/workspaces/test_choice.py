"""The estimates behind the choice of a workspace, and the choice for inputs."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse

import custard
from custard.ir.spread import LevelSpread, Spread
from custard.language.commands import WORKSPACES
from custard.to_c.workspaces.choice import FillStatistics, Sizes, chosen, cost, load, positions
from sam.tensor import Tensor
from tests.support.compiler import needs_compiler
from tests.support.quick_c import compiled, run

PRODUCT = "X(i,j) = B(i,k) * C(k,j)"


def filling(expression, formats, schedule):
    """The one workspace of a program."""
    (found,) = custard.compile(expression, formats, schedule, "c").lowered.fillings
    return found


def test_loads_of_products():
    """40 columns of B with 5 entries each, 50 rows of C with 3 in 100 places each."""
    known = Sizes({"i": 30, "j": 100, "k": 200}, {"B": [40, 200], "C": [50, 150]})
    formats = {"X": "ss", "B": "ss:1,0", "C": "ss"}
    outer = load(filling(PRODUCT, formats, "reorder(k,i,j)"), known)
    # The coordinates k of B are assumed to be in C, too.
    assert outer == FillStatistics(1, 40 * 5 * 3, 30 * 100, run=3)
    formats["B"] = "ds"
    known = Sizes({"i": 30, "j": 100, "k": 200}, {"B": [30, 60], "C": [200, 600]})
    rows = load(filling(PRODUCT, {**formats, "C": "ds"}, "reorder(i,k,j)"), known)
    assert rows == FillStatistics(30, 2 * 3, 100, run=3)


def test_fibers_have_some_coordinates_in_common():
    """Rows of 40 and of 10 of 100 places: 10 in common if one has those of the other, 4 if they are
    independent; the estimate is between."""
    expression = "X(i,j) = B(k,i) * C(k,j) * D(i,j)"
    formats = {"X": "ss", "B": "ss", "C": "ss", "D": "ds"}
    known = Sizes({"i": 50, "j": 100, "k": 20}, {"B": [20, 60], "C": [20, 800], "D": [50, 500]})
    found = load(filling(expression, formats, "reorder(k,i,j)"), known)
    assert found.run == pytest.approx((10 * 4) ** 0.5)
    assert found.values == pytest.approx(20 * 3 * found.run)
    # Where the coordinates of fibers lie side by side, the first is more likely.
    beside = [LevelSpread(), LevelSpread(fiber=0.2)]
    known = replace(known, spreads={"B": [LevelSpread()] * 2, "C": beside, "D": beside})
    found = load(filling(expression, formats, "reorder(k,i,j)"), known)
    assert found.run == pytest.approx(10**0.9 * 4**0.1)


def test_common_loops_are_outside():
    """A workspace inside of the loops that it has in common with the result."""
    found = filling(
        "X(k,j,l) = B(k,i,j) * C(i,l)", {"X": "sss", "B": "sss", "C": "ss"}, "reorder(k,i,j,l)"
    )
    assert (found.around, found.variables, found.loops) == (("k",), ("j", "l"), ("i", "j", "l"))


def test_sums_and_no_operand():
    known = Sizes({"i": 10, "j": 100}, {"B": [10, 200], "C": [10, 300]})
    found = load(filling("X(j,i) = B(i,j) + C(i,j)", {"X": "ss", "B": "ds", "C": "ds"},
                         "reorder(i,j)"), known)  # fmt: skip
    assert found == FillStatistics(1, 10 * 50, 1000, run=50)
    found = load(filling("X(j,i) = B(i,j) / C(i,j)", {"X": "ss", "B": "ds", "C": "ds"},
                         "reorder(i,j)"), known)  # fmt: skip
    assert found.values <= 1000


def test_positions_of_levels():
    slot = SimpleNamespace(levels="dsd")
    coordinates = np.zeros(7)
    members = {"size0": 3, "coordinates1": coordinates, "size1": 9, "size2": 4, "values": range(28)}
    assert positions(slot, {**members, "segments1": np.array([0, 3, 4, 7])}) == (3, 7, 28)
    # A row that is empty does not count.
    assert positions(slot, {**members, "segments1": np.array([0, 3, 3, 7])}) == (2, 7, 28)


@pytest.mark.parametrize(("count", "due"), [(31, 31), (1000, 992), (1023, 992), (40_000, 40_000)])
def test_numbers_of_few_entries_have_five_digits(count, due):
    found = positions(
        SimpleNamespace(levels="s"), {"coordinates0": range(count), "values": range(count)}
    )
    assert found == (due,)


def test_positions_of_runs_and_bits():
    runs, bits = SimpleNamespace(levels="n"), SimpleNamespace(levels="b")
    five = {"size0": 1000, "values": range(5)}
    assert positions(runs, {**five, "starts0": np.array([0, 2, 5])}) == (5,)
    assert positions(bits, {**five, "ranks0": np.array([0, 2, 3])}) == (3,)


def test_loads_of_computed_subscripts():
    """Of 5 entries in 100 places, a window of 98 holds 4.9, for each of 3 offsets."""
    formats = {"X": "s", "F": "d", "Y": "s"}
    found = filling("Y(i) = X(i+k) * F(k)", formats, "reorder(k,i)")
    known = Sizes({"i": 98, "k": 3}, {"X": [5], "F": [3]})
    assert load(found, known).values == pytest.approx(3 * 4.9)
    assert load(found, replace(known, positions={"X": [0], "F": [3]})).values == 0


@needs_compiler
def test_a_computed_subscript_with_a_variable_of_extent_0():
    """It has no reach; one below 0 gave a negative load, and an overflow."""
    expression, order = "Y(k) = A(0,j) * B(j,j) * C(k-2*i+j-2) - D(i,i)", "reorder(j,k,i)"
    inputs = {"A": np.ones((4, 2)), "B": np.ones((2, 2)), "C": np.ones(2), "D": np.ones((0, 0))}
    formats = {"A": "rh:1,0", "B": "ur:1,0", "C": "n", "D": "uu", "Y": "u"}
    dims = {"j": 2, "k": 4, "i": 0}
    found = run(expression, formats, inputs, schedule=order, dims=dims)
    assert found.to_numpy().tolist() == [0] * 4


def test_loads_of_subsections():
    """Each of 10 columns lies in 3 windows, and each of their 2 rows too: each holds one."""
    formats = {"X": "ss", "F": "dd", "Y": "ss"}
    found = filling("Y(i,j) = X(i+k,j+l) * F(k,l)", formats, "reorder(j,l,i,k)")
    known = Sizes({"i": 998, "j": 998, "k": 3, "l": 3}, {"X": [10, 20], "F": [3, 9]})
    assert load(found, known).values == pytest.approx(10 * 3 * 2 * 3)


@needs_compiler
def test_a_convolution_of_few_entries_is_not_scattered_into_an_array():
    far = Tensor.from_coo([[5, 500, 90_000]], [1.0, 2.0, 3.0], (10**6,), "s")
    program = custard.compile(
        "Y(i) = X(i+k) * F(k)", {"X": "s", "F": "d", "Y": "s"}, "reorder(k,i)", "c"
    )
    bound = program.bind({"X": far, "F": np.array([1.0, 0, 10.0])})
    note = "for these inputs, Y(i) goes through a bucket workspace over i: dense scattering"
    assert note in bound.notes
    coordinates, values = bound.run().to_coo()
    found = dict(zip(coordinates[0].tolist(), values.tolist(), strict=True))
    due = {3: 10, 4: 0, 5: 1, 498: 20, 499: 0, 500: 2, 89_998: 30, 89_999: 0, 90_000: 3}
    assert found == due


def test_distinct_places():
    assert FillStatistics(1, 1000, 10).distinct == pytest.approx(10)
    assert FillStatistics(1, 10, 1e12).distinct == pytest.approx(10)
    assert FillStatistics(1, 0, 5).distinct == 0 == FillStatistics(1, 5, 0).distinct


@pytest.mark.parametrize(
    ("due", "found"),
    [
        ("dense", FillStatistics(1000, 2000, 1000)),  # rows that are all but full
        ("dense", FillStatistics(1, 2.4e6, 1e6)),  # a block that is used twice
        # Bits of rows that have few in each word are hard to predict, unless they come in order.
        ("coord bucket", FillStatistics(3000, 100, 3000, run=10)),
        ("coord bucket", FillStatistics(20_000, 620, 20_000, run=25)),
        ("dense", FillStatistics(20_000, 100, 20_000, run=10)),
        ("dense", FillStatistics(2000, 530, 10_000, run=500)),
        ("coord bucket", FillStatistics(200_000, 25, 200_000, run=5)),
        ("coord bucket", FillStatistics(1, 4000, 1e6)),  # few of many places
        ("coord", FillStatistics(1, 240_000, 1e8, run=500)),  # in the second level of cache
        ("bucket", FillStatistics(1, 1e7, 1e11)),
        # Few values in each word of a block that is filled again and again.
        ("coord bucket", FillStatistics(50, 500, 18_000, run=5)),
        # One block of 8 MB, in memory that the process has kept.
        ("dense", FillStatistics(1, 120_000, 1_075_200, run=24)),
    ],
)
def test_the_cheapest(due, found):
    assert min(WORKSPACES, key=lambda policy: cost(policy, found)) in due.split()


def test_a_hash_table_is_cheaper_than_sorting_what_is_added_up_often():
    often = FillStatistics(1, 1e7, 2e4)
    assert cost("hash", often) < cost("bucket", often)


@needs_compiler
def test_inputs_decide():
    """Nearly empty matrices go through components, full ones through an array; notes say so."""
    program = compiled(PRODUCT, {"X": "ss", "B": "CSC", "C": "CSR"}, "reorder(k,i,j)")
    assert program.notes == ("X(i,j) goes through a bucket workspace over i, j: sparse scattering",)
    empty = scipy.sparse.csr_array((3000, 3000))
    assert program.bind({"B": empty.tocsc(), "C": empty}).notes == ()
    full = np.arange(1, 26.0 * 25 + 1).reshape(25, 26)
    inputs = {"B": scipy.sparse.csc_array(full.T), "C": scipy.sparse.csr_array(full)}
    bound = program.bind(inputs)
    assert bound.notes == (
        "for these inputs, X(i,j) goes through a dense workspace over i, j: sparse scattering",
    )
    np.testing.assert_array_equal(bound.run().to_numpy(), full.T @ full)


def _policies(b, c, order):
    """The workspace that is chosen for a product of matrices."""
    program = custard.compile(PRODUCT, dict.fromkeys("XBC", "CSR"), f"reorder({order})", "c")
    note = [*program.notes, *program.bind({"B": b, "C": c}).notes][-1]
    return note.split(" workspace")[0].split()[-1]


@needs_compiler
def test_coordinates_side_by_side_go_through_an_array():
    """What is far apart in a row of 2.4 MB waits for memory, and is sorted; a band is not, nor are
    its rows where another matrix has them anywhere."""
    n = 300_000
    random = np.random.default_rng(0)
    even = scipy.sparse.random_array((n, n), density=10 / n, format="csr", rng=random)
    band = scipy.sparse.diags_array([1.0] * 11, offsets=range(-5, 6), shape=(n, n)).tocsr()
    assert _policies(even, even, "i,k,j") == "bucket"
    assert _policies(band, band, "i,k,j") == "dense"
    assert _policies(band, even, "i,k,j") == "bucket"


def test_the_loads_of_a_band():
    """Values come again in the row of a result, and beside those of the last one."""
    near = LevelSpread(Spread(0.2, 0.01), 0.1)
    sizes = {"i": 1000.0, "j": 1e6, "k": 1000.0}, {"B": [1000, 11_000], "C": [1000, 11_000]}
    rows = filling(PRODUCT, {"X": "ds", "B": "ds", "C": "ds"}, "reorder(i,k,j)")
    both = load(rows, Sizes(*sizes, {"B": [LevelSpread(), near], "C": [LevelSpread(), near]}))
    # One row of B has its words to itself; what is beside them is stored beside it in C.
    assert both.spread.places == pytest.approx(0.1 + 0.9 * 0.2)
    assert both.spread.words == pytest.approx(0.1 * 0.1 + 0.9 * 0.01)
    assert both.fresh == pytest.approx(0.01 * 0.1 + 0.19 * 0.01)
    anywhere = load(rows, Sizes(*sizes, {"C": [LevelSpread(), near]}))
    assert (anywhere.spread, anywhere.fresh) == (Spread(1.0, 0.1), 0.1)
    assert cost("dense", both) < cost("dense", anywhere) < cost("dense", load(rows, Sizes(*sizes)))


@needs_compiler
def test_inputs_of_one_size_are_chosen_for_once(monkeypatch):
    made = []

    def counting(*arguments):
        made.append(arguments)
        return chosen(*arguments)

    monkeypatch.setattr("custard.to_c.program.chosen", counting)
    formats = dict.fromkeys("XBC", "CSR")
    program = custard.compile("X(i,j) = B(i,k) * C(k,j)", formats, target="c")
    for seed in range(3):
        B = scipy.sparse.random_array((9, 9), density=0.3, rng=seed, format="csr")
        C = B.copy()
        C.data += seed  # the arrays change, and are not taken for the ones before
        np.testing.assert_allclose(program.run({"B": B, "C": C}).to_numpy(), (B @ C).toarray())
        program.run({"B": B, "C": C})
    assert len(made) <= 3
    assert len(program.kernels) == 1
