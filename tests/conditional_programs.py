"""Random programs of few steps that read, decide and write at once, over variables that are 0 or 1.

Conditional writes of few values make steps open, let most orders end alike, and so show what an
algorithm leaves out too much: about 20 times more often than general programs do. A process is a
list of blocks, each one step:

    (guard, statements)                     guard: None, or (variable, value) that it waits for
    ("set", variable, expression)           expression: a constant, a variable or a sum modulo 2
    ("keep", expression)                    into the local `kept`, which later blocks may use
    ("if", variable, operator, constant, then, otherwise)
    ("assert", variable, operator, constant)
    ("spawn", statements)                   a process of one block

The final states are found by an interpreter of its own, which shares no code with Treadle, and
compared with those that an exploration reaches. `scripts/conditional.py` does that for as many
programs as one likes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from random_programs import KNOWN, Source, compile_process
from treadle.core.program import Run
from treadle.explore.budget import Budget
from treadle.explore.choosers import SCHEDULES
from treadle.explore.registry import ALGORITHMS
from treadle.explore.search import Search
from treadle.explore.strategy import ENDED
from treadle.model import Program
from treadle.model.run import ModelRun

Expression = tuple[Any, ...]
Statement = tuple[Any, ...]
Block = tuple[tuple[str, int] | None, list[Statement]]
Process = list[Block]

NAMES = ("x", "y", "z")
Final = tuple[tuple[int, ...], frozenset[str]]
"""Values of the variables, and who failed an assertion or waits for ever."""


@dataclass(frozen=True)
class Shape:
    """What is drawn, beyond assignments and conditions."""

    processes: tuple[int, int] = (2, 5)
    blocks: int = 6
    """At most so many in all."""
    guards: bool = False
    locals: bool = False
    assertions: bool = False
    spawns: bool = False
    branches: bool = False
    """Whether processes are also created in branches: by whom may depend on the order then."""


def draw(rng: Source, shape: Shape) -> list[Process]:
    """Draw a program."""
    count = rng.randint(*shape.processes)
    lengths = [rng.randint(1, 2) for _ in range(count)]
    while sum(lengths) > shape.blocks:
        lengths[lengths.index(2)] = 1
    return [[_block(rng, shape) for _ in range(length)] for length in lengths]


def _block(rng: Source, shape: Shape) -> Block:
    guard = None
    if shape.guards and rng.randint(0, 3) == 0:
        guard = rng.choice(NAMES), rng.randint(0, 1)
    return guard, [_statement(rng, shape, 0) for _ in range(rng.randint(1, 2))]


def _statement(rng: Source, shape: Shape, level: int) -> Statement:
    kinds = ["set", "set"]
    if level == 0:
        kinds += ["if", "if"]
        kinds += ["spawn"] * shape.spawns
    if level == 1:
        kinds += ["spawn"] * shape.branches
    kinds += ["keep"] * shape.locals + ["assert"] * shape.assertions
    kind = rng.choice(kinds)
    if kind == "set":
        return kind, rng.choice(NAMES), _expression(rng, shape)
    if kind == "keep":
        return kind, _expression(rng, shape)
    if kind == "spawn":
        return kind, [_statement(rng, shape, 2)]
    test = rng.choice(NAMES), rng.choice(("==", "!=")), rng.randint(0, 1)
    if kind == "assert":
        return kind, *test
    otherwise = [_statement(rng, shape, level + 1)] if rng.randint(0, 1) else []
    return kind, *test, [_statement(rng, shape, level + 1)], otherwise


def _expression(rng: Source, shape: Shape) -> Expression:
    kinds = ("constant", "constant", "variable", "sum", *(("local",) * shape.locals))
    kind = rng.choice(kinds)
    if kind == "constant":
        return kind, rng.randint(0, 1)
    if kind == "variable":
        return kind, rng.choice(NAMES)
    if kind == "sum":
        return kind, rng.choice(NAMES), rng.choice((*NAMES, "1"))
    return (kind,)


# As models


def build(processes: Sequence[Process], *, observed: bool = False) -> Program:
    """Return the model; if `observed`, somebody looks at all variables when it is over."""
    program = Program("conditional", **dict.fromkeys(NAMES, 0))
    names = [f"p{index}" for index in range(len(processes))]
    for name, process in zip(names, processes, strict=True):
        program.process(compile_process(name, lines_of(process)[1:]), name=name)
    if observed:
        program.finally_(lambda s: (s.x, s.y, s.z))
    return program


def lines_of(process: Process) -> list[str]:
    """Return the body of a process as source lines, each block beginning with its `yield`."""
    lines = []
    for index, (guard, statements) in enumerate(process):
        lines.append("yield" if guard is None or not index else _until(guard))
        if guard is not None and not index:
            lines.append(_until(guard))
        if not index:
            lines.append("kept = 0")
        for statement in statements:
            lines += _lines(statement)
    return lines


def _until(guard: tuple[str, int]) -> str:
    return f"yield s.until(lambda: s.{guard[0]} == {guard[1]})"


def _lines(statement: Statement) -> list[str]:
    kind, *rest = statement
    if kind == "set":
        return [f"s.{rest[0]} = {_text(rest[1])}"]
    if kind == "keep":
        return [f"kept = {_text(rest[0])}"]
    if kind == "assert":
        return [f"assert s.{rest[0]} {rest[1]} {rest[2]}"]
    if kind == "spawn":
        inner = ["kept = 0", *(line for each in rest[0] for line in _lines(each))]
        return [f"s.spawn({_named(compile_process('child', inner))})"]
    lines = [f"if s.{rest[0]} {rest[1]} {rest[2]}:"]
    lines += [f"    {line}" for each in rest[3] for line in _lines(each)]
    if rest[4]:
        lines += ["else:", *(f"    {line}" for each in rest[4] for line in _lines(each))]
    return lines


def _named(function: Any) -> str:
    """Return a name for a function: what is spawned by its name can be foreseen."""
    known = next((name for name, other in KNOWN.items() if other is function), None)
    if known is None:
        known = f"child_{len(KNOWN)}"
        KNOWN[known] = function
    return known


def _text(expression: Expression) -> str:
    kind, *rest = expression
    if kind == "constant":
        return str(rest[0])
    if kind == "variable":
        return f"s.{rest[0]}"
    if kind == "sum":
        second = rest[1] if rest[1] == "1" else f"s.{rest[1]}"
        return f"(s.{rest[0]} + {second}) % 2"
    return "kept"


# As they are meant


class _Failed(Exception):
    """An assertion does not hold."""


@dataclass(frozen=True)
class State:
    """Variables, and of each process by name: its blocks that are left, and its local."""

    values: tuple[int, ...]
    left: tuple[tuple[str, tuple[Any, ...], int], ...]
    failed: frozenset[str] = frozenset()


def final_states(processes: Sequence[Process]) -> set[Final]:
    """Return what all interleavings end with."""
    left = [(f"p{i}", _frozen(process), 0) for i, process in enumerate(processes)]
    seen = {State((0,) * len(NAMES), tuple(left))}
    todo, found = list(seen), set()
    while todo:
        state = todo.pop()
        after = [*_successors(state)]
        if not after:
            waiting = {f"{name} waits" for name, blocks, _ in state.left if blocks}
            found.add((state.values, state.failed | waiting))
        for successor in after:
            if successor not in seen:
                seen.add(successor)
                todo.append(successor)
    return found


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value


def _successors(state: State) -> Iterator[State]:
    for index, (name, blocks, _) in enumerate(state.left):
        if blocks and _is_enabled(blocks[0][0], state.values):
            yield _taken(state, index, name)


def _is_enabled(guard: tuple[str, int] | None, values: tuple[int, ...]) -> bool:
    return guard is None or values[NAMES.index(guard[0])] == guard[1]


def _taken(state: State, index: int, name: str) -> State:
    _, blocks, kept = state.left[index]
    frame: dict[str, Any] = {
        **dict(zip(NAMES, state.values, strict=True)), "kept": kept, "children": [],
    }  # fmt: skip
    rest, failed = blocks[1:], state.failed
    try:
        for statement in blocks[0][1]:
            _do(statement, frame)
    except _Failed:
        rest, failed = (), failed | {name}
    left = list(state.left)
    left[index] = name, rest, frame["kept"] if rest else 0
    born = sum(other.startswith(f"{name}.") for other, *_ in left)
    for number, statements in enumerate(frame["children"], born + 1):
        left.append((f"{name}.{number}", ((None, statements),), 0))
    values = tuple(frame[name] for name in NAMES)
    return State(values, tuple(sorted(left)), failed)


def _do(statement: Statement, frame: dict[str, Any]) -> None:
    kind, *rest = statement
    if kind == "set":
        frame[rest[0]] = _value(rest[1], frame)
    elif kind == "keep":
        frame["kept"] = _value(rest[0], frame)
    elif kind == "spawn":
        frame["children"].append(rest[0])
    else:
        holds = (frame[rest[0]] == rest[2]) == (rest[1] == "==")
        if kind == "assert":
            if not holds:
                raise _Failed
        else:
            for inner in rest[3] if holds else rest[4]:
                _do(inner, frame)


def _value(expression: Expression, frame: dict[str, Any]) -> int:
    kind, *rest = expression
    if kind == "constant":
        return int(rest[0])
    if kind == "variable":
        return int(frame[rest[0]])
    if kind == "sum":
        second = 1 if rest[1] == "1" else frame[rest[1]]
        return int((frame[rest[0]] + second) % 2)
    return int(frame["kept"])


# As they are explored


@dataclass
class Reached:
    """What an exploration reached."""

    final_states: set[Final]
    executions: int
    blocked: int
    is_complete: bool


def reached(program: Program, algorithm: str, schedule: str = "stay", **options: Any) -> Reached:
    """Explore a program to its end, and note where its complete executions end."""
    names = program.vocabulary.process_names
    found: set[Final] = set()

    def watch(run: Run, outcome: int) -> None:
        assert isinstance(run, ModelRun)
        if outcome == ENDED:
            values = program.shared_values(run._state)
            failed = {names[crash.process] for crash in run.crashes}
            waiting = {f"{names[process]} waits" for process, _ in run.blocked()}
            found.add((tuple(values.values()), frozenset(failed | waiting)))

    search = Search(
        program, ALGORITHMS[algorithm], algorithm, budget=Budget(), choose=SCHEDULES[schedule],
        stop_on_failure=False, **options,
    )  # fmt: skip
    search.on_end = watch
    search.is_validating = True
    result = search.explore()
    return Reached(found, result.executions, result.blocked, result.complete)


def missed(processes: Sequence[Process], algorithm: str, schedule: str) -> set[Final]:
    """Return in what an exploration differs from all interleavings: final states of one only.

    Those who order only writes that somebody looks at are shown an observer of all.
    """
    program = build(processes, observed="observers" in algorithm)
    found = reached(program, algorithm, schedule)
    assert found.is_complete
    return found.final_states ^ final_states(processes)


SHAPES = {
    "plain": Shape(),
    "guards": Shape(guards=True, assertions=True, blocks=5),
    "locals": Shape(locals=True, assertions=True),
    "processes": Shape(spawns=True, locals=True, assertions=True, processes=(2, 4), blocks=4),
    "branches": Shape(branches=True, processes=(2, 4), blocks=4),
}
