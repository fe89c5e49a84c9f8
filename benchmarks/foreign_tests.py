"""What does Treadle say of other people's tests? Run `python benchmarks/foreign_tests.py`.

Source distributions of projects that have tests with threads are downloaded, each with an
environment of its own (`foreign_projects.py`). Their tests run once as they are
(`foreign_plugin.py`): those that start threads are chosen. Then each of them is explored,
unmodified, with the project's package instrumented and 30 s of processor time each, in a process
of its own, one at a time.

What became of a test is written at once to `results.jsonl` in `--into`, with the commit that said
so; `--resume` goes on where a run was ended, `--table` only shows what is there. Whether a failure
is right only a person can say: what was found by reading is in `foreign_judgements.json`, by
project and test, and stands beside the verdict. Downloads are kept, too.

    python benchmarks/foreign_tests.py --project cachetools --project zict
    python benchmarks/foreign_tests.py --resume --minutes 30
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from foreign_projects import HERE, PROJECTS, Ended, Prepared, Project
from printing import print_measurements

SECONDS = 30
PATIENCE = 2 * SECONDS
"""After so many seconds of processor time a test is past its timeout: importing, instrumenting and
reporting take time of their own."""
MOST_SETS = 2
"""Of a test with parameters so many sets are taken: one test has 256 of them."""
OUT_OF_REACH = ("processes", "sockets", "coroutines")
HARD = ("past its timeout", "crash of Treadle")


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
    cpu: float | None = None
    commit: str | None = None
    judgement: str | None = None


def tests_with_threads(prepared: Prepared) -> list[dict[str, Any]]:
    """Return what was seen of the tests that start threads."""
    seen = prepared.home / "seen.jsonl"
    if not seen.exists():
        unfinished = seen.with_suffix(".part")
        unfinished.unlink(missing_ok=True)
        unfinished.touch()
        prepared.pytest(
            prepared.project.tests, "--continue-on-collection-errors", "-p", "no:_treadle_pytest",
            seconds=600, FOREIGN_LOOK=str(unfinished),
        )  # fmt: skip
        unfinished.rename(seen)
    found = [json.loads(line) for line in seen.read_text().splitlines()]
    return fewer([test for test in found if test.get("threads") and test["passed"]])


def fewer(tests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out what would only repeat a test with other parameters."""
    times: Counter[str] = Counter()
    chosen = []
    for test in tests:
        function = test["test"].partition("[")[0]
        times[function] += 1
        if times[function] <= MOST_SETS:
            chosen.append(test)
    return chosen


def commit() -> str:
    """Return the state of Treadle that is asked."""
    command = ["git", "describe", "--always", "--dirty"]
    return subprocess.run(command, cwd=HERE, capture_output=True, text=True).stdout.strip()


def explored(prepared: Prepared, test: dict[str, Any]) -> Line:
    """Explore one test."""
    name = test["test"]
    with tempfile.TemporaryDirectory() as folder:
        ended = prepared.pytest(
            name, "--treadle-no-database", "--treadle-report", f"{folder}/report.json",
            seconds=PATIENCE, FOREIGN_PACKAGE=prepared.project.package,
            FOREIGN_SECONDS=str(SECONDS),
        )  # fmt: skip
        written = [json.loads(file.read_text()) for file in Path(folder).glob("*.json")]
    found = of_result(written[0]) if written else without_result(ended)
    cpu, package = round(ended.cpu, 1), prepared.project.package
    return Line("tests of others", package, name, *found, uses(test), cpu, commit())


def uses(test: dict[str, Any]) -> str | None:
    """Return what a test uses that is out of reach."""
    return ", ".join(what for what in OUT_OF_REACH if test.get(what)) or None


def of_result(result: dict[str, Any]) -> tuple[str, int | None, str | None]:
    """Return the verdict, the executions and what was said."""
    said = result["failures"][0]["headline"] if result["failures"] else result["stopped_by"]
    kind = f": {result['failures'][0]['kind']}" if result["failures"] else ""
    return result["verdict"] + kind, result["executions"], said


def without_result(ended: Ended) -> tuple[str, None, str | None]:
    """Return why a test has no verdict."""
    if ended.is_late:
        return "past its timeout", None, None
    printed = ended.printed
    refused = re.search(r"^(?:E +)?treadle: (?:error: )?(.+(?:\n\S.+)?)", printed, re.MULTILINE)
    if "TreadleBug" in printed or "INTERNALERROR" in printed:
        return "crash of Treadle", None, printed[-300:]
    if refused:
        return "cannot be explored", None, refused[1]
    if "= treadle =" not in printed:
        return "left to another plugin", None, None
    return "crash of Treadle", None, printed[-300:]


def summary(lines: list[Line]) -> str:
    """Return how many tests had which verdict, and the shares that matter."""
    reach = [line for line in lines if line.uses is None]
    right = [
        line for line in reach
        if line.verdict == "verified" or (line.judgement or "").startswith("right")
    ]  # fmt: skip
    share = f"{len(right)} of {len(reach)}" + (f" ({len(right) / len(reach):.0%})" if reach else "")
    hard = sum(line.verdict in HARD for line in lines)
    return (
        f"all {len(lines)}: {_counted(lines)}\n"
        f"without processes, sockets, coroutines: {_counted(reach)}\n"
        f"verified or rightly failed of these: {share}\n"
        f"past their timeout or crashed of all: {hard}"
    )


def _counted(lines: list[Line]) -> str:
    counts = Counter(line.verdict for line in lines)
    return ", ".join(f"{number} {verdict}" for verdict, number in counts.most_common())


class Results:
    """What became of the tests so far, in a file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.lines: dict[tuple[str, str], Line] = {}
        """By project and test; the last one counts."""
        for text in file.read_text().splitlines() if file.exists() else ():
            self._keep(Line(**json.loads(text)))

    def add(self, line: Line) -> None:
        """Keep what became of a test, now and in the file."""
        self._keep(line)
        with self._file.open("a") as file:
            print(json.dumps(asdict(line)), file=file)

    def _keep(self, line: Line) -> None:
        self.lines[line.project, line.test] = line

    def judged(self, projects: list[Project]) -> list[Line]:
        """Return the lines of some projects, with what was found by reading."""
        judgements = json.loads((HERE / "foreign_judgements.json").read_text())
        chosen = {project.package for project in projects}
        return [
            replace(line, judgement=judgements.get(line.project, {}).get(line.test))
            for line in self.lines.values()
            if line.project in chosen
        ]


def wanted(projects: list[Project], options: argparse.Namespace) -> Iterator[tuple[Prepared, Any]]:
    """Return the tests that are to be explored: in reach first, projects with few before others."""
    prepared = [Prepared(project, options.into) for project in projects]
    pairs = [(project, tests_with_threads(project)) for project in prepared]
    pairs.sort(key=lambda pair: len(pair[1]))
    for in_reach in (True, False):
        for project, tests in pairs:
            for test in tests:
                is_wanted = options.test is None or options.test in test["test"]
                if is_wanted and in_reach is not bool(uses(test)):
                    yield project, test


def go_on(results: Results, projects: list[Project], options: argparse.Namespace) -> None:
    """Explore what is to be explored, until the time is up."""
    ends = time.monotonic() + 60 * options.minutes
    for prepared, test in wanted(projects, options):
        if options.resume and (prepared.project.package, test["test"]) in results.lines:
            continue
        if time.monotonic() > ends:
            return
        line = explored(prepared, test)
        results.add(line)
        print(
            f"{line.project}: {line.test}: {line.verdict} ({line.cpu} s)",
            file=sys.stderr, flush=True,
        )  # fmt: skip


def main() -> None:
    """Run what was asked for and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    names = [project.package for project in PROJECTS]
    parser.add_argument("--project", action="append", choices=names, help="only this one")
    parser.add_argument("--test", help="only tests whose names contain this")
    parser.add_argument("--into", type=Path, default=Path("build/foreign"), help="where to keep")
    parser.add_argument("--resume", action="store_true", help="only what has no verdict yet")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so many")
    parser.add_argument("--table", action="store_true", help="run nothing, show what is there")
    parser.add_argument("--json", action="store_true", help="one object a line")
    options = parser.parse_args()
    options.into = options.into.resolve()
    options.into.mkdir(parents=True, exist_ok=True)
    chosen = [p for p in PROJECTS if p.package in (options.project or names)]
    results = Results(options.into / "results.jsonl")
    if not options.table:
        go_on(results, chosen, options)
    lines = results.judged(chosen)
    if lines:
        print_measurements([lines], as_json=options.json)
    if not options.json:
        print(summary(lines))


if __name__ == "__main__":
    main()
