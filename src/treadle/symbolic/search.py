"""Symbolic execution from a state: depth first over copied states, with sleep sets.

Two steps are independent if they are of different groups, and neither asks whether the other's task
has ended: choices of actors commute up to renaming. A state that was explored already with a sleep
set that left no more out is not explored again. A deadlock is seen as soon as there is a chain.

`guidance` tells of a state whether what is looked for can still happen; paths on which it cannot
are given up, which is right with sleep sets: whole subtrees go, and their equals too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from enum import Enum

from treadle.symbolic.chains import Arrow, chain_through
from treadle.symbolic.contexts import Context
from treadle.symbolic.decisions import Choices, Decisions
from treadle.symbolic.state import Actor, Frame, State, Task, Waiting
from treadle.symbolic.step import Machine, Outcome

Guidance = Callable[[State], bool]
Sleep = dict[str, frozenset[str]]
"""Tasks that need not go next, and whose ends their steps asked for."""


class End(Enum):
    """How an execution ended."""

    RETURN = "end"
    DEADLOCK = "deadlock"
    STUCK = "stuck"
    ERROR = "exception"
    ASSERTION = "assertion"


@dataclass(frozen=True, slots=True)
class Path:
    """An execution to its end, and for which values it is taken."""

    end: End
    state: State
    chain: tuple[Arrow, ...] = ()

    @property
    def schedule(self) -> tuple[str, ...]:
        """The tasks in the order of their steps."""
        return tuple(taken.task for taken in self.state.table)


def state_of(machine: Machine, context: Context) -> State:
    """Return the state in which a context is: fields and arguments may be anything."""
    state = State()
    counts: dict[type, int] = {}
    sent = 0
    for location in context.locations:
        counts[location.cls] = number = counts.get(location.cls, 0) + 1
        name = f"{location.cls.__name__}{number}"
        state.actors[name] = Actor(location.cls, name, {}, initial=True)
        for method in location.tasks:
            sent += 1
            _add_task(machine, state, f"main.{sent}:{method}", location.cls, method, name)
    return state


def _add_task(
    machine: Machine, state: State, name: str, cls: type, method: str, actor: str
) -> None:
    body = machine.code.method(cls, method)
    task = state.tasks[name] = Task(name, cls, method, actor, actor, [], born=-1)
    decisions = Decisions(
        machine.code, machine.kinds, machine.solver, machine.limits, state, task, Choices()
    )
    names = {
        each: decisions.symbol(f"{name}.{each}", machine.kinds.of_parameter(cls, method, each))
        for each in body.parameters
    }
    task.frames.append(Frame(body, actor, names))


@dataclass(slots=True)
class Search:
    """An exploration: its limits, what it met, and how much it did."""

    machine: Machine
    guidance: Guidance | None = None
    deadline: float = float("inf")
    """On the monotonic clock."""
    limits: set[str] = field(default_factory=set)
    """Limits that were met: without any, all paths were followed."""
    states: int = 0
    cut: int = 0
    """Paths that guidance gave up."""
    _explored: dict[Hashable, frozenset[str]] = field(default_factory=dict)

    def paths(self, state: State, sleep: Sleep | None = None) -> Iterator[Path]:
        """Yield executions to their ends, one of each class of equivalent ones."""
        sleep = {} if sleep is None else sleep
        if self._is_over(state) or self._was_explored(state, sleep):
            return
        ready = [task for task in state.alive() if self._is_ready(state, task)]
        certain = [task for task in ready if task.waiting is not Waiting.UNTIL]
        if not certain:
            yield from self._ends(state)
        done: Sleep = dict(sleep)
        for task in reversed(ready):  # the newest first
            if task.name in done:
                continue
            asked: frozenset[str] = frozenset()
            for outcome in self.machine.successors(state, task.name):
                asked |= outcome.tested
                yield from self._after(outcome, task, done)
            done[task.name] = asked

    def _after(self, outcome: Outcome, task: Task, asleep: Sleep) -> Iterator[Path]:
        """Yield what a step leads to."""
        state = outcome.state
        self.states += 1
        self.limits |= state.limits
        if self.machine.solver.gave_up:
            self.limits.add("a question to z3 without an answer in time")
        if outcome.is_cut:
            return
        if state.tasks[task.name].waiting in (Waiting.GET, Waiting.AWAIT):
            chain = chain_through(state, task.name)
            if chain:
                yield Path(End.DEADLOCK, state, chain)
                return
        if self.guidance is not None and not self.guidance(state):
            self.cut += 1
            return
        yield from self.paths(state, _still_asleep(state, asleep, task, outcome))

    def _is_over(self, state: State) -> bool:
        """Tell whether a limit ends the path here."""
        limits = self.machine.limits
        if time.process_time() > self.deadline:
            self.limits.add(f"{limits.seconds:g} s")
            return True
        if len(state.table) >= limits.steps and any(state.alive()):
            self.limits.add(f"{limits.steps} macro-steps")
            return True
        if state.table:
            actor = state.table[-1].actor
            if sum(taken.actor == actor for taken in state.table) > limits.switches:
                self.limits.add(f"{limits.switches} task switches in an actor")
                return True
        return False

    def _was_explored(self, state: State, sleep: Sleep) -> bool:
        try:
            key = (len(state.table), state.key())
            before = self._explored.get(key)
        except TypeError:  # some value has no hash
            return False
        asleep = frozenset(sleep)
        if before is not None and before <= asleep:
            return True
        self._explored[key] = asleep if before is None else before & asleep
        return False

    def _is_ready(self, state: State, task: Task) -> bool:
        """Tell whether a task can take a step, for some values."""
        holder = state.holders.get(task.group)
        if holder is not None and holder != task.name:
            return False
        if task.waiting in (Waiting.GET, Waiting.AWAIT):
            return state.tasks[task.target].has_ended
        if task.waiting is Waiting.UNTIL:
            return self.machine.may_hold(state, task.name)
        return True

    def _ends(self, state: State) -> Iterator[Path]:
        """Yield the ends of executions in which no condition holds that tasks wait for."""
        waiting = [
            task.name
            for task in state.alive()
            if task.waiting is Waiting.UNTIL and state.holders.get(task.group) is None
        ]
        for final in self.machine.given_up(state, waiting):
            yield Path(_end_of(final), final)


def _end_of(state: State) -> End:
    tasks = state.tasks.values()
    if any(task.error == AssertionError.__name__ for task in tasks):
        return End.ASSERTION
    if any(task.error and not task.is_retrieved for task in tasks):
        return End.ERROR
    return End.STUCK if any(state.alive()) else End.RETURN


def _still_asleep(state: State, asleep: Sleep, task: Task, outcome: Outcome) -> Sleep:
    """Return the tasks whose steps commute with the one that was taken."""
    return {
        name: asked
        for name, asked in asleep.items()
        if state.tasks[name].group != task.group
        and name not in outcome.tested
        and task.name not in asked
    }
