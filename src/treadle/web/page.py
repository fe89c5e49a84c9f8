"""The page itself: library, editor, settings, progress, and room for what comes out."""

from __future__ import annotations

import json
from pathlib import Path

from treadle.report.html.markup import Markup, tag
from treadle.web.form import settings_form
from treadle.web.library import Entry

_HERE = Path(__file__).parent
_LOOK = _HERE.parent / "report" / "html" / "page.css"


def web_page(entries: list[Entry], first: Entry) -> str:
    """Return the page; it begins with a program."""
    style = _LOOK.read_text("utf-8") + (_HERE / "web.css").read_text("utf-8")
    begin = json.dumps({"file": first.file, "program": first.program, "text": first.text})
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("title", "Treadle"),
        tag("link", rel="icon", href="data:,"),
        tag("style", Markup(style)),
    )
    body = tag(
        "body",
        tag("header", tag("h1", "Treadle"), _library(entries), class_="top"),
        tag("main", tag("div", _editor(), _side(), class_="work"), _outcome(), id="main"),
        tag("script", Markup(begin.replace("<", "\\u003c")), type="application/json", id="begin"),
        tag("script", Markup((_HERE / "web.js").read_text("utf-8"))),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _library(entries: list[Entry]) -> Markup:
    groups: dict[str, list[Markup]] = {}
    for entry in entries:
        row = tag("option", entry.name.rpartition("/")[2], value=entry.name)
        groups.setdefault(entry.group, []).append(row)
    rows = [tag("optgroup", inside, label=group) for group, inside in groups.items()]
    own = tag("option", "Choose a program …", value="")
    return tag(
        "div",
        tag("label", "Library", for_="library"),
        tag("select", own, rows, id="library"),
        tag("label", "Open a file", for_="upload"),
        tag("input", type="file", id="upload", accept=".py,.abs"),
        class_="library",
    )


def _editor() -> Markup:
    area = tag(
        "textarea",
        id="text",
        spellcheck="false",
        autocomplete="off",
        autocapitalize="off",
        wrap="off",
        aria_label="Program",
        aria_describedby="mistake",
    )
    return tag(
        "section",
        tag(
            "div",
            tag("label", "File", for_="file"),
            tag("input", type="text", id="file"),
            tag("label", "Program", for_="program"),
            tag("input", type="text", id="program", list="names", placeholder="the only one"),
            tag("datalist", id="names"),
            class_="names",
        ),
        tag("div", tag("pre", id="coloured", aria_hidden="true"), area, class_="editor"),
        tag("p", id="mistake", role="status"),
        class_="code",
        aria_label="Editor",
    )


def _side() -> Markup:
    return tag(
        "form",
        settings_form(),
        tag(
            "div",
            tag("button", "Apply", type="submit", id="apply"),
            tag("button", "Stop", type="button", id="stop", disabled=True),
            class_="buttons",
        ),
        tag("p", id="progress", role="status"),
        id="settings",
        aria_label="Settings",
    )


def _outcome() -> Markup:
    return tag(
        "section",
        tag("div", id="outcome"),
        tag("iframe", name_="viewer", id="viewer", title="Execution", hidden=True),
        class_="came-out",
        aria_label="Executions",
    )
