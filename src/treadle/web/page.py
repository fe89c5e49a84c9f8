"""The page itself: library, editor, settings, progress, and room for what comes out."""

from __future__ import annotations

import json
from pathlib import Path

from treadle.report.html.document import style_of
from treadle.report.html.markup import Markup, tag
from treadle.session.settings import Settings
from treadle.web.form import settings_form
from treadle.web.library import Entry

_HERE = Path(__file__).parent
EDITOR = _HERE / "editor.js"
"""CodeMirror in one file; see scripts/editor."""


def web_page(entries: list[Entry], first: Entry, project: Settings) -> str:
    """Return the page; it begins with a program, and with the settings of a project."""
    style = style_of("look", "page") + (_HERE / "web.css").read_text("utf-8")
    begin = json.dumps({"file": first.file, "program": first.program, "text": first.text})
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name_="color-scheme", content="light dark"),
        tag("title", "Treadle"),
        tag("link", rel="icon", href="data:,"),
        tag("style", Markup(style)),
    )
    body = tag(
        "body",
        tag("header", tag("h1", "Treadle"), _library(entries), class_="top"),
        tag("main", tag("div", _editor(), _side(project), class_="work"), _outcome(), id="main"),
        tag("script", Markup(begin.replace("<", "\\u003c")), type="application/json", id="begin"),
        tag("script", src=EDITOR.name),
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
    program = tag("input", type="text", id="program", list="names", placeholder="the only one")
    return tag(
        "section",
        tag(
            "div",
            tag("label", "File", for_="file"),
            tag("input", type="text", id="file"),
            tag("label", "Program", for_="program"),
            program,
            tag("datalist", id="names"),
            tag("div", id="arguments", class_="names", role="group", aria_label="Initial values"),
            class_="names",
        ),
        tag("div", id="editor", class_="editor"),
        tag("p", id="mistake", role="status"),
        id="code",
        class_="code",
        aria_label="Editor",
    )


def _side(project: Settings) -> Markup:
    return tag(
        "form",
        settings_form(project),
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
