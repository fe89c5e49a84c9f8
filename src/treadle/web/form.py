"""The settings as a form: a control for each option, from where options are declared once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from treadle.core.deadlocks import CRITERIA
from treadle.core.options import Either, Flag, Number, OneOf, Option, Values, find_option
from treadle.report.html.markup import Content, Markup, tag
from treadle.session.options import exploring
from treadle.session.settings import Settings
from treadle.web.sent import OFF

FIRST = ("algorithm", "dependency", "order", "stop_on_failure", "schedule", "max_executions")
"""Those that SYCO's users know; the others are folded."""
NOT_HERE = ("workers", "on", "spawn", "split_by", "checkpoint", "resume")
"""What the page does not offer: one process observes a search here, and files are not its own."""
_YES, _NO = "true", "false"


def settings_form(project: Settings) -> Markup:
    """Return all settings, as a project has them; what is left as it is, is not sent."""
    options = {
        name: replace(option, default=getattr(project, name, option.default))
        for name, option in _offered().items()
    }
    shown = [options[name] for name in FIRST if name in options]
    others = [option for name, option in options.items() if name not in FIRST]
    return tag(
        "fieldset",
        tag("legend", "Settings"),
        [_control(option) for option in shown],
        _guidance(),
        tag(
            "details",
            tag("summary", "More settings"),
            tag("div", [_control(option) for option in others], class_="fields"),
        ),
        class_="settings fields",
    )


def read_options(given: Mapping[str, str]) -> dict[str, object]:
    """Return the options that a form has set; those that make no sense are refused."""
    known = _offered()
    read = {}
    for name, text in given.items():
        option = find_option(known, name)
        value: object = option.meant(text)
        if isinstance(option.values, Flag):
            value = text == _YES
        elif isinstance(option.default, tuple):
            value = tuple(filter(None, map(str.strip, text.split(","))))
        option.read(value)
        read[name] = value
    return read


def _offered() -> dict[str, Option]:
    return {name: option for name, option in exploring().items() if name not in NOT_HERE}


def _control(option: Option) -> Markup:
    name = f"option-{option.name}"
    values = option.values
    default = "" if option.default is None else str(option.default)
    said: dict[str, str] = {"name_": option.name, "id": name, "title": option.help}
    names = _names(values)
    control: Markup
    if isinstance(values, Flag):
        default = _YES if option.default else _NO
        control = _choice(said, (_YES, _NO), default)
    elif isinstance(values, Either) and names:  # each front end has a default of its own
        control = _choice(said, names, "", usual="usual")
    elif names:
        control = _choice(said, names, default)
    elif isinstance(values, Number):
        control = tag("input", type="text", inputmode="decimal", placeholder=default, **said)
    else:
        shown = "" if not option.default else default
        control = tag("input", type="text", placeholder=shown, **said)
    words = option.name.replace("_", " ")
    return tag("div", tag("label", words, for_=name), control, class_="field")


def _names(values: Values) -> list[str]:
    """Return what can be chosen; nothing if that is no list."""
    parts = values.different if isinstance(values, Either) else [values]
    lists = [part for part in parts if isinstance(part, OneOf)]
    if len(lists) < len(parts):
        return []
    return list(dict.fromkeys(name for part in lists for name in part.names))


def _guidance() -> Content:
    guided = {
        "name_": "guided",
        "id": "guided",
        "title": "Look for the deadlock cycles of a static analysis: executions that cannot lead "
        "to one are left out.",
    }
    contexts = {
        "name_": "contexts",
        "id": "contexts",
        "title": "Use no main program: generate contexts with up to so many tasks of each method.",
    }
    return [
        tag(
            "div",
            tag("label", "deadlock-guided", for_="guided"),
            _choice(guided, (OFF, *CRITERIA), OFF),
            class_="field",
        ),
        tag(
            "div",
            tag("label", "contexts", for_="contexts"),
            tag("input", type="text", inputmode="numeric", placeholder="0", **contexts),
            class_="field",
        ),
    ]


def _choice(said: Mapping[str, str], names: Sequence[str], default: str, usual: str = "") -> Markup:
    rows = [tag("option", usual, value="", selected=True)] if usual else []
    rows += [
        tag(
            "option",
            f"{one} (default)" if one == default else one,
            value=one,
            selected=one == default,
        )
        for one in names
    ]
    return tag("select", rows, data_default=default, **said)
