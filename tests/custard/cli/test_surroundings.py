"""The command where the system refuses something: stdout, folders, memory, plots."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from custard.cli.command import main
from sam.support import disk_cache

HUGE = Path(__file__).parents[3] / "experiments" / "data"
MATVEC = ["y(i) = A(i,j) * x(j)", "-i", "x=@dense", "-i", f"A={HUGE / 'west0067.mtx'}"]


def ran(*arguments, script="", environment=None, **more):
    """The status and stderr of ``custard`` with arguments; ``script`` comes before it in sh."""
    command = ["sh", "-c", f'{script}\nexec "$@"', "sh", sys.executable, "-m", "custard"]
    done = subprocess.run(
        [*command, *arguments],
        stderr=subprocess.PIPE,
        stdout=more.pop("stdout", subprocess.DEVNULL),
        text=True,
        env={**os.environ, **(environment or {})},
        check=False,
        **more,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "arguments", [MATVEC, [*MATVEC, "--json"], ["configs"], ["--help"], ["cache"]]
)
def test_a_full_disk(arguments):
    with open("/dev/full", "w") as full:
        assert ran(*arguments, stdout=full) == (
            2,
            "custard: cannot write to stdout: No space left on device\n",
        )


@pytest.mark.parametrize("arguments", [MATVEC, [*MATVEC, "--json"], ["configs"], ["--help"]])
def test_a_closed_stdout(arguments):
    assert ran(*arguments, script="exec >&-") == (
        2,
        "custard: stdout is closed\nhint: write > /dev/null to throw the output away\n",
    )


def test_a_reader_that_has_gone():
    read, write = os.pipe()
    os.close(read)
    with open(write, "w") as pipe:
        assert ran("formats", stdout=pipe) == (1, "")


@pytest.mark.parametrize(
    ("arguments", "files"),
    [
        (MATVEC, []),
        ([*MATVEC, "-o", "y=y.tns", "--json", "r.json"], ["r.json", "y.tns"]),
        ([*MATVEC, "--report", "r.html"], ["r.html"]),
        (["explain", *MATVEC, "--json", "r.json"], ["r.json"]),
        (["size", *MATVEC, "--save", "c.yaml"], ["c.yaml"]),
    ],
)
def test_files_are_written_although_the_reader_has_gone(arguments, files, tmp_path):
    read, write = os.pipe()
    os.close(read)
    environment = {"PYTHONPATH": str(Path(__file__).parents[3])}
    with open(write, "w") as pipe:
        found = ran(*arguments, stdout=pipe, cwd=tmp_path, environment=environment)
    assert found == (0 if files else 1, "")
    assert sorted(os.listdir(tmp_path)) == files


@pytest.mark.parametrize("script", ["exec 2>&-", "exec 2>/dev/full"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_mistake_with_stderr_closed(script, unbuffered):
    environment = {"PYTHONUNBUFFERED": unbuffered}
    assert ran("y(i) = ", script=script, environment=environment) == (2, "")


@pytest.mark.parametrize("more", [["-o", "y=y.npy"], ["--draw", "g.svg"], ["--json", "y.json"]])
def test_a_working_folder_that_is_gone(more, tmp_path):
    script = f"mkdir {tmp_path}/gone; cd {tmp_path}/gone; rmdir {tmp_path}/gone"
    environment = {"PYTHONPATH": str(Path(__file__).parents[3])}
    status, said = ran(*MATVEC, *more, script=script, environment=environment)
    assert (status, said.splitlines()[-2:]) == (
        2,
        ["custard: the working folder is gone", "hint: cd to one that is there"],
    )


def test_a_dense_file_larger_than_memory_is_refused(tmp_path):
    matrix = tmp_path / "huge.mtx"
    matrix.write_text(
        "%%MatrixMarket matrix coordinate real general\n3000000000 3000000000 1\n1 1 2.5\n"
    )
    status, said = ran(
        *("X(i,j) = B(i,j)", "-i", f"B={matrix}", "-o", f"X={tmp_path / 'x.npy'}"),
        script="ulimit -v 8000000",
    )
    assert status == 2
    assert "the dense array of shape (3000000000, 3000000000) would take 62.5 EiB; " in said
    assert "Traceback" not in said
    assert not list(tmp_path.glob("*.npy"))


SWEEP = """
expression: "y(i) = A(i,j) * x(j)"
inputs: {A: "@random", x: "@random"}
dims: {i: 4, j: 4}
grid: {seed: [0, 1]}
plots: {p.png: {x: seed}}
"""


def test_plots_choose_their_own_backend_and_style(tmp_path):
    (tmp_path / "s.yaml").write_text(SWEEP)
    (tmp_path / "matplotlibrc").write_text("text.usetex: True\nfont.family: cursive\n")
    environment = {"MPLBACKEND": "nonsense", "MATPLOTLIBRC": str(tmp_path)}
    assert ran("configs", environment=environment) == (0, "")
    assert ran("sweep", f"{tmp_path}/s.yaml", "--jobs", "1", environment=environment)[0] == 0
    plain = tmp_path / "s" / "p.png"
    assert ran("sweep", f"{tmp_path}/s.yaml", "--plot", environment=environment) == (0, "")
    drawn = plain.read_bytes()
    assert ran("sweep", f"{tmp_path}/s.yaml", "--plot") == (0, "")
    assert plain.read_bytes() == drawn


def test_the_cache_is_shown_and_cleared(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SAM_CACHE", str(tmp_path / "cache"))
    disk_cache.put(f"{disk_cache.key('kernel')}.so", b".")
    for arguments in ([], ["--clear"], []):
        assert main(["cache", *arguments]) == 0
    assert capsys.readouterr().out == (
        f"1 entry, 68 bytes of at most 512 MiB, in {tmp_path}/cache\n"
        f"1 entry, 68 bytes, removed from {tmp_path}/cache\n"
        f"0 entries, 0 bytes of at most 512 MiB, in {tmp_path}/cache\n"
    )


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="the system tells no threads")
def test_a_program_that_is_printed_starts_no_threads():
    """Those of numpy's BLAS would spin."""
    script = (
        "import os\nfrom custard.cli.command import main\n"
        "main(['y(i) = x(i)', '--target', 'c'])\n"
        "assert len(os.listdir('/proc/self/task')) == 1"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
