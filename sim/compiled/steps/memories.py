"""The memory of a block in C: numbers, arrays, and the structures of ``memories.h``."""

from __future__ import annotations

from typing import Any

import numpy as np

from sam.arithmetic import Operation
from sam.blocks.block_memory import Growing, Stored
from sam.memory_regions import Region, Regions
from sim.compiled.residual import INT, c_type
from sim.compiled.steps.arithmetic import operate
from sim.compiled.steps.values import Known, Open, StepMemory
from sim.compiled.steps.writing import FiringWriter


def remembered(writing: FiringWriter, path: tuple[str, ...], value: Any) -> Any:
    """A value in the memory: known if it belongs to the structure, else open."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        writing.numbers[path] = None
        return Open(f"n_{'_'.join(path)}", INT)
    if isinstance(value, bool | np.bool_ | float | complex | str | np.inexact):
        return Known(value)
    if isinstance(value, tuple) and not any(isinstance(part, Growing) for part in value):
        return Known(value)
    if isinstance(value, tuple):
        return [remembered(writing, (*path, str(k)), part) for k, part in enumerate(value)]
    if value is None or isinstance(value, Operation | Region | Regions):
        return Known(value)
    return StepMemory(path, value)


def pointer(writing: FiringWriter, memory: StepMemory, ctype: str) -> str:
    """The C variable that points to an object of the memory."""
    writing.memory[memory.path] = ctype
    writing.pure = False
    return f"m_{'_'.join(memory.path)}"


def item(writing: FiringWriter, owner: StepMemory, index: Any) -> Open:
    """An entry of an array, or a place of a structure."""
    at = writing.open(index).text
    if isinstance(owner.value, np.ndarray):
        ctype = c_type(owner.value.dtype)
        return Open(f"{pointer(writing, owner, ctype)}[{at}]", ctype)
    if isinstance(owner.value, Growing):
        ctype = writing.values if owner.value.values else INT
        return Open(f"(({ctype} *){pointer(writing, owner, 'Growing')}->items)[{at}]", ctype)
    if isinstance(owner.value, Stored):
        ctype = INT if owner.value.integers else writing.values
        return Open(f"(*STORED({pointer(writing, owner, 'Growing')}, {ctype}, {at}))", ctype)
    raise writing.refuse(
        f"an item of m.{'.'.join(owner.path)}, of type {type(owner.value).__name__},"
    )


def store(writing: FiringWriter, owner: StepMemory, index: Any, value: Any) -> None:
    """Stores a value at a place of a ``Stored``."""
    place = item(writing, owner, index)
    writing.constant = False
    writing.write(f"{place.text} = {writing.open(value).text};")


def length(writing: FiringWriter, memory: StepMemory) -> Open:
    """How many numbers there are in a ``Growing``."""
    return Open(f"{pointer(writing, memory, 'Growing')}->length", INT)


def grow(writing: FiringWriter, owner: StepMemory, name: str, arguments: list[Any]) -> Known:
    """A method of a ``Growing``."""
    place = pointer(writing, owner, "Growing")
    writing.constant = False
    if name == "append":
        ctype = writing.values if owner.value.values else INT
        writing.write(f"APPEND({place}, {ctype}, {writing.open(arguments[0]).text});")
    elif name == "clear":
        writing.write(f"{place}->length = 0;")
    else:
        raise writing.refuse(f"the method {name} of m.{'.'.join(owner.path)}")
    return Known(None)


def accumulate(writing: FiringWriter, owner: StepMemory, name: str, arguments: list[Any]) -> Any:
    """A method of an ``Accumulator``."""
    place = pointer(writing, owner, "Accumulator")
    writing.constant &= name not in ("add", "complete")
    texts = [writing.open(one).text for one in arguments if not isinstance(one, tuple)]
    values, dimensions = writing.values, owner.value.dimensions
    is_vector = dimensions == 1 and not owner.value.far
    if name == "add":
        point = ", ".join(writing.open(part).text for part in arguments[0])
        plus = operate(writing, owner.value.plus, [Open("x_", values), Open("y_", values)])
        writing.write(f"#define PLUS(x_, y_) ({plus.text})")
        if is_vector:
            writing.write(f"ADD_TO_VECTOR({place}, {values}, {point}, {texts[0]}, PLUS);")
            return Known(None)
        writing.write(f"{{ int64_t point_[] = {{{point}}};")
        writing.write(f"ACCUMULATE({place}, {dimensions}, {values}, point_, {texts[0]}, PLUS); }}")
        return Known(None)
    if name == "complete":
        done = f"complete_vector({place}, sizeof({values}))" if is_vector else f"complete({place})"
        writing.write(f"if (!{done}) goto no_memory;")
        return Known(None)
    if name == "release":
        return Known(None)
    if name == "count":
        return Open(f"{place}->order.length", INT)
    if name == "shared":
        return Open(f"shared_with_last({place}, {texts[0]})", INT) if dimensions > 1 else Known(0)
    index = texts[0] if is_vector else f"((int64_t *){place}->order.items)[{texts[0]}]"
    if name == "value":
        return Open(f"(({values} *){place}->out_values.items)[{index}]", values)
    if is_vector:
        return Open(f"((int64_t *){place}->out_points.items)[{index}]", INT)
    return Open(f"coordinate_of({place}, {', '.join(texts)})", INT)
