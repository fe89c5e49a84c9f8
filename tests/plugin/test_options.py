"""Options on the command line, in the project, and what wins."""

from __future__ import annotations

import json
import re

import pytest

from running_pytest import Run, section_of, summary_of, verdict_of

TEST = """
@pytest.mark.treadle{options}
def test_it():
    counter = Counter()
    run(counter.increment, counter.increment, counter.increment)
    assert counter.value {wanted}
"""
VERIFIED = TEST.format(options="", wanted="> 0")
FAILS = TEST.format(options="", wanted="== 3")


def test_algorithm(run: Run) -> None:
    assert verdict_of(run(VERIFIED)) == "verified, 36 executions"
    sampled = run(VERIFIED, "--treadle-algorithm=random", "--treadle-max-executions=5")
    assert verdict_of(sampled) == "sampled, 5 executions, no failure found"


def test_max_executions(run: Run) -> None:
    result = run(VERIFIED, "--treadle-max-executions=3")
    assert verdict_of(result).startswith("incomplete after 3 executions")
    limited = TEST.format(options="(max_executions=3)", wanted="> 0")
    lifted = run(limited, "--treadle-max-executions=none")
    assert verdict_of(lifted) == "verified, 36 executions"


def test_timeout(run: Run) -> None:
    result = run(VERIFIED, "--treadle-timeout=1e-9")
    assert verdict_of(result).startswith("incomplete after 1 execution")
    limited = TEST.format(options="(timeout=1e-9)", wanted="> 0")
    assert verdict_of(run(limited, "--treadle-timeout=none")) == "verified, 36 executions"


def test_granularity(run: Run) -> None:
    source = """
        @pytest.mark.treadle
        def test_it():
            box = [0]
            def add():
                box[0] += 1
            run(add, add)
            assert box[0] == 2
        """
    run(source).assert_outcomes(failed=1)
    run(source, "--treadle-granularity=gil").assert_outcomes(passed=1)


def test_max_rounds(run: Run) -> None:
    source = """
        @pytest.mark.treadle
        def test_it():
            stop, beats = threading.Event(), []
            def work():
                while not stop.wait(0.5):
                    beats.append("beat")
            run(work, stop.set)
        """
    always = "--treadle-timeouts=explore"
    result = run(source, "--treadle-max-executions=50", always)
    assert verdict_of(result).startswith("incomplete after 50 executions")
    result.stdout.fnmatch_lines(
        ["  note: * every number of times is explored: bound it with max_rounds"]
    )
    result = run(source, "--treadle-max-rounds=2", always)
    assert verdict_of(result) == "verified, 3 executions"
    result.stdout.fnmatch_lines(
        ["  note: a thread may sleep or wait in vain at *:* more than 2 times in a row: *"]
    )


def test_latency(run: Run) -> None:
    source = """
        @pytest.mark.treadle
        def test_it():
            told = threading.Event()
            thread = threading.Thread(target=told.set)
            thread.start()
            assert told.wait(1)
            thread.join()
        """
    said = 'verified; 1 wait of 1 s ends last (timeouts="explore" tries it too), 1 execution'
    assert verdict_of(run(source)) == said
    assert verdict_of(run(source, "--treadle-latency=2")).startswith("failed")
    assert verdict_of(run(source, "--treadle-timeouts=explore")).startswith("failed")
    assert verdict_of(run(source, "--treadle-timeouts=never")).startswith("verified; 1 wait")


def test_seed(run: Run) -> None:
    source = TEST.format(options="(algorithm='random', max_executions=1)", wanted="== 3")
    outcomes = {
        run(source, f"--treadle-seed={seed}", "--treadle-no-database").parseoutcomes().popitem()[0]
        for seed in range(4)
    }
    assert outcomes == {"passed", "failed"}


def test_strict(run: Run) -> None:
    few = "--treadle-max-executions=3"
    assert run(VERIFIED, few).ret == 0
    assert run(VERIFIED, few, "--treadle-strict").ret == 1
    strict = TEST.format(options="(strict=True)", wanted="> 0")
    assert run(strict, few).ret == 1
    assert run(strict, few, "--treadle-no-strict").ret == 0


def test_no_shrinking(run: Run) -> None:
    text = " ".join(run(FAILS, "--treadle-no-database").outlines)
    assert "This interleaving was shrunk from" in text
    text = " ".join(run(FAILS, "--treadle-no-database", "--treadle-no-shrink").outlines)
    assert "shrunk" not in text


def test_profiles(run: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    pytester.makepyprojecttoml(
        """
        [tool.treadle]
        max_executions = 5
        [tool.treadle.profiles.tiny]
        max_executions = 2
        [tool.treadle.profiles.ci]
        max_executions = 7
        """
    )
    few = "incomplete after {} executions"
    assert verdict_of(run(VERIFIED)).startswith(few.format(5))
    assert verdict_of(run(VERIFIED, "--treadle-profile=tiny")).startswith(few.format(2))
    monkeypatch.setenv("TREADLE_PROFILE", "tiny")
    assert verdict_of(run(VERIFIED)).startswith(few.format(2))
    by_test = TEST.format(options="(profile='dev')", wanted="> 0")
    assert verdict_of(run(by_test)).startswith(few.format(5))
    in_ci = run(by_test, "--treadle-profile=ci")
    assert verdict_of(in_ci).startswith(few.format(7))
    assert in_ci.ret == 1  # `ci` is strict


def test_the_test_wins_over_the_project_and_the_command_line_over_the_test(
    run: Run, pytester: pytest.Pytester
) -> None:
    pytester.makepyprojecttoml("[tool.treadle]\nmax_executions = 5\n")
    source = TEST.format(options="(max_executions=4)", wanted="> 0")
    assert verdict_of(run(source)).startswith("incomplete after 4 ")
    assert verdict_of(run(source, "--treadle-max-executions=3")).startswith("incomplete after 3 ")


def test_instrumented_packages_of_the_project(run: Run, pytester: pytest.Pytester) -> None:
    libraries = pytester.mkdir("site-packages")
    (libraries / "library.py").write_text(
        "class Library:\n"
        "    value = 0\n"
        "    def increment(self):\n"
        "        value = self.value\n"
        "        self.value = value + 1\n"
    )
    pytester.syspathinsert(libraries)
    source = """
        from library import Library

        @pytest.mark.treadle
        def test_it():
            library = Library()
            run(library.increment, library.increment)
            assert library.value == 2
        """
    assert verdict_of(run(source)) == "verified, 2 executions"
    pytester.makepyprojecttoml("[tool.treadle]\ninstrument = ['library']\n")
    assert verdict_of(run(source)).startswith("failed after ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--treadle-algorithm=best"],
            "*the command line: unknown algorithm 'best': choose one of *",
        ),
        (["--treadle-profile=x"], "*unknown profile 'x': choose one of ci, dev*"),
        (["--treadle-max-executions=many"], "*invalid int value: 'many'*"),
        (["--treadle-max-executions=0"], "*: 0 is not above 0; `none` lifts the limit"),
        (["--treadle-timeout=-1"], "*: -1 is not above 0; `none` lifts the limit"),
        (["--treadle-granularity=x"], "*invalid choice: 'x'*"),
    ],
)
def test_mistakes_on_the_command_line(run: Run, arguments: list[str], message: str) -> None:
    result = run(VERIFIED, *arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


def test_mistakes_in_the_project(run: Run, pytester: pytest.Pytester) -> None:
    pytester.makepyprojecttoml("[tool.treadle]\nalgoritm = 'optimal'\n")
    result = run(VERIFIED)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["ERROR: treadle: */pyproject.toml: [[]tool.treadle[]]: unknown setting 'algoritm':*"]
    )
    run("def test_it(): pass").assert_outcomes(passed=1)  # nobody asked Treadle


def test_the_marker_is_registered(run: Run) -> None:
    run(VERIFIED, "--strict-markers").assert_outcomes(passed=1)
    run("def test_it(): pass", "--markers").stdout.fnmatch_lines(
        ["@pytest.mark.treadle([*][*]options): run the test once per interleaving *"]
    )


def test_selection(run: Run) -> None:
    source = VERIFIED + "\n\ndef test_other(): pass\n"
    result = run(source, "-m", "treadle")
    result.assert_outcomes(passed=1, deselected=1)
    result = run(source, "-m", "not treadle")
    result.assert_outcomes(passed=1, deselected=1)
    result.stdout.no_fnmatch_line("*explored*")


def test_locals(run: Run) -> None:
    source = """
        @pytest.mark.treadle
        def test_it():
            counter = Counter()
            peculiar = "a value"
            run(counter.increment, counter.increment)
            assert counter.value == 2
        """
    for arguments, shown in (([], False), (["--treadle-locals"], True)):
        report = section_of(run(source, "--tb=short", *arguments), "Treadle")
        assert any("peculiar = 'a value'" in line for line in report) == shown


def test_locals_are_those_of_the_test_only(run: Run) -> None:
    source = """
        class ItTest(unittest.TestCase):
            @treadle.check()
            def test_it(self):
                counter = Counter()
                run(counter.increment, counter.increment)
                self.assertEqual(counter.value, 2)
        """
    report = section_of(run(source, "--treadle-locals"), "Treadle")
    start = report.index("Local variables at that point:")
    functions = [line.split()[0] for line in report[start:] if re.match(r" {4}\w+\(\) at", line)]
    assert functions == ["test_it()"]


def test_help(run: Run) -> None:
    result = run("", "--help")
    result.stdout.fnmatch_lines(
        ["Treadle: every interleaving that can make a difference:", "  --treadle-profile=NAME*"]
    )


def test_all_failures(run: Run) -> None:
    result = run(
        """
        @pytest.mark.treadle(stop_on_failure=False)
        def test_it():
            counter = Counter()
            run(counter.increment, counter.increment)
            assert counter.value == 2
        """
    )
    assert summary_of(result)[0] == "test_it.py::test_it: failed after 4 executions: assertion"


TWO = f"""
{FAILS}

@pytest.mark.treadle
def test_other():
    pass
"""


def test_reports_of_all_tests(run: Run, pytester: pytest.Pytester) -> None:
    for origin in ("explored", "recorded by the first run"):
        run(TWO, "--treadle-report=out.json").assert_outcomes(passed=1, failed=1)
        failed = json.loads((pytester.path / "out-test_it.py-test_it.json").read_text())
        assert failed["target"] == "test_it.py::test_it"
        assert [failure["kind"] for failure in failed["failures"]] == ["assertion"], origin
        assert failed["failures"][0]["trace"], origin
    verified = json.loads((pytester.path / "out-test_it.py-test_other.json").read_text())
    assert (verified["complete"], verified["failures"]) == (True, [])
    token = failed["failures"][0]["token"]
    run(FAILS, f"--treadle-replay={token}", "--treadle-report=again.md")
    again = (pytester.path / "again-test_it.py-test_it.md").read_text()
    assert f"pytest test_it.py::test_it --treadle-replay {token}" in again


def test_a_report_has_all_failures_that_were_asked_for(run: Run, pytester: pytest.Pytester) -> None:
    source = """
        @pytest.mark.treadle
        def test_it():
            counter = Counter()
            run(counter.increment, counter.increment, counter.increment)
            assert counter.value != 1
            assert counter.value != 2, "two"
        """
    run(source, "--treadle-keep-going", "--treadle-report=out.json")
    shown = json.loads((pytester.path / "out-test_it.py-test_it.json").read_text())
    assert len(shown["failures"]) == 2
    assert all(failure["token"] and failure["trace"] for failure in shown["failures"])


def test_a_report_with_an_unknown_suffix_is_refused_at_once(run: Run) -> None:
    result = run(FAILS, "--treadle-report=out.pdf")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*treadle: no report is written as 'out.pdf': choose *.md *"])


DEPOSITS = """
import treadle

@pytest.mark.treadle(algorithm="optimal-constrained"{options})
def test_it():
    program = treadle.model.Program("bank", balance=0)

    def deposit(s, amount):
        yield
        s.balance += amount

    for amount in (1, 2, 3, 4):
        program.process(deposit, amount)
    return program
"""


def test_constraints(run: Run) -> None:
    """What a solver finds is used if the test, or the command line, asks for it."""
    declared = DEPOSITS.format(options="")
    assert verdict_of(run(declared)) == "verified, 24 executions"
    found = run(declared, "--treadle-constraints=synthesised")
    assert verdict_of(found) == "verified, 1 execution"
    asked = DEPOSITS.format(options=", constraints='synthesised', uniformity='keeps'")
    assert verdict_of(run(asked)) == "verified, 1 execution"
