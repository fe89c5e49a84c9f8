"""The programs of `conditional_programs` with the strongest constraints that there can be.

For every two blocks and every set of variables there is a constraint that reads these, and holds if
the blocks commute whatever the others are. So whatever nobody else may write decides.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from conditional_programs import NAMES, Block, Process, State, _frozen, _successors, build
from treadle.model import Program

Values = tuple[int, ...]


def constrained(processes: Sequence[Process], *, crossing: bool = False) -> Program:
    """Return the model with all constraints; `crossing`: whoever creates a process."""
    program = build(processes)
    blocks = [(p, k) for p, process in enumerate(processes) for k in range(len(process))]
    for (p, k), (q, m) in itertools.combinations(blocks, 2):
        if p != q:
            names = block_name(processes[p], p, k), block_name(processes[q], q, m)
            for size in range(len(NAMES) + 1):
                for looked_at in itertools.combinations(range(len(NAMES)), size):
                    holds = _constraint(processes[p][k:], processes[q][m:], looked_at, crossing)
                    if holds is not None:
                        program.independent(*names)(holds)
    return program


def block_name(process: Process, number: int, block: int) -> str:
    """Return the name of a block: a first one that waits has an empty step before it."""
    offset = 1 if process[0][0] is not None else 0
    count = len(process) + offset
    return f"p{number}" if count == 1 else f"p{number}:{block + offset + 1}"


def _constraint(
    one: Sequence[Block], other: Sequence[Block], looked_at: tuple[int, ...], crossing: bool
) -> Callable[..., bool] | None:
    """Return where two blocks commute whatever is not looked at; None if that is nowhere."""
    known = {
        (seen, kept): all(
            commute(one, other, values, kept, crossing=crossing)
            for values in itertools.product((0, 1), repeat=len(NAMES))
            if tuple(values[i] for i in looked_at) == seen
        )
        for seen in itertools.product((0, 1), repeat=len(looked_at))
        for kept in ((0, 0), (0, 1), (1, 0), (1, 1))
    }
    if not any(known.values()):
        return None

    def holds(s: Any, first: Any, second: Any) -> bool:
        seen = tuple(getattr(s, NAMES[i]) for i in looked_at)
        return known[seen, (getattr(first, "kept", 0), getattr(second, "kept", 0))]

    return holds


def commute(
    one: Sequence[Block],
    other: Sequence[Block],
    values: Values,
    kept: tuple[int, int],
    *,
    crossing: bool = False,
) -> bool:
    """Tell whether the first blocks of two processes commute in a state, guards included."""
    left = (("a", _frozen(one), kept[0]), ("b", _frozen(other), kept[1]))
    ends = []
    for order in ("ab", "ba"):
        states = [State(values, left)]
        for name in order:
            states = [
                successor
                for state in states
                for successor in _successors(state)
                if _lengths(successor)[name] < _lengths(state)[name]
            ]
        ends.append(states)
    first = _enabled(State(values, left))
    if crossing:
        ends = [[_whoever_created(state) for state in states] for states in ends]
    return first == {"a", "b"} and bool(ends[0]) and ends[0] == ends[1]


def _whoever_created(state: State) -> State:
    """Return a state in which the names of created processes do not say who created them."""
    left = [
        (name if "." not in name else "child", blocks, kept) for name, blocks, kept in state.left
    ]
    return State(state.values, tuple(sorted(left, key=repr)), anonymous(state.failed))


def anonymous(names: frozenset[str]) -> frozenset[str]:
    """Return names of processes, those of created ones without who created them."""
    return frozenset(name if "." not in name else "child" for name in names)


def _lengths(state: State) -> dict[str, float]:
    return {name: len(blocks) for name, blocks, _ in state.left}


def _enabled(state: State) -> set[str]:
    before = _lengths(state)
    found = set()
    for successor in _successors(state):
        after = _lengths(successor)
        found |= {name for name in before if after[name] < before[name]}
    return found
