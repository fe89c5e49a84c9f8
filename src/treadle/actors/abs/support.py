"""What translated programs call beyond the standard library."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from treadle.actors.abs.containers import removeKey, take
from treadle.actors.abs.functions import failed
from treadle.actors.abs.values import (
    AbsException,
    AssertionFailException,
    DivisionByZeroException,
    Map,
    NullPointerException,
    Pair,
    Set,
    text_of,
)
from treadle.actors.control import own_future
from treadle.analyses.known import pure
from treadle.core.errors import TreadleError


@pure
def destiny() -> Any:
    """`destiny`: the future of the running task."""
    return own_future()


@pure
def no_match(value: Any) -> Any:
    """Fail: no pattern fits."""
    return failed(text_of(value))


@pure
def some_pair(items: Map) -> Pair:
    """Return a pair of key and value of a map: of `InsertAssoc(pair, rest)` the first part."""
    key = next(iter(items))
    return Pair(key, items[key])


@pure
def other_pairs(items: Map) -> Map:
    """Return the rest of a map, without `some_pair`."""
    return removeKey(items, next(iter(items)))


@pure
def other_items(items: Set) -> Set:
    """Return a set without the item that `take` returns."""
    return Set(item for item in items if item != take(items))


@pure
def implements(value: Any, interface: str) -> bool:
    """`x implements I`."""
    return value is not None and interface in type(value)._interfaces


@pure
def viewed_as(value: Any, interface: str) -> Any:
    """`x as I`: `null` if it does not implement it."""
    return value if implements(value, interface) else None


@pure
def caught(error: Exception) -> AbsException:
    """Return an exception of Python's as one of ABS."""
    match error:
        case AbsException():
            return error
        case AssertionError():
            return AssertionFailException()
        case ZeroDivisionError():
            return DivisionByZeroException()
        case AttributeError(obj=None):
            return NullPointerException()
        case _:
            raise error


@pure
def finished(call: Coroutine[Any, Any, Any]) -> Any:
    """Run a synchronous call to its end, in an initialiser, where nothing can be awaited."""
    try:
        call.send(None)
    except StopIteration as end:
        return end.value
    raise TreadleError("an initialiser calls a method that waits: let `run` do that")
