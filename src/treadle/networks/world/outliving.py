"""State that outlives a run: a policy must not keep any in its class, which all runs share."""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator
from typing import Any

from treadle.core.fingerprint import freeze
from treadle.core.frames import Place
from treadle.networks.world.controller import Controller
from treadle.networks.world.places import refuse

_CODE = (types.FunctionType, staticmethod, classmethod, property, type)


class Outliving:
    """The attributes of a policy's class, and of an application's, as they were before any run."""

    def __init__(self, policy: type[Controller]) -> None:
        self._before = [(kind, name, freeze(value)) for kind, name, value in _attributes(policy)]

    def check(self) -> None:
        """Refuse a policy whose class a handler has changed."""
        for kind, name, before in self._before:
            now = freeze(vars(kind).get(name))
            if now != before and now == freeze(vars(kind).get(name)):
                refuse(
                    f"{kind.__name__} keeps state in its class, which all runs share: "
                    f"set {name} in __init__ instead",
                    _place(kind, name),
                )


def _attributes(policy: type[Controller]) -> Iterator[tuple[type, str, Any]]:
    """Yield the data of a class and of those that it is derived from, but for libraries."""
    kinds = [*policy.__mro__, *getattr(getattr(policy, "app", None), "__mro__", ())]
    for kind in kinds:
        if kind.__module__.partition(".")[0] in ("treadle", "os_ken", "builtins"):
            continue
        for name, value in vars(kind).items():
            if not name.startswith("__") and not isinstance(value, _CODE):
                yield kind, name, value


def _place(kind: type, name: str) -> Place | None:
    """Return where a class sets an attribute, or begins."""
    try:
        lines, first = inspect.getsourcelines(kind)
    except (OSError, TypeError):
        return None
    offset = next(
        (at for at, line in enumerate(lines) if line.split("=")[0].split(":")[0].strip() == name), 0
    )
    return inspect.getfile(kind), first + offset
