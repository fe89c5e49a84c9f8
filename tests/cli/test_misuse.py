"""Misuse is one line on stderr that says what to do, and status 2; bugs of Treadle are neither."""

from __future__ import annotations

import re
from textwrap import dedent

import pytest

import treadle
from treadle.explore.source_sets.optimal import Optimal

BAD_FILES = {
    "raises.py": "def f():\n    return 1 / 0\n\n\nf()\n",
    "exits.py": "import sys\nsys.exit(0)\n",
    "imports.py": "import there_is_no_such_module\n",
    "syntax.py": "x = 1\ndef f(:\n",
    "bad_neighbour.py": "import syntax\n",
    "nul.py": "x = '\0'\n",
    "empty.py": "",
    "text.txt": "not Python\n",
    "no_generator.py": """
        from treadle.model import Program
        program = Program(x=0)
        @program.process
        def p(s):
            s.x = 1
        """,
    "no_process.py": """
        from treadle.model import Program
        program = Program(x=0)
        """,
    "outside.py": """
        from treadle.model import Mailbox, Program
        program = Program(x=0, box=Mailbox())
        @program.process
        def p(s):
            yield s.box.receive(match=lambda message: s.x == message)
        @program.process
        def q(s):
            s.box.send(0)
            yield
            s.box.send(0)
        """,
    "stale.py": """
        from treadle.model import Program
        program = Program(x=0)
        kept = []
        @program.process
        def p(s):
            kept.append(s)
            yield
            kept[0].x = 1
        """,
    "stranger.py": """
        from treadle.model import Lock, Program
        program = Program(lock=Lock())
        @program.process
        def p(s):
            yield
            s.lock.release()
        """,
    "quits.py": """
        import sys
        from treadle.model import Program
        program = Program(x=0)
        @program.process
        def p(s):
            yield
            s.x = 1
            sys.exit(0)
        """,
    "functions.py": """
        def takes(argument): ...
        def three(): return 3
        def fails(): raise ValueError("two\\nlines")
        def process():
            yield
        """,
}


@pytest.fixture
def bad_files(models):
    for name, text in BAD_FILES.items():
        (models / name).write_text(dedent(text))
    (models / "directory.py").mkdir()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "raises.py"], r"raises at import: ZeroDivisionError.*\(raises.py:2\)"),
        (["run", "exits.py"], r"exits.py raises at import: SystemExit: 0.*\(exits.py:2\)"),
        (["run", "imports.py"], r"No module named 'there_is_no_such_module'.*imports.py:1"),
        (["run", "syntax.py"], "syntax.py:2 is not valid Python: invalid syntax"),
        (["run", "bad_neighbour.py"], r"/syntax.py:2 is not valid Python: .*; mend it first"),
        (["run", "nul.py"], "nul.py.* null bytes"),
        (["run", "empty.py"], "empty.py has no program: define a function without parameters"),
        (["run", "empty.py::x"], "empty.py has no 'x': define a treadle.model.Program in it"),
        (["run", "text.txt"], "is no Python file: give a file whose name ends in .py"),
        (["run", "directory.py"], "is a directory: give one Python file in it"),
        (["run", "gone.py"], "there is no file gone.py: give FILE.py::NAME or FILE.py"),
        (["run", "models.py"], "5 programs: choose one of models.py::safe, models.py::race, "),
        (["run", "models.py::rice"], "models.py has no 'rice': did you mean 'race'?"),
        (["run", "models.py::zzz"], "models.py has no 'zzz': it has safe, race, broken, "),
        (["run", "models.py::race_test"], "models.py has no 'race_test': it has safe, race, "),
        (["run", "models.py::Test::it"], "is a method .* run it with `pytest models.py::Test::it`"),
        (["run", "models.py::it[1]"], r"has parameters: run it with `pytest 'models.py::it\[1\]'`"),
        (["run", "no_generator.py"], r"'p' is no generator function: write `yield`.*\.py:4\)"),
        (["run", "no_process.py"], "has no process: add one with @program.process"),
        (["run", "outside.py"], "touched its shared state outside a step: read and write it only"),
        (["run", "stale.py"], "touched its shared state outside a step: read and write it only"),
        (["run", "stranger.py"], r"releases lock 'lock', which is free: .*\(stranger.py:7\)"),
        (["run", "functions.py::takes"], "give a function without parameters"),
        (["run", "functions.py::process"], "'process' is a process, not a program: add it to"),
        (["run", "models.py::safe", "--algorithm", "best"], "'best' is not one of 'exhaustive', "),
        (["run", "models.py::safe", "--schedule", "x"], "'x' is not one of 'stay', 'oldest', "),
        (
            ["run", "models.py::safe", "--max-executions", "-3"],
            "a whole number above 0, .*-3",
        ),
        (
            ["run", "models.py::safe", "--max-steps", "0"],
            "max_steps must be a whole number",
        ),
        (
            ["run", "models.py::safe", "--timeout", "-1"],
            "must be a number of seconds above 0",
        ),
        (["run", "models.py::safe", "--timeout", "x"], "'x' is not a valid float.*run --help"),
        (["run", "models.py::safe", "--depth", "0"], "depth must be a whole number above 0, not 0"),
        (["run"], r"Missing argument 'FILE.py\[::NAME\]'"),
        (["run", "models.py::safe", "--zzz"], r"No such option '?--zzz'? \(see"),
        (["rum"], r"No such command 'rum'.*\(see 'treadle --help'\)"),
        (["compare", "models.py::safe", "--max-executions", "0"], "must be a whole number above 0"),
        (["compare", "models.py::safe", "--algorithm", "best"], "'best' is not one of"),
        (["replay", "models.py::safe", "z"], "does not fit the program: step 1 is for 'z', but"),
        (["replay", "models.py::safe", "p q"], "step 2 is for 'q', but it cannot take a step"),
        (["replay", "models.py::safe", "p*x"], r"cannot read 'p\*x' in the schedule: write"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
@pytest.mark.usefixtures("bad_files")
def test_misuse(call, arguments, message):
    status, out, err = call(*arguments)
    assert (status, out) == (2, "")
    assert re.match(r"treadle: error: .*\n\Z", err), "one line"
    assert re.search(message, err)


@pytest.mark.usefixtures("bad_files")
def test_ending_python_is_a_finding(call):
    status, out, _ = call("run", "quits.py")
    assert status == 1
    assert "SystemExit: 0" in out
    assert "quits.py:9" in out


def test_a_bug_of_treadle_is_no_finding(call, monkeypatch):
    def fail(_self):
        raise treadle.TreadleBug("the tree is upside down")

    monkeypatch.setattr(Optimal, "backtrack", fail)
    status, out, err = call("run", "models.py::safe")
    assert (status, out) == (70, "")
    assert err.startswith("treadle: bug: the tree is upside down\n")
    assert "please report it" in err


def test_an_unforeseen_error_is_a_bug_too(call, monkeypatch):
    monkeypatch.setattr(Optimal, "backtrack", lambda _self: 1 / 0)
    status, _, err = call("run", "models.py::safe")
    assert status == 70
    assert "ZeroDivisionError" in err
    assert err.endswith("please report it.\n")


def test_a_line_is_named_once(call, tmp_path):
    """What is refused says its line itself."""
    (tmp_path / "starts.py").write_text(
        "import subprocess\ndef test_starts():\n    subprocess.run(['true'])\n"
    )
    status, _, err = call("run", str(tmp_path / "starts.py"))
    assert (status, err.count("starts.py:3")) == (2, 1)
    assert "the test calls subprocess.run() at " in err
