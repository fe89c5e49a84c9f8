"""The command line from a failure to its replay: tokens, database, reports, debuggers."""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import jsonschema
import pytest
from click.shell_completion import get_completion_class

import treadle
import treadle.report
from schema import SCHEMA, validate
from treadle import cli
from treadle.cli.completion import programs_in
from treadle.session.session import Session
from waiting import PATIENCE

Call = Callable[..., tuple[int, str, str]]

BANK = """
import threading


class Account:
    balance = 0
    log = 0


def deposit(account):
    account.log += 1
    account.balance += 10


def test_deposits():
    account = Account()
    threads = [threading.Thread(target=deposit, args=(account,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    balance = account.balance
    assert balance == 20, f"the balance is {balance}"


def test_stuck():
    one, other = threading.Lock(), threading.Lock()

    def take(first, second):
        with first, second:
            pass

    thread = threading.Thread(target=take, args=(one, other))
    thread.start()
    take(other, one)
    thread.join()
"""

MENDED = BANK.replace("class Account:", "lock = threading.Lock()\n\n\nclass Account:").replace(
    "    account.balance += 10", "    with lock:\n        account.balance += 10"
)
TARGET = "bank.py::test_deposits"


@pytest.fixture
def bank(tmp_path, monkeypatch) -> Path:
    """Work in a directory that has `bank.py`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    file = tmp_path / "bank.py"
    file.write_text(BANK)
    return file


@pytest.fixture
def call(bank, command_line) -> Call:
    """The command line, in the directory of the bank."""
    assert bank.exists()
    return command_line


def command(*arguments: str, typed: str = "", **environment: str) -> tuple[int, str]:
    """Run the command as a process of its own; return its status and all that it printed."""
    source = Path(treadle.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", "from treadle.cli import main; main()", *arguments],
        input=typed,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
        env={**os.environ, "PYTHONPATH": str(source), "COLUMNS": "80", **environment},
    )
    return done.returncode, done.stdout


def token_in(out: str) -> str:
    (line,) = re.findall(r"^Replay: (.*)$", out, re.MULTILINE)
    treadle_, replay, target, token = shlex.split(line)
    assert (treadle_, replay, target) == ("treadle", "replay", TARGET)
    return token


def figures_removed(text: str) -> str:
    return re.sub(r"\d+\.\d\d s(, [\d,]+ executions per second)?", "TIME", text)


def line_of(words: str, source: str = BANK) -> int:
    (number,) = [n for n, line in enumerate(source.splitlines(), 1) if words in line]
    return number


# run


def test_a_failure_is_shrunk_and_printed_with_a_token(call):
    status, out, err = call("run", TARGET, "--schedule", "round-robin")
    assert (status, err) == (1, "")
    assert figures_removed(out.split("\n\n")[0]) == dedent(
        """\
        FAILED: bank.py::test_deposits, 1 assertion
          algorithm   optimal
          executions  2 complete, 0 blocked
          events      26 executed, 7 replayed
          time        TIME
          stopped     by the first failure, there may be more failures
          note        shrunk from 9 switches and 13 steps to 4 and 13, 131 replays"""
    )
    status, again, _ = call("replay", TARGET, token_in(out))
    assert status == 1
    assert again.splitlines()[-1] == out.splitlines()[-1]


def test_without_shrinking(call):
    _, out, _ = call("run", TARGET, "--schedule", "round-robin", "--no-shrink")
    assert "shrunk" not in out
    recipe = treadle.findings.tokens.read_token(token_in(out))
    assert recipe.schedule.switches == 9


def test_what_failed_is_tried_first(call):
    _, first, _ = call("run", TARGET)
    status, second, _ = call("run", TARGET)
    assert status == 1
    assert figures_removed(second.split("\n\n")[0]) == dedent(
        """\
        FAILED: bank.py::test_deposits, 1 assertion
          algorithm   optimal
          executions  0 complete, 0 blocked
          events      13 executed, 13 replayed
          time        TIME
          stopped     by a failure of an earlier run, there may be more failures
          note        replayed a failure of an earlier run; nothing else was explored"""
    )
    assert first.split("\n\n")[1:] == second.split("\n\n")[1:]


def test_a_mended_program_is_explored_again(call, bank):
    call("run", TARGET)
    bank.write_text(MENDED)
    assert call("run", TARGET, "--quiet") == (
        0,
        "VERIFIED: bank.py::test_deposits, no interleaving fails\n",
        "",
    )
    assert list(Path(".treadle").rglob("*.json")) == []


def test_keep_going_explores_whatever_was_found_before(call):
    call("run", TARGET)
    _, out, _ = call("run", TARGET, "--keep-going")
    assert "replayed a failure" not in out


def test_without_a_database(call, bank):
    call("run", TARGET, "--no-database")
    assert not (bank.parent / ".treadle").exists()
    call("run", TARGET, "--database", "kept")
    _, out, _ = call("run", TARGET, "--no-database", "--database", "kept")
    assert "replayed a failure" not in out
    _, out, _ = call("run", TARGET, "--database", "kept")
    assert "replayed a failure" in out


def test_the_same_file_written_in_another_way(call, bank):
    call("run", TARGET)
    _, out, _ = call("run", f"./{TARGET}")
    assert "replayed a failure" in out
    _, out, _ = call("run", f"{bank}::test_deposits")
    assert "replayed a failure" in out


def test_a_database_that_cannot_be_written(call, bank):
    (bank.parent / ".treadle").write_text("somebody's own")
    status, out, _ = call("run", TARGET)
    assert status == 1
    assert "  note        .treadle cannot be written: nothing was kept\n" in out


def test_an_interrupt_while_shrinking_still_shows_the_failure(call, monkeypatch):
    def interrupt(*_args: object, **_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Session, "shrink", interrupt)
    status, out, _ = call("run", TARGET)
    assert status == 1
    assert "  note        shrinking was interrupted\n" in out
    assert token_in(out)


# replay


@pytest.fixture
def token(call) -> str:
    return token_in(call("run", TARGET)[1])


def test_the_same_failure_says_nothing_more(call, token):
    status, out, err = call("replay", TARGET, token)
    assert (status, err) == (1, "")
    assert out.endswith(f"\n\nReplay: treadle replay {TARGET} {token}\n")


def test_a_mended_program(call, bank, token):
    bank.write_text(MENDED)
    status, out, err = call("replay", TARGET, token)
    assert (status, out) == (2, "")
    then, now = line_of("balance += 10"), line_of("with lock:", MENDED)
    assert err == (
        f"treadle: error: the program has changed: step 5: recorded main.1 read account.balance "
        f"(bank.py:{then}), now main.1 acquire lock (bank.py:{now}); then the schedule does not "
        f"fit the program: step 8 is for 'main.2', but it cannot take a step (enabled: main.1); "
        f"explore again to get a new schedule\n"
    )


def test_a_mended_program_of_which_the_database_knows_nothing(call, bank, token):
    bank.write_text(MENDED)
    _, _, err = call("replay", TARGET, token, "--no-database")
    now = line_of("with lock:", MENDED)
    assert f"step 5 is not the recorded one: now main.1 acquire lock (bank.py:{now}); then" in err


def test_a_failure_that_is_gone(call, bank, token):
    bank.write_text(BANK.replace("balance == 20", "balance in (10, 20)"))
    status, out, _ = call("replay", TARGET, token)
    assert status == 0
    assert out.endswith("No failure in these 13 steps.\nThe recorded failure did not show.\n")


def test_another_failure(call, bank, token):
    bank.write_text(BANK.replace("the balance is", "now we have"))
    status, out, _ = call("replay", TARGET, token)
    assert status == 1
    assert out.endswith("\n\nThis is not the recorded failure.\n")


def test_a_token_and_other_options(call, token):
    status, _, err = call("replay", TARGET, token, "--granularity", "gil")
    assert status == 2
    assert err == (
        "treadle: error: granularity='gil' is not what the token was recorded with ('access'): "
        "leave it out, the token knows it\n"
    )


def test_a_damaged_token(call, token):
    status, _, err = call("replay", TARGET, token[:-1])
    assert (status, err) == (
        2,
        "treadle: error: this token is damaged, its checksum is wrong: a character was changed, or "
        "its end is missing; copy it whole\n",
    )


def test_a_token_that_was_recorded_with_options(call):
    _, out, _ = call("run", TARGET, "--granularity", "gil", "--races")
    status, again, _ = call("replay", TARGET, token_in(out))
    assert status == 1
    assert "Granularity: gil" in again


# Debuggers


def test_the_debugger_at_the_failure(bank, token):
    assert bank.exists()
    typed = "p account.balance\nup\nwhere\nq\n"
    status, out = command("replay", TARGET, token, "--pdb", typed=typed)
    assert status == 1
    line = line_of("balance == 20")
    assert f"> {bank}({line})test_deposits()\n-> assert balance == 20" in out
    assert "(Pdb) 10\n" in out


def test_there_is_nothing_to_debug_in_a_deadlock(call):
    _, out, _ = call("run", "bank.py::test_stuck")
    (token,) = re.findall(r"t2_\S+", out)
    status, _, err = call("replay", "bank.py::test_stuck", token, "--pdb")
    assert (status, err) == (
        1,
        "treadle: a deadlock raises nothing to look at: put breakpoint() into the code and replay "
        "it again\n",
    )


def test_a_breakpoint_in_a_thread(bank, token):
    bank.write_text(
        BANK.replace("    account.balance +=", "    breakpoint()\n    account.balance +=")
    )
    typed = "p account.balance\nwhere\nc\n" * 2
    status, out = command("replay", TARGET, token, typed=typed)
    assert status == 1
    assert out.count("(Pdb) 0\n") == 2  # both threads read it before one of them writes
    assert out.count(f"> {bank}(") == 4  # where it stopped, and `where`
    assert f"Replay: treadle replay {TARGET} {token}\n" in out  # it is no step


IMPATIENT = """
import sys
from bank import test_deposits
from treadle.session.replaying import rerun
replayed = rerun(test_deposits, sys.argv[1], watchdog=0.2)
print(replayed.failure.kind, replayed.is_same)
"""


def test_a_thread_whose_debugger_waits_does_not_block(bank, token):
    bank.write_text(
        BANK.replace("    account.balance +=", "    breakpoint()\n    account.balance +=")
    )
    source = Path(treadle.__file__).parents[1]
    with subprocess.Popen(
        [sys.executable, "-c", IMPATIENT, token],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        bufsize=0,
        env={**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{bank.parent}"},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(2):
            assert any("deposit()" in line for line in iter(process.stdout.readline, ""))
            time.sleep(1)  # five times as long as a step may take
            process.stdin.write("c\n")
        assert process.stdout.read().endswith("assertion True\n")


def test_no_breakpoints_where_nobody_looks(bank, token):
    """Only the execution that was asked for stops: not those that the report needs."""
    bank.write_text(
        BANK.replace("    account = Account()", "    breakpoint()\n    account = Account()")
    )
    status, out = command("replay", TARGET, token, typed="c\n" * 5)
    assert (status, out.count("(Pdb)")) == (1, 1)


# For tools and issues


def checked(out: str) -> dict[str, object]:
    """Return an object that is as the schema says."""
    shown = json.loads(out)
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    validate(shown)
    assert isinstance(shown, dict)
    return shown


@pytest.mark.parametrize(
    ("arguments", "verdict"),
    [
        ([TARGET], "failed"),
        ([TARGET, "--no-shrink", "--races", "--keep-going"], "failed"),
        ([TARGET, "--max-executions", "1", "--granularity", "gil"], "incomplete"),
        (["bank.py::test_stuck"], "failed"),
        (["bank.py::test_deposits", "--max-steps", "5"], "failed"),
    ],
)
def test_results_are_what_the_schema_says(call, arguments, verdict):
    _, out, _ = call("run", *arguments, "--json")
    assert checked(out)["verdict"] == verdict


def test_json_of_a_shrunk_failure(call):
    _, out, _ = call("run", TARGET, "--schedule", "round-robin", "--json")
    (failure,) = checked(out)["failures"]
    assert failure["shrunk"] == {
        "before": {"switches": 9, "steps": 13},
        "after": {"switches": 4, "steps": 13},
        "replays": 131,
        "is_smallest": True,
    }
    status, again, _ = call("replay", TARGET, failure["token"], "--json")
    replayed = checked(again)
    assert (status, replayed["is_same"], replayed["difference"]) == (1, True, None)
    assert replayed["failure"] == {key: failure[key] for key in failure if key != "shrunk"}
    assert replayed["trace"] == failure["trace"]


def test_json_of_a_replay_without_failure(call):
    status, out, _ = call("replay", TARGET, "main", "--json")
    shown = checked(out)
    assert (status, shown["failure"], shown["is_same"]) == (3, None, None)
    assert shown["can_go_on"] == ["main", "main.1"]


def test_comparisons_are_what_the_schema_says(call):
    _, out, _ = call("compare", "bank.py::test_stuck", "--json", "--max-executions", "20")
    assert checked(out)["disagreements"] == []


def test_the_schema_is_not_lenient():
    for wrong in ({}, {"schema": "treadle.result/2"}, {"schema": "treadle.result/1"}):
        with pytest.raises(jsonschema.ValidationError):
            checked(json.dumps(wrong))


def test_a_report_in_markdown(call):
    _, out, _ = call("run", TARGET, "--report", "failure.md")
    report = Path("failure.md").read_text()
    head, rest = report.split("\n\nHow it came to that:\n\n")
    line = line_of("balance == 20")
    version = ".".join(map(str, sys.version_info[:3]))
    assert head.replace(f"{platform.system()} {platform.machine()}", "SYSTEM") == dedent(
        f"""\
        # FAILED: bank.py::test\\_deposits, 1 assertion

        Treadle 0.1.0, CPython {version}, SYSTEM

        ## Assertion failed in main at bank.py:{line}: the balance is 10

        To replay it:

        ```sh
        treadle replay {TARGET} {token_in(out)}
        ```"""
    )
    assert rest.startswith("```text\nIn bank.py:\n")
    assert "\nAssertionError: the balance is 10\n```\n\n## Exploration\n\n```text\nFAILED: " in rest
    assert report.count("```") % 2 == 0


def test_a_report_of_a_replay(call, token):
    call("replay", TARGET, token, "--report", "failure.md")
    report = Path("failure.md").read_text()
    assert f"```sh\ntreadle replay {TARGET} {token}\n```" in report
    assert "  algorithm   replay\n" in report


@pytest.mark.parametrize("command", ["run", "compare", "replay"])
def test_a_report_that_cannot_be_written(call, token, command):
    """It is said before the work: what took hours would be lost."""
    words = [token] if command == "replay" else []
    report = "nowhere/failure.txt"
    assert call(command, TARGET, *words, "--report", report) == (
        2,
        "",
        f"treadle: error: cannot write {report}: No such file or directory\n",
    )


# Help and completion


@pytest.mark.parametrize("name", ["", *cli.cli.commands])
def test_every_command_has_help_with_examples(call, name):
    status, out, err = call(*filter(None, [name]), "--help")
    assert (status, err) == (0, "")
    assert "Examples:\n" in out
    assert f"  treadle {name}" in out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(call, shell):
    status, out, err = call("completion", shell)
    assert (status, err) == (0, "")
    assert f"_TREADLE_COMPLETE={shell}_complete" in out


@pytest.fixture
def complete(bank, monkeypatch) -> Callable[..., list[str]]:
    """Return what bash would offer for the last word."""
    assert bank.exists()

    def words(*words: str) -> list[str]:
        monkeypatch.setenv("COMP_WORDS", "\n".join(["treadle", *words]))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        bash = get_completion_class("bash")
        return bash(cli.cli, {}, "treadle", "_TREADLE_COMPLETE").complete().split()

    return words


def test_completion(complete):
    assert complete("re") == ["plain,replay"]
    assert complete("run", "x.py", "--algorithm", "so") == ["plain,source"]
    assert complete("run", "ba") == ["file,ba"]
    # Bash takes the colons for a word of their own.
    assert complete("run", "bank.py", "::") == ["plain,test_deposits", "plain,test_stuck"]
    assert complete("replay", "bank.py", "::", "test_s") == ["plain,test_stuck"]


def test_completion_as_the_script_asks_for_it():
    status, out = command(
        _TREADLE_COMPLETE="bash_complete", COMP_WORDS="treadle\nben", COMP_CWORD="1"
    )
    assert (status, out) == (0, "plain,bench\n")


def test_names_to_complete_are_read_not_run(tmp_path):
    file = tmp_path / "models.py"
    file.write_text(
        dedent(
            """
            import treadle
            from treadle.model import Program
            raise SystemExit
            one = Program()
            two = three = treadle.model.Program("name", x=0)
            count = len("abc")
            def test(): ...
            def with_default(a=1, *, b=2): ...
            def with_parameter(a): ...
            def with_keyword(*, a): ...
            def _hidden(): ...
            class Test: ...
            """
        )
    )
    assert programs_in(file) == ["one", "two", "three", "test", "with_default"]
    file.write_text("def (")
    assert programs_in(file) == programs_in(tmp_path / "nothing.py") == []
