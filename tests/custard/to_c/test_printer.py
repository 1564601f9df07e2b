"""A kernel as a C file."""

import re

from custard.to_c.loop_ir import (
    BOOL,
    INT,
    INT32,
    ZERO,
    Assign,
    Call,
    CallStatement,
    Expr,
    Field,
    For,
    Kernel,
    Load,
    Op,
    Struct,
    Type,
    Var,
    array,
)
from custard.to_c.printer import _fitted, printed

DOUBLE, FLOAT = Type("double"), Type("float")
a, b, c, n = (Var(name) for name in "abcn")
p, q, r = (Var(name, BOOL) for name in "pqr")
x, y = Var("x", DOUBLE), Var("y", DOUBLE)
values, crd = Var("values", array(DOUBLE)), Var("crd", array(INT32))


def body(*statements) -> str:
    """The text of statements, without the kernel around them."""
    struct = Struct("y", "y, a number", (("size0", INT), ("values", array(DOUBLE))), True)
    text = printed(Kernel("compute", [], [struct], [], [], [], list(statements)))
    found = re.search(r"^int compute\(.*?\)\n\{\n(.*)^}", text, re.M | re.S)
    lines = found[1].split("\n")
    keep = [line[4:] for line in lines if line.strip() not in ("int status = 1;", "return 0;")]
    return "\n".join(keep).strip()


def text(expression: Expr) -> str:
    return body(CallStatement(Call("f", (expression,)))).removeprefix("f(").removesuffix(");")


def op(name, *operands, type=INT):
    return Op(name, operands, type)


def test_long_lines_are_broken_where_they_are_nested_least():
    long = [Var(name * 14) for name in "uvwxyz"]
    u, v, w, x, y, z = long
    total = op("+", op("*", op("+", u, v), w), op("*", op("+", x, y), z))
    assert body(Assign(a, op("+", total, Load(values, a)))).split("\n") == [
        f"a = ({u.name} + {v.name}) * {w.name}",
        f"        + ({x.name} + {y.name}) * {z.name} + values[a];",
    ]
    call = Call("function_of_many_things", tuple(long))
    assert body(CallStatement(call)).split("\n") == [
        f"function_of_many_things({u.name}, {v.name}, {w.name}, {x.name},",
        f"        {y.name}, {z.name});",
    ]


def test_a_whole_file():
    fields = (("size0", INT), ("values", array(DOUBLE)))
    structs = [Struct("y", "y(i), d:0", fields, True), Struct("x", "x(i), d:0", fields)]
    loop = For(
        a,
        ZERO,
        Field("x", "size0"),
        [
            Assign(
                Load(Field("y", "values", values.type), a),
                Load(Field("x", "values", values.type), a),
            )
        ],
    )
    found = printed(Kernel("compute", ["y(i) = x(i)", ""], structs, [], [], [], [loop]))
    assert found.startswith("// y(i) = x(i)\n//\n\n#include <stdbool.h>\n")
    assert "// x(i), d:0\nstruct x {\n    int64_t size0;\n    const double *values;\n};\n" in found
    assert "// y(i), d:0\nstruct y {\n    int64_t size0;\n    double *values;\n};\n" in found
    assert found.endswith(
        "int compute(struct y *y, const struct x *x)\n{\n"
        "    for (int64_t a = 0; a < x->size0; a++)\n"
        "        y->values[a] = x->values[a];\n"
        "    return 0;\n}\n"
    )


def test_long_lines_of_macros_stay_lines_of_macros():
    line = "    sums[i][v] += " + " * ".join(["some_factor"] * 10) + "; \\"
    first, *rest = _fitted(line)
    assert rest
    assert all(part.endswith(" \\") and len(part) <= 102 for part in (first, *rest))
    joined = " ".join(part.removesuffix(" \\").strip() for part in (first, *rest))
    assert joined == line.removesuffix(" \\").strip()
