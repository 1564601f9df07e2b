"""Every command and every Python block of the README and the pages runs, and prints what they show.

In a ``console`` block, a line that begins with ``$`` is a command; the lines below it must come in
its output, in that order, spaces aside. ``...`` stands for any lines. The blocks of a page run one
after the other, as a reader would type them, in a copy of the repository. No ``sh`` block is run.
A command of ``custard`` runs in a process that has imported it already.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.forks import ran

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass
class Command:
    """A command, or a Python program, of a page, and the lines that it must print."""

    line: int
    text: str
    due: list[str] = field(default_factory=list)


def commands(page: Path) -> list[Command]:
    text = page.read_text()
    found = []
    for block in FENCE.finditer(text):
        line = text[: block.start()].count("\n") + 2
        language, body = block.groups()
        if language == "python":
            found.append(Command(line, f"{sys.executable} - <<'END'\n{body}END"))
            continue
        for number, shown in enumerate(body.splitlines()):
            if shown.startswith("$ "):
                found.append(Command(line + number, shown[2:]))
            elif shown.strip() != "...":
                found[-1].due.append(shown)
    return found


def squeezed(line: str) -> str:
    return " ".join(line.split())


def missing(due: list[str], output: str) -> str | None:
    """The first line that is due and does not come, in order."""
    lines = iter(map(squeezed, output.splitlines()))
    return next((one for one in due if squeezed(one) not in lines), None)


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """The repository with its own copies of the folders that commands may write to.

    C is compiled with a reader's flags, which the tests otherwise replace by quicker ones; what is
    printed goes to a file, whatever terminal the tests run in.
    """
    monkeypatch.delenv("SAM_CFLAGS", raising=False)
    monkeypatch.setattr(shutil, "get_terminal_size", lambda *_: os.terminal_size((80, 24)))
    here = tmp_path / "repository"
    here.mkdir()
    for entry in ROOT.iterdir():
        if entry.name in ("experiments", "examples"):
            shutil.copytree(entry, here / entry.name)
        elif not entry.name.startswith(".") and entry.name != "out":
            (here / entry.name).symlink_to(entry)
    scripts = here / ".venv" / "bin"
    scripts.mkdir(parents=True)
    (scripts / "activate").write_text(f"export PATH={Path(sys.executable).parent}:$PATH\n")
    return here


class Shell:
    """The shell of a reader: a folder, and a path on which programs are found."""

    def __init__(self, copy: Path) -> None:
        self.place, self.path, self.told = copy, os.environ["PATH"], copy / "told"

    def run(self, command: str) -> tuple[int, str]:
        """The exit status of a command, and its output."""
        if command.startswith("custard "):
            words = shlex.split(command, comments=True)[1:]
            return ran(words, self.place, self.told), self.told.read_text()
        after = f'{command}\ns=$?; (pwd; echo "$PATH") > {self.told}; exit $s'
        run = subprocess.run(
            ["bash", "-c", after],
            cwd=self.place,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PATH": self.path},
            capture_output=True,
            text=True,
            timeout=300,
        )
        place, self.path = self.told.read_text().splitlines()
        self.place = Path(place)
        return run.returncode, run.stdout + run.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_tells_the_truth(page, copy):
    script = commands(page)
    if not script:
        pytest.skip("a page without commands")
    shell = Shell(copy)
    for command in script:
        status, output = shell.run(command.text)
        told = f"{page.name}:{command.line}: {command.text}\n{output}"
        assert status == 0, told
        lacks = missing(command.due, output)
        assert lacks is None, f"{lacks}\n  is not what this prints:\n{told}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_command_stands_outside_of_a_block_that_runs(page):
    outside = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"^ {4}(?:custard|python|pip) .*$", outside, re.MULTILINE) == []


def test_the_site_is_built_without_warnings(tmp_path):
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    run = subprocess.run(build, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "Runs a SAM graph" in (tmp_path / "API" / "index.html").read_text()


def test_a_wrong_number_is_seen():
    assert missing(["b", "", "d 1"], "a\nb\n\nc\nd  1\n") is None
    assert missing(["d 2"], "a\nd  1\n") == "d 2"
    assert missing(["b", "a"], "a\nb\n") == "a"
