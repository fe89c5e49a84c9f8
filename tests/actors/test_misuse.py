"""What tasks must not do, each told in one sentence with its line; and steps that never end."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

import treadle
from treadle.actors import Actor, Program, pause, program, until

HERE = Path(__file__).name


def line_of(text: str) -> int:
    """Return the only line of this file that ends with a text in a comment."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    (found,) = [i for i, line in enumerate(lines, 1) if line.endswith(f"# {text}")]
    return found


class Careless(Actor):
    def __init__(self):
        self.n = 0

    async def forgets_until(self):
        until(lambda: self.n > 0)  # forgotten condition
        self.n = 1

    async def forgets_pause(self):
        self.n += 1
        pause()  # forgotten pause
        self.n += 1

    async def awaits_later(self):
        condition = until(lambda: self.n > 0)
        self.n = 1
        await self.other.send()
        await condition

    def waits_for(self, n):
        return until(lambda: self.n >= n)

    async def awaits_what_a_method_made(self):
        await self.waits_for(1)

    async def raises_first(self):
        until(lambda: False)
        raise ValueError("first")

    async def other(self):
        self.n += 1

    async def writes_in_a_condition(self):
        await until(lambda: setattr(self, "n", 1) or True)  # written in a condition

    async def sends_in_a_condition(self):
        await until(lambda: self.other.send())  # sent in a condition

    async def makes_in_a_condition(self):
        await until(lambda: Careless())  # made in a condition

    async def sleeps(self):
        await asyncio.sleep(0)  # foreign

    async def spins(self):  # endless
        n = 0
        while True:
            n += 1
            n -= abs(n)

    async def spins_and_swallows(self):
        while True:
            try:
                while True:
                    pass
            except BaseException:
                pass

    async def spins_in_a_condition(self):
        def never() -> bool:
            while True:
                pass

        await until(never)

    async def takes_its_time(self):
        self.n = sum(range(2_000_000))


def doing(*methods: str, **options: Any) -> Program:
    def main() -> Any:
        actor = Careless()
        for method in methods:
            getattr(actor, method).send()
        return actor

    return Program(main, **options)


def refusal(*methods: str, **options: Any) -> str:
    with pytest.raises(treadle.TreadleError) as caught:
        treadle.explore(doing(*methods), **options)
    return str(caught.value)


@pytest.mark.parametrize("dependency", ["actor", "field", "access", "entry"])
@pytest.mark.parametrize(
    ("method", "what", "mark"),
    [
        ("forgets_until", "makes until(...) and does not await it", "forgotten condition"),
        ("forgets_pause", "makes pause(...) and does not await it", "forgotten pause"),
        ("writes_in_a_condition", "n is written in a condition", "written in a condition"),
        ("sends_in_a_condition", "something is sent in a condition", "sent in a condition"),
        ("makes_in_a_condition", "an actor is made in a condition", "made in a condition"),
        ("sleeps", "awaits something that is no future", "foreign"),
    ],
)
def test_a_mistake_is_told_with_its_line(
    method: str, what: str, mark: str, dependency: str
) -> None:
    said = refusal(method, dependency=dependency)
    assert what in said
    assert f"{HERE}:{line_of(mark)}" in said
    assert "\n" not in said


@pytest.mark.parametrize(
    ("methods", "executions"),
    [
        (("awaits_later",), 1),
        (("awaits_what_a_method_made", "other"), 2),
        (("awaits_what_a_method_made", "other", "other"), 8),
    ],
)
def test_a_condition_may_be_awaited_later(methods: tuple[str, ...], executions: int) -> None:
    result = treadle.explore(doing(*methods))
    assert result.ok
    assert result.executions == executions


def test_an_exception_comes_before_a_condition_that_was_forgotten() -> None:
    (failure,) = treadle.explore(doing("raises_first")).failures
    assert (failure.kind, failure.message) == ("exception", "ValueError: first")


# Steps that never end


@pytest.mark.parametrize("algorithm", ["exhaustive", "sleep", "optimal"])
def test_a_step_without_end_is_a_failure(algorithm: str) -> None:
    result = treadle.explore(
        doing("other", "spins"), algorithm=algorithm, watchdog=0.1, stop_on_failure=False
    )
    failure = result.failures[0]
    assert failure.kind == "budget"
    assert "spins of Careless1" in failure.message
    assert f"{HERE}:{line_of('endless')}) computes without end" in failure.message
    assert (result.executions, result.failing) == (2, 2)
    assert "watchdog" not in failure.options


def test_a_step_without_end_is_replayed() -> None:
    tested = doing("other", "spins", watchdog=0.1)
    (failure,) = treadle.explore(tested).failures
    again = treadle.replay(tested, failure.token)
    assert again is not None
    assert (again.kind, again.message) == (failure.kind, failure.message)


def test_a_task_that_swallows_its_end_is_left_alone() -> None:
    try:
        (failure,) = treadle.explore(doing("spins_and_swallows"), watchdog=0.1).failures
        said = failure.message
    except treadle.TreadleError as error:
        said = str(error)
    assert "spins_and_swallows of Careless1" in said
    assert "computes without end" in said


def test_a_condition_without_end_is_refused() -> None:
    said = refusal("spins_in_a_condition", watchdog=0.1)
    assert said.startswith("a condition of spins_in_a_condition of Careless1")
    assert "computes without end" in said


@pytest.mark.parametrize("patience", [None, 60])
def test_a_step_may_take_its_time(patience: float | None) -> None:
    assert treadle.explore(doing("takes_its_time"), watchdog=patience).ok


def test_nobody_watches_in_another_thread() -> None:
    found: list[treadle.Result] = []
    explore = lambda: found.append(treadle.explore(doing("other"), watchdog=0.1))  # noqa: E731
    thread = threading.Thread(target=explore)
    thread.start()
    thread.join()
    assert found[0].ok


def test_a_budget_of_steps_names_the_method_that_goes_on() -> None:
    class Endless(Actor):
        async def behave(self):
            self.behave.send()

    @program
    def endless():
        Endless().behave.send()

    (failure,) = treadle.explore(endless, max_steps=40).failures
    assert failure.kind == "budget"
    assert "no end after 40 steps: 39 of the last 40 are of" in failure.message
    assert "Endless.behave" in failure.message


# In JSON

SWAPPED = """
from treadle.actors import Actor, program


class Cell(Actor):
    def __init__(self):
        self.value = 0

    async def set(self, value):
        self.value = value


@program
def twice(last):
    cell = Cell()
    for value in range(1, last + 1):
        cell.set.send(value)
    return cell


@twice.finally_
def the_last_one_stays(cell):
    assert cell.value > 1
"""


def as_json(call: Any, path: Path, *options: str) -> tuple[int, Any]:
    status, out, _ = call("run", f"{path}::twice(2)", *options, "--json", "--no-database")
    return status, json.loads(out)


def test_remarks_are_in_the_json(tmp_path: Path, command_line: Any) -> None:
    path = tmp_path / "swapped.py"
    path.write_text(SWAPPED, encoding="utf-8")
    code, found = as_json(command_line, path)
    (failure,) = found["failures"]
    assert code == 1
    (remark,) = failure["remarks"]
    assert remark.startswith("It needs two messages of one sender to be swapped")
    assert 'order="sender"' in remark
    code, found = as_json(command_line, path, "--order", "sender")
    assert (code, found["verdict"], found["executions"]) == (0, "verified", 1)
