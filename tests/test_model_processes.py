"""Processes of the model kit: names, spawning, joining, steps, and how reports describe them."""

from __future__ import annotations

from typing import Any

import pytest

import treadle
from model_kit import Process, after, enabled, executions, together, two_steps, words
from treadle.model import Counter, Lock, Mailbox, Program

# Processes


def test_a_spawned_process_with_open_steps_is_run_again_as_before() -> None:
    def child(s: Any) -> Process:
        yield
        if s.x == 0:
            s.y = 1
        yield
        s.x = 2

    def p(s: Any) -> Process:
        yield
        s.spawn(child)
        yield
        s.x = 1

    program = together(p, x=0, y=0)
    assert treadle.explore(program, "exhaustive").ok
    assert executions(program) == 3


def test_processes_are_named_by_their_spawn_path() -> None:
    seen = []

    def leaf(s: Any) -> Process:
        yield
        seen.append(s.me)

    def branch(s: Any) -> Process:
        yield
        s.spawn(leaf)
        seen.append(s.me)
        yield
        handle = s.spawn(leaf, name="second")
        assert repr(handle) == "<process main.1.2:second>"

    def main(s: Any) -> Process:
        yield
        s.spawn(branch)

    program = together(main)
    after(program, "main main.1 main.1 main.1.2:second main.1.1")
    assert seen == ["main.1", "main.1.2:second", "main.1.1"]


def test_names_do_not_depend_on_the_order() -> None:
    def child(s: Any) -> Process:
        yield
        s.x += 1

    def parent(s: Any) -> Process:
        yield
        s.spawn(child)

    program = Program(x=0)
    program.process(parent, name="a")
    program.process(parent, name="b")
    treadle.explore(program, "exhaustive")
    assert sorted(program.vocabulary.process_names) == ["a", "a.1", "b", "b.1"]
    numbers = {name: program.vocabulary.process_number(name) for name in ("a.1", "b.1")}
    after(program, "b b.1 a a.1")
    assert numbers == {name: program.vocabulary.process_number(name) for name in numbers}


def test_processes_with_arguments_and_equal_names() -> None:
    def p(s: Any, i: int) -> Process:
        yield
        s.a[i] = 1

    program = Program(a=[0, 0])
    program.process(p, 0)
    program.process(p, 0)
    program.process(p, 1, name="other")
    assert program.vocabulary.process_names == ["p(0)", "p(0)#2", "other"]


def test_the_decorator_with_options() -> None:
    program = Program()

    @program.process(name="named", daemon=True)
    def p(s: Any) -> Process:
        yield s.until(lambda: False)

    assert treadle.explore(program).ok
    assert program.vocabulary.process_names == ["named"]


def test_a_spawned_daemon_may_wait_for_ever() -> None:
    def server(s: Any) -> Process:
        yield s.until(lambda: False)

    def main(s: Any, daemon: bool) -> Process:
        yield
        s.spawn(server, daemon=daemon)

    for daemon in (True, False):
        program = Program()
        program.process(main, daemon)
        assert treadle.explore(program).ok is daemon


def test_joining() -> None:
    def child(s: Any, value: int) -> Process:
        yield
        s.x += value

    def parent(s: Any) -> Process:
        yield
        handles = [s.spawn(child, value) for value in (1, 2)]
        for handle in handles:
            yield s.join(handle)
        assert s.x == 3
        yield s.join("bystander")

    def bystander(_s: Any) -> Process:
        yield

    program = together(parent, bystander, x=0)
    assert treadle.explore(program, "exhaustive").ok
    assert enabled(program, "parent") == "bystander parent.1 parent.2"


def test_a_process_that_crashed_can_be_joined() -> None:
    def p(_s: Any) -> Process:
        yield
        raise ValueError

    def q(s: Any) -> Process:
        yield s.join("p")

    (failure,) = treadle.explore(together(p, q), stop_on_failure=False).failures
    assert (failure.kind, failure.message, failure.process) == ("exception", "ValueError", "p")


def test_leaving_python_is_a_failure_like_any_other() -> None:
    def p(_s: Any) -> Process:
        yield
        raise SystemExit(3)

    (failure,) = treadle.explore(together(p)).failures
    assert failure.message == "SystemExit: 3"


def test_a_process_that_fails_before_its_first_yield() -> None:
    def p(_s: Any) -> Process:
        raise ValueError("at once")
        yield

    (failure,) = treadle.explore(together(p)).failures
    assert failure.message == "ValueError: at once"


def test_code_before_the_first_yield_is_no_step_unless_it_touches_shared_state() -> None:
    def silent(s: Any) -> Process:
        value = 1 + 1
        yield
        s.x = value

    def loud(s: Any) -> Process:
        s.x = 1
        yield

    assert len(words(together(silent, x=0), "silent")) == 1
    assert enabled(together(silent, x=0), "silent") == ""
    assert enabled(together(loud, x=0), "loud") == "loud"


def test_spawning_before_the_first_yield_is_a_step() -> None:
    def child(_s: Any) -> Process:
        yield

    def p(s: Any) -> Process:
        s.spawn(child)
        yield

    program = together(p)
    assert enabled(program) == "p"
    assert enabled(program, "p") == "p p.1"


def test_a_process_that_begins_by_joining() -> None:
    def p(s: Any) -> Process:
        yield s.join("q")

    def q(_s: Any) -> Process:
        yield

    assert enabled(together(p, q)) == "q"


def test_a_step_is_atomic() -> None:
    def p(s: Any) -> Process:
        yield
        s.x = s.x + 1
        s.y = s.x

    program = Program(x=0, y=0)
    program.process(p, name="p")
    program.process(p, name="q")

    @program.process
    def check(s: Any) -> Process:
        yield
        assert s.x == s.y

    assert treadle.explore(program, "exhaustive").ok


def test_a_process_can_be_made_of_generators() -> None:
    def locked(s: Any) -> Process:
        yield s.lock.acquire()
        yield
        s.lock.release()

    def p(s: Any) -> Process:
        yield from locked(s)
        yield from locked(s)

    program = Program(lock=Lock())
    program.process(p, name="p")
    program.process(p, name="q")
    result = treadle.explore(program)
    assert result.ok
    assert result.executions == 6


# Reports


def test_records_say_what_and_where() -> None:
    def p(s: Any) -> Process:
        yield s.lock.acquire()
        s.x = "a" * 60
        yield s.until(lambda: s.x)
        s.n.add(2)
        handle = s.spawn(child)
        s.box.send(1)
        yield s.join(handle)
        yield s.box.receive()
        assert s.x is None, "no"

    def child(_s: Any) -> Process:
        yield

    program = together(p, x="", lock=Lock(), n=Counter(1), box=Mailbox(), d={})
    records = after(program, "p p p.1 p p", detail=True).records()
    long = f"'{'a' * 17}...{'a' * 18}'"
    assert ["; ".join(map(str, record.accesses)) for record in records] == [
        f"acquire lock; write x = {long}",
        f"await x = {long}; add to n = 3; spawn p.1; send to box = 1",
        "",
        "join p.1",
        f"receive from box = 1; read x = {long}",
    ]
    assert [record.process for record in records] == ["p", "p", "p.1", "p", "p"]
    assert records[0].source == "yield s.lock.acquire()"
    assert all("test_model_processes.py:" in record.where for record in records[:2])
    assert records[-1].error == "AssertionError: no"
    assert records[-1].source == 'assert s.x is None, "no"'


def test_an_error_without_a_text() -> None:
    def p(s: Any) -> Process:
        yield
        s.d["a"] = 1
        raise ValueError

    records = after(together(p, d={}), "p", detail=True).records()
    assert records[0].error == "ValueError"
    assert str(records[0].accesses[0]) == "write d['a'] = 1"


def test_only_a_run_with_detail_has_records() -> None:
    assert after(two_steps(), "p").records() is None


def test_where_a_process_stands() -> None:
    program = two_steps()
    run = after(program, "p")
    line = two_steps.__code__.co_firstlineno + 4
    assert run.where(0).endswith(f"model_kit.py:{line}")
    run = after(program, "p p")
    assert run.where(0) == ""


def test_an_enabled_process_at_the_end_is_a_bug() -> None:
    with pytest.raises(treadle.TreadleBug, match="is enabled at the end"):
        after(two_steps(), "").ending()


def test_a_process_whose_clean_up_fails() -> None:
    def p(s: Any) -> Process:
        try:
            yield s.until(lambda: False)
        finally:
            raise ValueError("nobody asks")

    (failure,) = treadle.explore(together(p)).failures
    assert failure.kind == "deadlock"
