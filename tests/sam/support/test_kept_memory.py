"""Freed arrays are kept for the next ones."""

from tests.support.page_faults import faults, needs_glibc


@needs_glibc
def test_the_next_arrays_take_no_new_pages():
    kept = faults("from sam.support.kept_memory import keep_freed; keep_freed()")
    assert kept < 100 < 4000 < faults("")


@needs_glibc
def test_what_the_user_has_set_stays():
    keep = "from sam.support.kept_memory import keep_freed; keep_freed()"
    assert faults(keep, MALLOC_TRIM_THRESHOLD_="131072") > 4000
