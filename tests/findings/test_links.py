"""Which steps made which others possible: arrows between the columns."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import treadle
from looked_at import ACTORS, FAILING, NETWORK, explored
from treadle.core.events import Mode, Vocabulary, code
from treadle.core.failure import Failure
from treadle.core.happens_before import Trace
from treadle.core.records import Link, LinkKind, StepRecord
from treadle.findings.links import links_of


def fails(test: Any, **options: Any) -> Failure:
    (failure,) = treadle.explore(test, **options).failures[:1]
    return failure


def told(failure: Failure) -> list[tuple[str, str, str, str]]:
    """Return the links as kind, who, whom and what about."""
    who = [step.process for step in failure.trace]
    return [
        (link.kind.value, who[link.source], who[link.target], link.about) for link in failure.links
    ]


def test_threads_are_started_and_joined() -> None:
    def test() -> None:
        seen: list[int] = []
        thread = threading.Thread(target=seen.append, args=[1])
        thread.start()
        thread.join()
        assert not seen

    assert told(fails(test)) == [
        ("spawn", "main", "main.1", "append"),
        ("join", "main.1", "main", "main.1"),
    ]


def test_a_lock_changes_hands() -> None:
    def test() -> None:
        lock = threading.Lock()
        seen = []

        def work() -> None:
            with lock:
                seen.append(1)

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not seen

    failure = fails(test)
    locks = [link for link in failure.links if link.kind is LinkKind.LOCK]
    assert len(locks) == 1
    assert locks[0].about == "lock"
    assert failure.trace[locks[0].source].gives == ("lock",)
    assert [a.held for a in failure.trace[locks[0].target].accesses] == ["lock"]


def test_an_item_of_a_queue_is_a_message() -> None:
    def test() -> None:
        items: queue.Queue[int] = queue.Queue()
        thread = threading.Thread(target=items.put, args=[1])
        thread.start()
        assert items.get() == 2

    messages = [one for one in told(fails(test)) if one[0] == "message"]
    assert [one[:3] for one in messages] == [("message", "main.1", "main")]


def test_an_event_that_is_set_wakes() -> None:
    def test() -> None:
        event = threading.Event()
        threading.Thread(target=event.set).start()
        event.wait()
        raise ValueError

    kinds = {one[0]: one[1:3] for one in told(fails(test))}
    assert kinds["spawn"] == ("main", "main.1")
    woken = kinds.get("wake") or kinds.get("message")
    assert woken == ("main.1", "main")


def test_messages_of_a_model() -> None:
    program = treadle.model.Program()
    box = treadle.model.Mailbox()
    program = treadle.model.Program(box=box)

    @program.process
    def sends(s: Any) -> Iterator[Any]:
        yield
        s.box.send(3)

    @program.process
    def receives(s: Any) -> Iterator[Any]:
        got = yield s.box.receive()
        assert got != 3

    assert [one[:3] for one in told(fails(program))] == [("message", "sends", "receives")]


def test_nothing_leads_from_a_process_to_itself() -> None:
    program = treadle.model.Program(lock=treadle.model.Lock())

    @program.process
    def alone(s: Any) -> Iterator[Any]:
        yield s.lock.acquire()
        yield s.lock.release()
        yield s.lock.acquire()
        raise ValueError

    assert fails(program).links == []


def test_actors_send_and_get_results() -> None:
    failure = explored(ACTORS).failures[0]
    lanes = [step.lane for step in failure.trace]
    arrows = [(link.kind.value, lanes[link.source], lanes[link.target]) for link in failure.links]
    assert ("message", "main", "Store1") in arrows
    assert ("message", "main", "Worker1") in arrows
    assert {kind for kind, _, _ in arrows} <= {"message", "result"}
    named = {link.about for link in failure.links if link.kind is LinkKind.MESSAGE}
    assert "register of Store1" in named


def test_messages_of_a_network_are_named_by_their_path() -> None:
    failure = explored(NETWORK).failures[0]
    assert {link.kind for link in failure.links} == {LinkKind.MESSAGE}
    for link in failure.links:
        assert link.about == failure.trace[link.target].process


@pytest.mark.parametrize("target", FAILING)
def test_links_lead_forward_and_are_unique(target: str) -> None:
    for failure in explored(target).failures:
        assert len(set(failure.links)) == len(failure.links)
        assert [link.target for link in failure.links] == sorted(
            link.target for link in failure.links
        )
        for link in failure.links:
            assert 0 <= link.source < link.target < len(failure.trace)
            source, end = failure.trace[link.source], failure.trace[link.target]
            assert source.process != end.process


def test_each_process_is_created_once() -> None:
    for target in FAILING:
        for failure in explored(target).failures:
            created = [
                failure.trace[link.target].process
                for link in failure.links
                if link.kind is LinkKind.SPAWN
            ]
            assert len(set(created)) == len(created)


def test_a_replay_has_them_too() -> None:
    found = explored(FAILING[0]).failures[0]
    again = treadle.replay(found.test, found.token)  # type: ignore[arg-type]
    assert again is not None
    assert again.links == found.links
    assert isinstance(again.links[0], Link)


# What steps give back and change


def test_what_a_step_changes_is_said() -> None:
    def test() -> None:
        seen: dict[str, int] = {}

        def work() -> None:
            seen["one"] = 1
            seen.update(two=2)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert not seen

    failure = fails(test)
    changed = [step.changes for step in failure.trace if step.process == "main.1"]
    assert all(changed)
    assert any("seen" in name for names in changed for name in names)
    assert not any(step.changes for step in failure.trace if step.process == "main")


def test_the_graph_of_a_network() -> None:
    failure = explored(NETWORK).failures[0]
    graph = failure.graph
    assert graph is not None
    assert dict(graph.nodes) == {
        "s1": "switch",
        "s2": "switch",
        "s3": "switch",
        "h0": "host",
        "r1": "host",
        "r2": "host",
    }
    assert len(graph.edges) == 5
    names = {name for name, _ in graph.nodes}
    assert all({first, second} <= names for first, second, _, _ in graph.edges)
    assert explored(FAILING[0]).failures[0].graph is None


# The other order


def test_the_other_order_is_recorded_if_it_decides() -> None:
    failure = explored(FAILING[0]).failures[0]
    cause = failure.cause
    assert cause is not None
    assert cause.decides
    assert cause.other
    taken: dict[tuple[str, str], list[int]] = {}
    for name, steps in (("this", failure.trace), ("other", cause.other)):
        for at, step in enumerate(steps):
            taken.setdefault((name, step.process), []).append(at)

    def place(which: str, index: int) -> int:
        process = failure.trace[index].process
        nth = taken["this", process].index(index)
        return taken[which, process][nth]

    first, second = cause.indices
    assert place("this", first) < place("this", second)
    assert place("other", first) > place("other", second)
    assert not any(step.error for step in cause.other), "it passes"


def test_there_is_no_other_order_if_none_decides() -> None:
    def test() -> None:
        raise ValueError

    assert fails(test).cause is None


def test_the_handles_of_a_task_are_the_task_itself() -> None:
    """Who makes the first one starts the task; who makes another one wakes it."""

    def handle(process: str, then: str) -> StepRecord:
        task = process.partition("#")[0]
        return StepRecord(process, (), label=task, lane=task, then=then)

    vocabulary = Vocabulary()
    names = ("main#1", "ann#1", "main#2")
    main, ann, again = (vocabulary.process(name) for name in names)
    trace = Trace(vocabulary)
    for process, codes in (
        (main, (code(ann, Mode.SPAWN),)),
        (ann, (code(again, Mode.SPAWN),)),
        (again, (code(ann, Mode.JOIN),)),
    ):
        trace.processes.append(process)
        trace.codes.append(codes)
    steps = [handle("main#1", "waits"), handle("ann#1", "ends"), handle("main#2", "ends")]
    assert [(link.kind, link.source, link.target) for link in links_of(trace, steps)] == [
        (LinkKind.SPAWN, 0, 1),
        (LinkKind.WAKE, 1, 2),
        (LinkKind.JOIN, 1, 2),
    ]
