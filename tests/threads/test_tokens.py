"""Tokens recorded on one Python version are replayed on the others.

The tokens below were printed on Python 3.11 by `treadle run`, for the examples. If a program, what
is a step of it, or the format changes, they have to be recorded anew.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import treadle
from treadle.session.replaying import rerun

EXAMPLES = Path(__file__).parents[2] / "examples" / "threads"

RECORDED = [
    ("bank_transfer", "opposite_order", "deadlock", "t1_wYgA1gofR9cDAQIBAgIDAwECwpo0Jg"),
    (
        "bounded_queue",
        "order_between_producers",
        "assertion",
        "t1_W0KwzAhUqMMEAQIBAgMCAgoIAQYDBgEGAwYQwppAfCT4p6px9jx7mtHf7035QXk",
    ),
    ("changing_dictionary", "changed_in_the_loop", "exception", "t1_7U5I1gnH9B4CAQIBAwIBAMKcwFM"),
    (
        "check_then_act",
        "two_steps",
        "assertion",
        "t2_gMrB4gAezzwDBgQAAwECAQICBQMBCAQGwppdJ61s9Kq59RU",
    ),
    (
        "lazy_initialisation",
        "checked_once",
        "assertion",
        "t1_-KcZeQgm_ZQDAQICAgEFAwERDQnCmiPKaXIq1gq4_97zlLVD93s",
    ),
    (
        "lazy_initialisation",
        "stored_too_early",
        "assertion",
        "t1_qKN07wh_sU4DAQIBAgIDAwoIwprAc7gsNYlG",
    ),
    ("leaked_semaphore", "leaking", "deadlock", "t1_GWlSkQpbrdoCAQICAgIBwpqp"),
    ("lost_update", "racy", "assertion", "t1_M6buwggUiroDAQIBAgIFAwEFAQnCmuP3c798h-5l"),
    (
        "lost_update",
        "racy",
        "race",
        "t1_Bo0KUSzFsyQOeyJyYWNlcyI6dHJ1ZX0DAQIBAgIDAwQCwprjFlw",
    ),
    (
        "lost_wakeup",
        "looked_outside_the_lock",
        "deadlock",
        "t1_xLhaZQoGt-MCAQIBBAIBBAPCieL7B3TZsA",
    ),
    (
        "lost_wakeup",
        "looked_once",
        "exception",
        "t2_8NLeNgDPDyYDBwQAAwECAQICBQMHCQsHwpoLNxjBl48QrsQZf3ceqg",
    ),
    (
        "lost_wakeup",
        "looked_once",
        "exception",
        "t1_T7SPSRHPDyYDAQIBAgIFCQQMCAfC_09nRRkeb7qtjZ8fHqVWdw",  # granularity gil
    ),
    (
        "reader_writer_lock",
        "uncounted_leaving",
        "deadlock",
        "t1_3k5yPgqTzu0DAQIBAgIFBhwLAQDCmkAooHAn8-zt_0vCDdS99MYm",
    ),
]


@pytest.fixture
def example(monkeypatch) -> Callable[[str, str], Callable[[], object]]:
    monkeypatch.syspath_prepend(str(EXAMPLES))

    def load(module: str, name: str) -> Callable[[], object]:
        found: Callable[[], object] = getattr(importlib.import_module(module), name)
        return found

    return load


@pytest.mark.parametrize(("module", "name", "kind", "token"), RECORDED)
def test_a_recorded_token_shows_the_same_failure_here(example, module, name, kind, token):
    replayed = rerun(example(module, name), token)
    assert replayed.failure is not None
    assert (replayed.failure.kind, replayed.is_same, replayed.difference) == (kind, True, "")


@pytest.mark.parametrize(("module", "name", "kind", "token"), [RECORDED[3], RECORDED[10]])
def test_the_same_token_is_found_here(example, module, name, kind, token):
    (failure,) = treadle.explore(example(module, name)).failures
    shrunk = treadle.shrink(failure)
    assert (shrunk.failure.kind, shrunk.failure.token) == (kind, token)


class Box:
    value = 0


def counting(step: Callable[[Box], None]) -> Callable[[], None]:
    def test() -> None:
        box = Box()
        threads = [threading.Thread(target=step, args=(box,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        value = box.value
        assert value == 2

    return test


def increment(box: Box) -> None:
    box.value += 1


def increment_after_a_look(box: Box) -> None:
    if box.value < 10:
        box.value += 1


def test_a_program_that_takes_other_steps_here_says_which():
    (failure,) = treadle.explore(counting(increment)).failures
    assert str(failure.schedule) == "main*2 main.1 main.2*2 main.1 main*3"
    with pytest.raises(treadle.ScheduleMismatch) as error:
        treadle.replay(counting(increment_after_a_look), failure.token)
    assert "step 5 is not the recorded one: now main.2 read box.value" in str(error.value)
    assert "then the schedule does not fit the program: step 7 is for 'main'" in str(error.value)
