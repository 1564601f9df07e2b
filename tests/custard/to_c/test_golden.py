"""The C of a dozen kernels, which a person has read, and which compiles without a warning."""

import subprocess

import pytest

from sam.support import c_compiler as cc
from tests.support.compiler import needs_compiler
from tests.support.golden_kernels import GOLDEN, KERNELS


@pytest.mark.parametrize("name", KERNELS)
def test_golden(name, golden):
    golden(GOLDEN / f"{name}.c", KERNELS[name].source)


def test_every_golden_file_belongs_to_a_test():
    assert {path.stem for path in GOLDEN.iterdir()} == set(KERNELS)


@needs_compiler
def test_no_warnings():
    files = sorted(map(str, GOLDEN.glob("*.c")))
    flags = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Wshadow", "-Werror", "-fsyntax-only")
    done = subprocess.run(
        [*cc.compiler(), *flags, *files], capture_output=True, text=True, check=False
    )
    assert not done.stderr


@pytest.mark.parametrize("name", KERNELS)
def test_lines_are_not_too_long(name):
    assert max(map(len, (GOLDEN / f"{name}.c").read_text().split("\n"))) <= 100
