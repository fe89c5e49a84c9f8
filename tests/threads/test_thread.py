"""`threading.Thread` and `_thread` under control: CPython's semantics, exact counts."""

from __future__ import annotations

import _thread
import contextvars
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

import pytest

import treadle
from treadle.threads.program import ThreadProgram


def verify(test: Callable[[], object], **options: Any) -> treadle.Result:
    """Explore a test that must pass, to the end of its space."""
    result = treadle.explore(test, **options)
    assert not result.failures, str(result.failures[0])
    assert result.complete
    return result


def under_control(function: Callable[[], object]) -> Any:
    """Return what a function returns when it runs once, by the natural schedule, under control."""
    program = ThreadProgram(function, "function")
    with program.controlled():
        run = program.start()
        run.finish(-1, 10_000, [], [])
        for crash in run.crashes:
            raise crash.exception
        assert not run.ending().waits
        returned = program.returned
        program.abandon()
    return returned


# The same as CPython, outside and under control


def error_of(function: Callable[[], object]) -> str:
    try:
        function()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def nothing() -> None:
    pass


def start_twice() -> str:
    thread = threading.Thread(target=nothing)
    thread.start()
    found = error_of(thread.start)
    thread.join()
    return found + error_of(thread.start)


def join_before_start() -> str:
    return error_of(threading.Thread(target=nothing).join)


def join_with_timeout_before_start() -> str:
    return error_of(lambda: threading.Thread(target=nothing).join(1))


def join_itself() -> str:
    return error_of(threading.current_thread().join)


def join_itself_in_thread() -> list[str]:
    found = []
    thread = threading.Thread(target=lambda: found.append(error_of(thread.join)))
    thread.start()
    thread.join()
    return found


def daemon_of_active_thread() -> str:
    thread = threading.Thread(target=nothing)
    thread.start()
    found = error_of(lambda: setattr(thread, "daemon", True))
    thread.join()
    return found


class Forgetful(threading.Thread):
    def __init__(self) -> None:
        pass


def init_not_called() -> list[str]:
    thread = Forgetful()
    return [
        error_of(thread.start),
        error_of(thread.join),
        error_of(thread.is_alive),
        error_of(lambda: thread.name),
        error_of(lambda: thread.daemon),
        error_of(lambda: setattr(thread, "daemon", True)),
        error_of(lambda: thread.ident),
        error_of(lambda: thread.native_id),
        error_of(lambda: setattr(thread, "name", "x")),
    ]


def group_given() -> str:
    return error_of(lambda: threading.Thread(group=1))  # type: ignore[arg-type]


def life() -> list[object]:
    """What a thread's attributes are before, during and after it runs."""
    seen: list[object] = []
    gate = threading.Event()

    def body(a: int, *, b: int) -> None:
        me = threading.current_thread()
        seen.append((a, b, me is thread, me.name, me.daemon, me.is_alive()))
        seen.append((me.ident == threading.get_ident(), me.native_id == threading.get_native_id()))
        gate.wait()

    thread = threading.Thread(target=body, name="worker", args=(1,), kwargs={"b": 2}, daemon=True)
    seen.append((thread.ident, thread.native_id, thread.is_alive(), thread.daemon, thread.name))
    thread.start()
    seen.append((thread.is_alive(), isinstance(thread.ident, int), thread in threading.enumerate()))
    gate.set()
    thread.join()
    seen.append((thread.is_alive(), isinstance(thread.ident, int), thread in threading.enumerate()))
    seen.append((hasattr(thread, "_target"), repr(thread).split(" ")[1]))
    return seen


def main_thread() -> list[object]:
    me = threading.current_thread()
    return [
        me is threading.main_thread(),
        me.name,
        me.daemon,
        me.is_alive(),
        me.ident == threading.get_ident(),
        threading.get_native_id() == me.native_id,
        threading.enumerate().count(me),
    ]


def daemons_inherit() -> list[bool]:
    seen = []

    def parent() -> None:
        child = threading.Thread(target=nothing)
        seen.append(child.daemon)
        child.start()
        child.join()

    for daemon in (True, False, None):
        thread = threading.Thread(target=parent, daemon=daemon)
        thread.start()
        thread.join()
    return seen


def names() -> list[str]:
    def target() -> None:
        pass

    thread = threading.Thread(target=target)
    seen = [thread.name[-9:], threading.Thread(name="given").name]
    thread.name = 7  # type: ignore[assignment]
    seen.append(thread.name)
    thread.setName("old")  # type: ignore[attr-defined]
    return [*seen, thread.getName(), str(thread.isDaemon())]  # type: ignore[attr-defined]


def subclass() -> list[object]:
    class Worker(threading.Thread):
        def __init__(self, value: int) -> None:
            super().__init__()
            self.value = value

        def run(self) -> None:
            self.value += 1

    worker = Worker(1)
    worker.start()
    worker.join()
    return [worker.value, isinstance(worker, threading.Thread)]


def raw_errors() -> list[str]:
    start: Any = _thread.start_new_thread
    return [
        error_of(lambda: start(1, ())),
        error_of(lambda: start(nothing, [])),
        error_of(lambda: start(nothing, (), ())),
    ]


def raw_thread() -> list[object]:
    seen: list[object] = []
    done = threading.Event()

    def body(*args: object, **kwargs: object) -> None:
        me = threading.current_thread()
        seen.append((args, kwargs, type(me).__name__, me.daemon, me.name[:6], me.is_alive()))
        seen.append(me is threading.current_thread())
        seen.append(_thread.get_ident() == me.ident)
        done.set()
        _thread.exit()

    ident = _thread.start_new_thread(body, (1,), {"k": 2})
    done.wait()
    return [*seen, isinstance(ident, int)]


def stack_sizes() -> list[object]:
    before = threading.stack_size()
    try:
        return [
            threading.stack_size(1 << 20),
            threading.stack_size(),
            error_of(lambda: threading.stack_size(-1)),
            error_of(lambda: threading.stack_size(1)),
        ]
    finally:
        threading.stack_size(before)


def timer() -> list[object]:
    seen: list[object] = []
    one = threading.Timer(0.01, seen.append, ["fired"])
    one.start()
    one.join()
    seen.append(one.finished.is_set())
    other = threading.Timer(1000.0, seen.append, args=("never",))
    other.daemon = True
    other.start()
    other.cancel()
    other.join()
    return [*seen, isinstance(other, threading.Thread), other.is_alive()]


def hooked() -> list[object]:
    seen: list[object] = []
    before = threading.excepthook
    threading.excepthook = lambda args: seen.append(
        (args.exc_type, str(args.exc_value), args.exc_traceback is not None, args.thread is thread)
    )
    try:
        thread = threading.Thread(target=lambda: 1 / 0)
        thread.start()
        thread.join()
    finally:
        threading.excepthook = before
    return seen


def context_variables() -> list[object]:
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=0)
    variable.set(1)
    seen: list[object] = []

    def body() -> None:
        seen.append(variable.get())
        variable.set(2)

    for _ in range(2):
        thread = threading.Thread(target=body)
        thread.start()
        thread.join()
    return [*seen, variable.get()]


SAME_AS_CPYTHON = [
    start_twice, join_before_start, join_with_timeout_before_start, join_itself,
    join_itself_in_thread, daemon_of_active_thread, init_not_called, group_given, life, main_thread,
    daemons_inherit, names, subclass, raw_errors, raw_thread, stack_sizes, timer, hooked,
    context_variables,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("function", SAME_AS_CPYTHON, ids=lambda function: function.__name__)
def test_behaves_as_outside_of_control(function: Callable[[], object]) -> None:
    real = function()
    assert under_control(function) == real
    assert function() == real  # and nothing stays behind


def join_main() -> None:
    done = []

    def body() -> None:
        threading.main_thread().join()
        assert done == [1]

    threading.Thread(target=body).start()
    done.append(1)


def test_the_main_thread_can_be_joined() -> None:
    assert verify(join_main).executions == 1


# Names and identifiers are the same in every execution


def test_identifiers_names_and_hashes_do_not_depend_on_the_schedule() -> None:
    seen = set()

    def test() -> None:
        found: dict[str, object] = {}

        def outer(name: str) -> None:
            inner = threading.Thread(target=nothing)
            inner.start()
            found[name] = (inner.name, inner.ident, hash(inner), threading.get_ident())
            inner.join()

        threads = [threading.Thread(target=outer, args=(name,)) for name in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seen.add(str(sorted(found.items())))

    treadle.explore(test, "random", max_executions=30)
    assert len(seen) == 1
    assert "Thread-1.1 (nothing)" in min(seen)


def test_a_given_name_is_in_the_label() -> None:
    def test() -> None:
        forever = threading.Event()
        thread = threading.Thread(target=forever.wait, name="waiter")
        thread.start()
        thread.join()

    (failure,) = treadle.explore(test).failures
    assert failure.kind == "deadlock"
    assert "main.1 (waiter)" in failure.message


# Whether a thread has ended


def test_is_alive_sees_both() -> None:
    seen = set()

    def test() -> None:
        thread = threading.Thread(target=nothing)
        thread.start()
        seen.add(thread.is_alive())
        thread.join()
        assert not thread.is_alive()

    assert verify(test).executions == 2
    assert seen == {True, False}


def test_a_timed_join_may_succeed_or_give_up() -> None:
    seen = set()

    def test() -> None:
        thread = threading.Thread(target=nothing)
        thread.start()
        thread.join(1)
        seen.add(thread.is_alive())

    assert verify(test).executions == 1
    assert seen == {False}  # nothing takes a second
    # (gave up, alive), (gave up, ended), (joined, ended)
    assert verify(test, timeouts="explore").executions == 3
    assert seen == {True, False}


def test_the_natural_schedule_lets_a_timed_join_succeed() -> None:
    def function() -> bool:
        thread = threading.Thread(target=nothing)
        thread.start()
        thread.join(0.001)
        return thread.is_alive()

    assert under_control(function) is False


def test_the_end_of_a_thread_is_no_event_if_nobody_looks() -> None:
    def test() -> None:
        threads = [threading.Thread(target=nothing) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    result = verify(test)
    assert result.executions == 1


@pytest.mark.parametrize("with_main", [True, False])
def test_counting_threads_sees_every_number(with_main: bool) -> None:
    seen = set()

    def test() -> None:
        threads = [threading.Thread(target=nothing) for _ in range(2)]
        for thread in threads:
            thread.start()
        seen.add(threading.active_count() if with_main else _thread._count())
        for thread in threads:
            thread.join()

    # Each of the two ends before or after the look, and the ends commute.
    assert verify(test).executions == 4
    assert seen == ({1, 2, 3} if with_main else {0, 1, 2})


def test_a_race_to_start_a_thread_is_won_once() -> None:
    def test() -> None:
        errors = []
        thread = threading.Thread(target=nothing)

        def start() -> None:
            try:
                thread.start()
            except RuntimeError as error:
                errors.append(str(error))

        starters = [threading.Thread(target=start) for _ in range(2)]
        for starter in starters:
            starter.start()
        for starter in starters:
            starter.join()
        thread.join()
        assert errors == ["threads can only be started once"]

    assert verify(test).executions == 2


def test_joining_before_and_after_another_thread_starts_it() -> None:
    seen = set()

    def test() -> None:
        thread = threading.Thread(target=nothing)
        starter = threading.Thread(target=lambda: thread.start())
        starter.start()
        try:
            thread.join()
        except RuntimeError as error:
            seen.add(str(error))
        else:
            seen.add("joined")
        starter.join()

    verify(test)
    assert seen == {"joined", "cannot join thread before it is started"}


def test_a_name_that_is_set_while_others_read_it() -> None:
    seen = set()

    def test() -> None:
        thread = threading.Thread(
            target=lambda: seen.add(threading.current_thread().name), name="a"
        )
        thread.start()
        thread.name = "b"
        thread.join()

    assert verify(test).executions == 2
    assert seen == {"a", "b"}


def test_what_a_subclass_adds_is_shared() -> None:
    class Worker(threading.Thread):
        def __init__(self) -> None:
            super().__init__()
            self.items: list[int] = []
            self.value = 0

        def run(self) -> None:
            self.items.append(1)
            self.value += 1

    seen = set()

    def test() -> None:
        worker = Worker()
        worker.start()
        seen.add((len(worker.items), worker.value))
        worker.join()

    # The look at the items is before or after they grow, and so is the look at the value.
    assert verify(test).executions == 4
    assert seen == {(0, 0), (1, 0), (0, 1), (1, 1)}


def test_threads_of_threads() -> None:
    class Counter:
        value = 0

    def test() -> None:
        counter = Counter()

        def increment() -> None:
            counter.value += 1

        def parent() -> None:
            child = threading.Thread(target=increment)
            child.start()
            increment()
            child.join()

        thread = threading.Thread(target=parent)
        thread.start()
        thread.join()
        assert counter.value in (1, 2)

    assert verify(test).executions == 4


# Timers


def test_a_timer_may_fire_before_it_is_cancelled() -> None:
    seen = set()

    def test() -> None:
        fired = []
        timer = threading.Timer(10, fired.append, [1])
        timer.start()
        timer.cancel()
        timer.join()
        seen.add(len(fired))

    verify(test)
    assert seen == {0}  # cancelling takes no ten seconds
    verify(test, timeouts="explore")
    assert seen == {0, 1}


def test_a_daemon_timer_that_nobody_waits_for() -> None:
    def test() -> None:
        timer = threading.Timer(10, nothing)
        timer.daemon = True
        timer.start()

    verify(test)


# Exceptions


def test_an_exception_in_a_thread_is_a_finding() -> None:
    def fail() -> None:
        raise ValueError("broken")

    def test() -> None:
        thread = threading.Thread(target=fail)
        thread.start()
        thread.join()

    (failure,) = treadle.explore(test).failures
    assert (failure.kind, failure.process) == ("exception", "main.1")
    assert failure.message == "ValueError: broken"
    assert failure.exception is not None
    assert failure.exception.__traceback__ is not None


def test_a_hook_of_the_test_handles_exceptions() -> None:
    def test() -> None:
        seen = []
        threading.excepthook = lambda args: seen.append(args.exc_type)
        thread = threading.Thread(target=lambda: 1 / 0)
        thread.start()
        thread.join()
        assert seen == [ZeroDivisionError]

    before = threading.excepthook
    verify(test)
    assert threading.excepthook is before


def test_a_hook_that_raises_is_a_finding() -> None:
    def raise_again(_args: threading.ExceptHookArgs) -> None:
        raise KeyError("hook")

    def test() -> None:
        threading.excepthook = raise_again
        thread = threading.Thread(target=lambda: 1 / 0)
        thread.start()
        thread.join()

    (failure,) = treadle.explore(test).failures
    assert failure.message == "KeyError: 'hook'"


def test_system_exit_in_a_thread_is_explained() -> None:
    def leave() -> None:
        sys.exit(3)

    def test() -> None:
        thread = threading.Thread(target=leave)
        thread.start()
        thread.join()

    (failure,) = treadle.explore(test).failures
    assert "SystemExit(3) in a thread ends only that thread" in failure.message
    assert failure.exception is not None
    assert traceback.extract_tb(failure.exception.__traceback__)[-1].name == "leave"
    assert failure.exception.__cause__ is None


def test_leaving_a_thread_with_thread_exit_is_no_finding() -> None:
    def test() -> None:
        thread = threading.Thread(target=_thread.exit)
        thread.start()
        thread.join()

    verify(test)


def test_interrupting_the_main_thread_is_refused() -> None:
    def test() -> None:
        thread = threading.Thread(target=_thread.interrupt_main)
        thread.start()
        thread.join()

    with pytest.raises(treadle.TreadleError, match="interrupt_main"):
        treadle.explore(test)


@pytest.mark.skipif(sys.version_info < (3, 13), reason="from Python 3.13 on")
def test_joinable_threads_of_the_thread_module() -> None:
    start: Any = getattr(_thread, "start_joinable_thread", None)

    def test() -> None:
        seen: list[int] = []
        handle = _thread.start_joinable_thread(lambda: seen.append(1))  # type: ignore[attr-defined]
        handle.join()
        assert seen == [1]
        assert handle.is_done()
        handle.join(1)

    assert start is not None
    verify(test)


# Thread-local values


class Counted(threading.local):
    made = 0

    def __init__(self, start: int) -> None:
        self.value = start


AT_IMPORT = threading.local()
SUBCLASS_AT_IMPORT = Counted(5)
AT_IMPORT.value = "of the main thread"


def thread_local_values() -> list[object]:
    local = threading.local()
    mine = Counted(7)
    local.value = AT_IMPORT.other = "main"
    mine.value += 1
    seen: list[object] = []

    def body() -> None:
        seen.append([hasattr(one, "value") for one in (local, AT_IMPORT)])
        seen.append(error_of(lambda: AT_IMPORT.value))
        seen.append((mine.value, SUBCLASS_AT_IMPORT.value))
        local.value = mine.value = SUBCLASS_AT_IMPORT.value = "thread"
        seen.append((local.__dict__, mine.__dict__))

    threads = [threading.Thread(target=body) for _ in range(2)]
    for thread in threads:
        thread.start()
        thread.join()
    seen.append((local.value, mine.value, SUBCLASS_AT_IMPORT.value, AT_IMPORT.value))
    seen.append(error_of(lambda: threading.local(1)))
    return seen


def test_thread_local_values_as_outside_of_control() -> None:
    real = thread_local_values()
    del AT_IMPORT.other
    assert under_control(thread_local_values) == real
    assert not hasattr(AT_IMPORT, "other")
    assert thread_local_values() == real
    del AT_IMPORT.other


@pytest.mark.parametrize("make", [threading.local, lambda: SUBCLASS_AT_IMPORT, lambda: Counted(1)])
def test_thread_local_values_are_no_events(make: Callable[[], Any]) -> None:
    class Local(threading.local):
        value = 0

    def test() -> None:
        local = Local() if make is threading.local else make()

        def body(value: int) -> None:
            for _ in range(3):
                local.value = value
                assert local.value == value

        threads = [threading.Thread(target=body, args=(value,)) for value in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert verify(test).executions == 1


def test_thread_local_values_under_random_schedules() -> None:
    class Box:
        turn = 0

    def test() -> None:
        local = threading.local()
        box = Box()

        def body(value: int) -> None:
            local.seen = []
            for _ in range(3):
                box.turn = value
                local.seen.append(value)
                SUBCLASS_AT_IMPORT.value = value
                box.turn += 1
                assert SUBCLASS_AT_IMPORT.value == value
            assert local.seen == [value] * 3

        threads = [threading.Thread(target=body, args=(value,)) for value in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert SUBCLASS_AT_IMPORT.value == 5
        assert not hasattr(local, "seen")

    result = treadle.explore(test, "random", max_executions=200)
    assert not result.failures, str(result.failures[0])


def test_a_daemon_may_wait_for_ever() -> None:
    def test() -> None:
        threading.Thread(target=threading.Event().wait, daemon=True).start()

    verify(test)


def test_an_exception_in_a_raw_thread_is_a_finding() -> None:
    def test() -> None:
        _thread.start_new_thread(lambda: 1 / 0, ())

    (failure,) = treadle.explore(test).failures
    assert failure.message == "ZeroDivisionError: division by zero"


def test_a_hook_of_the_test_handles_exceptions_of_raw_threads() -> None:
    def test() -> None:
        seen = []
        sys.unraisablehook = lambda args: seen.append(args.exc_type)
        _thread.start_new_thread(lambda: 1 / 0, ())
        while not seen:
            pass
        assert seen == [ZeroDivisionError]

    before = sys.unraisablehook
    verify(test)
    assert sys.unraisablehook is before


def test_attributes_of_the_main_thread_are_seen() -> None:
    seen: set[str] = set()

    def test() -> None:
        def rename() -> None:
            threading.main_thread().name = "renamed"

        def look() -> None:
            seen.add(threading.main_thread().name)

        threads = [threading.Thread(target=body) for body in (rename, look)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    verify(test)
    assert seen == {"MainThread", "renamed"}
