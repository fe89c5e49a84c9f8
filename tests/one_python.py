"""Which tests run under one Python only, because what they check does not depend on it.

Under other Pythons runs what does: rewriting, accesses, primitives beside CPython's own, what
starts and ends threads; the plugin, which meets frames, tracebacks, debuggers, coverage, workers
and whatever pytest is there; of actors what tasks in greenlets do, where failures are, and what is
made from syntax trees or of them; of networks, controllers. The Makefile names these files. What
one Python is enough for is marked `one_python` (`-m "not one_python"`).
"""

from __future__ import annotations

ONE_IS_ENOUGH = {
    "tests/threads/test_shrinking.py": "shrinks schedules, which are numbers",
    "::test_fewer_executions_find_the_same": "the core's coarser algorithms, on examples",
    "::test_idempotent_writes": "the same",
    "::test_random_schedules": "CPython's own tests run there on the natural schedule",
    "against_brute_force": "the core's algorithms, on primitives",
    "::test_random_programs": "the same; random programs of accesses stay, fewer",
    "::test_all_algorithms_": "the core's algorithms; one of them meets real threads everywhere",
    "tests/plugin/test_options.py": "which options there are, and that they reach the search",
    "tests/plugin/test_workers.py": "who makes fixtures anew; workers' own tests run everywhere",
    "_live_line_": "what terminals show",
    "::test_a_report_is_": "how wide and in which colours",
    "::test_workers_know_how_wide_": "the same",
    "::test_two_runs_at_once": "the database, which is a file",
    "::test_equal_keys_are_one_location": "which keys are equal is no matter of the interpreter",
}
"""What the name of a test has in it, and why."""


def one_is_enough(name: str) -> bool:
    """Tell whether a test checks the same under every Python."""
    return any(part in name for part in ONE_IS_ENOUGH)
