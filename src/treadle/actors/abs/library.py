"""The functions of ABS's standard library but for those of lists, sets and maps (`containers`).

A function that is called like something of Python has an underscore behind its name.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from treadle.actors.abs.functions import failed, in_abs
from treadle.actors.abs.values import (
    Data,
    DivisionByZeroException,
    Just,
    Left,
    Maybe,
    Nothing,
    Pair,
    Triple,
    text_of,
)
from treadle.analyses.known import pure

_Number = int | Fraction | float
_List = tuple[Any, ...]


@pure
def selected(value: Any, name: str) -> Any:
    """Return what a constructor was given under a name; fails if it has no such part."""
    if isinstance(value, Data) and hasattr(value, name):
        return getattr(value, name)
    return failed(f"{name}({text_of(value)})")


# Truth and numbers


@in_abs
def and_(a: bool, b: bool) -> bool:
    """Both."""
    return a and b


@in_abs
def or_(a: bool, b: bool) -> bool:
    """At least one of both."""
    return a or b


@in_abs
def not_(a: bool) -> bool:
    """The opposite."""
    return not a


@in_abs
def max_(a: Any, b: Any) -> Any:
    """Return the larger one."""
    return a if a > b else b


@in_abs
def min_(a: Any, b: Any) -> Any:
    """Return the smaller one."""
    return a if a < b else b


@in_abs
def abs_(a: Any) -> Any:
    """Return a number without its sign."""
    return abs(a)


@in_abs
def truncate(a: _Number) -> int:
    """Return a number without its fraction."""
    return math.trunc(a)


@in_abs
def floor(a: _Number) -> int:
    """Return the largest whole number that is not larger."""
    return math.floor(a)


@in_abs
def ceil(a: _Number) -> int:
    """Return the smallest whole number that is not smaller."""
    return math.ceil(a)


@in_abs
def numerator(a: int | Fraction) -> int:
    """Return what is above the line of a fraction."""
    return a.numerator


@in_abs
def denominator(a: int | Fraction) -> int:
    """Return what is below the line of a fraction."""
    return a.denominator


@in_abs
def float_(a: _Number) -> float:
    """Return a number as a `Float`."""
    return float(a)


@in_abs
def rat(a: _Number) -> Fraction:
    """Return a number as a `Rat`."""
    return Fraction(a)


@in_abs
def pow_(base: Any, exponent: int) -> Any:
    """Return a power; a fraction if the exponent is negative."""
    return base**exponent if exponent >= 0 else divide(1, base**-exponent)


@in_abs
def sqrt(a: _Number) -> float:
    """Return the square root."""
    return math.sqrt(a)


@in_abs
def sqrt_newton(a: Any, estimate: Any, epsilon: Any) -> Any:
    """Return the square root by Newton's method, from an estimate, as exact as asked for."""
    better = divide(estimate + divide(a, estimate), 2)
    while abs(estimate - better) >= epsilon:
        estimate, better = better, divide(better + divide(a, better), 2)
    return estimate


@in_abs
def exp_newton(a: Any, epsilon: Any) -> Any:
    """Return a power of e by its series, as exact as asked for."""
    if a < 0:
        return divide(1, exp_newton(-a, epsilon))
    total, term, step = 1 + a + divide(a * a, 2), divide(a * a, 2), 3
    while abs(term := divide(term * a, step)) >= epsilon:
        total, step = total + term, step + 1
    return total + term


@in_abs
def log(a: _Number) -> float:
    """Return the natural logarithm."""
    return math.log(a)


@in_abs
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


@in_abs
def fst(pair: Pair) -> Any:
    """Return the first of a pair."""
    return pair.fst


@in_abs
def snd(pair: Pair) -> Any:
    """Return the second of a pair."""
    return pair.snd


@in_abs
def fstT(triple: Triple) -> Any:  # noqa: N802 - the library's name
    """Return the first of three."""
    return triple.fstT


@in_abs
def sndT(triple: Triple) -> Any:  # noqa: N802
    """Return the second of three."""
    return triple.sndT


@in_abs
def trdT(triple: Triple) -> Any:  # noqa: N802
    """Return the last of three."""
    return triple.trdT


@in_abs
def trd(triple: Triple) -> Any:
    """Return the last of three, by the older name."""
    return triple.trdT


@in_abs
def isJust(maybe: Maybe) -> bool:  # noqa: N802
    """Tell whether there is a value."""
    return isinstance(maybe, Just)


@in_abs
def isNothing(maybe: Maybe) -> bool:  # noqa: N802
    """Tell whether there is no value."""
    return isinstance(maybe, Nothing)


@in_abs
def fromJust(maybe: Maybe) -> Any:  # noqa: N802
    """Return the value; fails if there is none."""
    return maybe.fromJust if isinstance(maybe, Just) else failed("fromJust(Nothing)")


@in_abs
def fromMaybe(maybe: Maybe, default: Any) -> Any:  # noqa: N802
    """Return the value, or a default."""
    return maybe.fromJust if isinstance(maybe, Just) else default


@in_abs
def left(either: Any) -> Any:
    """Return what is in `Left`."""
    return selected(either, "left")


@in_abs
def right(either: Any) -> Any:
    """Return what is in `Right`."""
    return selected(either, "right")


@in_abs
def isLeft(either: Any) -> bool:  # noqa: N802
    """Tell whether a value is in `Left`."""
    return isinstance(either, Left)


@in_abs
def isRight(either: Any) -> bool:  # noqa: N802
    """Tell whether a value is in `Right`."""
    return not isinstance(either, Left)


# Strings


@in_abs
def toString(value: Any) -> str:  # noqa: N802
    """Return a value as text."""
    return text_of(value)


@in_abs
def intToString(value: int) -> str:  # noqa: N802
    """Return a number as text."""
    return text_of(value)


@in_abs
def strlen(text: str) -> int:
    """Return how many characters a text has."""
    return len(text)


@in_abs
def substr(text: str, start: int, count: int) -> str:
    """Return a part of a text: from where, and how many characters."""
    return text[start : start + count]


@in_abs
def println(value: Any) -> None:
    """Print a line."""
    print(text_of(value))  # noqa: T201 - what the program prints


@in_abs
def print_(value: Any) -> None:
    """Print a text."""
    print(text_of(value), end="")  # noqa: T201


# Functions that take functions: both lists of arguments are one here


@pure
def map_each(function: Callable[[Any], Any], items: _List) -> _List:
    """`map(f)(list)`."""
    return tuple(map(function, items))


@in_abs
def filter_(function: Callable[[Any], bool], items: _List) -> _List:
    """`filter(f)(list)`."""
    return tuple(filter(function, items))


@in_abs
def foldl(function: Callable[[Any, Any], Any], items: _List, result: Any) -> Any:
    """`foldl(f)(list, start)`: f is given an item and what came out so far."""
    for item in items:
        result = function(item, result)
    return result


@in_abs
def foldr(function: Callable[[Any, Any], Any], items: _List, result: Any) -> Any:
    """`foldr(f)(list, start)`: as `foldl`, from the end."""
    return foldl(function, items[::-1], result)
