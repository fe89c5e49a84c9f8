"""Steps, waits and schedules as data: how they read, and how they are read back."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.core.errors import ScheduleMismatch
from treadle.core.records import Access, FrameRecord, StepRecord, Wait, WaitKind
from treadle.core.schedule import Schedule

# Accesses and waits


@pytest.mark.parametrize(
    ("access", "text"),
    [
        (Access("read", "x"), "read x"),
        (Access("read", "x", "1"), "read x = 1"),
        (Access("acquire", "lock", "False", held="lock"), "acquire lock = False"),
        (Access("", "treadle.choose", "2"), " treadle.choose = 2"),
    ],
)
def test_accesses_in_words(access: Access, text: str) -> None:
    assert str(access) == text


@pytest.mark.parametrize("kind", WaitKind)
@pytest.mark.parametrize("holders", [(), ("q",), ("q", "r")])
def test_waits_in_words(kind: WaitKind, holders: tuple[str, ...]) -> None:
    wait = Wait("p", "it", holders, where="a.py:3", kind=kind)
    assert wait.is_for_an_end == (kind == "end")
    held = f", held by {', '.join(holders)}" if holders and kind != "end" else ""
    assert str(wait) == f"p waits for it{held}"


def test_a_kind_of_wait_is_its_name() -> None:
    assert [str(kind) for kind in WaitKind] == [kind.value for kind in WaitKind]
    assert all(kind.value == kind.name.lower() for kind in WaitKind)
    assert Wait("p", "it").kind is WaitKind.OTHER


@pytest.mark.parametrize(
    "record",
    [
        Access("read", "x", "1"),
        StepRecord("p", (Access("read", "x"),), "a.py:3", "x", then="ends"),
        FrameRecord("p", "f", "a.py:3", (("x", "1"),)),
        Wait("p", "a lock", ("q",), kind=WaitKind.LOCK, held="a lock"),
    ],
)
def test_records_are_values(record: object) -> None:
    for same in (copy.deepcopy(record), pickle.loads(pickle.dumps(record))):
        assert same == record
        assert hash(same) == hash(record)
    field = dataclasses.fields(record)[0].name  # type: ignore[arg-type]
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(record, field, "other")
    assert dataclasses.replace(record, **{field: "other"}) != record  # type: ignore[type-var]


# Schedules

names = st.one_of(
    st.sampled_from(["p", "main", "main.1", "+p", "+", "++", "p+", "%2B", "p*2", "*", "a b", "%"]),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6),
)
schedules = st.builds(
    Schedule,
    st.lists(st.tuples(names, st.integers(1, 4))).map(
        lambda runs: [name for name, count in runs for _ in range(count)]
    ),
    st.lists(names, max_size=3),
)


@given(schedule=schedules)
def test_what_is_written_is_read_back(schedule: Schedule) -> None:
    again = Schedule.parse(str(schedule))
    assert again == schedule
    assert again.knowledge == schedule.knowledge
    assert str(again) == str(schedule)


@given(schedule=schedules)
def test_what_is_written_is_one_line_of_a_word_per_turn(schedule: Schedule) -> None:
    turns = schedule.switches + 1 if schedule else 0
    text = str(schedule)
    assert len(text.split(" ")) == max(1, turns + len(schedule.knowledge))
    assert len(text.splitlines()) <= 1


@given(schedule=schedules, length=st.integers(0, 20))
def test_the_first_steps_of_a_schedule(schedule: Schedule, length: int) -> None:
    first = schedule.upto(length)
    assert type(first) is Schedule
    assert tuple(first) == tuple(schedule)[:length]
    assert first.knowledge == schedule.knowledge
    assert first.switches <= schedule.switches


@given(schedule=schedules)
def test_schedules_can_be_copied(schedule: Schedule) -> None:
    for same in (
        copy.deepcopy(schedule),
        copy.copy(schedule),
        pickle.loads(pickle.dumps(schedule)),
    ):
        assert type(same) is Schedule
        assert (same, same.knowledge) == (schedule, schedule.knowledge)


@pytest.mark.parametrize(
    ("steps", "text", "switches"),
    [
        ([], "", 0),
        (["p"], "p", 0),
        (["p", "p", "p"], "p*3", 0),
        (["p", "q", "q", "p"], "p q*2 p", 2),
        (["+p", "+p", "q"], "%2Bp*2 q", 1),
        (["a+b"], "a+b", 0),
        (["50%", "a b"], "50%25 a%20b", 1),
    ],
)
def test_how_schedules_are_written(steps: list[str], text: str, switches: int) -> None:
    schedule = Schedule(steps)
    assert (str(schedule), schedule.switches) == (text, switches)


def test_what_the_program_had_learned_comes_first() -> None:
    schedule = Schedule(["p"], ["x is shared", "+y"])
    assert str(schedule) == "+x%20is%20shared +%2By p"
    assert Schedule.parse("p +x q").knowledge == ("x",)
    assert Schedule.parse("p +x q") == ("p", "q")


@pytest.mark.parametrize(
    ("text", "steps"),
    [("p*1", ("p",)), ("p*0", ()), ("  p\tq\n", ("p", "q")), ("p*0000002", ("p", "p"))],
)
def test_other_ways_to_write(text: str, steps: tuple[str, ...]) -> None:
    assert Schedule.parse(text) == steps


@pytest.mark.parametrize("text", ["p*1.5", "p**", "p*12345678"])
def test_what_cannot_be_read(text: str) -> None:
    with pytest.raises(ScheduleMismatch) as caught:
        Schedule.parse(f"q {text} q")
    assert str(caught.value) == (
        f"cannot read {text!r} in the schedule: write `name`, or `name*3` for 3 steps"
    )
