"""Moment by moment: what is known of the shared state, and who holds what."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looked_at import FAILING, explored
from report_samples import EMBRACE, LOST_UPDATE, step
from treadle.core.records import Access, StepRecord
from treadle.report.execution import Change, moments_of, preempted


def changes_in(steps: list[StepRecord]) -> list[list[tuple[str, str, str]]]:
    _, moments = moments_of(steps)
    return [[(one.name, one.before, one.after) for one in moment.changes] for moment in moments]


# State


def test_what_is_read_is_known_from_the_beginning() -> None:
    initial, moments = moments_of([step("p", 1, "read x = 3"), step("q", 2, "read y = 4")])
    assert initial == {"x": "3", "y": "4"}
    assert [moment.changes for moment in moments] == [(), ()]


def test_what_is_written_first_was_not_known() -> None:
    steps = [step("p", 1, "write x = 1"), step("q", 2, "read x = 1", "write x = 2")]
    assert moments_of(steps)[0] == {"x": ""}
    assert changes_in(steps) == [[("x", "", "1")], [("x", "1", "2")]]


def test_a_later_read_tells_what_a_change_has_made() -> None:
    grows = replace(step("p", 1, "call items.append(1)"), changes=("items",))
    steps = [step("q", 1, "read items = []"), grows, step("q", 2, "read items = [1]")]
    assert moments_of(steps)[0] == {"items": "[]"}
    assert changes_in(steps) == [[], [("items", "[]", "[1]")], []]


def test_between_two_changes_nothing_is_made_up() -> None:
    grows = replace(step("p", 1, "call items.append(1)"), changes=("items",))
    steps = [grows, grows, step("q", 2, "read items = [1, 1]")]
    assert changes_in(steps) == [[("items", "", "")], [("items", "", "[1, 1]")], []]


def test_what_never_has_a_value_is_left_out() -> None:
    grows = replace(step("p", 1, "call items.append(1)"), changes=("items",))
    assert moments_of([grows, step("q", 1, "acquire lock")])[0] == {}
    assert changes_in([grows]) == [[]]


def test_a_step_may_change_things_twice() -> None:
    steps = [step("p", 1, "read x = 0", "write x = 1", "write x = 2")]
    assert moments_of(steps)[0] == {"x": "0"}
    assert changes_in(steps) == [[("x", "0", "1"), ("x", "1", "2")]]


def test_a_write_in_words_is_no_second_change() -> None:
    steps = [replace(step("p", 1, "write x = 1"), changes=("x",))]
    assert changes_in(steps) == [[("x", "", "1")]]


def test_nothing_at_all() -> None:
    assert moments_of([]) == ({}, [])


NAMES = st.sampled_from(["x", "y"])
DEEDS = st.tuples(st.sampled_from(["read", "write", "change"]), NAMES, st.integers(0, 3))


@given(st.lists(DEEDS, max_size=12), st.dictionaries(NAMES, st.integers(0, 3)))
def test_what_is_known_is_true(deeds: list[tuple[str, str, int]], start: dict[str, int]) -> None:
    """Against a simulation: all that is said of the state is so; reads and writes are all known."""
    state: dict[str, int] = {"x": 0, "y": 0, **start}
    steps, states = [], [dict(state)]
    for deed, name, value in deeds:
        if deed == "read":
            steps.append(StepRecord("p", (Access("read", name, str(state[name])),)))
        elif deed == "write":
            state[name] = value
            steps.append(StepRecord("p", (Access("write", name, str(value)),), changes=(name,)))
        else:
            state[name] = value
            steps.append(StepRecord("p", (Access("call", f"{name}()"),), changes=(name,)))
        states.append(dict(state))
    known, moments = moments_of(steps)
    for at, moment in enumerate(moments):
        for name, value in known.items():
            assert value in ("", str(states[at][name]))
        for change in moment.changes:
            assert change.before == known[change.name]
            known[change.name] = change.after
        for access in steps[at].accesses:
            if access.value:
                assert known[access.location] == access.value


# Holding


def holding(steps: list[StepRecord]) -> list[Any]:
    return [(moment.takes, moment.gives) for moment in moments_of(steps)[1]]


def test_locks_are_held_until_they_are_given_back() -> None:
    gives = replace(step("p", 2, "release lock"), gives=("lock",))
    steps = [step("p", 1, "acquire lock"), gives, step("q", 1, "acquire lock")]
    assert holding(steps) == [(("lock",), ()), ((), (("lock", "p"),)), (("lock",), ())]


def test_what_nobody_holds_is_not_given() -> None:
    gives = replace(step("p", 2, "release items"), gives=("items",))
    assert holding([gives]) == [((), ())]


def test_somebody_else_may_give_a_unit_back() -> None:
    gives = replace(step("q", 2, "release units"), gives=("units",))
    steps = [step("p", 1, "acquire units"), gives]
    assert holding(steps)[1] == ((), (("units", "p"),))


def test_who_gives_gives_its_own() -> None:
    gives = replace(step("q", 2, "release units"), gives=("units",))
    steps = [step("p", 1, "acquire units"), step("q", 1, "acquire units"), gives]
    assert holding(steps)[2] == ((), (("units", "q"),))


def test_an_actor_is_held_until_the_next_step_of_the_task() -> None:
    def holds(held: str) -> StepRecord:
        return StepRecord("p:m", (Access("hold", "A", held=held),), lane="A")

    steps = [holds("A"), holds("A"), holds(""), StepRecord("p:m", (), lane="A")]
    assert holding(steps) == [
        (("A",), ()),
        (("A",), (("A", "p:m"),)),
        ((), (("A", "p:m"),)),
        ((), ()),
    ]


@pytest.mark.parametrize("target", FAILING)
def test_nobody_gives_what_it_does_not_hold(target: str) -> None:
    for failure in explored(target).failures:
        held: list[tuple[str, str]] = []
        _, moments = moments_of(failure.trace)
        for record, moment in zip(failure.trace, moments, strict=True):
            for given_back in moment.gives:
                held.remove(given_back)
            held += [(name, record.process) for name in moment.takes]


def test_deadlocked_threads_hold_what_others_wait_for() -> None:
    _, moments = moments_of(EMBRACE.trace)
    taken = {
        name: record.process
        for record, moment in zip(EMBRACE.trace, moments, strict=True)
        for name in moment.takes
    }
    assert {wait.resource: wait.holders[0] for wait in EMBRACE.waits} == taken


# Preemptions


def test_who_could_have_gone_on_was_preempted() -> None:
    steps = LOST_UPDATE.trace
    assert [preempted(steps, at) for at in range(len(steps))] == [
        "",
        "alice",
        "",
        "",
        "",
        "",
        "audit",
    ]


def test_a_change_is_data() -> None:
    assert Change("x", "1", "2") == Change("x", "1", "2")
