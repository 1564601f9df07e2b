"""``custard size``: what it prints and saves."""

import json

import yaml

from custard.cli.command import main

SPMV = ["y(i)=A(i,j)*x(j)", "-i", "A=@random(0.5)", "-i", "x=@dense", "--dims=i=5,j=5"]


def test_the_config_is_printed_or_saved(tmp_path, capsys):
    assert main(["size", *SPMV, "--engine=simpy"]) == 0
    printed = capsys.readouterr().out
    first, second, *_ = printed.splitlines()
    assert first.endswith("where queues are unbounded")
    assert second.endswith(" cycles, none more than unbounded")
    read = yaml.safe_load(printed)
    assert read["name"] == "ideal-sized"
    saved = tmp_path / "sized.yaml"
    assert main(["size", *SPMV, "--engine=simpy", "--save", str(saved)]) == 0
    assert yaml.safe_load(saved.read_text()) == read
    assert capsys.readouterr().out.splitlines()[2] == f"the config is in {saved}"
    assert main([*SPMV, "--config", str(saved), "--json", "-"]) == 0
    run = json.loads(capsys.readouterr().out)
    assert f"{run['cycles']:,} cycles" in second


def test_slack(capsys):
    counts = {}
    for slack in ("0%", "10%"):
        assert main(["size", *SPMV, "--engine=simpy", f"--slack={slack}", "--json", "-"]) == 0
        counts[slack] = json.loads(capsys.readouterr().out)
    assert counts["10%"]["words"] <= counts["0%"]["words"]
    assert counts["0%"]["cycles"] == counts["0%"]["fewest"]
    assert counts["10%"]["cycles"] <= 1.1 * counts["0%"]["fewest"]


def test_mistakes(capsys):
    assert main(["size", *SPMV, "--slack", "much"]) == 2
    assert '--slack is "much", which is not a share' in capsys.readouterr().err
    assert main(["size", *SPMV, "--slack", "1"]) == 2
    error = '--slack is "1", which is not a share\nhint: --slack 1% or --slack 100%\n'
    assert error in capsys.readouterr().err
    assert main(["size", *SPMV, "--slack"]) == 2
    assert "argument --slack: expected one argument" in capsys.readouterr().err
    assert main(["size", *SPMV, "-q"]) == 2
    error = "-q leaves nothing to print\nhint: --save FILE writes the config\n"
    assert error in capsys.readouterr().err
    assert main(["size", *SPMV, "--target=c"]) == 2
    assert "size has no meaning on target c" in capsys.readouterr().err
