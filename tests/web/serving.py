"""A real server of `treadle web` for tests, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from waiting import PATIENCE

ENDLESS_SPACE = """
import treadle

program = treadle.model.Program(x=0)

def writer(s):
    for _ in range(9):
        s.x += 1
        yield

for name in "pqrst":
    program.process(writer, name=name)
"""
"""A program with more executions than anybody can wait for."""


class Served:
    """A server, and how to ask it."""

    def __init__(self, address: str, process: int = 0) -> None:
        self.address, self.process = address, process

    def asked_by_page(self, path: str, content: Any = None) -> Any:
        """Return what the page gets if it asks: never a status that a browser calls an error."""
        status, text = self.ask(path, content, accept="application/json")
        assert status == 200, text
        return json.loads(text)

    def ask(self, path: str, content: Any = None, **headers: str) -> tuple[int, str]:
        """Return status and text of an answer."""
        body = None if content is None else json.dumps(content).encode()
        request = urllib.request.Request(self.address + path, body, headers)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def apply(self, text: str, file: str = "program.py", program: str = "", **options: str) -> str:
        """Start a program; return the job's name."""
        wish = {"file": file, "text": text, "program": program, "options": options}
        status, answer = self.ask("jobs", wish)
        assert status == 200, answer
        return json.loads(answer)["job"]

    def end_of(self, job: str) -> dict[str, str]:
        """Wait for the end of a job; return the last news."""
        _, text = self.ask(f"jobs/{job}/news")
        return json.loads(text.strip().split("\n\n")[-1].removeprefix("data: "))

    def wait_for_progress(self, job: str, words: str = "executions") -> None:
        """Wait until a search runs."""
        with urllib.request.urlopen(f"{self.address}jobs/{job}/news", timeout=PATIENCE) as news:
            for line in news:
                if words.encode() in line:
                    return
        raise AssertionError(f"it ended and never said {words!r}")

    def error_of(self, text: str, **options: str) -> str:
        """Return what is said of a program that cannot be explored."""
        last = self.end_of(self.apply(text, **options))
        assert last["kind"] == "error", last
        return last["text"]


@contextmanager
def served(folder: Path, *arguments: str) -> Iterator[Served]:
    """Start `treadle web`, and end it."""
    code = "import sys; from treadle.cli import main; main(sys.argv[1:])"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "web", "--no-browser", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield Served(process.stdout.readline().split()[3], process.pid)
    finally:
        process.terminate()
        process.wait(PATIENCE)
        process.stdout.close()
