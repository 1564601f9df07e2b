"""What is shown on a terminal while something takes long."""

from rich.console import Console

from custard.cli import progress as progress_shown


def test_progress_is_for_terminals_and_long_runs(monkeypatch):
    progress = progress_shown.Progress()
    monkeypatch.setattr(progress_shown.time, "perf_counter", lambda: progress.started + 2)
    progress(8192)
    assert progress.status is None
    progress.console = Console(stderr=True, force_terminal=True)
    with progress:
        progress(8192)
        assert progress.status.status == "8,192 cycles, 4,096 cycles/s"


def test_compilation_is_shown_at_once_on_terminals(monkeypatch):
    progress = progress_shown.Progress()
    progress.compiling(12)
    assert progress.status is None
    progress.console = Console(stderr=True, force_terminal=True)
    progress.compiling(12)
    assert progress.status.status == "compiling 12 kernels, once on this machine"
    monkeypatch.setattr(progress_shown.time, "perf_counter", lambda: 1000.0)
    progress.compiling(0)
    assert (progress.status, progress.started) == (None, 1000.0)


def test_a_run_that_is_tried_is_told_by_itself(monkeypatch):
    """Cycles per second are those since the trial began."""
    progress = progress_shown.Progress()
    progress.console = Console(stderr=True, force_terminal=True)
    monkeypatch.setattr(progress_shown.time, "perf_counter", lambda: 1000.0)
    with progress:
        progress.trying("more ports")
        assert progress.status.status == "trying more ports"
        monkeypatch.setattr(progress_shown.time, "perf_counter", lambda: 1002.0)
        progress(500)
        assert progress.status.status == "trying more ports: 500 cycles, 250 cycles/s"


def test_what_has_ended_shows_nothing():
    """A run keeps its progress for reruns, which may come after it has ended."""
    progress = progress_shown.Progress()
    progress.console = Console(stderr=True, force_terminal=True)
    with progress:
        progress.trying("more ports")
    progress.show("late")
    assert progress.status is None
    with progress:
        assert progress.what == ""
        progress.show("in time")
        assert progress.status.status == "in time"
