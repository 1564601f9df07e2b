"""The server: its guard against strangers, its routes, and the runs that it keeps.

It is for the user of this machine alone. A request needs the token that the URL of the page has, a
``Host`` that is this machine, and no ``Origin`` but the page's own.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import secrets
import tempfile
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from custard.cli.serve.jobs import Busy, Worker
from custard.cli.serve.work import answer, words_to_complete

MOST_UPLOADED, MOST_REQUEST = 64 * 2**20, 256 * 2**10
_KEPT_JOBS, _KEPT_UPLOADS = 20, 20
_COMPILE_SECONDS, _RUN_SECONDS = 20.0, 120.0
_SUFFIXES = (".mtx", ".tns", ".mtx.gz", ".tns.gz", ".npz", ".npy", ".mat", ".rb", ".smtx")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "img-src data:; frame-src 'self' blob:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; "
    "frame-ancestors 'self'; sandbox allow-scripts allow-modals"
)


@dataclass
class Job:
    """A run that was asked for."""

    task: asyncio.Task[dict[str, Any]]
    found: dict[str, Any] = field(default_factory=dict)


class Guard:
    """Answers requests of strangers itself: another host, another origin, a missing token."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self.app, self.token = app, token
        self.hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        why = self._refused(request)
        if why is not None:
            await PlainTextResponse(why, 403)(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _refused(self, request: Request) -> str | None:
        if request.headers.get("host") not in self.hosts:
            return "this server answers only to 127.0.0.1\n"
        origin = request.headers.get("origin")
        if origin is not None and origin.removeprefix("http://") not in self.hosts:
            return "another page asks, and may not\n"
        if request.url.path in ("/app.js", "/app.css"):
            return None
        given = request.headers.get("x-token") or request.query_params.get("token", "")
        if not hmac.compare_digest(given.encode(), self.token.encode()):
            return "the token is missing or wrong: use the address that custard serve printed\n"
        return None


class Page:
    """The routes of the page."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.jobs: OrderedDict[str, Job] = OrderedDict()
        self.uploads: OrderedDict[str, Path] = OrderedDict()
        self.compiler = Worker(answer, _COMPILE_SECONDS, 100)
        self.runner = Worker(answer, _RUN_SECONDS, 8)

    def routes(self) -> list[Route]:
        """The routes, each with the method that answers it."""
        return [
            Route("/", self.page),
            Route("/app.js", self.asset),
            Route("/app.css", self.asset),
            Route("/api/words", self.words),
            Route("/api/compile", self.compile, methods=["POST"]),
            Route("/api/uploads/{name}", self.upload, methods=["PUT"]),
            Route("/api/jobs", self.start, methods=["POST"]),
            Route("/api/jobs/{job}", self.job),
            Route("/api/jobs/{job}", self.cancel, methods=["DELETE"]),
            Route("/api/jobs/{job}/report", self.report),
        ]

    async def page(self, request: Request) -> Response:
        return HTMLResponse(_asset("app.html"), headers={"Content-Security-Policy": _POLICY})

    async def asset(self, request: Request) -> Response:
        name = request.url.path.removeprefix("/")
        kind = "text/javascript" if name.endswith(".js") else "text/css"
        return Response(_asset(name), media_type=kind)

    async def words(self, request: Request) -> Response:
        return JSONResponse(words_to_complete())

    async def compile(self, request: Request) -> Response:
        asked = await _json(request)
        if asked is None:
            return _mistake("the request is not a JSON object, or is too large")
        try:
            work = self.compiler.do({**asked, "do": "compile", "uploads": self._paths()})
            return JSONResponse(await work)
        except Busy as busy:
            return _mistake(str(busy), 429)

    def _paths(self) -> dict[str, str]:
        """The paths of files that were uploaded, by number."""
        return {number: str(path) for number, path in self.uploads.items()}

    async def upload(self, request: Request) -> Response:
        name = Path(request.path_params["name"]).name
        suffix = next((one for one in _SUFFIXES if name.lower().endswith(one)), None)
        if suffix is None:
            return _mistake(
                f"{name} is not a file of a tensor\nhint: one of {', '.join(_SUFFIXES)}"
            )
        number = secrets.token_hex(8)
        # The user's name for the file, so that the command that is shared says it too.
        plain = "".join(c if c.isalnum() or c in "._-" else "_" for c in name)[-80:]
        path = self.folder / number / plain
        path.parent.mkdir()
        size = 0
        with path.open("wb") as file:
            async for chunk in request.stream():
                size += len(chunk)
                if size > MOST_UPLOADED:
                    path.unlink()
                    most = MOST_UPLOADED // 2**20
                    return _mistake(f"{name} has more than {most} MiB", 413)
                file.write(chunk)
        self.uploads[number] = path
        while len(self.uploads) > _KEPT_UPLOADS:
            _, oldest = self.uploads.popitem(last=False)
            oldest.unlink(missing_ok=True)
        return JSONResponse({"upload": number, "name": name, "bytes": size})

    async def start(self, request: Request) -> Response:
        asked = await _json(request)
        if asked is None:
            return _mistake("the request is not a JSON object, or is too large")
        if self.runner.waiting >= self.runner.most:
            return _mistake("too many runs wait already\nhint: try again in a while", 429)
        work = self.runner.do({**asked, "do": "run", "uploads": self._paths()})
        number = secrets.token_hex(8)
        self.jobs[number] = Job(asyncio.create_task(work))
        while len(self.jobs) > _KEPT_JOBS:
            _, oldest = self.jobs.popitem(last=False)
            oldest.task.cancel()
        return JSONResponse({"job": number})

    def _job(self, request: Request) -> Job | None:
        return self.jobs.get(request.path_params["job"])

    async def job(self, request: Request) -> Response:
        job = self._job(request)
        if job is None:
            return _mistake("there is no such run any more", 404)
        if not job.task.done():
            return JSONResponse({"state": "running"})
        found = _found(job)
        state = "failed" if "error" in found else "done"
        told = {key: value for key, value in found.items() if key != "report"}
        return JSONResponse({"state": state, **told, "reported": "report" in found})

    async def cancel(self, request: Request) -> Response:
        job = self._job(request)
        if job is None:
            return _mistake("there is no such run any more", 404)
        job.task.cancel()
        await asyncio.wait([job.task])
        return JSONResponse({"state": "cancelled"})

    async def report(self, request: Request) -> Response:
        job = self._job(request)
        found = _found(job) if job is not None and job.task.done() else {}
        if "report" not in found:
            return _mistake("there is no report of that run", 404)
        return HTMLResponse(found["report"], headers={"Content-Security-Policy": _REPORT_POLICY})

    def close(self) -> None:
        """Ends all jobs."""
        for job in self.jobs.values():
            job.task.cancel()
        self.compiler.close()
        self.runner.close()


def _found(job: Job) -> dict[str, Any]:
    """The answer of a run; a cancelled run has a mistake."""
    if not job.found:
        try:
            job.found = job.task.result()
        except asyncio.CancelledError:
            job.found = {"error": "the run was cancelled"}
        except Busy as busy:
            job.found = {"error": str(busy)}
    return job.found


async def _json(request: Request) -> Mapping[str, Any] | None:
    """The JSON object of a request; None if it has none, or too large a one."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_REQUEST:
            return None
    from json import JSONDecodeError, loads

    try:
        found = loads(body)
    except (JSONDecodeError, UnicodeDecodeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _mistake(text: str, status: int = 400) -> Response:
    return JSONResponse({"error": text}, status)


def _asset(name: str) -> str:
    return resources.files("custard.cli.serve").joinpath(name).read_text(encoding="utf-8")


def made(token: str, port: int) -> Starlette:
    """The server's application, for requests to a port that have the token."""

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        with tempfile.TemporaryDirectory(prefix="custard-serve-") as folder:
            page = Page(Path(folder))
            app.router.routes.extend(page.routes())
            try:
                yield
            finally:
                page.close()

    guard = Middleware(Guard, token=token, port=port)
    return Starlette(routes=[], middleware=[guard], lifespan=lifespan)
