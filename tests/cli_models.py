"""Models that the tests of the command line run, and how they run it and read what it says."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import treadle

MODELS = """
import itertools

from treadle.model import Lock, Program

safe = Program(lock=Lock(), x=0)


def guarded(s):
    yield s.lock.acquire()
    s.x = s.x + 1
    yield
    s.lock.release()


safe.process(guarded, name="p")
safe.process(guarded, name="q")

race = Program(x=0)


def increment(s):
    value = s.x
    yield
    s.x = value + 1


race.process(increment, name="p")
race.process(increment, name="q")


@race.process
def reader(s):
    yield
    assert s.x != 1, "half done"
    yield s.join("p")
    yield s.join("q")
    assert s.x == 2, "an update is lost"


def make_deadlock():
    program = Program("embrace", a=Lock(), b=Lock())

    def both(s, first, second):
        yield getattr(s, first).acquire()
        yield getattr(s, second).acquire()
        getattr(s, first).release()
        getattr(s, second).release()

    program.process(both, "a", "b", name="left")
    program.process(both, "b", "a", name="right")
    return program


broken = Program(ready=False)


@broken.process
def producer(s):
    yield
    s.ready = True


@broken.process
def consumer(s):
    yield
    if s.ready:
        {}["key"]


spin = Program(flag=False)


@spin.process
def waiting(s):
    while not s.flag:
        yield


odd = Program(x=0, y=0, z=0)
calls = itertools.count()


@odd.process
def moody(s):
    yield
    if next(calls) % 3 == 2:
        s.y = 1
    else:
        s.z = 1
    yield
    s.x = 1


@odd.process
def steady(s):
    yield
    s.x = 2
    yield
    s.x = 3
"""


def start(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    """Start the command as a process of its own."""
    source = Path(treadle.__file__).parents[1]
    return subprocess.Popen(
        [sys.executable, "-c", "from treadle.cli import main; main()", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(source), **environment},
        # Interrupts may be ignored where the tests run, e.g. in the background of a shell.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def figures_removed(text: str) -> str:
    """Replace times and rates, which differ from run to run."""
    return re.sub(r"\d+\.\d\d s(, [\d,]+ executions per second)?", "TIME", text)


def tokens_removed(text: str) -> str:
    """Replace tokens, which nobody can read."""
    return re.sub(r"\bt2_[\w-]+", "TOKEN", text)


def line_of(words: str) -> int:
    """Return the number of the only line of the models that has these words."""
    (number,) = [n for n, line in enumerate(MODELS.splitlines(), 1) if words in line]
    return number
