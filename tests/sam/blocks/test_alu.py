"""Arithmetic-logic units (Definition 3.6)."""

import pytest

from sam.blocks import StreamError
from tests.support.streams import check_block, run_block


def check(operation, operands, due):
    inputs = {f"in_val{n}": text for n, text in enumerate(operands)}
    check_block("alu", {"operation": operation}, inputs, {"val": due})


@pytest.mark.parametrize(
    ("operation", "due"),
    [
        ("add", "9, S0, 2, 8.5, S1, D"),
        ("subtract", "3, S0, -8, 7.5, S1, D"),
        ("multiply", "18, S0, -15, 4.0, S1, D"),
        ("divide", "2.0, S0, -0.6, 16.0, S1, D"),
    ],
)
def test_two_operands(operation, due):
    check(operation, ["6, S0, -3, 8, S1, D", "3, S0, 5, 0.5, S1, D"], due)


def test_negation():
    check("negate", ["6, S0, -3, 0.5, S1, D"], "-6, S0, 3, -0.5, S1, D")


@pytest.mark.parametrize(
    ("operation", "due"),
    [
        ("add", "6, 3, 0, S0, D"),
        ("subtract", "6, -3, 0, S0, D"),
        ("multiply", "0, 0, 0, S0, D"),
    ],
)
def test_an_empty_token_counts_as_zero(operation, due):
    check(operation, ["6, N, N, S0, D", "N, 3, N, S0, D"], due)


def test_a_negated_empty_token_is_zero():
    check("negate", ["N, 2, S0, D"], "0, -2, S0, D")


def test_division_by_zero_follows_numpy():
    check(
        "divide",
        ["1.0, -1.0, 0.0, 3, N, 3, S0, D", "0.0, 0.0, 0.0, 0, 0, N, S0, D"],
        "inf, -inf, nan, inf, nan, inf, S0, D",
    )


def test_explicit_zeros_are_values():
    check("add", ["0, 0.0, S0, D", "0, -1.0, S0, D"], "0, -1.0, S0, D")
    check("multiply", ["0, 5, S0, D", "7, 0, S0, D"], "0, 0, S0, D")


@pytest.mark.parametrize("text", ["D", "S0, D", "S0, S0, S1, S12, S13, D"])
@pytest.mark.parametrize("operation", ["add", "negate"])
def test_stop_tokens_pass(operation, text):
    check(operation, [text] * (1 if operation == "negate" else 2), text)


@pytest.mark.parametrize("other", ["S0, D", "1, S1, D", "1, 2, S0, D", "D"])
def test_operands_of_other_shapes_are_refused(other):
    with pytest.raises(StreamError, match="the operands of an ALU have different shapes"):
        run_block("alu", {"operation": "add"}, {"in_val0": "1, S0, D", "in_val1": other})


# The published test_add_1d and test_mul_1d draw their streams at random. Theirs, with neg1 and
# neg2, is our subtraction and negation.
