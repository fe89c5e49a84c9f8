"""Terms and conditions over the state in which two blocks meet, as Python would write them.

Whole numbers are polynomials over variables, in a normal form: so `x + 1 == z + 1` is `x == z`
without asking anybody. A variable is a part of the state that a block reads: `s.x`, `first.k`,
`s.a[first.k]`, or a term that is not taken apart: `s.x // 2`, `merge(s.r, first.v)`.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Literal, TypeAlias

Sort: TypeAlias = Literal["int", "bool", "str", "bytes", "enum", "result"]
"""What a variable stands for: a whole number, a truth value, or something that is only compared."""


@dataclass(frozen=True, slots=True)
class Var:
    """A part of the state, or a term that is not taken apart."""

    text: str
    """How Python says it."""
    sort: Sort
    form: Literal["symbol", "cell", "//", "%", "call", "in"] = "symbol"
    parts: tuple[Any, ...] = ()
    """What it is made of, beside its form: name and arguments."""
    shared: frozenset[str] = frozenset()
    """Shared names that are read to know it."""
    needs: tuple[tuple[Atom, bool], ...] = field(default=(), compare=False)
    """What has to hold so that Python can evaluate it, and it means this."""
    is_known: bool = True
    """Whether it can be evaluated at all in the state in which the blocks meet."""


Monomial: TypeAlias = tuple[Var, ...]


@dataclass(frozen=True, slots=True)
class Poly:
    """A sum of products of variables: products in order, with what they are multiplied by."""

    terms: tuple[tuple[Monomial, int], ...]

    @staticmethod
    def of(found: dict[Monomial, int]) -> Poly:
        """Return the sum of products, in normal form."""
        kept = [(monomial, factor) for monomial, factor in found.items() if factor]
        return Poly(tuple(sorted(kept, key=lambda term: _order(term[0]))))

    @staticmethod
    def constant(value: int) -> Poly:
        """Return a number."""
        return Poly.of({(): value})

    @staticmethod
    def var(var: Var) -> Poly:
        """Return a variable."""
        return Poly((((var,), 1),))

    @property
    def value(self) -> int | None:
        """The number that it is; None if that depends on the state."""
        if not self.terms:
            return 0
        return self.terms[0][1] if len(self.terms) == 1 and not self.terms[0][0] else None

    def __add__(self, other: Poly) -> Poly:
        found = dict(self.terms)
        for monomial, factor in other.terms:
            found[monomial] = found.get(monomial, 0) + factor
        return Poly.of(found)

    def __neg__(self) -> Poly:
        return Poly(tuple((monomial, -factor) for monomial, factor in self.terms))

    def __sub__(self, other: Poly) -> Poly:
        return self + -other

    def __mul__(self, other: Poly) -> Poly:
        found: dict[Monomial, int] = {}
        for one, factor in self.terms:
            for another, times in other.terms:
                product = tuple(sorted(one + another, key=lambda var: (var.text, var.sort)))
                found[product] = found.get(product, 0) + factor * times
        return Poly.of(found)

    def plus(self, number: int) -> Poly:
        """Return it with a number added."""
        return self + Poly.constant(number)

    def variables(self) -> Iterator[Var]:
        """Yield the variables in it."""
        for monomial, _ in self.terms:
            yield from monomial

    def text(self) -> str:
        """Say it in Python."""
        found = ""
        for monomial, factor in sorted(self.terms, key=lambda term: (not term[0], term[1] < 0)):
            own = _product(monomial, abs(factor))
            if found:
                found += f" {'-' if factor < 0 else '+'} {own}"
            else:
                found = f"-{own}" if factor < 0 else own
        return found or "0"


def _order(monomial: Monomial) -> tuple[tuple[str, str], ...]:
    return tuple((var.text, var.sort) for var in monomial)


def _product(monomial: Monomial, factor: int) -> str:
    if not monomial:
        return str(factor)
    names = [var.text if var.form != "in" else f"({var.text})" for var in monomial]
    return " * ".join(names if factor == 1 else [str(factor), *names])


# Conditions


@dataclass(frozen=True, slots=True)
class AtLeastZero:
    """`poly >= 0`."""

    poly: Poly

    def variables(self) -> Iterator[Var]:
        """Yield the variables in it."""
        yield from self.poly.variables()

    def text(self, holds: bool) -> str:
        """Say in Python that it holds, or that it does not."""
        return _bound(self.poly if holds else (-self.poly).plus(-1))


@dataclass(frozen=True, slots=True)
class IsZero:
    """`poly == 0`."""

    poly: Poly

    def variables(self) -> Iterator[Var]:
        """Yield the variables in it."""
        yield from self.poly.variables()

    def text(self, holds: bool) -> str:
        """Say in Python that it holds, or that it does not."""
        left, right = _sides(self.poly)
        return f"{left.text()} {'==' if holds else '!='} {right.text()}"


@dataclass(frozen=True, slots=True)
class IsTrue:
    """A variable that is a truth value."""

    var: Var

    def variables(self) -> Iterator[Var]:
        """Yield the variables in it."""
        yield self.var

    def text(self, holds: bool) -> str:
        """Say in Python that it holds, or that it does not."""
        if self.var.form == "in" and not holds:
            key, _, name = self.var.text.rpartition(" in ")
            return f"{key} not in {name}"
        return self.var.text if holds else f"not {self.var.text}"


@dataclass(frozen=True, slots=True)
class IsSame:
    """Two texts, members of an enumeration or the like are the same; one may be a constant."""

    left: Var
    right: Var | Constant

    def variables(self) -> Iterator[Var]:
        """Yield the variables in it."""
        yield self.left
        if isinstance(self.right, Var):
            yield self.right

    def text(self, holds: bool) -> str:
        """Say in Python that it holds, or that it does not."""
        return f"{self.left.text} {'==' if holds else '!='} {self.right.text}"


@dataclass(frozen=True, slots=True)
class IsA:
    """A part of the state holds a value of a kind."""

    holder: Var
    tag: str

    def variables(self) -> Iterator[Var]:
        """Yield the variables in it."""
        yield self.holder

    def text(self, holds: bool) -> str:
        """Say in Python that it holds, or that it does not."""
        if self.tag == "none":
            return f"{self.holder.text} {'is' if holds else 'is not'} None"
        return f"type({self.holder.text}) {'is' if holds else 'is not'} {self.tag}"


@dataclass(frozen=True, slots=True)
class Constant:
    """A text or the like that stands in the code."""

    sort: Sort
    value: Any

    @property
    def text(self) -> str:
        """How Python says it."""
        if isinstance(self.value, enum.Enum):
            return f"{type(self.value).__name__}.{self.value.name}"
        return repr(self.value)


Atom: TypeAlias = AtLeastZero | IsZero | IsTrue | IsSame | IsA
Cube: TypeAlias = tuple[tuple[Atom, bool], ...]
"""Conditions, and whether each one holds."""


def at_least_zero(poly: Poly) -> tuple[Atom, bool] | bool:
    """Return `poly >= 0` as a condition and whether it has to hold, or its truth."""
    if poly.value is not None:
        return poly.value >= 0
    divisor = reduce(math.gcd, (factor for monomial, factor in poly.terms if monomial), 0)
    poly = Poly.of({m: f // divisor for m, f in poly.terms})  # a constant is rounded down: right
    leading = next(factor for monomial, factor in poly.terms if monomial)
    if leading > 0:
        return AtLeastZero(poly), True
    return AtLeastZero((-poly).plus(-1)), False


def is_zero(poly: Poly) -> tuple[Atom, bool] | bool:
    """Return `poly == 0` as a condition, or its truth."""
    if poly.value is not None:
        return poly.value == 0
    divisor = reduce(math.gcd, (factor for monomial, factor in poly.terms if monomial), 0)
    constant = dict(poly.terms).get((), 0)
    if constant % divisor:
        return False
    poly = Poly.of({m: f // divisor for m, f in poly.terms})
    leading = next(factor for monomial, factor in poly.terms if monomial)
    return IsZero(poly if leading > 0 else -poly), True


def _sides(poly: Poly) -> tuple[Poly, Poly]:
    """Return what is added and what is taken away, with the number on the right if that is alone.

    The difference of the two is the polynomial, and the left one has variables.
    """
    plus = Poly.of({m: f for m, f in poly.terms if f > 0 and m})
    minus = Poly.of({m: -f for m, f in poly.terms if f < 0 and m})
    number = dict(poly.terms).get((), 0)
    if not plus.terms:
        plus, minus, number = minus, plus, -number
    if not minus.terms:
        return plus, Poly.constant(-number)
    return (plus.plus(number), minus) if number > 0 else (plus, minus.plus(-number))


def _bound(poly: Poly) -> str:
    """Say `poly >= 0`."""
    left, right = _sides(poly)
    is_below = left - right != poly  # the sides were changed
    if right.value is not None:
        number = right.value
        if is_below:
            return f"{left.text()} <= 0" if number == 0 else f"{left.text()} < {number + 1}"
        return f"{left.text()} >= 0" if number == 0 else f"{left.text()} > {number - 1}"
    number = dict(poly.terms).get((), 0)
    if number < 0:
        return f"{left.text()} > {right.plus(-1).text()}"
    return f"{left.text()} >= {right.text()}"


def in_python(cube: Cube) -> str:
    """Say conditions in Python; what others need to be evaluated comes first."""
    ordered = sorted(cube, key=lambda literal: _depth(literal[0]))
    return " and ".join(atom.text(holds) for atom, holds in ordered) or "True"


def _depth(atom: Atom) -> tuple[int, int]:
    """Return how much has to be known before a condition can be evaluated."""
    depths = [len(closure_of(var)) for var in atom.variables()]
    return max(depths), 0 if isinstance(atom, IsA) else 1


def closure_of(var: Var) -> frozenset[tuple[Atom, bool]]:
    """Return all that has to hold for a variable to be evaluated, with what that needs in turn."""
    found = set(var.needs)
    for inner in parts_of(var):
        found |= closure_of(inner)
    return frozenset(found)


def parts_of(var: Var) -> Iterator[Var]:
    """Yield the variables of which a variable is made."""
    for part in var.parts:
        if isinstance(part, Poly):
            yield from part.variables()
        elif isinstance(part, Var):
            yield part


def is_known(atom: Atom) -> bool:
    """Tell whether a condition can be evaluated in the state in which the blocks meet."""
    return all(_is_known(var) for var in atom.variables())


def _is_known(var: Var) -> bool:
    return var.is_known and all(map(_is_known, parts_of(var)))


def shared_by(atom: Atom) -> frozenset[str]:
    """Return the shared names that a condition reads."""
    return frozenset[str]().union(*(_shared(var) for var in atom.variables()))


def _shared(var: Var) -> frozenset[str]:
    return var.shared.union(*map(_shared, parts_of(var)))
