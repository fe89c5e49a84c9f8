"""The documentation is true: its Python runs, and its console sessions print what they show.

- `python` blocks of a page run one after the other in one namespace. A block that begins with a
  comment such as `# counter.py` is also a file of that name, for the blocks that follow.
- `toml` blocks are files in the same way (`# pyproject.toml`), and are read.
- `console` blocks are run by a shell; what is shown must be what comes out, except for times and
  addresses. A line `...` stands for lines that are not shown. What follows `(Pdb) ` is typed.
  pytest runs without its header, which names versions and directories.
- Blocks of other languages (`text`, `sh`, `yaml`) are not run.

`python tests/test_docs.py` (`make outputs`) puts what is really printed into the console blocks.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from running_pytest import WITHOUT_HYPOTHESIS
from surroundings import forget_surroundings
from treadle.core.registry import Registry
from treadle.explore.registry import ALGORITHMS
from treadle.report.registry import REPORTS
from treadle.session.front_ends import FRONT_ENDS
from waiting import PATIENCE

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])
ALGORITHM_PAGES = sorted((ROOT / "docs" / "algorithms").glob("*.md"))
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"# ([\w-]+\.\w+)\n")
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)")
COMMANDS = {
    "treadle": ["-c", "import sys; from treadle.cli import main; sys.exit(main())"],
    "pytest": ["-m", "pytest"],
    "python": [],
}
LOADED_FROM_AFAR = re.compile(r'<(?:script|link|img)[^>]*(?:src|href)="(?:https?:)?//[^"]*')
PROMPT = "(Pdb) "

with_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


class Block(NamedTuple):
    language: str
    text: str
    line: int
    span: tuple[int, int]


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for match in FENCED.finditer(text):
        line = text.count("\n", 0, match.start(2)) + 1
        yield Block(match[1], match[2], line, match.span(2))


def write_file(block: Block, directory: Path) -> None:
    name = NAMED.match(block.text)
    if name:
        (directory / name[1]).write_text(block.text)


def run_python(block: Block, page: Path, namespace: dict[str, Any]) -> None:
    padding = "\n" * (block.line - 1)  # so that a traceback names the line of the page
    exec(compile(padding + block.text, str(page), "exec"), namespace)


@contextmanager
def importable(directory: Path) -> Iterator[None]:
    """Let the files of a page be imported, and forget them and what they register afterwards."""
    sys.path.insert(0, str(directory))
    registries: list[Registry[Any]] = [ALGORITHMS, FRONT_ENDS, REPORTS]
    before = [set(registry) for registry in registries]
    try:
        yield
    finally:
        sys.path.remove(str(directory))
        for registry, names in zip(registries, before, strict=True):
            for name in set(registry) - names:
                registry.remove(name)
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None)).startswith(str(directory)):
                del sys.modules[name]


def run_console(block: Block, directory: Path) -> str:
    """Run the commands of a session and return the session as it really goes."""
    script = "status=0\n"
    for part in re.split(r"^(?=\$ )", block.text, flags=re.MULTILINE):
        if not part.startswith("$ "):
            continue
        command = part.splitlines()[0].removeprefix("$ ")
        if typed := "".join(f"{line}\n" for line in typed_in(part)):
            run = f"printf %s {shlex.quote(typed)} | {command}"
        else:
            run = command
        script += f"printf '%s\\n' {shlex.quote('$ ' + command)}\n"
        script += f"(exit $status); {run}\nstatus=$?\n"
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=directory,
        env=environment(directory),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return with_typed(done.stdout, typed_in(block.text))


def typed_in(session: str) -> list[str]:
    """Return what is typed at the debugger's prompts."""
    return [line.removeprefix(PROMPT) for line in session.splitlines() if line.startswith(PROMPT)]


def with_typed(printed: str, typed: list[str]) -> str:
    """Add what was typed to what was printed, where a terminal would show it."""
    for line in typed:
        printed = printed.replace(PROMPT, f"\0{line}\n", 1)
    return printed.replace("\0", PROMPT)


def environment(directory: Path) -> dict[str, str]:
    """Put the commands of this interpreter first in the path; leave out what steers the tests."""
    commands = directory / ".bin"
    commands.mkdir(exist_ok=True)
    for name, arguments in COMMANDS.items():
        line = " ".join(map(shlex.quote, [sys.executable, *arguments]))
        (commands / name).write_text(f'#!/bin/sh\nexec {line} "$@"\n')
        (commands / name).chmod(0o755)
    forget_surroundings()
    ours = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "TREADLE_"))}
    return {
        **ours,
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
        "PYTEST_ADDOPTS": f"--no-header {WITHOUT_HYPOTHESIS}",
        "COLUMNS": "100",
        "NO_COLOR": "1",
    }


def without_times(text: str) -> str:
    """Blank out what differs from run to run: times, rates, memory, addresses, and their widths."""
    text = re.sub(r"[\d.,]+ ?(ms|s|MB)\b", r"# \1", text)
    text = re.sub(r"[\d.,]+ (executions per second|execs?/s)", r"# \1", text)
    text = re.sub(r'("(?:seconds|peak_mb)": )[\d.e-]+', r"\1#", text)
    text = re.sub(r"0x[0-9a-f]+", "0x#", text)
    return re.sub(r"[ ─━=]+", " ", text).strip()


def is_shown(shown: str, printed: str) -> bool:
    """Tell whether a session is what a page shows; `...` on a page stands for any lines."""
    parts = re.split(r"^\.\.\.$", without_times(shown), flags=re.MULTILINE)
    pattern = ".*".join(map(re.escape, parts))
    return re.fullmatch(pattern, without_times(printed), re.DOTALL) is not None


def sessions(page: Path, directory: Path) -> Iterator[tuple[Block, str]]:
    """Run a page; yield its console blocks, each with what was really printed."""
    shutil.copytree(ROOT / "examples", directory / "examples")
    namespace: dict[str, Any] = {"__name__": "docs"}
    with importable(directory):
        for block in blocks(page):
            if block.language in ("python", "toml"):
                write_file(block, directory)
            if block.language == "python":
                run_python(block, page, namespace)
            elif block.language == "toml":
                tomllib.loads(block.text)
            elif block.language == "console":
                yield block, run_console(block, directory)


def update(page: Path) -> None:
    """Put what is really printed into the console blocks of a page."""
    text = page.read_text()
    with tempfile.TemporaryDirectory() as directory:
        ran = list(sessions(page, Path(directory)))
    for block, printed in reversed(ran):
        if not is_shown(block.text, printed):
            begin, end = block.span
            text = text[:begin] + printed + text[end:]
    page.write_text(text)


@with_page
def test_code_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for block, printed in sessions(page, tmp_path):
        if not is_shown(block.text, printed):  # shows what differs
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


def test_every_picture_is_made_by_the_script_and_shown_somewhere() -> None:
    script = (ROOT / "scripts" / "pictures.py").read_text()
    made = set(re.findall(r'^    \("(\w+)", \("', script, re.MULTILINE))
    made |= set(re.findall(r'PICTURES / "(\w+)\.png"', script))
    assert {file.stem for file in (ROOT / "docs" / "pictures").iterdir()} == made
    pages = "".join(page.read_text() for page in PAGES)
    assert made == set(re.findall(r"pictures/(\w+)\.png\)", pages))


def test_every_algorithm_has_a_page() -> None:
    assert {page.stem for page in ALGORITHM_PAGES} == set(ALGORITHMS)


@pytest.mark.parametrize("page", ALGORITHM_PAGES, ids=lambda page: page.stem)
def test_pages_of_algorithms_have_one_shape(page: Path) -> None:
    parts = re.findall(r"^\*\*(\w+)\.\*\*", page.read_text(), re.MULTILINE)
    assert parts == ["Idea", "Guarantee", "Cost", "When", "Reference"]


@pytest.mark.slow
def test_site_builds_and_needs_no_network(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    home = (tmp_path / "index.html").read_text()
    assert 'href="repository/examples.html"' in home
    for algorithm in ALGORITHM_PAGES:
        assert f'href="algorithms/{algorithm.stem}.html"' in home
    assert "racy" in (tmp_path / "repository" / "examples" / "counter.py.html").read_text()
    for page in tmp_path.rglob("*.html"):
        assert LOADED_FROM_AFAR.findall(page.read_text()) == []


@pytest.mark.parametrize(
    ("shown", "real"),
    [("time  0.00 s, 12 executions per second", "time 1.25 s, 3,400 executions per second")],
)
def test_times_do_not_matter(shown: str, real: str) -> None:
    assert without_times(shown) == without_times(real)


def test_figures_do_matter() -> None:
    assert not is_shown("2 executions", "3 executions")


def test_dots_stand_for_lines() -> None:
    assert is_shown("$ a\none\n...\nfour\n", "$ a\none\ntwo\nthree\nfour\n")
    assert not is_shown("$ a\none\n...\nfive\n", "$ a\none\ntwo\nthree\nfour\n")
    assert not is_shown("$ a\none\n", "$ a\none\ntwo\n")


def test_what_is_typed_is_shown_at_the_prompt() -> None:
    session = "$ x\n(Pdb) p 1\n1\n(Pdb) q\n"
    assert with_typed("$ x\n(Pdb) 1\n(Pdb) ", typed_in(session)) == session


if __name__ == "__main__":
    for documented in PAGES:
        update(documented)
