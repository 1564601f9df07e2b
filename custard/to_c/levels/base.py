"""The base of the level functions of all formats."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from custard.language.formats import LEVEL_FORMATS, LevelFormat
from custard.to_c.builder import KernelBuilder
from custard.to_c.levels.iterators import Counted, Iterator, Runs
from custard.to_c.levels.place import Place
from custard.to_c.loop_ir import INT, WORD, Call, Const, Expr, Field, Type, Var, array, cast, select


class LevelFunctions(ABC):
    """The level functions of one level of a tensor.

    ``arrays``   the fields of its storage that are arrays of indices (``words``: of bits)
    ``numbers``  those that are numbers, besides the extent of the mode

    ``innermost`` tells whether there is no level below; ``known_extent`` is the extent of the mode,
    or None.
    """

    arrays: ClassVar[tuple[str, ...]] = ()
    numbers: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self, code: str, tensor: str, level: int, index: Type, names: KernelBuilder
    ) -> None:
        self.format: LevelFormat = LEVEL_FORMATS[code]
        self.tensor, self.level, self.index, self.names = tensor, level, index, names
        self.innermost = True
        self.known_extent: int | None = None

    @classmethod
    def fields(cls, level: int, index: Type) -> list[tuple[str, Type]]:
        """The fields of the tensor's struct for this level, with their types."""
        found: list[tuple[str, Type]] = [(f"size{level}", INT)]
        found += [(f"{name}{level}", INT) for name in cls.numbers]
        for name in cls.arrays:
            found.append((f"{name}{level}", array(WORD if name == "words" else index)))
        return found

    @property
    def size(self) -> Expr:
        """The extent of the level's mode."""
        if self.known_extent is not None:
            return Const(self.known_extent)
        return Field(self.tensor, f"size{self.level}")

    def array(self, name: str) -> Var:
        """An array of the level's storage."""
        type = WORD if name == "words" else self.index
        return self.names.stored(self.tensor, f"{name}{self.level}", array(type))

    def number(self, name: str) -> Expr:
        """A number of the level's storage."""
        return Field(self.tensor, f"{name}{self.level}")

    def cursor(self) -> Var:
        """A new variable for positions of the level."""
        return Var(self.names.fresh(f"p{self.tensor}{self.level}"))

    @abstractmethod
    def iterate(self, above: Place, owner: int, ordered: bool, unique: bool) -> Iterator:
        """The coordinates below a place; ``owner`` is the key of the operand.

        ``ordered`` and ``unique`` ask for iterator conversion where the format is not.
        """

    def positions(self, parents: Expr) -> Expr | None:
        """How many positions the level has for that many parents; None where it does not tell."""
        return parents

    def coordinate(self, position: Expr) -> Expr:
        """The coordinate at a position; for formats that number positions in order."""
        raise TypeError(f"{self.format.name} levels do not number positions in order")

    def parent(self, position: Expr, first: Expr, end: Expr) -> Expr:
        """The position of the level above, in a range, below which a position lies."""
        raise TypeError(f"{self.format.name} levels do not number positions in order")

    def limits(self, above: Place) -> tuple[Expr, Expr] | None:
        """The range of coordinates of the level above below which this level has a coordinate; None
        for all.

        ``above`` is the place of that level's fiber.
        """
        return None

    def locate(self, above: Place, coordinate: Expr) -> Place:
        """The place of a coordinate; for formats that locate."""
        raise TypeError(f"{self.format.name} levels do not locate")


def guarded(above: Place, value: Expr, otherwise: Expr) -> Expr:
    """The value where the place is present."""
    return value if above.present is None else select(above.present, value, otherwise)


def listed(
    level: LevelFunctions, crd: Var, first: Expr, end: Expr, above: Place, unique: bool
) -> Iterator:
    """An iterator over a list of coordinates; possible duplicates are joined."""
    alone = above.group_end is None
    cursor = level.cursor()
    first = first if above.begin is None else above.begin
    if level.format.branchless:
        # Chains that differ only further in have the same coordinate here.
        repeats = not alone and not (level.format.unique and level.innermost)
    else:
        repeats = not level.format.unique or not alone
    if unique and repeats:
        find = f"run_end_{level.index}"
        return Runs(
            cursor,
            first,
            end,
            lambda at: cast(crd[at], INT),
            lambda at, last, run: Call(find, (crd, at, last, run)),
        )
    single = level.format.branchless and alone and above.present is None
    coordinate = cast(crd[cursor], INT)
    return Counted(cursor, first, end, coordinate, cursor, single=single, increasing=not repeats)
