"""Command lines that the tests of the command share."""

from pathlib import Path

WEST = Path(__file__).parents[2] / "experiments" / "data" / "west0067.mtx"
MATMUL = "X(i,j) = B(i,k) * C(k,j)"
SPMV = ["y(i) = A(i,j) * x(j)", "-f=y:d", "-f=A:CSR", "-f=x:d", "--target", "c"]
WITH = ["-i", "A=west0067.mtx", "-i", "x=@dense"]


def wrong(bind):
    """Inputs of which one value is another."""

    def changed(program, inputs, threads=None):
        values = inputs["x"].to_numpy()
        values[0] += 1
        return bind(program, {**inputs, "x": values}, threads)

    return changed
