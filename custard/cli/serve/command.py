"""``custard serve``: starts the server, and prints the address of its page."""

from __future__ import annotations

import secrets
import socket
import webbrowser
from collections.abc import Sequence

from custard.cli.arguments import Parser, parse, whole_number
from sam.support.errors import UserError


def main(argv: Sequence[str]) -> int:
    """Serves a page on which expressions can be compiled and run, to this machine alone."""
    parser = Parser(prog="custard serve", description=main.__doc__, allow_abbrev=False)
    help = "the port; any that is free by default"
    parser.add_argument("--port", type=whole_number, default=0, metavar="N", help=help)
    parser.add_argument("--no-browser", action="store_true", help="do not open the page")
    arguments = parse(parser, argv, ("--port", "--no-browser"))
    try:
        import uvicorn

        from custard.cli.serve.app import made
    except ImportError:
        raise UserError(
            "the page needs the packages starlette and uvicorn",
            hint="pip install sparse-abstract-machine[serve]",
        ) from None
    listening = _listening(arguments.port)
    port = listening.getsockname()[1]
    token = secrets.token_urlsafe(24)
    address = f"http://127.0.0.1:{port}/?token={token}"
    config = uvicorn.Config(made(token, port), log_level="warning", timeout_graceful_shutdown=2)
    print(f"the page is at {address}\nCtrl-C ends it", flush=True)
    if not arguments.no_browser:
        webbrowser.open(address)
    try:
        uvicorn.Server(config).run(sockets=[listening])
    finally:
        listening.close()
    return 0


def _listening(port: int) -> socket.socket:
    found = socket.socket()
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind(("127.0.0.1", port))
    except (OSError, OverflowError) as mistake:
        found.close()
        why = getattr(mistake, "strerror", None) or str(mistake)
        raise UserError(f"cannot serve on port {port}: {why}", hint="--port 0 takes any") from None
    return found
