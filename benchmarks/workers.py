"""What several workers cost and bring: `python benchmarks/workers.py [--quick] [--simulate N]`.

Each row is one space, explored alone and by two workers in turns, the best of some rounds; figures
stand beside the bars of the design. Wall time means something on idle processors only: the load is
printed first. `--simulate N` runs the coordinator itself over hands that only pretend, with 4 to N
of them, in virtual time, with the cost of a job as measured in the same run.
"""

from __future__ import annotations

import argparse
import heapq
import math
import os
import random
import resource
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from treadle.core.program import Program
from treadle.core.result import Result
from treadle.papers import jacm17
from treadle.session.session import opened
from treadle.session.settings import Settings
from treadle.session.workers import coordinator
from treadle.session.workers.coordinator import Coordinator, State
from treadle.session.workers.forked import ForkedHands
from treadle.session.workers.hands import Died, Hands
from treadle.session.workers.parts import Answer, Job, Part
from treadle.session.workers.policy import Looks, Policy, needed, pairs
from treadle.session.workers.spaces import Space, cpu_seconds, space_of
from treadle.session.workers.task import Tasks

Test = Program | Callable[[], object]


def locked(threads: int, times: int) -> Callable[[], None]:
    def test() -> None:
        box, lock = {"n": 0}, threading.Lock()

        def add() -> None:
            for _ in range(times):
                with lock:
                    box["n"] += 1

        started = [threading.Thread(target=add) for _ in range(threads)]
        for thread in started:
            thread.start()
        for thread in started:
            thread.join()

    return test


LARGE: list[tuple[str, str, Test]] = [
    ("lastzero(14)", "model", jacm17.lastzero(14)),
    ("readers(16)", "model", jacm17.readers(16)),
    ("locked 3 x 4", "threads", locked(3, 4)),
]
SMALL: list[tuple[str, str, Test]] = [
    ("lastzero(11)", "model", jacm17.lastzero(11)),
    ("readers(12)", "model", jacm17.readers(12)),
    ("locked 4 x 2", "threads", locked(4, 2)),
]


@dataclass
class Measured:
    """One exploration."""

    executions: int
    wall: float
    cpu: float
    """Seconds of the processor, of all processes."""
    lost: int = 0
    elsewhere: int = 0
    per_job: float = 0.0
    """The coordinator's seconds for each job."""
    blocked: int = 0


def cpu_of_all() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def alone(test: Test) -> Measured:
    with opened(test, Settings()) as session:
        wall, cpu = time.perf_counter(), cpu_of_all()
        result: Result = session.explore()
        return Measured(
            result.executions,
            time.perf_counter() - wall,
            cpu_of_all() - cpu,
            blocked=result.blocked,
        )


def with_hands(test: Test, make: Callable[[Tasks], Hands], workers: int) -> tuple[Measured, State]:
    policy = Policy(workers)
    with opened(test, Settings()) as session:
        tasks = Tasks(space_of(session.work(), policy))
        state = State(deque(tasks.space.everything()))
        wall, cpu, own = time.perf_counter(), cpu_of_all(), cpu_seconds()
        hands = make(tasks)
        exploring = Coordinator(tasks.space, hands, policy, state)
        try:
            exploring.run()
        finally:
            hands.close()
        measured = Measured(
            state.counts["executions"],
            time.perf_counter() - wall,
            cpu_of_all() - cpu,
            state.lost,
            state.counts["elsewhere"],
            (cpu_seconds() - own) / max(exploring.jobs, 1),
            state.counts["blocked"],
        )
    return measured, state


class VirtualHands(Hands):
    """Hands that take turns in this process; time is that of the processor, as if side by side."""

    def __init__(self, tasks: Tasks, count: int) -> None:
        self.count = count
        self.now = 0.0
        self._tasks = tasks
        self._answers: list[tuple[float, int, Answer]] = []

    def submit(self, job: Job) -> None:
        """Do a job now; it is over later."""
        answer = self._tasks.done(job)
        heapq.heappush(self._answers, (self.now + answer.seconds, job.number, answer))

    def wait(self, seconds: float) -> list[Answer | Died]:
        """Let time pass until somebody is ready."""
        self.now, _, answer = heapq.heappop(self._answers)
        return [answer]


def best(runs: list[Measured]) -> Measured:
    return min(runs, key=lambda one: one.wall)


def bar(value: float, limit: float, *, at_least: bool) -> str:
    holds = value >= limit if at_least else value <= limit
    return f"{value:6.2f} ({'>=' if at_least else '<='} {limit:g}{'' if holds else ', MISSED'})"


def table(programs: list[tuple[str, str, Test]], rounds: int) -> float:
    """Print the rows; return the coordinator's cost of a job."""
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors\n")
    costs = []
    for name, kind, test in programs:
        ones, twos = [], []
        for _ in range(rounds):  # in turns: whatever else the machine does concerns both
            ones.append(alone(test))
            twos.append(with_hands(test, lambda tasks: ForkedHands(tasks, 2), 2)[0])
        one, two = best(ones), best(twos)
        one_cpu, two_cpu = min(run.cpu for run in ones), min(run.cpu for run in twos)
        costs.append(two.per_job)
        cpu_limit, wall_limit = (1.15, 1.6) if kind == "model" else (1.3, 1.5)
        elsewhere, lost = (100 * count / one.executions for count in (two.elsewhere, two.lost))
        equal = (one.executions, one.blocked) == (two.executions, two.blocked)
        print(f"{name}: {one.executions:,} executions, {one_cpu:.1f} CPU s alone")
        print(f"  executions and blocked   {'equal' if equal else 'DIFFERENT'}")
        print(f"  elsewhere, %             {bar(elsewhere, 0.1, at_least=False)}")
        print(f"  CPU in cubes / alone     {bar(two_cpu / one_cpu, cpu_limit, at_least=False)}")
        print(f"  lost executions, %       {bar(lost, 5, at_least=False)}")
        print(f"  wall alone / two workers {bar(one.wall / two.wall, wall_limit, at_least=True)}")
        print(f"  coordinator, ms per job  {bar(1000 * two.per_job, 1, at_least=False)}")
        made: list[VirtualHands] = []

        def virtual(tasks: Tasks, made: list[VirtualHands] = made) -> Hands:
            made.append(VirtualHands(tasks, 8))
            return made[-1]

        with_hands(test, virtual, 8)
        limit = {"lastzero": 6.0}.get(name.partition("(")[0], 5.0)
        print(f"  8 virtual workers        {bar(one_cpu / made[-1].now, limit, at_least=True)}\n")
    return sum(costs) / len(costs)


# A simulated cluster


class Pretended(Space):
    """A space that is only a number of executions, irregularly divided."""

    def __init__(self, executions: float, seconds_each: float, policy: Policy) -> None:
        self.policy = policy
        self.executions = executions
        self.each = seconds_each
        self.choices = random.Random(0)
        self.work = _NO_LIMITS

    def everything(self) -> list[Part]:
        """Return the whole space."""
        return [Part(self.executions)]

    def search(self, part: Part, job: Job) -> Any:
        """Nothing is searched."""
        raise NotImplementedError

    def left(self, search: Any, part: Part) -> list[Part]:
        """Nothing is searched."""
        raise NotImplementedError

    def divided(self, part: Part, job: Job) -> list[Part]:
        """Nobody dies."""
        raise NotImplementedError

    def split(self, size: float, wanted: int) -> list[float]:
        """Divide a part unevenly, again and again."""
        sizes = [size]
        for _ in range(wanted):
            shares = [self.choices.betavariate(0.5, 0.5) for _ in sizes]
            sizes = [
                half
                for one, s in zip(sizes, shares, strict=True)
                for half in (one * s, one * (1 - s))
            ]
        return [one for one in sizes if one >= 1]

    def done(self, job: Job) -> Answer:
        """Do as a task does, in no time; say how long it would have taken."""
        answer = Answer(job.number)
        for at, part in enumerate(job.parts):
            if at and answer.seconds >= job.quantum:
                answer.left += job.parts[at:]
                break
            seconds = part.what * self.each
            given_up = self._given_up(seconds, job)
            if given_up is None:
                answer.seconds += seconds
                answer.counts["executions"] += round(part.what)
                answer.done += 1
                continue
            answer.seconds += given_up + 24 * self.each
            answer.lost += round(given_up / self.each)
            wanted = pairs(seconds, job.quantum, job.wanted)
            answer.left += [replace(part, what=one) for one in self.split(part.what, wanted)]
        return answer

    def _given_up(self, seconds: float, job: Job) -> float | None:
        """Return after how long a part is given up; estimates are wrong as measured."""
        if seconds < 100 * self.each:
            return None
        looks = Looks(job.quantum, job.patience)
        wrong = math.exp(self.choices.gauss(math.log(0.4), 0.8))
        for used in (job.quantum / 8, job.quantum, job.quantum * max(job.patience, 1)):
            if looks.is_due(used) and used < seconds:
                share = min(1.0, used / (seconds * min(wrong, 1.0)))
                if looks.is_too_large(used, share) or needed(used, share) == math.inf:
                    return used
        return None


class _NoLimits:
    max_executions: int | None = None
    timeout: float | None = None


_NO_LIMITS: Any = _NoLimits()


class PretendedHands(Hands):
    """Many hands in virtual time; the coordinator's own work takes time, too."""

    def __init__(self, space: Pretended, count: int, cost: float) -> None:
        self.count = count
        self.now = 0.0
        self._space = space
        self._cost = cost
        self._answers: list[tuple[float, int, Answer]] = []

    def submit(self, job: Job) -> None:
        """Pretend to do a job, which is over later."""
        self.now += self._cost
        answer = self._space.done(job)
        heapq.heappush(self._answers, (self.now + answer.seconds, job.number, answer))

    def wait(self, seconds: float) -> list[Answer | Died]:
        """Let time pass until somebody is ready."""
        at, _, answer = heapq.heappop(self._answers)
        self.now = max(self.now, at)
        return [answer]


def simulated(executions: float, seconds: float, workers: int, cost: float) -> float:
    """Return the efficiency of some workers."""
    policy = Policy(workers, cost=cost)
    space = Pretended(executions, seconds / executions, policy)
    hands = PretendedHands(space, workers, cost)
    real, coordinator._clock = coordinator._clock, lambda: hands.now
    try:
        state = State(deque(space.everything()))
        Coordinator(space, hands, policy, state).run()
    finally:
        coordinator._clock = real
    return seconds / (hands.now * workers)


def simulation(most: int, cost: float) -> None:
    counts = [count for count in (4, 16, 64, 256, 1024) if count <= most]
    engines = {
        "processes, measured now": cost,
        "Ray, 2.4 ms a job": 0.0024,
        "Dask, 6.8 ms a job": 0.0068,
    }
    print(f"efficiency, simulated; a job costs the coordinator {1000 * cost:.2f} ms here\n")
    print(f"{'':54}" + "".join(f"{count:>7}" for count in counts))
    for executions, seconds in ((1e7, 1e4), (1e8, 1e5)):
        for engine, each in engines.items():
            row = [simulated(executions, seconds, count, each) for count in counts]
            label = f"{executions:.0e} executions, {seconds:,.0f} s, {engine}"
            print(f"{label:54}" + "".join(f"{value:7.0%}" for value in row), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="spaces of seconds, one round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--simulate", type=int, metavar="N", help="up to N workers, in virtual time"
    )
    options = parser.parse_args()
    if options.simulate:
        _, _, test = SMALL[0]
        measured, _ = with_hands(test, lambda tasks: ForkedHands(tasks, 2), 2)
        simulation(options.simulate, measured.per_job)
        return
    table(SMALL if options.quick else LARGE, 1 if options.quick else options.rounds)


if __name__ == "__main__":
    main()
