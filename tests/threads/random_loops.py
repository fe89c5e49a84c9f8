"""Random functions with loops in each other, and what is run in them.

`source_of(seed)` is the same on every Python. A function calls `t(n)` in tests and bodies, each
with a number of its own; `run` lets those calls answer at random, or raise, and takes them down.
"""

from __future__ import annotations

import random
from types import CodeType
from typing import Any

CALLS = 60
"""After so many a function ends: loops may go on for ever."""
_ROUND = "    "


class _Maker:
    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._calls = 0

    def pick(self, *ways: Any) -> Any:
        return ways[int(self._random.random() * len(ways))]

    def call(self) -> str:
        self._calls += 1
        return f"t({self._calls})"

    def test(self, depth: int = 0) -> str:
        """Return an expression, on one line or on several."""
        way = self.pick(*_TESTS) if depth < 2 else "{t}"
        gap = self.pick(" ", "\n" + " " * 20)
        out = way.replace("{gap}", gap)
        while "{t}" in out:
            out = out.replace("{t}", self.call(), 1)
        while "{inner}" in out:
            out = out.replace("{inner}", self.test(depth + 1), 1)
        return str(out)

    def block(self, depth: int, leave: tuple[str, ...]) -> list[str]:
        lines = []
        for _ in range(self.pick(1, 1, 2, 3)):
            lines += self.statement(depth, leave)
        return [_ROUND + line for line in lines]

    def statement(self, depth: int, leave: tuple[str, ...]) -> list[str]:
        """Return the lines of a statement; `leave` is how the loop around can be left."""
        kind = self.pick("call", "call", "pass") if depth > 3 else self.pick(*_STATEMENTS)
        if kind in ("while", "while else"):
            if self.pick(True, False, False, False, False, False):
                return [f"while {self.test()}: {self.call()}"]
            lines = [f"while {self.test()}:", *self.block(depth + 1, ("break", "continue"))]
            more = kind == "while else"
            return [*lines, "else:", *self.block(depth + 1, leave)] if more else lines
        if kind == "for":
            return ["for i in (1, 2):", *self.block(depth + 1, ("break", "continue"))]
        if kind == "with":  # where a `continue` that leaves one goes to, newer Pythons do not tell
            return ["with M():", *self.block(depth + 1, leave[:1])]
        if kind == "finally":
            rest = ["finally:", _ROUND + self.call()]
            return ["try:", *self.block(depth + 1, leave[:1]), *rest]
        if kind == "try":
            rest = ["except E:", *self.block(depth + 1, leave)]
            return ["try:", *self.block(depth + 1, leave), *rest]
        if kind == "if":
            return [f"if {self.test()}:", *self.block(depth + 1, leave)]
        if kind == "if else":
            rest = ["else:", *self.block(depth + 1, leave)]
            return [f"if {self.test()}:", *self.block(depth + 1, leave), *rest]
        if kind == "return":
            return [f"if {self.call()} == 3: return 1"]
        if kind == "leave" and leave:
            way = self.pick(*leave)
            return self.pick([way], [f"if {self.test()}:", "    pass", "else:", f"    {way}"])
        return [self.call() if kind == "call" else "pass"]


_TESTS = (
    "{t}", "{t}", "not {inner}", "(not{gap}{inner})", "({inner}{gap}and {inner})",
    "({inner}{gap}or {inner})", "bool({gap}{inner})", "({t}{gap}> 0)",
    "(0 < {t}{gap}<= {t} < 9)", "({inner}{gap}if {inner}{gap}else {inner})",
    "({t} or{gap}None) is not None", "({t} or{gap}None) is None", "(x :={gap}{t})",
    "({gap}{inner}{gap})", "[y for y in (1, 2){gap}if {t}]",
)  # fmt: skip
_STATEMENTS = (
    "call", "pass", "while", "while", "while", "while else", "for", "with", "finally", "try", "if",
    "if else", "return", "leave", "leave",
)  # fmt: skip


def source_of(seed: int) -> str:
    """Return a module with a function `main`."""
    return "\n".join(["def main():", *_Maker(seed).block(0, ())]) + "\n"


class E(Exception):
    """What a call raises now and then."""


class _End(BaseException):
    """There were enough calls."""


class M:
    """A context manager that lets no `E` out."""

    def __enter__(self) -> None: ...
    def __exit__(self, kind: object, *rest: object) -> bool:
        return kind is E


def run(code: CodeType, seed: str, seen: list[object]) -> None:
    """Run `main`; put what it called, and how it ended, into a list."""
    answers = random.Random(seed)
    calls = [0]

    def t(number: int) -> int:
        seen.append(number)
        calls[0] += 1
        if calls[0] > CALLS:
            raise _End
        drawn = answers.random()
        if drawn < 0.06:
            raise E
        return 1 if drawn < 0.65 else 0

    namespace: dict[str, Any] = {"t": t, "E": E, "M": M}
    exec(code, namespace)
    try:
        seen.append(f"returns {namespace['main']()}")
    except (E, _End) as error:
        seen.append(type(error).__name__)
