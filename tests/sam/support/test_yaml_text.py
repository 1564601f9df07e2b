import math

import pytest

from sam.support.errors import UserError
from sam.support.yaml_text import parse_yaml, read_yaml


@pytest.mark.parametrize(
    ("text", "due"),
    [
        # The core schema of YAML 1.2.2, section 10.3.2.
        ("010", 10),
        ("-012", -12),
        ("+7", 7),
        ("0o10", 8),
        ("0x1F", 31),
        ("1.5", 1.5),
        ("-.5", -0.5),
        ("1.", 1.0),
        ("1e3", 1000.0),
        ("1.5E-2", 0.015),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("null", None),
        ("~", None),
        ("", None),
        ("true", True),
        ("FALSE", False),
        ('"010"', "010"),
        ("'true'", "true"),
        ("!!str 010", "010"),
        ("! 010", "010"),
        ("!!float 010", 10.0),
        ("!!int 010", 10),
        ("!!null ''", None),
        ("[1, [2]]", [1, [2]]),
        ("{a: &x {b: 1}, c: *x}", {"a": {"b": 1}, "c": {"b": 1}}),
        (
            "a: &x {b: 1, c: 2}\nd:\n  b: 3\n  <<: *x",
            {"a": {"b": 1, "c": 2}, "d": {"b": 3, "c": 2}},
        ),
        ("<<: [{a: 1}, {a: 2, b: 3}]", {"a": 1, "b": 3}),
        ("# nothing", None),
        ("\ufeffa: 1", {"a": 1}),
    ],
)
def test_values(text, due):
    found = parse_yaml(text, "f.yaml")
    assert found == due
    assert type(found) is type(due)


TEXT = """
1:30 0b1 1_000 yes No on OFF y n 0o8 0x 1e .e1 +-1 tRue nUll 2001-01-01 = .infx 1e1_0 +0x1 -0o7
"""


@pytest.mark.parametrize("word", TEXT.split())
def test_numbers_and_truths_of_yaml_1_1_only_are_text(word):
    assert parse_yaml(word, "f.yaml") == word


LAUGHS = "\n".join(
    [
        "a0: &a0 [x, x, x, x, x, x, x, x, x]",
        *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)),
    ]
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: &b [*b]", "line 2: *b stands inside the value that it names"),
        ("&b {c: *b}", "line 1: *b stands inside the value that it names"),
        ("\n" + "[" * 10_000, "line 2: lists and mappings are more than 50 levels deep"),
        ("a: 0x" + "f" * 6000, "line 1: a number has 6002 digits; 60 is the most"),
        ("a:\n - " + "9" * 400, "line 2: a number has 400 digits; 60 is the most"),
        ("a: 1e400", "line 1: 1e400 is too large for a number"),
        (LAUGHS, "line 6: there is too much data, once aliases are expanded"),
        ("x" * 2**20 + "x", "it has more than 1048576 characters"),
        ("a: *b", "line 1: there is no anchor &b before this alias"),
        ("a: 1\na: 2", 'line 2: the key "a" stands twice'),
        ("1: 1\n0x1: 2", 'line 2: the key "1" stands twice'),
        ("? [1]\n: 2", "line 1: a key is a list or a mapping; it must be text or a number"),
        ("<<: 3", "line 1: << merges mappings, and this is none"),
        ("a: !<python:os.system> x", "line 1: the tag python:os.system is not known"),
        ("a: !!set {x}", "line 1: the tag tag:yaml.org,2002:set is not known"),
        ("a: !!int x", 'line 1: "x" is no int'),
        ("a: !!int true", 'line 1: "true" is no int'),
        ("a\n---\nb", "line 2: a second document begins; there must be one"),
        ("a: 1\nb: \x00", "line 2: the character U+0000 may not stand in YAML"),
        ('a: "\\ud800"', "line 1: an escape stands for half a character"),
        ('\na: "\\U7fffffff"', "line 2: it is not YAML: a number in it is out of range"),
        ("a: [1", "line 1: expected ',' or ']', but got '<stream end>'"),
    ],
)  # fmt: skip
def test_mistakes(text, message):
    with pytest.raises(UserError) as caught:
        parse_yaml(text, "f.yaml")
    place = "f.yaml: " if message.startswith("it has") else "f.yaml, "
    assert str(caught.value) == place + message


def test_files_that_cannot_be_read(tmp_path):
    for content, message in (
        (b"\xff\xfea\x00", "it is not UTF-8 text"),
        (b" " * 2**20 + b" ", "it has more than 1048576 bytes"),
    ):
        path = tmp_path / "f.yaml"
        path.write_bytes(content)
        with pytest.raises(UserError) as caught:
            read_yaml(path, "config")
        assert str(caught.value) == f'cannot read the config "{path}": {message}'
    with pytest.raises(UserError, match="Is a directory"):
        read_yaml(tmp_path, "config")
    with pytest.raises(UserError, match="null byte"):
        read_yaml("a\0b", "config")
