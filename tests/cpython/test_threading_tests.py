"""CPython's `test.test_threading`, `test_thread` and their kin on Treadle's threads.

Their classes for locks, events, conditions, semaphores and barriers are those of `lock_tests`:
`test_lock_tests` runs them.
"""

from __future__ import annotations

import sys
import unittest
from types import ModuleType

import pytest

from cpython import harness

MODULES = [
    harness.import_tests(f"test.{name}")
    for name in (
        "test_threading",
        "test_thread",
        "test_threading_local",
        "test_threadedtempfile",
        "test_threadsignals",
    )
]
IN_LOCK_TESTS = {
    "LockTests", "PyRLockTests", "CRLockTests", "EventTests", "ConditionAsRLockTests",
    "ConditionTests", "SemaphoreTests", "BoundedSemaphoreTests", "BarrierTests",
}  # fmt: skip

PROCESS = "starts another process"
FORK = "forks the process"
SIGNALS = "needs real signals, which arrive between any two instructions"
INTERNALS = "looks at, or replaces, internals that controlled threads do not have"
IDENTIFIERS = "compares an identifier with the one that C code prints or takes"
KEPT = "what threads have shared lives until the end of the execution, so it is not freed earlier"
A_FINDING = "is a finding here: a hook for exceptions that raises"
MEMORY = "skips itself unless it is given much memory"
PATCHED = "looks where functions come from, and they are replaced while a test is explored"

DOES_NOT_APPLY = {
    PROCESS: """
        ThreadTests.test_finalization_shutdown
        ThreadTests.test_finalize_running_thread
        ThreadTests.test_finalize_with_trace
        ThreadTests.test_import_from_another_thread
        ThreadTests.test_join_nondaemon_on_shutdown
        ThreadTests.test_locals_at_exit
        ThreadTests.test_main_thread_during_shutdown
        ThreadJoinOnShutdown.test_1_join_on_shutdown
        ThreadJoinOnShutdown.test_2_join_in_forked_process
        ThreadJoinOnShutdown.test_3_join_in_forked_from_thread
        ThreadJoinOnShutdown.test_4_daemon_threads
        SubinterpThreadingTests.test_daemon_threads_fatal_error
        ThreadingExceptionTests.test_print_exception
        ThreadingExceptionTests.test_print_exception_stderr_is_none_1
        ThreadingExceptionTests.test_print_exception_stderr_is_none_2
        ThreadingExceptionTests.test_recursion_limit
        AtexitTests.test_atexit_after_shutdown
        AtexitTests.test_atexit_called_once
        AtexitTests.test_atexit_output
        3.12 SubinterpThreadingTests.test_daemon_threads_not_allowed
        3.12 SubinterpThreadingTests.test_threads_not_allowed
        3.12 ThreadingExceptionTests.test_print_exception_gh_102056
        3.12-3.12 MiscTestCase.test_gh112826_missing__thread__is_main_interpreter
        3.12-3.12 ThreadTests.test_start_new_thread_at_exit
        3.13 ThreadTests.test_start_new_thread_at_finalization
        3.13 ThreadJoinOnShutdown.test_thread_from_thread
        3.14 ThreadTests.test_finalize_daemon_thread_hang
        3.14 ThreadTests.test_join_daemon_thread_in_finalization
        3.14 ThreadTests.test_join_finished_daemon_thread_in_finalization
        3.14 ThreadTests.test_join_from_multiple_threads
        3.14 ThreadTests.test_lazy_import
        3.14 ThreadTests.test_start_new_thread_failed
        3.14 ThreadTests.test_stop_the_world_during_finalization
        3.14 ThreadingExceptionTests.test_dummy_thread_on_interpreter_shutdown
        3.15 ThreadTests.test_acquire_daemon_thread_lock_in_finalization
        3.15 ThreadingExceptionTests.test_keyboard_interrupt_during_threading_shutdown
    """,
    FORK: """
        ThreadTests.test_dummy_thread_after_fork
        ThreadTests.test_is_alive_after_fork
        ThreadTests.test_main_thread_after_fork
        ThreadTests.test_main_thread_after_fork_from_nonmain_thread
        ThreadJoinOnShutdown.test_clear_threads_states_after_fork
        ThreadJoinOnShutdown.test_reinit_tls_after_fork
        TestForkInThread.test_forkinthread
        3.11-3.11 ThreadTests.test_fork_at_exit
        3.13 ThreadTests.test_main_thread_after_fork_from_dummy_thread
        3.13 ThreadTests.test_main_thread_after_fork_from_foreign_thread
        3.14 ThreadTests.test_native_id_after_fork
    """,
    SIGNALS: """
        InterruptMainTests.test_can_interrupt_tight_loops
        InterruptMainTests.test_interrupt_main_invalid_signal
        InterruptMainTests.test_interrupt_main_mainthread
        InterruptMainTests.test_interrupt_main_noerror
        InterruptMainTests.test_interrupt_main_subthread
        InterruptMainTests.test_interrupt_main_with_signal_handler
        ThreadSignals.test_interrupted_timed_acquire
        ThreadSignals.test_lock_acquire_interruption
        ThreadSignals.test_lock_acquire_retries_on_intr
        ThreadSignals.test_rlock_acquire_interruption
        ThreadSignals.test_rlock_acquire_retries_on_intr
        ThreadSignals.test_signals
    """,
    "raises an exception in another thread through the C interface": """
        ThreadTests.test_PyThreadState_SetAsyncExc
        3.15 ThreadTests.test_PyThreadState_SetAsyncExc_interrupts_sleep
    """,
    INTERNALS: """
        ThreadTests.test_foreign_thread
        ThreadTests.test_limbo_cleanup
        ThreadTests.test_name
        3.11-3.12 ThreadTests.test_shutdown_locks
        3.11-3.12 ThreadTests.test_tstate_lock
    """,
    "asks the operating system for the name of a thread": """
        3.14 MiscTestCase.test_change_name
    """,
    "takes a hundred thousand steps": """
        3.15 ThreadingIteratorToolsTests.test_serialize_serializes_concurrent_iteration
    """,
    MEMORY: """
        3.14 ThreadedTempFileTest.test_main
    """,
    "deletes entries of threading._active, which holds no controlled thread": """
        3.11-3.12 ThreadTests.test_ident_of_no_threading_threads
    """,
    "a Lock is an ordinary class while a test is explored": """
        3.11-3.12 ThreadTests.test_disallow_instantiation
        3.13 ThreadTests.test_lock_no_subclass
    """,
    IDENTIFIERS: """
        ExceptHookTests.test_excepthook_thread_None
    """,
    KEPT: """
        ThreadLocalTest.test_cycle_collection
        ThreadTests.test_no_refcycle_through_target
        ThreadRunningTests.test__count
        ThreadLocalTest.test_local_refs
        PyThreadingLocalTest.test_local_refs
    """,
    A_FINDING: """
        ExceptHookTests.test_custom_excepthook_fail
    """,
    PATCHED: """
        MiscTestCase.test__all__
    """,
    "needs a debug build": """
        3.11-3.11 ThreadTests.test_debug_deprecation
    """,
}
RANDOM_DOES_NOT_APPLY: dict[str, str] = {}


def table(by_reason: dict[str, str]) -> dict[str, str]:
    """Return test -> reason for this version; `3.12-3.13 name` is only there in those versions."""
    found = {}
    for reason, names in by_reason.items():
        for line in names.strip().splitlines():
            *versions, name = line.split()
            first, _, last = versions[0].partition("-") if versions else ("", "", "")
            if (not first or version(first) <= sys.version_info[:2]) and (
                not last or sys.version_info[:2] <= version(last)
            ):
                found[name] = reason
    return found


def version(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def classes_of(module: ModuleType) -> list[type[unittest.TestCase]]:
    return [
        value
        for name, value in vars(module).items()
        if isinstance(value, type)
        and issubclass(value, unittest.TestCase)
        and value.__module__ == module.__name__
        and name not in IN_LOCK_TESTS
    ]


SUITE = harness.Suite(
    [kind for module in MODULES for kind in classes_of(module)],
    does_not_apply=table(DOES_NOT_APPLY),
    random_does_not_apply=table(RANDOM_DOES_NOT_APPLY),
)


@pytest.mark.parametrize("name", SUITE.names)
def test_natural_schedule(name: str) -> None:
    SUITE.run_naturally(name)


@pytest.mark.parametrize("name", SUITE.names)
def test_random_schedules(name: str) -> None:
    SUITE.run_randomly(name)


def test_tables() -> None:
    SUITE.check_tables()
