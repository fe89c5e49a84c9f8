"""Source code with numbered lines, marks for the lines that matter, and a little colour."""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection, Mapping

from treadle.report.html.lanes import Json
from treadle.report.html.markup import Markup, markup, tag

Heat = Mapping[str, int]
"""How much each `file:line` is about."""

_WORDS = {*keyword.kwlist, "self", "match", "case"}
_TOKENS = re.compile(
    r"""(?P<comment>\#.*|//.*)
    |(?P<string>[rbfuRBFU]{0,2}(?:"{3}.*?"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'))
    |(?P<number>\b\d[\w.]*)
    |(?P<name>[^\W\d]\w*)""",
    re.VERBOSE,
)


def listing(
    sources: Json, name: str, *, marked: Collection[str] = (), heat: Heat | None = None
) -> Markup:
    """Return pieces of files, line by line; `name` begins the addresses of lines."""
    files = []
    title = "Source of" if heat is None else "Heat map of"
    hottest = max((heat or {}).values(), default=1)
    for number, (file, pieces) in enumerate(sources.items()):
        lines: list[Markup] = []
        for at, piece in enumerate(pieces):
            if at:
                lines.append(tag("span", "⋯", class_="line gap"))
            for offset, text in enumerate(piece["lines"]):
                line = piece["first"] + offset
                place = f"{file}:{line}"
                share = (heat or {}).get(place, 0) / hottest
                lines.append(_line(text, line, f"{name}-{number}-{line}", place in marked, share))
        code = tag(
            "pre",
            tag("code", lines),
            class_="source",
            tabindex="0",
            role="region",
            aria_label=f"{title} {file}",
        )
        files.append(tag("figure", tag("figcaption", file), code, data_file=file))
    return tag("div", files, class_="sources", data_name=name)


def _line(text: str, number: int, name: str, is_marked: bool, share: float) -> Markup:
    times = Markup(f"{share:.2f}")
    return tag(
        "span",
        tag("span", f"{number:>4} ", class_="number"),
        coloured(text) or " ",
        id=name,
        class_="line" + (" marked" if is_marked else "") + (" hot" if share else ""),
        style=f"--heat:{times}" if share else None,
    )


def coloured(text: str) -> Markup:
    """Return a line of code with keywords, strings, numbers and comments told apart.

    >>> coloured("if x < 1:  # why")
    '<i class="k">if</i> x &lt; <i class="m">1</i>:  <i class="c"># why</i>'
    """
    found, end = [], 0
    for match in _TOKENS.finditer(text):
        kind = match.lastgroup
        if kind == "name" and match.group() not in _WORDS:
            continue
        letter = {"comment": "c", "string": "s", "number": "m", "name": "k"}[str(kind)]
        found += [markup(text[end : match.start()]), tag("i", match.group(), class_=letter)]
        end = match.end()
    return markup([*found, text[end:]])
