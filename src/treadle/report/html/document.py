"""The frame of every page: one file with its style, its script and its data, and nothing else."""

from __future__ import annotations

import json
import platform
from pathlib import Path

from treadle.core.version import __version__
from treadle.report.html.lanes import Json
from treadle.report.html.markup import Content, Markup, all_printable, tag

_HERE = Path(__file__).parent


def style_of(*names: str) -> str:
    """Return style sheets of reports, one after the other."""
    return "\n".join((_HERE / f"{name}.css").read_text("utf-8") for name in names)


def document(title: str, body: Content, data: Json) -> str:
    """Return a page with its style, its script and its data."""
    script = (_HERE / "page.js").read_text("utf-8")
    embedded = json.dumps(all_printable(data), separators=(",", ":")).replace("<", "\\u003c")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name_="color-scheme", content="light dark"),
        tag("title", f"{title} – Treadle"),
        tag("link", rel="icon", href="data:,"),
        tag("style", Markup(style_of("look", "page", "diagram"))),
    )
    shown = tag(
        "body",
        tag("a", "Skip to the report", href="#main", class_="skip"),
        tag("main", body, id="main"),
        tag("button", "Light or dark", type="button", class_="theme"),
        _footer(),
        tag("script", Markup(embedded), type="application/json", id="data"),
        tag("script", Markup(script)),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, shown, lang='en')}\n"


def _footer() -> Markup:
    python = f"{platform.python_implementation()} {platform.python_version()}"
    keys = [
        ("← →", "step back and forward"),
        ("Home End", "first and last step"),
        ("p n", "previous and next step of the same lane"),
        ("/", "search; Enter goes to the next match"),
        ("f", "fold and unfold"),
    ]
    rows = [tag("div", tag("dt", tag("kbd", key)), tag("dd", words)) for key, words in keys]
    return tag(
        "footer",
        tag("details", tag("summary", "Keys"), tag("dl", rows, class_="keys")),
        tag("p", f"Treadle {__version__}, {python}, {platform.system()} {platform.machine()}"),
    )
