"""The command as a process of its own: pipes, colour, encodings, interrupts."""

from __future__ import annotations

import re
import signal

import pytest

from cli_models import start
from waiting import PATIENCE, wait_until


@pytest.mark.usefixtures("models")
def test_a_pipe_gets_no_colour_and_no_live_line():
    process = start("run", "models.py::race", TERM="xterm-256color")
    out, err = process.communicate()
    assert (process.returncode, err) == (1, "")
    assert "\x1b" not in out
    assert out.startswith("FAILED")


@pytest.mark.usefixtures("models")
def test_colour_can_be_forced_and_switched_off():
    out, _ = start("run", "models.py::race", FORCE_COLOR="1", TERM="xterm").communicate()
    assert "\x1b[1;31mFAILED" in out
    plain, _ = start(
        "run", "models.py::race", FORCE_COLOR="1", NO_COLOR="1", TERM="xterm"
    ).communicate()
    assert "31m" not in plain


@pytest.mark.usefixtures("models")
def test_a_pipe_that_does_not_know_the_characters(models):
    (models / "names.py").write_text(
        "from treadle.model import Program\n"
        "program = Program(x=0)\n"
        "def p(s):\n"
        "    yield\n"
        "    assert s.x, 'x ∉ X'\n"
        "program.process(p)\n",
        encoding="utf-8",
    )
    process = start("run", "names.py", PYTHONIOENCODING="ascii")
    out, err = process.communicate()
    assert (process.returncode, err) == (1, "")
    assert "x \\u2209 X" in out


LARGE = """
import pathlib
import sys
from treadle.model import Program

program = Program(x=0)


def increment(s):
    for _ in range(10):
        yield
        s.x += 1
    if s.x == 50:
        pathlib.Path("executed").touch()


for _ in range(5):
    program.process(increment)
print("ready", flush=True)
"""


@pytest.mark.parametrize("command", ["run", "compare"])
def test_an_interrupt_says_how_far_it_came(models, command):
    (models / "large.py").write_text(LARGE)
    process = start(command, "large.py")
    assert process.stdout.readline() == "ready\n"
    wait_until((models / "executed").exists)
    process.send_signal(signal.SIGINT)
    try:
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in err
    if command == "run":
        assert re.match(r"INTERRUPTED: large.py::program, after [\d,]+ executions", err)
    else:
        assert "INTERRUPTED: exhaustive and what comes after it did not finish" in err
        assert "large.py::program" in out
