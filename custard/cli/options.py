"""The options of the command: their table, their parsing, and those that TACO's users know."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NoReturn

from custard.cli.arguments import Parser, parse, whole_number
from custard.targets import DEFAULT, TARGETS, Target
from sam.support.errors import UserError
from sam.support.version import release

_EXAMPLES = """\
examples:
  A sparse matrix product with its loops in a given order:
    custard "X(i,j) = B(i,k) * C(k,j)" -s="reorder(i,k,j)" -i B=west0067.mtx -i C=@random
  A matrix times a dense vector on finite queues, compared with numpy:
    custard "y(i) = A(i,j) * x(j)" -f=A:CSR -f=x:d -i A=west0067.mtx -i x=@dense \\
            --config finite --set queues.depth=8 --check
  The same in C, timed; and its source, to be compiled by others:
    custard "y(i) = A(i,j) * x(j)" -f=y:d -f=A:CSR -f=x:d --target c \\
            -i A=west0067.mtx -i x=@dense --time -o spmv.c
  The same on several machines, each with a row, and the curve of the cycles:
    custard "y(i) = A(i,j) * x(j)" -i A=west0067.mtx -i x=@dense \\
            --set queues.depth=1,2,4,inf --plot depths.png
  No inputs: only compile, and draw the graph:
    custard "X(i,j) = B(i,j) * C(i,k) * D(k,j)" --draw sddmm.svg
"""

_Options = Mapping[str, Mapping[str, Any]]


def _many(name: str, shown: str, help: str) -> dict[str, Any]:
    return {"action": "append", "default": [], "dest": name, "metavar": shown, "help": help}


def _shown(target: Target) -> str:
    """A target in the help."""
    return f"{target.name}{', the default' * (target.name == DEFAULT)}: {target.about}"


_OPTIONS: Mapping[str, _Options] = {
    "the program": {
        "-f": _many(
            "formats",
            "TENSOR:FORMAT",
            "levels and mode order (A:ds:0,1) or a name (A:CSR); by default all compressed, a "
            "matrix on target c CSR",
        ),
        "-s": _many("schedule", "COMMAND", "a scheduling command, as in reorder(i,k,j)"),
        "--dims": _many("dims", "VARIABLE=N", "extents that no input fixes, as in i=5,j=6"),
        "-d": _many("extents", "VARIABLE:N", argparse.SUPPRESS),
        "--target": {
            "default": DEFAULT,
            "metavar": "NAME",
            "help": "; ".join(map(_shown, TARGETS.values())),
        },
        "--strict": {
            "action": "store_true",
            "help": "refuse to transpose a tensor or pass over a loop",
        },
        "--drop-zeros": {"action": "store_true", "help": "do not store results that are 0"},
        "--ignore-units": {
            "action": "store_true",
            "help": "pass over units that the target lacks (on sam unroll and assemble too)",
        },
        "--print-after": {
            "metavar": "PASS",
            "help": "print the program after notation, cin, order, schedule or lower, and end",
        },
        "--fast-math": {"action": "store_true", "help": "target c: give NaN and infinity up"},
    },
    "the inputs and the result": {
        "-i": _many(
            "inputs",
            "NAME=VALUE",
            "a file (B=b.mtx), - for stdin, a number (a=2.5), @random, @random(SHARE), @dense, "
            "@image(SHARE) or @pruned(N:M)",
        ),
        "-g": _many("generated", "NAME:KIND", argparse.SUPPRESS),
        "--seed": {
            "type": whole_number,
            "default": 0,
            "metavar": "N",
            "help": "of made-up inputs; 0 by default",
        },
        "-o": _many(
            "outputs",
            "NAME=FILE",
            "write the result to a file, as in X=x.mtx, or to stdout: X=-; "
            "target c: FILE.c alone gets the source, FILE.h its header for C and C++",
        ),
        "--prefix": {
            "metavar": "NAME",
            "help": "target c: the functions and structs of the source are NAME_compute and so on",
        },
        "--check": {"action": "store_true", "help": "compare the result with dense numpy"},
        "--time": {"action": "store_true", "help": "target c: run the kernel again and again"},
        "--threads": {
            "type": partial(whole_number, least=1),
            "metavar": "N",
            "help": "how many share one run: pieces of its time, 1 by default; "
            "target c: parallel loops, one for each CPU by default",
        },
    },
    "the machine (target sam)": {
        "--config": {"metavar": "NAME", "help": "a shipped config or a file; ideal by default"},
        "--set": _many("overrides", "KEY=VALUE", "a value of the config, as in queues.depth=8"),
        "--engine": {"metavar": "NAME", "help": "auto, the default, simpy or compiled"},
        "--validate": {"action": "store_true", "help": "watch every stream for mistakes"},
        "--max-cycles": {
            "type": whole_number,
            "metavar": "N",
            "help": "end a run that is not done by then, with an error",
        },
    },
    "the report": {
        "--dot": {"metavar": "FILE", "help": "target sam: write the graph as Graphviz DOT"},
        "--dot-dialect": {
            "metavar": "NAME",
            "default": "custard",
            "help": "of --dot: custard, the default, or published, the SAM compiler's",
        },
        "--draw": {"metavar": "FILE", "help": "target sam: draw the graph: .svg, .png or .pdf"},
        "--report": {
            "metavar": "FILE",
            "help": "target sam: write an HTML page that says where the cycles went",
        },
        "--trace": {"metavar": "FILE", "help": "target sam: write a trace for Perfetto: .pftrace"},
        "--vcd": {"metavar": "FILE", "help": "target sam: write waveforms: .vcd"},
        "--window": {"metavar": "A:B", "help": "the cycles of --trace and --vcd; all by default"},
        "--json": {
            "nargs": "?",
            "const": "-",
            "metavar": "FILE",
            "help": "all as one JSON object, to the file or in place of the report",
        },
        "--plot": {
            "metavar": "FILE",
            "help": "target sam: draw the cycles over several values of --set, as in "
            "queues.depth=1,2,4,inf: .svg, .png or .pdf",
        },
        "--all-lanes": {
            "action": "store_true",
            "help": "target sam: a row for the block of each lane",
        },
        "-q --quiet": {"action": "store_true", "help": "no report: only files and mistakes"},
        "-v --verbose": {"action": "store_true", "help": "report slow steps, such as compiling"},
    },
}


# Options of the TACO tool that are not ours, each with our words for it.
_OF_TACO: Mapping[str, str] = {
    "-t": "the type of values is that of the input's file or array",
    "-c": "a C source is printed without -i, or goes to -o FILE.c",
    "-O": "a result goes to -o NAME=FILE",
    "-cuda": f"this version has the targets {' and '.join(TARGETS)}",
    "-help": "--help lists the options",
    "-h": "--help lists the options",
    "-time": "--time runs the kernel of target c again and again",
    "-write-time": "--time --json FILE has the times of target c",
    "-write-source": "-o FILE.c gets the source of target c",
    "-write-compute": "-o FILE.c gets the source of target c",
    "-read-source": "-o FILE.c writes a source; other code calls it",
    "-verify": "--check compares the result with numpy",
    "-print-compute": "--target c without -i prints the source",
    "-print-assembly": "--target c without -i prints the source",
    "-print-kernels": "--target c without -i prints the source",
    "-print-concrete": "the report begins with the concrete index notation",
    "-print-iteration-graph": "--draw FILE.svg draws the graph of target sam",
    "-print-nocolor": "NO_COLOR=1 in the environment turns colours off",
    "-prefix": "--prefix NAME, as in --prefix spmv -o spmv.c -o spmv.h",
}
RESULTS = (
    *("-o", "--prefix", "--print-after", "--check", "--dot", "--dot-dialect", "--draw", "--report"),
    *("--trace", "--vcd", "--window", "--plot", "--all-lanes"),
)
"""Options about the result or the report of one run."""

OF_C = ("--time", "--fast-math")
"""Options that target c alone takes."""

# The tensors that ``-g`` of TACO generates, and our words for them.
_GENERATED = {"d": "@dense"}


# The options of ``custard EXPRESSION`` that are for graphs too.
_OF_GRAPHS: Mapping[str, Sequence[str]] = {
    "the program": ("--dims",),
    "the inputs and the result": ("-i", "--seed", "-o", "--threads"),
    "the machine (target sam)": (),  # all
    "the report": (),
}


@dataclass(frozen=True)
class Usage:
    """A command that takes an expression with options, as ``custard size EXPRESSION ...``.

    ``about``     a sentence for its help
    ``takes``     the words for what it takes
    ``own``       its own options, which replace those of the same name
    ``without``   options that it does not take; ``instead`` is the hint of the error
    """

    name: str
    about: str
    example: str
    own: _Options = field(default_factory=dict)
    without: Sequence[str] = ()
    instead: str | None = None
    takes: str = '"EXPRESSION"'


def parse_command(
    argv: Sequence[str], commands: Mapping[str, str] | None = None, usage: Usage | None = None
) -> argparse.Namespace:
    """The arguments of ``custard EXPRESSION ...``, or of the command of a ``usage``.

    ``commands`` are the other usages, by name, for the help. Options in TACO's words are
    understood, or answered with ours. Raises UserError.
    """
    own = {} if usage is None else usage.own
    replaced = {name for names in own for name in names.split()}
    words = [word if word in replaced else _in_our_words(word) for word in argv]
    parser = _command_parser(commands or {}) if usage is None else _parser_of(usage)
    parser.add_argument("expression", metavar="EXPRESSION", help="as in X(i,j) = B(i,k) * C(k,j)")
    parser.add_argument("-V", "--version", action=_Version)
    if usage is not None and own:
        _add(parser, f"of {usage.name}", own)
    for title, options in _OPTIONS.items():
        left = {n: each for n, each in options.items() if not replaced & {*n.split()}}
        _add(parser, title, left, () if usage is None else usage.without)
    every = (item for options in (own, *_OPTIONS.values()) for item in options.items())
    known = {name: each for names, each in every for name in names.split()}
    repeated = [name for name, each in known.items() if each.get("action") == "append"]
    found = parse(parser, words, known, "put the expression in quotes", repeated)
    if usage is not None:
        _refuse(found, usage)
    # New lists, since those of argparse may be the defaults, which calls share.
    found.inputs = [_with_equals(text) for text in found.inputs]
    found.outputs = [_with_equals(text) for text in found.outputs]
    for text in found.generated:
        name, _, kind = text.partition(":")
        found.inputs.append(f"{name}={_GENERATED.get(kind, '@random')}")
    found.dims = [*found.dims, *(text.replace(":", "=") for text in found.extents)]
    return found


def _command_parser(commands: Mapping[str, str]) -> Parser:
    usages = (f"custard {word} {rest}".rstrip() for word, rest in commands.items())
    return Parser(
        prog="custard",
        usage="\n       ".join(['custard "EXPRESSION" [options]', *usages]),
        description="Compiles a sparse tensor expression to a SAM graph or to C, and runs it.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def _parser_of(usage: Usage) -> Parser:
    return Parser(
        prog=f"custard {usage.name}",
        usage=f"custard {usage.name} {usage.takes} [options]",
        description=usage.about,
        epilog=f"example:\n  {usage.example}\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def _add(parser: Parser, title: str, options: _Options, hidden: Sequence[str] = ()) -> None:
    """Adds a group of options, some of which the help does not list."""
    group = parser.add_argument_group(title)
    for names, settings in options.items():
        if {*hidden} & {*names.split()}:
            settings = {**settings, "help": argparse.SUPPRESS}
        group.add_argument(*names.split(), **settings)


def _refuse(found: argparse.Namespace, usage: Usage) -> None:
    """Raises UserError for an option that a command does not take."""
    for options in _OPTIONS.values():
        for names, settings in options.items():
            option = names.split()[-1]
            name = settings.get("dest", option.strip("-").replace("-", "_"))
            given = getattr(found, name, None)
            if option in usage.without and given and given != settings.get("default"):
                raise UserError(
                    f"{option} has no meaning with custard {usage.name}",
                    hint=usage.instead or f"custard {usage.name} --help lists its options",
                )


def is_graph_file(text: str) -> bool:
    """Whether a word in the place of an expression names a DOT file."""
    return text.lower().endswith((".gv", ".dot"))


def require_expression(text: str) -> None:
    """Raises UserError for a word in the place of an expression that names a file."""
    if "=" in text:
        return
    from sam import io  # here, as the text of a program needs none of it

    kind, use = "", ""
    if is_graph_file(text):
        kind, use = "a graph", f"custard sim {text} runs it"
    elif text.lower().endswith((".yaml", ".yml")):
        kind, use = "a YAML file", f"custard sweep {text} runs it, if it is a sweep"
    elif text.lower().endswith(".json"):
        kind, use = "a JSON file", f"custard report {text} prints it, if it is a result"
    elif io.is_tensor_file(text):
        kind, use = "the file of a tensor", f"-i A={text} gives it to a tensor A"
    if kind:
        raise UserError(f"{text} is {kind}, and an expression is needed here", hint=use)


def require_no_program(found: argparse.Namespace) -> None:
    """Raises UserError for an option about an expression where a graph is given."""
    for names, settings in _OPTIONS["the program"].items():
        name = settings.get("dest", names.strip("-").replace("-", "_"))
        given = getattr(found, name)
        if names not in ("--dims", "-d") and given and given != settings.get("default"):
            raise UserError(f"{names} is for an expression, and {found.expression} is a graph")


_NOT_OF_GRAPHS = ("--plot",)
_GRAPH_EXAMPLES = """\
examples:
  A graph as the published SAM compiler writes it:
    custard sim spmv.gv -i B=west0067.mtx -i c=@random --config finite
  Only drawn, and written in our own dialect:
    custard sim spmv.gv --draw spmv.svg --dot ours.gv
"""


def parse_graph_command(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments of ``custard sim GRAPH.gv ...``; raises UserError."""
    parser = Parser(
        prog="custard sim",
        description="Runs a SAM graph that a DOT file draws, ours or the published compiler's.",
        epilog=_GRAPH_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("graph", metavar="GRAPH.gv", help="a DOT file")
    parser.set_defaults(plot=None)
    known = []
    for title, chosen in _OF_GRAPHS.items():
        group = parser.add_argument_group(title.partition(" (")[0])
        for names, settings in _OPTIONS[title].items():
            if names not in _NOT_OF_GRAPHS and (not chosen or names in chosen):
                group.add_argument(*names.split(), **settings)
                known += names.split()
    found = parse(parser, argv, known)
    found.inputs = [_with_equals(text) for text in found.inputs]
    found.outputs = [_with_equals(text) for text in found.outputs]
    return found


class _Version(argparse.Action):
    """Prints the version of the package, which is looked up for that only."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(nargs=0, help="show program's version number and exit", **settings)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        sys.stdout.write(f"custard {release()}\n")
        parser.exit()


def _in_our_words(word: str) -> str:
    """A word of the command line; raises UserError for an option of TACO that we do not have."""
    name = word.partition("=")[0]
    if name != "-h" and name in _OF_TACO:
        what = f"{name} is an option of the TACO tool, not of custard"
        raise UserError(what, hint=_OF_TACO[name])
    return "--threads" + word.removeprefix(name) if name == "-nthreads" else word


def _with_equals(text: str) -> str:
    """TACO's ``A:file`` as ``A=file``."""
    return re.sub(r"^\s*(\w+)\s*:", r"\1=", text, count=1) if "=" not in text else text
