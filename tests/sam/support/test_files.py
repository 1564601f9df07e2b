"""Files that are written whole or not at all."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sam.support.errors import UserError
from sam.support.files import clear_left, require_folder, write_whole, written_whole


def refused(call, *arguments):
    with pytest.raises(UserError) as error:
        call(*arguments)
    return str(error.value)


def test_text_and_bytes_replace_the_old_file(tmp_path):
    path = tmp_path / "a"
    write_whole(path, b"\0\xff")
    assert path.read_bytes() == b"\0\xff"
    write_whole(str(path), "λ\n")
    assert path.read_bytes() == "λ\n".encode()
    assert os.listdir(tmp_path) == ["a"]


def test_a_long_name(tmp_path):
    write_whole(tmp_path / ("a" * 250), "text")
    assert os.listdir(tmp_path) == ["a" * 250]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to("file")
    write_whole(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"


def test_a_path_that_is_no_regular_file_is_written_directly(tmp_path):
    write_whole(os.devnull, "text")
    assert Path(os.devnull).is_char_device()
    assert refused(write_whole, tmp_path, "text") == f"cannot write {tmp_path}: it is a folder"


def test_files_of_writers_that_were_killed_are_cleared(tmp_path):
    """Not those that are being written, and none of another name."""
    killed = "import os, sys; from sam.support.files import written_whole\n"
    killed += "with written_whole(sys.argv[1]): os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", killed, tmp_path / "a"], check=False)
    (left,) = tmp_path.iterdir()
    (tmp_path / ".notes.tmp").write_text("mine")
    with written_whole(tmp_path / "b") as beside:
        beside.write_text("whole")
        clear_left(tmp_path)
        assert {*tmp_path.iterdir()} == {beside, tmp_path / ".notes.tmp"}
    assert left not in tmp_path.iterdir()
    assert (tmp_path / "b").read_text() == "whole"


def test_a_failure_leaves_the_old_file(tmp_path, monkeypatch):
    (tmp_path / "a").write_text("old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    assert refused(write_whole, tmp_path / "a", "new") == (
        f"cannot write {tmp_path}/a: No space left on device"
    )
    assert os.listdir(tmp_path) == ["a"]
    assert (tmp_path / "a").read_text() == "old"


def test_a_folder_that_does_not_exist(tmp_path):
    require_folder("a")
    require_folder(tmp_path / "a")
    for call in (require_folder, lambda path: write_whole(path, "")):
        assert refused(call, tmp_path / "no" / "a") == (
            f"cannot write {tmp_path}/no/a: there is no folder {tmp_path}/no"
        )


def test_a_folder_that_takes_no_files(tmp_path, monkeypatch):
    """Root may write everywhere, so the system's answer is made up; a file in it may be there."""
    (tmp_path / "old").touch()
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    why = f"cannot write {tmp_path}/new: the folder {tmp_path} takes no new files"
    assert refused(require_folder, tmp_path / "new") == why
    require_folder(tmp_path / "old")


def test_a_name_that_no_file_can_have(tmp_path):
    assert "embedded null" in refused(write_whole, tmp_path / "a\0b", "")


def test_a_file_that_is_written_piece_by_piece(tmp_path):
    """It changes at the end, and stays as it was after an error or Ctrl-C."""
    path = tmp_path / "a"
    path.write_text("old")
    with written_whole(path) as place:
        place.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"

    def interrupted():
        with written_whole(path) as place:
            place.write_text("half")
            raise KeyboardInterrupt

    def full():
        with written_whole(path):
            raise OSError(28, "No space left on device")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert (path.read_text(), os.listdir(tmp_path)) == ("new", ["a"])
    assert refused(full) == f"cannot write {path}: No space left on device"
    assert (path.read_text(), os.listdir(tmp_path)) == ("new", ["a"])


def test_a_device_is_written_piece_by_piece():
    with written_whole("/dev/null") as place:
        assert place == Path("/dev/null")
        place.write_text("gone")
