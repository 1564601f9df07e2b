"""Tests that need a C compiler are skipped where there is none."""

import pytest

from sam.support import c_compiler

needs_compiler = pytest.mark.skipif(not c_compiler.available(), reason="needs a C compiler")
