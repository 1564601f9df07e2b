"""``custard draw``: the graph of an expression or of a DOT file, or a tensor as a fibertree."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from custard.cli import execution, graph_run, simulation_run
from custard.cli.arguments import Parser, parse, stdout, whole_number
from custard.cli.inputs import read_place
from custard.cli.options import OF_C, RESULTS, Usage, is_graph_file, parse_command
from custard.language.formats import parse_format
from custard.targets import require_simulated
from sam.drawing import draw
from sam.fibertree import MOST_COORDINATES, draw_fibertree
from sam.support.errors import UserError

_USAGE = Usage(
    "draw",
    "Draws the graph of an expression or of a DOT file, or a tensor as a fibertree,\n"
    "to -o FILE: .svg, .png or .pdf.",
    'custard draw "X(i,j) = B(i,k) * C(k,j)" -s="reorder(i,k,j)" -o matmul.svg',
    {"-o": {"dest": "outputs", "metavar": "FILE", "default": [], "help": "the picture"}},
    (
        *("-i", "-g", "--seed", "--threads", "--engine", "--validate", "--max-cycles", "--json"),
        *(option for option in RESULTS if option != "-o"),
        *OF_C,
    ),
    'custard "EXPRESSION" takes it',
    '"EXPRESSION" | GRAPH.gv | tensor FILE',
)


def main(argv: Sequence[str]) -> int:
    """Draws what the words name; ``-o FILE`` is the picture, .svg, .png or .pdf."""
    if argv and argv[0] == "tensor":
        return _tensor(argv[1:])
    words, picture = _without_picture(argv)
    if words and is_graph_file(words[0]):
        if len(words) > 1:
            raise UserError(
                f"{words[1]} is one argument too many", hint="custard draw g.gv -o g.svg"
            )
        picture = picture or Path(words[0]).with_suffix(".svg").name
        draw(graph_run.read_graph(Path(words[0])), picture)
    else:
        picture = picture or "graph.svg"
        arguments = parse_command(words, usage=_USAGE)
        require_simulated(arguments.target, "draw")
        simulation_run.draw(*execution.prepared(arguments), picture)
        if arguments.quiet:
            return 0
    _say(picture)
    return 0


def _without_picture(argv: Sequence[str]) -> tuple[list[str], str | None]:
    """The words without ``-o``, and the value of ``-o``."""
    words: list[str] = []
    picture = None
    rest = iter(argv)
    for word in rest:
        if word == "-o" or word.startswith("-o="):
            if picture is not None:
                raise UserError("-o is given twice", hint="one picture, as in -o graph.svg")
            picture = word[3:] if word.startswith("-o=") else next(rest, "")
            if not picture:
                raise UserError("-o is given nothing", hint="-o FILE, as in -o graph.svg")
        else:
            words.append(word)
    return words, picture


def _tensor(argv: Sequence[str]) -> int:
    parser = Parser(
        prog="custard draw tensor",
        description="Draws the storage of a tensor as a fibertree.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "file", metavar="FILE", help="as after -i: A.mtx, A.tns:pattern, - for stdin"
    )
    parser.add_argument("-f", metavar="FORMAT", dest="format", help="as in CSR or ds:1,0")
    parser.add_argument("-o", metavar="PICTURE", dest="picture", help=".svg, .png or .pdf")
    parser.add_argument(
        "--most",
        metavar="N",
        type=whole_number,
        default=MOST_COORDINATES,
        help=f"coordinates of a fiber that are drawn; {MOST_COORDINATES} by default",
    )
    arguments = parse(parser, argv, ["-f", "-o", "--most"])
    tensor = read_place(arguments.file, None, None)
    name = Path(arguments.file.partition(":")[0]).stem
    if arguments.format is not None:
        form = parse_format(arguments.format, tensor.ndim)
        tensor = tensor.convert(form.levels, form.mode_order)
    picture = arguments.picture or f"{name if name != '-' else 'tensor'}.svg"
    draw_fibertree(tensor, picture, name, arguments.most)
    _say(picture)
    return 0


def _say(picture: str) -> None:
    stdout().print(Text(f"the picture is in {picture}"), soft_wrap=True)
