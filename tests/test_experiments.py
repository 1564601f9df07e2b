"""The tables beside the published ones: primitives (Table 1 of the SAM paper) and cycles."""

import json

import pytest

from experiments import cycles, table1

reference = pytest.mark.skipif(
    not cycles.REFERENCE.exists(), reason="the published simulator's counts are not here"
)


def test_table_1_is_the_papers(tmp_path, capsys):
    assert table1.main(["--output", str(tmp_path / "table1.csv")]) == 0
    assert "MTTKRP" in capsys.readouterr().out
    rows = (tmp_path / "table1.csv").read_text().splitlines()
    assert 'SpMV,"x(i)=B(i,j)*c(j)",ij,coordinate_dropper,1,1' in rows


def test_the_droppers_that_the_paper_leaves_open_follow_from_the_loop_order():
    rows = {row.order: row for row in table1.rows() if row.name == "SpM*SpM"}
    droppers = {order: row.ours.get("coordinate_dropper", 0) for order, row in rows.items()}
    assert droppers == {"ijk": 2, "jik": 2, "ikj": 1, "jki": 1, "kij": 0, "kji": 0}


def test_a_wrong_count_fails(tmp_path, capsys):
    table = json.loads(table1.REFERENCE.read_text())
    table["table1"]["rows"]["SpMV"][1] += 1
    changed = tmp_path / "tables.json"
    changed.write_text(json.dumps(table))
    arguments = ["--reference", str(changed), "--output", str(tmp_path / "table1.csv")]
    assert table1.main(arguments) == 1


@reference
def test_cycles_agree_with_the_published_simulator():
    """The records of up to 6,000 cycles; ``experiments/cycles.py`` runs all of them."""
    published = json.loads(cycles.REFERENCE.read_text())
    seen = 0
    for record in published["records"]:
        kernel = cycles.kernel_of(record["name"])
        if kernel is None or record["cycles"] > 6000:
            continue
        found = cycles.compare(record, published["inputs"][record["inputs"]], kernel)
        assert found.verdict in ("agrees", "fewer"), found
        seen += 1
    assert seen >= 70
