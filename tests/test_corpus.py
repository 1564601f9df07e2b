"""The script that runs a corpus, and every 40th line of ``accepted.txt`` on target sam."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from experiments import corpus
from experiments.taco_programs import attempts, entries, runs
from experiments.taco_programs.attempts import Result

SPMV = 'taco "y(i)=A(i,j)*x(j)" -f=y:d:0 -f=A:ds:0,1 -f=x:d:0'

needs_corpus = pytest.mark.skipif(not corpus.CORPUS.is_dir(), reason="needs ../shared/corpus")


def _sample():
    path = corpus.CORPUS / "accepted.txt"
    return entries.read(path)[0][::40] if path.is_file() else []


@needs_corpus
def test_every_40th_accepted_line():
    """Right without a schedule and with reorder alone; right or refused with other commands."""
    failed = []
    for entry in _sample():
        result = attempts.attempt(entry)
        refusable = entry.commands in ("loops", "other")
        if result.outcome not in ("right", *["refused"] * refusable):
            failed.append(f"{result.outcome}: {entry.text}\n{result.detail}")
    assert not failed, "\n".join(failed)


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
    assert corpus.pattern(reason, entries.read_line(line)) == pattern


def test_reasons_are_ranked():
    short, long, other, right = (
        entries.read_line(line)
        for line in (
            'taco "y(i)=A(i)"',
            'taco "yy(ii)=B(ii)"',
            'taco "z(i)=A(i)"',
            'taco "y(i)=B(i)"',
        )
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
    monkeypatch.setattr(attempts, "evaluate", lambda _, inputs, dims: inputs["A"] + 1)
    assert corpus.main(arguments) == 1
    assert "the result at (N) is N, and numpy's is N" in capsys.readouterr().out


def test_interruption(tmp_path, monkeypatch):
    def attempt(entry, target, engine):
        raise KeyboardInterrupt

    monkeypatch.setattr(runs, "attempt", attempt)
    path = tmp_path / "lines.txt"
    path.write_text(SPMV)
    assert corpus.main([str(path), "--output", str(tmp_path), "--jobs", "1"]) == 130


def test_files_that_are_not_there_are_told_in_words(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        corpus.main([str(tmp_path / "accepted.txt")])
    assert ended.value.code == 2
    said = "accepted.txt is not there: the corpus is not shipped, so name other files"
    assert said in capsys.readouterr().err
