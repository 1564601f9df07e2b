"""Channels that share a queue."""

import numpy as np

import custard
from sim.binding import bind
from sim.compiled.bundles import bundles
from sim.compiled.translations import translated
from sim.config.hardware import load
from sim.machine import elaborate

MACHINE = elaborate(
    bind(
        custard.compile("X(i,j)=B(i,k)*C(k,j)", schedule=["reorder(i,k,j)"]).graph,
        {"B": np.eye(3), "C": np.eye(3)},
    ),
    load(None),
)
BODIES = {part.name: translated(part)[1].body for part in MACHINE.parts}


def found(alike=lambda channel: None):
    return bundles(MACHINE, BODIES, alike)


def test_every_channel_is_in_one_bundle():
    numbers = [channel.number for bundle in found() for channel in bundle.channels]
    assert sorted(numbers) == [channel.number for channel in MACHINE.channels]


def test_coordinates_and_references_of_a_scanner_share_a_queue():
    [bundle] = [one for one in found() if one.giver == "scan_B_k" and len(one.channels) > 1]
    assert bundle.taker == "intersect_k"
    assert [str(channel.edge) for channel in bundle.channels] == [
        "scan_B_k.crd -> intersect_k.in_crd0",
        "scan_B_k.ref -> intersect_k.in_ref0_0",
    ]
    parts = {part.name: part for part in MACHINE.parts}
    givers = [parts["scan_B_k"].outputs[n].name for n in bundle.givers]
    takers = [parts["intersect_k"].inputs[n].name for n in bundle.takers]
    assert (givers, takers) == (["crd", "ref"], ["in_crd0", "in_ref0_0"])
    assert not bundle.wire


def test_channels_that_are_not_alike_do_not_share():
    apart = found(lambda channel: channel.number)
    assert all(len(bundle.channels) == 1 for bundle in apart)


def test_one_stream_of_two_readers_is_in_two_queues():
    readers = {bundle.taker for bundle in found() if bundle.giver == "scan_B_i"}
    assert len(readers) > 1
