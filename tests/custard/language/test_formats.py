"""The format language: every form, every error word for word, real users' declarations."""

import shlex
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import custard
from custard.language.formats import (
    LEVEL_FORMATS,
    NAMED_FORMATS,
    Format,
    parse_declaration,
    parse_format,
    require_writable,
    unconditional_levels,
)
from sam.levels import LEVELS as CLASSES
from sam.support.errors import UserError
from sam.tensor import Tensor

CORPUS = Path(__file__).parents[4] / "shared" / "corpus"
LEVELS = (
    "\nhint: the level formats are d dense, s compressed, u compressed non-unique, q singleton, "
    "c singleton non-unique, h hashed, r range, o offset, b bitvector, l linked list, "
    "n run-length"
)
NAMES = (
    "\nhint: one of CSR, CSC, DCSR, DCSC, COO, CSF, DENSE, HASH, BITVECTOR, DIA, ELL, BCSR, CSB, "
    "MODE-GENERIC, BITTREE"
)


@pytest.mark.parametrize(
    ("text", "levels", "mode_order"),
    [
        ("ss:0,1", "ss", (0, 1)),
        ("ds:1,0", "ds", (1, 0)),
        ("ds", "ds", (0, 1)),
        ("ds:", "ds", (0, 1)),
        ("d:0", "d", (0,)),
        (" sss : 2, 0 ,1 ", "sss", (2, 0, 1)),
        ("", "", ()),
        (":", "", ()),
        ("CSR", "ds", (0, 1)),
        ("csr", "ds", (0, 1)),
        ("CSC", "ds", (1, 0)),
        ("CSC:1,0", "ds", (1, 0)),
        ("DCSR", "ss", (0, 1)),
        ("dcsc", "ss", (1, 0)),
        ("COO(1)", "s", (0,)),
        ("COO(2)", "uq", (0, 1)),
        ("coo(4)", "uccq", (0, 1, 2, 3)),
        ("CSF(3)", "sss", (0, 1, 2)),
        ("CSF(3):2,0,1", "sss", (2, 0, 1)),
        ("DENSE(2)", "dd", (0, 1)),
        ("csc:0,1,2", "csc", (0, 1, 2)),
        ("HASH(2):1,0", "hh", (1, 0)),
        ("BITVECTOR(1)", "b", (0,)),
        ("DIA", "dro", (0, 1, 2)),
        ("ELL", "ddq", (0, 1, 2)),
        ("ELL:1,0,2", "ddq", (1, 0, 2)),
        ("BCSR", "dsdd", (0, 1, 2, 3)),
        ("CSB", "dduq", (0, 1, 2, 3)),
        ("csb", "dduq", (0, 1, 2, 3)),
        ("csb:0,1,2", "csb", (0, 1, 2)),
        ("MODE-GENERIC(1)", "s", (0,)),
        ("MODE-GENERIC(2)", "sd", (0, 1)),
        ("MODE-GENERIC(3)", "uqd", (0, 1, 2)),
        ("mode-generic(6)", "ucqddd", (0, 1, 2, 3, 4, 5)),
        ("BITTREE", "bb", (0, 1)),
    ],
)
def test_formats(text, levels, mode_order):
    assert parse_format(text) == Format(levels, mode_order)


def test_a_name_takes_the_order_of_the_tensor():
    assert parse_format("CSF", 3) == Format("sss", (0, 1, 2))
    assert parse_format("dense", 1) == Format("d", (0,))


def test_a_format_prints_as_it_is_written():
    assert str(parse_format("ds:1,0")) == "ds:1,0"


@pytest.mark.parametrize(
    ("text", "name", "form"),
    [
        ("B:ss:0,1", "B", Format("ss", (0, 1))),
        ("B:CSC", "B", Format("ds", (1, 0))),
        ("alpha::", "alpha", Format("", ())),
        ("alpha:", "alpha", Format("", ())),
        (" x :d:0", "x", Format("d", (0,))),
    ],
)
def test_declarations(text, name, form):
    assert parse_declaration(text) == (name, form)
    assert parse_declaration(text, {name: len(form.levels)}) == (name, form)


@pytest.mark.parametrize(
    ("text", "order", "message"),
    [
        ("dx", None, f"'x' is not a level format\n  dx\n   ^{LEVELS}"),
        ("densr", None, "'e' is not a level format\n  densr\n   ^\nhint: did you mean DENSE?"),
        ("DS", None, "there is no format DS\n  DS\n  ^^\nhint: did you mean ds?"),
        ("CSK(2)", None, "there is no format CSK\n  CSK(2)\n  ^^^\nhint: did you mean CSR?"),
        ("Jig", None, f"there is no format Jig\n  Jig\n  ^^^{NAMES}"),
        ("(2)", None, f"there is no format (2)\n  (2)\n  ^{NAMES}"),
        (
            "COO",
            None,
            "COO needs the number of modes\n  COO\n  ^^^\nhint: write, for example, COO(2)",
        ),
        (
            "COO(0)",
            None,
            "COO takes the number of modes in parentheses\n  COO(0)\n  ^^^^^^\n"
            "hint: write, for example, COO(2)",
        ),
        ("CSR(2)", None, "CSR takes no number of modes\n  CSR(2)\n  ^^^^^^\nhint: write CSR"),
        ("CSR", 3, "B has 3 modes, but CSR stores 2\n  CSR\n  ^^^"),
        (
            "DIA",
            2,
            "B has 2 modes, but DIA stores 3\n  DIA\n  ^^^\n"
            "hint: write B(k,i,j), and give it as sam.Tensor.of(B).diagonals()",
        ),
        (
            "BITTREE",
            1,
            "B has 1 mode, but BITTREE stores 2\n  BITTREE\n  ^^^^^^^\n"
            "hint: write B(i1,i2), and give it as sam.Tensor.of(B).blocked((n,))",
        ),
        ("CSR:1,0", None, "CSR stands for ds:0,1\n  CSR:1,0\n      ^^^\nhint: write ds:1,0"),
        (
            "ss:0",
            None,
            "the format has 2 levels, but its mode order has 1 mode\n  ss:0\n     ^\n"
            "hint: write 0,1 in the order of storage",
        ),
        (
            ":0",
            None,
            "the format has 0 levels, but its mode order has 1 mode\n  :0\n   ^",
        ),
        (
            "ss:0,2",
            None,
            "'2' is not a mode of a tensor with 2 modes\n  ss:0,2\n       ^\n"
            "hint: the modes are numbered 0, 1",
        ),
        (
            "ss:0,NaN",
            None,
            "'NaN' is not a mode of a tensor with 2 modes\n  ss:0,NaN\n       ^^^\n"
            "hint: the modes are numbered 0, 1",
        ),
        (
            "ss:1,1",
            None,
            "mode 1 repeats in the mode order\n  ss:1,1\n       ^\n"
            "hint: each of the modes 0, 1 has one level",
        ),
        (
            "s:0:5",
            None,
            "a format ends after its mode order\n  s:0:5\n      ^\n"
            "hint: write levels:mode order, as in ss:0,1",
        ),
        (
            "ss:0,1",
            3,
            "B has 3 modes, but its format has 2 levels\n  ss:0,1\n  ^^\n"
            "hint: write 3 levels, as in sss:0,1,2",
        ),
        (
            "d:0",
            0,
            "B has 0 modes, but its format has 1 level\n  d:0\n  ^\n"
            "hint: a scalar has no levels: B:",
        ),
    ],
)
def test_format_errors(text, order, message):
    with pytest.raises(UserError) as error:
        parse_format(text, order, "B")
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "B",
            "a format declaration needs a tensor, a colon and a format\n  B\n  ^\n"
            "hint: write, for example, B:ss:0,1; a scalar is B:",
        ),
        (
            "B=CSR",
            "a format declaration needs a tensor, a colon and a format\n  B=CSR\n  ^^^^^\n"
            "hint: write B:CSR",
        ),
        (
            ":ss:0,1",
            "no tensor stands before the first colon\n  :ss:0,1\n  ^\n"
            "hint: write, for example, B:ss:0,1",
        ),
        (
            "Bee:ss:0,1",
            "the expression has no tensor Bee\n  Bee:ss:0,1\n  ^^^\nhint: did you mean B?",
        ),
        (
            "B:s:0",
            "B has 2 modes, but its format has 1 level\n  B:s:0\n    ^\n"
            "hint: write 2 levels, as in ss:0,1",
        ),
        ("B:sz", f"'z' is not a level format\n  B:sz\n     ^{LEVELS}"),
    ],
)
def test_declaration_errors(text, message):
    with pytest.raises(UserError) as error:
        parse_declaration(text, {"B": 2, "x": 1})
    assert str(error.value) == message


def test_results_need_append_or_insert():
    require_writable(parse_format("dsuqchbl"))
    with pytest.raises(UserError) as error:
        require_writable(parse_format("DIA"), "X")
    assert str(error.value) == (
        "level 1 of the result X is range (r), which supports neither append nor insert\n"
        "  dro:0,1,2\n   ^\nhint: the levels of a result are d dense, s compressed, u compressed "
        "non-unique, q singleton, c singleton non-unique, h hashed, b bitvector, l linked list"
    )


@pytest.mark.parametrize(
    ("levels", "kept"),
    [
        ("dshb", "dshb"),
        ("uq", "uq"),
        ("ucq", "ucq"),
        ("uqq", "uqq"),
        ("usq", "uss"),
        ("dq", "ds"),
        ("q", "s"),
        ("scq", "sss"),
        ("dro", "dss"),
        ("duqd", "duqd"),
    ],
)
def test_levels_that_any_tensor_fits(levels, kept):
    assert unconditional_levels(levels) == kept


# Chou et al., Table 1: iteration, locate, assembly; full, ordered, unique, branchless, compact.
# "(x)" stands for a property that a level of this type may have or not.
TABLE_1 = """
dense        V  x  I   x    (x)  (x)  -  x
range        V  -  -   -    (x)  (x)  -  -
compressed   P  -  A   (x)  (x)  (x)  -  x
singleton    P  -  A   (x)  (x)  (x)  x  x
offset       P  -  -   -    (x)  (x)  x  -
hashed       P  x  I   (x)  -    (x)  -  -
"""
PROPERTIES = ("full", "ordered", "unique", "branchless", "compact")

# The configurable properties, by DESIGN.md, section 4, as in Figure 4.
CONFIGURED = {
    "dense": {"ordered", "unique"},
    "range": {"ordered", "unique"},
    "compressed": {"ordered", "unique"},
    "compressed non-unique": {"ordered"},
    "singleton": {"ordered", "unique"},
    "singleton non-unique": {"ordered"},
    "offset": {"ordered", "unique"},
    "hashed": {"unique"},
}


@pytest.mark.parametrize("name", CONFIGURED)
def test_the_cells_of_table_1(name):
    rows = {row[0]: row[1:] for row in map(str.split, TABLE_1.strip().splitlines())}
    iteration, locate, assembly, *properties = rows[name.removesuffix(" non-unique")]
    level = next(level for level in LEVEL_FORMATS.values() if level.name == name)
    assert level.iterates_values == (iteration == "V")
    assert level.iterates_positions == (iteration == "P")
    assert level.locates == (locate == "x")
    assert level.inserts == (assembly == "I")
    assert level.appends == (assembly == "A")
    for has, cell in zip(PROPERTIES, properties, strict=True):
        due = cell == "x" or (cell == "(x)" and has in CONFIGURED[name])
        assert getattr(level, has) == due, has


def test_a_bitvector_is_like_a_compressed_level():
    """SAM, Section 4.3: one bit a coordinate, and positions only for ones."""
    assert having("iterates_words") == "b"
    assert having("iterates_positions") == "suqchobln"
    bitvector, compressed = LEVEL_FORMATS["b"], LEVEL_FORMATS["s"]
    like = {"code": "s", "name": "compressed", "iterates_words": False}
    assert {**vars(bitvector), **like} == vars(compressed)


def test_a_linked_list_is_like_a_compressed_level():
    """SAM, Section 6.5: but coordinates may be appended in any order."""
    assert having("appends_anywhere") == "l"
    linked, compressed = LEVEL_FORMATS["l"], LEVEL_FORMATS["s"]
    like = {"code": "s", "name": "compressed", "appends_anywhere": False}
    assert {**vars(linked), **like} == vars(compressed)


def having(attribute: str) -> str:
    return "".join(code for code, level in LEVEL_FORMATS.items() if getattr(level, attribute))


def test_run_length_levels_are_like_compressed_ones_that_are_only_read():
    runs, compressed = LEVEL_FORMATS["n"], LEVEL_FORMATS["s"]
    like = {"code": "s", "name": "compressed", "appends": True}
    assert {**vars(runs), **like} == vars(compressed)


def test_levels_that_store_coordinates_without_entries():
    assert "".join(LEVEL_FORMATS) == "dsuqchrobln"
    assert having("padded") == "dro"


class TestTable2:
    """Chou et al., Table 2, on levels of 3 parents; the mode's extent is N = 4."""

    p, i, N = 2, 3, 4

    def level(self, code, *arrays):
        return CLASSES[code](*(np.array(a) if isinstance(a, list) else a for a in arrays))

    def test_dense(self):
        """coord_iter: 0 to N; coord_access and locate: p * N + i."""
        level, first = self.level("d", self.N), self.p * self.N
        assert level.fiber(self.p) == (first, first + self.N)
        assert level.coordinate(self.p, first + self.i) == self.i
        assert level.position(self.p, first + self.i) == first + self.i
        assert level.locate(self.p, self.i) == first + self.i

    def test_range(self):
        """coord_iter: max(0, -offset) to min(N, M - offset); coord_access: p * N + i."""
        offset, M = -1, 3
        begin, end = max(0, -offset), min(self.N, M - offset)
        level = self.level("r", self.N, [0, 0, begin], [0, 0, end])
        first = self.p * self.N
        assert level.fiber(self.p) == (first + begin, first + end)
        assert level.coordinate(self.p, first + self.i) == self.i
        assert level.position(self.p, first + self.i) == first + self.i

    @pytest.mark.parametrize("code", ["s", "u"])
    def test_compressed(self, code):
        """pos_iter: pos[p] to pos[p + 1]; pos_access: idx."""
        level = self.level(code, [0, 1, 1, 3], [2, 0, 3])
        assert level.fiber(self.p) == (1, 3)
        assert [level.coordinate(self.p, step) for step in (1, 2)] == [0, 3]
        assert level.position(self.p, 2) == 2

    @pytest.mark.parametrize("code", ["q", "c"])
    def test_singleton(self, code):
        """pos_iter: p to p + 1; pos_access: idx."""
        level = self.level(code, [2, 0, 3])
        assert level.fiber(self.p) == (2, 3)
        assert level.coordinate(self.p, 2) == 3
        assert level.position(self.p, 2) == 2

    def test_offset(self):
        """pos_iter: p to p + 1; pos_access: the coordinate above + offset[the one above that]."""
        level = self.level("o", self.N, 2, [0, -1])
        assert level.fiber(3) == (3, 4)
        assert level.coordinate(3, 3) == 1 + -1
        assert level.position(3, 3) == 3

    def test_hashed(self):
        """pos_iter: p * W to (p + 1) * W; pos_access: idx, found unless -1; locate: probing."""
        level = self.level("h", 2, [-1, -1, 2, 0, -1, 3])
        assert level.fiber(self.p) == (4, 6)
        assert [level.coordinate(self.p, step) for step in (4, 5)] == [-1, 3]
        assert level.position(self.p, 5) == 5
        assert [level.locate(1, 0), level.locate(1, 2), level.locate(2, 1)] == [3, 2, -1]


MATRIX = np.array([[5, 1, 0, 0, 0, 0], [7, 3, 0, 0, 0, 0], [0] * 6, [8, 0, 0, 4, 9, 0]])
VIEWS = {
    "DIA": (Tensor.of(MATRIX).diagonals(), ("y(i)=A(k,i,j)*x(j)", "d", "d")),
    "ELL": (Tensor.of(MATRIX).ell(), ("y(i)=A(k,i,j)*x(j)", "d", "d")),
    "BCSR": (
        Tensor.of(MATRIX).blocked((2, 3)),
        ("y(i1,i2)=A(i1,j1,i2,j2)*x(j1,j2)", "dd", "dd"),
    ),
    "CSB": (Tensor.of(MATRIX).blocked((2, 2)), ("y(i1,i2)=A(i1,j1,i2,j2)*x(j1,j2)", "dd", "dd")),
}


@pytest.mark.parametrize("name", NAMED_FORMATS)
def test_every_named_format_stores_a_tensor_and_computes(name):
    """A times (1, 2, 3, 4, 5, 6), as in numpy, and the vector of a bit-tree times itself."""
    x = np.arange(1, 7)
    if name == "BITTREE":
        vector = Tensor.of(x).blocked((4,))
        program = custard.compile("y = A(i,j) * A(i,j)", {"A": name, "y": ""})
        assert program.run({"A": vector.convert("bb")}).to_numpy() == x @ x
        return
    tensor, (expression, *vectors) = VIEWS.get(
        name, (Tensor.of(MATRIX), ("y(i)=A(i,j)*x(j)", "d", "d"))
    )
    form = parse_format(name, tensor.ndim)
    stored = tensor.convert(form.levels, form.mode_order)
    stored.validate()
    assert np.array_equal(stored.to_numpy(), tensor.to_numpy())
    program = custard.compile(expression, {"A": form, "y": vectors[0], "x": vectors[1]})
    if len(vectors[1]) == 2:
        y = program.run({"A": stored, "x": Tensor.of(x).blocked(tensor.shape[3:], "dd")})
        y = y.unblocked()
    else:
        y = program.run({"A": stored, "x": x})
    assert y.to_numpy().tolist() == (MATRIX @ x).tolist()


@given(st.text("dsuqxCSRO():,01 ²"), st.none() | st.integers(0, 3))
def test_any_text_is_a_format_or_a_user_error(text, order):
    try:
        form = parse_format(text, order)
    except UserError as error:
        start, end = error.span
        assert 0 <= start <= end <= len(text)
    else:
        assert sorted(form.mode_order) == list(range(len(form.levels)))


@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus is not here")
@pytest.mark.parametrize(
    ("name", "errors"),
    [
        ("accepted", {}),
        (
            "refused",
            {
                "'f' is not a level format": 2,
                "'i' is not a level format": 2,
                "'NaN' is not a mode of a tensor with 1 mode": 2,
                "the format has 0 levels, but its mode order has 1 mode": 1,
            },
        ),
    ],
)
def test_declarations_of_real_users(name, errors):
    found: Counter[str] = Counter()
    for line in (CORPUS / f"{name}.txt").read_text().splitlines():
        for word in shlex.split(line):
            if word.startswith("-f="):
                try:
                    parse_declaration(word[3:])
                except UserError as error:
                    found[error.what] += 1
    assert found == errors
