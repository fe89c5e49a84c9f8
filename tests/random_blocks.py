"""Random blocks of code: arithmetic, comparisons, conditionals, loops, arrays, guards."""

from __future__ import annotations

import random

from boxes import Block, Pair

NUMBERS = ("s.x", "s.y", "s.z")
KEYS = ("0", "1", "-1", "k")
SHARED = {"x": 0, "y": 0, "a": [0, 0]}
BOX = {"x": (-1, 0, 2), "y": (0, 1), "a": (0, 1)}


class Writer:
    """Writes random code."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def pair(self) -> Pair:
        """Return two blocks over shared values, one of which may be a truth value."""
        first, second = self.block((0, 1, -1, 2)), self.block((0, 1, -2))
        return Pair(first, second, {**SHARED, "z": self._random.choice([0, True])})

    def block(self, keys: tuple[int, ...]) -> Block:
        """Return a block of one or two statements, which may wait, and may be looked back at."""
        choose = self._random
        lines = [line for _ in range(choose.randint(1, 2)) for line in self.statement(0)]
        waits = choose.random() < 0.3
        guard = f"yield s.until(lambda: {self.condition(1)})" if waits else "yield"
        after = "yield\nassert k or True" if choose.random() < 0.4 else ""
        return Block("\n".join(lines), {"k": keys}, before=guard, after=after)

    def statement(self, depth: int) -> list[str]:
        """Return a statement, as lines."""
        choose = self._random
        target = choose.choice([*NUMBERS, f"s.a[{choose.choice(KEYS)}]"])
        kind = choose.randint(0, 9)
        if kind < 4:
            return [f"{target} = {self.expression(0)}"]
        if kind == 4:
            return [f"{target} {choose.choice('+-')}= {self.expression(0)}"]
        if kind == 5:
            return [f"assert {self.condition(1)}"]
        if kind == 6:
            return [f"k = {self.expression(0)}"]
        if kind == 9 and depth == 0:
            return [f"for i in range({choose.randint(0, 3)}):", *self._inner(depth)]
        if depth >= 2:
            return ["s.x += 1"]
        lines = [f"if {self.condition(1)}:", *self._inner(depth)]
        return [*lines, "else:", *self._inner(depth)] if choose.random() < 0.5 else lines

    def _inner(self, depth: int) -> list[str]:
        return [f"    {line}" for line in self.statement(depth + 1)]

    def expression(self, depth: int) -> str:
        """Return an expression that is a number, or a truth value."""
        choose = self._random
        kind = choose.randint(0, 11)
        if depth > 1 or kind < 3:
            return choose.choice(NUMBERS)
        one, other = self.expression(depth + 1), self.expression(depth + 1)
        return [
            "k",
            str(choose.randint(-2, 2)),
            choose.choice(["True", "False"]),
            f"({one} {choose.choice('+-*')} {other})",
            f"({one} {choose.choice(['//', '%'])} {choose.randint(1, 3)})",
            f"({one} if {self.condition(depth + 1)} else {other})",
            f"{choose.choice(['min', 'max'])}({one}, {other})",
            f"({one} {choose.choice(['and', 'or'])} {other})",
            f"s.a[{choose.choice(KEYS)}]",
        ][kind - 3]

    def condition(self, depth: int) -> str:
        """Return an expression that decides something."""
        choose = self._random
        one, other = self.expression(depth), self.expression(depth)
        kind = choose.randint(0, 5)
        if kind == 0:
            return f"{one} < {other} <= {self.expression(depth)}"
        if kind == 1 and depth < 3:
            return f"not {self.condition(depth + 1)}"
        if kind == 2:
            return one
        return f"{one} {choose.choice(['==', '!=', '<', '>', '<=', '>='])} {other}"
