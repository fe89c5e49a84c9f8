"""Shared objects die where CPython frees them, and weak references to them with them."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from together import outcomes, together

import treadle
from treadle.threads.primitives.local import Locals

ALGORITHMS = ["exhaustive", "sleep", "source", "optimal"]


class Node:
    """Something that can be referred to weakly."""


class Parent(Node):
    """Something that has something else."""

    def __init__(self) -> None:
        self.child = Node()

    def old(self) -> bool:
        """Tell whether it has a child."""
        return self.child is not None


class Client:
    """One of those that are counted by weak references."""

    alive: set[weakref.ref[Client]] = set()  # noqa: RUF012

    def __init__(self) -> None:
        self.alive.add(weakref.ref(self, self.left))

    @classmethod
    def left(cls, reference: weakref.ref[Client]) -> None:
        cls.alive.remove(reference)


@pytest.mark.parametrize(("threads", "executions"), [(1, 1), (2, 6)])
def test_what_a_thread_has_of_a_local_dies_with_the_thread(threads: int, executions: int) -> None:
    def test() -> None:
        pool = threading.local()

        def work() -> None:
            pool.client = Client()

        together(*[work] * threads)
        assert not Client.alive

    result = treadle.explore(test)
    assert (result.failures, result.notes) == ([], [])
    assert result.executions == executions


def test_the_first_local_of_a_process_is_initialised_once_in_the_thread_that_makes_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Locals, "meet", lambda *_: None)  # there is no other
    made = []

    def test() -> None:
        class Pool(threading.local):
            def __init__(self) -> None:
                made.append(threading.current_thread().name)

        def work() -> None:
            made.clear()
            pool: Any = Pool()
            pool.value = 1
            assert len(made) == 1

        together(work)

    result = treadle.explore(test)
    assert result.failures == []


def emptied() -> Any:
    """The last reference is in a list, which somebody empties."""
    box, seen = [Node()], []
    reference = weakref.ref(box[0])
    together(box.clear, lambda: seen.append(reference() is None))
    return [*seen, reference() is None]


def left_by_a_thread() -> Any:
    """The last reference is a variable of a thread."""
    references: list[weakref.ref[Node]] = []
    begun, seen = threading.Event(), []

    def hold() -> None:
        node = Node()
        references.append(weakref.ref(node))
        begun.set()
        del node

    def look() -> None:
        begun.wait()
        seen.append(references[0]() is None)

    together(hold, look)
    return [*seen, references[0]() is None]


def left_with_its_parent() -> Any:
    """The last reference is an attribute of an object that dies itself."""
    box, seen = [Parent()], []
    parent, child = weakref.ref(box[0]), weakref.ref(box[0].child)
    together(box.clear, lambda: seen.append((parent() is None, child() is None)))
    return [seen, parent() is None, child() is None]


def called_in_c() -> Any:
    """What is called at its death is a method in C of a shared object."""
    box, seen = [Node()], []
    kept: set[Any] = set()
    kept.add(weakref.ref(box[0], kept.discard))
    together(box.clear, lambda: seen.append(len(kept)))
    return [*seen, len(kept)]


def by_proxy() -> Any:
    """Who uses a proxy finds nothing behind it."""
    box, seen = [Parent()], []
    proxy = weakref.proxy(box[0])

    def look() -> None:
        try:
            seen.append(proxy.child is not None)
        except ReferenceError:
            seen.append("dead")

    together(box.clear, look)
    return seen


def in_a_set() -> Any:
    """A container of weak references forgets it."""
    box, seen = [Node()], []
    found = weakref.WeakSet(box)
    together(box.clear, lambda: seen.append(len(found)))
    return [*seen, len(found)]


def added_to_a_set() -> Any:
    """A thread that adds it to a container of weak references is the only one to hold it."""
    found, seen = weakref.WeakSet[Node](), []

    def hold() -> None:
        node = Node()
        found.add(node)
        seen.append(None)

    together(hold, lambda: seen.append(len(found)))
    return [len(found), [one for one in seen if one is not None]]


def finalized() -> Any:
    """A finalizer is run where it dies."""
    box, ended, seen = [Node()], [], []
    weakref.finalize(box[0], ended.append, 1)
    together(box.clear, lambda: seen.append(len(ended)))
    return [*seen, ended]


def last_of_two() -> Any:
    """Whose reference is the last depends on the order, and so does who is told."""
    boxes, seen = [[Node()]], []
    boxes.append([boxes[0][0]])
    reference = weakref.ref(boxes[0][0], lambda _: seen.append(threading.current_thread().name))
    together(*(box.clear for box in boxes))
    return [seen, reference() is None]


def seen_by_the_one_of_two() -> Any:
    """Two let go, and one of them looks then: whether the other one did before is seen."""
    boxes, seen = [[Node()]], []
    boxes.append([boxes[0][0]])
    reference = weakref.ref(boxes[0][0])

    def look() -> None:
        boxes[1].clear()
        seen.append(reference() is None)

    together(boxes[0].clear, look)
    return [*seen, reference() is None]


def left_with_what_holds_it() -> Any:
    """The last reference is an attribute of an object to which nobody refers weakly."""
    box, seen = [Parent()], []
    child = weakref.ref(box[0].child)
    together(box.clear, lambda: seen.append(child() is None))
    return [*seen, child() is None]


def last_of_two_who_hold_what_holds_it() -> Any:
    """Two have the object that has the last reference: the last one to let go is told."""
    boxes, seen = [[Parent()]], []
    boxes.append([boxes[0][0]])
    child = weakref.ref(boxes[0][0].child, lambda _: seen.append(threading.current_thread().name))
    together(*(box.clear for box in boxes))
    return [seen, child() is None]


def seen_by_who_lets_go() -> Any:
    """Who has let go of the last reference looks at once, in each way there is."""
    box: list[Parent] = []

    def gone(refer: Callable[[Parent], Any], look: Callable[[Any], Any]) -> Any:
        box.append(Parent())
        found = refer(box[0])
        box.clear()
        try:
            return look(found)
        except ReferenceError:
            return "dead"

    seen: list[Any] = []

    def each() -> None:
        seen.append(gone(weakref.ref, lambda found: found()))
        seen.append(gone(lambda parent: weakref.WeakMethod(parent.old), lambda found: found()))
        seen.append(gone(weakref.proxy, lambda found: found.child))
        seen.append(gone(lambda parent: weakref.WeakSet([parent]), len))

    together(each, lambda: len(box))
    return seen


OUTCOMES: dict[Callable[[], Any], set[str]] = {
    emptied: {"[False, True]", "[True, True]"},
    left_by_a_thread: {"[False, True]", "[True, True]"},
    left_with_its_parent: {
        "[[(False, False)], True, True]", "[[(False, True)], True, True]",
        "[[(True, True)], True, True]",
    },
    called_in_c: {"[0, 0]", "[1, 0]"},
    by_proxy: {"[True]", "['dead']"},
    in_a_set: {"[0, 0]", "[1, 0]"},
    added_to_a_set: {"[0, [0]]", "[0, [1]]"},
    finalized: {"[0, [1]]", "[1, [1]]"},
    last_of_two: {"[['Thread-1 (clear)'], True]", "[['Thread-2 (clear)'], True]"},
    seen_by_the_one_of_two: {"[False, True]", "[True, True]"},
    left_with_what_holds_it: {"[False, True]", "[True, True]"},
    last_of_two_who_hold_what_holds_it: {
        "[['Thread-1 (clear)'], True]", "[['Thread-2 (clear)'], True]",
    },
    seen_by_who_lets_go: {"[None, None, 'dead', 0]"},
}  # fmt: skip


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("program", OUTCOMES, ids=lambda program: program.__name__)
def test_objects_die_where_their_last_reference_goes(
    program: Callable[[], Any], algorithm: str
) -> None:
    assert outcomes(program, algorithm) == OUTCOMES[program]


def test_failures_after_a_death_are_told_step_by_step_and_replayed() -> None:
    def test() -> None:
        box = [Node()]
        reference = weakref.ref(box[0])
        together(box.clear, lambda: None)
        is_dead = reference() is None
        assert not is_dead

    [failure] = treadle.explore(test).failures
    assert failure.remarks == []
    again = treadle.replay(test, failure.schedule)
    assert again is not None
    assert (again.message, again.trace) == (failure.message, failure.trace)


def test_who_lets_go_of_what_somebody_else_keeps_is_not_asked() -> None:
    def test() -> None:
        nodes = [Node() for _ in range(3)]
        found = weakref.WeakSet(nodes)
        together(*[lambda: [node for node in nodes if node] and None] * 3)
        assert len(found) == 3

    assert treadle.explore(test).executions == 1


def test_a_failure_tells_of_functions_and_containers_that_live_on() -> None:
    def keeping(node: Node) -> Callable[[], Node]:
        return lambda: node

    def test() -> None:
        box = [keeping(Node())]
        reference = weakref.ref(box[0]())
        together(box.clear, lambda: None)
        assert reference() is None

    [failure] = treadle.explore(test).failures
    [remark] = failure.remarks
    assert "a `function` that nobody refers to any more keeps alive" in remark


def test_the_first_execution_sees_what_it_learns_of_deaths() -> None:
    def test() -> None:
        box, ended = [Parent()], []
        weakref.finalize(box[0].child, ended.append, 1)
        together(box.clear, lambda: None)
        assert ended == [1]

    assert treadle.explore(test).ok


def test_who_lets_go_and_looks_at_once_sees_the_death_in_the_first_execution() -> None:
    def test() -> None:
        box = [Node()]
        reference = weakref.ref(box[0])

        def look() -> None:
            box.clear()
            assert reference() is None

        together(look, lambda: None)

    assert treadle.explore(test).ok
