"""What the model kit's shared objects and operations mean, and which models it refuses."""

from __future__ import annotations

import functools
import itertools
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import treadle
from brute import brute_force
from treadle.model import (
    TIMEOUT,
    Condition,
    Counter,
    Lock,
    Mailbox,
    Program,
    RLock,
    Semaphore,
)
from treadle.model.fingerprint import freeze
from treadle.program import Run

Process = Iterator[Any]
Body = Callable[..., Process]


def alone(body: Body, **shared: Any) -> None:
    """Run a process with nobody beside it, and raise what it raises."""
    program = Program(**shared)
    program.process(body)
    result = treadle.explore(program)
    if result.failures:
        raise result.failures[0].exception or AssertionError(result.failures[0].message)


def together(*bodies: Body, **shared: Any) -> Program:
    """Return a program of these processes."""
    program = Program(**shared)
    for body in bodies:
        program.process(body)
    return program


def after(program: Program, schedule: str, *, detail: bool = False) -> Run:
    """Run some steps."""
    run = program.start(detail=detail)
    for name in schedule.split():
        number = program.vocabulary.process_number(name)
        assert number is not None
        assert run.is_enabled(number), f"{name} cannot take a step"
        run.step(number)
    return run


def enabled(program: Program, schedule: str = "") -> str:
    """Return who can take a step after a schedule."""
    run = after(program, schedule)
    return " ".join(program.vocabulary.process_names[number] for number in run.enabled())


def words(program: Program, schedule: str) -> list[str]:
    """Return the steps of a schedule as a report shows them."""
    records = after(program, schedule, detail=True).records()
    return ["; ".join(map(str, record.accesses)) for record in records]


def executions(program: Program) -> int:
    result = treadle.explore(program, stop_on_failure=False)
    assert result.complete
    return result.executions


# Shared data


def test_scalars() -> None:
    def p(s: Any) -> Process:
        assert (s.x, s.y) == (1, "a")
        s.x = s.x + 1
        yield
        assert s.x == 2

    alone(p, x=1, y="a")


def test_every_execution_begins_with_the_declared_values() -> None:
    def p(s: Any) -> Process:
        yield
        assert (s.x, list(s.array), s.d["k"], s.counter.value) == (0, [0, 0], 0, 0)
        s.x = s.array[0] = s.d["k"] = 1
        s.counter.add(1)

    program = together(p, x=0, array=[0, 0], d={"k": 0}, counter=Counter(0))
    assert treadle.explore(program).ok
    assert treadle.explore(program).ok


def test_arrays() -> None:
    def p(s: Any) -> Process:
        yield
        assert (s.a[0], s.a[2], s.a[-1], len(s.a), list(s.a)) == (1, 3, 3, 3, [1, 2, 3])
        s.a[-3] = 7
        assert s.a[0] == 7
        assert repr(s.a) == "<shared array a>"
        with pytest.raises(IndexError):
            s.a[3]
        with pytest.raises(IndexError):
            s.a[-4] = 0

    alone(p, a=[1, 2, 3])


def test_a_negative_index_is_the_same_location() -> None:
    def p(s: Any) -> Process:
        yield
        s.a[-1] = 1

    def q(s: Any) -> Process:
        yield
        s.a[2]

    assert executions(together(p, q, a=[0, 0, 0])) == 2
    assert words(together(p, a=[0, 0, 0]), "p") == ["write a[2] = 1"]


def test_elements_are_independent() -> None:
    def element(s: Any, i: int) -> Process:
        yield
        s.a[i] += 1

    program = Program(a=[0, 0])
    program.process(element, 0)
    program.process(element, 1)
    assert executions(program) == 1


def test_an_empty_array() -> None:
    def p(s: Any) -> Process:
        yield
        assert len(s.a) == 0

    alone(p, a=[])


def test_dictionaries() -> None:
    def p(s: Any) -> Process:
        yield
        assert s.d["a"] == 1
        assert s.d.get("b") is None
        assert s.d.get("b", 2) == 2
        assert "a" in s.d
        assert "b" not in s.d
        s.d["b"] = 3
        assert sorted(s.d) == ["a", "b"]
        assert len(s.d) == 2
        del s.d["a"]
        assert list(s.d) == ["b"]
        assert repr(s.d) == "<shared dictionary d>"
        with pytest.raises(KeyError):
            s.d["a"]
        with pytest.raises(KeyError):
            del s.d["a"]

    alone(p, d={"a": 1})


@pytest.mark.parametrize(
    ("first", "second", "classes"),
    [
        ("s.d['a'] = 1", "s.d['b'] = 1", 2),  # both change the set of keys
        ("s.d['k'] = 1", "s.d['l'] = 1", 1),
        ("s.d['k'] = 1", "len(s.d)", 1),
        ("s.d['a'] = 1", "len(s.d)", 2),
        ("s.d['a'] = 1", "'a' in s.d", 2),
        ("s.d['a'] = 1", "s.d.get('b')", 1),
        ("s.d['k'] = 1", "s.d['k']", 2),
        ("del s.d['k']", "list(s.d)", 2),
        ("del s.d['k']", "s.d.get('k')", 2),
        ("del s.d['k']", "s.d['l']", 1),
    ],
)
def test_which_accesses_of_a_dictionary_are_dependent(
    first: str, second: str, classes: int
) -> None:
    def p(s: Any, statement: str) -> Process:
        yield
        exec(statement, {"s": s})

    program = Program(d={"k": 0, "l": 0})
    program.process(p, first)
    program.process(p, second)
    assert executions(program) == classes


def test_counters() -> None:
    def p(s: Any) -> Process:
        yield
        s.n.add(2)
        s.n.add(-1)
        assert s.n.value == 6
        assert repr(s.n) == "<counter 6>"

    alone(p, n=Counter(5))


def test_a_counter_that_tells_its_value_is_dependent() -> None:
    def p(s: Any) -> Process:
        yield
        assert s.n.next() in (1, 2)

    program = Program(n=Counter())
    program.process(p, name="p")
    program.process(p, name="q")
    assert treadle.explore(program).ok
    assert executions(program) == 2


def test_compare_and_swap() -> None:
    def p(s: Any) -> Process:
        yield
        assert s.cas("x", 0, 1)
        assert not s.cas("x", 0, 2)
        assert s.x == 1
        assert s.a.cas(-1, "b", "c")
        assert not s.a.cas(0, "b", "c")
        assert list(s.a) == ["a", "c"]

    alone(p, x=0, a=["a", "b"])


@pytest.mark.parametrize(
    ("olds", "classes"),
    [
        ([0, 0, 0], 3),  # one succeeds, the others only read
        ([0, 0, 5], 2 + 2),  # who succeeds, and whether the third read before or after
        ([0, False], 2),  # equal, though of different types
        ([0, 0.0], 2),
        ([[0], 0], 2),  # a value without a stable name
        ([0, 1], 2),
    ],
)
@pytest.mark.parametrize("form", ["scalar", "element"])
def test_compare_and_swaps_against_each_other(olds: list[Any], classes: int, form: str) -> None:
    def p(s: Any, i: int) -> Process:
        yield
        if form == "scalar":
            s.cas("x", olds[i], i + 1)
        else:
            s.a.cas(0, olds[i], i + 1)

    program = Program(x=0, a=[0])
    for i in range(len(olds)):
        program.process(p, i)
    assert executions(program) == classes == len(brute_force(program, 100).classes)


def test_compare_and_swap_needs_a_scalar() -> None:
    def p(s: Any) -> Process:
        yield
        s.cas("a", 0, 1)

    refused(p, match=r"s\.cas\('a', \.\.\.\) needs the name of a shared scalar", a=[0])


def test_additions_commute_but_not_with_reading() -> None:
    def p(s: Any) -> Process:
        yield
        s.n.add(1)

    def q(s: Any) -> Process:
        yield
        s.n.value  # noqa: B018

    program = Program(n=Counter())
    for name in "abc":
        program.process(p, name=name)
    assert executions(program) == 1
    program.process(q)
    assert executions(program) == 8


def test_the_state_prints_the_same_in_every_execution() -> None:
    """Else messages that show it, like those of pytest's assertions, would differ too."""
    printed = set()

    def p(s: Any) -> Process:
        yield
        printed.add(repr(s))
        s.x = 1

    def q(s: Any) -> Process:
        yield
        s.x = 2

    treadle.explore(together(p, q, x=0))
    assert len(printed) == 1


def test_a_shared_object_cannot_be_replaced() -> None:
    def p(s: Any) -> Process:
        yield
        s.a = [1]

    with pytest.raises(treadle.TreadleError, match="'a' cannot be replaced"):
        treadle.explore(together(p, a=[0]))


def test_lists_of_lists_and_of_objects() -> None:
    def p(s: Any) -> Process:
        yield s.locks[1].acquire()
        s.grid[1][0] = 5
        yield
        assert s.grid[1][0] == 5
        assert s.grid[0][0] == 1
        s.locks[1].release()

    program = together(p, grid=[[1, 2], [3, 4]], locks=[Lock(), Lock()])
    assert treadle.explore(program).ok
    assert words(program, "p p") == [
        "acquire locks[1]; write grid[1][0] = 5",
        "read grid[1][0] = 5; read grid[0][0] = 1; release locks[1]",
    ]


# Locks


def critical(s: Any) -> Process:
    yield s.lock.acquire()
    value = s.x
    yield
    s.x = value + 1
    s.lock.release()


@pytest.mark.parametrize("lock", [Lock(), RLock(), Semaphore(1)])
def test_locks_exclude(lock: Any) -> None:
    program = Program(x=0, lock=lock)
    program.process(critical, name="p")
    program.process(critical, name="q")

    @program.process
    def check(s: Any) -> Process:
        yield s.join("p")
        yield s.join("q")
        assert s.x == 2

    assert treadle.explore(program, "exhaustive").ok
    assert enabled(program, "p") == "p"
    assert executions(program) == 2


def test_try_acquire_and_locked() -> None:
    def p(s: Any) -> Process:
        yield
        assert not s.lock.locked
        assert s.lock.try_acquire()
        assert s.lock.locked
        assert not s.lock.try_acquire()
        s.lock.release()
        assert s.semaphore.try_acquire()
        assert not s.semaphore.try_acquire()

    alone(p, lock=Lock(), semaphore=Semaphore(1))


def test_a_reentrant_lock_is_released_as_often_as_it_was_taken() -> None:
    def p(s: Any) -> Process:
        yield s.lock.acquire()
        yield s.lock.acquire()
        assert s.lock.try_acquire()
        yield
        s.lock.release()
        s.lock.release()
        yield
        s.lock.release()

    def q(s: Any) -> Process:
        yield s.lock.acquire()
        assert s.lock.try_acquire()

    program = together(p, q, lock=RLock())
    assert enabled(program) == "p q"
    for schedule in ["p", "p p", "p p p"]:
        assert enabled(program, schedule) == "p"
    assert enabled(program, "p p p p") == "q"
    assert enabled(program, "q") == ""


def test_try_acquire_of_a_reentrant_lock_that_another_process_holds() -> None:
    def p(s: Any) -> Process:
        yield
        assert s.lock.try_acquire()
        yield
        s.lock.release()

    def q(s: Any) -> Process:
        yield
        assert not s.lock.try_acquire()

    after(together(p, q, lock=RLock()), "p q p")


@pytest.mark.parametrize("lock", [Lock(), RLock()])
def test_only_the_holder_releases(lock: Lock) -> None:
    def p(s: Any) -> Process:
        yield s.lock.acquire()
        yield
        s.lock.release()

    def q(s: Any) -> Process:
        yield
        s.lock.release()

    with pytest.raises(treadle.TreadleError, match="q releases lock 'lock', which is free"):
        after(together(p, q, lock=lock), "q")
    with pytest.raises(treadle.TreadleError, match="q releases lock 'lock', which is held by p"):
        after(together(p, q, lock=lock), "p q")


def test_the_same_lock_under_two_names_is_one_lock() -> None:
    lock = Lock()

    def p(s: Any) -> Process:
        yield s.a.acquire()
        yield s.b.acquire()

    assert enabled(together(p, a=lock, b=lock), "p") == ""


def test_semaphores_count() -> None:
    def p(s: Any) -> Process:
        yield s.semaphore.acquire()

    def q(s: Any) -> Process:
        yield
        s.semaphore.release()

    program = Program(semaphore=Semaphore(2))
    for name in "abc":
        program.process(p, name=name)
    program.process(q)
    assert enabled(program, "a b") == "q"
    assert enabled(program, "a b q") == "c"


def test_a_semaphore_has_no_negative_units() -> None:
    with pytest.raises(treadle.TreadleError, match="use 0 or more"):
        Semaphore(-1)


# Condition variables


def waiter(s: Any) -> Process:
    yield s.cond.acquire()
    yield s.cond.wait()
    s.cond.release()


def notifier(s: Any, count: int = 1) -> Process:
    yield s.cond.acquire()
    s.cond.notify(count)
    s.cond.release()


def waiters_and_notifier(count: int) -> Program:
    program = Program(cond=Condition())
    for name in "abc":
        program.process(waiter, name=name)
    program.process(notifier, count, name="n")
    return program


def test_waiters_are_woken_in_the_order_in_which_they_came() -> None:
    program = waiters_and_notifier(1)
    assert enabled(program, "b b a a n") == "b c"
    assert enabled(program, "a a b b n") == "a c"
    assert enabled(waiters_and_notifier(2), "b b a a c c n") == "a b"


def test_waiting_gives_the_lock_back_and_takes_it_again() -> None:
    program = waiters_and_notifier(1)
    assert enabled(program, "a") == "a"
    assert enabled(program, "a a") == "b c n"
    assert enabled(program, "a a n b") == "b"  # a is woken, but b has the lock
    assert enabled(program, "a a n b b") == "a c"


def test_a_notification_that_nobody_waits_for_is_lost() -> None:
    program = together(waiter, notifier, cond=Condition())
    result = treadle.explore(program, stop_on_failure=False)
    assert [failure.message for failure in result.failures] == [
        "waiter waits for a notification of cond"
    ]
    assert enabled(program, "notifier waiter waiter") == ""


def test_notify_all_wakes_everybody() -> None:
    def all_of_them(s: Any) -> Process:
        yield s.cond.acquire()
        s.cond.notify_all()
        s.cond.release()

    program = Program(cond=Condition())
    for name in "ab":
        program.process(waiter, name=name)
    program.process(all_of_them)
    assert enabled(program, "a a b b all_of_them") == "a b"


def test_a_condition_on_a_given_lock() -> None:
    lock = Lock()

    def holder(s: Any) -> Process:
        yield s.lock.acquire()

    program = together(waiter, holder, cond=Condition(lock), lock=lock)
    assert enabled(program, "holder") == ""


def test_a_condition_takes_no_reentrant_lock() -> None:
    with pytest.raises(treadle.TreadleError, match="takes a Lock, not an RLock"):
        Condition(RLock())


@pytest.mark.parametrize(
    ("act", "verb"), [("s.cond.notify()", "notifies with"), ("(yield s.cond.wait())", "waits with")]
)
def test_a_condition_is_used_with_its_lock_held(act: str, verb: str) -> None:
    namespace: dict[str, Any] = {}
    exec(f"def p(s):\n    yield\n    {act}\n", namespace)
    with pytest.raises(treadle.TreadleError, match=f"p {verb} lock 'cond lock', which is free"):
        treadle.explore(together(namespace["p"], cond=Condition()))


# Mailboxes


def test_messages_come_in_order() -> None:
    def p(s: Any) -> Process:
        s.box.send("a")
        s.box.send("b")
        yield
        assert len(s.box) == 2
        first = yield s.box.receive()
        second = yield s.box.receive()
        assert (first, second) == ("a", "b")
        yield
        assert len(s.box) == 0

    alone(p, box=Mailbox())


def test_a_receive_blocks_until_there_is_a_message() -> None:
    def sender(s: Any) -> Process:
        yield
        s.box.send(1)

    def receiver(s: Any) -> Process:
        yield s.box.receive()

    program = together(sender, receiver, box=Mailbox())
    assert enabled(program) == "sender"
    assert enabled(program, "sender") == "receiver"
    assert executions(program) == 1


def test_a_selective_receive_takes_the_first_that_matches() -> None:
    def p(s: Any) -> Process:
        for message in (1, 2, 3, 4):
            s.box.send(message)
        yield
        assert (yield s.box.receive(lambda m: m % 2 == 0)) == 2
        assert (yield s.box.receive(lambda m: m > 2)) == 3
        assert (yield s.box.receive()) == 1
        yield s.box.receive(lambda m: m == 7)

    program = together(p, box=Mailbox())
    (failure,) = treadle.explore(program).failures
    assert failure.message == "p waits for a message in box"


def test_a_timed_receive_never_blocks() -> None:
    def p(s: Any) -> Process:
        yield
        assert (yield s.box.receive(timeout=True)) is TIMEOUT
        s.box.send(1)
        assert (yield s.box.receive(lambda m: m == 2, timeout=True)) is TIMEOUT
        assert (yield s.box.receive(timeout=True)) == 1

    alone(p, box=Mailbox())
    assert repr(TIMEOUT) == "TIMEOUT"


@pytest.mark.parametrize(
    ("wanted", "classes"), [("m == 1", 2), ("m == 2", 1), ("wanted(m)", 2), ("m in [1]", 2)]
)
def test_a_timeout_depends_on_the_messages_that_it_could_have_taken(
    wanted: str, classes: int
) -> None:
    match = eval(f"lambda m: {wanted}", {"wanted": lambda m: m == 1})

    def sender(s: Any) -> Process:
        yield
        s.box.send(1)

    def receiver(s: Any) -> Process:
        yield s.box.receive(match, timeout=True)

    assert executions(together(sender, receiver, box=Mailbox())) == classes


@pytest.mark.parametrize("message", [[1], {"a": 1}, (1, [2])])
def test_messages_without_a_stable_name_meet_every_timeout(message: Any) -> None:
    def sender(s: Any) -> Process:
        yield
        s.box.send(message)

    def receiver(s: Any) -> Process:
        yield s.box.receive(lambda m: m == 7, timeout=True)

    assert executions(together(sender, receiver, box=Mailbox())) == 2


@pytest.mark.parametrize(
    "match", [functools.partial(int.__eq__, 1), (lambda: lambda m: m in [1])()]
)
def test_predicates_of_any_kind(match: Any) -> None:
    def sender(s: Any) -> Process:
        yield
        s.box.send(1)

    def receiver(s: Any) -> Process:
        yield s.box.receive(match, timeout=True)

    assert executions(together(sender, receiver, box=Mailbox())) == 2


def test_a_predicate_with_an_unnamable_closure_meets_every_message() -> None:
    wanted = [2]

    def sender(s: Any) -> Process:
        yield
        s.box.send(1)

    def receiver(s: Any) -> Process:
        yield s.box.receive(lambda m: m in wanted, timeout=True)

    assert executions(together(sender, receiver, box=Mailbox())) == 2


# Processes


def test_a_spawned_process_with_open_steps_is_run_again_as_before() -> None:
    def child(s: Any) -> Process:
        yield
        if s.x == 0:
            s.y = 1
        yield
        s.x = 2

    def p(s: Any) -> Process:
        yield
        s.spawn(child)
        yield
        s.x = 1

    program = together(p, x=0, y=0)
    assert treadle.explore(program, "exhaustive").ok
    assert executions(program) == 3


def test_processes_are_named_by_their_spawn_path() -> None:
    seen = []

    def leaf(s: Any) -> Process:
        yield
        seen.append(s.me)

    def branch(s: Any) -> Process:
        yield
        s.spawn(leaf)
        seen.append(s.me)
        yield
        handle = s.spawn(leaf, name="second")
        assert repr(handle) == "<process main.1.2:second>"

    def main(s: Any) -> Process:
        yield
        s.spawn(branch)

    program = together(main)
    after(program, "main main.1 main.1 main.1.2:second main.1.1")
    assert seen == ["main.1", "main.1.2:second", "main.1.1"]


def test_names_do_not_depend_on_the_order() -> None:
    def child(s: Any) -> Process:
        yield
        s.x += 1

    def parent(s: Any) -> Process:
        yield
        s.spawn(child)

    program = Program(x=0)
    program.process(parent, name="a")
    program.process(parent, name="b")
    treadle.explore(program, "exhaustive")
    assert sorted(program.vocabulary.process_names) == ["a", "a.1", "b", "b.1"]
    numbers = {name: program.vocabulary.process_number(name) for name in ("a.1", "b.1")}
    after(program, "b b.1 a a.1")
    assert numbers == {name: program.vocabulary.process_number(name) for name in numbers}


def test_processes_with_arguments_and_equal_names() -> None:
    def p(s: Any, i: int) -> Process:
        yield
        s.a[i] = 1

    program = Program(a=[0, 0])
    program.process(p, 0)
    program.process(p, 0)
    program.process(p, 1, name="other")
    assert program.vocabulary.process_names == ["p(0)", "p(0)#2", "other"]


def test_the_decorator_with_options() -> None:
    program = Program()

    @program.process(name="named", daemon=True)
    def p(s: Any) -> Process:
        yield s.until(lambda: False)

    assert treadle.explore(program).ok
    assert program.vocabulary.process_names == ["named"]


def test_a_spawned_daemon_may_wait_for_ever() -> None:
    def server(s: Any) -> Process:
        yield s.until(lambda: False)

    def main(s: Any, daemon: bool) -> Process:
        yield
        s.spawn(server, daemon=daemon)

    for daemon in (True, False):
        program = Program()
        program.process(main, daemon)
        assert treadle.explore(program).ok is daemon


def test_joining() -> None:
    def child(s: Any, value: int) -> Process:
        yield
        s.x += value

    def parent(s: Any) -> Process:
        yield
        handles = [s.spawn(child, value) for value in (1, 2)]
        for handle in handles:
            yield s.join(handle)
        assert s.x == 3
        yield s.join("bystander")

    def bystander(_s: Any) -> Process:
        yield

    program = together(parent, bystander, x=0)
    assert treadle.explore(program, "exhaustive").ok
    assert enabled(program, "parent") == "bystander parent.1 parent.2"


def test_a_process_that_crashed_can_be_joined() -> None:
    def p(_s: Any) -> Process:
        yield
        raise ValueError

    def q(s: Any) -> Process:
        yield s.join("p")

    (failure,) = treadle.explore(together(p, q), stop_on_failure=False).failures
    assert (failure.kind, failure.message, failure.process) == ("exception", "ValueError", "p")


def test_leaving_python_is_a_failure_like_any_other() -> None:
    def p(_s: Any) -> Process:
        yield
        raise SystemExit(3)

    (failure,) = treadle.explore(together(p)).failures
    assert failure.message == "SystemExit: 3"


def test_a_process_that_fails_before_its_first_yield() -> None:
    def p(_s: Any) -> Process:
        raise ValueError("at once")
        yield

    (failure,) = treadle.explore(together(p)).failures
    assert failure.message == "ValueError: at once"


def test_code_before_the_first_yield_is_no_step_unless_it_touches_shared_state() -> None:
    def silent(s: Any) -> Process:
        value = 1 + 1
        yield
        s.x = value

    def loud(s: Any) -> Process:
        s.x = 1
        yield

    assert len(words(together(silent, x=0), "silent")) == 1
    assert enabled(together(silent, x=0), "silent") == ""
    assert enabled(together(loud, x=0), "loud") == "loud"


def test_spawning_before_the_first_yield_is_a_step() -> None:
    def child(_s: Any) -> Process:
        yield

    def p(s: Any) -> Process:
        s.spawn(child)
        yield

    program = together(p)
    assert enabled(program) == "p"
    assert enabled(program, "p") == "p p.1"


def test_a_process_that_begins_by_joining() -> None:
    def p(s: Any) -> Process:
        yield s.join("q")

    def q(_s: Any) -> Process:
        yield

    assert enabled(together(p, q)) == "q"


def test_a_step_is_atomic() -> None:
    def p(s: Any) -> Process:
        yield
        s.x = s.x + 1
        s.y = s.x

    program = Program(x=0, y=0)
    program.process(p, name="p")
    program.process(p, name="q")

    @program.process
    def check(s: Any) -> Process:
        yield
        assert s.x == s.y

    assert treadle.explore(program, "exhaustive").ok


def test_a_process_can_be_made_of_generators() -> None:
    def locked(s: Any) -> Process:
        yield s.lock.acquire()
        yield
        s.lock.release()

    def p(s: Any) -> Process:
        yield from locked(s)
        yield from locked(s)

    program = Program(lock=Lock())
    program.process(p, name="p")
    program.process(p, name="q")
    result = treadle.explore(program)
    assert result.ok
    assert result.executions == 6


# Conditions on shared state


def test_until_waits_for_a_condition() -> None:
    def p(s: Any) -> Process:
        yield s.until(lambda: s.x > 1 and s.a[0] == 1)
        assert (s.x, s.a[0]) == (2, 1)

    def q(s: Any) -> Process:
        yield
        s.x += 1
        yield
        s.x += 1

    def r(s: Any) -> Process:
        yield
        s.a[0] = 1

    program = together(p, q, r, x=0, a=[0])
    assert treadle.explore(program, "exhaustive").ok
    assert enabled(program, "q r") == "q"
    assert enabled(program, "q q r") == "p"


def test_a_condition_in_a_function_of_its_own() -> None:
    def p(s: Any) -> Process:
        def ready() -> bool:
            return bool(s.x)

        yield s.until(lambda: ready())

    def q(s: Any) -> Process:
        yield
        s.x = 1
        yield
        s.x = 0

    assert executions(together(p, q, x=0)) == 2


def test_a_condition_may_be_any_callable() -> None:
    class Ready:
        def __init__(self, s: Any) -> None:
            self.s = s

        def __call__(self) -> bool:
            return bool(self.s.x)

    def p(s: Any) -> Process:
        yield s.until(Ready(s))

    def q(s: Any) -> Process:
        yield
        s.x = 1
        yield
        s.x = 0

    assert executions(together(p, q, x=0)) == 2


def test_a_condition_on_nothing_shared() -> None:
    def p(s: Any) -> Process:
        yield s.until(lambda: False)

    (failure,) = treadle.explore(together(p)).failures
    assert failure.message == "p waits for a condition on nothing shared"


# Fingerprints


def fingerprint(program: Program, schedule: str) -> object:
    return after(program, schedule).fingerprint()


def two_steps() -> Program:
    def p(s: Any, i: int) -> Process:
        yield
        value = s.x
        yield
        s.a[i] = value

    def q(s: Any) -> Process:
        yield
        s.x = 1

    program = Program(x=0, a=[0, 0])
    program.process(p, 0, name="p")
    program.process(p, 1, name="r")
    program.process(q)
    return program


def test_equal_states_have_equal_fingerprints() -> None:
    program = two_steps()
    assert fingerprint(program, "p r") == fingerprint(program, "r p")
    assert fingerprint(program, "p r") == fingerprint(two_steps(), "p r")
    assert hash(fingerprint(program, "p r q")) == hash(fingerprint(program, "r p q"))


def test_different_locals_differ() -> None:
    assert fingerprint(two_steps(), "p q") != fingerprint(two_steps(), "q p")


def test_the_position_in_a_loop_counts() -> None:
    def p(s: Any) -> Process:
        for _ in (0, 0):
            yield
            s.x = 0

    program = together(p, x=0)
    assert fingerprint(program, "") != fingerprint(program, "p")


def test_different_positions_differ() -> None:
    def p(s: Any) -> Process:
        yield
        yield
        s.x = 1

    program = together(p, x=0)
    assert len({fingerprint(program, "p " * steps) for steps in range(3)}) == 3


def test_shared_objects_count() -> None:
    def p(s: Any) -> Process:
        yield s.lock.acquire()
        s.lock.release()
        s.box.send(1)
        s.d["a"] = 1
        s.n.add(1)
        yield s.rlock.acquire()
        yield s.rlock.acquire()
        yield s.semaphore.acquire()
        yield s.cond.acquire()
        yield s.cond.wait()

    shared = {
        "lock": Lock(), "box": Mailbox(), "d": {}, "n": Counter(), "rlock": RLock(),
        "semaphore": Semaphore(), "cond": Condition(),
    }  # fmt: skip
    program = together(p, **shared)
    states = [fingerprint(program, "p " * steps) for steps in range(7)]
    assert len(set(states)) == 7


def test_how_a_process_ended_counts() -> None:
    def p(s: Any) -> Process:
        yield
        if s.x:
            raise ValueError

    def q(s: Any) -> Process:
        yield
        s.x = 1

    program = together(p, q, x=0)
    assert fingerprint(program, "p q") != fingerprint(program, "q p")


class Pair:
    """An object with slots and one with a dictionary."""

    __slots__ = ("left", "right")

    def __init__(self, left: Any) -> None:
        self.left = left


class Loose:
    def __init__(self, value: Any) -> None:
        self.value = value

    def method(self) -> Any:
        return self.value


@pytest.mark.parametrize(
    "make",
    [
        lambda n: n,
        lambda n: [n],
        lambda n: (n, [n]),
        lambda n: {"a": n},
        lambda n: {n},
        lambda n: frozenset({n}),
        lambda n: Pair(n),
        lambda n: Loose(n),
        lambda n: Loose(n).method,
        lambda n: lambda: n,
        lambda n: lambda m=n: m,
        lambda n: (i for i in [n]),
        lambda n: deque([n]),
    ],
)
def test_freezing_compares_by_content(make: Callable[[int], Any]) -> None:
    assert freeze(make(1)) == freeze(make(1))
    assert freeze(make(1)) != freeze(make(2))
    assert hash(freeze(make(1))) == hash(freeze(make(1)))


def test_freezing_what_contains_itself() -> None:
    def knot(n: int) -> list[Any]:
        made: list[Any] = [n]
        made.append(made)
        return made

    assert freeze(knot(1)) == freeze(knot(1))
    assert freeze(knot(1)) != freeze(knot(2))


def test_freezing_tells_types_apart() -> None:
    values = [1, True, 1.0, "1", (1,), [1], None]
    assert len({freeze(value) for value in values}) == len(values)


def test_freezing_generators_of_generators() -> None:
    def inner() -> Iterator[int]:
        yield 1
        yield 2

    def outer() -> Iterator[int]:
        yield from inner()

    def plain() -> Iterator[int]:
        yield from [1, 2]

    def ended() -> Iterator[int]:
        yield from ()

    for make in (outer, plain):
        started, further = make(), make()
        next(started)
        next(further)
        assert freeze(started) == freeze(further)
        next(further)
        assert freeze(started) != freeze(further)
    over = ended()
    list(over)
    assert freeze(over) == ("generator", "ended")


# Reports


def test_records_say_what_and_where() -> None:
    def p(s: Any) -> Process:
        yield s.lock.acquire()
        s.x = "a" * 60
        yield s.until(lambda: s.x)
        s.n.add(2)
        handle = s.spawn(child)
        s.box.send(1)
        yield s.join(handle)
        yield s.box.receive()
        assert s.x is None, "no"

    def child(_s: Any) -> Process:
        yield

    program = together(p, x="", lock=Lock(), n=Counter(1), box=Mailbox(), d={})
    records = after(program, "p p p.1 p p", detail=True).records()
    long = f"'{'a' * 17}...{'a' * 18}'"
    assert ["; ".join(map(str, record.accesses)) for record in records] == [
        f"acquire lock; write x = {long}",
        f"await x = {long}; add to n = 3; spawn p.1; send to box = 1",
        "",
        "join p.1",
        f"receive from box = 1; read x = {long}",
    ]
    assert [record.process for record in records] == ["p", "p", "p.1", "p", "p"]
    assert records[0].source == "yield s.lock.acquire()"
    assert all("test_model_kit.py:" in record.where for record in records[:2])
    assert records[-1].error == "AssertionError: no"
    assert records[-1].source == 'assert s.x is None, "no"'


def test_an_error_without_a_text() -> None:
    def p(s: Any) -> Process:
        yield
        s.d["a"] = 1
        raise ValueError

    records = after(together(p, d={}), "p", detail=True).records()
    assert records[0].error == "ValueError"
    assert str(records[0].accesses[0]) == "write d['a'] = 1"


def test_only_a_run_with_detail_has_records() -> None:
    run = after(two_steps(), "p")
    with pytest.raises(treadle.TreadleBug):
        run.records()


def test_where_a_process_stands() -> None:
    program = two_steps()
    run = after(program, "p")
    line = two_steps.__code__.co_firstlineno + 4
    assert run.where(0).endswith(f"test_model_kit.py:{line}")
    run = after(program, "p p")
    assert run.where(0) == ""


def test_an_enabled_process_at_the_end_is_a_bug() -> None:
    with pytest.raises(treadle.TreadleBug, match="is enabled at the end"):
        after(two_steps(), "").ending()


def test_a_process_whose_clean_up_fails() -> None:
    def p(s: Any) -> Process:
        try:
            yield s.until(lambda: False)
        finally:
            raise ValueError("nobody asks")

    (failure,) = treadle.explore(together(p)).failures
    assert failure.kind == "deadlock"


# Models that are refused


def refused(*bodies: Body, match: str, **shared: Any) -> None:
    with pytest.raises(treadle.TreadleError, match=match):
        treadle.explore(together(*bodies, **shared))


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


def test_every_order_of_three_writers() -> None:
    finals = []

    def p(s: Any, i: int) -> Process:
        yield
        s.order = (*s.order, i)
        if len(s.order) == 3:
            finals.append(s.order)

    program = Program(order=())
    for i in range(3):
        program.process(p, i)
    treadle.explore(program)
    assert set(finals) == set(itertools.permutations(range(3)))
