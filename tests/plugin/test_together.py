"""The plugin together with others, with terminals, and with what can go wrong around it."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from running_pytest import PREAMBLE, Run, section_of, summary_of, verdict_of, write
from waiting import PATIENCE, wait_until

TESTS = """
import subprocess

@pytest.fixture
def counter():
    return Counter()

@pytest.mark.treadle
def test_racy(counter):
    run(counter.increment, counter.increment)
    assert counter.value == 2

@pytest.mark.treadle
def test_fine(counter):
    run(counter.increment, counter.increment)
    assert counter.value in (1, 2)

@treadle.check(max_executions=9)
def test_large(counter):
    run(*[counter.increment] * 3)

@treadle.check()
def test_deadlock():
    lock = threading.Lock()
    with lock:
        run(lock.acquire)
"""
SUMMARY = [
    "test_it.py::test_deadlock: failed after 1 execution: deadlock",
    "test_it.py::test_fine: verified, 4 executions",
    "test_it.py::test_large: incomplete after 9 executions, "
    "about 23 in all or more, 39.6% done or less",
    "test_it.py::test_racy: failed after 2 executions: assertion",
]


def test_with_xdist(run_apart: Run) -> None:
    result = run_apart(TESTS, "-n", "2")
    count = "4 tests explored: 1 verified, 2 failed, 1 incomplete"
    assert summary_of(result) == [*SUMMARY, count]
    result.stdout.fnmatch_lines_random(
        [
            "E       assert 1 == 2",
            "Replay: pytest test_it.py::test_racy --treadle-replay t2_*",
            "Replay: pytest test_it.py::test_deadlock --treadle-replay t2_*",
            "FAILED test_it.py::test_deadlock - deadlock: main and main.1 (acquire) wait f*",
            "*2 failed, 1 passed, 1 incomplete in *",
        ]
    )
    assert result.ret == 1


def test_with_junit(run: Run, pytester: pytest.Pytester) -> None:
    run(TESTS, "--junit-xml=report.xml")
    found = {}
    for case in ElementTree.parse(pytester.path / "report.xml").iter("testcase"):
        said = case.find("properties/property[@name='treadle']")
        assert said is not None
        found[case.get("name")] = said.get("value"), case.find("failure") is not None
    assert {f"test_it.py::{name}: {said}" for name, (said, _) in found.items()} == set(SUMMARY)
    assert [name for name, (_, failed) in found.items() if failed] == ["test_racy", "test_deadlock"]


def test_an_expected_failure_in_junit(run: Run, pytester: pytest.Pytester) -> None:
    source = """
        @pytest.mark.xfail
        @treadle.check()
        def test_it():
            counter = Counter()
            run(counter.increment, counter.increment)
            assert counter.value == 2
        """
    run(source, "--junit-xml=report.xml")
    (said,) = ElementTree.parse(pytester.path / "report.xml").iter("property")
    assert said.get("value") == "xfailed after 2 executions: assertion"


def test_properties_in_junit_are_those_of_one_execution(
    run: Run, pytester: pytest.Pytester
) -> None:
    source = """
        @pytest.mark.treadle
        def test_it(record_property):
            counter = Counter()
            run(counter.increment, counter.increment)
            record_property("colour", "blue")
        """
    run(source, "--junit-xml=report.xml", "-o", "junit_family=xunit1")
    found = ElementTree.parse(pytester.path / "report.xml").iter("property")
    assert [(one.get("name"), one.get("value")) for one in found] == [
        ("colour", "blue"),
        ("treadle", "verified, 4 executions"),
    ]


def test_with_hypothesis(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_ADDOPTS")
    result = run(
        """
        from hypothesis import HealthCheck, given, settings, strategies

        def lost(count):
            counter = Counter()
            run(*[counter.increment] * count)
            assert counter.value == count

        few = settings(
            max_examples=4,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=[HealthCheck.too_slow],
        )

        @few
        @given(strategies.integers(1, 2))
        def test_explored_inside(count):
            @treadle.check()
            def explored():
                lost(count)

            explored()

        @few
        @given(strategies.just(1))
        def test_that_passes(count):
            treadle.check()(lambda: lost(count))()

        @treadle.check()
        @few
        @given(strategies.integers(1, 2))
        def test_decorated(count):
            lost(count)

        @few
        @given(strategies.integers(1, 2))
        @pytest.mark.treadle
        def test_marked(count):
            lost(count)
        """
    )
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(
        [
            "E*treadle.api.CheckFailed: FAILED: explored*",
            "*_ test_decorated _*",
            "treadle: error: Hypothesis draws new values in each execution: leave out the",
            "*_ test_marked _*",
            "treadle: error: Hypothesis draws new values in each execution: leave out the",
        ]
    )


def test_errors_of_fixtures_with_junit(run: Run, pytester: pytest.Pytester) -> None:
    source = """
        @pytest.fixture
        def broken():
            raise RuntimeError

        @pytest.mark.treadle
        def test_it(broken): pass
        """
    run(source, "--junit-xml=report.xml")
    suite = ElementTree.parse(pytester.path / "report.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("errors"), suite.get("failures")) == ("1", "1", "0")


COVERED = """
    def work(box):
        before = len(box)
        if before > 100:
            print("never")
        helper(box)
        box.append(before)

    def helper(box):
        box.append(0)
        return len(box)

    def unused():
        return 3
    """
COVERING = """
from covered import work

@pytest.mark.treadle
def test_it():
    box = []
    def target():
        box.append(1)
        work(box)
        box.append(2)
    threads = [threading.Thread(target=target) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(box) == 8
"""


@pytest.mark.parametrize("core", ["ctrace", "sysmon"])
def test_with_coverage(
    run_apart: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, core: str
) -> None:
    if core == "sysmon" and sys.version_info < (3, 12):
        pytest.skip("sys.monitoring is new in Python 3.12")
    monkeypatch.setenv("COVERAGE_CORE", core)
    pytester.makepyfile(covered=COVERED)
    pytester.makepyprojecttoml(
        "[tool.coverage.run]\nbranch = true\nconcurrency = ['thread', 'greenlet']\n"
        if core == "ctrace"
        else ""
    )
    result = run_apart(COVERING, "--cov=covered", "--cov=test_it", "--cov-report=term-missing")
    result.assert_outcomes(passed=1)
    lines = {line.split()[0]: line for line in result.outlines if "%" in line}
    assert lines["covered.py"].endswith("4, 13")
    assert lines["test_it.py"].endswith(" 10, 13-14, 18-22")  # of the preamble, nothing is used
    assert "concurrency" not in result.stdout.str()


def test_coverage_that_does_not_know_greenlets_is_noted(
    run_apart: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COVERAGE_CORE", "ctrace")  # from Python 3.14 on it is no longer the default
    result = run_apart(TESTS, "--cov=test_it", "-k", "fine or large")
    text = " ".join(result.outlines)
    assert text.count('note: add concurrency = ["thread", "greenlet"] to [tool.coverage.run]') == 1


def test_a_directory_that_cannot_be_written_to(run: Run, pytester: pytest.Pytester) -> None:
    (pytester.path / ".treadle").write_text("in the way, even of root")
    result = run(TESTS, "-k", "racy")
    assert verdict_of(result) == "failed after 2 executions: assertion"
    assert (pytester.path / ".treadle").read_text() == "in the way, even of root"


def test_two_runs_at_once(pytester: pytest.Pytester) -> None:
    write(pytester, TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "test_it.py"]
    runs = [
        subprocess.Popen(command, cwd=pytester.path, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for one in runs:
        out, _ = one.communicate(timeout=PATIENCE)
        assert "2 failed, 1 passed, 1 incomplete in" in out
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-k", "racy")
    assert verdict_of(result) == "failed as in an earlier run: assertion"


def test_without_the_cache_and_without_capture(run: Run) -> None:
    for off in ("cacheprovider", "capture", "logging", "terminal", "tmpdir"):
        result = run(TESTS, "-p", f"no:{off}", "-k", "racy or large")
        assert result.ret == 1


# Terminals


def test_a_live_line_on_terminals(pytester: pytest.Pytester) -> None:
    write(pytester, LARGE)
    show_every_execution(pytester)
    text = run_on_terminal(pytester.path)
    assert "\\x1b7 " in ascii(text)
    assert " executions, " in text
    assert "/s, depth " in text
    assert "1 passed" in text


def test_no_live_line_if_quiet(pytester: pytest.Pytester) -> None:
    write(pytester, LARGE)
    show_every_execution(pytester)
    assert "depth" not in run_on_terminal(pytester.path, "-q")


def test_no_live_line_in_pipes(pytester: pytest.Pytester, run_apart: Run) -> None:
    show_every_execution(pytester)
    text = run_apart(LARGE).stdout.str()
    assert "depth" not in text
    assert "\x1b" not in text


LARGE = """
@pytest.mark.treadle(max_executions=None)
def test_it():
    counter = Counter()
    run(*[counter.increment] * 4)
"""
"""A test with 576 executions."""


def show_every_execution(pytester: pytest.Pytester) -> None:
    """Make the live line appear at once, however fast the machine is."""
    pytester.makeconftest("from treadle.plugin import live\nlive.LiveTail.interval = 0.0\n")


def run_on_terminal(directory: Path, *args: str) -> str:
    """Run pytest on a pseudo-terminal, and return what it writes."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--color=no", *args]
    with subprocess.Popen(command, cwd=directory, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        found = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # the other side was closed
                break
            if not piece:
                break
            found += piece
        process.wait(PATIENCE)
    os.close(ours)
    return found.decode()


# Interrupts


@pytest.mark.slow
def test_an_interrupt_ends_the_run_in_order(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_it=PREAMBLE
        + """
import pathlib

@pytest.fixture(scope="module")
def module():
    yield
    print("module torn down")

@pytest.mark.treadle(max_executions=None, timeout=None)
def test_it(module):
    with pathlib.Path("executions").open("a") as file:
        file.write(".")
    counter = Counter()
    run(*[counter.increment] * 7)

def test_never():
    print("never")
"""
    )
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-s"]
    with subprocess.Popen(command, cwd=pytester.path, stdout=subprocess.PIPE, text=True) as process:
        executions = pytester.path / "executions"
        wait_until(lambda: executions.exists() and executions.stat().st_size >= 50)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == pytest.ExitCode.INTERRUPTED
    assert "KeyboardInterrupt" in out
    assert "module torn down" in out
    assert "never" not in out


# What a suite without Treadle tests pays


def test_a_suite_without_treadle_tests_does_not_import_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_plain="""
        import sys

        def test_it():
            assert "_treadle_pytest" in sys.modules
            heavy = {"greenlet", "bytecode", "rich", "treadle.api", "treadle.explore.search"}
            assert not heavy & set(sys.modules)
        """
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=1)
    pytester.runpytest_subprocess("-n", "1").assert_outcomes(passed=1)


def test_output_sections_stay_apart(run: Run) -> None:
    result = run(TESTS, "-k", "racy", "--show-capture=no")
    assert section_of(result, "Treadle")[0].startswith("Assertion failed in main")


def test_check_without_parentheses(run: Run) -> None:
    result = run("""
class TestCounter:
    @treadle.check
    def test_method(self, tmp_path):
        counter = Counter()
        run(counter.increment, counter.increment)
        assert tmp_path.is_dir()

@treadle.check
def test_function():
    counter = Counter()
    run(counter.increment, counter.increment)
    assert counter.value == 2
""")
    assert summary_of(result) == [
        "test_it.py::TestCounter::test_method: verified, 4 executions",
        "test_it.py::test_function: failed after 2 executions: assertion",
        "2 tests explored: 1 verified, 1 failed",
    ]
