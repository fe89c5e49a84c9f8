"""What a test can end with, and what pytest makes of it."""

from __future__ import annotations

from unittest import mock

import pytest

from running_pytest import Run, section_of, summary_of, verdict_of
from treadle.core.errors import TreadleBug
from treadle.plugin import checking

THREE = """
@pytest.mark.treadle{options}
def test_it():
    counter = Counter()
    run(counter.increment, counter.increment, counter.increment)
"""
"""A test with 36 executions."""


def test_summary_and_count(run: Run) -> None:
    result = run(
        """
        def increments(count):
            counter = Counter()
            run(*[counter.increment] * count)
            return counter.value

        @pytest.mark.treadle
        def test_verified():
            assert increments(2)

        @pytest.mark.treadle
        def test_failed():
            assert increments(2) == 2

        @pytest.mark.treadle(max_executions=9)
        def test_incomplete():
            increments(3)

        @pytest.mark.treadle(algorithm="pct", max_executions=7)
        def test_sampled():
            increments(3)

        @pytest.mark.treadle
        def test_alone():
            pass

        def test_of_nobody():
            pass
        """
    )
    assert summary_of(result) == [
        "test_it.py::test_verified: verified, 4 executions",
        "test_it.py::test_failed: failed after 2 executions: assertion",
        "test_it.py::test_incomplete: incomplete after 9 executions, "
        "about 23 in all or more, 39.6% done or less",
        "test_it.py::test_sampled: sampled, 7 executions, no failure found",
        "test_it.py::test_alone: verified, 1 execution",
        "  note: the test started no thread, so there is only one interleaving",
        "5 tests explored: 2 verified, 1 failed, 1 incomplete, 1 sampled",
    ]
    result.stdout.fnmatch_lines(["test_it.py .Fi...*", "*1 failed, 4 passed, 1 incomplete in*"])
    assert result.ret == 1


def test_incomplete_passes_and_is_seen(run: Run) -> None:
    result = run(THREE.format(options="(max_executions=5)"), "-v")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["test_it.py::test_it INCOMPLETE *", "*= 1 incomplete in *"])


def test_incomplete_by_time(run: Run) -> None:
    result = run(THREE.format(options="(timeout=1e-9)"))
    assert verdict_of(result).startswith("incomplete after 1 execution, about ")


def test_strict_tests_fail_if_they_were_not_covered(run: Run) -> None:
    result = run(THREE.format(options="(max_executions=5, strict=True)"))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "incomplete after 5 executions, about 16 in all or more, 31.2% done or less",
            "(stopped by max_executions = 5): it is strict, so that is a failure; raise the",
            "budget, make the test smaller, or choose strict=False",
            "FAILED test_it.py::test_it - incomplete after 5 executions*",
        ]
    )
    assert summary_of(result)[-1] == "1 test explored: 1 incomplete"


def test_sampling_is_not_subject_to_strictness(run: Run) -> None:
    result = run(THREE.format(options="(algorithm='random', max_executions=5, strict=True)"))
    result.assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("verbosity", "shown"),
    [
        ("-q", ["test_it.py::test_it: incomplete after 5", "2 tests explored: "]),
        ("-v", ["test_it.py::test_fine", "test_it.py::test_it: inc", "2 tests explored: "]),
    ],
)
def test_quiet_and_verbose(run: Run, verbosity: str, shown: list[str]) -> None:
    fine = "@pytest.mark.treadle\ndef test_fine():\n    run(int)\n"
    lines = summary_of(run(fine + THREE.format(options="(max_executions=5)"), verbosity))
    assert [line[: len(start)] for line, start in zip(lines, shown, strict=True)] == shown


def test_very_quiet(run: Run) -> None:
    result = run(THREE.format(options="(max_executions=5)"), "-qq")
    result.stdout.no_fnmatch_line("*explored*")


def test_collect_only_runs_nothing(run: Run) -> None:
    result = run(THREE.format(options=""), "--collect-only")
    result.stdout.fnmatch_lines(["*<Function test_it>"])
    result.stdout.no_fnmatch_line("*treadle ==*")
    assert result.ret == 0


def test_skips(run: Run) -> None:
    result = run(
        """
        @pytest.fixture
        def skipping():
            pytest.skip("fixture")

        @pytest.mark.treadle
        def test_always():
            pytest.skip("always")

        @pytest.mark.treadle
        def test_by_fixture(skipping):
            pass

        @pytest.mark.skip(reason="marked")
        @pytest.mark.treadle
        def test_marked():
            pass

        @pytest.mark.treadle
        def test_sometimes():
            counter = Counter()
            run(counter.increment, counter.increment)
            if counter.value == 1:
                pytest.skip("sometimes")

        @pytest.mark.treadle
        def test_import():
            pytest.importorskip("no_such_module_at_all")
        """,
        "-rs",
    )
    result.assert_outcomes(passed=1, skipped=4)
    result.stdout.fnmatch_lines_random(
        [
            "SKIPPED [[]1[]] test_it.py:30: always",
            "SKIPPED [[]1[]] test_it.py:32: fixture",
            "SKIPPED [[]1[]] test_it.py:36: marked",
            "SKIPPED [[]1[]] test_it.py:50: could not import *",
        ]
    )
    assert summary_of(result) == [
        "test_it.py::test_sometimes: verified, 2 executions",
        "1 test explored: 1 verified",
    ]


def test_a_thread_cannot_skip_the_test(run: Run) -> None:
    result = run(
        """
        @pytest.mark.treadle
        @pytest.mark.parametrize("skip", [pytest.skip, unittest.TestCase().skipTest])
        def test_it(skip):
            def skipping():
                skip("inside")
            run(skipping)
        """
    )
    result.assert_outcomes(failed=2)
    said = "*AssertionError: the thread main.1 ended by skipping the test (inside): only*"
    result.stdout.fnmatch_lines([said, said])


def test_expected_failures(run: Run) -> None:
    result = run(
        """
        def lose():
            counter = Counter()
            run(counter.increment, counter.increment)
            assert counter.value == 2

        @pytest.mark.xfail(reason="known")
        @pytest.mark.treadle
        def test_known():
            lose()

        @pytest.mark.xfail(raises=AssertionError)
        @pytest.mark.treadle
        def test_deadlock():
            lock = threading.Lock()
            lock.acquire()
            lock.acquire()

        @pytest.mark.xfail(raises=ValueError)
        @pytest.mark.treadle
        def test_other():
            lose()

        @pytest.mark.treadle
        def test_given_up():
            pytest.xfail("given up")

        @pytest.mark.xfail
        @pytest.mark.treadle
        def test_passes():
            run(int)
        """
    )
    result.assert_outcomes(xfailed=3, xpassed=1, failed=1)
    assert summary_of(result) == [
        "test_it.py::test_known: xfailed after 2 executions: assertion",
        "test_it.py::test_deadlock: xfailed after 1 execution: deadlock",
        "test_it.py::test_other: failed after 2 executions: assertion",
        "test_it.py::test_given_up: xfailed after 1 execution: exception",
        "test_it.py::test_passes: verified, 1 execution",
        "5 tests explored: 1 verified, 1 failed, 3 xfailed",
    ]


def test_pytest_fail_and_raises(run: Run) -> None:
    result = run(
        """
        @pytest.mark.treadle
        def test_fails():
            run(int)
            pytest.fail("I said so", pytrace=False)

        @pytest.mark.treadle
        def test_raises():
            counter = Counter()
            run(counter.increment, counter.increment)
            with pytest.raises(AssertionError):
                assert counter.value == 3
        """
    )
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["I said so", "-* Treadle -*", "Exception in main*", "*I said so"])


def test_pytest_exit_ends_everything(run: Run) -> None:
    result = run(
        """
        @pytest.mark.treadle
        def test_it():
            pytest.exit("enough", returncode=9)

        def test_never():
            pass
        """
    )
    assert result.ret == 9
    result.stdout.fnmatch_lines(["*Exit: enough*"])
    result.stdout.no_fnmatch_line("*passed*")


def test_usage_errors_are_one_line(run: Run) -> None:
    result = run(
        """
        @pytest.mark.treadle(races=True)
        async def test_async():
            pass

        @pytest.mark.treadle(algoritm="optimal")
        def test_typo():
            pass

        @pytest.mark.treadle(algorithm="best")
        def test_unknown():
            pass

        @pytest.mark.treadle("optimal")
        def test_by_position():
            pass

        @treadle.check(profile="nightly")
        def test_profile():
            pass

        @treadle.check(profile=3)
        def test_bad_profile():
            pass

        @pytest.mark.treadle
        def test_nested():
            treadle.explore(lambda: None)
        """
    )
    result.assert_outcomes(failed=7)
    text = " ".join(result.outlines)
    for message in (
        "treadle: error: races is for a function without parameters that uses threads,",
        "treadle: error: the test's options: unknown setting 'algoritm': did you mean 'algorithm'?",
        "treadle: error: the test's options: unknown algorithm 'best': choose one of exhaustive,",
        "treadle: error: @pytest.mark.treadle takes options by name only, not 'optimal'",
        "treadle: error: unknown profile 'nightly': choose one of ci, dev, or add",
        "treadle: error: the test's options: profile must be a name, not 3",
        "treadle: error: test_nested is being explored: explorations cannot be nested",
    ):
        assert message in text
    assert "Traceback" not in text
    assert "src/treadle" not in text


def test_bugs_of_treadle_ask_for_a_report(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = mock.Mock(side_effect=TreadleBug("an invariant does not hold"))
    monkeypatch.setattr(checking.Session, "explore", broken)
    result = run(THREE.format(options=""))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["E   *TreadleBug: an invariant*", "E   *This is a bug of Treadle*: please report it."]
    )


def test_models_in_pytest(run: Run) -> None:
    result = run(
        """
        def program(atomic):
            program = treadle.model.Program(x=0)
            def increment(s):
                if atomic:
                    s.x += 1
                    return
                x = s.x
                yield
                s.x = x + 1
            program.process(increment, name="p")
            program.process(increment, name="q")
            @program.process
            def check(s):
                yield treadle.model.join("p", "q")
                assert s.x == 2
            return program

        @pytest.mark.treadle
        def test_mark():
            return program(atomic=False)

        @treadle.check()
        def test_check():
            return program(atomic=False)
        """
    )
    assert summary_of(result)[-1].startswith("2 tests explored: 2 ")


def test_other_decorators_stay_in_force(run: Run) -> None:
    result = run(
        """
        from unittest import mock
        import os

        @mock.patch("os.getcwd", return_value="nowhere")
        @treadle.check()
        def test_outside(getcwd):
            counter = Counter()
            run(counter.increment, counter.increment)
            assert os.getcwd() == "nowhere"
            assert getcwd.call_count == 1

        @treadle.check()
        @mock.patch("os.getcwd", return_value="nowhere")
        def test_inside(getcwd):
            counter = Counter()
            run(counter.increment, counter.increment)
            assert os.getcwd() == "nowhere"
            assert getcwd.call_count == 1
        """
    )
    result.assert_outcomes(passed=2)
    assert summary_of(result)[:2] == [
        "test_it.py::test_outside: verified, 4 executions",
        "test_it.py::test_inside: verified, 4 executions",
    ]


def test_a_failure_in_a_thread_shows_the_frames_of_the_user_only(run: Run) -> None:
    result = run(
        """
        def deeper(lock):
            lock.release()

        @pytest.mark.treadle
        def test_it():
            lock = threading.Lock()
            run(lambda: deeper(lock))
        """
    )
    result.assert_outcomes(failed=1)
    text = result.stdout.str()
    assert "    def deeper(lock):\n>       lock.release()\nE       RuntimeError:" in text
    assert "threading.py" not in text
    assert "src/treadle" not in text
    assert section_of(result, "Treadle")[-1].startswith("Replay: pytest test_it.py::test_it --")


def test_the_full_trace_is_there_on_request(run: Run) -> None:
    source = "@pytest.mark.treadle\ndef test_it():\n    run(lambda: 1 / 0)\n"
    assert "scheduler.py" in run(source, "--full-trace").stdout.str()
