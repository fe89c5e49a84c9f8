"""The documentation is true: its Python runs, and its console sessions print what they show.

- `python` blocks of a page run one after the other in one namespace. A block that begins with a
  comment such as `# counter.py` is also a file of that name for the console blocks of the page.
- `console` blocks are run by a shell; what is shown must be what comes out, except for times.
- Blocks of other languages (`text`, `sh`) are not run.

`python tests/test_docs.py` (`make docs`) puts what is really printed into the console blocks.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)")
COMMAND = "import sys; from treadle.cli import main; sys.exit(main())"

with_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


class Block(NamedTuple):
    language: str
    text: str
    line: int


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for match in FENCED.finditer(text):
        yield Block(match[1], match[2], text.count("\n", 0, match.start(2)) + 1)


def run_python(block: Block, page: Path, directory: Path, namespace: dict[str, Any]) -> None:
    name = re.match(r"# (\w+\.py)\n", block.text)
    if name:
        (directory / name[1]).write_text(block.text)
    padding = "\n" * (block.line - 1)  # so that a traceback names the line of the page
    exec(compile(padding + block.text, str(page), "exec"), namespace)


def run_console(block: Block, directory: Path) -> str:
    """Run the commands of a session and return the session as it really goes."""
    script = "status=0\n"
    for command in re.findall(r"^\$ (.*)", block.text, re.MULTILINE):
        script += f"printf '%s\\n' {shlex.quote('$ ' + command)}\n"
        script += f"(exit $status); {command}\nstatus=$?\n"
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=directory,
        env=environment(directory),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout


def environment(directory: Path) -> dict[str, str]:
    """Put `treadle` and `python` of this interpreter first in the path."""
    commands = directory / ".bin"
    commands.mkdir(exist_ok=True)
    for name, arguments in {"treadle": ["-c", COMMAND], "python": []}.items():
        line = " ".join(map(shlex.quote, [sys.executable, *arguments]))
        (commands / name).write_text(f'#!/bin/sh\nexec {line} "$@"\n')
        (commands / name).chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
        "COLUMNS": "100",
        "NO_COLOR": "1",
    }


def without_times(text: str) -> str:
    """Blank out what differs from run to run: times, rates, memory, and how wide they are."""
    text = re.sub(r"[\d.,]+ ?(ms|s|MB)\b", r"# \1", text)
    text = re.sub(r"[\d.,]+ (executions per second|execs?/s)", r"# \1", text)
    text = re.sub(r'("(?:seconds|peak_mb)": )[\d.e-]+', r"\1#", text)
    return re.sub(r"[ ─━=]+", " ", text).strip()


def sessions(page: Path, directory: Path) -> Iterator[tuple[Block, str]]:
    """Run a page; yield its console blocks, each with what was really printed."""
    shutil.copytree(ROOT / "examples", directory / "examples")
    namespace: dict[str, Any] = {"__name__": "docs"}
    for block in blocks(page):
        if block.language == "python":
            run_python(block, page, directory, namespace)
        elif block.language == "console":
            yield block, run_console(block, directory)


def update(page: Path) -> None:
    text = page.read_text()
    with tempfile.TemporaryDirectory() as directory:
        for block, printed in sessions(page, Path(directory)):
            if without_times(printed) != without_times(block.text):
                text = text.replace(f"```console\n{block.text}```", f"```console\n{printed}```")
    page.write_text(text)


@with_page
def test_code_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for block, printed in sessions(page, tmp_path):
        assert without_times(printed) == without_times(block.text)


@with_page
def test_links_lead_somewhere(page: Path) -> None:
    prose = FENCED.sub("", page.read_text())
    missing = [link for link in LINK.findall(prose) if not (page.parent / link).exists()]
    assert missing == []


def test_readme_shows_an_example_with_its_output() -> None:
    languages = [block.language for block in blocks(ROOT / "README.md")]
    assert "python" in languages
    assert "console" in languages[languages.index("python") :]


def test_every_algorithm_has_a_page() -> None:
    import treadle

    pages = {page.stem for page in (ROOT / "docs" / "algorithms").glob("*.md")}
    assert pages == set(treadle.ALGORITHMS)


@pytest.mark.parametrize(
    ("shown", "real"),
    [("time  0.00 s, 12 executions per second", "time 1.25 s, 3,400 executions per second")],
)
def test_times_do_not_matter(shown: str, real: str) -> None:
    assert without_times(shown) == without_times(real)


def test_figures_do_matter() -> None:
    assert without_times("2 executions") != without_times("3 executions")


if __name__ == "__main__":
    for documented in PAGES:
        update(documented)
