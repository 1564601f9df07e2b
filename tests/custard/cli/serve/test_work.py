"""Requests of the page as words of the command."""

import pytest

from custard.cli.serve.work import answer, sample, words, words_to_complete
from sam.support.errors import UserError

MATVEC = {"expression": "y(i) = A(i,j) * x(j)"}


def test_the_words_are_those_of_the_command():
    request = {
        **MATVEC,
        "formats": {"A": "CSR", "x": ""},
        "schedule": "reorder(i,j)\n\nskip(x,j)",
        "dims": "i=5",
        "config": "finite",
        "overrides": "queues.depth=8",
        "inputs": {"A": "@random(0.1)", "x": "2.5"},
    }
    assert words(request, inputs=True) == [
        "y(i) = A(i,j) * x(j)",
        "-f=A:CSR",
        "-s=reorder(i,j)",
        "-s=skip(x,j)",
        "--dims=i=5",
        "--config=finite",
        "--set=queues.depth=8",
        "-i",
        "A=@random(0.1)",
        "-i",
        "x=2.5",
    ]


def test_a_machine_is_for_targets_that_are_simulated():
    request = {**MATVEC, "target": "c", "config": "finite"}
    assert words(request, inputs=False) == ["y(i) = A(i,j) * x(j)", "--target=c"]
    assert words({**MATVEC, "target": "sam"}, inputs=False) == ["y(i) = A(i,j) * x(j)"]


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"expression": " "}, "there is no expression"),
        ({"expression": "--json=x"}, "an expression begins with the tensor that it computes"),
        ({"config": "/etc/passwd"}, "there is no shipped config /etc/passwd"),
        ({"inputs": {"A": "/etc/passwd"}}, '"/etc/passwd" is not an input for A'),
        ({"inputs": {"A": "@upload:1"}}, "the file of A is no longer there"),
        ({"formats": [1]}, "formats is not a table of texts"),
        ({"dims": 3}, "dims is not a text of at most 10,000 characters"),
        ({"target": "gpu"}, "unknown target gpu"),
    ],
)
def test_a_request_reads_no_file_and_names_no_path(more, error):
    with pytest.raises(UserError) as caught:
        words({**MATVEC, **more}, inputs=True)
    assert caught.value.what == error


def test_a_mistake_is_an_answer():
    assert answer({"do": "compile", "expression": "y(i) = "})["error"]
    wrong = answer({**MATVEC, "overrides": "queues.dept=3", "do": "compile"})
    assert wrong["error"].startswith('--set: unknown key "queues.dept"')
    assert "unknown target" in answer({**MATVEC, "target": "gpu", "do": "compile"})["error"]


def test_a_program_is_shown_as_its_target_has_it():
    found = answer({**MATVEC, "do": "compile"})
    assert "<svg" in found["graphs"][0]
    assert found["inputs"] == {"A": 2, "x": 1}
    assert found["command"] == "custard 'y(i) = A(i,j) * x(j)'"
    assert "source" in answer({**MATVEC, "target": "c", "do": "compile"})


def test_the_command_of_a_program_has_its_inputs_that_are_there():
    inputs = {"A": "@upload:1", "x": "@dense", "z": "@dense", "y": "@upload:9"}
    request = {**MATVEC, "do": "compile", "inputs": inputs, "uploads": {"1": "/tmp/a.mtx"}}
    found = answer(request)
    assert found["command"] == "custard 'y(i) = A(i,j) * x(j)' -i A=/tmp/a.mtx -i x=@dense"


def test_words_that_the_page_completes():
    assert sample().exists()
    assert words_to_complete()
