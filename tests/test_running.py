"""What `make test` runs tests with: `scripts/run_tests.py`, `scripts/timed.py`, `one_python`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from one_python import ONE_IS_ENOUGH, one_is_enough

ROOT = Path(__file__).parent.parent
FILES = {
    "test_passing.py": "def test_one(): pass\ndef test_two(): pass\n",
    "test_failing.py": "def test_three(): assert 1 + 1 == 3\n",
    "test_apart.py": (
        "import sys, threading\n"
        "def test_alone(): assert not any(name.endswith('test_passing') for name in sys.modules)\n"
        "def test_thread(): assert threading.main_thread().native_id == threading.get_native_id()\n"
    ),
    "test_nothing.py": "",
    "test_dying.py": "import os\ndef test_last(): os._exit(3)\n",
    "helper.py": '"""A helper.\n\n>>> 1 + 1\n2\n"""\n',
}


def script(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / name), *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_a_session_for_each_file(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    done = script("run_tests.py", str(tmp_path), "--", "-q", "--doctest-modules")
    ended = dict(re.findall(r"CPU s  \S*/(\w+)\.py: (.*)", done.stdout))
    assert ended.keys() == {Path(name).stem for name in FILES}
    assert ended["test_passing"].startswith("2 passed")
    assert ended["test_apart"].startswith("2 passed")
    assert ended["helper"].startswith("1 passed")
    assert ended["test_nothing"].startswith("no tests ran")
    assert ended["test_failing"] == "FAILED with status 1"
    assert ended["test_dying"] == "FAILED with status 3"
    assert "assert (1 + 1) == 3" in done.stdout
    counts, *failed = done.stdout.splitlines()[-3:]
    assert sorted(counts.split(", ")) == ["1 failed", "5 passed"]
    assert sorted(failed) == [f"FAILED: {tmp_path}/test_{name}.py" for name in ("dying", "failing")]
    assert done.returncode == 1


def test_what_runs_no_test_at_all_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "test_nothing.py").write_text("")
    done = script("run_tests.py", str(tmp_path))
    assert (done.stdout.splitlines()[-1], done.returncode) == ("no tests", 1)


def test_a_file_that_hangs_ends_and_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREADLE_LONGEST_FILE", "3")
    (tmp_path / "test_hangs.py").write_text(
        "import threading\ndef test_it():\n    threading.Event().wait()\n"
    )
    done = script("run_tests.py", str(tmp_path))
    assert done.returncode == 1
    assert "test_hangs.py: FAILED with status 1" in done.stdout
    assert 'test_hangs.py", line 3 in test_it' in done.stdout


def test_what_each_stage_took(tmp_path: Path) -> None:
    kept = str(tmp_path / "times")
    busy = "import time\nwhile time.process_time() < 0.3: pass"
    assert script("timed.py", kept, "a busy one", sys.executable, "-c", busy).returncode == 0
    assert (
        script("timed.py", kept, "fails", sys.executable, "-c", "raise SystemExit(7)").returncode
        == 7
    )
    header, *rows = script("timed.py", kept).stdout.splitlines()
    assert header.split() == ["wall", "s", "CPU", "s"]
    assert [row.split(maxsplit=2)[2] for row in rows] == ["a busy one", "fails", "in all"]
    cpu = [float(row.split()[1]) for row in rows]
    assert cpu[0] >= 0.3
    assert cpu[2] == pytest.approx(cpu[0] + cpu[1])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tests/threads/test_papers.py::test_a_racy_counter[2-2-10]", False),
        ("tests/threads/test_shrinking.py::test_nothing_is_printed_meanwhile", True),
        ("tests/threads/test_locks.py::test_random_plans_against_brute_force[one_lock]", True),
        ("tests/threads/test_properties.py::test_every_algorithm_finds_what_brute_force", False),
        ("tests/threads/test_sync.py::test_random_plans_against_the_source[barrier]", False),
        ("tests/cpython/test_lock_tests.py::test_natural_schedule[LockTests.test_with]", False),
        ("tests/plugin/test_together.py::test_with_coverage[sysmon]", False),
        ("tests/plugin/test_together.py::test_no_live_line_if_quiet", True),
    ],
)
def test_what_one_python_is_enough_for(name: str, expected: bool) -> None:
    assert one_is_enough(name) is expected


@pytest.mark.parametrize("part", ONE_IS_ENOUGH)
def test_what_one_python_is_enough_for_exists(part: str) -> None:
    file, _, test = part.partition("::")
    name = test or file
    if name.endswith(".py"):
        assert (ROOT / name).is_file()
    else:
        texts = [path.read_text() for path in (ROOT / "tests").rglob("test_*.py")]
        assert any(re.search(rf"def \w*{name}\w*\(", text) for text in texts)
