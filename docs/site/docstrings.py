"""For the site: the tables of our docstrings, as lists in Markdown.

A row of such a table is a name in double backquotes, two or more spaces, and its meaning, which
may go on in indented lines.
"""

import re
from typing import Any

import griffe

_ROW = re.compile(r"^(``.+?``(?:, ``.+?``)*)( +)(.*)$")


def listed(text: str) -> str:
    """The text with each row of a table as an item of a list."""
    found: list[str] = []
    inside = False
    for line in text.splitlines():
        row = _ROW.match(line)
        if row and (inside or len(row[2]) > 1):
            if not inside:
                found.append("")
            inside = True
            found.append(f"- {row[1]}: {row[3]}")
        else:
            inside = inside and line.startswith("  ")
            found.append(line.strip() if inside else line)
    return "\n".join(found)


class Tables(griffe.Extension):
    """Rewrites the docstring of each object."""

    def on_instance(self, *, obj: griffe.Object, **more: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = listed(obj.docstring.value)
