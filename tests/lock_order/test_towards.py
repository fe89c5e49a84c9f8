"""`towards_deadlock`: a suspected deadlock is tried first, and each candidate gets a verdict."""

from __future__ import annotations

import json
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import treadle

Call = Callable[..., tuple[Any, str, str]]

# A test whose deadlock lies deep: many steps before, and both must be at the right place


class Account:
    """An account with a lock of its own."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.amount = 5


def _transfer(source: Account, target: Account) -> None:
    source.amount -= 1
    target.amount += 1
    with source.lock:
        source.amount -= 1
        with target.lock:
            target.amount += 1


def _run(*pairs: tuple[Account, Account]) -> None:
    threads = [threading.Thread(target=_transfer, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _both_ways() -> None:
    one, other = Account(), Account()
    _run((one, other), (other, one))


def _one_way() -> None:
    one, other = Account(), Account()
    _run((one, other), (one, other))


@pytest.mark.parametrize("algorithm", ["optimal", "source", "sleep", "exhaustive", "observers"])
def test_the_first_execution_ends_in_it(algorithm: str) -> None:
    plain = treadle.explore(_both_ways, algorithm)
    led = treadle.explore(_both_ways, algorithm, towards_deadlock=True)
    assert [failure.kind for failure in led.failures] == ["deadlock"]
    assert led.executions == 1
    assert plain.executions > 1


def test_what_it_leads_to_replays() -> None:
    (failure,) = treadle.explore(_both_ways, towards_deadlock=True).failures
    again = treadle.replay(_both_ways, failure.token)
    assert again is not None
    assert again.kind == "deadlock"


def test_a_candidate_is_confirmed() -> None:
    (note,) = treadle.explore(_both_ways, towards_deadlock=True).notes
    assert note.startswith("deadlock candidate Account.lock → Account.lock (")
    assert note.endswith("): confirmed")


def test_a_candidate_is_refuted_for_this_test() -> None:
    result = treadle.explore(_one_way, towards_deadlock=True)
    assert result.complete
    assert result.notes[-1].endswith("): refuted: no execution of this test ends in it")


def test_a_candidate_stays_undecided() -> None:
    result = treadle.explore(_one_way, towards_deadlock=True, max_executions=1)
    assert result.notes[-1].endswith("): undecided: the search did not see everything")


def test_nothing_is_left_out() -> None:
    plain, led = (treadle.explore(_one_way, towards_deadlock=towards) for towards in (False, True))
    assert (plain.executions, plain.complete) == (led.executions, led.complete)


def test_models_do_not_take_it() -> None:
    program = treadle.model.Program(x=0)
    with pytest.raises(treadle.TreadleError, match="towards_deadlock"):
        treadle.explore(program, towards_deadlock=True)


# The command line

_FILE = """
import threading

A = threading.Lock()
B = threading.Lock()

def one():
    with A:
        with B:
            pass

def two():
    with B:
        with A:
            pass

def run(*functions):
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

def test_both():
    run(one, two)

def test_one():
    run(one, one)
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file with two tests, in the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "locks_of_two.py").write_text(textwrap.dedent(_FILE))
    return "locks_of_two.py"


def test_a_file_is_only_read(file: str, command_line: Call) -> None:
    status, output, _ = command_line("deadlocks", file)
    assert status == 3
    assert "INCOMPLETE: locks_of_two.py, 1 deadlock cycle, none confirmed" in output
    words = " ".join(output.split())
    assert "holds A and waits for B at locks_of_two.py:9" in words
    assert "holds B and waits for A at locks_of_two.py:14" in words
    assert "nothing is proved by it" in words


def test_a_directory_gives_one_object_per_target(
    file: str, tmp_path: Path, command_line: Call
) -> None:
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    status, output, _ = command_line("deadlocks", ".", "package", "--json")
    whole, empty = map(json.loads, output.splitlines())
    assert status == 3
    assert (whole["target"], whole["free"], whole["conditions"]) == (".", False, [])
    (cycle,) = whole["cycles"]
    assert (cycle["kind"], cycle["verdict"], cycle["tests"]) == ("deadlock", "undecided", [])
    assert {(link["method"], link["line"]) for link in cycle["chain"]} == {("one", 9), ("two", 14)}
    assert {link["file"] for link in cycle["chain"]} == {file}
    assert empty["cycles"] == []


def test_a_package_is_found_by_its_name(command_line: Call) -> None:
    status, output, _ = command_line("deadlocks", "concurrent.futures.thread", "-q")
    assert (status, output.split(":")[0]) == (3, "INCOMPLETE")


def test_a_test_confirms(file: str, command_line: Call) -> None:
    status, output, _ = command_line("deadlocks", f"{file}::test_both")
    assert status == 1
    assert "1 deadlock cycle confirmed of 1" in output
    assert "Replay: treadle replay locks_of_two.py::test_both" in output


def test_a_test_refutes(file: str, command_line: Call) -> None:
    status, output, _ = command_line("deadlocks", f"{file}::test_one", "--json")
    found = json.loads(output)
    assert status == 0
    assert found["free"]
    assert [cycle["verdict"] for cycle in found["cycles"]] == ["unfeasible"]
    assert found["notes"] == ["proved for this test only: all of its executions were seen"]


def test_a_test_that_is_not_seen_to_the_end(file: str, command_line: Call) -> None:
    status, output, _ = command_line(
        "deadlocks", f"{file}::test_one", "--max-executions", "1", "--json"
    )
    found = json.loads(output)
    assert status == 3
    assert [(one["verdict"], one["reason"]) for one in found["cycles"]] == [
        ("undecided", "max_executions = 1")
    ]


def test_run_takes_the_option(file: str, command_line: Call) -> None:
    status, output, _ = command_line("run", f"{file}::test_both", "--towards-deadlock")
    assert status == 1
    assert "executions  1 complete" in output
    assert "confirmed" in output


def test_what_is_not_there_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command_line: Call
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    for target, words in {
        "empty": "there is no Python file below empty",
        "nothing.py": "there is no file nothing.py",
        "no_such_package": "there is no file no_such_package",
        "_thread": "_thread is not written in Python",
    }.items():
        status, _, error = command_line("deadlocks", target)
        assert status == 2
        assert words in error
