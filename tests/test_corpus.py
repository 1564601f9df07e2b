"""The runner of the corpus, and every 40th line of ``accepted.txt`` on target sam."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from custard.to_sam.program import SamProgram
from experiments import corpus
from experiments.corpus import Entry, Result
from sam.support import c_compiler as cc
from sam.tensor import Tensor

SPMV = 'taco "y(i)=A(i,j)*x(j)" -f=y:d:0 -f=A:ds:0,1 -f=x:d:0'

needs_corpus = pytest.mark.skipif(not corpus.CORPUS.is_dir(), reason="needs ../shared/corpus")


def _sample():
    path = corpus.CORPUS / "accepted.txt"
    return corpus.read(path)[0][::40] if path.is_file() else []


@needs_corpus
def test_every_40th_accepted_line():
    """Right without a schedule and with reorder alone; right or refused with other commands."""
    failed = []
    for entry in _sample():
        result = corpus.attempt(entry)
        refusable = entry.commands in ("loops", "other")
        if result.outcome not in ("right", *["refused"] * refusable):
            failed.append(f"{result.outcome}: {entry.text}\n{result.detail}")
    assert not failed, "\n".join(failed)


@pytest.mark.parametrize("engine", ["simpy", "both"])
@pytest.mark.parametrize(
    "line",
    [
        'taco "Z_m=A_km*B_k" -f=Z:d:0 -f=A:s:0 -f=B:s:0',
        'taco "Z_{m}=A_{k,m}*B_k" -f=Z:d:0 -f=A:ss:0,1 -f=B:s:0',
        'taco "A(i,i)=B(i,j)*C(j,i)" -f=A:dd:0,1 -f=B:ds:0,1 -f=C:ds:0,1',
        'taco "A(i,i)+=B(i,j)" -f=A:uq:0,1 -f=B:ds:0,1',
        'taco "y(i)=A(i,j)*x(j)" -f=y:d:0 -f=A:ds:0,1 -f=x:d:0 -s=reorder(in,out)',
    ],
)
def test_ways_to_write(line, engine):
    if engine == "both" and not cc.available():
        pytest.skip("there is no C compiler")
    assert corpus.attempt(corpus.read_line(line), engine=engine) == Result(
        line, "right", seconds=pytest.approx(0, abs=60)
    )


# Reading


def test_a_line():
    entry = corpus.read_line(SPMV + ' -s="split(i,i0,i1,32)" -s=reorder(i0,j)')
    assert entry.expression == "y(i)=A(i,j)*x(j)"
    assert entry.formats == ("y:d:0", "A:ds:0,1", "x:d:0")
    assert entry.schedule == ("split(i,i0,i1,32)", "reorder(i0,j)")


@pytest.mark.parametrize("line", ["y(i)=x(i)", 'taco "y(i)=x(i)" -t=y:int', 'gcc "a" -f=y:d:0'])
def test_texts_that_are_no_command_line(line):
    with pytest.raises(ValueError, match="not a line of the corpus"):
        corpus.read_line(line)


@pytest.mark.parametrize(
    ("schedule", "commands"),
    [
        ((), "none"),
        (("",), "none"),
        (("reorder(j,i)",), "reorder"),
        (("reorder(j,i)", "reorder(i,j)"), "reorder"),
        (("reorder(j,i)", "unroll(j,4)"), "other"),
    ],
)
def test_commands_of_a_schedule(schedule, commands):
    assert Entry("", "", (), schedule).commands == commands


def test_lines_are_read_once(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text(f"{SPMV}\n\n{SPMV} -s=reorder(i,j)\n{SPMV}\n{SPMV} -s='reorder(i,j)'\n")
    entries, beyond = corpus.read(path)
    assert [entry.schedule for entry in entries] == [(), ("reorder(i,j)",)]
    assert beyond == {}


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("a(i) = b(i) + b(i)", ""),
        ("a = 3", ""),
        ("a(i) = b(i) * c", ""),
        ("where(a = c, c = b(i))", "several statements"),
        ("a(i) = b(i[2:4:1])", "windows"),
        ("a(i[{1,3,5}]) = b(i)", "index sets"),
        ("a(i) = cast<double>(b(i))", "casts"),
        ("a(i) = sqrt((b(i) * c))", "functions and custom operators"),
        ("a(i) = b(i) * (i * 3)", "index variables as values"),
        ("a(i) Or= b(i)", "other assignments"),
    ],
)
def test_expressions_beyond_the_grammar(expression, kind):
    assert corpus.beyond_grammar(expression, {"a", "b", "c"}) == kind


def test_tests_of_taco(tmp_path):
    path = tmp_path / "tests.json"
    case = {
        "inputs": {"Inputs": [], "b": [[[0], "(1,2)"], [[3], "(4,0)"]]},
        "expected": {"a": [[[0], "(2,4)"], [[3], "(8,0)"]]},
    }
    test = {
        "expr": "a(i) = b(i) + b(i)",
        "formats": "a:s:0 b:s:0 unused:scalar",
        "source_test": "types",
        "notes": "a dtype float complex; b dtype float complex; c dtype int32_t",
        "cases": [case],
    }
    path.write_text(json.dumps([test, {**test, "expr": "a(i) = exp(b(i))"}]))
    [entry], beyond = corpus.read(path)
    assert beyond == {"functions and custom operators": ["a(i) = exp(b(i))"]}
    assert entry.formats == ("a:s:0", "b:s:0")
    assert entry.types == {"a": "complex64", "b": "complex64", "c": "int32"}
    [found] = corpus.cases(entry, corpus.notation.parse(entry.expression))
    assert found.extents == {"i": 4}
    np.testing.assert_array_equal(found.inputs["b"], np.array([1 + 2j, 0, 0, 4], "complex64"))
    assert found.inputs["b"].dtype == "complex64"
    np.testing.assert_array_equal(found.due, [2 + 4j, 0, 0, 8])
    assert corpus.attempt(entry).outcome == "right"


# Inputs


def _cases(line):
    entry = corpus.read_line(line)
    return list(corpus.cases(entry, corpus.notation.parse(entry.expression)))


def test_inputs_are_random_empty_and_full():
    cases = _cases(SPMV)
    assert [case.name for case in cases] == ["random", "random", "empty", "full"]
    for case in cases:
        assert case.inputs["A"].shape == (case.extents["i"], case.extents["j"])
        assert case.inputs["x"].shape == (case.extents["j"],)
        assert all(1 <= extent <= corpus.LARGEST_EXTENT for extent in case.extents.values())
    assert not cases[2].inputs["A"].any()
    assert cases[3].inputs["A"].all()


def test_inputs_depend_on_the_line_alone():
    for first, second in zip(_cases(SPMV), _cases(SPMV), strict=True):
        np.testing.assert_array_equal(first.inputs["A"], second.inputs["A"])


def test_modes_of_one_tensor_agree():
    for case in _cases('taco "y(i,j)=B(i,k)*B(k,j)" -f=y:dd:0,1 -f=B:ds:0,1'):
        assert case.extents["i"] == case.extents["k"] == case.extents["j"]
    for case in _cases('taco "y(i)+=y(j)*x(k)" -f=y:d:0 -f=x:d:0'):
        assert case.extents["i"] == case.extents["j"]


def test_many_variables_have_small_extents():
    variables = ",".join("abcdefghijklmnopqrstuv")
    for case in _cases(f'taco "y=A({variables})" -f=A:{"s" * 22}'):
        assert np.prod(list(case.extents.values())) <= corpus.MOST_POINTS


@pytest.mark.parametrize("levels", ["q", "cq", "dq", "sq", "ucq", "qd", "dqq"])
def test_inputs_fit_their_format(levels):
    variables = ",".join("ijk"[: len(levels)])
    cases = _cases(f'taco "y=A({variables})" -f=A:{levels}')
    for case in cases:
        Tensor.from_numpy(case.inputs["A"], levels)
    assert cases[0].inputs["A"].any()


# Outcomes


def test_right():
    result = corpus.attempt(corpus.read_line(SPMV))
    assert (result.outcome, result.reason) == ("right", "")


def test_a_variable_that_no_input_fixes():
    assert corpus.attempt(corpus.read_line('taco "y(i,j)=x(j)" -f=y:ds -f=x:s')).outcome == "right"


def test_wrong(monkeypatch):
    monkeypatch.setattr(corpus, "evaluate", lambda _, inputs, dims: inputs["A"].sum(axis=1) + 0.5)
    result = corpus.attempt(corpus.read_line('taco "y(i)=A(i,j)" -f=y:d:0 -f=A:ds:0,1'))
    assert result.outcome == "wrong"
    assert "the result at (0) is" in result.reason
    assert "on random inputs with i=" in result.reason


def test_refused():
    result = corpus.attempt(corpus.read_line(SPMV + " -s=unroll(i,4)"))
    assert result.outcome == "refused"
    assert result.reason.startswith("target sam does not take unroll")
    assert "^^^^^" in result.detail
    assert result.evaluable


def test_units_that_are_ignored():
    entry = corpus.read_line(SPMV + " -s=parallelize(i,GPUBlock,NoRaces)")
    assert corpus.attempt(entry).reason == "target sam has no GPUBlock, which is for GPUs"
    assert corpus.attempt(replace(entry, ignore_units=True)).outcome == "right"


def test_refused_and_beyond_the_evaluator():
    assert not corpus.attempt(corpus.read_line('taco "y(i)=A(i,j)*A(j)"')).evaluable


def test_crashed(monkeypatch):
    def evaluate(*_):
        raise KeyError("k'")

    monkeypatch.setattr(corpus, "evaluate", evaluate)
    result = corpus.attempt(corpus.read_line(SPMV))
    assert result.outcome == "crashed"
    assert result.reason == 'KeyError in test_corpus.evaluate: "k\'"'
    assert "Traceback" in result.detail


def test_too_long(monkeypatch):
    def evaluate(*_):
        while True:
            pass

    monkeypatch.setattr(corpus, "evaluate", evaluate)
    monkeypatch.setattr(corpus, "SECONDS", 0.2)
    result = corpus.attempt(corpus.read_line(SPMV))
    assert (result.outcome, result.reason) == ("crashed", "no result in 0.2 seconds")


@pytest.mark.parametrize(
    ("found", "due", "text"),
    [
        ([1.0, 2.0], [1.0, 2.0 + 1e-12], ""),
        ([1.0, np.nan], [1.0, np.nan], ""),
        ([np.inf], [-np.inf], ""),
        ([1.0, 2.0], [1.0, 3.0], "the result at (1) is 2.0, and numpy's is 3.0"),
        ([1.0], [np.nan], "the result at (0) is 1.0, and numpy's is nan"),
        ([1.0], [1.0, 2.0], "the result has the shape (1,), and numpy's has (2,)"),
        (4.0, 5.0, "the result is 4.0, and numpy's is 5.0"),
    ],
)
def test_difference(found, due, text):
    assert corpus.difference(np.array(found), np.array(due)) == text


# Both engines


def _spmv_run():
    program = corpus.custard.compile("y(i)=A(i,j)*x(j)")
    return program.simulate({"A": np.eye(3), "x": np.ones(3)}, engine="simpy")


def _block(run, **changes):
    return replace(
        run, blocks={**run.blocks, "scan_A_i": replace(run.blocks["scan_A_i"], **changes)}
    )


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda run: run, ""),
        (
            lambda run: replace(run, cycles=21),
            "the engines differ: 20 cycles on simpy, 21 on compiled",
        ),
        (lambda run: _block(run, fired=1), "the engines differ in the statistics of scan_A_i: "),
        (lambda run: replace(run, streams={}), "the engines differ in the statistics of "),
        (
            lambda run: replace(run, output=Tensor.of(np.zeros(3)).convert("s", (0,))),
            "the engines differ in the values of the result",
        ),
        (
            lambda run: replace(run, output=Tensor.of(np.ones(3)).convert("d", (0,))),
            "the engines differ in the format of the result",
        ),
        (
            lambda run: corpus.UserError("full"),
            "the engines differ: a result on simpy, full on compiled",
        ),
    ],
)
def test_differences_between_engines(change, text):
    run = replace(_spmv_run(), cycles=20)
    found = corpus.engines_differ(run, change(run))
    assert found.startswith(text)
    assert bool(found) == bool(text)


def test_engines_that_refuse_in_the_same_words_agree():
    assert corpus.engines_differ(corpus.UserError("full"), corpus.UserError("full")) == ""


@pytest.mark.skipif(not cc.available(), reason="there is no C compiler")
def test_an_entry_on_both_engines(monkeypatch):
    assert corpus.attempt(corpus.read_line(SPMV), engine="both").outcome == "right"
    simulate = SamProgram.simulate

    def late(program, inputs, engine):
        run = simulate(program, inputs, engine=engine)
        return replace(run, cycles=run.cycles + (engine == "compiled"))

    monkeypatch.setattr(SamProgram, "simulate", late)
    result = corpus.attempt(corpus.read_line(SPMV), engine="both")
    assert result.outcome == "wrong"
    assert result.reason.startswith("the engines differ: ")


# Many programs


def _entries(*lines):
    return [corpus.read_line(line) for line in lines]


@pytest.mark.parametrize(
    ("line", "reason", "pattern"),
    [
        (SPMV, "level 1 of A is hashed (h)", "level N of _ is hashed (_)"),
        (SPMV, "the result at (0,1) is -2.5, and numpy's is 1e-05, with i=1, j=2",
         "the result at (N) is N, and numpy's is N, with _=N"),
        (SPMV + " -s=fuse(i,jpos,f2)", "fuse names jpos, which is not a loop",
         "fuse names _, which is not a loop"),
    ],
)  # fmt: skip
def test_pattern(line, reason, pattern):
    assert corpus.pattern(reason, corpus.read_line(line)) == pattern


def test_reasons_are_ranked():
    short, long, other, right = _entries(
        'taco "y(i)=A(i)"', 'taco "yy(ii)=B(ii)"', 'taco "z(i)=A(i)"', 'taco "y(i)=B(i)"'
    )
    pairs = [
        (other, Result(other.text, "crashed", "KeyError")),
        (long, Result(long.text, "refused", "level 2 of B is odd")),
        (short, Result(short.text, "refused", "level 11 of A is odd")),
        (right, Result(right.text, "right")),
    ]
    assert corpus.ranked(pairs) == [
        (2, "refused", "level N of _ is odd", short.text),
        (1, "crashed", "KeyError", other.text),
    ]


def test_a_run_goes_on_where_it_was(tmp_path, monkeypatch):
    path = tmp_path / "out" / "corpus.jsonl"
    entries = _entries('taco "y(i)=A(i)"', 'taco "y(i)=B(i)"', 'taco "y(i)=C(i)"')
    ran = []

    def attempt(entry, target, engine):
        ran.append(entry.text)
        return Result(entry.text, "right" if "A" in entry.text else "wrong")

    monkeypatch.setattr(corpus, "attempt", attempt)
    corpus.run(entries[:2], "sam", path)
    with path.open("a") as file:
        file.write('{"text": "cut')
    results = corpus.run(entries, "sam", path)
    assert ran == [entry.text for entry in entries]
    assert [results[entry.text].outcome for entry in entries] == ["right", "wrong", "wrong"]

    ran.clear()
    corpus.run(entries, "sam", path, again=True)
    assert ran == [entry.text for entry in entries[1:]]
    assert corpus.read_results(path).keys() == results.keys()


def test_two_processes(tmp_path):
    entries = _entries(SPMV, 'taco "y(i)=B(i)"', 'taco "y(i)=C(i)" -s=unroll(i,4)')
    results = corpus.run(entries, "sam", tmp_path / "corpus.jsonl", jobs=2)
    assert [results[entry.text].outcome for entry in entries] == ["right", "right", "refused"]


def test_processes_end_with_the_one_that_started_them(tmp_path):
    """Long before they are done, and without a word."""
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(f'taco "y{n}(i)=B(i,j)*C(j,k)*D(k,l)"' for n in range(5000)))
    command = [sys.executable, "experiments/corpus.py", str(path), "--jobs", "2"]
    process = subprocess.Popen(
        [*command, "--output", str(tmp_path)],
        cwd=Path(corpus.__file__).parents[1],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    results = tmp_path / "corpus-lines-sam.jsonl"
    deadline = time.monotonic() + 60
    while not (results.exists() and results.read_text()) and time.monotonic() < deadline:
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert (out, "Traceback" in err, "interrupted" in err) == ("", False, True)


def test_exit_status(tmp_path, monkeypatch, capsys):
    path = tmp_path / "lines.txt"
    path.write_text(f'{SPMV}\ntaco "y(i)=A(i)" -s=unroll(i,4)\n')
    arguments = [str(path), "--output", str(tmp_path), "--jobs", "1"]
    assert corpus.main(arguments) == 0
    assert "target sam does not take unroll" in capsys.readouterr().out
    assert corpus.main([*arguments, "--only", "plain"]) == 0
    assert "unroll" not in capsys.readouterr().out

    path.write_text('taco "z(i)=A(i)"\n')
    monkeypatch.setattr(corpus, "evaluate", lambda _, inputs, dims: inputs["A"] + 1)
    assert corpus.main(arguments) == 1
    assert "the result at (N) is N, and numpy's is N" in capsys.readouterr().out


def test_interruption(tmp_path, monkeypatch):
    def attempt(entry, target, engine):
        raise KeyboardInterrupt

    monkeypatch.setattr(corpus, "attempt", attempt)
    path = tmp_path / "lines.txt"
    path.write_text(SPMV)
    assert corpus.main([str(path), "--output", str(tmp_path), "--jobs", "1"]) == 130


def test_files_that_are_not_there_are_told_in_words(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        corpus.main([str(tmp_path / "accepted.txt")])
    assert ended.value.code == 2
    said = "accepted.txt is not there: the corpus is not shipped, so name other files"
    assert said in capsys.readouterr().err
