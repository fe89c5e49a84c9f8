"""`treadle run`: what it prints of each kind of finding, and its options."""

from __future__ import annotations

import json
import re
import shlex
from textwrap import dedent

import pytest

import treadle
from cli_models import figures_removed, line_of, start, tokens_removed


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
          before (models.py:{line + 1}; then write z, now write y): remove clocks, randomness,
          orders by id() or hash, and state that outlives an execution

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


@pytest.mark.parametrize("option", ["--quiet", "-q"])
def test_quiet_prints_the_verdict_only(call, option):
    assert call("run", "models.py::race", option) == (
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
