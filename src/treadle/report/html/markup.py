"""Writing HTML: text is escaped unless it is markup already."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from typing import Any

_VOID = frozenset({"input", "meta", "link"})
_SHAPES = frozenset({"line", "rect", "circle", "path"})
_UNSEEN = re.compile(
    r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
"""Control characters but for white space, and those of the direction of writing."""


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


Content = str | Iterable["Content"] | None


def markup(content: Content) -> Markup:
    """Return content as HTML.

    >>> markup(["a < b", tag("b", "c")])
    'a &lt; b<b>c</b>'
    """
    if content is None:
        return Markup()
    if isinstance(content, Markup):
        return content
    if isinstance(content, str):
        return Markup(escape(printable(content)))
    return Markup("".join(map(markup, content)))


def tag(name: str, /, *content: Content, **attributes: str | int | float | bool | None) -> Markup:
    """Return an element; `class_` and `data_step` are written as `class` and `data-step`.

    Attributes that are None or False are left out, those that are True have no value.

    >>> tag("a", "x", class_="y", href="#1", hidden=True, title=None)
    '<a class="y" href="#1" hidden>x</a>'
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{name}{written}>")
    if name in _SHAPES:
        return Markup(f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{markup(content)}</{name}>")


def _attribute(key: str, value: str | int | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(printable(str(value)))}"'


def headings(*names: str) -> Markup:
    """Return the head of a table.

    >>> headings("a")
    '<thead><tr><th scope="col">a</th></tr></thead>'
    """
    return tag("thead", tag("tr", [tag("th", name, scope="col") for name in names]))


def classes(*names: str | bool | None) -> str | None:
    """Return the names of classes as an attribute: those that are not left out.

    >>> classes("a", False, "", "b"), classes(None)
    ('a b', None)
    """
    return " ".join(name for name in names if isinstance(name, str) and name) or None


def printable(text: str) -> str:
    """Return text that every file can hold, and that is read in the order in which it is written.

    Halves of characters are escaped, and so is what cannot be seen but changes what can: control
    characters, and those that turn the direction of what follows.

    >>> printable("a\\udc80"), printable("b\\u202ec\\0")
    ('a\\\\udc80', 'b\\\\u202ec\\\\x00')
    """
    whole = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return _UNSEEN.sub(_escaped, whole)


def _escaped(match: re.Match[str]) -> str:
    return match.group().encode("unicode_escape").decode("ascii")


def all_printable(data: Any) -> Any:
    """Return data of JSON with every text in it, names of keys too, as `printable` has it.

    >>> all_printable({"a\\0": ["b\\u202e", 1, None]})
    {'a\\\\x00': ['b\\\\u202e', 1, None]}
    """
    if isinstance(data, str):
        return printable(data)
    if isinstance(data, dict):
        return {printable(key): all_printable(value) for key, value in data.items()}
    return [all_printable(one) for one in data] if isinstance(data, list) else data


def cut(text: str, length: int) -> str:
    """Return the beginning of a text that is too long.

    >>> cut("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= length else text[: length - 1] + "…"


def breakable(text: str) -> Markup:
    """Return a path or a name that may be broken where its parts begin.

    >>> breakable("a/b_c.py::d")
    'a/<wbr>b_<wbr>c.<wbr>py::<wbr>d'
    """
    return Markup(re.sub(r"(/|::|\.|_)(?=\w)", r"\1<wbr>", markup(text)))
