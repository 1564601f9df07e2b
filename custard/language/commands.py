"""Scheduling commands: their text, and their table.

The commands are those of the TACO tool (scheduling paper, section 4), written as there:
``split(i,i0,i1,32)``. A text has one or several, separated by commas or semicolons.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from custard.language.formats import LEVEL_FORMATS, LevelFormat
from sam.support.errors import UserError, one_of

Span: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class Argument:
    """A parameter of a command: its name, and the words that it takes.

    A ``loop`` must exist, unless the argument's name is ``new``.
    """

    name: str
    kind: Literal[
        "name",
        "loop",
        "new",
        "loops",
        "names",
        "workspace",
        "size",
        "number",
        "expression",
        "choice",
        "choice or size",
    ] = "name"
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Signature:
    """The arguments of a command.

    ``optional``  how many of the last ones may be left out
    ``repeats``   whether the last one may be given any number of times
    ``targets``   the targets that follow the command
    """

    arguments: tuple[Argument, ...]
    optional: int = 0
    repeats: bool = False
    targets: tuple[str, ...] = ("sam",)

    def __str__(self) -> str:
        return ", ".join(a.name for a in self.arguments) + ", ..." * self.repeats


@dataclass(frozen=True)
class Command:
    """One command. ``span`` is its place in ``text``, and ``spans`` those of its arguments."""

    name: str
    arguments: tuple[str, ...]
    text: str = field(compare=False, repr=False)
    span: Span = field(compare=False, repr=False)
    spans: tuple[Span, ...] = field(compare=False, repr=False)

    @property
    def said(self) -> str:
        """The command as it stands in the schedule."""
        return self.text[slice(*self.span)]


_LOOP = Argument("loop", "loop")
_TENSOR = Argument("tensor")
_FACTOR = Argument("factor", "size")
LANES = "Lanes"
MOST_LANES = 256
CPU_UNITS = ("DefaultUnit", "CPUThread", "CPUVector", "CPUThreadGroupReduction")
_GPU_UNITS = ("GPUBlock", "GPUWarp", "GPUThread", "GPUBlockReduction", "GPUWarpReduction")
UNITS_OF = {"sam": (LANES,), "c": CPU_UNITS}
_UNITS = " ".join((LANES, "NotParallel", *CPU_UNITS, *_GPU_UNITS))
_RACES = "NoRaces IgnoreRaces Atomics Temporary ParallelReduction"
_MOST = 2**31 - 1

# The choices of how a tensor is iterated over at a loop; without a choice its level decides.
CHOICES = ("locate", "coiterate", "bitvector", "skip")
# The choices about streams.
OF_STREAMS = ("bitvector", "skip")
# The workspaces of C that no level format names: an array of all values; components that are sorted
# as one list, in buckets, or first added up in a hash table.
WORKSPACES = ("dense", "coord", "bucket", "hash")
_BOUNDS = "MinExact MinConstraint MaxExact MaxConstraint"


_STRATEGY = Argument("race strategy or number of lanes", "choice or size", tuple(_RACES.split()))


def _choice(name: str, words: str) -> Argument:
    return Argument(name, "choice", tuple(words.split()))


_BOTH = ("sam", "c")
_TILED = (_LOOP, Argument("outer loop", "new"), Argument("inner loop", "new"), _FACTOR)

COMMANDS: Mapping[str, Signature] = {
    "reorder": Signature((_LOOP,), repeats=True, targets=_BOTH),
    "split": Signature(_TILED, targets=_BOTH),
    "divide": Signature(_TILED, targets=_BOTH),
    "tile": Signature((Argument("extent of a tile", "size"),), repeats=True, targets=_BOTH),
    "fuse": Signature(
        (
            Argument("outer loop", "loop"),
            Argument("inner loop", "loop"),
            Argument("fused loop", "new"),
        ),
        targets=_BOTH,
    ),
    "pos": Signature((_LOOP, Argument("position loop", "new"), _TENSOR), targets=_BOTH),
    "coord": Signature((Argument("position loop", "loop"), Argument("loop", "new")), targets=_BOTH),
    "bound": Signature(
        (
            _LOOP,
            Argument("bounded loop", "new"),
            Argument("bound", "number"),
            _choice("type", _BOUNDS),
        ),
        targets=_BOTH,
    ),
    "precompute": Signature(
        (
            Argument("expression", "expression"),
            Argument("loop", "loops"),
            Argument("workspace loop", "names"),
            Argument("workspace", "workspace"),
        ),
        optional=1,
        targets=_BOTH,
    ),
    "unroll": Signature((_LOOP, _FACTOR), targets=("c",)),
    "parallelize": Signature((_LOOP, _choice("unit", _UNITS), _STRATEGY), targets=_BOTH),
    "assemble": Signature(
        (_TENSOR, _choice("strategy", "Append Insert"), _choice("last argument", "true false")),
        optional=1,
        targets=("c",),
    ),
    "locate": Signature((_TENSOR, _LOOP), targets=_BOTH),
    "coiterate": Signature((_TENSOR, _LOOP), targets=_BOTH),
    "bitvector": Signature((_TENSOR, _LOOP)),
    "skip": Signature((_TENSOR, _LOOP)),
}


def parse_schedule(texts: Iterable[str]) -> list[Command]:
    """The commands of the texts, in order; an empty text has none.

    Raises UserError, with the place, for an unknown command, parentheses that do not match, and
    arguments that are not those of ``COMMANDS``.
    """
    return [
        _command(text, span)
        for text in texts
        for span in _pieces(text, (0, len(text)), ",;")
        if span[0] < span[1]
    ]


def workspaces(commands: Iterable[Command]) -> list[str]:
    """The workspaces that commands name."""
    return [
        workspace(command)[0]
        for command in commands
        if command.name == "precompute" and len(command.arguments) > 3
    ]


def with_loops(command: Command, names: Mapping[str, str]) -> Command:
    """The command with other names for loops."""
    signature = COMMANDS[command.name]
    last = len(signature.arguments) - 1
    kinds = [signature.arguments[min(n, last)].kind for n in range(len(command.arguments))]
    words = [_named(word, names) if kind in ("loop", "loops") else word
             for word, kind in zip(command.arguments, kinds, strict=True)]  # fmt: skip
    return replace(command, arguments=tuple(words))


def _named(word: str, names: Mapping[str, str]) -> str:
    """A loop, or several in braces, by other names."""
    found = ",".join(names.get(name, name) for name in loops_of(word))
    return f"{{{found}}}" if word.startswith("{") else found


def workspace(command: Command) -> tuple[str, str]:
    """The name of a ``precompute``'s workspace, and its format; "" for either if not given."""
    name, _, form = "".join(command.arguments[3:]).partition(":")
    return name.strip(), form.strip()


def loops_of(word: str) -> list[str]:
    """The loops of an argument: one, or several in braces."""
    return [name.strip() for name in word.strip("{}").split(",")]


def with_reordered(loops: Sequence[str], listed: Sequence[str]) -> list[str]:
    """The loops with the listed ones permuted: in that order, in the places that they have now."""
    found = list(loops)
    for place, loop in zip(sorted(map(found.index, listed)), listed, strict=True):
        found[place] = loop
    return found


PASSED_OVER = "--ignore-units passes the command over"


def not_on(
    target: str, command: Command, why: str | None = None, instead: str | None = None
) -> UserError:
    """The error that a target does not follow a command, with the command that works instead, else
    all commands that it follows."""
    takes = [name for name, signature in COMMANDS.items() if target in signature.targets]
    others = COMMANDS[command.name].targets
    hint = f"target {target} takes {', '.join(takes)}"
    if others:
        hint = f"target {' and '.join(others)} takes {command.name}; {instead or hint}"
    because = f": {why}" if why else ""
    return mistake(command, f"target {target} does not take {command.name}{because}", hint=hint)


def mistake(
    command: Command, what: str, argument: int | None = None, hint: str | None = None
) -> UserError:
    """The error that a command is wrong as a whole, or in an argument."""
    span = command.span if argument is None else command.spans[argument]
    return UserError(what, source=command.text, span=span, hint=hint)


def without_unknown_loops(
    commands: Iterable[Command], loops: Collection[str]
) -> tuple[list[Command], list[str]]:
    """The commands, each ``reorder`` without names that are no loops; and a note on each name."""
    kept, notes = [], []
    for command in commands:
        if command.name == "reorder":
            arguments = tuple(word for word in command.arguments if word in loops)
            for word in dict.fromkeys(command.arguments):
                if word not in loops:
                    notes.append(
                        f"reorder passes over {word}, which is not a loop: {one_of(word, loops)}"
                    )
            spans = zip(command.arguments, command.spans, strict=True)
            known = tuple(span for word, span in spans if word in loops)
            command = replace(command, arguments=arguments, spans=known)
        kept.append(command)
    return kept, notes


def choices(
    commands: Iterable[Command], variables: Mapping[str, Collection[str]]
) -> dict[tuple[str, str], Command]:
    """The command of ``CHOICES`` that holds for a tensor and loop: the last one.

    ``variables`` has those of each tensor. Raises UserError for an unknown tensor, or a loop that
    the tensor does not have.
    """
    found: dict[tuple[str, str], Command] = {}
    for command in commands:
        if command.name in CHOICES:
            tensor, loop = command.arguments
            for word, known, place in (
                (tensor, variables, 0),
                (loop, variables.get(tensor, ()), 1),
            ):
                if word not in known:
                    what = "a tensor" if place == 0 else f"a loop of {tensor}"
                    raise UserError(
                        f"{command.name} names {word}, which is not {what}",
                        source=command.text,
                        span=command.spans[place],
                        hint=one_of(word, known),
                    )
            found[tensor, loop] = command
    return found


def refuse_streams(commands: Iterable[Command], target: str) -> None:
    """Raises UserError for a command about streams, on a target that has none."""
    for command in commands:
        if command.name in OF_STREAMS:
            raise not_on(target, command, "it has no streams")


def check_loops(command: Command, loops: Collection[str]) -> None:
    """Raises UserError unless the arguments of a command are distinct loops."""
    for place, (loop, span) in enumerate(zip(command.arguments, command.spans, strict=True)):
        if loop not in loops:
            raise UserError(
                f"{command.name} names {loop}, which is not a loop",
                source=command.text,
                span=span,
                hint=one_of(loop, loops),
            )
        if loop in command.arguments[:place]:
            what = f"{command.name} names {loop} twice"
            raise UserError(what, source=command.text, span=span, hint="name each loop once")


def _command(text: str, span: Span) -> Command:
    start, end = span
    opening = text.find("(", start, end)
    name_end = end if opening < 0 else opening
    name = text[start:name_end].rstrip()
    name_span = (start, start + len(name))
    if name not in COMMANDS:
        what = f"there is no scheduling command {name}" if name else "a command has no name"
        raise UserError(what, source=text, span=name_span, hint=one_of(name, COMMANDS))
    signature = COMMANDS[name]
    if opening < 0 or text[end - 1] != ")":
        raise UserError(
            f"the arguments of {name} are not in one pair of parentheses",
            source=text,
            span=span,
            hint=f"write {name}({signature})",
        )
    closing = _closing(text, opening)
    if closing < end - 1:
        raise UserError(
            f"the arguments of {name} end here, and more follows",
            source=text,
            span=(closing, closing + 1),
            hint="commas or semicolons separate commands",
        )
    spans = tuple(_pieces(text, (opening + 1, end - 1), ","))
    _check_arguments(name, signature, text, span, spans)
    return Command(name, tuple(text[a:b] for a, b in spans), text, span, spans)


def _check_arguments(
    name: str, signature: Signature, text: str, span: Span, spans: tuple[Span, ...]
) -> None:
    nothing = len(spans) == 1 and spans[0][0] == spans[0][1]
    given, most = 0 if nothing else len(spans), len(signature.arguments)
    if given < most - signature.optional or (given > most and not signature.repeats):
        more = " or more" if signature.repeats else f" or {most}" if signature.optional else ""
        raise UserError(
            f"{name} takes {most - signature.optional}{more} arguments, not {given}",
            source=text,
            span=span,
            hint=f"write {name}({signature})",
        )
    for place, (start, end) in enumerate(spans):
        argument = signature.arguments[min(place, most - 1)]
        problem = _problem(argument, text[start:end])
        if problem is not None:
            what, hint = problem
            raise UserError(
                f"the {argument.name} of {name} {what}", source=text, span=(start, end), hint=hint
            )


def _problem(argument: Argument, word: str) -> tuple[str, str | None] | None:
    """Why ``word`` cannot be this argument, and a hint."""
    if not word:
        return "is empty", None
    if argument.kind in ("name", "loop", "new") and not _is_name(word):
        return f"must be a name, not {word}", _name_in(word)
    if argument.kind in ("loops", "names"):
        return _problem_of_names(word)
    if argument.kind == "workspace" and not _is_name(word.partition(":")[0].strip()):
        return f"must be a name, not {word}", "as in W, or with a format W:hash"
    least = {"size": 1, "number": 0}.get(argument.kind)
    if least is not None and not _is_size(word, least):
        return f"must be a whole number from {least} to {_MOST}, not {word}", None
    if argument.kind == "choice or size" and _is_size(word):
        return None
    if argument.kind == "choice or size" and word[-1].isdigit():
        return f"cannot be {word}", f"a number of lanes is a whole number from 1 to {MOST_LANES}"
    if argument.kind.startswith("choice") and word not in argument.choices:
        return f"cannot be {word}", one_of(word, argument.choices)
    return None


def _name_in(word: str) -> str | None:
    """A hint for names that are written as in TACO's C++: ``A(i,j)`` for a tensor, ``{i,j}`` for
    several loops."""
    names = loops_of(word) if word.startswith("{") else [word.partition("(")[0].strip()]
    return f"write {','.join(names)}" if all(map(_is_name, names)) else None


def _problem_of_names(word: str) -> tuple[str, str | None] | None:
    """The mistake in a loop, or in loops in braces, and a hint."""
    if "{" not in word:
        return None if _is_name(word) else (f"must be a name, not {word}", "several: {i,j}")
    names = loops_of(word)
    if not (word.startswith("{") and word.endswith("}") and all(map(_is_name, names))):
        return f"must be a name, or some in braces, not {word}", "as in {i,j}"
    twice = next((name for name in names if names.count(name) > 1), None)
    return None if twice is None else (f"has {twice} twice", None)


def _is_name(word: str) -> bool:
    return word.isascii() and word.isidentifier()


def _is_size(word: str, least: int = 1) -> bool:
    digits = word.isascii() and word.isdigit() and len(word) <= len(str(_MOST))
    return digits and least <= int(word) <= _MOST


_CLOSED_BY = {"(": ")", "{": "}"}


def _pieces(text: str, span: Span, separators: str) -> list[Span]:
    """The parts of a text between the separators that no parentheses or braces enclose, without
    blanks."""
    start, end = span
    pieces = []
    open_at: list[int] = []
    for place in range(start, end):
        character = text[place]
        if character in _CLOSED_BY:
            open_at.append(place)
        elif character in _CLOSED_BY.values():
            if not open_at:
                what = f"this {character} closes nothing"
                raise UserError(what, source=text, span=(place, place + 1))
            at = open_at.pop()
            if _CLOSED_BY[text[at]] != character:
                raise _unclosed(text, at)
        elif character in separators and not open_at:
            pieces.append(_stripped(text, start, place))
            start = place + 1
    if open_at:
        raise _unclosed(text, open_at[0])
    return [*pieces, _stripped(text, start, end)]


def _closing(text: str, opening: int) -> int:
    """The place of the parenthesis that closes another one."""
    depth = 0
    for place in range(opening, len(text)):
        depth += (text[place] == "(") - (text[place] == ")")
        if not depth:
            return place
    raise _unclosed(text, opening)


def _unclosed(text: str, at: int) -> UserError:
    return UserError(f"this {text[at]} is never closed", source=text, span=(at, at + 1))


def _stripped(text: str, start: int, end: int) -> Span:
    part = text[start:end]
    left = start + len(part) - len(part.lstrip())
    return left, left + len(part.strip())


# The capability of a level that a command needs: the test, and the words for it.
_ABLE: Mapping[str, tuple[Callable[[LevelFormat], bool], str, str]] = {
    "locate": (lambda level: level.locates, "locate", "located"),
    "bitvector": (
        lambda level: level.iterates_words or (level.ordered and level.unique and level.appends),
        "be iterated in words of bits",
        "iterated in words of bits",
    ),
    "skip": (lambda level: level.ordered, "skip", "skipped through"),
}


def require_able(level: LevelFormat, choice: Command) -> None:
    """Raises UserError if the level's format lacks the capability that a choice needs."""
    able, can, cannot = _ABLE[choice.name]
    if not able(level):
        tensor, loop = choice.arguments
        raise UserError(
            f"{tensor} cannot be {cannot} at {loop}: its level there is {level.name}",
            source=choice.text,
            span=choice.span,
            hint=f"a level that can {can} is "
            + " or ".join(form.name for form in LEVEL_FORMATS.values() if able(form)),
        )
