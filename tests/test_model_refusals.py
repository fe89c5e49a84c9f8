"""Models that the model kit refuses."""

from __future__ import annotations

import functools
from collections import deque
from typing import Any

import pytest

import treadle
from model_kit import Loose, Process, refused, together
from treadle.model import Mailbox, Program


def test_a_process_must_be_a_generator_function() -> None:
    def p(s: Any) -> None:
        s.x = 1

    program = Program(x=0)
    for wrong in (p, 3, None.__class__):
        with pytest.raises(treadle.TreadleError, match="is no generator function"):
            program.process(wrong)  # type: ignore[type-var]


def test_a_spawned_process_must_be_a_generator_function() -> None:
    def p(s: Any) -> Process:
        yield
        s.spawn(print)

    refused(p, match="'print' is no generator function")


def test_a_decorated_process_is_a_process() -> None:
    def logged(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(s: Any) -> Any:
            return function(s)

        return wrapper

    @logged
    def p(s: Any) -> Process:
        yield
        s.x = 1

    assert treadle.explore(together(p, x=0)).ok


def test_what_a_process_may_not_yield() -> None:
    def p(_s: Any) -> Process:
        yield 3

    def q(s: Any) -> Process:
        s.x = 1
        yield "lock"

    refused(p, match="process p yields 3: yield nothing, or an operation")
    refused(q, match="process q yields 'lock'", x=0)


@pytest.mark.parametrize("access", ["read", "write"])
def test_state_is_not_touched_outside_a_step(access: str) -> None:
    kept: list[Any] = []

    def p(s: Any) -> Process:
        kept.append(s)
        yield
        s.x = 1

    program = together(p, x=0)
    run = program.start()
    if access == "read":
        kept[-1].x  # noqa: B018
    else:
        kept[-1].x = 5
    with pytest.raises(treadle.TreadleError, match="outside a step"):
        run.step(0)


def test_the_state_of_an_earlier_execution_is_not_touched() -> None:
    kept: list[Any] = []

    def p(s: Any) -> Process:
        yield
        s.x = 1
        if kept:
            kept[0].x  # noqa: B018
        else:
            kept.append(s)

    def q(s: Any) -> Process:
        yield
        s.x = 2

    refused(p, q, match="outside a step", x=0)


@pytest.mark.parametrize("make", [object, lambda: iter([1]), lambda: Loose(object())])
def test_values_made_anew_in_every_execution_are_no_nondeterminism(make: Any) -> None:
    def p(s: Any) -> Process:
        yield
        s.x = make()

    assert treadle.explore(together(p, x=None)).ok


def test_the_state_of_a_trial_is_not_touched() -> None:
    kept: list[Any] = []

    def p(s: Any) -> Process:
        kept.append(s)
        yield
        kept[0].x = 1

    refused(p, match="outside a step", x=0)


def test_a_spawn_outside_a_step_is_refused() -> None:
    kept: list[Any] = []

    def p(s: Any) -> Process:
        kept.append(s)
        yield

    program = together(p)
    program.start()
    with pytest.raises(treadle.TreadleError, match="outside a step"):
        kept[-1].spawn(p)


def test_a_condition_only_reads() -> None:
    def p(s: Any) -> Process:
        yield s.until(lambda: s.box.send(1))

    refused(p, match="must only read", box=Mailbox())


def test_until_needs_a_function() -> None:
    def p(s: Any) -> Process:
        yield s.until(s.x == 1)

    refused(p, match=r"write s\.until\(lambda: s\.x == 1\)", x=0)


@pytest.mark.parametrize("target", ["nobody", 3, None])
def test_joining_somebody_unknown(target: Any) -> None:
    def p(s: Any) -> Process:
        yield s.join(target)

    refused(p, match=r"cannot join .*: give a handle .* or the name of a process \(p\)")


def test_joining_a_process_of_another_execution() -> None:
    def child(_s: Any) -> Process:
        yield

    def p(s: Any) -> Process:
        if s.x == 0:
            yield
            s.spawn(child)
        else:
            yield s.join("p.1")

    def q(s: Any) -> Process:
        yield
        s.x = 1

    refused(p, q, match=r"cannot join 'p\.1'", x=0)


@pytest.mark.parametrize("name", ["spawn", "join", "until", "me", "_x", "fingerprint_of"])
def test_reserved_names(name: str) -> None:
    with pytest.raises(treadle.TreadleError, match="a shared variable cannot be called"):
        Program(**{name: 0})


@pytest.mark.parametrize("value", [set(), bytearray(), deque()])
def test_mutable_values_whose_changes_nobody_sees(value: Any) -> None:
    with pytest.raises(treadle.TreadleError, match=r"'x' is a .*, whose changes cannot be seen"):
        Program(x=value)


def test_a_program_needs_a_process() -> None:
    with pytest.raises(treadle.TreadleError, match="program 'model' has no process"):
        treadle.explore(Program(x=0))


def test_an_undeclared_variable_is_a_failure_of_the_model() -> None:
    def p(s: Any) -> Process:
        yield
        s.y = 1

    (failure,) = treadle.explore(together(p, x=0)).failures
    assert failure.kind == "exception"
    assert "y" in failure.message
