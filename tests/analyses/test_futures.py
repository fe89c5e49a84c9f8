"""Which futures a task has joined, and which it surely has not, at each position of a method."""

# ruff: noqa: ARG001 - methods have a `self`
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from actor_code import KNOWN
from treadle.analyses.futures import facts_of
from treadle.analyses.ir import (
    Anything,
    Assign,
    Await,
    Branch,
    Call,
    Constant,
    Field,
    Get,
    Instruction,
    Jump,
    Local,
    Method,
    Return,
    Send,
    SetField,
    Span,
    This,
    assigned,
)
from treadle.analyses.lower import Lowering

NOWHERE = Span(1, 0, 1, 0)


def at_gets(function: Callable[..., Any], *, starts_task: bool = True) -> list[str]:
    """Tell of each wait, in order, whether its future is surely joined, surely not, or unknown."""
    method = Lowering(KNOWN, frozenset({"m", "own"})).method(function)
    facts = facts_of(method, starts_task=starts_task)
    found = []
    for at, instruction in enumerate(method.instructions):
        if isinstance(instruction, Get | Await):
            before = facts[at]
            is_joined = before.is_joined(instruction.future)
            is_new = before.is_unjoined(instruction.future)
            assert not (is_joined and is_new)
            found.append("joined" if is_joined else "new" if is_new else "?")
    return found


def test_a_future_is_new_until_it_is_waited_for() -> None:
    def method(self: Any, x: Any) -> None:
        f = x.m.send()
        g = x.m.send()
        f.get()
        f.get()
        g.get()
        g = x.m.send()
        g.get()

    assert at_gets(method) == ["new", "joined", "new", "new"]


def test_other_names_are_followed() -> None:
    def method(self: Any, x: Any) -> None:
        f = g = x.m.send()
        h = g
        h.get()
        f.get()
        g.get()

    assert at_gets(method) == ["new", "joined", "joined"]


def test_two_parameters_may_be_one_future() -> None:
    def method(self: Any, f: Any, g: Any) -> None:
        f.get()
        g.get()
        g.get()

    assert at_gets(method) == ["new", "?", "joined"]
    assert at_gets(method, starts_task=False) == ["?", "?", "joined"]


def test_a_parameter_is_no_future_that_this_task_sent() -> None:
    def method(self: Any, f: Any, x: Any) -> None:
        g = x.m.send()
        f.get()
        g.get()

    assert at_gets(method) == ["new", "new"]


def test_a_future_in_a_field_may_be_any() -> None:
    def method(self: Any, x: Any) -> None:
        f = x.m.send()
        self.kept.get()
        f.get()
        self.kept.get()

    assert at_gets(method) == ["new", "?", "?"], "the first wait of a task is for a new one"


def test_branches_and_loops() -> None:
    def method(self: Any, x: Any, n: int) -> None:
        f = x.m.send()
        if n:
            f.get()
        f.get()
        while n:
            g = x.m.send()
            g.get()
            g.get()
        f.get()

    assert at_gets(method) == ["new", "?", "new", "joined", "joined"]


def test_a_name_of_an_earlier_round_is_an_older_future() -> None:
    def method(self: Any, x: Any, n: int) -> None:
        old = x.m.send()
        while n:
            new = x.m.send()
            old.get()
            new.get()
            old = new

    assert at_gets(method) == ["?", "?"], "two names may hold one future here"


def test_a_call_may_wait_for_anything() -> None:
    def method(self: Any, x: Any) -> None:
        f = x.m.send()
        self.own(f)
        f.get()
        g = x.m.send()
        g.get()

    assert at_gets(method) == ["?", "new"]


def test_an_exception_may_come_before_or_after() -> None:
    def method(self: Any, x: Any) -> None:
        f = x.m.send()
        try:
            f.get()
        except ValueError:
            f.get()
        f.get()

    assert at_gets(method) == ["new", "?", "joined"]


# Random methods, and one that runs


@st.composite
def methods(draw: Callable[..., Any]) -> Method:
    """Draw instructions over three names and a field, with jumps anywhere."""
    length = draw(st.integers(1, 8))
    names, places = st.sampled_from("abc"), st.integers(0, length)
    instructions: list[Instruction] = []
    for _ in range(length):
        name, other, place = draw(names), draw(names), draw(places)
        source = draw(st.sampled_from([Local(other), Field("f")]))
        instructions.append(draw(st.sampled_from([
            Send(name, This(), "m", (), span=NOWHERE),
            Send(name, This(), "m", (), span=NOWHERE),
            Assign(name, source, span=NOWHERE),
            SetField("f", Local(other), span=NOWHERE),
            Get(None, source, span=NOWHERE),
            Await(None, source, span=NOWHERE),
            Branch(Anything(), place, draw(places), span=NOWHERE),
            Jump(place, span=NOWHERE),
            Call("d", This(), "own", (), span=NOWHERE),
        ])))  # fmt: skip
    end = Return(Constant(None), span=NOWHERE)
    return Method("m", "file", ("a", "b"), (*instructions, end))


def runs(method: Method, choices: list[int]) -> Iterator[tuple[int, dict[str, int], set[int]]]:
    """Run a method: at each position, which future each name holds, and which were joined."""
    values = {"a": 100, "b": 100 + choices[0] % 2, "this.f": 100}
    joined, at, sent = set[int](), 0, 0
    for choice in choices:
        yield at, dict(values), set(joined)
        instruction = method.instructions[at]
        match instruction:
            case Send(target):
                sent += 1
                values[target] = sent
            case Assign(target, source):
                values[target] = values.get(str(source), 0)
            case SetField(_, source):
                values["this.f"] = values.get(str(source), 0)
            case Get(_, future) | Await(_, future):
                joined.add(values.get(str(future), 0))
            case Call():
                joined |= {value for value in values.values() if choice % 2}
        following = method.successors(at)
        if not following:
            return
        at = following[choice % len(following)]


@given(methods(), st.lists(st.integers(0, 7), min_size=1, max_size=30))
@settings(max_examples=400)
def test_what_is_said_holds_in_every_run(method: Method, choices: list[int]) -> None:
    facts = facts_of(method, starts_task=True)
    for at, values, joined in runs(method, choices):
        for name in (*"abc", "this.f"):
            future = Field("f") if name == "this.f" else Local(name)
            if name in values and facts[at].is_joined(future):
                assert values[name] in joined
            if name in values and facts[at].is_unjoined(future):
                assert values[name] not in joined


@given(methods())
@settings(max_examples=100)
def test_facts_are_there_for_what_can_be_reached(method: Method) -> None:
    reached, work = set[int](), [0]
    while work:
        at = work.pop()
        if at not in reached:
            reached.add(at)
            work += method.successors(at)
    assert set(facts_of(method, starts_task=True)) == reached
    for at in reached:
        assert assigned(method.instructions[at]) in (None, "a", "b", "c", "d")
