"""The tables and figures beside the published ones: those of the SAM paper, and cycles."""

import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from matplotlib import pyplot as plt

from experiments import __main__ as everything
from experiments import (
    convolution,
    cycles,
    figure11,
    figure12,
    figure13,
    figure14,
    figure15,
    figure16,
    figures,
    formats_study,
    queues,
    table1,
    table2,
)
from experiments.convolutions import growth, kernels
from sam.support import c_compiler as cc

reference = pytest.mark.skipif(
    not cycles.REFERENCE.exists(), reason="the published simulator's counts are not here"
)


def test_table_1_is_the_papers(tmp_path, capsys):
    assert table1.main(["--out", str(tmp_path)]) == 0
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
    arguments = ["--reference", str(changed), "--out", str(tmp_path)]
    assert table1.main(arguments) == 1


@reference
def test_cycles_agree_with_the_published_simulator():
    """The records of up to 6,000 cycles; ``experiments/cycles.py`` runs all of them."""
    seen = 0
    for record in cycles.records(cycles.REFERENCE):
        kernel = cycles.kernel_of(record.name)
        if kernel is None or record.cycles > cycles.QUICK_CYCLES:
            continue
        found = cycles.compare(record, kernel)
        assert found.verdict in ("agrees", "fewer"), found
        seen += 1
    assert seen >= 70


needs_compiler = pytest.mark.skipif(not cc.available(), reason="takes minutes without a compiler")


def _name(figure):
    return figure.__name__.rpartition(".")[2]


@pytest.fixture
def not_validated(monkeypatch):
    """Runs on the compiled engine, for validation would take minutes."""
    monkeypatch.delenv("SAM_VALIDATE", raising=False)


@pytest.mark.parametrize(
    "figure",
    [
        pytest.param(figure11, marks=needs_compiler),
        pytest.param(figure12, marks=needs_compiler),
        pytest.param(queues, marks=needs_compiler),
        figure13,
        figure14,
        pytest.param(figure16, marks=needs_compiler),
    ],
    ids=_name,
)
def test_a_figure_is_the_papers(figure, tmp_path, capsys, not_validated):
    name = _name(figure)
    assert figure.main(["--quick", "--out", str(tmp_path / "new")]) == 0
    told = capsys.readouterr().out
    assert "yes" in told
    assert "differs" not in told
    height, width, _ = plt.imread(tmp_path / "new" / f"{name}.png").shape
    assert height > 800
    assert width > 1200
    assert (tmp_path / "new" / f"{name}.pdf").read_bytes().startswith(b"%PDF")


@reference
def test_the_published_figures_here_are_those_of_the_reference():
    published = json.loads(cycles.REFERENCE.read_text())
    records = {
        record["name"]: record
        for record in published["records"]
        if record["name"].startswith(("fig13_", "paper_"))
    }
    assert {name: record["cycles"] for name, record in records.items()} == {
        name: figures.published(name) for name in figures.recorded("")
    }
    for record in records.values():
        for tensor, data in published["inputs"][record["inputs"]].items():
            name = record["inputs"]
            if "sddmm" in name:
                if tensor != "B":
                    continue
                name = name.rpartition("_K")[0]
            found = figures.pattern(f"{name}.{tensor}")
            assert found.shape == tuple(data["shape"])
            assert found.to_coo()[0].T.tolist() == data["coords"]


@pytest.mark.parametrize("vectors", ["random_0.6", "random_0.9875", "runs_50", "blocks_10"])
def test_the_published_bitvectors_are_made_of_coordinates_first(vectors):
    """That is why ours take fewer cycles: one less for each coordinate of the longer vector."""
    (stored,) = (one for one in figure13.STRUCTURES if one.record == "bv_w64")
    longest = max(figures.pattern(f"fig13_{vectors}.{name}").nnz for name in "bc")
    found = figure13.count(stored, vectors)
    assert found.right
    assert found.ours + longest == found.published - 2


@pytest.mark.parametrize(
    "vectors",
    [
        *("random_0.2", "random_0.6", "random_0.9", "random_0.99375", "runs_50", "runs_400"),
        *("blocks_1", "blocks_50", "blocks_100", "blocks_400"),
    ],
)
def test_the_published_scanners_are_told_a_cycle_later(vectors):
    """With two cycles until a scanner is told, ours take one cycle more than the published, as
    without skipping; with one cycle, they take no more than that."""
    (skips,) = (one for one in figure13.STRUCTURES if one.record == "crd_skip")
    found = figure13.count(skips, vectors)
    assert found.right
    assert found.ours == found.published + 1
    assert figure13.count(replace(skips, machine={}), vectors).ours <= found.ours


def test_a_count_that_differs_fails():
    agreeing = figures.Count("a", 1030, 1000, True)
    assert agreeing.verdict == "agrees"  # 2 % plus 10
    assert figures.compare("title", [agreeing]) == 0
    assert figures.compare("title", [replace(agreeing, ours=1031)]) == 1
    assert figures.compare("title", [replace(agreeing, ours=969)]) == 1
    assert figures.compare("title", [replace(agreeing, ours=969, fewer="no stalls")]) == 0
    assert figures.compare("title", [replace(agreeing, published=None)]) == 0
    assert figures.compare("title", [replace(agreeing, right=False)]) == 1


def test_a_claim_that_does_not_hold_fails():
    assert figures.tell([figures.Claim("more", "more", "yes")]) == 0
    assert figures.tell([figures.Claim("more", "less", "no")]) == 1


@needs_compiler
def test_unfused_cycles_are_those_of_two_programs(not_validated):
    """A product takes K data tokens and a stop for each entry of its result; sampling, one."""
    unfused = figure11.METHODS[0]
    point = figure11.measure(unfused, "ref250x100", 1)
    product, sampling = point.parts
    assert point.count.ours == product + sampling
    assert product == pytest.approx(250 * 100 * (1 + 1), rel=0.01)
    assert sampling == pytest.approx(250 * 100, rel=0.01)


@needs_compiler
def test_both_phases_of_outerspace_go_through_all_products(not_validated):
    """A multiplication a cycle, and a stop for each row of C; the merge reads all of them again."""
    found = figure16.measure("LFAT5")
    assert found.right
    B = figure16.factors("LFAT5")["B"].to_scipy()
    assert found.products == abs(B).sign().sum(axis=0) @ abs(B).sign().sum(axis=1)
    assert found.products + B.nnz <= found.phases[0] <= found.products + B.nnz + 20
    assert found.products + B.nnz <= found.phases[1] <= found.products + B.nnz + 20


@needs_compiler
def test_a_point_of_the_extensor_study(not_validated):
    """With 31 nonzeros in a tile none is empty: 8 x 8 x 8 pairs. All come from DRAM once."""
    found = figure15.measure({"nonzeros": 2000, "size": 1024})
    assert found["right"]
    assert found["pairs"] == 512
    assert found[figure15.SHORT] < found[figure15.PAPER]
    assert 2 * 2000 * (2 + 2) < found["dram"] < 2 * 2000 * (2 + 2) * 3


def study(cycles):
    """Points of one line of the study."""
    return {
        (5000, size): {figure15.PAPER: ours, figure15.SHORT: ours // 2, "pairs": 1}
        for size, ours in zip(figure15.SIZES, cycles, strict=False)
    }


def test_the_regions_of_the_extensor_study():
    rises_and_falls = study([100, 200, 300, 200, 150, 130, 120, 118, 117])
    assert [one.holds for one in figure15.claims(rises_and_falls)] == ["yes"] * 4
    rises = study([100, 200, 300, 400])
    assert [one.holds for one in figure15.claims(rises)][1:3] == ["no", "no"]
    assert figure15.claims(rises)[1].ours == "from there to 5,032 by 1.0 times"
    falls_faster = study([400, 390, 300, 100])
    assert [one.holds for one in figure15.claims(falls_faster)][:3] == ["no", "yes", "no"]
    panels_differ = {
        at: {**point, figure15.PAPER: 500 - at[1] // 100} for at, point in rises_and_falls.items()
    }
    assert figure15.claims(panels_differ)[0].holds == "in part"


def test_the_shares_of_a_stream_by_hand():
    """relat3 has 24 nonzeros, in 8 of its 12 rows: a stop for each of these, and a done."""
    found = figure14.measure("relat3", figure14.SHARED)
    assert found.right
    tokens = {level: {} for level in figure14.LEVELS}
    for level, shares in found.shares.items():
        tokens[level] = {token: share * found.cycles / 100 for token, share in shares.items()}
    assert tokens["inner"] == pytest.approx(
        {"data": 24, "stop": 8, "empty": 0, "done": 1, "idle": found.cycles - 33}
    )
    assert tokens["outer"] == pytest.approx(
        {"data": 8, "stop": 1, "empty": 0, "done": 1, "idle": found.cycles - 10}
    )


def test_a_stand_in_has_the_published_size_and_no_empty_row():
    found = figure14.stand_in("progas")
    assert (found.shape, found.nnz) == ((1650, 1900), 8897)
    assert len(np.unique(found.to_coo()[0][0])) == 1650
    assert (found.to_scipy() != figure14.stand_in("progas").to_scipy()).nnz == 0


def test_a_file_that_the_user_named_and_is_not_there(tmp_path, capsys):
    folder = tmp_path / "matrices"
    with pytest.raises(SystemExit) as left:
        figures.leave(lambda: figure14.main(["--data", str(folder), "--out", str(tmp_path)]))
    assert left.value.code == 2
    assert capsys.readouterr().err == (
        f"error: there is no file {folder}/suitesparse_reconstructed/bwm2000.mtx\n"
        "hint: without it, the matrix bwm2000 is left out\n"
    )


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """Without files that are not shipped: no folder ``shared`` beside the repository."""
    monkeypatch.setattr(cycles, "REFERENCE", tmp_path / "shared/cycles.json")
    monkeypatch.setattr(table2, "PROGRAMS", tmp_path / "shared/accepted.txt")
    monkeypatch.setattr(figure14, "SHARED", tmp_path / "shared")


def test_all_scripts_run_without_files_that_are_not_shipped(alone, tmp_path, capsys):
    """Large matrices, programs of users and the counts of other graphs are left out in words."""
    shared = tmp_path / "shared"
    assert cycles.main(["--quick", "--out", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert told.startswith(
        "All records but those of the figures are left out: "
        f"there is no file {shared}/cycles.json\n"
    )
    assert "fig13_random_0.6_crd " in told
    assert table2.main(["--out", str(tmp_path)]) == 0
    assert capsys.readouterr().out == (
        f"Table 2 is left out: there is no file {shared}/accepted.txt\n"
    )
    assert not figure14.is_there("G32", shared)
    assert figure14.is_there("relat3", shared)
    assert figure14.is_there("progas", shared)


def test_other_scripts_go_on_after_a_failure(tmp_path, capsys, monkeypatch):
    scripts = {
        "wrong": lambda argv: 1,
        "mistaken": lambda argv: cycles.main([*argv, "--reference", str(tmp_path / "no")]),
        "table1": table1.main,
    }
    monkeypatch.setattr(everything, "SCRIPTS", scripts)
    assert everything.main(["--quick", "--out", str(tmp_path)]) == 1
    shown = capsys.readouterr()
    assert "MTTKRP" in shown.out
    assert shown.out.endswith("2 of 3 failed: wrong, mistaken\n")
    assert shown.err.startswith(f"error: there is no file {tmp_path}/no\n")


def test_the_summary_counts_the_files_that_are_not_there(alone, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(figures, "missing", [])
    monkeypatch.setattr(everything, "SCRIPTS", {"table2": table2.main})
    assert everything.main(["--out", str(tmp_path)]) == 0
    told = f"All 1 passed, without 1 file; {tmp_path} has their tables and pictures\n"
    assert capsys.readouterr().out.endswith(told)


def test_a_spread_is_one_number_where_both_print_alike():
    assert figures.spread([2.87, 2.91, 2.9], ".1f") == "2.9"
    assert figures.spread(iter([0.5, 0.127]), ".0%") == "13% to 50%"


@reference
def test_a_part_of_table_2(tmp_path, capsys):
    assert table2.main(["--quick", "--out", str(tmp_path)]) in (0, 1)  # 1 where compiling is slow
    assert "coordinate dropper" in capsys.readouterr().out
    assert (tmp_path / "table2.csv").read_text().startswith("primitive removed,paper %,")


def test_convolutions(tmp_path, capsys):
    """The values; times and cycles of so small inputs bear nothing out."""
    convolution.main(["--quick", "--out", str(tmp_path)])
    assert "WRONG VALUES" not in capsys.readouterr().out
    rows = (tmp_path / "convolution.csv").read_text().splitlines()
    assert any(row.startswith('"SAM, input-stationary"') for row in rows)
    assert (tmp_path / "convolution_sam.png").exists()


def test_claims_on_convolutions():
    """Ahead of scipy at a density of 10 %; twice as long for a hundred times the places."""
    times = [
        kernels.Time("2-D, 3 x 3", "ss", "i,k,j,l", density, ours, 1.0, 2.0, True)
        for density, ours in ((0.3, 3.0), (0.1, 1.0))
    ]
    assert [one.holds for one in kernels.claims(times)] == ["yes"]
    assert [one.holds for one in growth.claims({"1-D": 2.0}, 40.0)] == ["no", "yes"]


@needs_compiler
def test_the_study_of_formats_is_right(tmp_path, capsys):
    """Its times are not looked at: this machine may do other work."""
    formats_study.main(["--quick", "--out", str(tmp_path)])
    told = capsys.readouterr().out
    assert "WRONG" not in told
    assert "Which format is most performant" in told
    assert (tmp_path / "formats_study.pdf").read_bytes().startswith(b"%PDF")
    rows = (tmp_path / "formats_study.csv").read_text().splitlines()
    ways = {row.split(",")[2] for row in rows if row.startswith("product,banded")}
    assert ways == {"COO", "CSR", "DCSR", "ELL", "DIA", "BCSR"}


def test_how_many_values_a_format_stores():
    """Five rows with 1, 1, 1, 1 and 2 entries, on two diagonals, in two blocks of four by four."""
    matrix = scipy.sparse.csr_array(np.eye(5) + np.diag([0, 0, 0, 1], -1))
    stored = {one.name: formats_study.values(one.name, matrix) for one in formats_study.STORAGES}
    assert stored == {"COO": 6, "CSR": 6, "DCSR": 6, "ELL": 10, "DIA": 10, "BCSR": 48}


def test_a_claim_of_the_formats_paper_holds_wholly_in_part_or_not():
    """One format is the fastest for all matrices, and diagonals are slow even on stencils."""
    seconds = {"COO": 2.0, "CSR": 1.0, "DCSR": 1.0, "ELL": 2.0, "DIA": 3.0}
    points = [
        formats_study.Point(part, name, way, took, 1)
        for part, names in {
            "product": ("banded", "spread"),
            "stencil": ("3 points", "27 points"),
        }.items()
        for name in names
        for way, took in seconds.items()
    ]
    more = [("conversion", name, "CSR, a kernel", 3.0) for name in ("banded", "spread")]
    more += [("mixed", "COO + CSR", way, 1.0) for way in ("as they are", "conversion", "both CSR")]
    more += [("vector", f"100 to a row, x {d:g}", "array", 1.0) for d in formats_study.DENSITIES]
    points += [formats_study.Point(*one, 1) for one in more]
    holds = [claim.holds for claim in formats_study.claims(points)]
    assert holds == ["in part", "yes", "no", "yes", "no", "yes", "in part", "yes"]
