"""A small imperative IR: the loops, branches, loads and stores of a kernel.

    Expression  Var | Const | Limit | Field | Load | Op | Call
    Statement   Declare | Assign | For | While | If | Require | CallStatement | Comment
              | Parallel | Ordered

Expressions are typed and pure, and fold constants as they are made; ``+ - * // %`` and the
comparisons build them. ``Load`` reads through a pointer, and ``Assign`` stores through it.
``verify`` checks a kernel, ``printer`` prints it as C.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Type:
    """A C type, or a pointer to values of it."""

    name: str
    pointer: bool = False

    def __str__(self) -> str:
        return f"{self.name} *" if self.pointer else self.name


INT = Type("int64_t")
INT32 = Type("int32_t")
WORD = Type("uint64_t")
WIDE = Type("wide_t")  # unsigned, of 128 bits
BOOL = Type("bool")


def array(of: Type) -> Type:
    """The type of a pointer to values of a type."""
    return replace(of, pointer=True)


POINTER = array(Type("void"))


class Expr:
    """An expression; its ``type`` is known."""

    type: Type

    def __add__(self, other: Value) -> Expr:
        return op("+", self, other)

    def __radd__(self, other: Value) -> Expr:
        return op("+", as_expr(other), self)

    def __sub__(self, other: Value) -> Expr:
        return op("-", self, other)

    def __mul__(self, other: Value) -> Expr:
        return op("*", self, other)

    def __floordiv__(self, other: Value) -> Expr:
        return op("/", self, other)

    def __mod__(self, other: Value) -> Expr:
        return op("%", self, other)

    def __lt__(self, other: Value) -> Expr:
        return op("<", self, other)

    def __ge__(self, other: Value) -> Expr:
        return op(">=", self, other)

    def eq(self, other: Value) -> Expr:
        """The comparison; ``==`` compares the expressions themselves."""
        return op("==", self, other)

    def __getitem__(self, index: Value) -> Expr:
        return Load(self, as_expr(index))


Value = Expr | int


@dataclass(frozen=True)
class Var(Expr):
    """A local variable."""

    name: str
    type: Type = INT


@dataclass(frozen=True)
class Param(Expr):
    """A parameter of the kernel, to be passed on to a helper."""

    name: str
    type: Type = POINTER


@dataclass(frozen=True)
class Const(Expr):
    """A number; a bool for the type bool."""

    value: Any
    type: Type = INT


@dataclass(frozen=True)
class Limit(Expr):
    """A number that the helpers of ``c_runtime`` set for the machine."""

    name: str
    type: Type = INT


@dataclass(frozen=True)
class Field(Expr):
    """A member of a parameter, which is a pointer to a struct."""

    struct: str
    name: str
    type: Type = INT


@dataclass(frozen=True)
class Load(Expr):
    """The element of an array; as the target of ``Assign``, its place."""

    array: Expr
    index: Expr

    @property
    def type(self) -> Type:  # type: ignore[override]
        return replace(self.array.type, pointer=False)


@dataclass(frozen=True)
class Op(Expr):
    """An operator of C; besides, ``?:`` (condition, then, else), ``cast``, ``sizeof``, and
    ``widen``, a cast of a value of 32 bits to 64 that may be negative."""

    name: str
    operands: tuple[Expr, ...]
    type: Type = INT


@dataclass(frozen=True)
class Call(Expr):
    """A call of a helper of ``c_runtime``, or of a ``Function``."""

    function: str
    arguments: tuple[Expr, ...]
    type: Type = INT


ZERO, ONE = Const(0), Const(1)
TRUE, FALSE = Const(True, BOOL), Const(False, BOOL)


def as_expr(value: Value) -> Expr:
    """The expression itself, or a constant."""
    return value if isinstance(value, Expr) else Const(value)


_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=", "&&", "||", "!")
WHOLE = (INT, INT32, WORD, WIDE)


def op(name: str, *operands: Value) -> Expr:
    """An operation on operands of one type; on whole numbers, folded where it can be."""
    given = tuple(as_expr(operand) for operand in operands)
    folded = _folded(name, given)
    if folded is not None:
        return folded
    if name in _COMPARISONS:
        return Op(name, given, BOOL)
    return Op(name, given, given[-1].type if given[0].type == INT32 else given[0].type)


def _folded(name: str, operands: tuple[Expr, ...]) -> Expr | None:
    """The simpler form of an operation on whole numbers or conditions, where there is one."""
    if len(operands) != 2 or operands[0].type not in (*WHOLE, BOOL):
        return None
    left, right = operands
    match name, left, right:
        case "+", Const(0), _:
            return right
        case (("+" | "-"), _, Const(0)):
            return left
        case "*", Const(0), _:
            return ZERO
        case "*", _, Const(0):
            return ZERO
        case (("*" | "/"), _, Const(1)):
            return left
        case "*", Const(1), _:
            return right
        case "+", Const(a), Const(b):
            return Const(a + b)
        case "<", Const(a), Const(b):
            return Const(a < b, BOOL)
        case "&&", Const(True), _:
            return right
        case "&&", _, Const(True):
            return left
        case "||", Const(True), _:
            return TRUE
        case "||", _, Const(True):
            return TRUE
    return None


def cast(value: Expr, type: Type) -> Expr:
    """The value in another type."""
    if value.type == type:
        return value
    if isinstance(value, Const) and value.type in WHOLE and type in WHOLE:
        return Const(value.value, type)
    return Op("cast", (value,), type)


def select(condition: Expr, then: Expr, otherwise: Expr) -> Expr:
    """``condition ? then : otherwise``."""
    return then if condition == TRUE else Op("?:", (condition, then, otherwise), then.type)


def product(factors: Sequence[Expr]) -> Expr:
    """The product of one or more factors."""
    result = factors[0]
    for factor in factors[1:]:
        result = result * factor
    return result


def both(*conditions: Expr) -> Expr:
    """Whether all conditions hold."""
    return _chained("&&", conditions, TRUE)


def either(*conditions: Expr) -> Expr:
    """Whether one of the conditions holds."""
    return _chained("||", conditions, FALSE)


def _chained(name: str, conditions: Sequence[Expr], none: Expr) -> Expr:
    if not conditions:
        return none
    result = conditions[0]
    for condition in conditions[1:]:
        result = op(name, result, condition)
    return result


class Stmt:
    """A statement."""


Body = Sequence[Stmt]


@dataclass(frozen=True)
class Declare(Stmt):
    """A new local variable with its first value.

    ``const``  whether the variable never changes, nor the array that it points to
    ``shape``  of a local array without first values; ``Load`` reads a row of it, or an element
    """

    var: Var
    value: Expr
    const: bool = False
    shape: Sequence[Expr] = ()


@dataclass(frozen=True)
class Assign(Stmt):
    """``target = value``, or with an operator ``target += value``."""

    target: Expr
    value: Expr
    operator: str = ""


@dataclass(frozen=True)
class For(Stmt):
    """Counts a new variable from ``begin`` up to ``end``, or on to ``next`` after each round.

    ``increasing``  the coordinates that the body finds at the variable increase from round to round
    ``unroll``      how often the body is repeated, if not once
    ``step``        is added to the variable after each round
    ``vectors``     "simd" where rounds may be done at once, or the clause of OpenMP for its sums
    """

    var: Var
    begin: Expr
    end: Expr
    body: Body
    next: Expr | None = None
    increasing: bool = False
    unroll: int = 1
    step: Expr = Const(1)
    vectors: str = ""


@dataclass(frozen=True)
class While(Stmt):
    """Repeats the body while the condition holds."""

    condition: Expr
    body: Body


@dataclass(frozen=True)
class If(Stmt):
    """The body of the first case whose condition holds, else ``otherwise``."""

    cases: Sequence[tuple[Expr, Body]]
    otherwise: Body = ()


@dataclass(frozen=True)
class Require(Stmt):
    """Ends the kernel unless a condition holds: memory or 32-bit indices do not suffice."""

    condition: Expr


@dataclass(frozen=True)
class CallStatement(Stmt):
    """A call for its effect."""

    call: Call


@dataclass(frozen=True)
class Parallel(Stmt):
    """Each thread runs the body, in a function of its own.

    ``function``  its name; ``of`` names the loop that is shared out
    ``thread``    the variable with the number of the thread
    ``heap``      the pointers of each thread, set to NULL first, and freed in the end
    ``outs``      the pointers by which the body changes numbers outside of it, with these numbers
    ``structs``   the thread's own structs in place of the kernel's, by their names
    ``ordered``   whether the body has an ``Ordered``
    ``arguments``  of the call of the function, which the printer finds
    """

    function: str
    of: str
    thread: Var
    threads: Expr
    heap: Sequence[Var]
    body: Body
    outs: Sequence[tuple[Var, Var]] = ()
    structs: Sequence[tuple[str, str]] = ()
    ordered: bool = False
    arguments: Sequence[str] = ()


@dataclass(frozen=True)
class Ordered(Stmt):
    """Statements that the threads run one after the other, in their order."""

    body: Body


@dataclass(frozen=True)
class Comment(Stmt):
    """A line of comment about the statements after it."""

    text: str


@dataclass(frozen=True)
class Struct:
    """A parameter of the kernel: a pointer to the fields of a tensor.

    ``about``    the tensor and its storage, in words
    ``written``  whether the kernel changes it
    """

    name: str
    about: str
    fields: tuple[tuple[str, Type], ...]
    written: bool = False


@dataclass(frozen=True)
class Function:
    """A function that works on one struct, and returns whether it succeeded.

    ``numbers``  its other parameters
    ``says``     the condition that it returns
    """

    name: str
    about: str
    struct: str
    numbers: Sequence[Var]
    body: Body
    says: Expr


@dataclass(frozen=True)
class Kernel:
    """A function.

    ``header``     the lines of its comment
    ``structs``    its parameters, and behind them ``numbers``
    ``functions``  those that it calls
    ``heap``       pointers that are set to NULL first, and freed in the end
    ``prefix``     of the names of its structs, its own and that of ``release``
    ``parts``      structs of the result, and how many, which are released in the end
    """

    name: str
    header: Sequence[str]
    structs: Sequence[Struct]
    numbers: Sequence[Var]
    functions: Sequence[Function]
    heap: Sequence[Var]
    body: Body
    prefix: str = ""
    parts: tuple[Var, Expr] | None = None


def is_plain(loop: For) -> bool:
    """Whether a loop counts one by one, in the order of its rounds."""
    plain = loop.next is None and loop.step == ONE and loop.unroll == 1
    return plain and not loop.vectors
