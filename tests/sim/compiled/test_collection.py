"""Garbage collection is as it was before."""

import gc

import pytest

from sim.compiled.collection import no_collection


@pytest.mark.parametrize("on", [True, False])
def test_collection_is_off_inside_and_restored_afterwards(on):
    was = gc.isenabled()
    try:
        (gc.enable if on else gc.disable)()
        with no_collection():
            assert not gc.isenabled()
        assert gc.isenabled() == on
        with pytest.raises(ValueError, match="failed"), no_collection():
            raise ValueError("failed")
        assert gc.isenabled() == on
    finally:
        (gc.enable if was else gc.disable)()
