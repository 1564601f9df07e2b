"""The start of the command ``custard sweep``."""

import subprocess
import sys

import pytest

from custard.cli.sweeps import command, server, start
from tests.support.compiler import needs_compiler

SCRIPT = f"""if True:
    import sys
    from importlib import import_module
    for name in {start.MODULES}:
        import_module(name)
    from custard.cli.sweeps.description import read
    from pathlib import Path
    sweep = read(Path(sys.argv[1]))
    before = {{*sys.modules}}
    sweep.together.measure([point.settings for point in sweep.points], lambda n, found: None)
    sweep.measure(sweep.points[0].settings)
    ours = ("sam", "sim", "custard", "simpy", "scipy")
    print(sorted(one for one in {{*sys.modules}} - before if one.partition(".")[0] in ours))
"""

SWEEP = """
expression: X(i,j) = B(i,k) * C(k,j)
schedule: reorder(i,k,j)
inputs: {B: "@random(0.5)", C: "@random(0.5)"}
dims: {i: 4, j: 4, k: 4}
engine: compiled
grid: {set: {queues.depth: [8, 9, 10, 11, 12]}}
"""


@needs_compiler
def test_all_modules_that_measure_points_are_loaded_first(tmp_path):
    file = tmp_path / "sweep.yaml"
    file.write_text(SWEEP)
    told = subprocess.run([sys.executable, "-c", SCRIPT, file], capture_output=True, text=True)
    assert (told.stdout, told.stderr) == ("[]\n", "")


@pytest.mark.parametrize(
    ("words", "starts"), [(["a.yaml"], True), (["a.yaml", "--table"], False), (["-h"], False)]
)
def test_the_server_starts_where_points_may_be_measured(words, starts, monkeypatch):
    found = []
    monkeypatch.setattr(server, "context", found.append)
    monkeypatch.setattr(command, "main", lambda argv: len(argv))
    assert start.main(words) == len(words)
    assert found == [start.MODULES] * starts
