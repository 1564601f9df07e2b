"""The page: what it does in Chromium, and that the server answers strangers and junk, and lives."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from urllib.parse import parse_qs, urlparse

import pytest

pytest.importorskip("starlette", reason="starlette is not installed")
pytest.importorskip("uvicorn", reason="uvicorn is not installed")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
COMMAND = [
    sys.executable,
    "-c",
    "import sys; from custard.cli.command import main; sys.exit(main())",
]
SPMV = {"expression": "y(i) = A(i,j) * x(j)", "inputs": {"A": "@sample", "x": "@dense"}}


class Server:
    """A server that was started, and requests to it."""

    def __init__(self, address):
        self.address, parts = address, urlparse(address)
        self.port, [self.token] = parts.port, parse_qs(parts.query)["token"]

    def ask(self, path, data=None, method=None, headers=None, token=None):
        """The status and the answer, as an object where it is JSON."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        body = json.dumps(data).encode() if isinstance(data, dict) else data
        sent = {"X-Token": self.token if token is None else token, **(headers or {})}
        try:
            connection.request(method or ("POST" if body is not None else "GET"), path, body, sent)
            answered = connection.getresponse()
            text = answered.read().decode()
        finally:
            connection.close()
        is_json = answered.headers.get_content_type() == "application/json"
        return answered.status, json.loads(text) if is_json else text

    def run(self, request):
        """The answer of a run."""
        status, started = self.ask("/api/jobs", request)
        assert status == 200, started
        while True:
            _, found = self.ask(f"/api/jobs/{started['job']}")
            if found["state"] != "running":
                return found, started["job"]
            time.sleep(0.1)


@pytest.fixture(scope="module")
def server():
    started = subprocess.Popen(
        [*COMMAND, "serve", "--no-browser"], stdout=subprocess.PIPE, text=True, env=os.environ
    )
    try:
        address = started.stdout.readline().removeprefix("the page is at ").strip()
        found = Server(address)
        for _ in range(100):
            try:
                found.ask("/api/words")
                break
            except ConnectionError:
                time.sleep(0.1)
        yield found
        assert started.poll() is None, "the server has ended"
    finally:
        started.send_signal(signal.SIGINT)
        try:
            started.wait(15)
        except subprocess.TimeoutExpired:
            started.kill()
            raise


def cycles_of(command, folder):
    """The cycles of a command that the page has told."""
    words = shlex.split(command)
    assert words[0] == "custard"
    done = subprocess.run(
        [*COMMAND, *words[1:], "--json"], capture_output=True, text=True, cwd=folder, check=True
    )
    return json.loads(done.stdout)["cycles"]


def test_a_run_and_its_command(server, tmp_path):
    found, job = server.run(SPMV)
    assert found["state"] == "done"
    assert cycles_of(found["command"], tmp_path) == found["cycles"]
    status, page = server.ask(f"/api/jobs/{job}/report")
    assert status == 200
    assert f"{found['cycles']:,} cycles" in page


def test_a_compiled_program_is_shown(server):
    _, found = server.ask("/api/compile", {**SPMV, "formats": {"A": "CSR"}})
    assert found["inputs"] == {"A": 2, "x": 1}
    assert found["formats"]["A"] == "ds:0,1"
    assert len(found["graphs"]) == 1
    _, found = server.ask("/api/compile", {**SPMV, "target": "c"})
    assert "for (" in found["source"]


def test_an_uploaded_file(server, tmp_path):
    text = b"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 2\n"
    status, kept = server.ask("/api/uploads/a%20b.mtx", text, "PUT")
    assert (status, kept["name"], kept["bytes"]) == (200, "a b.mtx", len(text))
    inputs = {"A": f"@upload:{kept['upload']}", "x": "@dense"}
    found, _ = server.run({**SPMV, "inputs": inputs})
    assert found["state"] == "done"
    assert cycles_of(found["command"], tmp_path) == found["cycles"]


def test_mistakes_are_answers(server):
    _, found = server.ask("/api/compile", {"expression": "y(i) = A(i,j"})
    assert "^" in found["error"]
    found, _ = server.run({**SPMV, "inputs": {"A": "/etc/passwd", "x": "@dense"}})
    assert found["state"] == "failed"
    assert '"/etc/passwd" is not an input for A' in found["error"]
    found, _ = server.run({**SPMV, "config": "/etc/passwd"})
    assert "there is no shipped config" in found["error"]
    status, found = server.ask("/api/compile", {"expression": "--help"})
    assert found["error"] == "an expression begins with the tensor that it computes"
    status, found = server.ask("/api/compile", b"\xff\xfe no json")
    assert (status, found["error"]) == (400, "the request is not a JSON object, or is too large")
    status, found = server.ask("/api/compile", {"expression": "y" * 300_000})
    assert status == 400
    assert server.ask("/api/jobs/none")[0] == 404


def test_files_that_are_no_tensors(server):
    junk = os.urandom(10_000_000)
    status, found = server.ask("/api/uploads/junk.exe", junk, "PUT")
    assert status == 400
    assert found["error"].startswith("junk.exe is not a file of a tensor")
    status, kept = server.ask("/api/uploads/junk.mtx", junk, "PUT")
    assert status == 200
    inputs = {"A": f"@upload:{kept['upload']}", "x": "@dense"}
    found, _ = server.run({**SPMV, "inputs": inputs})
    assert found["state"] == "failed"
    assert "junk.mtx" in found["error"]
    status, found = server.ask("/api/uploads/large.mtx", bytes(70 * 2**20), "PUT")
    assert (status, found["error"]) == (413, "large.mtx has more than 64 MiB")


def test_requests_of_strangers_are_refused(server):
    assert server.ask("/", token="")[0] == 403
    assert server.ask("/api/words", token="wrong") == (
        403,
        "the token is missing or wrong: use the address that custard serve printed\n",
    )
    status, text = server.ask("/api/words", headers={"Origin": "http://example.org"})
    assert (status, text) == (403, "another page asks, and may not\n")
    status, text = server.ask("/api/words", headers={"Host": "example.org"})
    assert (status, text) == (403, "this server answers only to 127.0.0.1\n")


def test_fifty_requests_at_once(server):
    with ThreadPoolExecutor(50) as pool:
        compiled = list(pool.map(lambda _: server.ask("/api/compile", SPMV), range(50)))
        started = list(pool.map(lambda _: server.ask("/api/jobs", SPMV), range(50)))
    assert {status for status, _ in compiled} == {200}
    assert {status for status, _ in started} <= {200, 429}
    for status, found in started:
        assert "job" in found if status == 200 else found["error"].startswith("too many runs")
    for status, found in started:
        if status == 200:
            server.ask(f"/api/jobs/{found['job']}", method="DELETE")
    found, _ = server.run(SPMV)
    assert found["state"] == "done"


def test_a_run_is_cancelled(server):
    slow = {
        "expression": "X(i,j) = B(i,k) * C(k,j)",
        "inputs": {"B": "@random(0.5)", "C": "@random(0.5)"},
        "dims": "i=2000,j=2000,k=2000",
    }
    _, started = server.ask("/api/jobs", slow)
    time.sleep(1)
    begun = time.perf_counter()
    assert server.ask(f"/api/jobs/{started['job']}", method="DELETE")[1] == {"state": "cancelled"}
    assert time.perf_counter() - begun < 10
    _, found = server.ask(f"/api/jobs/{started['job']}")
    assert (found["state"], found["error"]) == ("failed", "the run was cancelled")
    found, _ = server.run(SPMV)
    assert found["state"] == "done"


@pytest.mark.parametrize("width", [1280, 390])
def test_in_chromium(server, tmp_path, width):
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": width, "height": 900})
        mistakes = []
        page.on("console", lambda said: mistakes.append(said.text) if said.type == "error" else 0)
        page.on("pageerror", lambda error: mistakes.append(str(error)))
        page.goto(server.address)
        page.fill("#expression", "y(i) = A(i,j")
        playwright.expect(page.locator("#mistake")).to_contain_text("^", timeout=20_000)
        page.fill("#expression", SPMV["expression"])
        playwright.expect(page.locator("#mistake")).to_be_hidden(timeout=20_000)
        page.wait_for_selector("#graph svg", timeout=20_000)
        page.fill("#format-A", "CSR")
        page.select_option("#input-A", "@sample")
        page.select_option("#input-x", "@dense")
        page.click("#schedule")
        page.keyboard.type("reor")
        page.click("text=reorder(")
        page.keyboard.type("i,j)")
        page.click("#run")
        playwright.expect(page.locator("#state")).to_contain_text("cycles", timeout=60_000)
        cycles = int(re.sub(r"\D", "", page.inner_text("#state")))
        report = page.frame_locator("iframe")
        report.locator("[aria-label='One cycle on']").click(timeout=20_000)
        playwright.expect(report.locator(".cycle")).to_have_text(f"cycle 1 of {cycles - 1:,}")
        report.locator("[aria-label='Cycles per second']").select_option("1000")
        report.locator("[aria-label='Play']").click()
        later = re.compile(r"^cycle (?!1 )\S+ of")
        playwright.expect(report.locator(".cycle")).to_have_text(later, timeout=20_000)
        with page.expect_download() as download:
            page.click("#download")
        command = download.value.path().read_text().splitlines()[1]
        assert "-s=reorder(i,j)" in command
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.screenshot(path=str(tmp_path / "page.png"), full_page=True)
        page.fill("#schedule", "")
        page.fill("#expression", "z(i) = a * x(i)")
        page.fill("#input-a", "2.5", timeout=20_000)
        now = page.locator("#command")
        due = "custard 'z(i) = a * x(i)' -i x=@dense -i a=2.5"
        playwright.expect(now).to_have_value(due, timeout=20_000)
        assert page.get_attribute("#format-x", "placeholder") == "s:0"
        assert page.get_attribute("#format-a", "placeholder") == "scalar"
        assert mistakes == []
        browser.close()
    assert cycles_of(command, tmp_path) == cycles
