"""What several workers cost and bring: `python benchmarks/workers.py [--quick] [--simulate N]`.

Each row is one space, explored alone and by two workers in turns, the best of some rounds; figures
stand beside the bars of the design. Wall time means something on idle processors only: the load is
printed first. Each space has its share of the time: rounds end when that is used up. `--simulate N`
runs the coordinator itself over hands that only pretend, with 4 to N of them, in virtual time, with
the cost of a job as measured in the same run, on engines, too, where they are installed.
"""

from __future__ import annotations

import argparse
import heapq
import math
import os
import random
import resource
import statistics
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from treadle.core.program import Program
from treadle.core.result import Result
from treadle.explore.cubes.splitting import WALKS
from treadle.papers import jacm17
from treadle.session.session import opened
from treadle.session.settings import Settings
from treadle.session.workers import coordinator
from treadle.session.workers.coordinator import Coordinator, State
from treadle.session.workers.foreman import seconds_for
from treadle.session.workers.forked import ForkedHands
from treadle.session.workers.hands import Died, Hands
from treadle.session.workers.parts import Answer, Job, Part
from treadle.session.workers.policy import Looks, Policy, is_for_the_idle, needed, pairs
from treadle.session.workers.spaces import Space, cpu_seconds, space_of
from treadle.session.workers.task import Tasks

Test = Program | Callable[[], object]

SECONDS = 320.0
"""What all rounds may take."""
MACHINE = 64
"""Hands of one foreman."""


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


class Verdicts:
    """Prints figures beside their bars, and counts those that hold."""

    def __init__(self) -> None:
        self.held = 0
        self.missed: list[str] = []

    def show(self, program: str, name: str, value: float, limit: float, sign: str = "<=") -> None:
        """Print a row."""
        holds = value >= limit if sign == ">=" else value <= limit
        self.judge(program, name, f"{value:8.2f}   bar {sign} {limit:<5g}", holds=holds)

    def judge(self, program: str, name: str, figure: str, *, holds: bool) -> None:
        """Print a row with its verdict."""
        self.held += holds
        if not holds:
            self.missed.append(f"{program}, {name}")
        print(f"  {name:26}{figure:24}{'holds' if holds else 'MISSED'}", flush=True)

    def conclude(self) -> None:
        """Say what holds."""
        print(f"{self.held} of {self.held + len(self.missed)} bars hold")
        for one in self.missed:
            print(f"  missed: {one}")


def small(verdicts: Verdicts, rounds: int) -> None:
    """Print what `workers="auto"` costs where no other worker is needed: medians of ratios."""
    for name, test in (("lastzero(8)", jacm17.lastzero(8)), ("locked 3 x 2", locked(3, 2))):
        ratios = []
        for _ in range(5 * rounds):
            one, auto = (spent_on(test, workers) for workers in (1, "auto"))
            ratios.append(auto / one)
        print(f"{name}: one process, {one:.2f} CPU s")
        verdicts.show(name, 'workers="auto" / 1, CPU', statistics.median(ratios), 1.02)
        print()


def spent_on(test: Test, workers: int | str) -> float:
    """Return the seconds of the processor that an exploration takes."""
    began = cpu_of_all()
    with opened(test, Settings.asked_for({"workers": workers})) as session:
        result: Result = session.explore()
    assert result.complete
    assert result.workers == 1
    return cpu_of_all() - began


def table(programs: list[tuple[str, str, Test]], rounds: int) -> None:
    """Print the rows."""
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors; wall time says")
    print("something only if that is next to nothing\n")
    verdicts = Verdicts()
    for name, kind, test in programs:
        ones, twos = [], []
        began = time.perf_counter()
        for _ in range(rounds):  # in turns: whatever else the machine does concerns both
            ones.append(alone(test))
            twos.append(with_hands(test, lambda tasks: ForkedHands(tasks, 2), 2)[0])
            used = time.perf_counter() - began
            if used * (1 + 1.5 / len(ones)) > SECONDS / len(programs):  # one more, and the virtual
                break
        rows(verdicts, name, kind, test, ones, twos)
    small(verdicts, rounds)
    verdicts.conclude()


def rows(
    verdicts: Verdicts,
    name: str,
    kind: str,
    test: Test,
    ones: list[Measured],
    twos: list[Measured],
) -> None:
    """Print what one space says."""
    one, two = best(ones), best(twos)
    one_cpu, two_cpu = min(run.cpu for run in ones), min(run.cpu for run in twos)
    cpu_limit, wall_limit = (1.15, 1.6) if kind == "model" else (1.3, 1.5)
    elsewhere, lost = (100 * count / one.executions for count in (two.elsewhere, two.lost))
    is_equal = (one.executions, one.blocked) == (two.executions, two.blocked)
    print(f"{name}: {one.executions:,} executions, {one_cpu:.1f} CPU s alone, best of {len(ones)}")
    verdicts.judge(name, "executions, blocked", "equal" if is_equal else "DIFFER", holds=is_equal)
    verdicts.show(name, "elsewhere, %", elsewhere, 0.1)
    verdicts.show(name, "CPU in cubes / alone", two_cpu / one_cpu, cpu_limit)
    verdicts.show(name, "lost executions, %", lost, 5)
    verdicts.show(name, "wall alone / two workers", one.wall / two.wall, wall_limit, ">=")
    verdicts.show(name, "coordinator, ms per job", 1000 * two.per_job, 1)
    made: list[VirtualHands] = []

    def virtual(tasks: Tasks) -> Hands:
        made.append(VirtualHands(tasks, 8))
        return made[-1]

    with_hands(test, virtual, 8)
    limit = 6.0 if name.startswith("lastzero") else 5.0
    verdicts.show(name, "8 virtual workers", one_cpu / made[-1].now, limit, ">=")
    print()


# A simulated cluster


class Pretended(Space):
    """A space that is only a number of executions, irregularly divided."""

    loses = True

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
        """Divide the whole space before anybody explores it."""
        return self.parts(part, max(2, job.wanted))

    def parts(self, part: Part, wanted: int) -> list[Part]:
        """Return the parts of a part, whose shares are about right only."""
        return [
            replace(
                part,
                what=size,
                share=part.share * size / part.what * math.exp(self.choices.gauss(0, 0.7)),
            )
            for size in self.split(part.what, wanted)
        ]

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
        if job.only_divide:
            (part,) = job.parts
            answer.left, answer.seconds = self.divided(part, job), WALKS * self.each
            return answer
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
            answer.seconds += given_up + WALKS * self.each
            answer.lost += round(given_up / self.each)
            wanted = pairs(seconds, job.quantum, job.wanted)
            answer.left += self.parts(part, wanted)
        return answer

    def _given_up(self, seconds: float, job: Job) -> float | None:
        """Return after how long a part is given up; estimates are wrong as measured."""
        if seconds < 100 * self.each:
            return None
        looks = Looks(job.quantum, job.patience, job.again)
        wrong = math.exp(self.choices.gauss(math.log(0.4), 0.8))
        for used in looks.moments:
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

    def __init__(
        self, space: Pretended, count: int, cost: float, *, is_one_machine: bool = False
    ) -> None:
        self.count = count
        self.now = 0.0
        self._space = space
        self._cost = cost
        self._is_one_machine = is_one_machine
        self._answers: list[tuple[float, int, Answer]] = []
        self._jobs: dict[int, tuple[float, Job]] = {}

    def submit(self, job: Job) -> None:
        """Pretend to do a job, which is over later."""
        self.now += self._cost
        answer = self._space.done(job)
        self._jobs[job.number] = self.now, job
        heapq.heappush(self._answers, (self.now + answer.seconds, job.number, answer))

    def tell_idle(self, is_idle: bool) -> None:
        """Let those give up who are at the beginning of a large part, if they can know."""
        if not (is_idle and self._is_one_machine):
            return
        for at, (end, number, answer) in enumerate(self._answers):
            began, job = self._jobs[number]
            used = self.now - began
            if answer.left or len(job.parts) > 1 or not is_for_the_idle(used, used / (end - began)):
                continue
            (part,) = job.parts
            wanted = pairs(end - self.now, job.quantum, job.wanted)
            left = self._space.parts(part, wanted)
            given_up = Answer(number, left=left, lost=round(used / self._space.each))
            self._answers[at] = self.now + WALKS * self._space.each, number, given_up
        heapq.heapify(self._answers)

    def wait(self, seconds: float) -> list[Answer | Died]:
        """Let time pass until somebody is ready."""
        at, _, answer = heapq.heappop(self._answers)
        self.now = max(self.now, at)
        return [answer]


class PretendedForemen(PretendedHands):
    """Machines in virtual time: each does its jobs by a coordinator over hands of its own."""

    def __init__(self, space: Pretended, count: int, cost: float, own_cost: float) -> None:
        super().__init__(space, count, cost)
        self._own_cost = own_cost

    def submit(self, job: Job) -> None:
        """Pretend that a foreman does a job."""
        if job.only_divide:
            super().submit(job)
            return
        self.now += self._cost
        policy = Policy(MACHINE, cost=self._own_cost)
        hands = PretendedHands(self._space, MACHINE, self._own_cost, is_one_machine=True)
        state = State(deque(job.parts))
        coordinated(self._space, hands, policy, state, seconds_for(job, policy))
        answer = Answer(job.number, state.counts, left=list(state.pending), done=state.parts)
        heapq.heappush(self._answers, (self.now + hands.now, job.number, answer))


def coordinated(
    space: Pretended, hands: PretendedHands, policy: Policy, state: State, seconds: float | None
) -> None:
    """Run the coordinator in the time of its hands."""
    real, coordinator._clock = coordinator._clock, lambda: hands.now
    try:
        Coordinator(space, hands, policy, state).run(seconds)
    finally:
        coordinator._clock = real


def simulated(
    executions: float,
    seconds: float,
    workers: int,
    cost: float,
    own_cost: float | None = None,
    *,
    is_one_machine: bool = False,
) -> float:
    """Return the efficiency of some workers; of foremen, if there is a cost of their own jobs."""
    count = workers if own_cost is None else workers // MACHINE
    policy = Policy(count, hands=workers // count, cost=cost)
    space = Pretended(executions, seconds / executions, policy)
    if own_cost is None:
        hands = PretendedHands(space, count, cost, is_one_machine=is_one_machine)
    else:
        hands = PretendedForemen(space, count, cost, own_cost)
    coordinated(space, hands, policy, State(deque(space.everything())), None)
    return seconds / (hands.now * workers)


# What a job costs on engines


def nothing(*_: object) -> None:
    """Do nothing, on an engine."""


def cost_on(submit: Callable[[], Any], jobs: int = 200) -> float:
    """Return the seconds of this process that an empty job takes."""
    submit().result()
    began = cpu_seconds()
    for future in [submit() for _ in range(jobs)]:
        future.result()
    return (cpu_seconds() - began) / jobs


def cost_on_ray() -> float | None:
    """Return what a job costs here on Ray, if it is installed."""
    try:
        import ray
    except ImportError:
        return None
    ray.init(num_cpus=2, log_to_driver=False, include_dashboard=False)
    try:
        task = ray.remote(num_cpus=1)(nothing)
        return cost_on(lambda: task.remote().future())
    finally:
        ray.shutdown()


def cost_on_dask() -> float | None:
    """Return what a job costs here on Dask, if it is installed."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        return None
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        executor = client.get_executor(pure=False)
        return cost_on(lambda: executor.submit(nothing, None))


def simulation(most: int, cost: float) -> None:
    """Print the efficiency of many workers."""
    counts = [count for count in (4, 16, 64, 256, 1024) if count <= most]
    engines = {"processes": cost}
    print(f"a job costs the coordinator {1000 * cost:.2f} ms here, measured in this run")
    for name, measured, known in (
        ("Ray", cost_on_ray(), 0.0024),
        ("Dask", cost_on_dask(), 0.0068),
    ):
        engines[name] = known if measured is None else measured
        how = (
            "as in the design: it is not installed" if measured is None else "measured in this run"
        )
        print(f"a job costs {1000 * engines[name]:.2f} ms on {name}, {how}")
    print("\nefficiency, simulated")
    print(f"{'':54}" + "".join(f"{count:>7}" for count in counts))
    for executions, seconds in ((1e7, 1e4), (1e8, 1e5)):
        for engine, each in engines.items():
            found = [
                simulated(executions, seconds, count, each, is_one_machine=engine == "processes")
                for count in counts
            ]
            print_row(f"{executions:.0e} executions, {seconds:,.0f} s, {engine}", found)
        foremen = [
            simulated(executions, seconds, count, engines["Ray"], cost)
            for count in counts
            if count > MACHINE
        ]
        if foremen:
            blank = [math.nan] * (len(counts) - len(foremen))
            print_row(f"   Ray, one foreman for {MACHINE} workers", [*blank, *foremen])


def print_row(label: str, values: list[float]) -> None:
    """Print a row of the simulation."""
    shown = ["" if math.isnan(value) else f"{value:.0%}" for value in values]
    print(f"{label:54}" + "".join(f"{one:>7}" for one in shown), flush=True)


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
    if options.quick:
        print("the bars are for spaces of 10 s and more: these are smaller")
    table(SMALL if options.quick else LARGE, 1 if options.quick else options.rounds)


if __name__ == "__main__":
    main()
