"""Time that people mean: long waits end when nothing else can go on, in the order of deadlines."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait
from typing import Any

import pytest
from lock_plans import Planned, Shared, compare, random_plans
from test_thread import verify

import treadle
from treadle.core.result import Result
from treadle.python.runtime.patience import Patience, over_in_time
from treadle.report.as_json import result_as_dict
from treadle.report.text import verdict_in_words

COVERING = ["optimal", "source", "sleep", "observers", "optimal-context", "exhaustive"]
EXPLORE = '(timeouts="explore" tries {} too)'


def everything() -> Shared:
    return {
        "t": time,
        "e": threading.Event(),
        "l": threading.Lock(),
        "s": threading.Semaphore(1),
        "q": queue.Queue(1),
        "b": threading.Barrier(2),
    }


FAMILIES = {
    "event": [
        "t.sleep 1", "t.sleep 2", "t.sleep 0.3", "e.wait 1", "e.wait 0.2", "e.wait 3", "e.set",
        "e.clear", "e.is_set", "t.monotonic",
    ],
    "lock": [
        "t.sleep 1", "t.sleep 0.3", "l.acquire", "l.release", "l.timed 1", "l.timed 0.2",
        "l.timed 2", "l.locked", "t.monotonic",
    ],
    "semaphore": [
        "t.sleep 1", "t.sleep 0.3", "s.acquire", "s.release", "s.timed 1", "s.timed 0.2",
        "t.monotonic", "e.set", "e.wait 1",
    ],
    "queue": [
        "t.sleep 1", "q.get 1", "q.get 0.2", "q.get 2", "q.put", "q.put 1", "q.put 0.2", "q.qsize",
        "t.monotonic",
    ],
    "barrier": ["t.sleep 1", "b.wait 1", "b.wait 0.2", "b.wait", "b.wait 2", "e.set", "e.wait 1"],
    "mixed": [
        "t.sleep 1", "t.sleep 0.3", "t.sleep 0.4", "e.wait 1", "e.set", "l.acquire", "l.release",
        "l.timed 1", "q.get 1", "q.put 1", "t.monotonic", "e.clear",
    ],
}  # fmt: skip
POLICIES: dict[str, dict[str, Any]] = {
    "default": {},
    "short": {"given": 0.25},
    "last": {"timeouts": "last"},
    "never": {"timeouts": "never"},
    "explore": {"timeouts": "explore"},
}
COUNT = int(os.environ.get("TREADLE_PLANS", "2"))
"""More of them were run than in CI: 900 of seed 1, all as brute force has it."""


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("family", FAMILIES)
def test_random_plans_against_brute_force(family: str, policy: str) -> None:
    program = Planned(everything, patience=Patience(**POLICIES[policy]))
    plans = random_plans(FAMILIES[family], COUNT, seed=os.environ.get("TREADLE_SEED", policy))
    with program.controlled():
        compared = [compare(program, plan, 60 if COUNT == 2 else 400) for plan in plans]
    assert any(compared)


class Box:
    value: Any = None


def beside(body: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=body)
    thread.start()
    return thread


def kinds(result: Result) -> list[str]:
    assert result.complete
    return [failure.kind for failure in result.failures]


def explored(test: Callable[[], object], *args: Any, **options: Any) -> Result:
    return treadle.explore(test, *args, stop_on_failure=False, **options)


# Guards: waits that nobody means to be over


def event(seconds: float) -> None:
    told = threading.Event()
    thread = beside(told.set)
    assert told.wait(seconds)
    thread.join()


def lock(seconds: float) -> None:
    mutex, box = threading.Lock(), Box()
    with mutex:
        thread = beside(lambda: setattr(box, "value", mutex.acquire(timeout=seconds)))
    thread.join()
    assert box.value is True


def semaphore(seconds: float) -> None:
    units = threading.Semaphore(0)
    thread = beside(units.release)
    assert units.acquire(timeout=seconds)
    thread.join()


def condition(seconds: float) -> None:
    line, box = threading.Condition(), Box()

    def tell() -> None:
        with line:
            box.value = 1
            line.notify()

    thread = beside(tell)
    with line:
        assert line.wait_for(lambda: box.value, seconds)
    thread.join()


def barrier(seconds: float) -> None:
    meeting = threading.Barrier(2)
    thread = beside(meeting.wait)
    meeting.wait(seconds)
    thread.join()


def get(seconds: float) -> None:
    items: queue.Queue[int] = queue.Queue()
    thread = beside(lambda: items.put(1))
    assert items.get(timeout=seconds) == 1
    thread.join()


def simple_get(seconds: float) -> None:
    items: queue.SimpleQueue[int] = queue.SimpleQueue()
    thread = beside(lambda: items.put(1))
    assert items.get(timeout=seconds) == 1
    thread.join()


def put(seconds: float) -> None:
    items: queue.Queue[int] = queue.Queue(1)
    items.put(1)
    thread = beside(items.get)
    items.put(2, timeout=seconds)
    thread.join()


def join(seconds: float) -> None:
    box = Box()
    thread = beside(lambda: setattr(box, "value", 1))
    box.value = 2
    thread.join(seconds)
    assert not thread.is_alive()


def future(seconds: float) -> None:
    outcome: Future[int] = Future()
    thread = beside(lambda: outcome.set_result(1))
    assert outcome.result(timeout=seconds) == 1
    thread.join()


def several(seconds: float) -> None:
    with ThreadPoolExecutor(1) as pool:
        one = pool.submit(int)
        assert wait([one], timeout=seconds).done == {one}


def completed(seconds: float) -> None:
    with ThreadPoolExecutor(1) as pool:
        assert [one.result() for one in as_completed([pool.submit(int)], timeout=seconds)] == [0]


def slept(seconds: float) -> None:
    box = Box()
    thread = beside(lambda: setattr(box, "value", 1))
    time.sleep(seconds)
    assert box.value
    thread.join()


def timer(seconds: float) -> None:
    box = Box()
    ring = threading.Timer(seconds, lambda: setattr(box, "value", (box.value or 0) + 1))
    ring.start()
    box.value = 1
    ring.join()
    assert box.value == 2


GUARDS = [
    event, lock, semaphore, condition, barrier, get, simple_get, put, join, future, several,
    completed, slept, timer,
]  # fmt: skip


@pytest.mark.parametrize("guard", GUARDS)
def test_a_long_guard_is_not_over_and_a_short_one_may_be(guard: Callable[[float], None]) -> None:
    def long() -> None:
        guard(1)

    def short() -> None:
        guard(0.5)

    for test, options, holds in [
        (long, {}, True),
        (long, {"timeouts": "explore"}, False),
        (long, {"latency": 1}, False),
        (short, {}, False),
        (short, {"latency": 0.1}, True),
        (short, {"timeouts": "last"}, True),
    ]:
        assert treadle.explore(test, **options).ok == holds, (test.__name__, options)
    assert treadle.explore(long, timeouts="never").ok
    assert treadle.explore(short, timeouts="never").ok == (guard not in (slept, timer))


@pytest.mark.parametrize("algorithm", COVERING)
def test_a_guard_is_over_when_nothing_else_can_go_on(algorithm: str) -> None:
    def test() -> None:
        box, told = Box(), threading.Event()

        def work() -> None:
            box.value = 1

        thread = beside(work)
        assert not told.wait(5)
        assert box.value == 1
        thread.join()

    result = explored(test, algorithm)
    assert result.ok
    assert kinds(explored(test, timeouts="never")) == ["deadlock"]
    assert kinds(explored(test, timeouts="explore")) == ["assertion"]


# Orders of deadlines


def woken(*seconds: float) -> tuple[set[tuple[float, ...]], Callable[[], None]]:
    """Return the orders in which sleepers woke up, and a test that adds to them."""
    seen: set[tuple[float, ...]] = set()

    def test() -> None:
        order: list[float] = []

        def sleeper(duration: float) -> None:
            time.sleep(duration)
            order.append(duration)

        threads = [threading.Thread(target=sleeper, args=(duration,)) for duration in seconds]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seen.add(tuple(order))

    return seen, test


@pytest.mark.parametrize("algorithm", COVERING)
@pytest.mark.parametrize(
    ("seconds", "orders", "executions"),
    [
        ((3, 1, 2), {(1, 2, 3)}, 1),
        ((1, 1.2), {(1, 1.2)}, 1),
        ((0.1, 0.2), {(0.1, 0.2), (0.2, 0.1)}, 2),
        ((0.1, 2, 0.2), {(0.1, 0.2, 2), (0.2, 0.1, 2)}, 2),
        ((1, 1), {(1, 1)}, 2),
    ],
)
def test_sleepers_wake_up_in_the_order_of_deadlines(
    seconds: tuple[float, ...], orders: set[tuple[float, ...]], executions: int, algorithm: str
) -> None:
    seen, test = woken(*seconds)
    assert verify(test, algorithm=algorithm).executions >= executions
    assert seen == orders
    assert verify(test).executions == executions


def test_those_who_wake_up_at_the_same_time_race() -> None:
    def test() -> None:
        box = Box()
        box.value = 0

        def work() -> None:
            time.sleep(1)
            box.value += 1

        threads = [beside(work), beside(work)]
        for thread in threads:
            thread.join()
        assert box.value == 2

    assert kinds(explored(test)) == ["assertion"]


def test_moments_count_from_what_happened_before() -> None:
    """A second after it was told, not after the beginning: the later of the two."""
    seen: list[str] = []

    def test() -> None:
        told, order = threading.Event(), []

        def late() -> None:
            told.wait()
            time.sleep(1)
            order.append("late")

        def early() -> None:
            time.sleep(1.5)
            order.append("early")

        threads = [beside(late), beside(early)]
        time.sleep(0.8)
        told.set()
        for thread in threads:
            thread.join()
        seen.extend(order)
        assert order == ["early", "late"]

    assert verify(test).executions == 1


def test_short_waits_add_up() -> None:
    """Ten tenths of a second are one: nothing that others do takes that long."""

    def test() -> None:
        box = Box()
        thread = beside(lambda: setattr(box, "value", 1))
        for _ in range(10):
            if box.value:
                break
            time.sleep(0.1)
        else:
            raise AssertionError("it takes too long")
        thread.join()

    assert verify(test).executions == 7
    assert not treadle.explore(test, timeouts="explore").ok


def test_a_heart_that_beats_while_others_sleep() -> None:
    beats: set[int] = set()

    def test() -> None:
        stop, count = threading.Event(), [0]

        def beat() -> None:
            while not stop.wait(0.1):
                count[0] += 1

        thread = beside(beat)
        time.sleep(1)
        stop.set()
        thread.join()
        beats.add(count[0])

    assert verify(test).executions == 1
    assert beats == {11}


@pytest.mark.parametrize("sleeps", [True, False])
def test_a_loop_until_a_deadline(sleeps: bool) -> None:
    def test() -> None:
        box = Box()
        thread = beside(lambda: setattr(box, "value", 1))
        end = time.monotonic() + 5
        while not box.value:
            if time.monotonic() > end:
                raise AssertionError("it takes too long")
            if sleeps:
                time.sleep(0.05)
        thread.join()

    verify(test)
    assert not treadle.explore(test, timeouts="explore").ok


# What a verdict rests on


def guarded() -> None:
    told, box = threading.Event(), Box()

    def work() -> None:
        box.value = 1
        told.set()

    thread = beside(work)
    assert told.wait(5)
    time.sleep(1)
    thread.join(30)
    assert box.value == 1


def awaited_twice() -> None:
    told, answered = threading.Event(), threading.Event()

    def work() -> None:
        assert told.wait(3)
        answered.set()

    thread = beside(work)
    told.set()
    assert answered.wait(2)
    thread.join()


def test_a_verdict_names_what_it_rests_on() -> None:
    said = f"2 waits of 2 s and more end last {EXPLORE.format('them')}"
    result = treadle.explore(awaited_twice)
    assert result.rests_on == [said]
    assert verdict_in_words(result) == f"VERIFIED: awaited_twice, no interleaving fails; {said}"
    assert result_as_dict(result)["rests_on"] == [said]
    result = treadle.explore(guarded)
    assert result.rests_on == [f"2 waits of 1 s and more end last {EXPLORE.format('them')}"]
    (never,) = treadle.explore(awaited_twice, timeouts="never").rests_on
    assert never == '2 waits of 2 s and more never time out (timeouts="explore" lets them)'
    assert treadle.explore(awaited_twice, timeouts="explore").rests_on == []


def test_a_verdict_on_one_wait() -> None:
    result = treadle.explore(lambda: event(7))
    assert result.rests_on == [f"1 wait of 7 s ends last {EXPLORE.format('it')}"]


def test_a_verdict_rests_on_timers() -> None:
    """Their threads wait in no code under test."""

    def debounced() -> None:
        fired: list[int] = []
        for seconds in (2, 3, 3):
            timer = threading.Timer(seconds, fired.append, (seconds,))
            timer.start()
            if not fired and seconds == 2:
                timer.cancel()
        timer.join()

    result = treadle.explore(debounced)
    assert result.rests_on == [f"2 waits of 2 s and more end last {EXPLORE.format('them')}"]


def test_the_test_of_a_loop_is_one_wait() -> None:
    """It is compiled twice: before the first round, and after each."""

    def heartbeat() -> None:
        stop, beats = threading.Event(), list[int]()

        def beat() -> None:
            while not stop.wait(1):
                beats.append(1)

        thread = beside(beat)
        time.sleep(3.5)
        stop.set()
        thread.join()
        assert beats == [1, 1, 1]

    result = treadle.explore(heartbeat)
    assert result.rests_on == [f"2 waits of 1 s and more end last {EXPLORE.format('them')}"]


def test_a_failure_says_that_it_rests_on_time() -> None:
    def expired() -> None:
        told = threading.Event()
        thread = beside(lambda: None)
        assert told.wait(5)
        thread.join()

    def ordered() -> None:
        slept(0.1)

    (failure,) = treadle.explore(expired).failures
    (remark,) = failure.remarks
    assert remark.startswith("It rests on a wait that timed out: wait for ")
    assert remark.endswith(f"test_latency.py:{expired.__code__.co_firstlineno + 3}")
    assert remark in " ".join(str(failure).split()).replace("test_ latency", "test_latency")
    (failure,) = treadle.explore(ordered).failures
    (remark,) = failure.remarks
    assert remark.startswith("It rests on an order of sleeps: sleep 0.1 s at ")
    assert over_in_time([]) == []


def test_a_timer_waits_at_no_line_of_the_test() -> None:
    def test() -> None:
        done: list[int] = []
        timer = threading.Timer(0.1, done.append, [1])
        timer.start()
        timer.join()
        assert not done

    (failure,) = treadle.explore(test).failures
    assert list(failure.remarks) == ["It rests on a wait that timed out: wait for finished"]


def test_tokens_know_how_patient_a_failure_is() -> None:
    def test() -> None:
        event(1)

    (failure,) = treadle.explore(test, timeouts="explore").failures
    assert failure.options == {"timeouts": "explore"}
    assert treadle.replay(test, failure.token).kind == "assertion"
    (failure,) = treadle.explore(test, latency=2).failures
    assert failure.options == {"latency": 2}


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"latency": 0}, "latency must be a number of seconds above 0, not 0"),
        ({"timeouts": "always"}, "unknown timeouts 'always': choose one of latency, explore, last"),
    ],
)
def test_what_is_no_patience(option: dict[str, Any], message: str) -> None:
    with pytest.raises(treadle.TreadleError, match=message):
        treadle.explore(guarded, **option)


def test_sleeping_synchronises_nothing() -> None:
    """What a sleep orders is a data race still."""
    assert kinds(explored(lambda: slept(1), races=True)) == ["race"]


def test_daemons_do_not_let_time_pass_for_ever() -> None:
    def test() -> None:
        box = Box()
        box.value = 0

        def work() -> None:
            while True:
                time.sleep(1)
                box.value += 1

        threading.Thread(target=work, daemon=True).start()
        assert box.value == 0

    assert verify(test).executions == 1


def test_alone_time_passes_at_once() -> None:
    """Before threads are started; what they wait for afterwards counts from then."""

    def test() -> None:
        time.sleep(100)
        event(0.3)

    assert not treadle.explore(test).ok


def test_time_is_no_thread() -> None:
    def test() -> None:
        told = threading.Event()
        thread = beside(told.wait)
        assert not threading.Event().wait(1)
        assert threading.active_count() == len(threading.enumerate()) == 2
        told.set()
        thread.join()

    verify(test)


# Loops that wait with time-outs again and again


def polled(
    wait_on: Callable[[threading.Condition, list[int]], None],
    late: Callable[[threading.Condition, list[int]], None] = lambda *_: None,
) -> Callable[[], None]:
    """Return a test in which a thread polls a list under a condition variable beside another."""

    def test() -> None:
        changed = threading.Condition()
        items: list[int] = []
        threads = [beside(lambda: wait_on(changed, items)), beside(lambda: late(changed, items))]
        for thread in threads:
            thread.join()

    return test


def until_there(changed: threading.Condition, items: list[int]) -> None:
    with changed:
        while not items:
            changed.wait(0.1)


def until_there_at_a_time(changed: threading.Condition, items: list[int]) -> None:
    while True:
        with changed:
            if items:
                return
            changed.wait(1)


def notify_only(changed: threading.Condition, _: list[int]) -> None:
    with changed:
        changed.notify()


def counted(changed: threading.Condition, items: list[int]) -> None:
    rounds = 0
    with changed:
        while not items and rounds < 20:
            changed.wait(1)
            rounds += 1


def counted_elsewhere(changed: threading.Condition, items: list[int]) -> None:
    rounds: list[int] = []
    with changed:
        while not items and len(rounds) < 20:
            changed.wait(1)
            rounds.append(1)


def up_to_a_deadline(changed: threading.Condition, items: list[int]) -> None:
    end = time.monotonic() + 20
    with changed:
        while not items and time.monotonic() < end:
            changed.wait(1)


def counted_by_a_semaphore(changed: threading.Condition, _: list[int]) -> None:
    left = threading.Semaphore(20)
    with changed:
        while left.acquire(blocking=False):
            changed.wait(1)


def counted_by_a_queue(changed: threading.Condition, _: list[int]) -> None:
    left: queue.Queue[int] = queue.Queue()
    for number in range(20):
        left.put(number)
    with changed:
        while not left.empty():
            left.get()
            changed.wait(1)


def counted_inside(changed: threading.Condition, _: list[int]) -> None:
    rounds: list[int] = []
    with changed:
        while len(rounds) < 20:
            rounds.append(1)
            again = True
            while again:
                again = False
            changed.wait(1)


def put_late(changed: threading.Condition, items: list[int]) -> None:
    time.sleep(9.5)
    with changed:
        items.append(1)


@pytest.mark.parametrize("wait_on", [until_there, until_there_at_a_time])
@pytest.mark.parametrize("late", [notify_only, lambda *_: None])
def test_waiting_again_and_again_while_only_time_passes_is_a_livelock(
    wait_on: Callable[..., None], late: Callable[..., None]
) -> None:
    (failure,) = treadle.explore(polled(wait_on, late)).failures
    assert failure.kind == "livelock"
    assert treadle.replay(polled(wait_on, late), failure.token).kind == "livelock"


@pytest.mark.parametrize(
    "wait_on",
    [
        counted,
        counted_elsewhere,
        up_to_a_deadline,
        counted_by_a_semaphore,
        counted_by_a_queue,
        counted_inside,
    ],
)
def test_a_loop_that_ends_by_itself_is_none(wait_on: Callable[..., None]) -> None:
    assert verify(polled(wait_on)).executions == 1


@pytest.mark.parametrize("wait_on", [until_there_at_a_time, counted])
def test_a_loop_that_somebody_ends_late_is_none(wait_on: Callable[..., None]) -> None:
    assert verify(polled(wait_on, put_late)).executions == 1


def test_polling_an_event_or_a_queue_that_somebody_fills_late_is_none() -> None:
    def test() -> None:
        told = threading.Event()
        jobs: queue.Queue[int] = queue.Queue()

        def take() -> None:
            while True:
                try:
                    jobs.get(timeout=1)
                    return
                except queue.Empty:
                    continue

        def look() -> None:
            while not told.wait(1):
                pass

        threads = [beside(take), beside(look)]
        time.sleep(20)
        told.set()
        jobs.put(1)
        for thread in threads:
            thread.join()

    assert verify(test).executions == 1


def test_two_that_wait_in_turn_while_only_time_passes_do_not_end() -> None:
    def until_there_at_another_pace(changed: threading.Condition, items: list[int]) -> None:
        with changed:
            while not items:
                changed.wait(0.7)

    result = treadle.explore(polled(until_there, until_there_at_another_pace))
    assert [failure.kind for failure in result.failures] == ["budget"]


def test_a_queue_that_is_filled_in_a_long_loop_is_no_waste() -> None:
    def test() -> None:
        jobs: queue.Queue[int] = queue.Queue()

        def fill() -> None:
            while jobs.qsize() < 6_000:
                jobs.put(1)

        beside(fill).join()
        assert jobs.qsize() == 6_000

    assert verify(test).executions == 1


WAITS: dict[str, Callable[[], object]] = {
    "condition": lambda: wait_under(threading.Condition()),
    "condition with a lock": lambda: wait_under(threading.Condition(threading.Lock())),
    "event": lambda: threading.Event().wait(1),
    "semaphore": lambda: threading.Semaphore(0).acquire(timeout=1),
    "queue": lambda: fails(queue.Empty, lambda: queue.Queue().get(timeout=1)),
    "future": lambda: fails(TimeoutError, lambda: Future().result(timeout=1)),
    "futures": lambda: wait([Future()], timeout=1),
    "barrier": lambda: fails(threading.BrokenBarrierError, lambda: threading.Barrier(2).wait(1)),
    "sleep": lambda: time.sleep(1),
}


def wait_under(changed: threading.Condition) -> None:
    with changed:
        changed.wait(1)


def fails(error: type[BaseException], call: Callable[[], object]) -> None:
    with pytest.raises(error):
        call()


@pytest.mark.parametrize("name", WAITS)
def test_waiting_in_vain_takes_as_long_as_it_says(name: str) -> None:
    took: list[float] = []

    def test() -> None:
        def wait_thrice() -> None:
            before = time.monotonic()
            for _ in range(3):
                WAITS[name]()
            took.append(time.monotonic() - before)

        beside(wait_thrice).join()

    verify(test)
    assert {round(seconds, 3) for seconds in took} == {3.0}
