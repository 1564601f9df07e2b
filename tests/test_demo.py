"""The demo, run as its reader runs it."""

import subprocess
import sys
from pathlib import Path

from matplotlib import pyplot as plt

ROOT = Path(__file__).parents[1]


def test_the_demo_checks_six_orders_and_writes_two_pictures(tmp_path):
    run = subprocess.run(
        [sys.executable, "experiments/demo.py", "--out", str(tmp_path / "demo")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")
    rows = [line for line in run.stdout.splitlines() if line.rstrip().endswith("matches scipy")]
    assert [row.split()[0] for row in rows] == ["ijk", "ikj", "jik", "jki", "kij", "kji"]
    assert str(tmp_path / "demo" / "graph.svg") in run.stdout
    assert "</svg>" in (tmp_path / "demo" / "graph.svg").read_text()
    height, width, _ = plt.imread(tmp_path / "demo" / "cycles.png").shape
    assert (height, width) == (960, 1500)
