"""What is said where loops clash with storage."""

from custard.ir import cin
from custard.ir.concretization import concretize
from custard.ir.transposition import transposition
from custard.language import notation
from custard.language.formats import parse_format


def told(text, levels="ds"):
    program = concretize(notation.parse(text, ()))
    access = next(one for one in cin.walk(program.value) if isinstance(one, cin.Access))
    return transposition(program, access, parse_format(levels, 2, "A"), (1, 0))


def test_the_note_has_the_format_that_avoids_it():
    assert told("y(i) = A(j,i)") == (
        "A(j,i), stored as ds:0,1, is transposed to 1,0 before the run",
        "A:ds:1,0",
    )


def test_no_format_is_named_for_a_tensor_that_is_used_twice():
    assert told("y(i) = A(j,i) * A(i,j)")[1] is None


def test_formats_that_hang_on_their_order_give_way():
    assert told("y(i) = A(j,i)", "uq")[1] == "A:uq:1,0"
