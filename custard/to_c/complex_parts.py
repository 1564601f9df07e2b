"""Values as the numbers that they consist of: complex ones have a real and an imaginary part."""

from __future__ import annotations

from collections.abc import Sequence

from custard.to_c.loop_ir import Call, Expr, Op, Type


def is_complex(type: Type) -> bool:
    """Whether values of a type have two parts."""
    return type.name.endswith(" complex")


def part_type(type: Type) -> Type:
    """The type of the parts of a value."""
    return Type(type.name.removesuffix(" complex"))


def apart(value: Expr) -> list[Expr]:
    """The parts of a value; a real value is its only part."""
    if not is_complex(value.type):
        return [value]
    part = part_type(value.type)
    end = "f" if part.name == "float" else ""
    return [Call(f"{name}{end}", (value,), part) for name in ("creal", "cimag")]


def together(parts: Sequence[Expr], type: Type) -> Expr:
    """The value of a type that has these parts."""
    if not is_complex(type):
        (value,) = parts
        return value
    return Call("CMPLXF" if part_type(type).name == "float" else "CMPLX", tuple(parts), type)


def product(one: Expr, other: Expr) -> Expr:
    """The product of two factors of a type, as numpy computes it."""
    if is_complex(one.type):
        return Call(f"multiply_{one.type.name.replace(' ', '_')}", (one, other), one.type)
    return Op("&" if one.type.name == "bool" else "*", (one, other), one.type)


def opposite(value: Expr) -> Expr:
    """The value with its sign changed, as numpy computes it."""
    if is_complex(value.type) and isinstance(value, Call):
        return Call(f"negate_{value.type.name.replace(' ', '_')}", (value,), value.type)
    return Op("-", (value,), value.type)


def subtracted(value: Expr) -> Expr | None:
    """What a value is the opposite of; None where it is written in another way."""
    match value:
        case Op("-", (one,)):
            return one
        case Call(function, (one,)) if function.startswith("negate_"):
            return one
    return None
