"""The oracle of the property tests: all interleavings of a program of `thread_programs`.

It knows nothing of Treadle, its instrumentation or its primitives. Every access of a shared place
is a step of a generator; all orders of steps are run on plain Python objects.
"""

from __future__ import annotations

import itertools
import operator
import types
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from thread_programs import STATEMENTS, Body, final_state_of

Failures = set[tuple[str, str]]


@dataclass
class Everything:
    """What all interleavings of a program can do."""

    interleavings: int = 0
    final_states: set[object] = field(default_factory=set)
    failures: Failures = field(default_factory=set)


class TooMany(Exception):
    """The program has more interleavings than the caller wants to see."""


Guard = Callable[[], bool] | None
Steps = Iterator[Guard]
"""Stops before each step; says when the step is possible."""


def _init(self: Any, x: int) -> None:
    self.x, self.y, self.ref = x, 0, None


class _Cell:
    """A variable of the test."""

    cell_contents = 0


_compiled: dict[str, types.CodeType] = {}


class World:
    """One execution by the interpreter."""

    def __init__(self, bodies: list[Body]) -> None:
        kind: Any = type("Box", (), {"c": 0, "tags": {}, "__init__": _init})
        self.locks = [False, False]
        self.units = 1
        self.ends_matter = "timed join" in str(bodies)
        self.state = types.SimpleNamespace(g=0, cell=0)
        self.space: dict[str, Any] = {
            "Box": kind, "box": kind(0), "items": [0, 0], "keys": {"a": 0}, "members": {0},
            "line": deque([0]), "nodes": [kind(0)], "s": self.state, "operator": operator,
            "slot": types.SimpleNamespace(x=0), "counts": defaultdict(int), "log": [],
        }  # fmt: skip
        self.threads: dict[str, Steps] = {}
        self.waiting: dict[str, Guard] = {}
        self.failures: Failures = set()
        self.in_hand: dict[str, Any] = {}
        numbers = itertools.count()
        for index, body in enumerate(bodies, 1):
            named = _named(body, numbers)
            self.start(f"main.{index}", *named)

    def start(self, name: str, label: str, body: Body) -> None:
        """Start a thread, up to its first step."""
        self.threads[name] = self.run(name, label, body)
        self.step(name)

    def step(self, name: str) -> None:
        """Let a thread take a step, up to the next."""
        try:
            self.waiting[name] = next(self.threads[name])
        except StopIteration:
            self._end(name)
        except Exception as error:
            self._end(name)
            kind = "assertion" if isinstance(error, AssertionError) else "exception"
            self.failures.add((kind, f"{type(error).__name__}: {error}"))

    def _end(self, name: str) -> None:
        del self.threads[name]
        self.waiting.pop(name, None)

    def enabled(self) -> list[str]:
        """Return who can take a step."""
        return [name for name, guard in self.waiting.items() if guard is None or guard()]

    def final_state(self) -> object:
        """Return the same as `Module.final_state`."""
        space, cell = self.space, _Cell()
        cell.cell_contents = self.state.cell
        shared = (space["box"], space["Box"], space["items"], space["keys"], space["members"],
                  space["line"], space["nodes"], space["slot"], space["counts"],
                  {"g": self.state.g, "log": space["log"]}, cell)  # fmt: skip
        return final_state_of({"shared": shared, **self.in_hand})

    def run(self, name: str, label: str, body: Body) -> Steps:
        """A thread."""
        frame: dict[str, Any] = {"acc": 0, "mine": self.space["box"]}
        own: dict[str, Any] = {"children": 0, "child": None}
        error = None
        try:
            yield from self.execute(name, body, frame, own)
        except Exception as raised:
            error = raised
        else:
            self.in_hand[label] = frame["acc"]
        if self.ends_matter:
            yield None
        if error is not None:
            raise error

    def perform(self, statement: str, frame: dict[str, Any]) -> None:
        """Do one atomic step."""
        if statement not in _compiled:
            _compiled[statement] = compile(statement, "<oracle>", "exec")
        exec(_compiled[statement], self.space, frame)

    def execute(self, name: str, body: Body, frame: dict[str, Any], own: dict[str, Any]) -> Steps:
        for operation, *args in body:
            match operation:
                case "do":
                    for statement in STATEMENTS[args[0]]:
                        yield None
                        self.perform(statement, frame)
                case "if":
                    chosen = args[1] if frame["acc"] == args[0] else args[2]
                    yield from self.execute(name, chosen, frame, own)
                case "check":
                    assert frame["acc"] != args[0], f"acc is {args[0]}"
                case "locked":
                    yield lambda i=args[0]: not self.locks[i]
                    yield from self.holding(args[0], self.execute(name, args[1], frame, own))
                case "try" | "timed":
                    yield None
                    if self.locks[args[0]]:
                        frame["acc"] = -1
                    else:
                        yield from self.holding(args[0], self.execute(name, args[1], frame, own))
                case "down":
                    yield lambda: self.units > 0
                    self.units -= 1
                case "up":
                    yield None
                    self.units += 1
                case "spawn":
                    yield None
                    own["children"] += 1
                    own["child"] = f"{name}.{own['children']}"
                    self.start(own["child"], *args)
                case "join":
                    if own["child"] is not None:
                        yield lambda: own["child"] not in self.threads
                case "timed join":
                    if own["child"] is not None:
                        yield None
                        yield None
                        frame["acc"] = int(own["child"] in self.threads)
                case "atomic":
                    yield None
                    for statement in args[0]:
                        for part in STATEMENTS[statement]:
                            self.perform(part, frame)
                case "iterate":
                    yield None
                    elements = iter(self.space[args[0]])
                    while True:
                        yield None
                        try:
                            element = next(elements)
                        except StopIteration:
                            break
                        frame["acc"] += element != 0

    def holding(self, lock: int, body: Steps) -> Steps:
        """Run a body with a lock held."""
        self.locks[lock] = True
        error = None
        try:
            yield from body
        except Exception as raised:
            error = raised
        yield None
        self.locks[lock] = False
        if error is not None:
            raise error


def _named(body: Body, numbers: Iterator[int]) -> tuple[str, Body]:
    """Give every function of a thread the name that it has in the source."""
    label = f"thread{next(numbers)}"
    return label, _with_names(body, numbers)


def _with_names(body: Body, numbers: Iterator[int]) -> Body:
    named: Body = []
    for operation, *args in body:
        match operation:
            case "if":
                named.append(("if", args[0], *(_with_names(inner, numbers) for inner in args[1:])))
            case "locked" | "try" | "timed":
                named.append((operation, args[0], _with_names(args[1], numbers)))
            case "spawn":
                named.append(("spawn", *_named(args[0], numbers)))
            case _:
                named.append((operation, *args))
    return named


def oracle(bodies: list[Body], limit: int) -> Everything:
    """Run every interleaving; raise `TooMany` beyond `limit` of them."""
    everything = Everything()
    schedule: list[str] = []
    choices: list[list[str]] = []
    while True:
        world = World(bodies)
        for name in schedule:
            world.step(name)
        while enabled := world.enabled():
            choices.append(enabled[1:])
            schedule.append(enabled[0])
            world.step(enabled[0])
        everything.interleavings += 1
        if everything.interleavings > limit:
            raise TooMany
        everything.final_states.add(world.final_state())
        stuck = sorted(world.threads)
        if any(name.count(".") == 1 for name in stuck):
            stuck.insert(0, "main")  # which waits for those that it started
        everything.failures |= world.failures or (
            {("deadlock", " ".join(stuck))} if stuck else set()
        )
        while choices and not choices[-1]:
            choices.pop()
            schedule.pop()
        if not choices:
            return everything
        schedule[-1] = choices[-1].pop(0)
