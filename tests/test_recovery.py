"""How constrained algorithms get back to a state: nothing changes but what it takes."""

from __future__ import annotations

import json
from typing import Any

import pytest

import treadle
from treadle.explore.constrained.states import NoExecutionError, States, check_recovery
from treadle.papers.cav18 import PAPER, bb, fib
from treadle.papers.harness import Measurement, Task, explore_in_process

WAYS = ("recompute", "store", "cache:1", "cache:8", "cache:32")


def measured(name: str, n: int, algorithm: str, states: str) -> Measurement:
    benchmark = PAPER.benchmarks[name]
    schedule = benchmark.schedule or "stay"
    task = Task("cav18", name, n, algorithm, schedule, timeout=60, states=states)
    return explore_in_process(benchmark, task)


@pytest.mark.parametrize("algorithm", ["constrained", "optimal-constrained"])
@pytest.mark.parametrize(("name", "n"), [("bb", 4), ("reg", 3), ("fib", 5), ("ps", 4), ("dbp", 2)])
def test_the_counts_are_the_same(name: str, n: int, algorithm: str) -> None:
    found = {way: measured(name, n, algorithm, way) for way in WAYS}
    assert len({(one.executions, one.blocked, one.events) for one in found.values()}) == 1
    assert found["recompute"].states_kept == 0
    assert found["cache:1"].states_kept == 1
    steps = {way: one.steps_rerun or 0 for way, one in found.items()}
    assert steps["cache:32"] <= steps["cache:8"] <= steps["recompute"]
    assert 0 < steps["store"] <= steps["recompute"]


def test_what_it_takes() -> None:
    """Steps that are run again, and states that are kept, of the bounded buffer."""
    found = {way: measured("bb", 5, "constrained", way) for way in WAYS}
    assert {way: (one.steps_rerun, one.states_kept) for way, one in found.items()} == {
        "recompute": (1503, 0),
        "store": (420, 5),
        "cache:1": (found["cache:1"].steps_rerun, 1),
        "cache:8": (335, 8),
        "cache:32": (332, 32),
    }


def test_a_run_goes_on_from_the_nearest_state() -> None:
    program = bb(2)
    program.use_constraints(wanted=True)
    states = States(program, "cache:2")
    main = program.vocabulary.process_number("main")
    assert main is not None
    states.keep((main,), states.at((main,)))
    assert (states.rerun, states.most) == (1, 1)
    put = states.at((main,)).enabled()[0]
    states.keep((main, put), states.at((main, put)))
    assert states.rerun == 3  # the run that stood there was taken, and not given back
    states.keep((main, put), states.at((main, put)))
    assert states.rerun == 3
    with pytest.raises(NoExecutionError):
        states.at((put,))
    for order in ((), (main,)):
        states.keep(order, states.at(order))
    assert states.most == 2
    states.close()


def test_what_was_stored_is_left_with_the_execution() -> None:
    program = bb(2)
    program.use_constraints(wanted=True)
    states = States(program, "store")
    main = program.vocabulary.process_number("main")
    assert main is not None
    states.depth = 3
    states.keep((), states.at(()))
    states.depth = 5
    states.keep((main,), states.at((main,)))
    assert states.most == 1  # the first one went on
    states.leave(4)
    states.keep((main,), states.at((main,)))
    assert states.rerun == 2
    states.close()


@pytest.mark.parametrize("way", ["", "cache", "cache:", "cache:0", "cache:x", "nothing"])
def test_there_is_no_other_way(way: str) -> None:
    with pytest.raises(treadle.TreadleError, match="choose recompute, store or cache:K"):
        check_recovery(way)


def test_tasks_can_be_kept() -> None:
    program = fib(4)
    program.constraints.recovery = "store"
    result = treadle.explore(program, "constrained", schedule="newest")
    assert (result.executions, result.blocked) == (1, 0)
    assert result.states_kept > 0


def test_the_command(command_line: Any) -> None:
    chosen = ("--paper", "cav18", "--program", "bb", "--n", "3", "--algorithm", "constrained")
    status, out, _ = command_line("bench", *chosen, "--states", "store", "--json")
    row = json.loads(out)
    assert (status, row["executions"], row["events"]) == (0, 8, 38)
    assert (row["steps_rerun"] > 0, row["states_kept"] > 0) == (True, True)
    status, out, _ = command_line("bench", *chosen, "--states", "cache:4")
    assert status == 0
    assert "bb(3) under constrained: " in out
    assert " steps re-run, 4 states kept, " in out
    status, _, err = command_line("bench", *chosen, "--states", "all")
    assert status == 2
    assert "choose recompute, store or cache:K" in err
