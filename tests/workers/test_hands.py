"""Hands that die, are killed or interrupted: nothing is lost, nothing is counted twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import treadle
from treadle.papers import jacm17
from treadle.session.session import Session, opened
from treadle.session.settings import Settings
from treadle.session.workers.coordinator import Coordinator, State
from treadle.session.workers.foreman import Foreman
from treadle.session.workers.forked import ForkedHands, Scout
from treadle.session.workers.hands import Alone, Died
from treadle.session.workers.parts import Answer, Job
from treadle.session.workers.policy import Policy
from treadle.session.workers.spaces import space_of
from treadle.session.workers.task import Tasks
from waiting import PATIENCE, children, processes, wait_until
from worker_programs import adding, order_that_kills, order_that_needs_memory

POLICY = Policy(2, by_executions=True)


@contextmanager
def tasks_of(test: Any) -> Iterator[Tasks]:
    with opened(test, Settings()) as session:
        yield Tasks(space_of(work_of(session), POLICY))


def work_of(session: Session) -> Any:
    return session.work()


class KillingHands(ForkedHands):
    """Kills a hand that is busy, now and then."""

    def __init__(self, tasks: Tasks, count: int, seed: int, kills: int) -> None:
        self.choices = random.Random(seed)
        self.kills = kills
        self.deaths = 0
        super().__init__(tasks, count)

    def wait(self, seconds: float) -> list[Answer | Died]:
        found = super().wait(seconds)
        answers = [one for one in found if isinstance(one, Answer)]
        self.deaths += len(found) - len(answers)
        if answers and self.kills and self.choices.random() < 0.5:
            self.kill_one()
        return found

    def kill_one(self) -> None:
        """Kill one that is busy; not with what two have died of, or it is the part's fault."""
        jobs = [(hand.pid, hand.job) for hand in self._hands if hand.job is not None]
        busy = [pid for pid, job in jobs if all(part.deaths < 2 for part in job.parts)]
        if busy:
            self.kills -= 1
            os.kill(self.choices.choice(busy), signal.SIGKILL)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("test", "executions"),
    [(adding(3, 2), 7134), (jacm17.lastzero(11), 7168)],
    ids=["threads", "model"],
)
def test_hands_that_are_killed(test: Any, executions: int, seed: int) -> None:
    before = children()
    with tasks_of(test) as tasks:
        state = State(deque(tasks.space.everything()))
        hands = KillingHands(tasks, 2, seed, kills=5)
        try:
            Coordinator(tasks.space, hands, POLICY, state).run()
        finally:
            hands.close()
        assert not state.stopped_by, state.stopped_by
        assert state.counts["executions"] == executions
        assert hands.deaths > 0
    assert children() == before


def test_the_process_itself_explores_parts() -> None:
    with tasks_of(jacm17.readers(9)) as tasks:
        state = State(deque(tasks.space.everything()))
        Coordinator(tasks.space, Alone(tasks), POLICY, state).run()
    assert (state.counts["executions"], state.is_covered) == (512, True)
    assert state.share == pytest.approx(1)


@pytest.mark.parametrize(
    ("test", "how"),
    [
        (order_that_kills, "killed by signal 9; out of memory?"),
        (order_that_needs_memory, "out of memory"),
    ],
)
def test_a_part_that_always_kills_ends_it(test: Callable[[], None], how: str) -> None:
    before = children()
    result = treadle.explore(test, workers=2, split_by="executions")
    assert not result.complete
    assert not result.failures
    assert result.stopped_by.startswith("a worker died 4 times while it explored one part (main.")
    assert " step " in result.stopped_by
    assert result.stopped_by.endswith(how)
    assert children() == before


def test_a_foreman_keeps_its_hands() -> None:
    with tasks_of(jacm17.lastzero(8)) as tasks:
        foreman, found = Foreman(tasks, 2), []
        for number in (1, 2):
            answer = foreman.done(Job(number, tuple(tasks.space.everything()), (), 60.0))
            assert (answer.counts["executions"], answer.left) == (704, [])
            found.append(sorted(children()))
        assert found[0] == found[1]
        assert len(found[0]) == 2
        foreman.close()
    assert not children()


def test_those_nobody_waits_for_are_replaced() -> None:
    with tasks_of(jacm17.lastzero(8)) as tasks:
        hands = ForkedHands(tasks, 2)
        before = children()
        hands.submit(Job(1, tuple(tasks.space.everything()), (), 60.0))
        hands.end_busy()
        assert len(set(children()) & set(before)) == 1
        state = State(deque(tasks.space.everything()))
        Coordinator(tasks.space, hands, POLICY, state).run()
        assert state.counts["executions"] == 704
        hands.close()
    assert not children()


@pytest.mark.parametrize("pending", [1, 9, 400])
def test_foremen_share_what_there_is(pending: int) -> None:
    policy, left, groups = Policy(4, hands=64), pending, []
    for idle in (4, 3, 2, 1):
        groups.append(min(policy.group(left, idle), left))
        left -= groups[-1]
    assert sum(groups) == {1: 1, 9: 7, 400: 320}[pending]
    assert max(groups) - min(groups) <= 1


def test_a_copy_that_goes_ahead() -> None:
    """It says what it found; nothing, if it dies, runs out of memory, or somebody interrupts."""
    with opened(adding(2, 2), Settings()) as session:

        def found_by(explore: Callable[[], object], *, is_interrupted: bool = False) -> object:
            return Scout(None, session.program, explore).found(lambda: is_interrupted)

        def out_of_memory() -> None:
            raise MemoryError

        assert found_by(lambda: ["this"]) == ["this"]
        assert found_by(lambda: os.kill(os.getpid(), signal.SIGKILL)) is None
        assert found_by(out_of_memory) is None
        assert found_by(signal.pause, is_interrupted=True) is None
        assert session.explore().executions == 34
    assert not children()


# Ctrl-C, and the end of the coordinator, in a process of its own

SCRIPT = """
    import sys
    sys.path[:0] = {tests!r}
    from worker_programs import in_threads

    def test_adding():
        box = {{"n": 0}}

        def add():
            for _ in range(2):
                box["n"] += 1

        in_threads(add, add, add)
"""


def script(path: Path) -> Path:
    file = path / "adding.py"
    file.write_text(textwrap.dedent(SCRIPT).format(tests=[str(Path(__file__).parent.parent)]))
    return file


def command(file: Path, *arguments: str) -> list[str]:
    """Return a command that explores, and writes checkpoints after each answer."""
    begin = "from treadle.session.workers import checkpoint; checkpoint._EVERY = 0.0; "
    run = [sys.executable, "-c", f"{begin}from treadle.cli import main; main()", "run"]
    options = ["--no-database", "--workers", "2", "--split-by", "executions"]
    return [*run, f"{file}::test_adding", *options, *arguments]


def in_a_group(arguments: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_ctrl_c_and_going_on_afterwards(tmp_path: Path) -> None:
    file, kept = script(tmp_path), tmp_path / "kept.json"
    process = in_a_group(command(file, "--checkpoint", str(kept)))
    wait_until(lambda: len(processes(group=process.pid)) > 2)  # hands are there
    wait_until(kept.exists)
    os.killpg(process.pid, signal.SIGINT)
    output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, output + errors
    assert "INCOMPLETE" in output
    assert "Ctrl-C" in output
    wait_until(partial(is_gone, process))
    done = subprocess.run(
        command(file, "--resume", str(kept), "--json"), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert '"executions": 7134' in done.stdout


def test_the_coordinator_is_killed_and_goes_on(tmp_path: Path) -> None:
    """Each time from the file, in which every answer that was taken is."""
    file, kept = script(tmp_path), tmp_path / "kept.json"
    resume: list[str] = []
    choices = random.Random(0)
    for _ in range(6):
        before = kept.stat().st_mtime_ns if kept.exists() else 0
        process = in_a_group(command(file, "--checkpoint", str(kept), *resume))
        wait_until(partial(has_written, process, kept, before))
        time.sleep(choices.random() * 0.1)
        process.kill()
        process.communicate()
        wait_until(partial(is_gone, process))
        resume = ["--resume", str(kept)]
    done = subprocess.run(command(file, *resume, "--json"), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert '"executions": 7134' in done.stdout


def has_written(process: subprocess.Popen[str], kept: Path, before: int) -> bool:
    is_new = kept.exists() and kept.stat().st_mtime_ns > before
    return is_new or process.poll() is not None


def is_gone(process: subprocess.Popen[str]) -> bool:
    return not processes(group=process.pid)


class FirstThree(ForkedHands):
    """Kills whoever does one of the first three jobs."""

    kills = 3

    def submit(self, job: Any) -> None:
        super().submit(job)
        if self.kills:
            self.kills -= 1
            (hand,) = [one for one in self._hands if one.job is job]
            os.kill(hand.pid, signal.SIGKILL)


@pytest.mark.parametrize(
    ("test", "executions"),
    [(adding(2, 3), 328), (jacm17.lastzero(8), 704)],
    ids=["threads", "model"],
)
def test_a_part_that_three_hands_died_of_is_divided(test: Any, executions: int) -> None:
    with tasks_of(test) as tasks:
        state = State(deque(tasks.space.everything()))
        hands = FirstThree(tasks, 2)
        try:
            Coordinator(tasks.space, hands, POLICY, state).run()
        finally:
            hands.close()
    assert (state.counts["executions"], state.stopped_by) == (executions, "")
    assert state.parts > 1
