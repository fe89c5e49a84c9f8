"""What does Treadle say of other people's tests? Run `python benchmarks/foreign_tests.py`.

Source distributions of projects that have tests with threads are downloaded, each with an
environment of its own. Their tests run once as they are (`foreign_plugin.py`): those that start
threads are chosen. Then each of them is explored, unmodified, with the project's package
instrumented and 30 s each, in a process of its own.

A table says what became of each test. Whether a failure is right only a person can say: what was
found by reading is in `foreign_judgements.json`, by test, and stands beside the verdict. Downloads
are kept in `--into`, so that a second run takes what is there.

    python benchmarks/foreign_tests.py --project cachetools --project zict
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import venv
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from printing import print_measurements

HERE = Path(__file__).resolve().parent
SECONDS = 30
PATIENCE = 3 * SECONDS
"""After so many seconds a test is past its timeout: what was asked for, and as much again twice,
since importing, instrumenting and reporting take time of their own."""
OUT_OF_REACH = ("processes", "sockets", "coroutines")
HARD = ("past its timeout", "crash of Treadle")


@dataclass(frozen=True)
class Project:
    """A project: what is downloaded, what is imported, where its tests are."""

    name: str
    package: str
    tests: str = "tests"
    needs: tuple[str, ...] = ()
    """What its tests import besides."""


PROJECTS = (
    Project("apscheduler==3.11.3", "apscheduler", needs=("pytz", "anyio")),
    Project("asgiref==3.13.0", "asgiref", needs=("pytest-asyncio",)),
    Project("boltons==26.2.0", "boltons"),
    Project("cachetools==8.0.0", "cachetools"),
    Project("diskcache==5.6.3", "diskcache", needs=("django", "pytest-django")),
    Project("dogpile.cache==1.5.0", "dogpile", needs=("mako", "redis", "pymemcache")),
    Project("fasteners==0.20", "fasteners", needs=("diskcache", "more-itertools")),
    Project("injector==0.24.0", "injector", "injector_test.py"),
    Project("kazoo==2.11.0", "kazoo", "kazoo/tests", ("objgraph", "gevent", "eventlet")),
    Project("limits==5.8.0", "limits", needs=("pytest-asyncio", "pytest-lazy-fixtures", "hiro")),
    Project("more-itertools==11.2.1", "more_itertools"),
    Project("persist-queue==1.1.0", "persistqueue", "persistqueue/tests", ("msgpack", "cbor2")),
    Project("prometheus-client==0.26.0", "prometheus_client", needs=("asgiref",)),
    Project("pykka==4.5.0", "pykka", needs=("pytest-mock",)),
    Project("pyrate-limiter==4.5.1", "pyrate_limiter", needs=("pytest-asyncio", "filelock")),
    Project("readerwriterlock==1.0.10", "readerwriterlock"),
    Project("s3transfer==0.19.3", "s3transfer", "tests/unit"),
    Project("structlog==26.1.0", "structlog", needs=("pytest-asyncio", "time-machine")),
    Project("transitions==0.9.3", "transitions", needs=("mock", "graphviz", "dill")),
    Project("wrapt==2.5.2", "wrapt"),
    Project("zict==3.0.0", "zict", "zict/tests", ("pytest-asyncio", "pytest-timeout", "psutil")),
)


@dataclass(frozen=True)
class Line:
    """What became of one test."""

    measurement: str
    project: str
    test: str
    verdict: str
    executions: int | None = None
    said: str | None = None
    uses: str | None = None
    judgement: str | None = None


def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command and keep what it prints."""
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


class Prepared:
    """A project with its sources and an environment in which its tests can run."""

    def __init__(self, project: Project, into: Path) -> None:
        self.project = project
        self.home = into / project.package
        self.python = self.home / "venv" / "bin" / "python"
        if not (self.home / "ready").exists():
            self._download()
            self._install()
            (self.home / "ready").touch()
        self.sources = next(path for path in (self.home / "sources").iterdir() if path.is_dir())

    def _download(self) -> None:
        files = self.home / "files"
        command = [sys.executable, "-m", "pip", "download", "-qq", "--no-deps"]
        done = run([*command, "--no-binary", ":all:", "-d", str(files), self.project.name])
        if done.returncode:
            raise SystemExit(f"{self.project.name} cannot be downloaded: {done.stderr[-400:]}")
        with tarfile.open(next(files.iterdir())) as archive:
            archive.extractall(self.home / "sources", filter="data")

    def _install(self) -> None:
        venv.create(self.home / "venv", with_pip=True)
        wanted = ["-e", str(HERE.parent), "pytest", self.project.name, *self.project.needs]
        done = run([str(self.python), "-m", "pip", "install", "-qq", *wanted])
        if done.returncode:
            raise SystemExit(f"{self.project.name} cannot be installed: {done.stderr[-400:]}")

    def pytest(self, *arguments: str, seconds: float, **settings: str) -> str | None:
        """Run pytest beside the project's sources; return what it printed, None if it hung."""
        paths = (str(HERE), str(self.sources))
        environment = {
            **os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONHASHSEED": "0", **settings
        }  # fmt: skip
        options = ["-p", "foreign_plugin", "-p", "no:cacheprovider", "-q", "-o", "addopts="]
        command = [str(self.python), "-m", "pytest", *options, *arguments]
        try:
            done = run(command, cwd=self.sources, env=environment, timeout=seconds)
        except subprocess.TimeoutExpired:
            return None
        return done.stdout + done.stderr


def tests_with_threads(prepared: Prepared) -> list[dict[str, Any]]:
    """Return what was seen of the tests that start threads."""
    seen = prepared.home / "seen.jsonl"
    if not seen.exists():
        unfinished = seen.with_suffix(".part")
        unfinished.unlink(missing_ok=True)
        unfinished.touch()
        prepared.pytest(
            prepared.project.tests, "--continue-on-collection-errors",
            seconds=600, FOREIGN_LOOK=str(unfinished),
        )  # fmt: skip
        unfinished.rename(seen)
    found = [json.loads(line) for line in seen.read_text().splitlines()]
    return [test for test in found if test.get("threads") and test["passed"]]


def explored(prepared: Prepared, test: dict[str, Any], judged: dict[str, str]) -> Line:
    """Explore one test."""
    name = test["test"]
    with tempfile.TemporaryDirectory() as folder:
        printed = prepared.pytest(
            name, "--treadle-no-database", "--treadle-report", f"{folder}/report.json",
            seconds=PATIENCE, FOREIGN_PACKAGE=prepared.project.package,
        )  # fmt: skip
        written = [json.loads(file.read_text()) for file in Path(folder).glob("*.json")]
    found = of_result(written[0]) if written else without_result(printed)
    uses = ", ".join(what for what in OUT_OF_REACH if test.get(what)) or None
    return Line("tests of others", prepared.project.package, name, *found, uses, judged.get(name))


def of_result(result: dict[str, Any]) -> tuple[str, int | None, str | None]:
    """Return the verdict, the executions and what was said."""
    said = result["failures"][0]["headline"] if result["failures"] else result["stopped_by"]
    kind = f": {result['failures'][0]['kind']}" if result["failures"] else ""
    return result["verdict"] + kind, result["executions"], said


def without_result(printed: str | None) -> tuple[str, None, str | None]:
    """Return why a test has no verdict."""
    if printed is None:
        return "past its timeout", None, None
    refused = re.search(r"^(?:E +)?treadle: (?:error: )?(.+(?:\n\S.+)?)", printed, re.MULTILINE)
    if "= treadle =" not in printed and "TreadleBug" not in printed:
        return "left to another plugin", None, None
    if refused and "TreadleBug" not in printed and "INTERNALERROR" not in printed:
        return "cannot be explored", None, refused[1]
    return "crash of Treadle", None, printed[-300:]


def summary(lines: list[Line]) -> str:
    """Return how many tests had which verdict, and the shares that matter."""
    reach = [line for line in lines if line.uses is None]
    counts = Counter(line.verdict for line in lines)
    right = [
        line for line in reach
        if line.verdict == "verified" or (line.judgement or "").startswith("right")
    ]  # fmt: skip
    share = f"{len(right)} of {len(reach)}" + (f" ({len(right) / len(reach):.0%})" if reach else "")
    hard = sum(counts[verdict] for verdict in HARD)
    return (
        ", ".join(f"{number} {verdict}" for verdict, number in counts.most_common())
        + f"\nwithout processes, sockets, coroutines: verified or rightly failed {share}"
        + f"\npast their timeout or crashed: {hard}"
    )


def lines_of(projects: list[Project], into: Path) -> Iterator[Line]:
    """Explore the tests of some projects."""
    judged = json.loads((HERE / "foreign_judgements.json").read_text())
    for project in projects:
        prepared = Prepared(project, into)
        for test in tests_with_threads(prepared):
            line = explored(prepared, test, judged)
            print(f"{line.project}: {line.test}: {line.verdict}", file=sys.stderr, flush=True)
            yield line


def main() -> None:
    """Run what was asked for and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    names = [project.package for project in PROJECTS]
    parser.add_argument("--project", action="append", choices=names, help="only this one")
    parser.add_argument("--into", type=Path, default=Path("build/foreign"), help="where to keep")
    parser.add_argument("--json", action="store_true", help="one object a line")
    options = parser.parse_args()
    chosen = [p for p in PROJECTS if p.package in (options.project or names)]
    lines = list(lines_of(chosen, options.into.resolve()))
    if lines:
        print_measurements([lines], as_json=options.json)
    if not options.json:
        print(summary(lines))


if __name__ == "__main__":
    main()
