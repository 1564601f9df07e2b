"""The language of ``-i``: files, generated tensors, and their extents."""

import io

import numpy as np
import pytest

import custard
from custard.cli.inputs import file_of, read_inputs
from sam import io as files
from sam.support.errors import UserError
from sam.tensor import Tensor


def test_numbers():
    program = custard.compile("y = a * b * c")
    given = read_inputs(["a=2", "b=-.5", "c=1e3"], program)
    assert [given[name].to_numpy().item() for name in "abc"] == [2, -0.5, 1000.0]
    assert [given[name].dtype for name in "abc"] == [np.int64, np.float64, np.float64]


@pytest.mark.parametrize(
    ("format", "value", "count"),
    [
        ("ss", "@random", 20),
        ("ds", "@random", 20),
        ("dd", "@random", 200),
        ("ss", "@dense", 200),
        ("dd", "@random(0.25)", 50),
        ("ss", "@random(0.001)", 1),
        ("ss", "@random(0)", 0),
        ("ss", "@random(1)", 200),
    ],
)
def test_generated_tensors_have_the_share_of_entries_asked_for(format, value, count):
    program = custard.compile("y = B(i,j)", {"B": format}, dims={"i": 10, "j": 20})
    tensor = read_inputs([f"B={value}"], program)["B"]
    _, values = tensor.to_coo()
    assert (tensor.shape, len(values)) == ((10, 20), count)
    assert ((values > 0) & (values <= 1)).all()


def test_generated_tensors_without_gaps_are_stored_as_arrays():
    program = custard.compile("y = B(i,j)", {"B": "dd"}, dims={"i": 10, "j": 20})
    formats = {value: read_inputs([f"B={value}"], program)["B"].format
               for value in ("@dense", "@random", "@random(0.5)")}  # fmt: skip
    assert formats == {"@dense": "dd:0,1", "@random": "dd:0,1", "@random(0.5)": "ss:0,1"}


def test_scalars_and_empty_tensors_are_generated():
    program = custard.compile("y = a * B(i,j)", dims={"i": 0, "j": 20})
    given = read_inputs(["a=@random", "B=@random"], program)
    assert 0 < given["a"].to_numpy() <= 1
    assert given["B"].shape == (0, 20)


def test_each_tensor_has_values_of_its_own():
    program = custard.compile("y = B(i) * C(i)", {"B": "d", "C": "d"}, dims={"i": 5})
    given = read_inputs(["B=@random", "C=@random"], program, seed=7)
    again = read_inputs(["C=@random", "B=@dense"], program, seed=7)
    assert not np.array_equal(given["B"].values, given["C"].values)
    np.testing.assert_array_equal(given["B"].values, again["B"].values)


def test_extents_come_through_tensors_that_are_used_twice(tmp_path):
    (tmp_path / "x.tns").write_text("4 1.0\n")
    program = custard.compile("y(i) = B(i,j) * B(j,k) * x(k)")
    # x fixes k, which is the second mode of B, as j is; j is its first mode, as i is.
    given = read_inputs(["B=@random", f"x={tmp_path / 'x.tns'}"], program)
    assert given["B"].shape == (4, 4)
    with pytest.raises(UserError, match="no input fixes the extent of i"):
        read_inputs(["B=@random", "x=@random"], program)


def test_a_tns_file_takes_its_shape_from_the_others(tmp_path):
    (tmp_path / "x.tns").write_text("1 1.0\n")
    (tmp_path / "B.mtx").write_text("%%MatrixMarket matrix coordinate real general\n2 5 1\n1 1 3\n")
    program = custard.compile("y(i) = x(j) * B(i,j)")
    given = read_inputs([f"x={tmp_path / 'x.tns'}", f"B={tmp_path / 'B.mtx'}"], program)
    assert given["x"].shape == (5,)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("inf", np.inf),
        ("-inf", -np.inf),
        ("1+2j", 1 + 2j),
        ("-2.5e1j", -25j),
        ("1-infj", complex(1, -np.inf)),
        ("True", True),
        ("false", False),
    ],
)
def test_infinities_complex_numbers_and_truths(value, number):
    found = read_inputs([f"a={value}"], custard.compile("y = a"))["a"].to_numpy()[()].item()
    assert (found, type(found)) == (number, type(number))


def test_nan_is_a_number():
    assert np.isnan(read_inputs(["a=nan"], custard.compile("y = a"))["a"].to_numpy())


@pytest.mark.parametrize("value", ["1_000", "1,5", "1/2", "2i", "0x10"])
def test_text_that_is_no_number_is_told_as_such(value):
    with pytest.raises(UserError) as refusal:
        read_inputs([f"a={value}"], custard.compile("y = a"))
    assert str(refusal.value) == (
        f"{value} is not a number, and no file, as it has no suffix\n"
        "hint: as in a=2.5, a=1e-3, a=1+2j or a=inf"
    )


@pytest.mark.parametrize("suffix", ["mtx", "tns"])
def test_a_matrix_for_a_name_without_subscripts(tmp_path, suffix):
    path = str(tmp_path / f"a.{suffix}")
    files.write(path, Tensor.of(np.eye(2)))
    with pytest.raises(UserError) as refusal:
        read_inputs([f"a={path}"], custard.compile("y = a"))
    assert str(refusal.value) == (
        f"a has 0 modes in the program, and {path} has 2 modes\n"
        "hint: a without subscripts is a number; a tensor is written a(i,j)"
    )


def test_home_folders_and_listings_of_tns_files(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "x.tns").write_text("0 2\n1 0\n")
    program = custard.compile("y = A(i,j)")
    given = read_inputs(["A=~/x.tns:0-based:pattern"], program)
    assert given["A"].to_numpy().tolist() == [[0, 0, 1], [1, 0, 0]]
    assert file_of("~/x.tns:pattern") == str(tmp_path / "x.tns")
    assert [file_of(value) for value in ("-", "-:pattern", "inf", "2j", "@dense")] == [None] * 5
    with pytest.raises(UserError, match=r"values are missing"):
        read_inputs(["A=~/x.tns"], program)


def test_standard_input(monkeypatch):
    program = custard.compile("y = A(i,j) * B(i,j)")

    def give(data):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))

    give(b"1 2 3.5\n")
    assert read_inputs(["A=-", "B=@dense"], program)["A"].to_numpy().tolist() == [[0, 3.5]]
    give(b"1 2\n")
    assert read_inputs(["A=-:pattern", "B=@dense"], program)["A"].to_numpy().tolist() == [[0, 1]]
    give(b"%%MatrixMarket matrix array real general\n1 2\n1\n2\n")
    assert read_inputs(["A=-", "B=@dense"], program)["A"].to_numpy().tolist() == [[1, 2]]
    give(b"")
    with pytest.raises(UserError, match="standard input is empty"):
        read_inputs(["A=-", "B=@dense"], program)
    with pytest.raises(UserError, match="standard input cannot be B and another input too"):
        read_inputs(["A=-", "B=-"], program)


@pytest.mark.parametrize(
    ("value", "number"),
    [("7", 7), ("-007", -7), ("+2.5", 2.5), ("-1e3", -1000.0), (f"-{10**23}", -1e23)],
)
def test_a_number_has_the_type_that_it_is_written_in(value, number):
    found = read_inputs([f"a={value}"], custard.compile("y = a"))["a"].to_numpy()[()]
    assert (found, type(found.item())) == (number, type(number))


@pytest.mark.parametrize("value", ["1e400", "-1e999", "1+1e400j"])
def test_a_number_that_is_too_large_is_not_infinity(value):
    with pytest.raises(UserError, match="is too large\nhint: inf is infinity"):
        read_inputs([f"a={value}"], custard.compile("y = a"))
