"""Guidance and symbols lose nothing, on random programs.

A guided search meets a cycle in just the contexts in which an unguided one meets it. And whatever
a context does with certain values, in an exhaustive concrete exploration, a symbolic path does.
"""

from __future__ import annotations

from itertools import islice, product
from typing import Any

import pytest
from executing import Execution, context_of
from hypothesis import HealthCheck, given, settings
from random_actors import main_of, sources

import treadle
from treadle.actors import Program, restore
from treadle.actors.deadlocks import KNOWN
from treadle.symbolic.framework import Framework
from treadle.symbolic.limits import Limits
from treadle.symbolic.search import End, Search, state_of

SMALL = Limits(seconds=1e6, steps=6, fresh=0, switches=6)


def met_in(framework: Framework, at: int, most: int, *, guided: bool) -> dict[str, bool]:
    """In which of the first contexts of a cycle it is met."""
    guide = framework.guide(at)
    found = {}
    for context in islice(framework.contexts(framework.cycles[at], 1), most):
        search = Search(framework.machine, guide.allows if guided else None)
        paths = search.paths(state_of(framework.machine, context))
        found[str(context)] = any(map(guide.is_met_by, paths))
    return found


def compare(source: str, cycles: int = 1, contexts: int = 1) -> int:
    """Compare guided and unguided searches; return in how many contexts a cycle was met."""
    names = main_of(source).__globals__
    framework = Framework(KNOWN, [names["One"], names["Two"]], SMALL)
    met = 0
    for at in range(min(len(framework.cycles), cycles)):
        unguided = met_in(framework, at, contexts, guided=False)
        assert met_in(framework, at, contexts, guided=True) == unguided, source
        met += sum(unguided.values())
    return met


FIXED = """
from treadle.actors import Actor, pause, until


class One(Actor):
    def __init__(self):
        self.f = 0

    async def m0(self, a):
        {first}
        return 1

    async def m1(self):
        self.f += 1
        return self.f


class Two(Actor):
    def __init__(self):
        self.g = 0

    async def n0(self, b):
        {second}
        return 1

    async def n1(self):
        self.g = 1
        return self.g


def main():
    pass
"""
BODIES = {
    "gets": "{}.send().get()",
    "awaits": "await {}.send()",
    "forgets": "{}.send()",
    "gets if zero": "if self.{} == 0: {}.send().get()",
    "pauses and gets": "await pause(); {}.send().get()",
}


def fixed(first: str, second: str) -> str:
    def body(kind: str, field: str, call: str) -> str:
        text = BODIES[kind]
        return text.format(field, call) if "self" in text else text.format(call)

    return FIXED.format(first=body(first, "f", "a.n1"), second=body(second, "g", "b.m1"))


@pytest.mark.parametrize(("first", "second"), list(product(BODIES, BODIES)))
def test_guidance_on_all_pairs_of_bodies(first: str, second: str):
    """Two classes that call each other: a deadlock just if both wait and hold, in whatever way."""
    source = fixed(first, second)
    names = main_of(source).__globals__
    framework = Framework(KNOWN, [names["One"], names["Two"]], SMALL)
    waits = {"gets", "gets if zero", "pauses and gets"}
    both_wait = first in waits and second in waits
    assert len(framework.cycles) == both_wait
    assert (compare(source) > 0) == both_wait


@given(source=sources(conditions=False))
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
def test_guidance_on_random_programs(source: str):
    compare(source)


@pytest.mark.minutes
@given(source=sources())
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
def test_guidance_on_many_random_programs_with_conditions(source: str):
    compare(source, cycles=3, contexts=3)


# Symbols against values


def concrete_kinds(names: dict[str, Any], a: str, b: str, f: int, g: int) -> set[str]:
    """How a context of two tasks ends with certain values, in all its executions."""

    def main() -> None:
        actors = {
            "One1": restore(names["One"], f=f),
            "One2": restore(names["One"], f=f),
            "Two1": restore(names["Two"], g=g),
            "Two2": restore(names["Two"], g=g),
        }
        actors["One1"].m0.send(actors[a])
        actors["Two1"].n0.send(actors[b])

    result = treadle.explore(Program(main), algorithm="sleep", stop_on_failure=False)
    return {failure.kind for failure in result.failures}


@pytest.mark.parametrize(("first", "second"), list(product(BODIES, BODIES)))
def test_what_values_do_symbols_do(first: str, second: str):
    """Deadlocks of all values together, each explored for real, are those of the symbols."""
    names = main_of(fixed(first, second)).__globals__
    execution = Execution(context_of((names["One"], ["m0"]), (names["Two"], ["n0"])), fresh=2)
    assert execution.search.limits == set()
    concrete = {
        (a, b)
        for a, b in product(("Two1", "Two2"), ("One1", "One2"))
        for f, g in ((0, 0), (1, 0), (0, 1))
        if "deadlock" in concrete_kinds(names, a, b, f, g)
    }
    symbolic = {
        tuple(path.state.resolved[name].name for name in ("main.1:m0.a", "main.2:n0.b"))
        for path in execution.paths
        if path.end is End.DEADLOCK
    }
    assert symbolic == concrete


def test_the_deadlocks_of_a_context_are_those_of_its_values():
    """The pair that waits for each other: with the right actors always, else never."""
    names = main_of(fixed("gets", "gets")).__globals__
    execution = Execution(context_of((names["One"], ["m0"]), (names["Two"], ["n0"])), fresh=1)
    assert execution.check_for_real() == len(execution.paths)
    ends = {
        frozenset(execution.case(path).constraints): path.end
        for path in execution.paths
        if path.end is End.DEADLOCK
    }
    assert set(ends) == {frozenset({"main.1:m0.a is Two1", "main.2:n0.b is One1"})}
