"""Which answers a coordinator takes: each once, and none of an earlier beginning."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any

import pytest

from treadle.explore.cubes.order import EVERYTHING, Step, split
from treadle.papers import jacm17
from treadle.session.session import opened
from treadle.session.settings import Settings
from treadle.session.workers.coordinator import Coordinator, State
from treadle.session.workers.hands import Alone, Died
from treadle.session.workers.parts import Answer, Job, Part
from treadle.session.workers.policy import Policy
from treadle.session.workers.spaces import space_of
from treadle.session.workers.task import Tasks


class Scripted(Alone):
    """Two hands in one process, whose first answers are others."""

    count = 2

    def __init__(self, tasks: Tasks, script: list[str]) -> None:
        super().__init__(tasks)
        self._script = script
        self._late: list[Answer | Died] = []

    def wait(self, seconds: float) -> list[Answer | Died]:
        answers = super().wait(seconds)
        what = self._script.pop(0) if self._script else ""
        late, self._late = self._late, []
        if what == "learn":  # the second one is late, and of the beginning before
            self._late = [*late, *answers[1:]]
            return [Answer(answers[0].number, learned=("something",))]
        if what == "twice":
            return [*late, *answers, *answers]
        if what == "die":
            self._late = [*late, *answers[1:]]
            return [Died(answers[0].number, "killed by signal 9")]
        return [*late, *answers]


@pytest.mark.parametrize(
    "script",
    [
        ["learn"],
        ["twice", "twice"],
        ["learn", "twice", "learn", "twice"],
        ["die"],
        ["die", "learn"],
    ],
    ids=" ".join,
)
def test_each_part_counts_once(script: list[str]) -> None:
    with opened(jacm17.readers(7), Settings()) as session:
        space = space_of(session.work(), Policy(2, by_executions=True))
        parts = map(Part, split(EVERYTHING, Step("writer", 0), Step("reader(0)", 1)))
        state = State(deque(parts))
        coordinator = Coordinator(space, Scripted(Tasks(space), script), Policy(2), state)
        coordinator.run()
    assert (state.counts["executions"], state.is_covered) == (128, True)
    assert not coordinator.unfinished


def test_what_nobody_answered_is_left() -> None:
    """Whoever goes on later finds it, and what is under way is in every checkpoint."""
    saved: list[list[Part]] = []
    with opened(jacm17.readers(7), Settings()) as session:
        space = space_of(session.work(), Policy(2, by_executions=True))
        parts = [*map(Part, split(EVERYTHING, Step("writer", 0), Step("reader(0)", 1)))]
        state = State(deque(parts))
        hands = Silent(Tasks(space))
        coordinator = Coordinator(
            space,
            hands,
            Policy(2),
            state,
            save=lambda now: saved.append([*now.pending]),
            is_interrupted=lambda: bool(saved),
        )
        coordinator.run()
    assert state.stopped_by == "Ctrl-C"
    assert sorted(part.what for part in state.pending) == sorted(part.what for part in parts)
    assert sorted(part.what for part in saved[0]) == sorted(part.what for part in parts)


class Silent(Alone):
    """Two hands that never answer."""

    count = 2

    def wait(self, seconds: float) -> list[Answer | Died]:
        return []


def test_those_at_work_know_that_somebody_is_idle() -> None:
    with opened(jacm17.readers(7), Settings()) as session:
        space = space_of(session.work(), Policy(2, by_executions=True))
        hands = Listening(Tasks(space))
        Coordinator(space, hands, Policy(2), State(deque(space.everything()))).run()
    assert hands.told[0] is True  # there is one part, and there are two hands
    assert False in hands.told  # and several parts when it was divided


@pytest.mark.parametrize(("count", "divides"), [(1, [False]), (2, [True, False, False])])
def test_several_hands_begin_with_a_part_each(count: int, divides: list[bool]) -> None:
    """One of them would explore the beginning of everything, and lose it: half of 4,096 were."""
    with opened(jacm17.readers(7), Settings()) as session:
        space = space_of(session.work(), Policy(count, by_executions=True))
        hands = Listening(Tasks(space))
        hands.count = count
        state = State(deque(space.everything()))
        Coordinator(space, hands, Policy(count), state).run()
    assert [job.only_divide for job in hands.jobs][: len(divides)] == divides
    assert state.counts["executions"] == 128
    assert state.lost == 0 or count == 1


@pytest.mark.parametrize(
    ("deaths", "groups"), [(0, [(0, 1), (0, 3)]), (1, [(1, 1), (0, 1)])], ids=["sound", "deadly"]
)
def test_machines_get_as_much_of_the_space_each(deaths: int, groups: list[Any]) -> None:
    """A part that is most of the space comes alone, and so does one of which hands have died."""
    cubes = [EVERYTHING]
    for reader in range(3):
        step = Step(f"reader({reader})", 1)
        cubes = [part for cube in cubes for part in split(cube, Step("writer", 0), step)]
    shares = [0.05] * 7 + [0.65]
    parts = [Part(cube, share) for cube, share in zip(cubes, shares, strict=True)]
    parts[3] = replace(parts[3], deaths=deaths)
    with opened(jacm17.readers(7), Settings()) as session:
        space = space_of(session.work(), Policy(2, by_executions=True))
        hands = Listening(Tasks(space))
        state = State(deque(parts))
        Coordinator(space, hands, Policy(2, hands=64), state).run()
    first = hands.jobs[:2]
    assert [(job.parts[0].deaths, len(job.parts)) for job in first] == groups
    assert 0.65 in [part.share for job in first for part in job.parts]
    assert (state.counts["executions"], state.is_covered) == (128, True)


class Listening(Alone):
    """Two hands that keep what they are told, and asked to do."""

    count = 2

    def __init__(self, tasks: Tasks) -> None:
        super().__init__(tasks)
        self.told: list[bool] = []
        self.jobs: list[Job] = []

    def submit(self, job: Job) -> None:
        self.jobs.append(job)
        super().submit(job)

    def tell_idle(self, is_idle: bool) -> None:
        self.told.append(is_idle)
