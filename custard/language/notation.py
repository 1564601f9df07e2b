"""Index notation: the text of an assignment, and the syntax tree that knows its positions.

    assignment = access ("=" | "+=") expression
    expression = term {("+" | "-") term}
    term       = operand {("*" | "/") operand}
    operand    = {"-" | "+"} (NUMBER | "(" expression ")" | reduction | access)
    reduction  = "sum" "(" NAME "," {NAME ","} expression ")"
    access     = NAME ["(" [subscripts] ")"] | NAME_ "{" [subscripts] "}" | NAME_NAME
    subscripts = subscript {"," subscript}
    subscript  = ["-" | "+"] product {("+" | "-") product} | window
    product    = (NAME | INTEGER) {"*" (NAME | INTEGER)}        with at most one NAME
    window     = NAME "(" INTEGER "," INTEGER ["," INTEGER] ")"

Chains are left associative, and a sign binds more tightly than ``*``. A tensor and an index
variable may share a name. A tensor may be called ``sum`` too: ``sum``, ``sum()``, ``sum(i)`` and
every target are accesses, and any other ``sum(`` is a reduction. In the window ``i(2,10,3)``, i
goes through the coordinates 2, 5 and 8: from the first number to below the second, in steps.

``T_{i,j}`` and ``T_i`` are TACO's other way to write T(i,j) and T(i). The second is also a name:
it is an access of T just where T is declared and ``T_i`` is not, and otherwise the scalar ``T_i``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, cast

from custard.language.tokens import (
    CLOSING,
    ENDS,
    FUNCTIONS,
    LETTERS,
    OPERATIONS,
    Span,
    Token,
    tokens,
)
from sam.support.errors import UserError

Operator: TypeAlias = Literal["+", "-", "*", "/"]
Assigns: TypeAlias = Literal["=", "+="]
MAX_DEPTH = 200


@dataclass(frozen=True)
class SyntaxNode:
    """A part of an assignment. ``span`` is its place in the text, which equality ignores."""

    span: Span = field(default=(0, 0), compare=False, repr=False, kw_only=True)


@dataclass(frozen=True)
class Variable(SyntaxNode):
    """An index variable."""

    name: str


@dataclass(frozen=True)
class ComputedSubscript(SyntaxNode):
    """A subscript that is computed: ``terms`` are (variable, coefficient), none of them zero.

    ``extent``  that of the variable, where the subscript is a window
    """

    terms: tuple[tuple[str, int], ...]
    constant: int
    extent: int | None = None


@dataclass(frozen=True)
class Access(SyntaxNode):
    """A tensor and its subscripts; a scalar has none."""

    tensor: str
    indices: tuple[Index, ...]


@dataclass(frozen=True)
class Number(SyntaxNode):
    """A number, without its sign; a whole one of more than 63 bits is a float."""

    value: int | float


@dataclass(frozen=True)
class Negate(SyntaxNode):
    """The operand with the other sign."""

    operand: Expression


@dataclass(frozen=True)
class Binary(SyntaxNode):
    """Two operands and the operator between them."""

    operator: Operator
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Reduction(SyntaxNode):
    """An explicit reduction of the operand over the variables."""

    variables: tuple[Variable, ...]
    operand: Expression


@dataclass(frozen=True)
class Assignment(SyntaxNode):
    """A whole program text: an expression, and the tensor that it is stored in or added to."""

    target: Access
    operator: Assigns
    value: Expression
    text: str = field(compare=False, repr=False)


Index: TypeAlias = Variable | ComputedSubscript
Expression: TypeAlias = Access | Number | Negate | Binary | Reduction


def parse(text: str, declared: Collection[str] = ()) -> Assignment:
    """The syntax tree of an assignment in index notation (DESIGN.md, section 3).

    ``declared`` has the tensors that formats are given for, which tell ``T_i`` from ``T(i)``.
    Raises UserError, with the place, where ``text`` is not one assignment of the grammar, where a
    tensor is used with different numbers of subscripts, and where parentheses and signs nest deeper
    than ``MAX_DEPTH``.
    """
    return _Descent("".join(" " if c.isspace() else c for c in text), declared).assignment()


def walk(node: SyntaxNode) -> Iterator[SyntaxNode]:
    """The node and all nodes below it, each before its children, in the order of the text."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(_children(node)))


def accesses(assignment: Assignment) -> list[Access]:
    """All accesses in the order of the text: the target first."""
    return [node for node in walk(assignment) if isinstance(node, Access)]


def _variables(access: Access) -> set[str]:
    """The index variables in the subscripts of an access."""
    names = {index.name for index in access.indices if isinstance(index, Variable)}
    terms = (index.terms for index in access.indices if isinstance(index, ComputedSubscript))
    return names | {name for one in terms for name, _ in one}


def _children(node: SyntaxNode) -> tuple[SyntaxNode, ...]:
    match node:
        case Assignment():
            return node.target, node.value
        case Binary():
            return node.left, node.right
        case Negate():
            return (node.operand,)
        case Reduction():
            return *node.variables, node.operand
        case Access():
            return node.indices
        case _:
            return ()


def _slice(text: str, span: Span) -> str:
    return text[span[0] : span[1]]


_EXAMPLE = "write, for example, X(i,j) = B(i,k) * C(k,j)"


class _Descent:
    """Recursive descent. Chains and signs are loops: only parentheses and sums recurse."""

    def __init__(self, text: str, declared: Collection[str]) -> None:
        self.text, self.declared = text, declared
        self.tokens = tokens(text)
        self.position = 0
        self.depth = 0

    def assignment(self) -> Assignment:
        operator = self._assignment_operator()
        target = self._target(operator)
        self._take()
        value = self._expression()
        if self._next.kind != "end":
            raise self._unexpected(self._next)
        span = (target.span[0], value.span[1])
        assignment = Assignment(target, cast(Assigns, operator.kind), value, self.text, span=span)
        self._require_one_order(assignment)
        self._require_no_call(assignment)
        return assignment

    def _require_no_call(self, assignment: Assignment) -> None:
        """Refuses a tensor with the name of a function and subscripts that nothing else has.

        That is how a call looks; a tensor of that name gets a format.
        """
        found = accesses(assignment)
        for access in found:
            if access.tensor not in FUNCTIONS or access.tensor in self.declared:
                continue
            others = {name for one in found if one is not access for name in _variables(one)}
            for index in access.indices:
                if isinstance(index, Variable) and index.name not in others:
                    own = f"-f={access.tensor}:{'s' * len(access.indices)}"
                    raise self._error(
                        f"{access.tensor} is not a function here",
                        access.span,
                        f"{OPERATIONS}; a tensor of this name has a format, as in {own}",
                    )

    def _assignment_operator(self) -> Token:
        found = [token for token in self.tokens if token.kind in ("=", "+=")]
        if self._next.kind == "end":
            raise self._error("the expression is empty", self._next.span, _EXAMPLE)
        if not found:
            whole = (self._next.start, self.tokens[-1].start)
            raise self._error("the expression has no =", whole, _EXAMPLE)
        if len(found) > 1:
            raise self._error(
                f"the expression has a second {found[1].text}",
                found[1].span,
                "one expression makes one assignment",
            )
        return found[0]

    def _target(self, operator: Token) -> Access:
        first = self._next
        if first is operator:
            raise self._error(f"nothing stands before {first.text}", first.span, _EXAMPLE)
        if first.kind == "number":
            raise self._error("a number cannot be assigned to", first.span, _EXAMPLE)
        if first.kind != "name":
            raise self._error(f"{first.text} does not begin a tensor", first.span, _EXAMPLE)
        target = self._access()
        if self._next.kind in CLOSING.values():
            raise self._unexpected(self._next)
        if self._next is not operator:
            rest = (target.span[0], self.tokens[self.tokens.index(operator) - 1].end)
            raise self._error(
                f"{_slice(self.text, rest)} is not one tensor, which is all that can stand before "
                f"{operator.text}",
                rest,
                _EXAMPLE,
            )
        return target

    def _require_one_order(self, assignment: Assignment) -> None:
        first: dict[str, Access] = {}
        for access in accesses(assignment):
            known = first.setdefault(access.tensor, access)
            here, there = len(access.indices), len(known.indices)
            if here != there:
                raise self._error(
                    f"{access.tensor} has {here} subscript{'s' * (here != 1)} here and {there} in "
                    f"{_slice(self.text, known.span)}",
                    access.span,
                )

    def _expression(self) -> Expression:
        """Terms and factors in one frame: a level of nesting takes three of Python's thousand."""
        terms: list[Expression] = []
        signs: list[Token] = []
        while True:
            term = self._operand()
            while self._next.kind in ("*", "/"):
                term = _binary(term, self._take(), self._operand())
            terms.append(term)
            if self._next.kind not in ("+", "-"):
                break
            signs.append(self._take())
        total = terms[0]
        for sign, term in zip(signs, terms[1:], strict=True):
            total = _binary(total, sign, term)
        return total

    def _operand(self) -> Expression:
        outside = self.depth
        signs = []
        while self._next.kind in ("+", "-"):
            self._descend()
            signs.append(self._take())
        operand: Expression
        if self._next.kind == "(":
            operand = self._parenthesised()
        elif self._next.kind == "number":
            token = self._take()
            operand = Number(token.number, span=token.span)
        elif self._next.kind != "name":
            raise self._missing_operand()
        elif self._at_reduction():
            operand = self._reduction()
        else:
            operand = self._access()
        for sign in reversed(signs):
            if sign.kind == "-":
                operand = Negate(operand, span=(sign.start, operand.span[1]))
        self.depth = outside
        self._require_operator()
        return operand

    def _parenthesised(self) -> Expression:
        self._descend()
        opening = self._take()
        inner = self._expression()
        closing = self._close(opening)
        return replace(inner, span=(opening.start, closing.end))

    def _at_reduction(self) -> bool:
        if self._next.text != "sum" or self._following(1).kind != "(":
            return False
        inside = [self._following(2).kind, self._following(3).kind]
        return inside[0] != ")" and inside != ["name", ")"]

    def _reduction(self) -> Reduction:
        self._descend()
        name, opening = self._take(), self._take()
        variables: list[Variable] = []
        while self._next.kind == "name" and self._following(1).kind == ",":
            variable = self._take()
            if variable.text in [v.name for v in variables]:
                raise self._error(f"{variable.text} repeats in one sum", variable.span)
            variables.append(Variable(variable.text, span=variable.span))
            self._take()
        if not variables:
            raise self._error(
                "sum has no variable to sum over", name.span, "write, for example, sum(j, B(i,j))"
            )
        operand = self._expression()
        closing = self._close(opening)
        return Reduction(tuple(variables), operand, span=(name.start, closing.end))

    def _access(self) -> Access:
        name = self._take()
        tensor = name.text
        if self._next.kind == "{" and tensor.endswith("_") and tensor.strip("_"):
            tensor = tensor[:-1]
        elif self._next.kind != "(":
            return self._bare(name)
        opening = self._take()
        indices: list[Index] = []
        if self._next.kind != CLOSING[opening.kind]:
            indices.append(self._subscript(opening))
        while self._next.kind == ",":
            self._take()
            indices.append(self._subscript(opening))
        closing = self._close(opening)
        return Access(tensor, tuple(indices), span=(name.start, closing.end))

    def _bare(self, name: Token) -> Access:
        """A scalar; or, as in ``T_i``, the longest name before a ``_`` that is declared."""
        at = len(name.text) if name.text in self.declared else name.text.rfind("_")
        while at > 0 and name.text[:at] not in self.declared:
            at = name.text.rfind("_", 0, at)
        variable = name.text[at + 1 :]
        if at <= 0 or variable[:1] not in LETTERS:
            return Access(name.text, (), span=name.span)
        index = Variable(variable, span=(name.start + at + 1, name.end))
        return Access(name.text[:at], (index,), span=name.span)

    def _subscript(self, opening: Token) -> Index:
        first = self._next
        if first.kind in (",", CLOSING[opening.kind]):
            raise self._error("a subscript is empty", first.span)
        if first.kind in ENDS:
            self._close(opening)
        inside = [self._following(n).kind for n in (1, 2)]
        if first.kind == "name" and inside == ["(", "number"]:
            return self._window()
        coefficients: Counter[str] = Counter()
        constant = 0
        sign = self._take() if first.kind in ("+", "-") else None
        while True:
            scale, variable = self._product()
            if sign is not None and sign.kind == "-":
                scale = -scale
            if variable is None:
                constant += scale
            else:
                coefficients[variable] += scale
            if self._next.kind not in ("+", "-"):
                break
            sign = self._take()
        if self._next.kind in ("/", "("):
            raise self._not_affine(self._next)
        self._require_operator()
        span = (first.start, self.tokens[self.position - 1].end)
        terms = tuple((name, scale) for name, scale in coefficients.items() if scale != 0)
        if constant == 0 and [scale for _, scale in terms] == [1]:
            return Variable(terms[0][0], span=span)
        return ComputedSubscript(terms, constant, span=span)

    def _window(self) -> ComputedSubscript:
        variable, opening = self._take(), self._take()
        bounds = [self._bound()]
        while self._next.kind == ",":
            self._take()
            bounds.append(self._bound())
        closing = self._close(opening)
        span = (variable.start, closing.end)
        if len(bounds) not in (2, 3):
            raise self._error(
                f"a window has a begin, an end and, if wanted, a step; this one has {len(bounds)} "
                f"number{'s' * (len(bounds) != 1)}",
                span,
                f"write, for example, {variable.text}(2,10) or {variable.text}(2,10,3)",
            )
        begin, end, step = (*bounds, 1)[:3]
        if step == 0 or end < begin:
            wrong = "has a step of 0" if step == 0 else "ends before it begins"
            raise self._error(f"this window {wrong}", span)
        self._require_operator()
        return ComputedSubscript(
            ((variable.text, step),), begin, -(-(end - begin) // step), span=span
        )

    def _bound(self) -> int:
        token = self._next
        if token.kind != "number" or not isinstance(token.number, int):
            raise self._error(
                f"{token.text or 'the end'} is not a bound of a window",
                token.span,
                "the bounds of a window are whole numbers, as in A(i(2,10),j)",
            )
        self._take()
        return token.number

    def _product(self) -> tuple[int, str | None]:
        scale, variable = 1, None
        while True:
            token = self._next
            if token.kind == "name" and variable is None:
                variable = token.text
            elif token.kind == "number" and isinstance(token.number, int):
                scale *= token.number
            elif token.kind in ("name", "number", "("):
                raise self._not_affine(token)
            else:
                raise self._missing_operand()
            self._take()
            if self._next.kind != "*":
                return scale, variable
            self._take()

    @property
    def _next(self) -> Token:
        return self.tokens[self.position]

    def _following(self, distance: int) -> Token:
        return self.tokens[min(self.position + distance, len(self.tokens) - 1)]

    def _take(self) -> Token:
        token = self._next
        self.position += 1
        return token

    def _close(self, opening: Token) -> Token:
        if self._next.kind in ENDS:
            raise self._error(f"this {opening.kind} is never closed", opening.span)
        if self._next.kind != CLOSING[opening.kind]:
            raise self._unexpected(self._next)
        return self._take()

    def _descend(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self._error(
                f"more than {MAX_DEPTH} parentheses and signs nest here", self._next.span
            )

    def _require_operator(self) -> None:
        token = self._next
        if token.kind in ("name", "number", "("):
            hint = "a product is written with *, as in 2 * B(i)"
            before = self.tokens[self.position - 1]
            if before.kind == "number" and before.end == token.start and token.kind == "name":
                hint += ", and a number in decimal digits, as in 2500 or 2.5e3"
            raise self._error(f"an operator is missing before {token.text}", token.span, hint)

    def _missing_operand(self) -> UserError:
        token = self._next
        place = "at the end" if token.kind == "end" else f"before {token.text}"
        return self._error(f"an operand is missing {place}", token.span)

    def _not_affine(self, token: Token) -> UserError:
        hint = "a subscript is a sum of index variables times whole numbers, as in A(2*i+k-1,j)"
        called = [one for one in self.tokens[: self.position] if one.text in FUNCTIONS]
        if token.kind == "(" and called:
            return self._error(
                f"{called[-1].text} is not a function here", called[-1].span, OPERATIONS
            )
        return self._error(f"{token.text} cannot stand in a subscript here", token.span, hint)

    def _unexpected(self, token: Token) -> UserError:
        closes = token.kind in CLOSING.values()
        what = (
            f"this {token.text} closes nothing" if closes else f"{token.text} is not expected here"
        )
        return self._error(what, token.span)

    def _error(self, what: str, span: Span, hint: str | None = None) -> UserError:
        return UserError(what, source=self.text, span=span, hint=hint)


def _binary(left: Expression, operator: Token, right: Expression) -> Binary:
    span = (left.span[0], right.span[1])
    return Binary(cast(Operator, operator.kind), left, right, span=span)
