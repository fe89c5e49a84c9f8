"""The command line: exit statuses, what goes to stdout and to stderr, and every kind of misuse."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent

import pytest

import treadle
from treadle import cli
from treadle.explore.optimal import Optimal

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


@pytest.fixture
def models(tmp_path, monkeypatch) -> Path:
    """Work in a directory that has `models.py`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "models.py").write_text(MODELS)
    return tmp_path


@pytest.fixture
def call(models, command_line):
    """The command line, in the directory of the models."""
    assert Path.cwd() == models
    return command_line


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
    return re.sub(r"\bt1_[\w-]+", "TOKEN", text)


def line_of(words: str) -> int:
    """Return the number of the only line of the models that has these words."""
    (number,) = [n for n, line in enumerate(MODELS.splitlines(), 1) if words in line]
    return number


# run


def test_a_verified_program(call):
    status, out, err = call("run", "models.py::safe")
    assert (status, err) == (0, "")
    assert figures_removed(out) == dedent(
        """\
        VERIFIED: models.py::safe, no interleaving fails
          algorithm   optimal
          executions  2 complete, 0 blocked
          events      8 executed, 0 replayed
          time        TIME
        """
    )


def test_a_failed_assertion(call):
    status, out, err = call("run", "models.py::race", "--schedule", "oldest", "--no-shrink")
    assert (status, err) == (1, "")
    line, read, write = map(line_of, ["half done", "value = s.x", "s.x = value + 1"])
    assert tokens_removed(out).split("\n\n", 1)[1] == dedent(
        f"""\
        Assertion failed in reader at models.py:{line}: half done

        In models.py:
                 p                     │ q                     │ reader
          1  {read}  value = s.x           │                       │
                   read x = 0          │                       │
        * 2  {write}  s.x = value + 1       │                       │
        *          write x = 1         │                       │
        *          (ends)              │                       │
          3  {read}                        │ value = s.x           │
                                       │   read x = 1          │
                                       │   ── preempted ──     │
        > 4  {line}                        │                       │ assert s.x != 1, "...
        >                              │                       │   read x = 1
        >                              │                       │   ! AssertionError

        The order of these two decides: the other way round, this execution passes.
          step 2  p       models.py:{write}  write x = 1
          step 4  reader  models.py:{line}  read x = 1

        Traceback (most recent call last):
          File "models.py", line {line}, in reader
            assert s.x != 1, "half done"
        AssertionError: half done

        Replay: treadle replay models.py::race TOKEN
        """
    )


def test_an_exception(call):
    status, out, _ = call("run", "models.py::broken")
    write, line = line_of("s.ready = True"), line_of('["key"]')
    assert status == 1
    assert tokens_removed(out).split("\n\n", 1)[1] == dedent(
        f"""\
        Exception in consumer at models.py:{line}: KeyError: 'key'

        In models.py:
                 producer             │ consumer
        * 1  {write}  s.ready = True       │
        *          write ready = True │
        *          (ends)             │
        > 2  {line}                       │ {{}}["key"]
        >                             │   read ready = True
        >                             │   ! KeyError: 'key'

        The order of these two decides: the other way round, this execution passes.
          step 1  producer  models.py:{write}  write ready = True
          step 2  consumer  models.py:{line}  read ready = True

        Traceback (most recent call last):
          File "models.py", line {line}, in consumer
            {{}}["key"]
        KeyError: 'key'

        Replay: treadle replay models.py::broken TOKEN
        """
    )


def test_a_deadlock_in_a_program_that_a_function_makes(call):
    status, out, _ = call("run", "models.py::make_deadlock")
    first, second = line_of("s, first).acquire()"), line_of("s, second).acquire()")
    assert status == 1
    assert tokens_removed(out).split("\n\n", 1)[1] == dedent(
        f"""\
        Deadlock after 2 steps: left and right wait for each other

        In models.py:
                 left                              │ right
          1  {first}  yield getattr(s, first).acquire() │
                   acquire a                       │
                   ── preempted ──                 │
          2  {first}                                    │ yield getattr(s, first).acquire()
                                                   │   acquire b
                                                   │   (waits)

          left waits for b at models.py:{second}
            held by right, which acquired it at models.py:{first} (step 2)
          right waits for a at models.py:{second}
            held by left, which acquired it at models.py:{first} (step 1)

        Replay: treadle replay models.py::make_deadlock TOKEN
        """
    )


def test_a_spinning_process(call):
    status, out, _ = call("run", "models.py::spin", "--max-steps", "500")
    assert status == 1
    line = line_of("while not s.flag")
    assert tokens_removed(out).split("\n\n", 1)[1] == dedent(
        f"""\
        Budget: no end after 500 steps: waiting spins at models.py:{line + 1}; raise max_steps
          if it is meant to run longer

        In models.py:
                  waiting
           1  {line}  while not s.flag:
                    read flag = False
              ... 499 more steps like this one ...

        Replay: treadle replay models.py::spin TOKEN
        """
    )


def test_nondeterminism(call):
    status, out, _ = call("run", "models.py::odd")
    assert status == 1
    summary, failure = tokens_removed(out).split("\n\n", 1)
    assert summary.startswith("FAILED: models.py::odd, 1 nondeterminism\n")
    line = line_of("s.z = 1")
    assert failure == dedent(
        f"""\
        Nondeterminism: step 1, by moody, did not do under the same schedule what it did
          before (models.py:{line + 1}): remove clocks, randomness, orders by id() or hash, and
          state that outlives an execution

        In models.py:
                 moody
        > 1  {line}  s.z = 1
        >          write z = 1

        Replay: treadle replay models.py::odd TOKEN
        """
    )


@pytest.mark.parametrize("command", ["run", "replay"])
def test_local_variables_are_shown_on_request(call, command):
    more = ["p*2 q reader"] if command == "replay" else ["--no-shrink", "--no-database"]
    arguments = [command, "models.py::race", *more]
    status, out, _ = call(*arguments)
    assert status == 1
    assert "Local variables" not in out
    status, out, _ = call(*arguments, "--locals")
    line = line_of("s.x = value + 1")
    assert status == 1
    assert (
        "Local variables at that point:\n"
        f"  reader\n    reader() at models.py:{line_of('half done')}\n"
        f"  q\n    increment() at models.py:{line - 1}\n      value = 1\n"
    ) in out


@pytest.mark.usefixtures("models")
def test_a_pipe_that_only_knows_ascii_gets_ascii():
    out, _ = start(
        "replay", "models.py::race", "p*2 q reader", PYTHONIOENCODING="ascii"
    ).communicate()
    assert out.isascii()
    assert re.search(r"\| +-- preempted --", out)


@pytest.mark.usefixtures("models")
def test_reports_use_a_wide_terminal_up_to_120_columns():
    def width(columns: int) -> int:
        out, _ = start(
            "replay", "models.py::race", "p*2 q reader", COLUMNS=str(columns)
        ).communicate()
        return max(len(line) for line in out.splitlines() if "│" in line)

    assert 60 < width(80) <= 80
    assert 80 < width(120) <= 120
    assert width(300) == width(120)


def test_keep_going_finds_all_failures(call):
    _, first, _ = call("run", "models.py::race")
    status, everything, _ = call("run", "models.py::race", "--keep-going")
    assert status == 1
    assert first.count("Replay:") == 1
    assert everything.count("Replay:") == 2
    assert "there may be more failures" in first
    assert "there may be more failures" not in everything


def test_every_replay_line_shows_its_failure_again(call):
    _, out, _ = call("run", "models.py::race", "--keep-going")
    for line in re.findall("^Replay: treadle (.*)$", out, re.MULTILINE):
        status, again, _ = call(*shlex.split(line))
        assert status == 1
        assert again.split("\n\n")[0] in out


@pytest.mark.parametrize(
    ("budget", "reason"),
    [
        (["--max-executions", "1"], "max_executions = 1"),
        (["--timeout", "0.000001"], "timeout = 1e-06 s"),
        (["--algorithm", "random", "--max-executions", "7"], "max_executions = 7"),
        (["--algorithm", "pct", "--depth", "2", "--seed", "5"], "max_executions = 1000"),
    ],
)
def test_a_budget_that_ends_the_search(call, budget, reason):
    status, out, err = call("run", "models.py::safe", *budget)
    assert (status, err) == (3, "")
    assert out.startswith(f"INCOMPLETE: models.py::safe, no failure found before {reason}\n")


def test_the_estimate_of_a_search_that_ended_early(call):
    _, out, _ = call("run", "models.py::safe", "--max-executions", "1")
    assert "  estimate    about 2 executions in all or more, 50.0% of them done or less\n" in out


def test_quiet_prints_the_verdict_only(call):
    assert call("run", "models.py::race", "--quiet") == (
        1,
        "FAILED: models.py::race, 1 assertion\n",
        "",
    )


def test_json_is_one_object_on_stdout(call):
    status, out, err = call("run", "models.py::broken", "--json", "--algorithm", "source")
    assert (status, err) == (1, "")
    shown = json.loads(out)
    assert shown["schema"] == "treadle.result/1"
    assert shown["target"] == "models.py::broken"
    assert shown["algorithm"] == "source"
    (failure,) = shown["failures"]
    assert failure["schedule"] == "producer consumer"
    assert [step["process"] for step in failure["trace"]] == ["producer", "consumer"]


@pytest.mark.parametrize("algorithm", treadle.ALGORITHMS)
def test_every_algorithm_finds_the_deadlock(call, algorithm):
    status, out, _ = call("run", "models.py::make_deadlock", "--algorithm", algorithm)
    assert status == 1
    assert f"  algorithm   {algorithm}\n" in out


def test_a_file_with_one_program_needs_no_name(call, models):
    (models / "neighbour.py").write_text("START = 0\n")
    (models / "single.py").write_text(
        "from neighbour import START\n"
        "from treadle.model import Program\n"
        "only = again = Program(x=START)\n"
        "@only.process\n"
        "def p(s):\n"
        "    yield\n"
    )
    status, out, _ = call("run", "single.py", "--quiet")
    assert (status, out) == (0, "VERIFIED: single.py::again, no interleaving fails\n")


def test_a_file_with_one_function_needs_no_name(call, models):
    (models / "single.py").write_text(
        "from treadle.model import Program\n"
        "def make():\n"
        "    program = Program()\n"
        "    program.process(p)\n"
        "    return program\n"
        "def p(s):\n"
        "    yield\n"
        "def _hidden(): ...\n"
    )
    assert call("run", "single.py", "--quiet")[:2] == (
        0,
        "VERIFIED: single.py::make, no interleaving fails\n",
    )


# replay


def test_replay_shows_an_execution_without_failure(call):
    status, out, err = call("replay", "models.py::broken", "consumer producer")
    assert (status, err) == (0, "")
    assert out.endswith("\n\nNo failure in these 2 steps.\n")
    assert "read ready = False" in out


def test_replay_of_a_part_says_who_can_go_on(call):
    status, out, _ = call("replay", "models.py::broken", "producer")
    assert status == 3
    assert "No failure in these 1 steps; the program can go on with consumer." in out


def test_replay_shows_all_steps(call):
    _, out, _ = call("replay", "models.py::make_deadlock", "left right")
    assert "Deadlock after 2 steps" in out


def test_replay_as_json(call):
    status, out, _ = call("replay", "models.py::broken", "producer consumer", "--json")
    assert (status, json.loads(out)["failure"]["message"]) == (1, "KeyError: 'key'")
    status, out, _ = call("replay", "models.py::broken", "consumer producer", "--json")
    assert (status, json.loads(out)["failure"]) == (0, None)


# compare


def test_compare_shows_all_algorithms_and_that_they_agree(call):
    status, out, err = call("compare", "models.py::race")
    assert (status, err) == (1, "")
    assert max(map(len, out.splitlines())) <= 80
    rows = {line.split()[0]: line.split()[1:] for line in out.splitlines()[3:] if line}
    assert set(treadle.ALGORITHMS) <= set(rows)
    assert rows["random"][0] == rows["pct"][0] == "1,000"
    assert rows["random"][-1] == "samples"
    assert rows["optimal"][-1] == "yes"
    assert int(rows["exhaustive"][0]) > int(rows["optimal"][0])
    covering = sum(algorithm.covers for algorithm in treadle.ALGORITHMS.values())
    assert f"All {covering} algorithms that covered the space agree:\n  assertion: " in out


def test_compare_of_a_verified_program(call):
    chosen = ["--algorithm", "source", "--algorithm", "optimal"]
    status, out, _ = call("compare", "models.py::safe", *chosen)
    assert status == 0
    assert out.endswith("All 2 algorithms that covered the space agree: no interleaving fails.\n")
    assert "exhaustive" not in out


def test_compare_with_budgets_too_small(call):
    status, out, _ = call("compare", "models.py::safe", "--max-executions", "1")
    assert status == 3
    assert "No algorithm covered the space" in out
    assert "optimal stopped by max_executions = 1" in out


def test_compare_as_json(call):
    status, out, _ = call("compare", "models.py::make_deadlock", "--json")
    shown = json.loads(out)
    assert (status, shown["disagreements"]) == (1, [])
    assert [row["algorithm"] for row in shown["results"]] == list(treadle.ALGORITHMS)


def test_compare_is_loud_about_an_algorithm_that_misses_a_failure(call, monkeypatch):
    monkeypatch.setattr(Optimal, "backtrack", lambda _self: -1)  # ends after one execution
    status, out, err = call("compare", "models.py::make_deadlock")
    assert status == 70
    assert "DISAGREEMENT: optimal missed deadlock: left waits for b, held by right; " in out
    assert err.startswith("treadle: bug: algorithms must not contradict each other")


# Misuse: one line on stderr that says what to do, and status 2

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
        (["run", "models.py::safe", "--fast"], "No such option '?--fast'?"),
        (["rum"], r"No such command 'rum'.*\(see 'treadle --help'\)"),
        (["compare", "models.py::safe", "--max-executions", "0"], "must be a number above 0"),
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


# Help


@pytest.mark.parametrize("command", [[], ["run"], ["replay"], ["compare"]])
def test_help_has_examples(call, command):
    status, out, _ = call(*command, "--help")
    assert status == 0
    assert f"Examples:\n    treadle {' '.join(command)}" in out
    assert "Exit status: 0" in out


def test_without_a_command_there_is_help(call):
    status, _, err = call()
    assert status == 2
    assert err.startswith("Usage: treadle")


def test_version(call):
    assert call("--version") == (0, f"treadle, version {treadle.__version__}\n", "")


def test_all_commands_are_there():
    assert sorted(cli.cli.commands) == ["bench", "compare", "completion", "replay", "run"]


# As a process of its own


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
import sys
from treadle.model import Program

program = Program(x=0)


def increment(s):
    for _ in range(10):
        yield
        s.x += 1


for _ in range(5):
    program.process(increment)
print("ready", flush=True)
"""


@pytest.mark.parametrize("command", ["run", "compare"])
def test_an_interrupt_says_how_far_it_came(models, command):
    (models / "large.py").write_text(LARGE)
    process = start(command, "large.py")
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    try:
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in err
    if command == "run":
        assert re.match(r"INTERRUPTED: large.py::program, after [\d,]+ executions", err)
    else:
        assert "INTERRUPTED: exhaustive and what comes after it did not finish" in err
        assert "large.py::program" in out
