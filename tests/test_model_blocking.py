"""What the model kit's locks, condition variables, mailboxes and blocking conditions mean."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

import treadle
from model_kit import Process, after, alone, enabled, executions, together
from treadle.core.records import WaitKind
from treadle.model import TIMEOUT, Condition, Lock, Mailbox, Program, RLock, Semaphore

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


# What processes wait for, in reports


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        (lambda s: s.lock.acquire(), WaitKind.LOCK),
        (lambda s: s.semaphore.acquire(), WaitKind.UNIT),
        (lambda s: s.box.receive(), WaitKind.MESSAGE),
        (lambda s: s.until(lambda: s.x == 1), WaitKind.CONDITION),
        (lambda s: s.join("holder"), WaitKind.END),
    ],
)
def test_each_wait_has_its_kind(operation: Callable[[Any], Any], kind: WaitKind) -> None:
    program = Program(x=0, lock=Lock(), semaphore=Semaphore(0), box=Mailbox())

    @program.process(daemon=True)
    def holder(s: Any) -> Process:
        yield s.lock.acquire()
        yield s.until(lambda: s.x == 2)

    @program.process
    def p(s: Any) -> Process:
        yield s.join("holder") if kind is WaitKind.END else s.until(lambda: s.lock.locked)
        yield operation(s)

    (failure,) = treadle.explore(program).failures
    assert [wait.kind for wait in failure.waits] == [kind]


def test_who_was_woken_up_holds_the_lock_since_then() -> None:
    program = Program(changed=Condition(), x=0)

    @program.process
    def p(s: Any) -> Process:
        yield s.changed.acquire()
        yield s.changed.wait()
        assert s.x == 1

    @program.process
    def q(s: Any) -> Process:
        yield s.changed.acquire()
        s.changed.notify()
        s.changed.release()

    failure = next(f for f in treadle.explore(program).failures if f.kind == "assertion")
    held = [(str(access), access.held) for step in failure.trace for access in step.accesses]
    assert ("wake up on changed", "changed lock") in held
    assert ("wait on changed", "") in held
