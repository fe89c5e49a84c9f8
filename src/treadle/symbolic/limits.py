"""How far symbolic execution goes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from treadle.core.errors import TreadleError


@dataclass(frozen=True, slots=True)
class Limits:
    """How far symbolic execution goes; a limit that was met is told with the result."""

    iterations: int = 2
    """How often one branch of a method call is decided either way."""
    steps: int = 40
    """Macro-steps of an execution."""
    switches: int = 20
    """Tasks that start or resume in one actor."""
    fresh: int = 3
    """Actors that are not of the context."""
    length: int = 2
    """Items of a list that may be anything."""
    instructions: int = 10_000
    """Instructions of a macro-step."""
    seconds: float = 5.0
    """Of processor time, for a context."""
    nulls: bool = False
    """Whether a reference that may be None is also tried as None where it is sent to."""


def limits_of(given: Mapping[str, float]) -> Limits:
    """Return limits of symbolic execution by name."""
    known = {each.name: each for each in fields(Limits)}
    for name, value in given.items():
        if name not in known:
            raise TreadleError(f"unknown limit {name!r}: choose one of {', '.join(known)}")
        if not _can_be(name, value):
            raise TreadleError(f"the limit {name} cannot be {value:g}")
    kinds = {name: {"float": float, "bool": bool}.get(str(each.type), int)
             for name, each in known.items()}  # fmt: skip
    return Limits(**{name: kinds[name](value) for name, value in given.items()})  # type: ignore[arg-type]


def _can_be(name: str, value: float) -> bool:
    if name == "seconds":
        return value > 0
    if name == "nulls":
        return value in (0, 1)
    return value >= (0 if name in ("length", "fresh") else 1) and float(value).is_integer()
