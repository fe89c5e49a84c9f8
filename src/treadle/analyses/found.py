"""Constraints that a solver found, as they are used: what they rely on, and as functions."""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from treadle.analyses.known import is_named_pure
from treadle.smt.loops import LoopFunction
from treadle.smt.values import Tag, tag_of

if TYPE_CHECKING:
    from treadle.core.constraints import Locals

Meaning: TypeAlias = Callable[[str], object]
"""What a name that is not local means; raises `KeyError` if that is unknown."""
Alike: TypeAlias = Callable[[Any], object]
"""Returns what is equal for values that nothing can tell apart."""


@dataclass(frozen=True, slots=True)
class Basis:
    """What has to hold so that a constraint that was found may be relied on: kinds of values."""

    first: Mapping[str, frozenset[Tag]]
    second: Mapping[str, frozenset[Tag]]
    shared: Mapping[str, frozenset[Tag]]
    """Shared names that could hold values of other kinds, by what others do."""

    def fits(self, first: Locals, second: Locals) -> bool:
        """Tell whether local names hold values of these kinds."""
        return has_kinds(first, self.first) and has_kinds(second, self.second)


def has_kinds(given: Locals, names: Mapping[str, Collection[Tag]]) -> bool:
    """Tell whether local names hold values of certain kinds."""
    return all(
        hasattr(given, name) and tag_of(getattr(given, name)) in kinds
        for name, kinds in names.items()
    )


_TYPES = {kind.__name__: kind for kind in (type, bool, int, str, bytes)}


class Result:
    """What a pure function returned: equal to what nothing can tell from it."""

    def __init__(self, value: object, alike: Alike) -> None:
        self.value = value
        self._alike = alike

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Result) and self._alike(self.value) == self._alike(other.value)

    __hash__ = None  # type: ignore[assignment]


def compiled(text: str, alike: Alike, *meanings: Meaning) -> Any:
    """Return a constraint as a function of the state and of both steps' local names.

    What pure functions return is compared by what `alike` makes of it.
    """
    namespace: dict[str, Any] = {"__builtins__": _TYPES}
    body = compile(f"lambda s, first, second: {text}", "<synthesised>", "eval")
    for name in {*body.co_names, *_inner_names(body)} - {"s", "first", "second"}:
        for known in meanings:
            try:
                meaning = known(name)
            except KeyError:
                continue
            if isinstance(meaning, LoopFunction):
                namespace[name] = meaning
            elif is_named_pure(meaning):
                namespace[name] = _callable(meaning, alike)
            elif isinstance(meaning, type) and issubclass(meaning, enum.Enum):
                namespace[name] = meaning
    return eval(body, namespace)


def _inner_names(body: Any) -> set[str]:
    return {
        name for const in body.co_consts if hasattr(const, "co_names") for name in const.co_names
    }


def _callable(value: Any, alike: Alike) -> Callable[..., Result]:
    """Return a pure function as one whose results are compared by kind."""

    def called(*args: Any) -> Result:
        return Result(
            value(*(arg.value if isinstance(arg, Result) else arg for arg in args)), alike
        )

    return called
