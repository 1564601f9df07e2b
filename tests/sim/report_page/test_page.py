"""The page about a run, in Chromium: it opens, says what the run says, and plays its tokens."""

import json
import re
import shutil
import time

import numpy as np
import pytest

import custard
import sim
from sim.attribution.log import Log
from sim.report_page.player import MOST_CYCLES
from sim.report_page.timeline import states

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def spmv(overrides=None):
    program = custard.compile("y(i) = A(i,j) * x(j)", {"A": "ss", "x": "s", "y": "s"})
    matrix = np.zeros((6, 8))
    matrix.flat[::3] = 2.5
    return program.simulate({"A": matrix, "x": np.arange(1.0, 9)}, overrides=overrides)


MEMORY = {"memory.levels": [{"name": "DRAM", "latency_cycles": 9, "bandwidth_gb_per_s": 4}]}


def wide(blocks):
    """A sum of so many terms that the graph has at least as many blocks."""
    terms = " + ".join(f"b{n}(i)" for n in range(blocks // 2))
    program = custard.compile(f"x(i) = {terms}")
    return program.simulate({f"b{n}": np.ones(9) for n in range(blocks // 2)})


def test_the_page_is_whole():
    text = spmv(MEMORY).to_html(explained=False)
    assert not re.findall(r'(?:src|href)="(?!data:|#)', text)
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S).group(1))
    [graph] = data["graphs"]
    run = spmv(MEMORY)
    assert graph["cycles"] == run.cycles
    assert sum(cycles for _, _, cycles in graph["path"]) == run.cycles
    for parts in (block["parts"] for block in graph["blocks"].values()):
        assert sum(parts.values()) == run.cycles


def test_the_page_has_the_settings_that_make_its_machine():
    text = spmv({**MEMORY, "queues.depth": 8}).to_html(explained=False)
    [settings] = re.findall(r"Settings that differ from an ideal machine.*?</table>", text, re.S)
    found = dict(re.findall(r'<th scope="row">(.*?)</th><td>(.*?)</td>', settings))
    assert found["queues.depth"] == "8"
    assert found["memory.levels.DRAM.latency_cycles"] == "9"
    assert not any(key.startswith(("blocks", "clock", "name")) for key in found)
    assert "Settings that" not in spmv().to_html(explained=False)


def test_names_of_the_user_are_text():
    program = custard.compile("y(i) = x(i)")
    run = program.simulate({"x": np.ones(3)}, attribution=True)
    run.about["notes"].append("</script><img src=x onerror=alert(1)>")
    text = run.to_html(explained=False)
    assert "<img" not in text
    assert "&lt;/script&gt;&lt;img" in text


def test_a_graph_of_a_hundred_blocks_is_small():
    run = wide(110)
    assert len(run.blocks) > 100
    assert len(run.to_html(explained=False)) < 3_000_000


def test_a_long_run_is_not_played():
    program = custard.compile("x(i) = b(i)")
    run = program.simulate({"b": np.ones(MOST_CYCLES)})
    assert "The player shows runs of up to 20,000 cycles." in run.to_html(explained=False)


def test_a_graph_by_itself_and_a_file(tmp_path):
    program = custard.compile("x = b(i) * c(i)")
    run = sim.simulate(program.graph, {"b": np.ones(4), "c": np.ones(4)})
    text = run.to_html(tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text() == text
    assert "What would help" in text


def test_several_graphs():
    program = custard.compile(
        "y(i) = A(i,j) * x(j)",
        {"A": "ss", "x": "s", "w": "ds"},
        ["precompute(A(i,j) * x(j), j, jw, w)"],
    )
    text = program.simulate({"A": np.eye(3), "x": np.ones(3)}).to_html(explained=False)
    assert "Graph 1 of 2" in text
    assert "The player shows programs of one graph." in text


def test_lanes_have_one_row():
    program = custard.compile(
        "y(i) = A(i,j) * x(j)", {"A": "ss", "x": "s"}, ["parallelize(i,Lanes,4)"]
    )
    matrix = np.ones((8, 6))
    matrix[1::4] = 0
    text = program.simulate({"A": matrix, "x": np.ones(6)}).to_html(explained=False)
    assert "scan_A_j x4" in text
    assert re.search(r"scan_A_j x4.*?\d+ % \(\S+ % to \d+ %\)", text, re.S)
    assert "Each lane by itself" in text


def test_states_over_time_add_up():
    run = spmv(MEMORY).attributed
    log: Log = run.log
    edges = np.append(np.arange(0, run.cycles, 7), run.cycles)
    for n, name in enumerate(log.blocks):
        found = states(log, n, edges)
        assert all((part >= 0).all() for part in found.values())
        assert (sum(found.values()) == np.diff(edges)).all()
        block = run.blocks[name]
        assert found["busy"].sum() == block.busy
        assert found["starved"].sum() == sum(block.starved.values())
        assert found["memory"].sum() == block.memory


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_in_chromium(browser, tmp_path, width, scheme):
    from playwright.sync_api import expect

    run = spmv(MEMORY)
    run.to_html(tmp_path / "r.html", explained=False)
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
    )
    page = context.new_page()
    mistakes = []
    page.on("console", lambda said: mistakes.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: mistakes.append(str(error)))
    page.goto((tmp_path / "r.html").as_uri())
    assert f"{run.cycles:,} cycles" in page.inner_text(".sentence")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    page.click('.block[data-block="multiply"]')
    assert "multiply: alu" in page.inner_text(".details")
    page.focus('.stream[data-edge="multiply.val -> reduce_j.in_val"]')
    page.keyboard.press("Enter")
    assert "multiply.val -> reduce_j.in_val" in page.inner_text(".details")

    products = run.blocks["multiply"].fired
    page.select_option("[aria-label='Block whose firing to go to']", "multiply")
    page.fill("[aria-label='Number of the firing']", str(products))
    page.click("text=Go to firing")
    last = run.cycles - run.attribution["multiply"].done - 1
    assert page.inner_text(".cycle") == f"cycle {last} of {run.cycles - 1}"
    page.click("[aria-label='One cycle back']")
    assert page.inner_text(".cycle") == f"cycle {last - 1} of {run.cycles - 1}"

    page.fill("[aria-label='Cycle']", "1")
    shown = page.locator(".token text").all_text_contents()
    assert "0" in shown
    page.select_option("[aria-label='Cycles per second']", "1000")
    page.click("[aria-label='Play']")
    end = re.compile(f"^cycle {run.cycles - 1} ")
    expect(page.locator(".cycle")).to_have_text(end, timeout=20_000)
    assert mistakes == []
    context.close()


def test_a_hundred_blocks_open_soon(browser, tmp_path):
    wide(110).to_html(tmp_path / "r.html", explained=False)
    page = browser.new_page()
    started = time.perf_counter()
    page.goto((tmp_path / "r.html").as_uri())
    assert page.locator(".block").count() > 100
    assert time.perf_counter() - started < 6  # 2 s on a machine that does nothing else
    page.close()
