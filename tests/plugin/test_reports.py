"""What pytest prints for each kind of failure, at 80 columns, from `FAILURES` to the end.

`TREADLE_GOLDEN=write pytest tests/plugin/test_reports.py` writes what is printed now.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from running_pytest import Run, section_of

GOLDEN = Path(__file__).parent / "golden"

FAILURES = {
    "assertion": """
        @pytest.mark.treadle
        def test_it():
            counter = Counter()
            run(counter.increment, counter.increment)
            print("the value is", counter.value)
            assert counter.value == 2
        """,
    "exception": """
        @pytest.mark.treadle
        def test_it():
            stock = {"apples": 1}

            def sell():
                if "apples" in stock:
                    del stock["apples"]

            run(sell, sell)
        """,
    "deadlock": """
        @pytest.mark.treadle
        def test_it():
            left, right = threading.Lock(), threading.Lock()

            def eat(first, second):
                with first, second:
                    pass

            run(lambda: eat(left, right), lambda: eat(right, left))
        """,
    "livelock": """
        @pytest.mark.treadle
        def test_it():
            ready = []

            def wait():
                while not ready:
                    pass

            run(wait)
        """,
    "race": """
        @pytest.mark.treadle(races=True)
        def test_it():
            counter = Counter()
            run(counter.increment, counter.increment)
        """,
    "budget": """
        @pytest.mark.treadle(max_steps=12)
        def test_it():
            counter = Counter()

            def work():
                while True:
                    counter.increment()

            run(work)
        """,
    "nondeterminism": """
        seen = []

        @pytest.mark.treadle(restore=False)
        def test_it():
            seen.append(None)
            counter = Counter()
            run(*[counter.increment] * (1 + len(seen) % 2))
        """,
    "usage": """
        @pytest.mark.treadle(max_steps=0)
        async def test_it():
            pass
        """,
    "incomplete": """
        @pytest.mark.treadle(max_executions=9, strict=True)
        def test_it():
            counter = Counter()
            run(*[counter.increment] * 3)
        """,
    "fixture": """
        @pytest.fixture
        def counter():
            counter = Counter()
            yield counter
            assert counter.value == 2

        @pytest.mark.treadle
        def test_it(counter):
            run(counter.increment, counter.increment)
        """,
    "test_case": """
        class CounterTest(unittest.TestCase):
            def setUp(self):
                self.counter = Counter()

            @treadle.check()
            def test_it(self):
                run(self.counter.increment, self.counter.increment)
                self.assertEqual(self.counter.value, 2)
        """,
    "model": """
        @pytest.mark.treadle
        def test_it():
            program = treadle.model.Program(x=0)

            @program.process
            def writer(s):
                s.x = 1
                yield

            @program.process
            def reader(s):
                assert s.x == 0
                yield

            return program
        """,
}


@pytest.mark.parametrize("kind", FAILURES)
def test_report(run: Run, kind: str) -> None:
    result = run(FAILURES[kind], "--treadle-no-database")
    assert result.ret == 1
    printed = normal("\n".join(result.outlines))
    file = GOLDEN / f"{kind}.txt"
    if os.environ.get("TREADLE_GOLDEN") == "write":
        file.write_text(printed)
    assert printed == file.read_text()


def test_reports_fit_in_80_columns() -> None:
    """All but the line to paste, and the lines of the summary."""
    for kind in FAILURES:
        text = (GOLDEN / f"{kind}.txt").read_text()
        report, _, _ = text.partition("= treadle =")
        wide = [line for line in report.splitlines() if len(line) > 80]
        assert [line for line in wide if not line.startswith("Replay: pytest ")] == []


def test_remarks_fit_in_80_columns(run: Run) -> None:
    source = """
        @pytest.mark.treadle(algorithm="random", seed=1)
        def test_it():
            counter = Counter()
            run(*[lambda: [counter.increment() for _ in range(4)]] * 4)
            assert counter.value == 16
        """
    lines = section_of(run(source), "Treadle")
    start = next(at for at, line in enumerate(lines) if line.startswith("This interleaving was"))
    remark = lines[start : lines.index("", start)]
    assert len(" ".join(remark)) > 80
    assert max(map(len, remark)) <= 80


def normal(text: str) -> str:
    """Return the part of an output that does not depend on when and where it was printed."""
    text = text[re.search("^=+ (FAILURES|ERRORS) =+$", text, re.MULTILINE).start() :]  # type: ignore[union-attr]
    text = re.sub(r"\b0x[0-9a-f]+", "0x...", text)
    text = re.sub(r"\bt2_[\w-]+", "TOKEN", text)
    text = re.sub(r"=+ (\d.*) in [\d.]+s =+", r"\1", text)
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


# As the terminal is


LOST = """
@pytest.mark.treadle
def test_it():
    counter = Counter()
    run(counter.increment, counter.increment)
    assert counter.value == 2
"""


@pytest.mark.parametrize(
    ("columns", "widest"), [(40, 40), (60, 59), (80, 78), (120, 115), (200, 115)]
)
def test_a_report_is_as_wide_as_the_terminal(
    run: Run, monkeypatch: pytest.MonkeyPatch, columns: int, widest: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    *report, replay = section_of(run(LOST), "Treadle")
    assert max(map(len, report)) == widest
    assert replay.startswith("Replay: ")  # can be copied, however long it is


def test_workers_know_how_wide_the_terminal_is(
    run_apart: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    *report, _ = section_of(run_apart(LOST, "-n", "1"), "Treadle")
    assert max(map(len, report)) == 59


@pytest.mark.parametrize("option", ["-n1", "-n0"])
def test_a_report_is_in_colour_where_pytest_is(run_apart: Run, option: str) -> None:
    plain = section_of(run_apart(LOST, option), "Treadle")
    result = run_apart(LOST, option, "--color=yes", "--junit-xml=junit.xml")
    text = result.stdout.str()
    assert "\x1b[1;31mAssertion failed in main at test_it.py:28: assert 1 == 2\x1b[0m\n" in text
    assert f"\x1b[36m{plain[-1]}\x1b[0m\n" in text
    assert "\n".join(plain) in re.sub(r"\x1b\[[\d;]*m", "", text)
    assert "#x1B" not in Path("junit.xml").read_text()


def test_a_traceback_in_one_line_leaves_the_interleaving_out(run: Run) -> None:
    result = run(LOST, "--tb=line")
    (replay,) = section_of(result, "Treadle")[:1]
    assert replay.startswith("Replay: pytest test_it.py::test_it --treadle-replay t2_")
    result.stdout.no_fnmatch_line("*preempted*")
