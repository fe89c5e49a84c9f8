"""z3: whether a path can be taken, and values with which it is.

z3 is an extra, and loaded when symbolic execution begins. Questions are remembered: executions ask
the same ones again and again.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from treadle.core.errors import TreadleError
from treadle.symbolic.values import Term

_EFFORT = 50_000_000
"""Steps of the solver for one question, about two seconds; without an answer a path is possible."""
_MILLISECONDS = 30_000
"""The same in time, for what takes no steps: answers must not depend on how busy a machine is."""


@functools.cache
def z3() -> Any:
    """Return z3's module; say which extra is missing if it is not there."""
    try:
        return importlib.import_module("z3")
    except ImportError as error:
        raise TreadleError(
            "symbolic execution needs z3, which is in the extra smt: pip install 'treadle[smt]'"
        ) from error


class Solver:
    """Answers questions about path conditions, each once."""

    def __init__(self) -> None:
        self._z3 = z3()
        self._solver = self._z3.Solver()
        self._solver.set("timeout", _MILLISECONDS)
        self._solver.set("rlimit", _EFFORT)
        self._answers: dict[frozenset[Term], bool] = {}
        self._models: dict[frozenset[Term], Mapping[str, int | bool] | None] = {}
        self.gave_up = False
        """Whether a question had no answer in time."""

    # Terms

    def number(self, name: str) -> Term:
        """Return a symbol that is a number."""
        return Term(self._z3.Int(name), is_boolean=False)

    def text(self, name: str) -> Term:
        """Return a symbol that is a text, which can only be compared."""
        return Term(self._z3.Int(name), is_boolean=False, is_text=True)

    def boolean(self, name: str) -> Term:
        """Return a symbol that is true or false."""
        return Term(self._z3.Bool(name), is_boolean=True)

    def expression(self, value: Term | int) -> Any:
        """Return the expression of a number; booleans are 0 and 1, as in Python."""
        if not isinstance(value, Term):
            return self._z3.IntVal(int(value))
        if value.is_boolean:
            return self._z3.If(value.expression, self._z3.IntVal(1), self._z3.IntVal(0))
        return value.expression

    def made(self, expression: Any) -> Term | int | bool:
        """Return a term of an expression, or its value if it has no symbols."""
        simple = self._z3.simplify(expression)
        if self._z3.is_true(simple) or self._z3.is_false(simple):
            return bool(self._z3.is_true(simple))
        if self._z3.is_int_value(simple):
            return int(simple.as_long())
        return Term(simple, is_boolean=self._z3.is_bool(simple))

    def choice(self, test: Term, then: Term | int, other: Term | int) -> Term | int | bool:
        """Return one number or another."""
        return self.made(
            self._z3.If(test.expression, self.expression(then), self.expression(other))
        )

    def negated(self, term: Term) -> Term:
        """Return a condition that holds if another one does not."""
        return Term(self._z3.simplify(self._z3.Not(term.expression)), is_boolean=True)

    # Questions

    def is_possible(self, path: Sequence[Term]) -> bool:
        """Tell whether all conditions can hold together."""
        if not path:
            return True
        key = frozenset(path)
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = self._check(path) is not None
        return answer

    def _check(self, path: Sequence[Term]) -> Any:
        """Return a model, False if there was no answer in time, or None if there is no model."""
        self._solver.push()
        try:
            self._solver.add(*(term.expression for term in path))
            answer = self._solver.check()
            if answer == self._z3.unsat:
                return None
            if answer == self._z3.unknown:
                self.gave_up = True
                return False
            return self._solver.model()
        finally:
            self._solver.pop()

    def values(self, path: Sequence[Term]) -> Mapping[str, int | bool] | None:
        """Return values for the symbols that a path constrains; None if it cannot be taken.

        They are the same whenever the same is asked.
        """
        key = frozenset(path)
        if key not in self._models:
            self._models[key] = self._values(path)
        return self._models[key]

    def _values(self, path: Sequence[Term]) -> Mapping[str, int | bool] | None:
        model = self._check(path)
        if model is None:
            return None
        if model is False:
            return {}
        symbols = [each for each in model.decls() if each.arity() == 0]  # not z3's own `div0`
        return {str(each): _plain(self._z3, model[each]) for each in symbols}


def _plain(z3: Any, value: Any) -> int | bool:
    return bool(z3.is_true(value)) if z3.is_bool(value) else int(value.as_long())
