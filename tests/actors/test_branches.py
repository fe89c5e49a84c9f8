"""Branches in the deadlock analysis: those that no execution takes are left out, and only those."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest
from random_actors import program_of

import treadle
from treadle.actors import Program
from treadle.actors.deadlocks import candidates_of
from treadle.core.deadlocks import SENSITIVITY

TEXT = """\
from treadle.actors import Actor, pause, until

LIMIT = 3


class Self(Actor):
    level = 2
    def __init__(self, n=0, flag=False):
        self.n, self.flag, self.kept, self.other = n, flag, None, 0
    async def touch(self):
        return 0
    async def nothing(self):
        pass
    async def count(self):
        self.other += 1
    async def go(self, x=None):
{body}


def main(given=0):
    {main}
"""


def program(body: str, main: str = "Self().go.send()") -> Program:
    return program_of(TEXT.format(body=indent(dedent(body), " " * 8), main=main))


def cycles(target: Program) -> int:
    found = candidates_of(target, SENSITIVITY)
    assert found.unknown == []
    return len(found.cycles)


NEVER = {
    "a field that is 0": "if self.n > 0: self.touch.send().get()",
    "a field that is false": "if self.flag: self.touch.send().get()",
    "a field that is None": "if self.kept is not None: self.touch.send().get()",
    "a class attribute": "if self.level > 5: self.touch.send().get()",
    "a constant of the module": "if LIMIT == 4: self.touch.send().get()",
    "a name": "n = 1\nif n == 2: self.touch.send().get()",
    "a computed name": "n = 1\nn += 1\nif n * 2 != 4: self.touch.send().get()",
    "a parameter": "if x is not None: self.touch.send().get()",
    "a result": "r = await self.nothing.send()\nif r: self.touch.send().get()",
    "not": "if not self.n == 0: self.touch.send().get()",
    "and": "if self.n == 0 and self.flag: self.touch.send().get()",
    "or": "if self.n == 1 or self.flag: self.touch.send().get()",
    "an expression": "f = self.touch.send() if self.flag else None\nif f: f.get()",
    "an actor is no None": "y = self\nif y is None: self.touch.send().get()",
    "a loop": "while self.flag: self.touch.send().get()",
    "narrowed": "f = None if self.n else self.touch.send()\nif f is None: self.touch.send().get()",
}


@pytest.mark.parametrize("body", NEVER.values(), ids=NEVER)
def test_a_branch_that_is_never_taken(body: str) -> None:
    target = program(body)
    assert cycles(target) == 0
    assert not treadle.explore(target, stop_on_failure=False).failures


SOMETIMES = {
    "what main was given": ("if self.n > 0: self.touch.send().get()", "Self(given).go.send()"),
    "one of two": ("if self.n > 0: self.touch.send().get()",
                   "Self(0).go.send(); Self(1).go.send()"),
    "counted up": ("self.n += 1\nif self.n > 0: self.touch.send().get()", "Self().go.send()"),
    "counted up elsewhere": ("await self.count.send()\nif self.other: self.touch.send().get()",
                             "Self().go.send()"),
    "counted up often": ("self.n += 1\nif self.n > 40: self.touch.send().get()",
                         "s = Self()\n    for _ in range(50): s.go.send()"),
    "a loop": ("n = 0\nwhile n < 9: n += 1\nif n == 9: self.touch.send().get()",
               "Self().go.send()"),
    "a parameter": ("if x is not None: self.touch.send().get()", "Self().go.send(1)"),
    "a result": ("r = await self.touch.send()\nif r == 0: self.touch.send().get()",
                 "Self().go.send()"),
    "a length": ("if len([1]) == 1: self.touch.send().get()", "Self().go.send()"),
    "an item": ("if [1, 2][1] == 2: self.touch.send().get()", "Self().go.send()"),
    "a part of a tuple": ("t = (1, None)\nif t[1] is None: self.touch.send().get()",
                          "Self().go.send()"),
    "an empty tuple": ("t = ()\nif not t: self.touch.send().get()", "Self().go.send()"),
    "a list": ("if not []: self.touch.send().get()", "Self().go.send()"),
    "a text": ("if 'a' + 'b' == 'ab': self.touch.send().get()", "Self().go.send()"),
    "a division": ("if 4 // 2 == 2: self.touch.send().get()", "Self().go.send()"),
    "a dictionary": ("if {}.get(1) is None: self.touch.send().get()", "Self().go.send()"),
    "a caught exception": ("try:\n    n = [][0]\nexcept IndexError as e:\n    n = 7\n"
                           "if n == 7: self.touch.send().get()", "Self().go.send()"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "main"), SOMETIMES.values(), ids=SOMETIMES)
def test_a_branch_that_may_be_taken(body: str, main: str) -> None:
    target = program(body, main)
    assert cycles(target) >= 1


@pytest.mark.parametrize(
    "name", [name for name in SOMETIMES if name not in ("what main was given", "counted up often")]
)
def test_and_it_is_taken(name: str) -> None:
    result = treadle.explore(program(*SOMETIMES[name]), stop_on_failure=False)
    assert "deadlock" in result.failure_kinds
