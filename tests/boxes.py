"""Two blocks of code, and what Python says of their order: in every state of a box.

Nothing of Treadle is asked: a block is a generator function that is run on a plain object. Both
orders are run from a state, and all is compared that a constraint has to see to: shared values,
local names that are used later, where both go on, exceptions, what both create together, and
whether each block can run at all, at first and after the other.
"""

from __future__ import annotations

import ast
import copy
import itertools
import linecache
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from treadle.core.listed import Constrained, Untranslated
from treadle.model import Counter, Program
from treadle.smt.loops import functions_of

_numbers = itertools.count()


def child(_: Any, one: Any = 0, other: Any = 0) -> Iterator[Any]:
    """A process that does nothing to speak of."""
    yield
    assert one == one + 0 * other


CHILDREN = dict.fromkeys(("child", "confirm", "insert", "res"), child)
"""What blocks may create."""


@dataclass(frozen=True)
class Block:
    """A block of code between two yields: what it is given, and its text."""

    text: str
    parameters: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Names of parameters, with the values that they have in the box."""
    before: str = "yield"
    after: str = ""
    """Another block of the same process, so that locals are looked at again."""
    names: Mapping[str, Any] = field(default_factory=dict)
    """What names mean that are neither local nor built in."""

    def function(self, name: str) -> Callable[..., Any]:
        """Return the block as a function of a process, with a source that can be read."""
        body = textwrap.dedent(self.text).strip()
        lines = [self.before, body, *([self.after] if self.after else [])]
        parameters = ", ".join(["s", *self.parameters])
        source = f"def {name}({parameters}):\n" + textwrap.indent("\n".join(lines), "    ") + "\n"
        file = f"<block {next(_numbers)}>"
        linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
        namespace = {**CHILDREN, **self.names}
        exec(compile(source, file, "exec"), namespace)
        found: Callable[..., Any] = namespace[name]
        return found


class PlainState:
    """Shared state without Treadle: values, lists, and a note of what was created."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.__dict__.update({name: _copied(value) for name, value in values.items()})
        self.__dict__["created"] = {}
        self.__dict__["running"] = ""

    def spawn(self, function: Any, *args: Any, **named: Any) -> object:
        made = self.created.setdefault(self.running, [])
        made.append((getattr(function, "__name__", function), kinds(args), kinds(named)))
        return ("handle", self.running, len(made))

    def until(self, condition: Callable[[], object]) -> Callable[[], object]:
        return condition

    def label(self, name: str) -> None:
        del name

    def values(self) -> dict[str, Any]:
        return {n: v for n, v in vars(self).items() if n not in ("created", "running")}


def _copied(value: Any) -> Any:
    if isinstance(value, Counter):
        return PlainCounter(value.content)
    return copy.copy(value)


class PlainCounter:
    """A counter without Treadle."""

    def __init__(self, value: float) -> None:
        self.value = value

    def add(self, amount: float) -> None:
        self.value += amount

    def next(self, amount: float = 1) -> float:
        self.add(amount)
        return self.value


def kinds(value: Any) -> Any:
    """Return a value with its kind: `1`, `True` and `1.0` are three values."""
    if isinstance(value, PlainCounter):
        return "counter", kinds(value.value)
    if isinstance(value, list | tuple):
        return type(value).__name__, [kinds(item) for item in value]
    if isinstance(value, dict):
        return {kinds(name): kinds(item) for name, item in value.items()}
    return type(value).__name__, value


def _later(function: Callable[..., Any], after: str) -> set[str]:
    """Return the local names that the second block looks at."""
    used = {node.id for node in ast.walk(ast.parse(after)) if isinstance(node, ast.Name)}
    return used & set(function.__code__.co_varnames) - {"s"}


class _Process:
    """A process that stands before its block."""

    def __init__(self, name: str, function: Any, block: Block, s: PlainState, args: Any) -> None:
        self._name = name
        self._state = s
        self._generator = function(s, *args)
        self._guard = next(self._generator)
        self._later = _later(function, block.after)
        self.raised: Any = None

    def is_enabled(self) -> bool:
        if not callable(self._guard):
            return True
        try:
            return bool(self._guard())
        except Exception:
            return True  # the step begins, and raises it

    def step(self) -> None:
        self._state.running = self._name
        try:
            if callable(self._guard):
                self._guard()
            next(self._generator)
        except StopIteration:
            pass
        except Exception as error:
            self.raised = type(error).__name__, str(error)

    def rest(self) -> Any:
        frame = self._generator.gi_frame
        if frame is None:
            return self.raised
        kept = {n: kinds(v) for n, v in frame.f_locals.items() if n in self._later}
        return frame.f_lasti, kept


@dataclass(frozen=True)
class Pair:
    """Two blocks over shared values."""

    first: Block
    second: Block
    shared: Mapping[str, Any]
    """Initial values, which say what is a scalar and what an array."""

    def program(self) -> Program:
        """Return a model in which the two blocks meet."""
        program = Program("pair", **self.shared)
        for name, block in (("a", self.first), ("b", self.second)):
            args = [values[0] for values in block.parameters.values()]
            program.process(block.function(name), *args, name=name)
        return program

    def listed(self) -> Constrained:
        """Return what is found for the two blocks; nothing if they do not conflict."""
        found = list(self.program().list_constraints("synthesised"))
        unknown = [one for one in found if isinstance(one, Untranslated)]
        assert not unknown, unknown
        pairs = [one for one in found if isinstance(one, Constrained)]
        return next(
            (one for one in pairs if is_between(one, "a", "b")),
            Constrained("a", "b", (), exact=False, source="synthesised"),
        )

    def commute(self, values: Mapping[str, Any], args: Sequence[Sequence[Any]]) -> bool:
        """Run both orders: do they lead to the same?"""
        ends = []
        for order in ("ab", "ba"):
            s = PlainState(values)
            processes = {
                name: _Process(name, block.function(name), block, s, own)
                for name, block, own in zip("ab", (self.first, self.second), args, strict=True)
            }
            if not all(process.is_enabled() for process in processes.values()):
                return False
            processes[order[0]].step()
            if not processes[order[1]].is_enabled():
                return False
            processes[order[1]].step()
            rest = {name: process.rest() for name, process in processes.items()}
            created = sorted(repr(made) for several in s.created.values() for made in several)
            ends.append((kinds(s.values()), rest, created))
        return bool(ends[0] == ends[1])

    def states(self, box: Mapping[str, Sequence[Any]]) -> Iterator[tuple[dict[str, Any], Any]]:
        """Yield all states of a box, and all arguments of both blocks."""
        shared = [_choices(value, box.get(name, (value,))) for name, value in self.shared.items()]
        for values in itertools.product(*shared):
            state = dict(zip(self.shared, values, strict=True))
            for one in itertools.product(*self.first.parameters.values()):
                for other in itertools.product(*self.second.parameters.values()):
                    yield state, (one, other)

    def check(self, box: Mapping[str, Sequence[Any]]) -> tuple[Constrained, int]:
        """Compare what is found with execution; return it, and in how many states they commute."""
        found = self.listed()
        texts = [compile(text, "<constraint>", "eval") for text in found.constraints]
        synthesis = self.program().constraints.synthesis
        loops = functions_of(*map(synthesis.code, synthesis.blocks))
        names = {**self.first.names, **self.second.names, **loops}
        commuting = 0
        for values, args in self.states(box):
            expected = self.commute(values, args)
            commuting += expected
            scope = {"s": PlainState(values)} | {
                side: Named(block.parameters, given)
                for side, block, given in zip(
                    ("first", "second"), (self.first, self.second), args, strict=True
                )
            }
            holds = [
                text
                for text, code in zip(found.constraints, texts, strict=True)
                if eval(code, names, scope)
            ]
            assert expected or not holds, ("wrong", values, args, found.constraints)
            assert holds or not expected or not found.exact, ("missed", values, args, found)
        return found, commuting


class Named:
    """The local names of a step."""

    def __init__(self, names: Mapping[str, Any], values: Sequence[Any]) -> None:
        self.__dict__.update(zip(names, values, strict=True))


def is_between(one: Constrained, *names: str) -> bool:
    """Tell whether a line is about the first blocks of two processes."""
    return tuple(name.split(":")[0] for name in (one.first, one.second)) == names and all(
        name.endswith(":1") or ":" not in name for name in (one.first, one.second)
    )


def _choices(value: Any, elements: Sequence[Any]) -> list[Any]:
    if not isinstance(value, list):
        return list(elements)
    return [list(chosen) for chosen in itertools.product(elements, repeat=len(value))]
