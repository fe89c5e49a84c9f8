"""Replaying a failure, debuggers in it, and the failures of earlier runs."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from running_pytest import Run, section_of, token_of, verdict_of, write
from waiting import PATIENCE

RACY = """
@pytest.mark.treadle
def test_it():
    counter = Counter()
    run(counter.increment, counter.increment)
    value = counter.value
    print("found", value)
    assert value == {wanted}
"""
FAILS, MENDED = RACY.format(wanted=2), RACY.format(wanted="value")
OTHER = "\n\n@pytest.mark.treadle\ndef test_other(): pass\n"


def test_replay_runs_exactly_the_failing_interleaving(run: Run) -> None:
    first = run(FAILS, "--treadle-no-database")
    again = run(FAILS, "test_it.py::test_it", "--treadle-replay", token_of(first))
    assert verdict_of(again) == "failed in the replay: assertion"
    assert section_of(again, "Captured stdout call") == ["found 1"]
    assert section_of(again, "Treadle") == section_of(first, "Treadle")


def test_replay_of_a_test_that_was_mended(run: Run) -> None:
    token = token_of(run(FAILS))
    mended = run(MENDED, "--treadle-replay", token, "-s")
    mended.assert_outcomes(passed=1)
    assert verdict_of(mended) == "passed in the replay"
    mended.stdout.fnmatch_lines(["*found 1", "  note: The recorded failure did not show*"])


def test_replay_of_a_test_that_was_changed_says_what_differs(run: Run) -> None:
    token = token_of(run(FAILS))
    changed = FAILS.replace("counter.increment, ", "")
    result = run(changed, "--treadle-replay", token)
    result.assert_outcomes(failed=1)
    text = " ".join(result.outlines)
    assert "treadle: error: the schedule does not fit the program: step 2 is for 'main'" in text


def test_replay_is_for_one_test(run: Run) -> None:
    token = token_of(run(FAILS))
    result = run(FAILS + OTHER, "--treadle-replay", token)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--treadle-replay is for one test, and 2 were selected*"])
    result = run(FAILS + OTHER, "--treadle-replay", token, "-k", "test_it and not other")
    result.assert_outcomes(failed=1, deselected=1)


def test_replay_of_a_damaged_token(run: Run) -> None:
    result = run(FAILS, "--treadle-replay", "t1_AAAA")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["treadle: error: this token is damaged*"])


def test_replay_keeps_the_options_that_found_the_failure(run: Run) -> None:
    source = """
        @pytest.mark.treadle(granularity="gil", races=True)
        def test_it():
            counter = Counter()
            run(counter.increment, counter.increment)
        """
    first = run(source)
    again = run(source, "--treadle-replay", token_of(first))
    assert verdict_of(again) == "failed in the replay: race"


def test_the_line_to_paste_works_from_another_directory(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makeini("[pytest]")
    write(pytester, FAILS)
    below = pytester.mkdir("below")
    monkeypatch.chdir(below)
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "..")
    result.stdout.fnmatch_lines(["Replay: pytest ../test_it.py::test_it --treadle-replay t2_*"])


# Failures of earlier runs


def test_failures_are_kept_and_tried_first(run: Run, pytester: pytest.Pytester) -> None:
    assert verdict_of(run(FAILS)) == "failed after 2 executions: assertion"
    assert (pytester.path / ".treadle" / ".gitignore").read_text() == "*\n"
    again = run(FAILS)
    assert verdict_of(again) == "failed as in an earlier run: assertion"
    assert section_of(again, "Captured stdout call") == ["found 1"]
    assert verdict_of(run(MENDED)) == "verified, 4 executions"
    assert kept_in(pytester.path / ".treadle") == []
    assert verdict_of(run(FAILS)) == "failed after 2 executions: assertion"


def test_without_a_database(run: Run, pytester: pytest.Pytester) -> None:
    pytester.makepyprojecttoml("[tool.treadle]\ndatabase = false\n")
    run(FAILS)
    assert not (pytester.path / ".treadle").exists()
    run(FAILS, "--treadle-database=kept")
    assert len(kept_in(pytester.path / "kept")) == 1
    again = run(FAILS, "--treadle-no-database")
    assert verdict_of(again) == "failed after 2 executions: assertion"


def test_a_damaged_database_is_no_obstacle(run: Run, pytester: pytest.Pytester) -> None:
    run(FAILS)
    for file in kept_in(pytester.path / ".treadle"):
        file.write_text("{")
    assert verdict_of(run(FAILS)) == "failed after 2 executions: assertion"


def test_budgets_are_not_kept(run: Run, pytester: pytest.Pytester) -> None:
    source = """
        @pytest.mark.treadle(max_steps={steps})
        def test_it():
            counter = Counter()
            run(counter.increment, counter.increment)
        """
    assert verdict_of(run(source.format(steps=3))) == "failed in the first execution: budget"
    assert kept_in(pytester.path / ".treadle") == []
    assert verdict_of(run(source.format(steps=1000))) == "verified, 4 executions"


def test_what_was_found_with_other_options_waits(run: Run) -> None:
    run(FAILS)
    other = run(FAILS, "--treadle-granularity=gil")
    assert not verdict_of(other).startswith("failed as in an earlier run")
    assert verdict_of(run(FAILS)) == "failed as in an earlier run: assertion"


def kept_in(directory: Path) -> list[Path]:
    return sorted(directory.glob("failures/*/*.json"))


# Debuggers


@pytest.mark.parametrize("stop", ["breakpoint()", "__import__('pdb').set_trace()"])
def test_breakpoints_stop_in_the_failing_execution_only(
    pytester: pytest.Pytester, stop: str
) -> None:
    source = f"""
        @pytest.mark.treadle
        def test_it():
            counter = Counter()
            run(counter.increment, counter.increment)
            {stop}
            assert counter.value == 2
        """
    text = debug(pytester, source, "p 'value', counter.value\ncontinue\n")
    assert text.count("PDB set_trace") == 1
    assert "(Pdb) ('value', 1)" in text
    assert "1 failed" in text
    token = re.findall(r"t2_\S+", text)[0]
    text = debug(pytester, source, "p 'again', counter.value\n", "--treadle-replay", token)
    assert text.count("PDB set_trace") == 1
    assert "(Pdb) ('again', 1)" in text


def test_breakpoints_in_threads(pytester: pytest.Pytester) -> None:
    source = """
        @pytest.mark.treadle
        def test_it():
            counter = Counter()
            def work():
                breakpoint()
                counter.increment()
            run(work, work)
            assert counter.value == 2
        """
    commands = "p threading.current_thread().name\nnext\ncontinue\np counter.value\ncontinue\n"
    text = debug(pytester, source, commands)
    assert text.count("PDB set_trace") == 2
    assert "(Pdb) 'Thread-1 (work)'" in text


def test_pdb_stops_where_the_test_failed(pytester: pytest.Pytester) -> None:
    source = """
        @pytest.mark.treadle
        def test_it():
            counter = Counter()
            def check():
                counter.increment()
                assert counter.value == 1
            run(check, check)
        """
    text = debug(pytester, source, "p 'value', counter.value\nquit\n", "--pdb")
    assert "-> assert counter.value == 1\n(Pdb) ('value', 2)" in text
    assert "1 failed" in text


def test_pdb_stops_when_fixtures_have_been_torn_down(pytester: pytest.Pytester) -> None:
    source = """
        @pytest.fixture
        def state():
            state = ["set up"]
            yield state
            state.append("torn down")

        @pytest.mark.treadle
        def test_it(state):
            assert state == []
        """
    text = debug(pytester, source, "p 'state', state\nquit\n", "--pdb")
    assert "(Pdb) ('state', ['set up', 'torn down'])" in text


def debug(pytester: pytest.Pytester, source: str, commands: str, *args: str) -> str:
    """Run pytest with a debugger that gets these commands, and return what is printed."""
    write(pytester, source)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *args]
    return pytester.run(*command, stdin=commands.encode(), timeout=PATIENCE).stdout.str()
