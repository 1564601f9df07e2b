"""``custard serve``."""

import socket

import pytest

from custard.cli.serve.command import main
from sam.support.errors import UserError


def test_a_taken_port_is_a_mistake():
    pytest.importorskip("uvicorn")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UserError) as caught:
            main(["--no-browser", "--port", str(port)])
    assert str(caught.value) == (
        f"cannot serve on port {port}: Address already in use\nhint: --port 0 takes any"
    )


def test_options():
    with pytest.raises(UserError, match="there is no option --prot"):
        main(["--prot", "1"])
