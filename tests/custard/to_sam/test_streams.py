"""Payloads, fibers and nests: values that blocks change by giving new ones."""

from custard.to_sam.streams import Fiber, Nest, Payload
from sam.graph import End


def end(name):
    return End(name, "out")


def test_a_payload_keeps_its_kind_and_label():
    payload = Payload(end("a"), "ref", "B")
    assert payload.at(end("b")) == Payload(end("b"), "ref", "B")


def test_a_fiber_that_was_thinned_may_be_empty():
    fiber = Fiber("i", end("a"), nonempty=True, full=True, in_lane=True)
    assert fiber.thinned(end("b")) == Fiber("i", end("b"), in_lane=True)


def test_the_values_of_a_nest_go_with_its_innermost_coordinates():
    nest = Nest((Fiber("i", end("i")), Fiber("j", end("j"))), end("v"))
    assert nest.layers() == [{"crd": end("i")}, {"crd": end("j"), "val": end("v")}]
    assert nest.with_layers(nest.layers()) == nest
    assert Nest((), end("v")).layers() == []
    assert Nest((), end("v")).with_layers([]) == Nest((), end("v"))


def test_each_layer_is_moved_at_its_depth():
    nest = Nest((Fiber("i", end("i")), Fiber("j", end("j"))), end("v"))
    seen = []

    def move(depth, layer):
        seen.append((depth, sorted(layer)))
        return {kind: End(f"moved_{one.node}", one.port) for kind, one in layer.items()}

    found = nest.moved(2, move)
    assert seen == [(2, ["crd"]), (3, ["crd", "val"])]
    assert [fiber.end.node for fiber in found.fibers] == ["moved_i", "moved_j"]
    assert found.value.node == "moved_v"
