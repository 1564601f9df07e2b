"""Random programs on target c under random schedules agree with the dense evaluator."""

from hypothesis import HealthCheck, given, settings

from tests.support.c_schedules import check, scheduled
from tests.support.profiles import examples


@settings(
    max_examples=examples(1000, compiles=True),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(scheduled())
def test_any_schedule(case):
    check(case)
