"""The command line: chooses the command, and reports mistakes.

The modules of a command are imported when it runs, so that ``custard --help`` answers at once.
"""

from __future__ import annotations

import logging
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module

from custard.cli.arguments import complain, of_system, require_stdout
from custard.cli.options import parse_command
from sam.support.errors import StreamError, UserError, nearest, one_of

# The words that may stand in place of an expression: the arguments after them, and the function
# that runs them.
_COMMANDS: Mapping[str, tuple[str, str, str]] = {
    "sweep": ("SWEEP.yaml", "custard.cli.sweeps.start", "main"),
    "sim": ("GRAPH.gv [options]", "custard.cli.graph_run", "main"),
    "draw": ("EXPRESSION | GRAPH.gv | tensor FILE ...", "custard.cli.drawing", "main"),
    "size": ("EXPRESSION ...", "custard.cli.size", "main"),
    "explain": ("EXPRESSION | GRAPH.gv ...", "custard.cli.explain", "main"),
    "auto": ("EXPRESSION ...", "custard.cli.auto", "main"),
    "serve": ("[--port N]", "custard.cli.serve.command", "main"),
    "report": ("RESULT", "custard.cli.run_record", "report_command"),
    "cache": ("[--clear]", "custard.cli.cache", "main"),
    "configs": ("", "custard.cli.listings", "configs"),
    "formats": ("", "custard.cli.listings", "formats"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status.

    0 for success, 1 for a result that ``--check`` finds wrong, a stream that ``--validate`` does or
    a reader that has gone where no files are asked for, 2 for a mistake of the user, 130 after
    Ctrl-C.
    """
    try:
        require_stdout()
        words = list(sys.argv[1:] if argv is None else argv)
        try:
            return _chosen(words)(words)
        finally:
            sys.stdout.flush()
    except StreamError as mistake:
        at_fault = (
            "" if mistake.hint else "\nhint: a block or the graph is at fault, not the command"
        )
        complain(f"{mistake}{at_fault}")
        return 1
    except UserError as mistake:
        complain(str(mistake))
        return 2
    except KeyboardInterrupt:
        complain("interrupted")
        return 130
    except OSError as mistake:
        return of_system(mistake)


def _chosen(words: Sequence[str]) -> Callable[[Sequence[str]], int]:
    """The function that runs a command line."""
    if words and words[0] in _COMMANDS:
        _, module, name = _COMMANDS[words[0]]
        command: Callable[[Sequence[str]], int] = getattr(import_module(module), name)
        return lambda words: command(words[1:])
    if words and words[0].isidentifier():
        is_near = nearest(words[0], _COMMANDS) is not None
        is_before_expression = len(words) > 1 and "=" in words[1][1:] and words[1][0] not in "-=+"
        if is_near or len(words) == 1 or is_before_expression:
            hint = one_of(words[0], _COMMANDS)
            if is_before_expression and not is_near:
                hint = "the expression comes first, as in custard " + shlex.quote(words[1])
            raise UserError(f"there is no command {words[0]}", hint=hint)
    return _execute


def _execute(words: Sequence[str]) -> int:
    arguments = parse_command(words, {word: rest for word, (rest, _, _) in _COMMANDS.items()})
    if not arguments.check and "numpy" not in sys.modules:
        # Only --check multiplies dense arrays. The threads of numpy's BLAS spin while they wait.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if arguments.verbose:
        logging.basicConfig(format="custard: %(message)s", level=logging.INFO)
    from custard.cli.execution import execute

    return execute(arguments)
