"""The order of planned steps, done sets where nothing is forbidden, and how steps end processes."""

from __future__ import annotations

from typing import Any

import pytest

import treadle
from treadle.core.errors import TreadleError
from treadle.core.events import Mode, Vocabulary, code
from treadle.explore.context.done import DoneSets, depends_on_any
from treadle.explore.context.planned_order import Imagined
from treadle.model import Program


def vocabulary_of(processes: str, locations: str) -> Vocabulary:
    """Return a vocabulary of some names."""
    vocabulary = Vocabulary()
    for name in processes:
        vocabulary.process(name)
    for name in locations:
        vocabulary.location(name, name)
    return vocabulary


def test_first_steps_come_after_nothing_but_their_creation_and_conflicts() -> None:
    vocabulary = vocabulary_of("pqr", "xy")
    write_x = vocabulary.footprint((code(0, Mode.WRITE),))
    read_x = vocabulary.footprint((code(0, Mode.READ),))
    write_y = vocabulary.footprint((code(1, Mode.WRITE),))
    spawn_r = vocabulary.footprint((code(2, Mode.SPAWN),))
    order = Imagined(vocabulary)
    order.imagine([0, 1, 0], [write_x, write_y, read_x])
    assert order.before == [0b001, 0b010, 0b101]
    order.imagine([0, 2, 1], [spawn_r, write_y, read_x])
    assert order.before == [0b001, 0b011, 0b100], "r happens after its creation"
    order.imagine([2, 1], [write_y, read_x])
    assert order.before == [0b01, 0b10], "nobody created it in this sequence"
    order.imagine([0, 1], [write_x, read_x])
    assert order.before == [0b01, 0b11]


@pytest.mark.parametrize("is_forbidden", [None, lambda _depth, _process: False])
def test_done_sets_ask_only_where_something_is_forbidden(is_forbidden: Any) -> None:
    vocabulary = vocabulary_of("pq", "xy")
    write_x, write_y = (vocabulary.footprint((code(n, Mode.WRITE),)) for n in (0, 1))
    done = DoneSets(depends_on_any, is_forbidden)
    done.sets.append({1: write_y})
    done.begin()
    assert done.is_explored(0, 0, [0], [write_x]), "q's step is independent of p's"
    assert not done.is_explored(0, 0, [0], [write_y])


def test_a_forbidden_step_is_done_only_where_it_was_planned() -> None:
    vocabulary = vocabulary_of("pq", "xy")
    write_x, write_y = (vocabulary.footprint((code(n, Mode.WRITE),)) for n in (0, 1))
    done = DoneSets(depends_on_any, lambda _depth, process: process == 1)
    done.sets.append({1: write_y})
    done.begin()
    assert not done.is_explored(0, 0, [0], [write_x])
    assert done.is_explored(0, 0, [0, 1], [write_x, write_y])


def crashing(error: BaseException) -> Program:
    """Return a process that raises in its second step, beside another one."""
    program = Program("crashing", x=0)

    @program.process
    def p(s: Any) -> Any:
        yield
        s.x = 1
        yield
        raise error

    @program.process
    def q(s: Any) -> Any:
        yield
        s.x = 2

    return program


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(1)])
def test_a_crash_ends_its_process_in_steps_and_in_replays(error: BaseException) -> None:
    program = crashing(error)
    run = program.start()
    processes: list[int] = []
    codes: list[tuple[int, ...]] = []
    assert run.finish(-1, 100, processes, codes)
    again = program.start()
    assert again.replay(processes, codes, len(codes)) == -1
    for ended in (run, again):
        assert [(crash.process, crash.step) for crash in ended.crashes] == [(0, 1)]
        assert ended.has_ended(0)
    result = treadle.explore(program, stop_on_failure=False)
    assert (result.executions, len(result.failures)) == (2, 1)


def test_an_error_of_use_is_nobodys_crash() -> None:
    with pytest.raises(TreadleError, match="used wrongly"):
        treadle.explore(crashing(TreadleError("used wrongly")))
