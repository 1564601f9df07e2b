"""``custard cache``."""

from custard.cli.cache import main
from sam.support import disk_cache


def test_the_cache_is_listed_and_cleared(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(disk_cache, "folder", lambda: tmp_path)
    monkeypatch.setattr(disk_cache, "usage", lambda: (2, 2048))
    monkeypatch.setattr(disk_cache, "clear", lambda: (1, 1024))
    monkeypatch.setattr(disk_cache, "most_bytes", lambda: 2**30)
    assert main([]) == 0
    assert capsys.readouterr().out == f"2 entries, 2 KiB of at most 1 GiB, in {tmp_path}\n"
    assert main(["--clear"]) == 0
    assert capsys.readouterr().out == f"1 entry, 1 KiB, removed from {tmp_path}\n"
