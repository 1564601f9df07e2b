"""When two machines at a cut have the same future."""

from dataclasses import replace

import pytest
import scipy.sparse

import custard
from sim.binding import bind
from sim.compiled.cut import Cut, lead
from sim.compiled.engine import CompiledRun
from sim.compiled.gate import let_through
from sim.compiled.layout import CompiledMachine
from sim.config.hardware import load
from tests.support.compiler import needs_compiler

pytestmark = needs_compiler

B = scipy.sparse.random(60, 50, 0.2, format="csr", random_state=1)
C = scipy.sparse.random(50, 70, 0.2, format="csr", random_state=2)
CUT = 40


def held(order, after, result="ds"):
    """A machine at the cut that has started after some firings of its gate."""
    schedule = [f"reorder({','.join(order)})"]
    program = custard.compile("X(i,j)=B(i,k)*C(k,j)", {"X": result}, schedule)
    bound = bind(program.graph, {"B": B, "C": C})
    machine = CompiledMachine(bound, load(None, {"queues.depth": 4}), holdable=True)
    let_through(machine, after)
    machine.allow(CUT)
    CompiledRun(machine).go_on()
    assert machine.at_cut
    return machine


@pytest.fixture(scope="module")
def pair():
    """Two machines at the cut, one from the start of the run on, and their cuts."""
    machines = [held("ijk", after) for after in (0, 20)]
    yield machines, [Cut.of(machine) for machine in machines]
    for one in machines:
        one.close()


def test_machines_that_started_elsewhere_soon_lie_cycles_apart(pair):
    (whole, _), (left, right) = pair
    ahead = lead(whole, left, right)
    shifts = {int(shift) for shift, at in zip(ahead, left.parts, strict=True) if not at.finished}
    assert len(shifts) == 1
    assert min(shifts) > 0


def other(items, n, **changes):
    return [*items[:n], replace(items[n], **changes), *items[n + 1 :]]


def test_any_difference_that_matters_is_found(pair):
    (whole, _), (left, right) = pair
    for n, at in enumerate(right.parts):
        assert lead(whole, left, replace(right, parts=other(right.parts, n, status=7))) is None
        assert lead(whole, left, replace(right, parts=other(right.parts, n, state=b"?"))) is None
        if not at.finished:
            late = other(right.parts, n, ready=at.ready + 1)
            assert lead(whole, left, replace(right, parts=late)) is None
    for n, at in enumerate(right.queues):
        higher = other(right.queues, n, peak=left.queues[n].peak + 1)
        assert lead(whole, left, replace(right, queues=higher)) is None
        full = other(right.queues, n, tokens=at.tokens + b"?")
        assert lead(whole, left, replace(right, queues=full)) is None


def test_cycles_matter_unless_they_are_past(pair):
    (whole, _), (left, right) = pair
    names = {one.part.name: n for n, one in enumerate(whole.parts)}
    for n, (shared, at) in enumerate(zip(whole.queues, right.queues, strict=True)):
        writer = right.parts[names[shared.bundle.giver]]
        if writer.finished or not len(at.freed):
            continue
        for last, matters in [(writer.ready - 1, False), (writer.ready + 9, True)]:
            freed = at.freed.copy()
            freed[-1] = last
            changed = replace(right, queues=other(right.queues, n, freed=freed))
            was_past = int(left.queues[n].freed[-1]) < left.parts[names[shared.bundle.giver]].ready
            assert (lead(whole, left, changed) is None) == (matters or not was_past)


def test_sums_that_are_not_complete_are_compared():
    machines = [held("ikj", after) for after in (0, 20)]
    left, right = (Cut.of(machine) for machine in machines)
    assert left.stored[0].content == right.stored[0].content
    assert left.stored[0].content
    changed = replace(right.stored[0], content=b"?")
    assert lead(machines[0], left, replace(right, stored=[changed, *right.stored[1:]])) is None
    for one in machines:
        one.close()


def test_a_place_depends_on_how_much_is_stored():
    machines = [held("ijk", after, "dd") for after in (0, 20)]
    left, right = (Cut.of(machine) for machine in machines)
    [n] = [n for n, at in enumerate(right.stored) if at.placed]
    assert lead(machines[0], left, right) is not None
    assert lead(machines[0], left, replace(right, stored=other(right.stored, n, length=1))) is None
    for one in machines:
        one.close()
