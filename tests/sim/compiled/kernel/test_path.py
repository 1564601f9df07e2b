"""What a fast path may change: nothing that it does not write."""

from sim.compiled.kernel.path import InputEnd, KernelParts, OutputEnd, Path
from sim.compiled.kernel.plain import BlockKernel
from tests.support.kernels import long
from tests.support.steps import FORWARD, translated


class Marks(Path):
    """A path that leaves a mark in each place that it may change."""

    name = "marks"

    def applies(self, kernel):
        return bool(kernel.inputs)

    def write(self, kernel):
        return KernelParts(
            inputs={0: InputEnd("THERE$n", taken="TAKEN($taken)", room=" && ROOM")},
            outputs={0: OutputEnd("MACROS\n", "LOCALS\n", " GIVEN", "BACK\n")},
            most="FEW",
            begin="BEGIN\n",
            blocked="BLOCKED\n",
        )

    def after(self, kernel, line, leader):
        return ["AFTER"]


class Never(Marks):
    def applies(self, kernel):
        return False


def written(*paths):
    body = translated(FORWARD, ports=("a", "crd")).body
    return BlockKernel(body, [long(0, bounded=True)], [long(0, bounded=True)], paths).source()


def test_each_part_comes_to_its_place():
    text = written(Marks())
    for part in (
        "#define PEEK0 THERE0 \\\n",
        "h0 += 1;\n            TAKEN(1)\n",
        "if (q0->crowds && ROOM) {",
        "} Out0;\nMACROS\n#define v0",
        "LOCALS\n    int64_t k0",
        "T0++; GIVEN\n",
        "AFTER\n",
        "BACK\n",
        "BEGIN\nspent:\n    most = FEW;",
        "BLOCKED\nback:",
    ):
        assert part.replace("            TAKEN", "        TAKEN") in text


def test_a_path_that_does_not_apply_changes_nothing():
    assert written(Never()) == written()
