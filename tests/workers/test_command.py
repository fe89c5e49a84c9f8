"""The command line with several workers: the same rows, the same status."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from treadle.explore.progress import Estimate, Progress
from treadle.report.live import progress_in_words

MODEL = """
from treadle.papers import jacm17
program = jacm17.lastzero(8)
"""

CommandLine = Callable[..., tuple[Any, str, str]]


@pytest.fixture
def target(tmp_path: Path) -> str:
    file = tmp_path / "model.py"
    file.write_text(MODEL)
    return f"{file}::program"


def test_compare_prints_the_same_rows(target: str, command_line: CommandLine) -> None:
    chosen = [f"--algorithm={name}" for name in ("optimal", "source", "observers")]
    rows = []
    for workers in ("1", "2"):
        status, output, _ = command_line(
            "compare", target, *chosen, "--workers", workers, "--split-by", "executions", "--json"
        )
        assert status == 0
        shown = json.loads(output)["results"]
        rows.append([(one["algorithm"], one["executions"], one["complete"]) for one in shown])
    assert rows[0] == rows[1] == [
        ("optimal", 704, True), ("source", 704, True), ("observers", rows[0][2][1], True),
    ]  # fmt: skip


def test_what_is_refused_is_an_error_of_use(target: str, command_line: CommandLine) -> None:
    status, _, errors = command_line("run", target, "--workers", "4", "--algorithm", "observers")
    assert status == 2
    assert "workers=4 needs an algorithm whose classes can be divided" in errors
    status, _, errors = command_line("run", target, "--workers", "0")
    assert status == 2
    assert "workers must be a whole number above 0, or 'auto', not 0" in errors


DEADLY = """
import os, threading

def test_it():
    box = {"n": 0}

    def add():
        box["n"] += 1
        box["n"] += 1

    def look():
        if box["n"] == 0:
            os.kill(os.getpid(), 9)

    threads = [threading.Thread(target=body) for body in (add, add, look)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


@pytest.mark.parametrize(
    ("command", "option", "status"),
    [
        (("-c", "from treadle.cli import main; main()", "run"), "--workers", 3),
        (("-m", "pytest", "-p", "no:cacheprovider"), "--treadle-workers", 0),
    ],
    ids=["treadle", "pytest"],
)
def test_a_test_that_kills_its_process(
    command: tuple[str, ...], option: str, status: int, tmp_path: Path
) -> None:
    """A copy goes ahead, so that the process that explores is not killed in its beginning."""
    mark = "import pytest\n\n@pytest.mark.treadle\n" if "pytest" in command else ""
    (tmp_path / "test_it.py").write_text(DEADLY.replace("def test_it", f"{mark}def test_it"))
    found = subprocess.run(
        [sys.executable, *command, "test_it.py", option, "2"],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert found.returncode == status, found.stdout + found.stderr
    output = " ".join(found.stdout.split())
    assert "a worker died 4 times while it explored one part (main." in output
    assert "killed by signal 9; out of memory?" in output


def test_a_projects_workers_are_for_what_can_be_divided(
    target: str, tmp_path: Path, command_line: CommandLine
) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.treadle]\nworkers = 2\n")
    run = ["run", target, "--no-database", "--split-by", "executions", "--json"]
    _, output, _ = command_line(*run)
    assert json.loads(output)["workers"] == 2
    status, output, _ = command_line(*run, "--algorithm", "observers")
    assert status == 0
    assert json.loads(output)["workers"] == 1


def test_the_live_line() -> None:
    estimate = Estimate(33_000.0, 33_000.0, 33_000.0, 0.37, is_rough=True)
    progress = Progress(12_480, 0, 0, 0, 4.0, estimate, workers=4)
    assert progress_in_words(progress) == (
        "12,480 executions, 4 workers, 3,120/s, about 37% of ~33,000"
    )
