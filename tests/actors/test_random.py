"""Random programs of actors against brute force: every level, every order, every algorithm."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_actors import program_of, sources

from algorithms import covering, reducing
from brute import Dependence, TooMany, TraceClass, explored, interleavings
from treadle.actors import Program
from treadle.actors.actor import body_of
from treadle.actors.options import DEPENDENCIES, ORDERS
from treadle.actors.run import ActorRun
from treadle.core.fingerprint import freeze
from treadle.core.program import Restart
from treadle.explore.registry import ALGORITHMS

LIMIT = 150
"""Interleavings of a program that is small enough."""


@dataclass
class Everything:
    """What all interleavings of a program do."""

    interleavings: int = 0
    classes: set[TraceClass] = field(default_factory=set)
    final_states: set[object] = field(default_factory=set)
    deadlocks: set[str] = field(default_factory=set)


def everything(program: Program) -> Everything:
    """Run every interleaving, once what there is to learn is known."""
    with program.controlled():
        while True:
            found = Everything()
            try:
                for run, steps in interleavings(program):  # type: ignore[arg-type]
                    found.interleavings += 1
                    if found.interleavings > LIMIT:
                        run.drop()
                        raise TooMany
                    found.classes.add(Dependence(program).class_of(steps))  # type: ignore[arg-type]
                    found.final_states.add(outcome(run))
                    found.deadlocks |= deadlock(run)
            except Restart:
                continue
            return found


def outcome(run: Any) -> object:
    """Return the fields of all actors, and who waits for what."""
    assert isinstance(run, ActorRun)
    fields = [(repr(actor), freeze(dict(body_of(actor).fields))) for actor in run.actors]
    waits = [(t.name, t.waiting, t.target and t.target.name) for t in run.alive.values()]
    errors = [(crash.process, str(crash.exception)) for crash in run.crashes]
    return tuple(sorted(fields)), tuple(sorted(waits, key=str)), tuple(sorted(errors))


def deadlock(run: Any) -> set[str]:
    """Return how tasks wait for ever; early detection must not have been wrong."""
    assert isinstance(run, ActorRun)
    for arrow in run.chain:
        assert not arrow.source.has_ended
    return {wait.process for wait in run.ending().waits}


def check_against_brute_force(source: str, algorithms: list[str], **options: Any) -> Everything:
    """Compare explorations of a program with all its interleavings."""
    program = program_of(source, **options)
    try:
        expected = everything(program)
    except TooMany:
        assume(False)
    for algorithm in algorithms:
        with program.controlled():
            found = explored(program, algorithm, state=outcome)  # type: ignore[arg-type]
        assert found.result.complete, (algorithm, found.result)
        assert found.final_states == expected.final_states, algorithm
        if algorithm in reducing():
            assert set(found.classes) == expected.classes, algorithm
            assert len(found.classes) == len(expected.classes), algorithm
    return expected


SETTINGS = settings(
    max_examples=30,
)


@pytest.mark.parametrize("dependency", DEPENDENCIES)
@given(sources(), st.sampled_from(ORDERS))
@SETTINGS
def test_each_class_once(dependency: str, source: str, order: str) -> None:
    check_against_brute_force(
        source, ["optimal", "source", "sleep"], dependency=dependency, order=order
    )


@pytest.mark.parametrize("dependency", DEPENDENCIES)
@given(sources(), st.sampled_from(ORDERS))
@SETTINGS
def test_all_algorithms_reach_the_same_states(dependency: str, source: str, order: str) -> None:
    others = [name for name, kind in ALGORITHMS.items() if kind.covers and name not in covering()]
    check_against_brute_force(source, [*covering(), *others], dependency=dependency, order=order)


@given(sources(), st.sampled_from(ORDERS))
@SETTINGS
def test_levels_agree_on_what_can_happen(source: str, order: str) -> None:
    outcomes = []
    for dependency in DEPENDENCIES:
        found = check_against_brute_force(source, ["optimal"], dependency=dependency, order=order)
        outcomes.append((found.interleavings, found.deadlocks))
    assert outcomes.count(outcomes[0]) == len(outcomes)


@given(sources(conditions=False))
@settings(max_examples=100)
def test_a_deadlock_is_seen_as_soon_as_it_is_inevitable(source: str) -> None:
    program = program_of(source)
    try:
        with program.controlled():
            for number, (run, _) in enumerate(interleavings(program)):  # type: ignore[arg-type]
                if number > LIMIT:
                    run.drop()
                    break
                assert isinstance(run, ActorRun)
                assert bool(run.chain) == bool(run.alive)
    except Restart:
        assume(False)
