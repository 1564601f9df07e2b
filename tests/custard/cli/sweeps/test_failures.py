"""Failures of points, by kind."""

from custard.cli.sweeps.failures import by_kind


def test_errors_that_differ_in_numbers_are_of_one_kind():
    failed = [
        ("a", "deadlock after cycle 50: 7 blocks wait for each other"),
        ("b", "cannot read west0067.mtx"),
        ("c", "deadlock after cycle 1,728: 5 blocks wait for each other"),
        ("d", "cannot read west0479.mtx"),
        ("e", "deadlock after cycle 9: 4 blocks wait for each other\n  scan_B_i waits"),
    ]
    assert by_kind(failed) == [
        ("a, and 2 more alike", "deadlock after cycle 50: 7 blocks wait for each other"),
        ("b", "cannot read west0067.mtx"),
        ("d", "cannot read west0479.mtx"),
    ]
