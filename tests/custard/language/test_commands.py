"""Scheduling commands: what parses, every error word for word, reorder, real users' schedules."""

import shlex
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import custard
from custard.language.commands import (
    COMMANDS,
    parse_schedule,
    with_reordered,
    without_unknown_loops,
)
from sam.support.errors import UserError

CORPUS = Path(__file__).parents[4] / "shared" / "corpus"
ALL = f"\nhint: one of {', '.join(COMMANDS)}"


def parsed(*texts: str) -> list[tuple[str, ...]]:
    return [(command.name, *command.arguments) for command in parse_schedule(texts)]


def test_several_commands_in_one_text_and_in_several():
    assert parsed("split(i,i0,i1,4), reorder(i0, j);unroll(k,2)", "", "reorder(j,i);") == [
        ("split", "i", "i0", "i1", "4"),
        ("reorder", "i0", "j"),
        ("unroll", "k", "2"),
        ("reorder", "j", "i"),
    ]


def test_an_expression_is_one_argument():
    assert parsed("precompute(A(i,j)*x(j), j, jw)", "precompute(B(i,k),k,kw,w)") == [
        ("precompute", "A(i,j)*x(j)", "j", "jw"),
        ("precompute", "B(i,k)", "k", "kw", "w"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "reorder(i,j,k)",
        "split(i,i0,i1,32)",
        "divide(i,i0,i1,4)",
        "tile(2048,128)",
        "fuse(i,j,f)",
        "pos(i,ipos,B)",
        "coord(ipos,i)",
        "bound(i,ib,16,MaxExact)",
        "precompute(B(i),i,iw)",
        "unroll(i,4)",
        "parallelize(i,CPUThread,NoRaces)",
        "assemble(A,Insert)",
        "locate(B,i)",
        "coiterate(i,B)",
        "bitvector(B,i)",
        "skip(B,i)",
    ],
)
def test_every_command(text):
    (command,) = parse_schedule([text])
    assert command.name == text.split("(")[0]


def test_every_command_is_tested():
    assert list(COMMANDS) == [
        mark.split("(")[0] for mark in test_every_command.pytestmark[0].args[1]
    ]


def test_places():
    (_, command) = parse_schedule(["unroll(i,2), reorder( j , i )"])
    assert command.text[slice(*command.span)] == "reorder( j , i )"
    assert [command.text[slice(*span)] for span in command.spans] == ["j", "i"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "unroll(i,2),reordr(i,j)",
            "there is no scheduling command reordr\n  unroll(i,2),reordr(i,j)\n"
            "              ^^^^^^\nhint: did you mean reorder?",
        ),
        ("zzz(i)", f"there is no scheduling command zzz\n  zzz(i)\n  ^^^{ALL}"),
        ("(i)", f"a command has no name\n  (i)\n  ^{ALL}"),
        (
            "reorder",
            "the arguments of reorder are not in one pair of parentheses\n  reorder\n  ^^^^^^^\n"
            "hint: write reorder(loop, ...)",
        ),
        ("reorder(i,j", "this ( is never closed\n  reorder(i,j\n         ^"),
        ("reorder(i,j))", "this ) closes nothing\n  reorder(i,j))\n              ^"),
        (
            "split(i,i0,i1)",
            "split takes 4 arguments, not 3\n  split(i,i0,i1)\n  ^^^^^^^^^^^^^^\n"
            "hint: write split(loop, outer loop, inner loop, factor)",
        ),
        (
            "reorder()",
            "reorder takes 1 or more arguments, not 0\n  reorder()\n  ^^^^^^^^^\n"
            "hint: write reorder(loop, ...)",
        ),
        (
            "precompute(B(i,j))",
            "precompute takes 3 or 4 arguments, not 1\n  precompute(B(i,j))\n"
            "  ^^^^^^^^^^^^^^^^^^\n"
            "hint: write precompute(expression, loop, workspace loop, workspace)",
        ),
        ("reorder(i,,j)", "the loop of reorder is empty\n  reorder(i,,j)\n            ^"),
        (
            "fuse(i,2,f)",
            "the inner loop of fuse must be a name, not 2\n  fuse(i,2,f)\n         ^",
        ),
        (
            "pos(f,p,A(i,j))",
            "the tensor of pos must be a name, not A(i,j)\n  pos(f,p,A(i,j))\n          ^^^^^^\n"
            "hint: write A",
        ),
        (
            "reorder({i, j})",
            "the loop of reorder must be a name, not {i, j}\n  reorder({i, j})\n          ^^^^^^\n"
            "hint: write i,j",
        ),
        (
            "split(i,i0,i1,4).reorder(i0,j)",
            "the arguments of split end here, and more follows\n"
            "  split(i,i0,i1,4).reorder(i0,j)\n                 ^\n"
            "hint: commas or semicolons separate commands",
        ),
        (
            "split(i,i0,i1,0)",
            "the factor of split must be a whole number from 1 to 2147483647, not 0\n"
            "  split(i,i0,i1,0)\n                ^",
        ),
        (
            "assemble(A,Insert,maybe)",
            "the last argument of assemble cannot be maybe\n"
            "  assemble(A,Insert,maybe)\n                    ^^^^^\nhint: one of true, false",
        ),
        (
            "parallelize(i,CPUthread,NoRaces)",
            "the unit of parallelize cannot be CPUthread\n"
            "  parallelize(i,CPUthread,NoRaces)\n                ^^^^^^^^^\n"
            "hint: did you mean CPUThread?",
        ),
        (
            "parallelize(i,Lanes,0)",
            "the race strategy or number of lanes of parallelize cannot be 0\n"
            "  parallelize(i,Lanes,0)\n                      ^\n"
            "hint: a number of lanes is a whole number from 1 to 256",
        ),
        (
            "parallelize(i,Lanes,2.5)",
            "the race strategy or number of lanes of parallelize cannot be 2.5\n"
            "  parallelize(i,Lanes,2.5)\n                      ^^^\n"
            "hint: a number of lanes is a whole number from 1 to 256",
        ),
    ],
)
def test_errors(text, message):
    with pytest.raises(UserError) as error:
        parse_schedule([text])
    assert str(error.value) == message


def test_unknown_loops_of_a_reorder_are_passed_over():
    commands = parse_schedule(["reorder(k,inner,i)", "locate(B,x)", "reorder(inn)"])
    kept, notes = without_unknown_loops(commands, ["i", "inne", "k"])
    assert [(command.name, command.arguments) for command in kept] == [
        ("reorder", ("k", "i")),
        ("locate", ("B", "x")),
        ("reorder", ()),
    ]
    assert [kept[0].text[slice(*span)] for span in kept[0].spans] == ["k", "i"]
    assert notes == [
        "reorder passes over inner, which is not a loop: did you mean inne?",
        "reorder passes over inn, which is not a loop: did you mean inne?",
    ]


@given(st.permutations("ijklm"), st.permutations("ijklm"), st.integers(1, 5))
def test_reorder_moves_the_listed_loops_only(loops, listed, count):
    listed = listed[:count]
    found = with_reordered(loops, listed)
    assert [loop for loop in found if loop in listed] == listed
    assert [None if x in listed else x for x in found] == [
        None if x in listed else x for x in loops
    ]


@given(st.text("reordspli(),; 12") | st.text("ij(),; 1").map("reorder(i".__add__))
def test_any_text_is_a_schedule_or_a_user_error(text):
    try:
        parse_schedule([text])
    except UserError as error:
        start, end = error.span
        assert 0 <= start <= end <= len(text)


@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus is not here")
@pytest.mark.parametrize(
    ("name", "errors"),
    [
        ("accepted", {}),
        (
            "refused",
            {
                "the factor of split": 1,
                "the factor of unroll": 1,
                "the bound of bound": 4,
                "the workspace loop of precompute": 1,
                "this ) closes nothing": 1,
            },
        ),
    ],
)
def test_schedules_of_real_users(name, errors):
    found: Counter[str] = Counter()
    for line in (CORPUS / f"{name}.txt").read_text().splitlines():
        texts = [word[3:] for word in shlex.split(line) if word.startswith("-s=")]
        try:
            parse_schedule(texts)
        except UserError as error:
            found[error.what.split(" must ")[0]] += 1
    assert found == errors


MATVEC = "y(i) = A(i,j) * x(j)"


@pytest.mark.parametrize(
    ("target", "schedule", "what", "hint"),
    [
        ("c", "pos(j,p,A);split(j,j0,j1,4)", "split names j, which is p now", "name p"),
        ("c", "split(i,i0,i1,4);bound(i,ib,64,MaxExact)", "bound names i, which is i0, i1 now",
         "name i0 or i1"),
        ("sam", "split(i,i0,i1,4);parallelize(i,Lanes,2)",
         "parallelize names i, which is i0, i1 now", "name i0 or i1"),
        ("sam", "split(i,i0,i1,4);split(k,k0,k1,2)", "split names k, which is not a loop",
         "one of i0, i1, j"),
    ],
)  # fmt: skip
def test_an_error_names_the_loops_that_replaced_a_loop(target, schedule, what, hint):
    with pytest.raises(UserError) as error:
        custard.compile(MATVEC, {}, schedule, target)
    assert (error.value.what, error.value.hint) == (what, hint)


@pytest.mark.parametrize("last", ["", ",true", ",false"])
def test_assemble_takes_a_third_argument(last):
    plain = custard.compile(MATVEC, {"y": "s"}, "unroll(j,2)", "c")
    program = custard.compile(MATVEC, {"y": "s"}, f"unroll(j,2);assemble(y,Insert{last})", "c")
    assert program.lowered.kernel.body == plain.lowered.kernel.body
