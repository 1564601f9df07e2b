"""Who may ask the server, and for what."""

import asyncio

import pytest

pytest.importorskip("starlette")

from custard.cli.serve.app import Guard

HOST = (b"host", b"127.0.0.1:8000")


def asked(path="/", headers=(HOST,), query=b"token=secret"):
    """The status and the text that a request gets; 200 where it is let through."""
    sent = []

    async def app(scope, receive, send):
        sent.append({"status": 200, "body": b""})

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "query_string": query}
    guard = Guard(app, "secret", 8000)
    asyncio.run(guard({**scope, "headers": list(headers)}, None, send))
    return sent[0]["status"], b"".join(one.get("body", b"") for one in sent).decode()


def test_a_request_with_the_token_is_answered():
    assert asked() == (200, "")
    assert asked(headers=(HOST, (b"x-token", b"secret")), query=b"") == (200, "")
    assert asked("/app.js", query=b"") == (200, "")


@pytest.mark.parametrize(
    ("headers", "query", "why"),
    [
        ((HOST,), b"token=other", "the token is missing or wrong"),
        ((HOST,), b"", "the token is missing or wrong"),
        (((b"host", b"evil.example"),), b"token=secret", "this server answers only to 127.0.0.1"),
        (
            (HOST, (b"origin", b"http://evil.example")),
            b"token=secret",
            "another page asks, and may not",
        ),
    ],
)
def test_requests_from_other_hosts_or_without_the_token_are_refused(headers, query, why):
    status, text = asked(headers=headers, query=query)
    assert status == 403
    assert text.startswith(why)
