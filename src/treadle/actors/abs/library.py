"""The functions of ABS's standard library.

A function that is called like something of Python has an underscore behind its name. Where ABS has
one function for lists and another for sets or maps, ours takes all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, TypeVar

from treadle.actors.abs.values import (
    Data,
    DivisionByZeroException,
    Just,
    Left,
    Map,
    Maybe,
    Nothing,
    Pair,
    PatternMatchFailException,
    Set,
    Triple,
    text_of,
)
from treadle.analyses.known import pure

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Number = int | Fraction | float
_List = tuple[Any, ...]

FUNCTIONS: dict[str, str] = {}
"""The functions of the standard library: their names in ABS, and here."""


def _in_abs(function: _Function) -> _Function:
    """Declare a function of the standard library."""
    name = function.__name__
    FUNCTIONS[name.rstrip("_")] = name
    return pure(function)


@pure
def failed(what: str) -> Any:
    """Fail, as a `case` does that no pattern fits."""
    raise PatternMatchFailException(what)


@pure
def selected(value: Any, name: str) -> Any:
    """Return what a constructor was given under a name; fails if it has no such part."""
    if isinstance(value, Data) and hasattr(value, name):
        return getattr(value, name)
    return failed(f"{name}({text_of(value)})")


# Truth and numbers


@_in_abs
def and_(a: bool, b: bool) -> bool:
    """Both."""
    return a and b


@_in_abs
def or_(a: bool, b: bool) -> bool:
    """At least one of both."""
    return a or b


@_in_abs
def not_(a: bool) -> bool:
    """The opposite."""
    return not a


@_in_abs
def max_(a: Any, b: Any) -> Any:
    """Return the larger one."""
    return a if a > b else b


@_in_abs
def min_(a: Any, b: Any) -> Any:
    """Return the smaller one."""
    return a if a < b else b


@_in_abs
def abs_(a: Any) -> Any:
    """Return a number without its sign."""
    return abs(a)


@_in_abs
def truncate(a: _Number) -> int:
    """Return a number without its fraction."""
    return math.trunc(a)


@_in_abs
def floor(a: _Number) -> int:
    """Return the largest whole number that is not larger."""
    return math.floor(a)


@_in_abs
def ceil(a: _Number) -> int:
    """Return the smallest whole number that is not smaller."""
    return math.ceil(a)


@_in_abs
def numerator(a: int | Fraction) -> int:
    """Return what is above the line of a fraction."""
    return a.numerator


@_in_abs
def denominator(a: int | Fraction) -> int:
    """Return what is below the line of a fraction."""
    return a.denominator


@_in_abs
def float_(a: _Number) -> float:
    """Return a number as a `Float`."""
    return float(a)


@_in_abs
def rat(a: _Number) -> Fraction:
    """Return a number as a `Rat`."""
    return Fraction(a)


@_in_abs
def pow_(base: Any, exponent: int) -> Any:
    """Return a power; a fraction if the exponent is negative."""
    return base**exponent if exponent >= 0 else divide(1, base**-exponent)


@_in_abs
def sqrt(a: _Number) -> float:
    """Return the square root."""
    return math.sqrt(a)


@_in_abs
def sqrt_newton(a: Any, estimate: Any, epsilon: Any) -> Any:
    """Return the square root by Newton's method, from an estimate, as exact as asked for."""
    better = divide(estimate + divide(a, estimate), 2)
    while abs(estimate - better) >= epsilon:
        estimate, better = better, divide(better + divide(a, better), 2)
    return estimate


@_in_abs
def exp_newton(a: Any, epsilon: Any) -> Any:
    """Return a power of e by its series, as exact as asked for."""
    if a < 0:
        return divide(1, exp_newton(-a, epsilon))
    total, term, step = 1 + a + divide(a * a, 2), divide(a * a, 2), 3
    while abs(term := divide(term * a, step)) >= epsilon:
        total, step = total + term, step + 1
    return total + term


@_in_abs
def log(a: _Number) -> float:
    """Return the natural logarithm."""
    return math.log(a)


@_in_abs
def exp(a: _Number) -> float:
    """Return a power of e."""
    return math.exp(a)


@pure
def divide(a: Any, b: Any) -> Any:
    """`a / b`: exact, unless one of them is a `Float`."""
    if b == 0:
        raise DivisionByZeroException()
    if isinstance(a, float) or isinstance(b, float):
        return a / b
    quotient = Fraction(a, b)
    return quotient.numerator if quotient.denominator == 1 else quotient


@pure
def modulo(a: Any, b: Any) -> Any:
    """`a % b`."""
    if b == 0:
        raise DivisionByZeroException()
    return a % b


# Pairs, Maybe and Either


@_in_abs
def fst(pair: Pair) -> Any:
    """Return the first of a pair."""
    return pair.fst


@_in_abs
def snd(pair: Pair) -> Any:
    """Return the second of a pair."""
    return pair.snd


@_in_abs
def fstT(triple: Triple) -> Any:  # noqa: N802 - the library's name
    """Return the first of three."""
    return triple.fstT


@_in_abs
def sndT(triple: Triple) -> Any:  # noqa: N802
    """Return the second of three."""
    return triple.sndT


@_in_abs
def trdT(triple: Triple) -> Any:  # noqa: N802
    """Return the last of three."""
    return triple.trdT


@_in_abs
def trd(triple: Triple) -> Any:
    """Return the last of three, by the older name."""
    return triple.trdT


@_in_abs
def isJust(maybe: Maybe) -> bool:  # noqa: N802
    """Tell whether there is a value."""
    return isinstance(maybe, Just)


@_in_abs
def isNothing(maybe: Maybe) -> bool:  # noqa: N802
    """Tell whether there is no value."""
    return isinstance(maybe, Nothing)


@_in_abs
def fromJust(maybe: Maybe) -> Any:  # noqa: N802
    """Return the value; fails if there is none."""
    return maybe.fromJust if isinstance(maybe, Just) else failed("fromJust(Nothing)")


@_in_abs
def fromMaybe(maybe: Maybe, default: Any) -> Any:  # noqa: N802
    """Return the value, or a default."""
    return maybe.fromJust if isinstance(maybe, Just) else default


@_in_abs
def left(either: Any) -> Any:
    """Return what is in `Left`."""
    return selected(either, "left")


@_in_abs
def right(either: Any) -> Any:
    """Return what is in `Right`."""
    return selected(either, "right")


@_in_abs
def isLeft(either: Any) -> bool:  # noqa: N802
    """Tell whether a value is in `Left`."""
    return isinstance(either, Left)


@_in_abs
def isRight(either: Any) -> bool:  # noqa: N802
    """Tell whether a value is in `Right`."""
    return not isinstance(either, Left)


# Lists


@_in_abs
def head(items: _List) -> Any:
    """Return the first item."""
    return items[0] if items else failed("head(Nil)")


@_in_abs
def tail(items: _List) -> _List:
    """Return all items but the first."""
    return items[1:] if items else failed("tail(Nil)")


@_in_abs
def last(items: _List) -> Any:
    """Return the last item."""
    return items[-1] if items else failed("last(Nil)")


@_in_abs
def length(items: Any) -> int:
    """Return how many items there are."""
    return len(items)


@_in_abs
def size(items: Any) -> int:
    """Return how many items or keys there are."""
    return len(items)


@_in_abs
def isEmpty(items: Any) -> bool:  # noqa: N802
    """Tell whether there are no items."""
    return not items


@_in_abs
def nth(items: _List, index: int) -> Any:
    """Return an item by its place, from 0."""
    return items[index] if 0 <= index < len(items) else failed(f"nth(…, {index})")


@_in_abs
def appendright(items: _List, item: Any) -> _List:
    """Return a list with one more item at the end."""
    return (*items, item)


@_in_abs
def concatenate(one: Any, other: Any) -> Any:
    """Return both lists, or strings, one after the other."""
    return one + other


@_in_abs
def without(items: _List, item: Any) -> _List:
    """Return a list without all that equals an item."""
    return tuple(each for each in items if each != item)


@_in_abs
def reverse(items: _List) -> _List:
    """Return a list backwards."""
    return items[::-1]


@_in_abs
def copy(item: Any, times: int) -> _List:
    """Return a list of the same item several times."""
    return (item,) * times


@_in_abs
def range_(first: int, last: int) -> _List:
    """Return the numbers from one to another, both included."""
    return tuple(range(first, last + 1))


@_in_abs
def sum_(items: Iterable[Any]) -> Any:
    """Return the sum of numbers."""
    return sum(items)


@_in_abs
def contains(items: Any, item: Any) -> bool:
    """Tell whether an item is in a set or a list, or a key in a map."""
    return item in items


@_in_abs
def list_(items: _List) -> _List:
    """Return a list as it is."""
    return items


@_in_abs
def elements(items: Iterable[Any]) -> _List:
    """Return the items of a set as a list."""
    return tuple(items)


# Sets


@_in_abs
def set_(items: Iterable[Any]) -> Set:
    """Return the items of a list as a set."""
    return Set(items)


@pure
def set_of(*items: Any) -> Set:
    """`set[…]`."""
    return Set(items)


@_in_abs
def emptySet(items: Set) -> bool:  # noqa: N802
    """Tell whether a set is empty."""
    return not items


@_in_abs
def insertElement(items: Set, item: Any) -> Set:  # noqa: N802
    """Return a set with one more item."""
    return Set((*items, item))


@_in_abs
def remove(items: Any, item: Any) -> Any:
    """Return a set without an item, or a map without a key."""
    return removeKey(items, item) if isinstance(items, Map) else Set(i for i in items if i != item)


@_in_abs
def union(one: Set, other: Set) -> Set:
    """Return what is in at least one of both."""
    return Set((*one, *other))


@_in_abs
def intersection(one: Set, other: Set) -> Set:
    """Return what is in both."""
    return Set(item for item in one if item in other)


@_in_abs
def difference(one: Set, other: Set) -> Set:
    """Return what is in the first only."""
    return Set(item for item in one if item not in other)


@_in_abs
def isSubset(one: Set, other: Set) -> bool:  # noqa: N802
    """Tell whether all of the first is in the second."""
    return one <= other


@_in_abs
def hasNext(items: Any) -> bool:  # noqa: N802
    """Tell whether there is an item left."""
    return bool(items)


@_in_abs
def take(items: Set) -> Any:
    """Return some item of a set: the first."""
    return next(iter(items)) if items else failed("take(EmptySet)")


@_in_abs
def next_(items: Set) -> Pair:
    """Return an item of a set, and the set without it."""
    item = take(items)
    return Pair(remove(items, item), item)


@_in_abs
def takeMaybe(items: Set) -> Maybe:  # noqa: N802
    """Return some item of a set, if there is one."""
    return Just(take(items)) if items else Nothing()


# Maps


@pure
def map_of(*pairs: Pair) -> Map:
    """`map[…]`; of two pairs with one key the first counts, as in a search from the left."""
    found: dict[Any, Any] = {}
    for pair in pairs:
        found.setdefault(pair.fst, pair.snd)
    return Map(found.items())


@_in_abs
def map_(items: Iterable[Pair]) -> Map:
    """Return a list of pairs as a map."""
    return map_of(*items)


@_in_abs
def emptyMap(items: Map) -> bool:  # noqa: N802
    """Tell whether a map is empty."""
    return not items


@_in_abs
def put(items: Map, key: Any, value: Any) -> Map:
    """Return a map with another value for a key."""
    return Map((*items.items(), (key, value)))


@_in_abs
def insert(items: Map, pair: Pair) -> Map:
    """Return a map with a pair of key and value put in."""
    return put(items, pair.fst, pair.snd)


@_in_abs
def removeKey(items: Map, key: Any) -> Map:  # noqa: N802
    """Return a map without a key."""
    return Map((each, value) for each, value in items.items() if each != key)


@_in_abs
def lookup(items: Map, key: Any) -> Maybe:
    """Return the value of a key, if there is one."""
    return Just(items[key]) if key in items else Nothing()


@_in_abs
def lookupMaybe(items: Map, key: Any) -> Maybe:  # noqa: N802
    """Return the value of a key, if there is one."""
    return lookup(items, key)


@_in_abs
def lookupUnsafe(items: Map, key: Any) -> Any:  # noqa: N802
    """Return the value of a key; fails if there is none."""
    return items[key] if key in items else failed(f"lookupUnsafe(…, {text_of(key)})")


@_in_abs
def lookupDefault(items: Map, key: Any, default: Any) -> Any:  # noqa: N802
    """Return the value of a key, or a default."""
    return items.get(key, default)


@_in_abs
def keys(items: Map) -> Set:
    """Return the keys of a map."""
    return Set(items)


@_in_abs
def values(items: Map) -> _List:
    """Return the values of a map."""
    return tuple(items.values())


@_in_abs
def entries(items: Map) -> _List:
    """Return the pairs of keys and values of a map."""
    return tuple(Pair(key, value) for key, value in items.items())


# Strings


@_in_abs
def toString(value: Any) -> str:  # noqa: N802
    """Return a value as text."""
    return text_of(value)


@_in_abs
def intToString(value: int) -> str:  # noqa: N802
    """Return a number as text."""
    return text_of(value)


@_in_abs
def strlen(text: str) -> int:
    """Return how many characters a text has."""
    return len(text)


@_in_abs
def substr(text: str, start: int, count: int) -> str:
    """Return a part of a text: from where, and how many characters."""
    return text[start : start + count]


@_in_abs
def println(value: Any) -> None:
    """Print a line."""
    print(text_of(value))  # noqa: T201 - what the program prints


@_in_abs
def print_(value: Any) -> None:
    """Print a text."""
    print(text_of(value), end="")  # noqa: T201


# Functions that take functions: both lists of arguments are one here


@pure
def map_each(function: Callable[[Any], Any], items: _List) -> _List:
    """`map(f)(list)`."""
    return tuple(map(function, items))


@_in_abs
def filter_(function: Callable[[Any], bool], items: _List) -> _List:
    """`filter(f)(list)`."""
    return tuple(filter(function, items))


@_in_abs
def foldl(function: Callable[[Any, Any], Any], items: _List, result: Any) -> Any:
    """`foldl(f)(list, start)`: f is given an item and what came out so far."""
    for item in items:
        result = function(item, result)
    return result


@_in_abs
def foldr(function: Callable[[Any, Any], Any], items: _List, result: Any) -> Any:
    """`foldr(f)(list, start)`: as `foldl`, from the end."""
    return foldl(function, items[::-1], result)
