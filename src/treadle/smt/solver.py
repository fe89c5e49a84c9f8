"""Conditions as z3 knows them: which ones can hold together?

Whole numbers are z3's integers, which are unbounded as Python's; `//` and `%` by a positive number
agree with Python's. Texts and the like are of a sort of their own, in which only constants are
known to differ. An array is a function of the index, one for each kind of its elements.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import z3

from treadle.smt.terms import (
    AtLeastZero,
    Atom,
    Constant,
    Cube,
    IsA,
    IsSame,
    IsTrue,
    IsZero,
    Poly,
    Var,
)
from treadle.smt.values import TAGS

EFFORT = 2_000_000
"""Steps of the solver for one question; then there is no answer."""
TIMEOUT = 30_000
"""The same in milliseconds, for what takes no steps: so answers do not depend on how busy a
machine is."""


class Encoder:
    """Conditions in the solver's terms, each made once."""

    def __init__(self) -> None:
        self._context = z3.Context()
        integer = z3.IntSort(self._context)
        self._sorts: dict[str, Any] = {"int": integer, "bool": z3.BoolSort(self._context)}
        for name in ("str", "bytes", "enum", "result"):
            self._sorts[name] = z3.DeclareSort(name, self._context)
        self._atoms: dict[Atom, Any] = {}
        self._negated: dict[Atom, Any] = {}
        self._vars: dict[Var, Any] = {}
        self._constants: dict[Constant, Any] = {}

    def solver(self) -> Any:
        """Return an empty solver; constants that are met later are told to it by `distinct`."""
        solver = z3.SimpleSolver(ctx=self._context)
        solver.set("timeout", TIMEOUT)
        solver.set("rlimit", EFFORT)
        return solver

    def literals(self, cube: Iterable[tuple[Atom, bool]]) -> list[Any]:
        """Return conditions, each as it has to hold."""
        found = [self.atom(atom) if holds else self._not(atom) for atom, holds in cube]
        return found + self._distinct()

    def both(self, cube: Cube) -> Any:
        """Return that all of some conditions hold."""
        return z3.And(*self.literals(cube), z3.BoolVal(True, self._context))

    def one_of(self, cubes: Iterable[Cube]) -> Any:
        """Return that all conditions of one cube hold."""
        return z3.Or(*[self.both(cube) for cube in cubes], z3.BoolVal(False, self._context))

    def none_of(self, cube: Cube) -> Any:
        """Return that some of the conditions do not hold."""
        return z3.Not(z3.And(*[self.literal(literal) for literal in cube]), self._context)

    def literal(self, literal: tuple[Atom, bool]) -> Any:
        """Return a condition as it has to hold."""
        return self.atom(literal[0]) if literal[1] else self._not(literal[0])

    def _not(self, atom: Atom) -> Any:
        found = self._negated.get(atom)
        if found is None:
            found = self._negated[atom] = z3.Not(self.atom(atom), self._context)
        return found

    def _distinct(self) -> list[Any]:
        """Return that constants differ: one statement for each sort."""
        by_sort: dict[str, list[Any]] = {}
        for constant, term in self._constants.items():
            by_sort.setdefault(constant.sort, []).append(term)
        return [z3.Distinct(*terms) for terms in by_sort.values() if len(terms) > 1]

    def atom(self, atom: Atom) -> Any:
        """Return a condition."""
        found = self._atoms.get(atom)
        if found is None:
            found = self._atoms[atom] = self._encoded(atom)
        return found

    def _encoded(self, atom: Atom) -> Any:
        match atom:
            case AtLeastZero(poly):
                return self._poly(poly) >= 0
            case IsZero(poly):
                return self._poly(poly) == 0
            case IsTrue(var):
                return self._var(var)
            case IsSame(left, right):
                other = self._var(right) if isinstance(right, Var) else self._constant(right)
                return self._var(left) == other
            case IsA(holder, tag):
                return self._made(holder, f"kind of {_name(holder)}", "int") == TAGS.index(tag)

    def _poly(self, poly: Poly) -> Any:
        found = z3.IntVal(0, self._context)
        for monomial, factor in poly.terms:
            term = z3.IntVal(factor, self._context)
            for var in monomial:
                term = term * self._var(var)
            found = found + term
        return found

    def _constant(self, constant: Constant) -> Any:
        if constant not in self._constants:
            name = f"{constant.sort} {len(self._constants)}"
            self._constants[constant] = z3.Const(name, self._sorts[constant.sort])
        return self._constants[constant]

    def _var(self, var: Var) -> Any:
        found = self._vars.get(var)
        if found is None:
            if var.form in ("//", "%"):
                poly, divisor = map(self._poly, var.parts)
                found = poly / divisor if var.form == "//" else poly % divisor
            else:
                found = self._made(var, f"{var.sort} {_name(var)}", var.sort)
            self._vars[var] = found
        return found

    def _made(self, var: Var, name: str, sort: str) -> Any:
        """Return what a variable is: a constant, or a function of what it is made of."""
        given = [self._part(part) for part in var.parts[1:]]
        if not given:
            return z3.Const(name, self._sorts[sort])
        signature = [part.sort() for part in given]
        kinds = " ".join(str(kind) for kind in signature)
        return z3.Function(f"{name} {kinds}", *signature, self._sorts[sort])(*given)

    def _part(self, part: Poly | Var | Constant | bool | str) -> Any:
        if isinstance(part, str):  # None, which is one of a kind
            return self._constant(Constant("str", (part,)))
        if isinstance(part, Poly):
            return self._poly(part)
        if isinstance(part, bool):
            return z3.BoolVal(part, self._context)
        return self._var(part) if isinstance(part, Var) else self._constant(part)


def _name(var: Var) -> str:
    """Return what a variable is called: functions by name, others by what they are."""
    return f"{var.form} {var.parts[0]}" if var.parts else var.text
