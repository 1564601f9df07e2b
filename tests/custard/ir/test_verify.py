"""Programs that no pass may make."""

from dataclasses import replace

import pytest

from custard.ir import cin
from custard.ir.concretization import concretize
from custard.ir.verify import verify
from custard.language import notation

PROGRAM = concretize(notation.parse("y(i) = A(i,j) * x(j)"))


@pytest.mark.parametrize(
    ("broken", "text"),
    [
        (replace(PROGRAM, loops=("i", "j", "j")), "a loop comes twice"),
        (replace(PROGRAM, loops=("i",)), "sums over {'j'}, which have no loop"),
        (replace(PROGRAM, target=cin.Access("y", ("k",))), "uses k, which has no loop"),
        (replace(PROGRAM, value=cin.Add(())), "an operation without operands"),
        (
            replace(PROGRAM, value=cin.Reduce(("k",), cin.Access("x", ("j",)))),
            "sums over {'k'}, which have no loop",
        ),
        (
            replace(PROGRAM, value=cin.Reduce(("i",), cin.Access("x", ("i",)))),
            "sums over a variable of the target",
        ),
    ],
)
def test_a_fault_is_named(broken, text):
    verify(PROGRAM)
    verify(concretize(notation.parse("y(i) = sum(j, A(i))")))
    with pytest.raises(AssertionError, match=text):
        verify(broken)
