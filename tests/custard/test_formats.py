"""The format language: every form, every error word for word, real users' declarations."""

import shlex
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custard.formats import (
    LEVEL_FORMATS,
    Format,
    parse_declaration,
    parse_format,
    require_supported,
)
from sam.errors import UserError

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
LEVELS = (
    "\nhint: the level formats are d dense, s compressed, u compressed non-unique, q singleton, "
    "c singleton non-unique, h hashed, r range, o offset, b bitvector"
)
NAMES = "\nhint: one of CSR, CSC, DCSR, DCSC, COO, CSF, DENSE"
WORKING = "\nhint: the levels that work are d dense, s compressed, q singleton"


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
        ("Elk", None, f"there is no format Elk\n  Elk\n  ^^^{NAMES}"),
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


def test_levels_that_no_target_has_yet():
    require_supported(parse_format("dsq"))
    with pytest.raises(UserError) as error:
        require_supported(parse_format("COO(3)"), "B")
    assert str(error.value) == (
        "level 0 of B is compressed non-unique (u), which this version cannot compile yet\n"
        f"  ucq:0,1,2\n  ^{WORKING}"
    )


def having(attribute: str) -> str:
    return "".join(code for code, level in LEVEL_FORMATS.items() if getattr(level, attribute))


def test_the_table_of_levels_is_that_of_the_paper():
    """Chou et al., Table 1, as DESIGN.md configures it; b is SAM, section 4.3."""
    assert "".join(LEVEL_FORMATS) == "dsuqchrob"
    assert having("iterates_values") == "dr"
    assert having("iterates_positions") == "suqchob"
    assert having("locates") == "dh"
    assert having("inserts") == "dh"
    assert having("appends") == "suqcb"
    assert having("full") == "d"
    assert having("ordered") == "dsuqcrob"
    assert having("unique") == "dsqhrob"
    assert having("branchless") == "qco"
    assert having("compact") == "dsuqcb"


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
