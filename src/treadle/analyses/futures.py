"""Which futures a task has waited for already, at each position of a method.

A `get` ends the step, unless this task has joined that future before. What a segment is depends on
both sides of that: a future that is surely *joined* does not stop the task, one that is surely
*not* stops it for certain, and with any other both may happen.

Futures are told apart by their *origin*: the instruction that sent the message, or from which the
name got its value. The second time an instruction runs, its origin means the newer future, and
names that held the older one have none any more.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from treadle.analyses.ir import (
    Assign,
    Await,
    Call,
    Expression,
    Get,
    Havoc,
    Instruction,
    Local,
    Method,
    Send,
    assigned,
)

Origin = int | str
"""The position of a send, the name of a parameter, or, behind a `=`, of any other value."""

_VALUE = "="
ALL: Origin = "*"
"""Among what is surely unjoined: every future, since this task has not joined any."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known before an instruction, whatever path led there."""

    origins: dict[str, Origin] = field(default_factory=dict)
    """Of the values of local names."""
    joined: frozenset[Origin] = frozenset()
    unjoined: frozenset[Origin] = frozenset()

    def is_joined(self, future: Expression) -> bool:
        """Tell whether this task has surely waited for a future already."""
        return self.origin_of(future) in self.joined

    def is_unjoined(self, future: Expression) -> bool:
        """Tell whether this task has surely not waited for a future yet."""
        return ALL in self.unjoined or self.origin_of(future) in self.unjoined

    def origin_of(self, expression: Expression) -> Origin | None:
        """Return where the value of an expression is from, if that can be told."""
        return self.origins.get(expression.name) if isinstance(expression, Local) else None

    def meet(self, other: Facts) -> Facts:
        """Return what holds on both paths."""
        origins = {
            name: origin
            for name, origin in self.origins.items()
            if other.origins.get(name) == origin
        }
        return Facts(origins, self.joined & other.joined, self.unjoined & other.unjoined)

    def after(self, at: int, instruction: Instruction) -> Facts:
        """Return what is known after an instruction."""
        match instruction:
            case Await(_, future) | Get(_, future):
                facts = self._having_joined(future)
            case Call() | Havoc():  # what is called may wait for any future
                facts = replace(self, unjoined=frozenset())
            case _:
                facts = self
        target = assigned(instruction)
        if target is None:
            return facts
        if isinstance(instruction, Assign) and isinstance(instruction.value, Local):
            return facts._named(target, facts.origin_of(instruction.value))
        return facts._renewed(at, target, is_sent=isinstance(instruction, Send))

    def _having_joined(self, future: Expression) -> Facts:
        origin = self.origin_of(future)
        if origin in self.joined:
            return self
        if origin is None or str(origin).startswith(_VALUE):  # it may be any, by another name
            unjoined = frozenset[Origin]()
        elif isinstance(origin, str):  # two parameters may be one future
            unjoined = frozenset(each for each in self.unjoined if not isinstance(each, str))
        else:
            unjoined = self.unjoined - {ALL, origin}
        joined = self.joined if origin is None else self.joined | {origin}
        return replace(self, joined=joined, unjoined=unjoined)

    def _named(self, target: str, origin: Origin | None) -> Facts:
        origins = {name: each for name, each in self.origins.items() if name != target}
        if origin is not None:
            origins[target] = origin
        return replace(self, origins=origins)

    def _renewed(self, at: int, target: str, *, is_sent: bool) -> Facts:
        """The target has a new value, which has its origin here."""
        origin = at if is_sent else f"{_VALUE}{at}"
        origins = {name: each for name, each in self.origins.items() if each != origin}
        origins[target] = origin
        unjoined = self.unjoined | {at} if is_sent else self.unjoined
        return Facts(origins, self.joined - {origin}, unjoined)


def facts_of(method: Method, *, starts_task: bool) -> dict[int, Facts]:
    """Return what is known before each instruction that can be reached.

    If the method starts a task, nothing is joined at first. If it is called, anything may be.
    """
    names = method.parameters
    unjoined = frozenset((ALL, *names)) if starts_task else frozenset[Origin]()
    facts = {0: Facts({name: name for name in names}, frozenset(), unjoined)}
    work = [0]
    while work:
        at = work.pop()
        before = facts[at]
        after = before.after(at, method.instructions[at])
        flows = [(onward, after) for onward in method.successors(at)]
        flows += [(onward, before.meet(after)) for onward in method.handled_at(at)]
        for onward, new in flows:
            old = facts.get(onward)
            met = new if old is None else old.meet(new)
            if met != old:
                facts[onward] = met
                work.append(onward)
    return facts
