"""Random programs over scalars, arrays, dictionaries and counters, whose constraints are found.

Processes of one or two blocks of one or two statements, with locals, guards, created processes,
assertions and keys that are constants, parameters or computed. Small domains: that is where steps
conflict, and sometimes commute.
"""

from __future__ import annotations

from typing import Any

from boxes import Block
from random_programs import Source
from treadle.model import Counter, Program

KEYS = ("0", "1", "k", "s.x", "1 - k")
LOOKS = ("s.x", "s.a[{key}]", "s.d.get({key}, 0)", "s.c.value", "k", "({key} in s.d)")
EFFECTS = (
    "s.x = {value}",
    "s.x += 1",
    "s.a[{key}] = {value}",
    "s.a[{key}] += 1",
    "s.d[{key}] = {value}",
    "s.d[{key}] += 1",
    "s.c.add({value})",
    "s.c.add(1)",
    "kept = {value}",
    "s.x = s.c.next()",
    "s.spawn(grandchild, {value})",
    "assert {value} < 2",
)
DECISIONS = ("{value} > 0", "{key} in s.d", "{value} == {other}", "kept")


def draw_program(rng: Source) -> Program:
    """Draw a program of two or three processes."""
    program = Program("tables", x=0, a=[0, 1], d={0: 0}, c=Counter(0))
    names: list[str] = []
    for number in range(rng.randint(2, 3)):
        if names and rng.randint(0, 9) < 4:  # another process of the same function
            function, name = program.declared[-1][1], names[-1]
        else:
            name = f"p{number}"
            function = _function(rng, name, blocks=1 if number > 1 else rng.randint(1, 2))
        program.process(function, rng.randint(0, 1), name=f"{name}.{number}")
        names.append(name)
    return program


def _function(rng: Source, name: str, blocks: int) -> Any:
    lines = ["kept = 0"]
    for number in range(blocks):
        waits = number == 0 and rng.randint(0, 9) < 2
        lines.append(f"yield s.until(lambda: {_filled(rng, '{value} > 0')})" if waits else "yield")
        for _ in range(rng.randint(1, 2)):
            drawn = _statement(rng)
            if "s.spawn" in " ".join(lines) and "s.spawn" in " ".join(drawn):
                drawn = ["s.x += 1"]  # each creates at most one: all interleavings are run
            lines += drawn
    grandchild = Block("s.x = v", {"v": (0,)}).function("grandchild")
    found = Block("\n".join(lines), {"k": (0,)}, before="pass", names={"grandchild": grandchild})
    return found.function(name)


def _statement(rng: Source) -> list[str]:
    effect = _filled(rng, rng.choice(EFFECTS))
    if rng.randint(0, 9) < 6:
        return [effect]
    lines = [f"if {_filled(rng, rng.choice(DECISIONS))}:", f"    {effect}"]
    if rng.randint(0, 1):
        lines += ["else:", f"    {_filled(rng, rng.choice(EFFECTS))}"]
    return lines


def _filled(rng: Source, text: str) -> str:
    def look() -> str:
        found = rng.choice(LOOKS) if rng.randint(0, 9) < 7 else str(rng.randint(0, 1))
        return found.format(key=rng.choice(KEYS))

    return text.format(key=rng.choice(KEYS), value=look(), other=look())
