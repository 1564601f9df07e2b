"""From the syntax tree to CIN: where sums go, how trees are flattened."""

import pytest

from custard.ir import cin
from custard.ir.concretization import concretize
from custard.language import notation


def concretized(text: str) -> cin.LoopProgram:
    return concretize(notation.parse(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("X(i,j)=B(i,k)*C(k,j)", "sum(k, B(i,k) * C(k,j))"),
        ("y(i)=A(i,j)*x(j)+z(i)", "sum(j, A(i,j) * x(j)) + z(i)"),
        ("y(i)=z(i)-A(i,j)*x(j)", "z(i) - sum(j, A(i,j) * x(j))"),
        ("y(i)=(A(i,j)+z(i))*x(j)", "sum(j, (A(i,j) + z(i)) * x(j))"),
        ("y=a(i)*b(j)", "sum(i, a(i)) * sum(j, b(j))"),
        ("y(i)=A(i,j)+B(i,j)", "sum(j, A(i,j)) + sum(j, B(i,j))"),
        ("y(i)=b(i)*A(i,j)", "sum(j, b(i) * A(i,j))"),
        ("y(i)=a*A(i,j)", "a * sum(j, A(i,j))"),
        ("X(i,j)=B(i,k,l)*C(j,k)*D(j,l)", "sum(k, l, B(i,k,l) * C(j,k) * D(j,l))"),
        ("y(i)=-(a(i)-b(i))", "-(a(i) - b(i))"),
        ("y(i)=a(i)-(b(i)-c(i))+d(i)", "a(i) - (b(i) - c(i)) + d(i)"),
        ("y(i)=a(i)*(b(i)*c(i))/d(i)*e(i)", "(a(i) * (b(i) * c(i)) / d(i)) * e(i)"),
        ("y(i)=A(i,j)/x(j)", "sum(j, A(i,j) / x(j))"),
        ("y(i)=A(i,j)/b(i)", "sum(j, A(i,j)) / b(i)"),
        ("y(i)+=A(i,j)*x(j)", "y(i) + sum(j, A(i,j) * x(j))"),
        ("y=sum(i,a(i))*sum(i,b(i))", "sum(i, a(i)) * sum(i', b(i'))"),
        ("X(k)=B(k)+sum(k,C(k))", "B(k) + sum(k', C(k'))"),
        ("y(i)=A(i,i)", "A(i,i)"),
        ("y=--a", "--a"),
        ("y=a+(-b)-(-c)-d", "a + -b - -c - d"),
        ("y=a+9223372036854775807*4", "a + 3.6893488147419103e+19"),
        ("y=a-9223372036854775807-1", "a - 9223372036854775807 - 1"),
        ("y=-9223372036854775807-1-a", "-9223372036854775808 - a"),
        ("y=-2", "-2"),
    ],
)
def test_where_sums_go(text, expected):
    assert str(concretized(text).value) == expected


def test_loops_come_in_the_order_of_appearance():
    assert concretized("X(i,j)=B(i,k)*C(k,j)").loops == ("i", "j", "k")
    assert concretized("y=a(l)*b(m)").loops == ("l", "m")


def test_sums_over_variables_of_one_name_stay_apart():
    value = concretized("y(i)=B(i,k)*sum(k,C(i,k))").value
    assert str(value) == "sum(k, B(i,k)) * sum(k', C(i,k'))"


def test_a_long_chain_needs_no_deep_recursion():
    text = "y=" + "+".join(["a"] * 3000)
    assert len(concretized(text).value.terms) == 3000
