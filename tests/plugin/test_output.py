"""Output, log records and warnings: those of the execution that is shown, once."""

from __future__ import annotations

import pytest

from running_pytest import Run, section_of, verdict_of

PRINTS = """
import logging, os, sys, warnings

@pytest.mark.treadle
def test_it():
    counter = Counter()
    print("begin")
    print("complain", file=sys.stderr)
    run(counter.increment, counter.increment)
    print("found", counter.value)
    logging.getLogger("counter").warning("value %d", counter.value)
    assert counter.value == {wanted}
"""


def test_only_the_failing_execution_is_heard(run: Run) -> None:
    result = run(PRINTS.format(wanted=2))
    assert section_of(result, "Captured stdout call") == ["begin", "found 1"]
    assert section_of(result, "Captured stderr call") == ["complain"]
    (line,) = section_of(result, "Captured log call")
    assert line == "WARNING  counter:test_it.py:33 value 1"


def test_a_test_that_passes_is_not_heard(run: Run) -> None:
    result = run(PRINTS.format(wanted="counter.value"), "-rA")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*begin*")


@pytest.mark.parametrize("capture", ["-s", "--capture=sys", "--capture=tee-sys"])
def test_without_capture_too(run: Run, capture: str) -> None:
    text = run(PRINTS.format(wanted=2), capture, "--show-capture=no").stdout.str()
    assert text.count("found 1\n") == (0 if capture == "--capture=sys" else 1)


def test_output_of_a_fixture_belongs_to_the_execution(run: Run) -> None:
    result = run(
        """
        @pytest.fixture
        def counter():
            print("up")
            yield Counter()
            print("down")

        @pytest.mark.treadle
        def test_it(counter):
            run(counter.increment, counter.increment)
            assert counter.value == 2
        """
    )
    assert section_of(result, "Captured stdout call") == ["up", "down"]


def test_what_a_fixture_captures_stays_with_it(run: Run) -> None:
    result = run(
        """
        import os

        @pytest.mark.treadle
        def test_it(capfd):
            counter = Counter()
            os.write(1, b"raw\\n")
            print("printed")
            run(counter.increment, counter.increment)
            assert capfd.readouterr().out == "raw\\nprinted\\n"
            assert counter.value == 2
        """
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E       assert 1 == 2"])
    result.stdout.no_fnmatch_line("Captured stdout call")


def test_each_warning_appears_once(run: Run) -> None:
    result = run(
        """
        import warnings

        @pytest.mark.treadle
        def test_it():
            counter = Counter()
            run(counter.increment, counter.increment)
            warnings.warn("careful")
            warnings.warn(DeprecationWarning(f"old {counter.value}"))
        """,
        "-Wdefault",
    )
    result.assert_outcomes(passed=1, warnings=3)
    text = result.stdout.str()
    assert [text.count(line) for line in (": careful", "old 1", "old 2")] == [1, 1, 1]


def test_warnings_that_are_errors_are_failures(run: Run) -> None:
    result = run(
        """
        import warnings

        @pytest.mark.filterwarnings("error")
        @pytest.mark.treadle
        def test_it():
            run(int)
            warnings.warn("careful")
        """
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E       UserWarning: careful"])


def test_the_temporary_directory_of_the_failing_execution_is_kept(run: Run) -> None:
    result = run(
        """
        @pytest.mark.treadle
        def test_it(tmp_path):
            counter = Counter()
            run(counter.increment, counter.increment)
            (tmp_path / "value").write_text(str(counter.value))
            assert counter.value == 2

        def test_kept(tmp_path):
            assert (tmp_path.parent / "test_it0" / "value").read_text() == "1"
            assert not (tmp_path.parent / "test_it1").exists()
        """
    )
    result.assert_outcomes(failed=1, passed=1)


def test_what_cannot_be_encoded_can_be_printed(run: Run) -> None:
    source = """
        @pytest.mark.treadle
        def test_it():
            run(lambda: print("\\udc80"), lambda: print("\\u2603"))
        """
    assert verdict_of(run(source)).startswith("verified")
