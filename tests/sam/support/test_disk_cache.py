import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from sam.support import disk_cache
from sam.support.errors import UserError

NAMES = [f"{disk_cache.key(text)}.so" for text in "abcdef"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SAM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_an_entry_is_found_again():
    assert disk_cache.find(NAMES[0]) is None
    path = disk_cache.put(NAMES[0], b"content")
    assert disk_cache.find(NAMES[0]) == path
    assert path.read_bytes() == b"content"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"conten"),
        lambda path: path.write_bytes(b"contenT"),
        lambda path: path.with_name(path.name + ".sum").write_text(""),
        lambda path: path.with_name(path.name + ".sum").write_bytes(b"\xff"),
        lambda path: path.with_name(path.name + ".sum").unlink(),
        lambda path: path.unlink(),
    ],
)
def test_a_damaged_entry_counts_as_missing(spoil):
    spoil(disk_cache.put(NAMES[0], b"content"))
    assert disk_cache.find(NAMES[0]) is None
    disk_cache.put(NAMES[0], b"content")
    assert disk_cache.find(NAMES[0]) is not None


def test_the_least_recently_used_entries_go_first(monkeypatch):
    monkeypatch.setenv("SAM_CACHE_BYTES", "3000")
    for age, name in enumerate(NAMES[:4]):
        path = disk_cache.put(name, b"." * 1000)
        os.utime(path, (time.time() - 4000 + age,) * 2)
    assert disk_cache.find(NAMES[0]) is not None  # so it is the latest
    disk_cache.trim()
    assert [disk_cache.find(name) is not None for name in NAMES[:4]] == [True, False, False, True]
    entries, size = disk_cache.usage()
    assert entries == 2
    assert 2000 < size <= 3000


def test_a_process_trims_at_first_and_when_it_has_put_in_a_sixteenth(monkeypatch):
    """Looking at all files takes longer than to compile a kernel, where there are many."""
    monkeypatch.setenv("SAM_CACHE_BYTES", "16000")
    trimmed, trim = [], disk_cache.trim
    monkeypatch.setattr(disk_cache, "trim", lambda: trimmed.append(len(trimmed)) or trim())
    due = [(NAMES[0], 100, 1), (NAMES[1], 600, 1), (NAMES[2], 401, 2), (NAMES[3], 900, 2)]
    for name, size, times in due:  # 600 bytes are less than 1000, and 1001 more
        disk_cache.put(name, b"." * size)
        disk_cache.trim_if_due()
        assert len(trimmed) == times
    monkeypatch.setattr(disk_cache, "_SECONDS_BETWEEN_TRIMS", -1.0)
    disk_cache.trim_if_due()
    assert len(trimmed) == 3


def test_only_our_files_are_cleared(folder):
    disk_cache.put(NAMES[0], b"content")
    (folder / "thesis.tex").write_text("years of work")
    (folder / "notes.so").write_text("more")
    assert disk_cache.clear()[0] == 1
    assert sorted(path.name for path in folder.iterdir()) == ["notes.so", "thesis.tex"]
    assert disk_cache.usage() == (0, 0)


def test_threads_make_an_entry_once():
    made = []

    def make(_):
        with disk_cache.locked(NAMES[0]):
            if disk_cache.find(NAMES[0]) is None:
                time.sleep(0.05)
                made.append(disk_cache.put(NAMES[0], b"content"))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(make, range(16)))
    assert len(made) == 1


def test_a_lock_goes_with_the_process_that_held_it(folder):
    held = "import os, sys; from sam.support import disk_cache\n"
    held += f"with disk_cache.locked('{NAMES[0]}'): os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", held], check=False)
    assert list(folder.glob("*.lock"))
    with disk_cache.locked(NAMES[0]):
        pass
    assert not list(folder.glob("*.lock"))


@pytest.mark.parametrize(
    "place", ["/proc/cache", "/dev/null/cache", "/dev/null", "a\0b", "x" * 5000]
)
def test_a_cache_that_cannot_be_written(place, monkeypatch, caplog, tmp_path):
    monkeypatch.setattr(disk_cache.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(disk_cache, "_wanted", lambda: disk_cache.Path(place))
    disk_cache._usable.cache_clear()
    disk_cache._private.cache_clear()
    path = disk_cache.put(NAMES[0], b"content")
    assert path.parent.parent == tmp_path
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert disk_cache.find(NAMES[0]) == path
    assert caplog.text.count("cannot be written") == 1
    assert f"compiled kernels go to {path.parent}" in caplog.text
    disk_cache._private.cache_clear()


def test_a_private_folder_that_another_may_write_is_not_taken(monkeypatch, tmp_path):
    monkeypatch.setattr(disk_cache.tempfile, "tempdir", str(tmp_path))
    taken = tmp_path / f"sparse-abstract-machine-{os.getuid()}"
    taken.mkdir()
    taken.chmod(0o777)
    disk_cache._private.cache_clear()
    assert disk_cache._private() != taken
    disk_cache._private.cache_clear()


@pytest.mark.parametrize(
    "end", ["", "raise SystemExit(3)", "1 / 0", "if os.fork() == 0: sys.exit()"]
)
def test_a_folder_of_one_process_goes_with_it(end, monkeypatch, tmp_path):
    """One that is made as no other can be had; also after an error, and not before."""
    taken = tmp_path / f"sparse-abstract-machine-{os.getuid()}"
    taken.mkdir()
    taken.chmod(0o777)
    program = f"""
import os, sys
from sam.support import disk_cache
disk_cache.put("a.so", b"content")
print(disk_cache.folder())
sys.stdout.flush()
{end}
os.waitpid(-1, 0) if "fork" in {end!r} else None
assert disk_cache.folder().is_dir() and disk_cache.find("a.so") is not None
"""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("SAM_CACHE", "/proc/cache")
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    made = os.path.dirname(ran.stdout.strip()), os.listdir(tmp_path)
    assert made == (str(tmp_path), [taken.name]), ran.stderr
    assert "AssertionError" not in ran.stderr


def test_a_folder_that_is_removed_meanwhile(folder):
    import shutil

    disk_cache.put(NAMES[0], b"content")
    shutil.rmtree(folder)
    assert disk_cache.find(NAMES[0]) is None
    disk_cache.put(NAMES[0], b"content")
    assert disk_cache.find(NAMES[0]) is not None


@pytest.mark.parametrize("text", ["many", "-1", "1e9", "9" * 30, "\N{SUPERSCRIPT TWO}"])
def test_a_size_that_is_no_number(text, monkeypatch):
    monkeypatch.setenv("SAM_CACHE_BYTES", text)
    with pytest.raises(UserError, match="SAM_CACHE_BYTES"):
        disk_cache.trim()
