"""The kernels whose C stands in ``tests/custard/to_c/golden/*.c``, as it should read."""

from pathlib import Path
from typing import NamedTuple

import custard

GOLDEN = Path(__file__).parents[1] / "custard/to_c/golden"


class Kernel(NamedTuple):
    """A program on target c."""

    expression: str
    formats: dict[str, str]
    schedule: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """The C file; of the formats, those count whose tensors are used."""
        used = {n: form for n, form in self.formats.items() if f"{n}(" in self.expression}
        return custard.compile(self.expression, used, self.schedule, target="c").source


DENSE = {"x": "d", "y": "d", "z": "d"}
CSR = {"A": "CSR", "B": "CSR", "X": "CSR"}

KERNELS = {
    "spmv_csr": Kernel("y(i) = A(i,j) * x(j)", {**DENSE, "A": "CSR"}),
    "spmv_coo": Kernel("y(i) = A(i,j) * x(j)", {**DENSE, "A": "COO(2)"}),
    "spmv_dia": Kernel("y(i) = A(k,i,j) * x(j)", {**DENSE, "A": "DIA"}),
    "spmv_ell": Kernel("y(i) = A(k,i,j) * x(j)", {**DENSE, "A": "ELL"}),
    "spmv_bcsr": Kernel("y(i,k) = A(i,j,k,l) * x(j,l)", {"y": "dd", "x": "dd", "A": "BCSR"}),
    "spmv_plus": Kernel("y(i) = A(i,j) * x(j) + z(i)", {**DENSE, "A": "CSR"}),
    "spmm": Kernel("X(i,k) = A(i,j) * B(j,k)", {"X": "dd", "A": "CSR", "B": "dd"}),
    "sddmm": Kernel("X(i,j) = A(i,j) * C(i,k) * D(j,k)", {**CSR, "C": "dd", "D": "dd"}),
    "add": Kernel("X(i,j) = A(i,j) + B(i,j)", CSR),
    "add_three": Kernel("X(i,j) = A(i,j) + B(i,j) + C(i,j)", {**CSR, "C": "CSR"}),
    "spgemm": Kernel("X(i,j) = A(i,k) * B(k,j)", CSR),
    "spgemm_outer": Kernel(
        "X(i,j) = A(i,k) * B(k,j)",
        {"X": "DCSR", "A": "CSC", "B": "CSR"},
        ("reorder(k,i,j)",),
    ),
    "ttv": Kernel("X(i,j) = B(i,j,k) * c(k)", {"X": "ss", "B": "CSF(3)", "c": "d"}),
    "mttkrp": Kernel(
        "X(i,j) = B(i,k,l) * C(k,j) * D(l,j)", {"X": "dd", "B": "CSF(3)", "C": "dd", "D": "dd"}
    ),
}
