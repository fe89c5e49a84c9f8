"""How far a search is: the estimate, what listeners are told, and the live line."""

from __future__ import annotations

import io
import math
import re

import pytest
from rich.console import Console

import treadle
from treadle.explore.progress import Estimate, Estimator, Progress
from treadle.report.live import LiveLine, progress_in_words


def counting_program(processes: int, steps: int) -> treadle.model.Program:
    program = treadle.model.Program("counting", x=0)

    def increment(s):
        for _ in range(steps):
            yield
            s.x = s.x + 1

    for index in range(processes):
        program.process(increment, name=f"p{index}")
    return program


class Recorder:
    """A listener that remembers everything."""

    def __init__(self, interval: float = 0.0) -> None:
        self.interval = interval
        self.told: list[Progress] = []

    def __call__(self, progress: Progress) -> None:
        self.told.append(progress)


def some_progress(**changes) -> Progress:
    values = {
        "executions": 1500,
        "blocked": 0,
        "failures": 0,
        "depth": 12,
        "seconds": 3.0,
        "estimate": None,
    }
    return Progress(**{**values, **changes})


# The estimate


def test_estimator_knows_a_complete_binary_tree_from_its_first_leaf():
    estimator = Estimator(lambda _depth: 1)  # one more branch at each of three depths
    estimate = estimator.estimate(1, 3)
    assert (estimate.executions, estimate.done) == (8, 1 / 8)


def test_estimator_counts_the_finished_branches():
    todo = {0: 1, 1: 0}
    estimator = Estimator(lambda depth: todo[depth])
    estimator.branched(1)  # on the second of two branches at depth 1, the first of two at 0
    assert estimator.share_done(2) == 1 / 2
    estimator.branched(0)  # on the second at depth 0, the first of two below it
    todo.update({0: 0, 1: 1})
    assert estimator.share_done(2) == 3 / 4


def test_estimator_has_nothing_to_say_before_the_first_execution():
    assert Estimator(lambda _depth: 0).estimate(0, 0) is None


def test_uncertainty_is_how_much_the_estimate_moved():
    todo = {0: 1}
    estimator = Estimator(lambda depth: todo[depth])
    first = estimator.estimate(1, 1)
    assert (first.low, first.executions, first.high) == (2, 2, 2)
    todo[0] = 3
    second = estimator.estimate(1, 1)
    assert (second.low, second.executions, second.high) == (2, 4, 6)


def test_the_lower_end_is_never_below_what_was_already_run():
    todo = {0: 1}
    estimator = Estimator(lambda depth: todo[depth])
    estimator.estimate(1, 1)
    todo[0] = 9
    assert estimator.estimate(9, 1).low == 9


# What listeners are told


def test_listener_sees_growing_numbers_and_one_final_call():
    recorder = Recorder()
    result = treadle.explore(counting_program(2, 3), listener=recorder)
    *before, last = recorder.told
    assert last.final
    assert last.executions == result.executions == math.comb(6, 3)
    assert not any(progress.final for progress in before)
    executions = [progress.executions for progress in before]
    assert executions == sorted(set(executions))
    assert len(executions) >= result.executions - 1  # the last one may be told as the end only


def test_listener_is_not_called_more_often_than_it_wants():
    recorder = Recorder(interval=3600)
    treadle.explore(counting_program(2, 3), listener=recorder)
    assert [progress.final for progress in recorder.told] == [False, True]


def test_listener_hears_the_end_even_of_a_search_that_breaks_off():
    program = treadle.model.Program(lock=treadle.model.Lock())

    @program.process
    def stranger(s):
        yield
        s.lock.release()

    recorder = Recorder()
    with pytest.raises(treadle.TreadleError):
        treadle.explore(program, listener=recorder)
    assert recorder.told[-1].final


@pytest.mark.parametrize("algorithm", ["exhaustive", "source", "optimal"])
def test_nothing_is_called_done_while_executions_are_left(algorithm):
    recorder = Recorder()
    result = treadle.explore(counting_program(2, 3), algorithm, listener=recorder)
    midway = [p.estimate for p in recorder.told if p.executions < result.executions]
    assert max(estimate.done for estimate in midway) < 1
    assert midway[-1].executions == pytest.approx(result.executions, rel=0.2)


@pytest.mark.parametrize("algorithm", ["random", "pct"])
def test_sampling_has_no_estimate_of_what_is_left(algorithm):
    recorder = Recorder()
    treadle.explore(counting_program(2, 3), algorithm, max_executions=20, listener=recorder)
    assert not any("%" in progress_in_words(progress) for progress in recorder.told)


def test_a_search_that_ends_early_has_an_estimate():
    result = treadle.explore(counting_program(3, 3), max_executions=50)
    assert not result.complete
    assert result.estimate > 50


def test_rate_counts_blocked_executions_too():
    assert some_progress(executions=10, blocked=20, seconds=2.0).rate == 15
    assert some_progress(seconds=0.0).rate == 0


# The live line


def test_words_of_progress():
    estimate = Estimate(executions=12000.0, low=8000.0, high=16000.0, done=0.125)
    progress = some_progress(blocked=30, failures=1, estimate=estimate)
    assert progress_in_words(progress) == (
        "1,500 executions, 30 blocked, 510/s, depth 12, "
        "at most 12.5% of ~12,000 (8,000 to 16,000), 1 failure"
    )


def test_words_leave_out_what_is_not_known():
    assert progress_in_words(some_progress()) == "1,500 executions, 500/s, depth 12"
    sampling = Estimate(executions=1500.0, low=1500.0, high=1500.0, done=1.0)
    assert "%" not in progress_in_words(some_progress(estimate=sampling))


def terminal(width: int = 100) -> tuple[Console, io.StringIO]:
    stream = io.StringIO()
    return Console(file=stream, force_terminal=True, width=width, _environ={}), stream


def screen(output: str) -> list[str]:
    """Return what a terminal shows after this output: enough of one for `rich.live`."""
    lines, row = [""], 0
    for token in re.findall(r"\x1b\[[?0-9;]*[A-Za-z]|[\s\S]", output):
        if token == "\x1b[2K":
            lines[row] = ""
        elif token == "\x1b[1A":
            row -= 1
        elif token == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif len(token) == 1 and token != "\r":
            lines[row] += token
    return [line for line in lines if line]


def test_live_line_shows_the_latest_progress_on_one_line():
    console, stream = terminal()
    live = LiveLine(console, label="optimal")
    live(some_progress(executions=100))
    live(some_progress(executions=200))
    assert screen(stream.getvalue()) == ["optimal  200 executions, 67/s, depth 12"]


def test_live_line_is_removed_at_the_end():
    console, stream = terminal()
    live = LiveLine(console)
    live(some_progress())
    live(some_progress(final=True))
    assert "1,500 executions" in stream.getvalue()
    assert screen(stream.getvalue()) == []


def test_live_line_never_takes_a_second_line():
    console, stream = terminal(width=20)
    LiveLine(console)(some_progress())
    (line,) = screen(stream.getvalue())
    assert len(line) <= 20


def test_live_line_is_silent_where_there_is_no_terminal():
    stream = io.StringIO()
    live = LiveLine(Console(file=stream, force_terminal=False))
    live(some_progress())
    live(some_progress(final=True))
    assert stream.getvalue() == ""
    assert live.last.final


def test_live_line_does_not_flash_up_in_a_short_search():
    console, stream = terminal()
    live = LiveLine(console)
    live(some_progress(seconds=0.01))
    live(some_progress(final=True))
    assert stream.getvalue() == ""


def test_live_line_of_a_real_search():
    console, stream = terminal()
    live = LiveLine(console)
    live.interval = 0.0
    result = treadle.explore(counting_program(2, 3), listener=live)
    assert f"{result.executions - 1:,} executions" in stream.getvalue()
    assert screen(stream.getvalue()) == []
