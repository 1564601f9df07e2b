"""What a firing notes: tokens taken and given, entries touched."""

import pytest
import simpy

from sam.graph import Edge, End
from sam.memory_regions import Region
from sam.token import DATA, DONE
from sim.machine import Channel
from sim.reference.ends import IdealMemory, MemoryAccess, Starved, StepInput, StepOutput
from sim.reference.queues import Queue


def test_an_input_shows_a_visible_token_and_notes_that_it_is_taken():
    environment = simpy.Environment()
    edge = Edge(End("a", "x"), End("b", "y"))
    queue = Queue(environment, Channel(0, edge, "a", "b", None, 2, None))
    taken = []
    port = StepInput(taken, "y", queue)
    with pytest.raises(Starved):
        port.peek()
    queue.push(DATA, 7, 0)
    with pytest.raises(Starved):
        port.peek()  # it is on its way
    environment.run(until=2)
    assert port.peek() == (DATA, 7)
    port.take()
    assert taken == [queue]
    assert len(queue.tokens) == 1  # the engine takes it when the firing happens


def test_an_output_notes_tokens_and_counts_them_by_kind():
    given = []
    port = StepOutput(given, "x", [])
    port.give(DATA, 3)
    port.give(DONE, 0)
    assert given == [(port, DATA, 3), (port, DONE, 0)]
    assert port.tokens() == {"data": 0, "stop": 0, "empty": 0, "done": 0}  # none happened yet


def test_memory_notes_reads_and_writes_unless_it_is_ideal():
    region = Region("B", None, "val")
    accesses = []
    for memory in (MemoryAccess(accesses), IdealMemory()):
        memory.read(region, 4)
        memory.write(region, 5)
    assert accesses == [(region, 4, False), (region, 5, True)]
