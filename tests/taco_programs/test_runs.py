"""Runs of many programs of a corpus."""

from experiments.taco_programs import entries, runs
from experiments.taco_programs.attempts import Result

SPMV = 'taco "y(i)=A(i,j)*x(j)" -f=y:d:0 -f=A:ds:0,1 -f=x:d:0'


def _read(*lines):
    return [entries.read_line(line) for line in lines]


def test_a_run_goes_on_where_it_was(tmp_path, monkeypatch):
    path = tmp_path / "out" / "corpus.jsonl"
    programs = _read('taco "y(i)=A(i)"', 'taco "y(i)=B(i)"', 'taco "y(i)=C(i)"')
    ran = []

    def attempt(entry, target, engine):
        ran.append(entry.text)
        return Result(entry.text, "right" if "A" in entry.text else "wrong")

    monkeypatch.setattr(runs, "attempt", attempt)
    runs.run(programs[:2], "sam", path)
    with path.open("a") as file:
        file.write('{"text": "cut')
    results = runs.run(programs, "sam", path)
    assert ran == [entry.text for entry in programs]
    assert [results[entry.text].outcome for entry in programs] == ["right", "wrong", "wrong"]

    ran.clear()
    runs.run(programs, "sam", path, again=True)
    assert ran == [entry.text for entry in programs[1:]]
    assert runs.read_results(path).keys() == results.keys()


def test_two_processes(tmp_path):
    programs = _read(SPMV, 'taco "y(i)=B(i)"', 'taco "y(i)=C(i)" -s=unroll(i,4)')
    results = runs.run(programs, "sam", tmp_path / "corpus.jsonl", jobs=2)
    assert [results[entry.text].outcome for entry in programs] == ["right", "right", "refused"]
