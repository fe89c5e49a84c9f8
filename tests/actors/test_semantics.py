"""What tasks do: messages, waiting, exceptions, groups, and what is refused."""

from __future__ import annotations

import contextvars
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import pytest

import treadle
from treadle.actors import Actor, Future, Program, pause, until
from treadle.actors.control import own_future


class Cell(Actor):
    """Keeps what it is given."""

    def __init__(self, value: Any = 0) -> None:
        self.value = value

    async def set(self, value):
        self.value = value

    async def get(self):
        return self.value

    async def add(self, value):
        self.value.append(value)
        return self.value

    async def fail(self):
        raise ValueError("oops")

    async def check(self, value):
        assert self.value == value, self.value

    def plain(self, value):
        return self.value + value


def outcomes(main: Callable[[set[Any]], Any], **options: Any) -> set[Any]:
    """Explore all interleavings of a program; return what it noted."""
    noted: set[Any] = set()
    result = treadle.explore(Program(main, _Shared(noted)), "exhaustive", **options)
    assert result.ok, result
    return noted


class _Shared:
    """Something that all actors share, in spite of all rules: it is neither copied nor compared."""

    __treadle_value__ = True

    def __init__(self, noted: set[Any]) -> None:
        self.add = noted.add


def failures(main: Callable[..., Any], *args: Any, **options: Any) -> list[tuple[str, str]]:
    result = treadle.explore(Program(main, *args), stop_on_failure=False, **options)
    return [(failure.kind, failure.message) for failure in result.failures]


def refusal(main: Callable[..., Any], *args: Any) -> str:
    with pytest.raises(treadle.TreadleError) as refused:
        treadle.explore(Program(main, *args))
    assert __file__.rpartition("/")[2] in str(refused.value), "it names the line"
    return str(refused.value)


# Messages


def test_messages_are_copied_when_they_are_sent() -> None:
    def main(noted):
        items = [1]
        cell = Cell(items)
        items.append(2)
        noted.add(tuple(cell.get.send().get()))
        sent = cell.set.send(items)
        items.append(3)
        sent.get()
        noted.add(tuple(cell.get.send().get()))

    assert outcomes(main) == {(1,), (1, 2)}


def test_results_are_copied_each_time() -> None:
    def main(noted):
        cell = Cell([])
        future = cell.add.send(1)
        first = future.get()
        first.append(99)
        noted.add(tuple(future.get()))
        cell.add.send(2).get()
        noted.add(tuple(future.get()))

    assert outcomes(main) == {(1,)}


def test_actors_and_futures_are_handed_over() -> None:
    class Asker(Actor):
        async def ask(self, cell, future, noted):
            noted.add((await future, cell is self.cell, self is self))

        async def keep(self, cell):
            self.cell = cell

    def main(noted):
        cell, asker = Cell(7), Asker()
        asker.keep.send(cell).get()
        asker.ask.send(cell, cell.get.send(), noted)

    assert outcomes(main) == {(7, True, True)}


@pytest.mark.parametrize("value", [(x for x in ()), open, print])
def test_what_cannot_be_copied_is_refused(value: Any) -> None:
    def main():
        Cell().set.send(value)

    if callable(value):  # a function of C brings nothing along
        assert failures(main) == []
    else:
        assert "an argument of set cannot be copied" in refusal(main)


def test_a_function_with_variables_is_refused() -> None:
    def main():
        items: list[int] = []
        Cell().set.send(lambda: items)

    assert "a function with variables of its own" in refusal(main)


def test_a_result_that_cannot_be_copied_is_refused() -> None:
    class Maker(Actor):
        async def make(self):
            return (x for x in ())

    def main():
        Maker().make.send()

    with pytest.raises(treadle.TreadleError, match="the result of make of Maker1 cannot be copied"):
        treadle.explore(Program(main))


def test_wrong_arguments_are_the_sender_s_mistake() -> None:
    def main():
        Cell().set.send()

    assert failures(main) == [
        ("exception", "TypeError: set(self, value): missing a required argument: 'value'")
    ]


# Waiting


def test_get_keeps_the_actor_and_await_releases_it() -> None:
    class Waiter(Actor):
        def __init__(self, noted):
            self.seen, self.noted = "", noted

        async def holds(self, cell):
            self.seen += "a"
            cell.get.send().get()
            self.seen += "b"

        async def releases(self, cell):
            self.seen += "a"
            await cell.get.send()
            self.seen += "b"

        async def interrupts(self):
            self.seen += "!"

        async def tell(self):
            self.noted.add(self.seen)

    def main(noted, how):
        waiter, cell = Waiter(noted), Cell()
        future = getattr(waiter, how).send(cell)
        other = waiter.interrupts.send()
        future.get()
        other.get()
        waiter.tell.send()

    assert outcomes(lambda noted: main(noted, "holds")) == {"ab!", "!ab"}
    assert outcomes(lambda noted: main(noted, "releases")) == {"ab!", "!ab", "a!b"}


def test_an_await_that_is_ready_goes_on() -> None:
    class Waiter(Actor):
        def __init__(self):
            self.seen = ""

        async def go(self, noted, cell, again):
            future = cell.get.send()
            future.get()
            self.seen += "a"
            await future
            if again:
                await pause()
            self.seen += "b"
            noted.add(self.seen)

        async def interrupts(self):
            self.seen += "!"

    def main(noted, again=False):
        waiter = Waiter()
        waiter.go.send(noted, Cell(), again)
        waiter.interrupts.send()

    assert outcomes(main) == {"ab", "!ab"}
    assert outcomes(lambda noted: main(noted, again=True)) == {"ab", "!ab", "a!b"}


def test_an_older_future_is_tested() -> None:
    class Waiter(Actor):
        def __init__(self):
            self.seen = ""

        async def go(self, noted, one, two):
            future = one.get.send()
            two.get.send().get()
            self.seen += "a"
            await future
            self.seen += "b"
            noted.add(self.seen)

        async def interrupts(self):
            self.seen += "!"

    def main(noted):
        waiter = Waiter()
        waiter.go.send(noted, Cell(), Cell())
        waiter.interrupts.send()

    assert outcomes(main) == {"ab", "!ab", "a!b"}
    assert outcomes(main, always_release=True) == {"ab", "!ab", "a!b"}


def test_always_release() -> None:
    class Waiter(Actor):
        def __init__(self):
            self.seen = ""

        async def go(self, noted):
            await until(lambda: True)
            self.seen += "a"
            noted.add(self.seen)

        async def interrupts(self):
            self.seen += "!"

    def main(noted):
        waiter = Waiter()
        waiter.go.send(noted).get()
        waiter.interrupts.send()

    plain = treadle.explore(Program(main, _Shared(set())), "exhaustive")
    releasing = treadle.explore(Program(main, _Shared(set())), "exhaustive", always_release=True)
    assert (plain.executions, releasing.executions) == (1, 1)
    assert plain.states is not None
    assert releasing.states == plain.states + 1


def test_conditions() -> None:
    class Gate(Actor):
        def __init__(self):
            self.open = 0

        async def enter(self, n, noted):
            await until(lambda: self.open >= n)
            noted.add((n, self.open))

        async def lift(self):
            self.open += 1

    def main(noted):
        gate = Gate()
        gate.enter.send(1, noted)
        gate.lift.send()
        gate.lift.send()

    assert outcomes(main) == {(1, 1), (1, 2)}


def test_what_a_condition_raises_is_the_task_s() -> None:
    class Gate(Actor):
        def __init__(self):
            self.items = ()

        async def enter(self):
            await pause()
            await until(lambda: self.items[0])

        async def late(self):
            self.open = False
            await until(lambda: self.open and 1 / 0)

        async def lift(self):
            self.open = True

    def main():
        gate = Gate()
        gate.late.send()
        gate.lift.send()

    assert ("exception", "ZeroDivisionError: division by zero") in failures(main)
    assert failures(lambda: Gate().enter.send()) == [
        ("exception", "IndexError: tuple index out of range")
    ]


def test_a_main_that_waits() -> None:
    async def main(noted):
        cell = Cell(1)
        await cell.set.send(2)
        noted.add(await cell.get.send())
        noted.add(cell.get.send().get())

    assert outcomes(main) == {2}


def test_helpers_may_wait() -> None:
    def twice(cell):
        return [cell.get.send().get() for _ in range(2)]

    class Caller(Actor):
        def work(self, cell, noted):
            noted.add(tuple(self.helper(cell)))

        def helper(self, cell):
            return twice(cell)

    assert outcomes(lambda noted: Caller().work.send(Cell(3), noted)) == {(3, 3)}


# Exceptions


def test_an_exception_is_raised_again_by_who_waits() -> None:
    class Caller(Actor):
        async def blocks(self, cell, noted):
            try:
                cell.fail.send().get()
            except ValueError as error:
                noted.add(str(error))

        async def awaits(self, cell, noted):
            future = cell.fail.send()
            await future.done()
            try:
                await future
            except ValueError as error:
                noted.add(f"{error}!")

    def main(noted):
        caller, cell = Caller(), Cell()
        caller.blocks.send(cell, noted)
        caller.awaits.send(cell, noted)

    assert outcomes(main) == {"oops", "oops!"}


def test_an_exception_that_nobody_retrieves_is_a_finding() -> None:
    class Caller(Actor):
        async def only_waits(self, cell):
            await cell.fail.send().done()

        async def passes_on(self, cell):
            await cell.fail.send()

    result = treadle.explore(Program(lambda: Caller().only_waits.send(Cell())))
    (failure,) = result.failures
    assert (failure.kind, failure.process) == ("exception", "main.1:only_waits.1:fail")
    result = treadle.explore(Program(lambda: Caller().passes_on.send(Cell())))
    (failure,) = result.failures
    assert (failure.kind, failure.process) == ("exception", "main.1:passes_on")


def test_a_failed_assertion_is_a_finding_at_once_and_others_go_on() -> None:
    class Caller(Actor):
        async def catches(self, cell):
            try:
                await cell.check.send(1)
            except AssertionError:
                await cell.fail.send()

    result = treadle.explore(Program(lambda: Caller().catches.send(Cell())), stop_on_failure=False)
    assert [failure.kind for failure in result.failures] == ["assertion", "exception"]
    assert result.executions == 1


def test_a_failed_main_is_a_finding() -> None:
    def main():
        raise KeyError("x")

    assert failures(main) == [("exception", "KeyError: 'x'")]


def test_a_task_that_waits_for_itself() -> None:
    class Selfish(Actor):
        async def awaits(self):
            await own_future()

        async def blocks(self):
            own_future().get()

    for how in ("awaits", "blocks"):
        result = treadle.explore(Program(lambda how=how: getattr(Selfish(), how).send()))
        assert [failure.kind for failure in result.failures] == ["deadlock"]


# Groups


def test_local_actors_share_a_lock_and_call_each_other() -> None:
    class Part(Actor):
        def __init__(self):
            self.n = 0

        def plus(self, k):
            self.n += k
            return self.n

        async def slowly(self, k):
            await pause()
            return self.plus(k)

    class Whole(Actor):
        def __init__(self):
            self.part = Part.local()
            self.part.n = 5

        async def work(self, noted):
            assert self.part.plus(1) == 6
            self.part.n += 1
            noted.add((await self.part.slowly(1), self.part.n))

        async def holds(self, cell):
            cell.get.send().get()

        async def part_of(self):
            return self.part

    def main(noted):
        Whole().work.send(noted)

    assert outcomes(main) == {(8, 8)}

    def foreign():
        part = Whole().part_of.send().get()
        part.plus(1)

    assert "calls plus of Part1, which is another actor" in refusal(foreign)


def test_run_is_sent_to_new_actors() -> None:
    class Active(Actor):
        def __init__(self, noted):
            self.noted = noted

        async def run(self):
            self.noted.add("runs")

    assert outcomes(lambda noted: Active(noted)) == {"runs"}


def test_an_initialiser_may_send() -> None:
    class Active(Actor):
        def __init__(self, noted):
            self.n = 1
            self.tell.send(noted)
            self.n = 2

        async def tell(self, noted):
            noted.add(self.n)

    assert outcomes(lambda noted: Active(noted)) == {2}


def test_inherited_methods_and_mixins_can_be_sent() -> None:
    class Doubled:
        def twice(self, noted):
            noted.add(self.base() * 2)

    class Base(Actor):
        def base(self):
            return 1

        @abstractmethod
        def more(self): ...

    class Derived(Base, Doubled):
        def base(self):
            return super().base() + 10

        def more(self): ...

    assert outcomes(lambda noted: Derived().twice.send(noted)) == {22}
    with pytest.raises(treadle.TreadleError, match="leave __slots__ out"):
        type("Slim", (Actor,), {"__slots__": ("x",)})


def test_calls_within_and_across_groups() -> None:
    class Caller(Actor):
        async def one(self):
            return 1

        async def ask(self, cell, noted):
            noted.add((await self.one.call(), await cell.plain.call(4)))

    assert outcomes(lambda noted: Caller().ask.send(Cell(3), noted)) == {(1, 7)}


# What is refused


def test_a_field_of_another_actor() -> None:
    class Thief(Actor):
        async def reads(self, cell):
            return cell.value

        async def writes(self, cell):
            cell.value = 1

        async def catches(self, cell):
            try:
                return cell.value
            except Exception:
                return None

    for how in ("reads", "catches"):
        said = refusal(lambda how: getattr(Thief(), how).send(Cell()), how)
        assert f"{how} of Thief1 reads value of Cell1, which is another actor" in said
    said = refusal(lambda: Thief().writes.send(Cell()))
    assert "writes of Thief1 writes value of Cell1, which is another actor" in said


def test_a_method_that_is_not_there() -> None:
    def main():
        Cell().sett.send(1)

    assert "Cell has no method 'sett': did you mean 'set'?" in refusal(main)


def test_a_call_without_send() -> None:
    def main():
        Cell().get()

    assert "main calls get of Cell1, which is another actor: write .get.send(...)" in refusal(main)


def test_waiting_in_an_initialiser() -> None:
    class Hasty(Actor):
        def __init__(self, cell):
            self.value = cell.get.send().get()

    assert "waited for in an initialiser" in refusal(lambda: Hasty(Cell()))


def test_effects_in_a_condition() -> None:
    class Gate(Actor):
        async def enter(self, cell):
            await until(lambda: cell.get.send())

    assert "in a condition of until()" in refusal(lambda: Gate().enter.send(Cell()))


def test_what_is_done_outside_of_a_task() -> None:
    with pytest.raises(treadle.TreadleError, match="an actor of Cell is made outside of a task"):
        Cell()
    with pytest.raises(treadle.TreadleError, match=r"until\(\) needs a function"):
        until(True)  # type: ignore[arg-type]


def test_an_actor_of_another_execution() -> None:
    kept: list[Cell] = []

    def main():
        kept.append(Cell())
        kept[0].get.send()

    with pytest.raises(treadle.TreadleError, match="an actor of another execution"):
        treadle.explore(Program(main))


def test_what_is_no_future_cannot_be_awaited() -> None:
    class Foreign:
        def __await__(self):
            yield 1

    class Waiter(Actor):
        async def go(self):
            await Foreign()

    assert "awaits something that is no future" in refusal(lambda: Waiter().go.send())


def test_a_program_without_its_arguments() -> None:
    def main(n):
        Cell(n)

    with pytest.raises(treadle.TreadleError, match="missing a required argument: 'n'"):
        treadle.explore(Program(main))
    assert treadle.explore(Program(main)(3)).ok
    assert treadle.explore(Program(main)(n=3)).ok
    with pytest.raises(treadle.TreadleError, match="unknown order 'first'"):
        Program(main, order="first")


def test_explorations_are_not_nested() -> None:
    def inner():
        Cell()

    def main():
        treadle.explore(Program(inner))

    with pytest.raises(treadle.TreadleError, match="main is being explored"):
        treadle.explore(Program(main))


# Around tasks


def test_context_variables_are_those_of_the_exploration() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="?")

    class Reader(Actor):
        async def read(self, noted, cell):
            noted.add(variable.get())
            variable.set("mine")
            await cell.get.send()
            noted.add(f"then {variable.get()}")

    def main(noted):
        cell = Cell()
        for _ in range(2):
            Reader().read.send(noted, cell)

    variable.set("outer")
    assert outcomes(main) == {"outer", "then mine"}


def test_a_task_that_will_not_end_is_left_alone() -> None:
    class Stubborn(Actor):
        async def go(self, cell):
            while True:
                try:
                    cell.never.send().get()
                except BaseException:
                    continue

    class Never(Actor):
        async def never(self):
            await until(lambda: False)

    result = treadle.explore(Program(lambda: Stubborn().go.send(Never())))
    assert [failure.kind for failure in result.failures] == ["stuck"]


def test_names_are_those_of_the_document() -> None:
    class Maker(Actor):
        async def make(self):
            self.first, self.second = Cell(1), Cell(2)
            self.first.get.send()
            self.second.get.send()
            assert repr(self.second) == "main.1:make/Cell2"

    program = Program(lambda: Maker().make.send())
    assert treadle.explore(program).ok
    assert program.vocabulary.process_names == [
        "main", "main.1:make", "main.1:make.1:get", "main.1:make.2:get",
    ]  # fmt: skip


def test_futures_say_whose_they_are() -> None:
    def main(noted):
        future = Cell().get.send()
        assert isinstance(future, Future)
        noted.add(repr(future))

    assert outcomes(main) == {"<future of get of Cell1>"}
