"""Dense levels."""

from tests.support.writers import DENSE, FIGURE_1, VALUES, check, check_references, level


def test_figure_1_dense_rows_and_compressed_columns():
    check(
        "ds",
        (4, 4),
        FIGURE_1,
        VALUES,
        stored=[None, ([0, 1, 3, 3, 5], [1, 0, 2, 1, 3])],
        values=[1, 2, 3, 4, 5],
    )


def test_figure_1_compressed_rows_and_dense_columns():
    check(
        "sd",
        (4, 4),
        FIGURE_1,
        VALUES,
        stored=[([0, 3], [0, 1, 3]), None],
        values=[*DENSE[0], *DENSE[1], *DENSE[3]],
    )


def test_figure_1_dense_rows_and_columns():
    check(
        "dd",
        (4, 4),
        FIGURE_1,
        VALUES,
        stored=[None, None],
        values=[value for row in DENSE for value in row],
    )


def test_dense_rows_may_have_empty_fibers_anywhere():
    for crds, val, segments in (
        (["0, 1, 2, S0, D", "S0, 1, S0, 2, S1, D"], "S0, 7, S0, 8, S1, D", [0, 0, 1, 2]),
        (["0, 1, 2, S0, D", "1, S0, S0, 2, S1, D"], "7, S0, S0, 8, S1, D", [0, 1, 1, 2]),
        (["0, 1, 2, S0, D", "1, S0, 2, S0, S1, D"], "7, S0, 8, S0, S1, D", [0, 1, 2, 2]),
        (["1, 2, S0, D", "1, S0, 2, S1, D"], "7, S0, 8, S1, D", [0, 0, 1, 2]),
    ):
        stored = [None, (segments, [1, 2])]
        check("ds", (3, 4), crds, val, stored=stored, values=[7, 8])


def test_references_to_dense_coordinates_are_positions():
    check_references(
        level("d", by_reference=False, number=0), {"in_crd": "4, 7, S0, D"}, "4, 7, S0, D"
    )
    check_references(
        level("d", by_reference=True),
        {"in_crd": "4, S0, S0, 0, 2, S1, S2, D", "in_ref": "3, 5, 9, S0, S1, D"},
        "34, S0, S0, 90, 92, S1, S2, D",
    )
