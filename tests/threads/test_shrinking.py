"""Shrinking failures of threads: what other schedules learn, cut or print must not matter."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

import pytest
from thread_programs import Module, draw_program, source_of

import treadle
from treadle.findings.shrink.trials import Trials
from treadle.session.replaying import rerun


class Box:
    value = other = seen = rare = 0


def run_all(*targets: Callable[[], None]) -> None:
    threads = [threading.Thread(target=target) for target in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("family", ["attributes", "lists", "locks", "everything"])
def test_random_programs(family):
    rng = random.Random(family)
    shown = 0
    for number in range(5):
        bodies = draw_program(rng, family, [3, 3])
        module = Module(source_of(bodies))
        granularity = "gil" if number == 4 else "access"
        result = treadle.explore(
            module.test, races=number == 3, granularity=granularity, max_executions=200
        )
        for failure in result.failures[:1]:
            shrunk = treadle.shrink(failure, attempts=100)
            assert shrunk.after <= shrunk.before
            for token in (failure.token, shrunk.failure.token):
                replayed = rerun(module.test, token)
                assert (replayed.is_same, replayed.difference) == (True, ""), module.source
            shown += 1
        module.close()
    assert shown >= 2


def test_an_execution_that_the_test_does_not_want_is_not_smaller():
    """Without the assumption, it would fail after one write as well."""

    def test() -> None:
        box = Box()

        def read() -> None:
            box.seen = box.value
            if box.other:
                raise ValueError

        def write_value() -> None:
            box.value = 1

        def write_other() -> None:
            box.other = 1

        run_all(read, write_value, write_other)
        treadle.assume(box.seen == 1)

    result = treadle.explore(test, stop_on_failure=False)
    assert [failure.message for failure in result.failures] == ["ValueError"]
    for failure in result.failures:
        shrunk = treadle.shrink(failure)
        assert str(shrunk.failure.schedule.upto(7)) == "main*3 main.2 main.3 main.1*2"
        reads = [step for step in shrunk.failure.trace if step.process == "main.1"]
        assert str(reads[0].accesses[0]) == "read box.value = 1"


def test_a_schedule_under_which_more_is_shared_is_no_candidate(monkeypatch):
    def test() -> None:
        box = Box()

        def read() -> None:
            if box.value == 1 and box.other == 0:
                box.rare = 1  # only in the middle: the natural execution never writes it
            rare = box.rare
            assert box.value != 2 or rare, "two"

        def write() -> None:
            box.value = 1
            box.other = 1
            box.value = 2

        run_all(write, read)

    failure = treadle.replay(test, "main*2 main.1*2 main.1 main.2*2")
    assert failure is not None
    assert failure.schedule.knowledge == ()
    inexact = []
    is_over = Trials.is_over

    def spy(self: Trials) -> bool:
        inexact.append(not self.are_exact)
        return is_over.fget(self)  # type: ignore[attr-defined]

    monkeypatch.setattr(Trials, "is_over", property(spy))
    shrunk = treadle.shrink(failure)
    assert inexact[-1]  # some trial learned that `rare` is shared
    assert not shrunk.is_smallest
    assert rerun(test, shrunk.failure.token).is_same


def test_a_race_stays_between_the_same_accesses():
    def test() -> None:
        box = Box()

        def write() -> None:
            box.other = 1
            box.value = 1

        def read() -> None:
            box.seen = box.other
            box.seen = box.value

        run_all(write, read)

    result = treadle.explore(test, races=True, stop_on_failure=False, schedule="round-robin")
    places = [failure.message.partition(",")[0] for failure in result.failures]
    assert sorted(places) == [
        "main.1 and main.2 access box.other",
        "main.1 and main.2 access box.value",
        "main.2 and main.1 access box.other",
        "main.2 and main.1 access box.value",
    ]
    for failure in result.failures:
        shrunk = treadle.shrink(failure)
        assert shrunk.failure.kind == "race"
        assert shrunk.is_smallest
        assert ("box.other" in shrunk.failure.message) == ("box.other" in failure.message)
        assert shrunk.after == (2, 4 if "box.other" in failure.message else 7)


def test_nothing_is_printed_meanwhile(capsys):
    def test() -> None:
        box = Box()

        def increment() -> None:
            box.value += 1
            print("counted")

        run_all(increment, increment)
        assert box.value == 2

    (failure,) = treadle.explore(test).failures
    assert "counted" in capsys.readouterr().out
    treadle.shrink(failure)
    assert failure.token
    assert capsys.readouterr() == ("", "")
