"""Problems of scheduling, for tests of what is looked at."""

from custard.autoscheduling.autoscheduler import autoscheduler
from custard.autoscheduling.candidates import orders
from custard.autoscheduling.problem import Problem
from custard.ir import cin
from custard.ir.concretization import concretize
from custard.language import notation
from custard.language.formats import parse_format
from custard.targets import target_of


def problem(text, target="c", extents=100, parts=1, given=None, dense=(), entries=10):
    """A problem whose variables have one extent."""
    program = concretize(notation.parse(text))
    formats = {name: parse_format(form) for name, form in (given or {}).items()}
    sizes = dict.fromkeys(map(cin.base, program.loops), extents)
    return Problem(program, formats, frozenset(dense), sizes, entries, target_of(target), parts)


def schedules(*args, **options):
    """The schedules that are looked at for a problem, each as one text."""
    found = problem(*args, **options)
    own = autoscheduler(found.target)
    return [
        ";".join(one.schedule)
        for plain in orders(found)
        for one in (plain, *own.partitions(found, plain))
    ]
