"""What context-sensitive checks compare, and take for equal."""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import treadle
from algorithms import coarser
from brute import Dependence, Observed, explored
from logbook import counts, logbook
from treadle.core.errors import TreadleError
from treadle.explore.choosers import SCHEDULES
from treadle.explore.context.context import Context
from treadle.explore.context.exploration import Exploration
from treadle.explore.context.optimal_context import OptimalContext
from treadle.explore.observers.optimal_context_observers import OptimalContextObservers
from treadle.model import Program
from treadle.papers import jss23

# The refined check, and what makes no sense


@pytest.mark.parametrize("algorithm", [Context, OptimalContext, OptimalContextObservers])
def test_the_refined_check_decides_like_the_comparison_of_whole_states(
    algorithm: type[Any],
) -> None:
    for make in (jss23.running_example, lambda: jss23.arraywrite(4), lambda: jss23.abs_(3)):
        whole = logbook(make(), algorithm, refined=False)
        assert whole.runs == logbook(make(), algorithm).runs


def test_without_the_refinement_everything_has_to_be_comparable() -> None:
    def make() -> Program:
        program = Program("make", x=0, unrelated=Node())

        def write(s: Any) -> Any:
            yield
            s.x = 1

        program.process(write, name="p")
        program.process(write, name="q")
        return program

    assert counts(make, "optimal-context") == (1, 1)
    assert counts(make, "optimal-context", refined=False) == (2, 0)


@pytest.mark.parametrize("algorithm", coarser())
def test_data_races_need_every_order(algorithm: str) -> None:
    with pytest.raises(TreadleError, match="races=True needs an algorithm that sees every order"):
        treadle.explore(jss23.running_example(), algorithm, races=True)


def test_a_forbidden_run_is_stopped_before_its_step() -> None:
    assert issubclass(OptimalContext, Exploration)
    blocked = [run for run in logbook(jss23.abs_(3), OptimalContext).runs if "-" in run]
    assert len(blocked) == 10


def test_no_algorithm_completes_two_executions_of_one_class() -> None:
    for make in (jss23.running_example, lambda: jss23.floatingread(4, same=False)):
        for algorithm in coarser():
            order = Observed if "observers" in algorithm else Dependence
            classes = explored(make(), algorithm, order=order).classes
            assert len(set(classes)) == len(classes)


# What the checks take for equal


class Node:
    """A value like any other of its kind, but not the same."""

    def __init__(self) -> None:
        self.value = 1


class Private:
    """Has a slot whose name is mangled."""

    __slots__ = ("__v", "a")

    def __init__(self, v: int) -> None:
        self.a, self.__v = 0, v

    def get(self) -> int:
        """Return what the slot holds."""
        return self.__v


def class_with(v: int) -> type[Any]:
    """Return a class that has the name of others that this returns."""

    class Constant:
        def __init__(self) -> None:
            self.a = 0

        def get(self) -> int:
            return v

    return Constant


class Anything(int):
    """Equal to everything."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


class Tagged(str):
    """A string with a slot."""

    __slots__ = ("tag",)
    tag: int

    def __new__(cls, tag: int) -> Tagged:
        made = super().__new__(cls, "a")
        made.tag = tag
        return made


def tagged_function(v: int) -> Any:
    """Return a function with an attribute."""

    def function() -> None:
        pass

    function.tag = v  # type: ignore[attr-defined]
    return function


ONE, TWO = class_with(1), class_with(2)
Make = Callable[[], Any]


def last_value(p: Make, q: Make, check: Callable[[Any], bool]) -> Program:
    """Return two processes that assign, and one that looks at what was assigned last."""
    program = Program("last_value", x=None)

    def assign(s: Any, make: Make) -> Any:
        yield
        s.x = make()

    program.process(assign, p, name="p")
    program.process(assign, q, name="q")

    @program.process
    def r(s: Any) -> Any:
        yield s.join("p")
        yield s.join("q")
        assert check(s.x)

    return program


@pytest.mark.parametrize("algorithm", coarser())
@pytest.mark.parametrize(
    ("p", "q", "check"),
    [
        (lambda: Private(1), lambda: Private(2), lambda x: x.get() == 2),
        (ONE, TWO, lambda x: x.get() == 2),
        (lambda: Anything(1), lambda: Anything(2), lambda x: int(x) == 2),
        (lambda: Tagged(1), lambda: Tagged(2), lambda x: x.tag == 2),
        (lambda: tagged_function(1), lambda: tagged_function(2), lambda x: x.tag == 2),
        (lambda: 1, lambda: True, lambda x: x is True),
        (lambda: (0.0,), lambda: (-0.0,), lambda x: str(x[0]) == "0.0"),
        (lambda: range(0), lambda: range(5, 5), lambda x: x.start == 0),
        (
            lambda: frozenset([0]) | frozenset([8]),
            lambda: frozenset([8]) | frozenset([0]),
            lambda x: list(x) == [0, 8],
        ),
    ],
    ids=[
        "slots", "class names", "own eq", "slots of a string", "attributes of a function",
        "1 and True", "signs of zero", "empty ranges", "order of a set",
    ],
)  # fmt: skip
def test_values_that_look_equal_are_told_apart(
    p: Make, q: Make, check: Callable[[Any], bool], algorithm: str
) -> None:
    same_as_exhaustive(lambda: last_value(p, q, check), algorithm)


def same_as_exhaustive(make: Callable[[], Any], algorithm: str, **options: Any) -> None:
    """Compare the failures of an algorithm with all that there are; there must be one."""
    found, expected = (
        treadle.explore(make(), name, stop_on_failure=False, **options)
        for name in (algorithm, "exhaustive")
    )
    assert found.complete
    assert expected.complete
    # Not by their messages, in which addresses stand.
    assert {(f.kind, f.process) for f in found.failures} == {
        (f.kind, f.process) for f in expected.failures
    }
    assert expected.failures


def own_node() -> Program:
    """Looks whether the last node is the own one."""
    program = Program("own_node", head=None)

    @program.process
    def p(s: Any) -> Any:
        node = Node()
        yield
        s.head = node
        yield
        assert s.head is node

    @program.process
    def q(s: Any) -> Any:
        yield
        s.head = Node()

    return program


def aliases() -> Program:
    """Looks whether two variables have the same value."""
    program = Program("aliases", x=None, y=None)

    @program.process
    def p(s: Any) -> Any:
        both: Any = (0, [])
        yield
        s.x = both
        yield
        s.y = both

    @program.process
    def q(s: Any) -> Any:
        yield
        s.x = (0, [])

    @program.process
    def r(s: Any) -> Any:
        yield s.join("p")
        yield s.join("q")
        assert s.x is s.y

    return program


def set_in_two_orders() -> Program:
    """Looks at the first element of a set that is built in two orders."""
    program = Program("set_in_two_orders", x=frozenset())

    def add(s: Any, value: int) -> Any:
        yield
        s.x = s.x | {value}

    program.process(add, 0, name="p")
    program.process(add, 8, name="q")

    @program.process
    def r(s: Any) -> Any:
        yield s.until(lambda: len(s.x) == 2)
        assert next(iter(s.x)) == 0

    return program


@pytest.mark.parametrize("algorithm", coarser())
@pytest.mark.parametrize("make", [own_node, aliases, set_in_two_orders])
def test_identity_and_order_of_values_can_be_seen(
    make: Callable[[], Program], algorithm: str
) -> None:
    same_as_exhaustive(make, algorithm)


# Observers that look at more, or not at all, when they come at another time

ORDERS = list(itertools.permutations(range(3)))


def open_observer(order: Sequence[int]) -> Program:
    """What `c` reads after a depends on a."""
    program = Program("open_observer", a=0, x=0)

    def a(s: Any) -> Any:
        yield
        s.a = 0

    def b(s: Any) -> Any:
        yield
        s.a = 2
        yield
        s.x = 1

    def c(s: Any) -> Any:
        yield
        assert not (s.a == 0 and s.x == 1)

    for index in order:
        program.process((a, b, c)[index])
    return program


@pytest.mark.parametrize("algorithm", coarser())
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_an_open_observer_comes_behind_what_it_was_probed_behind(
    schedule: str, algorithm: str
) -> None:
    for order in ORDERS:
        same_as_exhaustive(functools.partial(open_observer, order), algorithm, schedule=schedule)


def waiting_observer(order: Sequence[int]) -> Program:
    """`c` waits in vain if `a` is the last."""
    program = Program("waiting_observer", y=0)

    def a(s: Any) -> Any:
        yield
        s.y = 2

    def b(s: Any) -> Any:
        yield
        s.y = 0
        yield
        s.y = 0

    def c(s: Any) -> Any:
        yield s.until(lambda: s.y == 0)

    for index in order:
        program.process((a, b, c)[index])
    return program


@pytest.mark.parametrize("algorithm", coarser())
def test_an_observer_that_cannot_look_is_not_planned(algorithm: str) -> None:
    for order in ORDERS:
        same_as_exhaustive(functools.partial(waiting_observer, order), algorithm)


# Threads


class Plain:
    """Attributes in a dictionary."""

    kind = 1
    x: Any
    ok: bool


class Other(Plain):
    """Has another class attribute."""

    kind = 2


class WithSlot:
    """Has a slot."""

    __slots__ = ("v",)
    v: int


class SlotAndMore(WithSlot):
    """Has a slot and a dictionary."""


def in_threads(*bodies: Callable[[], None]) -> None:
    """Run functions side by side."""
    threads = [threading.Thread(target=body, name=body.__name__) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def slot_is_assigned() -> None:
    o = SlotAndMore()
    o.v = 0

    def p() -> None:
        o.v = 1

    def q() -> None:
        o.v = 2

    in_threads(p, q)
    assert o.v == 2


def class_is_assigned() -> None:
    o = Plain()

    def p() -> None:
        o.__class__ = Other

    def q() -> None:
        o.__class__ = Plain

    in_threads(p, q)
    assert o.kind == 1


def class_is_looked_at() -> None:
    o = Plain()

    def p() -> None:
        o.__class__ = Other

    def q() -> None:
        assert o.kind == 1

    in_threads(p, q)


def own_tuple() -> None:
    o = Plain()
    o.x, o.ok = None, True

    def p() -> None:
        o.x = (1,)

    def q() -> None:
        mine = (1, int("0"))[:1]
        o.x = mine
        o.ok = o.x is mine

    in_threads(p, q)
    assert o.ok


@pytest.mark.parametrize("algorithm", coarser())
@pytest.mark.parametrize(
    "test", [slot_is_assigned, class_is_assigned, class_is_looked_at, own_tuple]
)
def test_threads_tell_values_apart(test: Callable[[], None], algorithm: str) -> None:
    same_as_exhaustive(lambda: test, algorithm)
