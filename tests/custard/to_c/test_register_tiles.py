"""Sums of products of dense arrays, of which a tile of the result stays in registers."""

import itertools
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from custard.to_c.builder import namer
from custard.to_c.loop_ir import INT, Assign, Const, Declare, For, If, Type, Var, array
from custard.to_c.register_tiles import _FEWEST_ROUNDS, _FEWEST_ROWS, RegisterTiles
from custard.to_c.runtime import helpers
from tests.support.compiler import needs_compiler
from tests.support.quick_c import QUICK, compiled

DOUBLE = Type("double")
A, B, C = (Var(name, array(DOUBLE)) for name in "ABC")
i, j, k, n = (Var(name) for name in "ijkn")
ZERO = Const(0)
PRODUCT = "C(i,j) = A(i,k) * B(k,j)"
SIZES = 0, 1, 3, 4, 5, 7, 8, 9, 15, 17, 33
# The tiles of wide vectors are right on any machine.
WIDE, NARROW, PLAIN = "-D__AVX512F__", "-D__AVX__", "-U__AVX__"


@pytest.fixture(autouse=True)
def used_memory(monkeypatch):
    """Results get memory that has been used before."""
    used = SimpleNamespace(**{**vars(np), "empty": lambda size, dtype: np.full(size, 7, dtype)})
    monkeypatch.setattr("custard.to_c.call.np", used)


def tiled_program(text, formats, schedule=(), vectors=WIDE):
    """The program in C, which has tiles."""
    program = compiled(text, formats, schedule)
    assert "TILE_ROWS" in program.source
    return replace(program, flags=(*QUICK, vectors))


def loops(
    order=(i, k, j), target=C[i * n + j], value=A[i * n + k] * B[k * n + j], end=n, **options
):
    """Three loops around a statement that adds to an element."""
    body = [Assign(target, value, "+")]
    for var in reversed(order):
        body = [For(var, ZERO, n if var != k else end, body, **options)]
    return body


def tiled(body):
    """The statements, tiled; and whether they are."""
    tiles = RegisterTiles(namer(body, ()))
    return tiles.tiled(body), bool(tiles.heap)


def arrays(*shapes, dtype="float64", seed=0):
    """Arrays of small whole numbers, whose sums are exact."""
    random = np.random.default_rng(seed)
    return [random.integers(0, 2 if dtype == "bool" else 5, one).astype(dtype) for one in shapes]


@pytest.mark.parametrize("order", list(itertools.permutations((i, j, k))))
def test_loops_in_any_order_are_tiled(order):
    body = loops(order)
    (choice,), found = tiled(body)
    assert found
    assert isinstance(choice, If)
    assert list(choice.otherwise) == body  # for few rows


@pytest.mark.parametrize(
    "body",
    [
        loops(target=C[j * n + i * 2]),  # nothing goes along the elements of the result
        loops(target=C[j]),  # no rows
        loops(target=C[(i * n + k) * n + j]),  # no sum
        loops(value=A[i * n + k]),
        loops(value=A[i * n + j] * B[k * n + j]),  # no factor is the same for all rows
        loops(value=A[i * n + k] * C[k * n + j]),  # reads what it adds to
        loops(end=i),
        loops(end=A[n]),
        loops(end=Const(1)),  # too few rounds
        loops(step=Const(2)),
        [For(i, ZERO, n, [Declare(Var("m"), i), *loops((k, j))])],
    ],
)
def test_other_loops_stay(body):
    assert tiled(body) == (body, False)


def test_loops_around_keep_their_order():
    b, c = Var("b"), Var("c")
    outer = loops(
        (b, i, c, k, j), C[(b * n + i) * n + j], A[(b * n + i) * n + k] * B[(c * n + k) * n + j]
    )
    (choice,), found = tiled(outer)
    assert found
    *_, around = choice.cases[0][1]
    assert around.var == b
    assert around.body[0].var == c


def test_sums_one_after_the_other_are_tiled_one_by_one():
    first, second = loops()[0], loops(value=A[i] * B[j])[0]
    body = [For(i, ZERO, n, [*first.body, *second.body])]
    (choice, plain), found = tiled(body)
    assert found
    assert isinstance(choice, If)
    assert plain == second  # its product has no k


def test_a_number_stored_in_each_element_becomes_a_sum_in_place():
    total = Var("total", DOUBLE)
    inner = For(k, ZERO, n, [Assign(total, A[i * n + k] * B[j * n + k], "+")])
    stored = [Declare(total, Const(0.0, DOUBLE)), inner, Assign(C[i * n + j], total)]
    body = [For(i, ZERO, n, [For(j, ZERO, n, stored)])]
    (choice,), found = tiled(body)
    assert found
    assert isinstance(choice, If)
    zeroed, _ = choice.otherwise  # the tiles store their first sums
    assert zeroed.body[0].body == [Assign(C[i * n + j], Const(0.0, DOUBLE))]
    # Each round over b starts anew.
    assert tiled([For(Var("b"), ZERO, n, body)])[0][0].body == [choice]


def test_loops_inside_of_sparse_ones_stay():
    p = Var("p", INT)
    segments = Var("segments", array(INT))
    body = [For(p, segments[ZERO], segments[Const(1)], loops())]
    assert tiled(body) == (body, False)


@needs_compiler
@pytest.mark.parametrize("vectors", [WIDE, NARROW, PLAIN])
def test_values_of_all_sizes(vectors):
    program = tiled_program(PRODUCT, dict.fromkeys("CAB", "dd"), vectors=vectors)
    for rows, depth, columns in itertools.product(SIZES, (0, 1, 2, 16, 17), SIZES):
        A, B = arrays((rows, depth), (depth, columns))
        np.testing.assert_array_equal(program.run({"A": A, "B": B}).to_numpy(), A @ B)


@needs_compiler
@pytest.mark.parametrize(
    "dtype", ["bool", "int32", "int64", "float32", "float64", "complex64", "complex128"]
)
def test_values_of_all_types_beyond_a_block(dtype):
    program = tiled_program(PRODUCT, dict.fromkeys("CAB", "dd"))
    for rows, depth, columns in ((6, 2, 1), (9, 259, 5), (17, 513, 3), (15, 3, 255), (7, 3, 2100)):
        A, B = arrays((rows, depth), (depth, columns), dtype=dtype)
        found = program.run({"A": A, "B": B}).to_numpy()
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, A @ B)


@needs_compiler
@pytest.mark.parametrize("order", ["0,1", "1,0"])
def test_values_of_transposed_storage(order):
    formats = {"C": "dd", "A": f"dd:{order}", "B": "dd"}
    A, B = arrays((9, 11), (11, 19))
    for result in ("dd", "dd:1,0"):
        for B_format in ("dd", "dd:1,0"):
            program = tiled_program(PRODUCT, {**formats, "C": result, "B": B_format})
            for views in ((A, B), (A.T.copy().T, B.T.copy().T)):
                given = dict(zip("AB", views, strict=True))
                np.testing.assert_array_equal(program.run(given).to_numpy(), A @ B)


@needs_compiler
@pytest.mark.parametrize(
    ("text", "shapes", "expected"),
    [
        ("C(i,j) = A(i,k) * B(j,k)", {"A": (9, 11), "B": (19, 11)}, "ik,jk->ij"),
        ("C(i,j) = A(k,i) * B(k,j)", {"A": (11, 9), "B": (11, 19)}, "ki,kj->ij"),
        ("C(b,i,j) = A(b,i,k) * B(b,k,j)", {"A": (3, 9, 11), "B": (3, 11, 19)}, "bik,bkj->bij"),
        ("C(b,i,j) = A(b,i,k) * B(k,j)", {"A": (3, 9, 11), "B": (11, 19)}, "bik,kj->bij"),
        ("C(i,j,l) = A(i,k) * B(k,j,l)", {"A": (9, 7), "B": (7, 5, 19)}, "ik,kjl->ijl"),
        ("C(i,r) = A(i,k,l) * B(k,r) * D(l,r)",
         {"A": (9, 5, 6), "B": (5, 19), "D": (6, 19)}, "ikl,kr,lr->ir"),
        ("C(i,j) = A(i,k) * B(k,j) * D(j)", {"A": (9, 11), "B": (11, 19), "D": (19,)},
         "ik,kj,j->ij"),
        ("C(i,j) = A(b,i,k) * B(b,k,j)", {"A": (3, 9, 11), "B": (3, 11, 19)}, "bik,bkj->ij"),
        ("C(i,j) = 2 * D(i) * A(i,k) * B(k,j)", {"D": (9,), "A": (9, 11), "B": (11, 19)},
         "i,ik,kj->ij"),
    ],
)  # fmt: skip
def test_values_of_products(text, shapes, expected):
    given = dict(zip(shapes, arrays(*shapes.values()), strict=True))
    rank = text[: text.index(")")].count(",") + 1
    program = tiled_program(text, {"C": "d" * rank, **{n: "d" * len(s) for n, s in shapes.items()}})
    values = np.einsum(expected, *given.values()) * (2 if "2 *" in text else 1)
    np.testing.assert_array_equal(program.run(given).to_numpy(), values)


@needs_compiler
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("C(i,j) = A(i,k) * B(k,j) + D(i,k) * E(k,j)", lambda A, B, D, E: A @ B + D @ E),
        ("C(i,j) = D(i,j) - A(i,k) * B(k,j) + E(i,j)", lambda A, B, D, E: D - A @ B + E),
        ("C(i,j) = A(i,k) * B(j,k) + D(i,k) * E(j,k)", lambda A, B, D, E: A @ B.T + D @ E.T),
        ("C(i,j) = D(i,j) - A(i,k) * B(j,k) - E(i,j)", lambda A, B, D, E: D - A @ B.T - E),
        ("C(i,j) += A(i,k) * B(k,j) - D(i,k) * E(k,j)", lambda A, B, D, E: 1 + A @ B - D @ E),
    ],
)
def test_values_of_sums_of_products(text, expected):
    given = dict(zip("ABDE", arrays(*[(13, 13)] * 4), strict=True))
    program = tiled_program(text, dict.fromkeys("ABCDE", "dd"))
    around = {"C": np.ones((13, 13))} if "+=" in text else {}
    found = program.run({**given, **around}).to_numpy()
    np.testing.assert_array_equal(found, expected(**given))


@pytest.mark.parametrize(
    ("text", "formats", "is_first"),
    [
        (PRODUCT, {}, False),
        ("C(b,i,j) = A(b,i,k) * B(k,j)", {"C": "ddd", "A": "ddd"}, False),
        ("C(i,j) = A(i,k) * B(j,k)", {}, False),
        ("C(i,j) = A(b,i,k) * B(b,k,j)", {"A": "ddd", "B": "ddd"}, True),  # each b adds to all
        ("C(i+2,j) = A(i,k) * B(k,j)", {}, True),  # not all are added to
    ],
)
def test_tiles_store_their_first_sums_where_they_can(text, formats, is_first):
    source = tiled_program(text, {**dict.fromkeys("CAB", "dd"), **formats}).source
    kernel = source[source.index("int compute(") :]
    (zeroing,) = re.finditer(r"C_values\[[^=;]*\]\s+= 0\.0;", kernel)
    # Else only the plain loops are behind it.
    assert is_first == (zeroing.start() < kernel.index("TILE_LEAST_ROWS"))


@needs_compiler
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "C(i+2,j) = A(i,k) * B(k,j)",
            lambda A, B: np.pad(A @ B, ((2, 0), (0, 0))),
        ),
        (
            "C(2*i,j) = A(i,k) * B(k,j)",
            lambda A, B: (A @ B).repeat(2, 0)[:-1] * [[1 - n % 2] for n in range(21)],
        ),
        ("C(i,i,j) = A(i,k) * B(k,j)", lambda A, B: np.eye(11)[:, :, None] * (A @ B)[:, None]),
    ],
)
def test_elements_that_no_product_adds_to_are_zero(text, expected):
    A, B = arrays((11, 12), (12, 19))
    rank = text[: text.index(")")].count(",") + 1
    program = compiled(text, {"C": "d" * rank, "A": "dd", "B": "dd"})
    program = replace(program, flags=(*QUICK, WIDE))
    found = program.run({"A": A, "B": B}).to_numpy()
    np.testing.assert_array_equal(found, expected(A, B))


@needs_compiler
def test_infinity_and_nan_stay_in_their_row_and_column():
    A, B = arrays((10, 12), (12, 21))
    A[9, 11], B[3, 20] = np.inf, np.nan
    found = tiled_program(PRODUCT, dict.fromkeys("CAB", "dd")).run({"A": A, "B": B}).to_numpy()
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(found, A @ B)


@needs_compiler
def test_threads_have_blocks_of_their_own():
    schedule = "parallelize(i,CPUThread,NoRaces)"
    program = tiled_program(PRODUCT, dict.fromkeys("CAB", "dd"), schedule)
    thread = program.source[program.source.index("static int i_part(") :]
    assert "block = resized(" in thread[: thread.index("\n}\n")]
    A, B = arrays((23, 11), (11, 19))
    for threads in (1, 2, 3, 8):
        np.testing.assert_array_equal(program.run({"A": A, "B": B}, threads).to_numpy(), A @ B)


def test_loops_are_plain_from_the_start_where_tiles_pay_on_no_machine():
    (text,) = helpers(["register_tile"])
    for name, fewest in (("ROWS", _FEWEST_ROWS), ("DEPTH", _FEWEST_ROUNDS)):
        assert min(map(int, re.findall(rf"TILE_LEAST_{name} = (\d+)", text))) == fewest
