"""The C in the README of the compiled engine is that of its kernels."""

import re
from pathlib import Path

import pytest

import sim.compiled
from sim.compiled.kernel.source import PATHS
from tests.support.kernels import NAMES, kernels_of_product

README = Path(sim.compiled.__path__[0], "README.md").read_text()
SECTIONS = dict(re.findall(r"^### `(\w+)`\n(.*?)(?=^##)", README, re.M | re.S))


def plain(text):
    """Text without indents, and without the ends of lines that go on."""
    return "\n".join(line.strip().removesuffix("\\").strip() for line in text.splitlines())


def test_every_path_has_its_section():
    assert sorted(SECTIONS) == sorted(NAMES)
    assert len(PATHS) == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_c_before_and_after(name):
    long = name in ("data", "following", "at_once", "window")
    config = {} if long else {"queues.depth": 2}
    before, after = SECTIONS[name].split("After:")
    on, off = (list(map(plain, kernels_of_product(config, paths))) for paths in ("", name))
    assert blocks(before)
    for block in blocks(before):
        assert any(block in kernel for kernel in off), block
    for block in blocks(after):
        assert any(block in kernel for kernel in on), block
    assert not all(any(block in kernel for kernel in off) for block in blocks(after))


def blocks(text):
    """The blocks of C in a text."""
    return [plain(block) for block in re.findall(r"```c\n(.*?)```", text, re.S)]
