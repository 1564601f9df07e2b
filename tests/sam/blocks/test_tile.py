"""Tile loaders and releasers (Section 4.1)."""

from tests.support.streams import check_block, run_block

PLACE = {"slot": "B", "level": 1, "from": None, "memory": "peb"}
LOADER = {**PLACE, "depth": 1, "buffers": 2, "room": None}


def load(references, releases):
    check_block(
        "tile_loader",
        LOADER,
        {"in_ref": references, "in_release": releases},
        {"ref": references},
        tensors={"B": [[1, 2], [3, 4]]},
    )


def test_references_go_on_as_they_are():
    load("0, 1, 0, S0, D", "0, 0, 0, S0, D")
    load("0, N, 1, S0, D", "0, 0, 0, S0, D")
    load("S0, D", "S0, D")
    load("D", "S0, D")


def test_a_tile_beyond_the_buffers_waits_for_a_release():
    """Releases come in cycles 0, 50 and so on; the first makes room for a third tile."""

    def last(references):
        run = run_block(
            "tile_loader",
            LOADER,
            {"in_ref": references, "in_release": "0, 0, 0, S0, D"},
            tensors={"B": [[1, 2], [3, 4]]},
            overrides={"blocks.names.in_release.initiation_interval_cycles": 50},
        ).run
        return run.cycles - run.blocks["ref"].done - 1

    assert last("0, 1, 0, S0, D") < 10
    assert 50 < last("0, 1, 0, 1, S0, D") < 60
    assert 100 < last("0, 1, 0, 1, 0, S0, D") < 110


def test_each_tile_is_released_once():
    def check(values, due, depth, levels):
        parameters = {"depth": depth, "levels": levels}
        check_block("tile_releaser", parameters, {"in_stream": values}, {"release": due})

    check("5, 6, S0, 7, S1, D", "0, 0, S0, D", 2, 1)
    check("5, 6, S0, 7, S1, D", "0, S0, D", 2, 2)
    check("S0, 5, S0, S1, D", "0, 0, 0, S0, D", 2, 1)
    check("D", "S0, D", 2, 1)
