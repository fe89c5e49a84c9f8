"""Loops are the same on every Python: what they do, and where they are asked whether they wait."""

from __future__ import annotations

import hashlib
import importlib
import linecache
import re
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from random_loops import run, source_of

import treadle
from treadle.python.accesses import instruction_hooks
from treadle.python.instrument.rewrite import rewrite
from treadle.python.instrument.scope import Scope

# Random functions

BLOCK = 25
"""Functions of one digest; each is run with four sequences of answers."""
DIGESTS = """
    c2b1b3a7 1916055a c10f1bed d804a2df 87bb6e03 51735b8a
    d83531a6 347ce447 5285af84 6eee7c7d 28344ba6 a686a08b
    051323d0 155f7169 582adfaa e00bfc20 11d6edd2 477345c4
    706cbab4 97e884b9 c5303f9d 14ab1cf4 bbfe49fd 61a8208b
""".split()  # noqa: SIM905 - a table
"""Of what was called, and where loops were asked, as it was on Python 3.11."""


def traced(seed: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """Yield what a random function calls, rewritten, and where its loops are asked."""
    source, name = source_of(seed), f"<loops {seed}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    code = compile(source, name, "exec", dont_inherit=True)
    seen: list[object] = []
    with monkeypatch.context() as patched:
        patched.setattr(instruction_hooks, "loop", lambda _: seen.append("asked"))
        rewritten = rewrite(code, Scope())
    for number in range(4):
        expected: list[object] = []
        seen.clear()
        run(code, f"{seed} {number}", expected)
        run(rewritten, f"{seed} {number}", seen)
        assert [one for one in seen if one != "asked"] == expected, source
        yield list(seen)


@pytest.mark.parametrize("block", range(4))
def test_random_loops(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    check(block, monkeypatch)


@pytest.mark.minutes
@pytest.mark.parametrize("block", range(4, len(DIGESTS)))
def test_more_random_loops(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    check(block, monkeypatch)


def check(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = range(block * BLOCK, (block + 1) * BLOCK)
    seen = [list(traced(seed, monkeypatch)) for seed in seeds]
    digest = hashlib.blake2b(repr(seen).encode(), digest_size=4).hexdigest()
    assert digest == DIGESTS[block]


def test_a_loop_without_its_source_is_taken_for_one_line() -> None:
    """From Python 3.14 on the test may be asked one read earlier; what it does is the same."""
    for seed in range(40):
        code = compile(source_of(seed), "<nowhere>", "exec", dont_inherit=True)
        rewritten = rewrite(code, Scope())
        for number in range(4):
            expected: list[object] = []
            seen: list[object] = []
            run(code, f"{seed} {number}", expected)
            run(rewritten, f"{seed} {number}", seen)
            assert seen == expected


# Loops that wait


MODULE = """
from contextlib import suppress
import threading

def is_set(f):
    return f.a

def wait(f):
{body}
"""
SHAPES: dict[str, tuple[int, str]] = {
    "a line": (4, """
        while not f.a: pass
    """),
    "parentheses": (4, """
        while not (
            f.a
        ):
            pass
    """),
    "and, two lines": (8, """
        while (not f.a
               and not f.b):
            pass
    """),
    "and": (8, """
        while not f.a and not f.b:
            pass
    """),
    "or": (13, """
        while not f.a or not f.b:
            pass
    """),
    "or, two lines": (13, """
        while (not f.a
               or not f.b):
            pass
    """),
    "and, or, not": (8, """
        while (
            (not f.a or f.n == 5)
            and not
            f.b
        ):
            pass
    """),
    "a break in an else": (8, """
        while not f.a:
            if not f.b:
                pass
            else:
                break
    """),
    "the same, two lines": (28, """
        while (
            not f.a
        ):
            if not f.b:
                f.n
            else:
                break
    """),
    "continue": (20, """
        while (not f.a
               and not f.b):
            if f.n:
                continue
            pass
    """),
    "a comparison": (4, """
        while (f.n
               < 2):
            pass
    """),
    "a chain of comparisons": (4, """
        while (-1 < f.n
               < 2):
            pass
    """),
    "a conditional expression": (17, """
        while (not f.a
               if f.n < 7
               else not f.b):
            pass
    """),
    "an assignment expression": (4, """
        while (x :=
               f.a) is False:
            pass
    """),
    "a call": (4, """
        while not is_set(
            f
        ):
            pass
    """),
    "is None": (4, """
        while (f.a or
               None) is None:
            pass
    """),
    "a loop at the end of a loop": (5, """
        while (not
               f.a):
            while (not
                   f.b):
                pass
    """),
    "else": (4, """
        while (not
               f.a):
            pass
        else:
            return
    """),
    "try": (13, """
        while (not
               f.a):
            try:
                f.n
            finally:
                pass
    """),
    "a generator expression": (13, """
        while not all(
            getattr(f, x) for x in "ab"
        ):
            pass
    """),
    "one line": (13, """
        while not f.a: f.n
    """),
    "return": (13, """
        while (not
               f.a):
            if f.n == 5:
                return
    """),
    "inside of try": (26, """
        try:
            while (not f.a
                   and not f.b):
                f.n
        except ValueError:
            pass
    """),
    "inside of with": (26, """
        with threading.Lock():
            while (not f.a
                   and not f.b):
                f.n
    """),
    "while True": (9, """
        while True:
            if (f.a
                and f.b):
                break
    """),
    "not and": (13, """
        while not (f.a
                   and f.b):
            pass
    """),
    "an if at the end": (8, """
        while (not f.a
              ):
            if f.b:
                f.n
    """),
    "a for at the end": (13, """
        while (not f.a
              ):
            for _ in (1,):
                f.n
    """),
    "a lambda": (4, """
        while (lambda:
               not f.a)():
            pass
    """),
    "a generator": (4, """
        def g():
            while (not
                   f.a):
                yield 1
        for _ in g():
            pass
    """),
    "a negated chain": (4, """
        while not (0 < f.n
                   < 9):
            pass
    """),
    "is None, one line": (4, """
        while f.value is None:
            pass
    """),
    "is None and more": (8, """
        while f.value is None and not f.a:
            pass
    """),
    "suppressed exceptions": (8, """
        while not f.a:
            with suppress(ValueError):
                if not f.b:
                    raise ValueError
    """),
    "handled exceptions": (28, """
        while not f.a:
            try:
                if not f.b:
                    raise ValueError
            except ValueError:
                f.n
    """),
    "only its handler goes on": (8, """
        while not f.a:
            try:
                if not f.b:
                    raise ValueError
                break
            except ValueError:
                pass
    """),
    "a list comprehension": (4, """
        while not all([
            one for one in [f.a]
        ]):
            pass
    """),
    "in a handler": (4, """
        try:
            raise ValueError
        except ValueError:
            while not (
                f.a
            ):
                pass
    """),
    "two loops and finally": (14, """
        while not f.a:
            try:
                while not (
                    f.b
                ):
                    f.n
            finally:
                f.n
    """),
}  # fmt: skip
"""How often two threads make a difference, on every Python, and how one of them waits."""


class Flag:
    def __init__(self) -> None:
        self.a = self.b = False
        self.n = 0
        self.value: int | None = None


def waiting(folder: Path, shape: str) -> Callable[[], None]:
    """Return a test in which a thread waits for what another sets."""
    body = textwrap.indent(textwrap.dedent(SHAPES[shape][1]), "    ")
    name = "waits_" + re.sub(r"\W", "_", shape)
    (folder / f"{name}.py").write_text(MODULE.format(body=body))
    wait = importlib.import_module(name).wait

    def test() -> None:
        flag = Flag()

        def set_all() -> None:
            flag.n = 2
            flag.value = 1
            flag.a = True
            flag.b = True

        threads = [
            threading.Thread(target=lambda: wait(flag)),
            threading.Thread(target=set_all),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return test


@pytest.mark.parametrize("shape", SHAPES)
def test_waiting_loops(shape: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    result = treadle.explore(waiting(tmp_path, shape))
    assert (result.ok, result.executions, result.blocked) == (True, SHAPES[shape][0], 0)
