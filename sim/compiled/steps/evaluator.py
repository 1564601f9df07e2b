"""Evaluates a step, a small part of Python, with ports, parameters and shapes known.

Loops over ports are unrolled, calls inlined, branches on known values decided. Open values are
written as C. Steps may use: assignments, ``if``, ``for`` over ports or known ranges, ``while``,
``return``, ``raise``; arithmetic and comparisons; calls of other such functions; methods of levels
and of the memories in ``sam.blocks.block_memory``. Anything else raises ``Untranslatable``.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sam.arithmetic import Operation
from sam.blocks.block_memory import Accumulator, Growing, Stored
from sim.compiled.residual import INT, Leave, StepPort
from sim.compiled.steps import memories
from sim.compiled.steps.arithmetic import binary, compare, operate, unary
from sim.compiled.steps.builtin_calls import BUILTINS
from sim.compiled.steps.ports import METHODS, touch
from sim.compiled.steps.source import assignments, is_text, only_returns, passing, reading, syntax
from sim.compiled.steps.values import (
    Accesses,
    Known,
    Method,
    Open,
    State,
    StateList,
    StepMemory,
    StepPorts,
    lasts,
)
from sim.compiled.steps.writing import Firing, FiringState, FiringWriter, Frame, Situation

# A branch of only such lines is written without a jump.
_TAKE = re.compile(r" *TAKE\d+$")

_DEEPEST_CALLS = 20


class Evaluator(FiringWriter):
    """Evaluates statements and expressions of a step."""

    def firing(self, step: Any, memory: Any, situation: Situation) -> Firing:
        """A firing in some situation. It shares its variables with the others, not its labels."""
        self.copies += 1
        self.begin(situation)
        self.end_with(step, [StepPorts(), State(), StepMemory((), memory)], "step")
        return Firing(self.lines, self.ends, self.pure, self.constant)

    # Calls of functions

    def end_with(self, function: Any, arguments: Sequence[Any], prefix: str) -> None:
        """Writes a call with which the firing ends: each of its branches ends the firing."""
        tree, _ = self.enter(function, arguments, prefix, ends=True)
        self.block([*tree.body, *([] if only_returns(tree.body[-1:]) else [ast.Return(None)])])
        self.frames.pop()

    def finish(self, value: Any) -> None:
        """Ends the firing."""
        if isinstance(value, Known):
            finished = "1" if value.value else "0"
        else:
            finished = self.open(value).text
        takes, gives = self.reached.side("take"), self.reached.side("give")
        self.lines.append(Leave(self.indent, takes, gives, finished))
        self.ends.append(self.reached)

    def inline(self, function: Any, arguments: Sequence[Any], prefix: str) -> Any:
        """Writes the body of a function; gives the value that it returns."""
        tree, frame = self.enter(function, arguments, prefix)
        jump, start = f" goto {self.label(frame)};", len(self.lines)
        body = [s for s in tree.body if not is_text(s)]
        if len(body) == 1 and isinstance(body[0], ast.Return):
            frame.statement = body[0]
            result = self.evaluate(body[0].value) if body[0].value else Known(None)
            self.frames.pop()
            return result
        if not self.block(body):
            frame.reached = self.join(frame.reached, self.reached)
        self.reached = frame.reached or self.reached
        jumps = [n for n in range(start, len(self.lines)) if str(self.lines[n]).endswith(jump)]
        if jumps and jumps[-1] == len(self.lines) - 1:
            del self.lines[jumps.pop()]
        if jumps:
            self.write(f"{self.label(frame)}:;")
        self.frames.pop()
        if all(isinstance(one, Known) and one.value is None for one in frame.result):
            return Known(None)
        shape = next((one for one in frame.result if isinstance(one, tuple)), None)
        if shape is not None:
            return tuple(self.result(frame, k) for k in range(len(shape)))
        return self.result(frame, 0)

    def enter(
        self, function: Any, arguments: Sequence[Any], prefix: str, ends: bool = False
    ) -> tuple[ast.FunctionDef, Frame]:
        """Begins a call: its parameters become names of its frame."""
        try:
            tree = syntax(function)
        except (OSError, TypeError, SyntaxError, AssertionError):
            raise self.refuse("a function whose source cannot be read") from None
        names = [argument.arg for argument in tree.args.args]
        defaults = [Known(value) for value in function.__defaults__ or ()]
        missing = len(names) - len(arguments)
        if not 0 <= missing <= len(defaults) or tree.args.kwonlyargs or tree.args.vararg:
            raise self.refuse(f"a call of {tree.name} that does not fill its parameters")
        arguments = [*arguments, *defaults[len(defaults) - missing :]]
        counts = assignments(tree)
        frame = Frame(
            function,
            dict(zip(names, arguments, strict=True)),
            f"{'f' if prefix.startswith('s_') else ''}{prefix}{self.calls}_",
            {name for name, count in counts.items() if count > 1 or name in names},
            passing(tree),
            ends,
        )
        self.calls += 1
        if len(self.frames) > _DEEPEST_CALLS:
            raise self.refuse("recursion")
        self.frames.append(frame)
        for name in names:
            value = frame.names[name]
            if name in counts or (isinstance(value, Open) and not lasts(value)):
                frame.names[name] = self.assign(frame.prefix + name, value)
        return tree, frame

    def result(self, frame: Frame, k: int) -> Any:
        name = f"{frame.prefix}result{k}"
        return self.now(Open(name, self.types[name]))

    def label(self, frame: Frame) -> str:
        """Where a call ends."""
        return f"{frame.prefix}end{self.copies}"

    # Statements

    def block(self, statements: Sequence[ast.stmt]) -> bool:
        """Writes statements; tells whether control never comes to their end."""
        for n, statement in enumerate(statements):
            rest = list(statements[n + 1 :])
            if self.frames[-1].ends and isinstance(statement, ast.If) and only_returns(rest):
                # The firing ends in each branch by itself, where more is known.
                branches = [*statement.body, *rest], [*statement.orelse, *rest]
                self.frames[-1].statement = statement
                return self.branch(statement.test, *branches)
            if self.statement(statement):
                return True
        return False

    def statement(self, node: ast.stmt) -> bool:
        self.frames[-1].statement = node
        match node:
            case ast.Expr(value):
                if not is_text(node):
                    self.evaluate(value)
            case ast.Assign([target], value):
                self.store(target, self.evaluate(value))
            case ast.AugAssign(target, op, value):
                load = ast.copy_location(ast.BinOp(reading(target), op, value), node)
                self.store(target, self.evaluate(load))
            case ast.If(test, body, orelse):
                return self.branch(test, body, orelse)
            case ast.For(target, iterable, body, []):
                self.unroll(target, iterable, body)
            case ast.While(test, body, []):
                self.loop(test, body)
            case ast.Return(ast.Call(ast.Name() as name, arguments, []) as call) if self.frames[
                -1
            ].ends:
                function = self.evaluate(name)
                if not isinstance(function, Known) or not inspect.isfunction(function.value):
                    return self.leave(self.evaluate(call))
                called = function.value.__name__.lstrip("_")
                self.end_with(function.value, list(self.sequence(arguments)), called)
                return True
            case ast.Return(value):
                return self.leave(self.evaluate(value) if value else Known(None))
            case ast.Raise(ast.Call(ast.Name("StreamError"), [text, *value])):
                said = self.evaluate(text)
                if not isinstance(said, Known) or not isinstance(said.value, str):
                    raise self.refuse("a message that is not known")
                about = self.open(self.evaluate(value[0])).text if value else None
                self.fail(said.value, value=about)
                return True
            case ast.Pass():
                pass
            case _:
                raise self.refuse(f"the statement {type(node).__name__}")
        return False

    def branch(self, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt]) -> bool:
        condition = self.condition(test)
        if isinstance(condition, Known):
            return self.block(body if condition.value else orelse)
        start = len(self.lines)
        self.write(f"if ({condition.text}) {{")
        before = self.reached
        self.depth += 1
        self.learn(condition, True)
        ends = self.block(body)
        self.depth -= 1
        after = None if ends else self.reached
        inside = self.lines[start + 1 :]
        takes = [line.strip() for line in inside if isinstance(line, str) and _TAKE.match(line)]
        if not orelse and takes and len(takes) == len(inside):
            del self.lines[start:]
            for take in takes:
                self.write(f"{take.replace('TAKE', 'TAKE_IF')}({condition.text})")
            self.reached = self.join(before, after)
            return False
        self.reached = before
        self.learn(condition, False)
        other: FiringState | None = self.reached
        if orelse:
            self.write("} else {")
            self.depth += 1
            other = None if self.block(orelse) else self.reached
            self.depth -= 1
        self.write("}")
        self.reached = self.join(other, after)
        return other is None and after is None

    def unroll(self, target: ast.expr, iterable: ast.expr, body: list[ast.stmt]) -> None:
        values = self.evaluate(iterable)
        if isinstance(values, Known):
            values = [Known(value) for value in values.value]
        if not isinstance(values, list | tuple):
            raise self.refuse("a loop over an iterable that is not known")
        for value in values:
            self.bind(target, value)
            if self.block(body):
                break

    def loop(self, test: ast.expr, body: list[ast.stmt]) -> None:
        self.write("for (;;) {")
        self.reached = before = replace(self.reached, known={})
        self.depth += 1
        condition = self.open(self.condition(test))
        self.write(f"if (!({condition.text})) break;")
        self.block(body)
        after = self.join(before, self.reached)
        self.reached = replace(after, peeked=before.peeked)
        self.depth -= 1
        self.write("}")

    def leave(self, value: Any) -> bool:
        """Returns from the call that is being inlined."""
        frame = self.frames[-1]
        if frame.ends:
            self.finish(value)
            return True
        frame.result.append(value)
        for k, part in enumerate(value if isinstance(value, tuple) else [value]):
            self.assign(f"{frame.prefix}result{k}", part)
        frame.reached = self.join(frame.reached, self.reached)
        self.write(f"goto {self.label(frame)};")
        return True

    def bind(self, target: ast.expr, value: Any) -> None:
        """Binds a loop variable, which stays known."""
        if isinstance(target, ast.Tuple):
            parts = value if isinstance(value, tuple | list) else value.value
            for one, part in zip(target.elts, parts, strict=True):
                self.bind(one, part if not isinstance(value, Known) else Known(part))
        elif isinstance(target, ast.Name):
            self.frames[-1].names[target.id] = value
        else:
            raise self.refuse("a loop variable that is not a name")

    def store(self, target: ast.expr, value: Any) -> None:
        match target:
            case ast.Tuple(elts):
                if isinstance(value, Known):
                    value = tuple(Known(part) for part in value.value)
                for one, part in zip(elts, [self.settled(part) for part in value], strict=True):
                    self.store(one, part)
            case ast.Name(name):
                frame = self.frames[-1]
                if name in frame.often or isinstance(value, Open):
                    own = frame.prefix + name
                    own = self.typed(own, value) if name in frame.passing else own
                    frame.names[name] = self.assign(own, value)
                else:
                    frame.names[name] = value
            case ast.Attribute(owner, name) if isinstance(self.evaluate(owner), State):
                self.attribute(State(), name)
                self.assign(f"s_{name}", value)
            case ast.Subscript(owner, index):
                place, at = self.evaluate(owner), self.evaluate(index)
                if isinstance(place, StateList) and isinstance(at, Known):
                    self.assign(f"s_{place.name}_{at.value}", value)
                elif isinstance(place, StepMemory) and isinstance(place.value, Stored):
                    memories.store(self, place, at, value)
                else:
                    raise self.refuse(f"an assignment to {ast.unparse(target)}")
            case _:
                raise self.refuse(f"an assignment to {ast.unparse(target)}")

    # Expressions

    def evaluate(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value):
                return Known(value)
            case ast.Name(name):
                return self.name(name)
            case ast.Attribute(owner, name):
                return self.attribute(self.evaluate(owner), name)
            case ast.Subscript(owner, index):
                return self.item(self.evaluate(owner), self.evaluate(index), node)
            case ast.Tuple(elts) | ast.List(elts):
                return self.sequence(elts)
            case ast.Compare(left, [op], [right]):
                first, second = self.sequence([left, right])
                return compare(self, first, op, second)
            case ast.Compare():
                raise self.refuse("a chain of comparisons")
            case ast.BoolOp(op, values):
                return self.logic(op, values, test=False)
            case ast.UnaryOp(ast.Not() as op, operand):
                return unary(self, op, self.condition(operand))
            case ast.UnaryOp(op, operand):
                return unary(self, op, self.evaluate(operand))
            case ast.BinOp(left, op, right):
                first, second = self.sequence([left, right])
                return binary(self, first, op, second)
            case ast.IfExp(test, body, orelse):
                return self.choice(test, body, orelse)
            case ast.Call(function, arguments, keywords):
                if any(keyword.arg != "strict" for keyword in keywords):
                    raise self.refuse("an argument by keyword")
                return self.call(self.evaluate(function), arguments, node)
        raise self.refuse(f"the expression {ast.unparse(node)}")

    def condition(self, node: ast.expr) -> Any:
        """An expression of which only the truth counts."""
        if isinstance(node, ast.BoolOp):
            return self.logic(node.op, node.values, test=True)
        return self.evaluate(node)

    def choice(self, test: ast.expr, body: ast.expr, orelse: ast.expr) -> Any:
        """A conditional expression."""
        condition = self.condition(test)
        if isinstance(condition, Known):
            return self.evaluate(body if condition.value else orelse)
        arms = [self.silent(arm, "in an arm of a conditional expression") for arm in (body, orelse)]
        if isinstance(arms[0], Known) and repr(arms[0]) == repr(arms[1]):
            return arms[0]
        yes, no = map(self.open, arms)
        wide = yes.ctype if yes.ctype != INT else no.ctype
        return Open(f"({condition.text} ? {yes.text} : {no.text})", wide)

    def silent(self, node: ast.expr, where: str) -> Any:
        """An expression that must not need statements, as Python may not evaluate it."""
        written = len(self.lines)
        value = self.evaluate(node)
        if len(self.lines) > written:
            raise self.refuse(f"{ast.unparse(node)} {where}")
        return value

    def logic(self, op: ast.boolop, nodes: Sequence[ast.expr], test: bool) -> Any:
        """``and`` and ``or``; unless they are a test, of operands that are True or False."""
        decides = isinstance(op, ast.Or)
        texts = []
        truths = True
        for n, node in enumerate(nodes):
            if n == 0:
                value = self.condition(node) if test else self.evaluate(node)
            else:
                value = self.silent(node, "behind and or or")
            truth = value.truth if isinstance(value, Open) else isinstance(value.value, bool)
            if not truth and not test:
                raise self.refuse(f"{ast.unparse(node)}, neither True nor False, in and or or")
            truths = truths and truth
            if isinstance(value, Known):
                if bool(value.value) == decides:
                    return Known(decides)
                continue
            texts.append(value.text)
        if not texts:
            return Known(not decides)
        plain = truths and not any("[" in text or "->" in text for text in texts)
        symbols = ("|", "&") if plain else ("||", "&&")
        return Open("(" + f" {symbols[not decides]} ".join(texts) + ")", INT, True)

    def sequence(self, elements: Sequence[ast.expr]) -> tuple[Any, ...]:
        """Expressions in order; a later call must not change the values of earlier ones."""
        parts: list[Any] = []
        for n, element in enumerate(elements):
            if any(isinstance(one, ast.Call) for one in ast.walk(element)):
                parts[:n] = map(self.settled, parts[:n])
            if isinstance(element, ast.Starred):
                value = self.evaluate(element.value)
                parts += value if isinstance(value, list | tuple) else map(Known, value.value)
            else:
                parts.append(self.evaluate(element))
        return tuple(parts)

    def name(self, name: str) -> Any:
        frame = self.frames[-1]
        if name in frame.names:
            return self.now(frame.names[name])
        for scope in (frame.function.__globals__, vars(builtins)):
            if name in scope:
                return Known(scope[name])
        raise self.refuse(f"the name {name}, which is neither set before nor global,")

    def attribute(self, owner: Any, name: str) -> Any:
        if isinstance(owner, StepPorts):
            if name == "memory":
                return Accesses()
            if name not in self.ports:
                raise self.refuse(f"the port {name}, which the block does not have,")
            return self.ports[name]
        if isinstance(owner, State):
            if name not in self.state:
                raise self.refuse(f"the state {name}, which the block does not start with,")
            start = self.state[name]
            if isinstance(start, list):
                return StateList(name, len(start))
            return self.now(self.state_variable(name, start))
        if isinstance(owner, StepMemory):
            if not hasattr(owner.value, name):
                raise self.refuse(f"{name}, which the memory of the block does not have,")
            value = getattr(owner.value, name)
            if callable(value) and hasattr(value, "__self__"):
                return Method(owner, name)
            return memories.remembered(self, (*owner.path, name), value)
        if isinstance(owner, StepPort) and owner.wire != (name == "latest"):
            raise self.refuse(
                f"{name} of {owner.name}, which is {'a' if owner.wire else 'no'} wire,"
            )
        if isinstance(owner, StepPort | list | Accesses):
            return Method(owner, name)
        if isinstance(owner, Open | Known) and name == "bit_count":
            return Method(self.open(owner), name)
        raise self.refuse(f"the attribute {name}")

    def item(self, owner: Any, index: Any, node: ast.expr) -> Any:
        if isinstance(owner, list | tuple) and isinstance(index, Known):
            return owner[index.value]
        if isinstance(owner, Known) and isinstance(index, Known):
            return Known(owner.value[index.value])
        if isinstance(owner, StateList) and isinstance(index, Known):
            start = self.state[owner.name][index.value]
            variable = self.state_variable(f"{owner.name}_{index.value}", start)
            return self.now(replace(variable, truth=False))
        if isinstance(owner, StepMemory):
            return memories.item(self, owner, index)
        raise self.refuse(f"the item {ast.unparse(node)}")

    def call(self, function: Any, nodes: Sequence[ast.expr], node: ast.expr) -> Any:
        if isinstance(function, Method) and isinstance(function.owner, Accesses):
            region, index = nodes
            write = function.name == "write"
            return touch(self, write, self.evaluate(region), lambda: self.evaluate(index))
        arguments = list(self.sequence(nodes))
        if isinstance(function, Method):
            return self.method(function.owner, function.name, arguments)
        if not isinstance(function, Known) or not callable(function.value):
            raise self.refuse(f"the call {ast.unparse(node)}")
        value = function.value
        if isinstance(value, Operation):
            return operate(self, value, arguments)
        if value in BUILTINS:
            return BUILTINS[value](self, *arguments)
        if inspect.isfunction(value):
            return self.inline(value, arguments, value.__name__.lstrip("_"))
        raise self.refuse(f"the call {ast.unparse(node)}")

    def method(self, owner: Any, name: str, arguments: list[Any]) -> Any:
        if isinstance(owner, StepPort):
            if name not in METHODS:
                raise self.refuse(f"the method {name} of {owner.name}")
            return METHODS[name](self, owner, *arguments)
        if isinstance(owner, Open):
            return Open(f"__builtin_popcountll({owner.text})", INT)
        if not isinstance(owner, StepMemory):
            raise self.refuse(f"the method {name} of a list")
        if isinstance(owner.value, Growing):
            return memories.grow(self, owner, name, arguments)
        if isinstance(owner.value, Accumulator):
            return memories.accumulate(self, owner, name, arguments)
        called = getattr(type(owner.value), name)
        return self.inline(called, [owner, *arguments], f"{name.lstrip('_')}")
