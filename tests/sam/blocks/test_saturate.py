"""Reducers with saturation."""

from tests.support.streams import check_block


def test_a_sum_stays_in_the_range_of_a_byte():
    cases = {"100, 50, -10, S0, D": "117, D", "-99, -99, S0, S0, 2, N, S1, D": "-128, 0, 2, S0, D"}
    for values, sums in cases.items():  # 117 = 127 - 10: each addition saturates
        for engine in ("simpy", "compiled"):
            given = ({"least": -128, "most": 127}, {"in_val": values}, {"val": sums})
            check_block("saturating_reducer", *given, engine=engine)
