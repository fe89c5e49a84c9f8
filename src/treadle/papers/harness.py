"""Measure one row: in a fresh process, in CPU time, with a time limit and the peak memory.

A fresh process makes the peak memory that of the row alone. `measure` starts it, `main` is what
it runs, and they talk in JSON: the task as argument, the measurement on standard output.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from treadle.core.errors import TreadleBug
from treadle.explore.registry import ALGORITHMS
from treadle.papers.guided import GuidedFigures, guided_figures
from treadle.papers.paper import WHOLE_STATES, Benchmark
from treadle.session.session import opened
from treadle.session.settings import Settings

resource: Any = None
with contextlib.suppress(ImportError):  # on Windows, where nothing says how much memory was used
    resource = importlib.import_module("resource")

_MB = 1 << 20


@dataclass(frozen=True, slots=True)
class Task:
    """What to measure."""

    paper: str
    program: str
    n: int
    algorithm: str
    schedule: str
    timeout: float
    """Seconds of wall time after which the row is stopped."""
    learn: bool = True
    """Whether the eager algorithms learn from unsatisfiable constraint systems."""
    refined: bool = True
    """Whether the context-sensitive algorithms compare only what a race can change."""
    cap: float | None = None
    """Seconds after which an exploration is stopped that does not end, if that is sooner."""
    states: str = ""
    """How the constrained algorithms get back to a state, if that is to be measured."""

    @property
    def label(self) -> str:
        """The algorithm as tables name it."""
        return self.algorithm if self.refined else self.algorithm + WHOLE_STATES

    def __str__(self) -> str:
        return f"{self.program}({self.n}) under {self.label}"


@dataclass(frozen=True, slots=True)
class Measurement:
    """What one row took and found."""

    program: str
    n: int
    algorithm: str
    executions: int
    blocked: int
    events: int
    seconds: float
    """CPU time of the exploration."""
    peak_mb: float
    complete: bool
    nodes: int
    """Most steps that the wakeup trees held at once."""
    failures: int
    dependency_checks: int = 0
    race_checks: int = 0
    unsatisfiable: int = 0
    """Trace constraint systems without a solution."""
    states: int | None = None
    """Nodes of the tree of executions, of programs of which they are counted."""
    guided: GuidedFigures | None = None
    """What a search for each of its deadlock cycles took, if that was measured."""
    steps_rerun: int | None = None
    """Steps that were taken again to get to states in which constraints were asked."""
    states_kept: int | None = None
    """Most such states that were kept at once."""

    @property
    def explored(self) -> int:
        """Complete and blocked executions together, as papers count."""
        return self.executions + self.blocked

    def as_json(self) -> str:
        """Return the row as one line of JSON, as `treadle bench --json` prints it."""
        known = asdict(self)
        del known["nodes"], known["failures"], known["guided"]
        if self.states is None:
            del known["states"]
        else:
            known |= {"guided_states": None, "pruned": None}
            known |= {} if self.guided is None else asdict(self.guided)
        if self.steps_rerun is None:
            del known["steps_rerun"], known["states_kept"]
        return json.dumps(known)

    @classmethod
    def from_json(cls, text: str) -> Measurement:
        """Read what the process that measured a row wrote."""
        known = json.loads(text)
        if known["guided"] is not None:
            known["guided"] = GuidedFigures(**known["guided"])
        return cls(**known)


def explore_in_process(benchmark: Benchmark, task: Task) -> Measurement:
    """Explore a row's program in this process; its peak memory is that of the whole process."""
    settings = Settings().changed(
        {
            "algorithm": task.algorithm,
            "schedule": task.schedule,
            "timeout": min(task.timeout, task.cap or task.timeout),
            "stop_on_failure": False,
            "learn": task.learn,
            "refined": task.refined,
        }
    )
    ALGORITHMS[task.algorithm]  # loading it is not to be measured
    program = benchmark.make(task.n)
    if task.states and program.declarations is not None:
        program.declarations.recovery = task.states
    with opened(program, settings) as session:
        started = time.process_time()
        result = session.explore()
        seconds = time.process_time() - started
    return Measurement(
        program=task.program,
        n=task.n,
        algorithm=task.label,
        executions=result.executions,
        blocked=result.blocked,
        events=result.events - (result.replayed if benchmark.counts_new_steps else 0),
        seconds=round(seconds, 4),
        peak_mb=round(peak_memory() / _MB, 1),
        complete=result.complete,
        nodes=result.peak_nodes,
        failures=len(result.failures),
        dependency_checks=result.dependency_checks,
        race_checks=result.race_checks,
        unsatisfiable=result.unsatisfiable,
        steps_rerun=result.steps_rerun if task.states else None,
        states_kept=result.states_kept if task.states else None,
        states=None if benchmark.counts_new_steps else result.states,
        guided=_guided(benchmark, task),
    )


def _guided(benchmark: Benchmark, task: Task) -> GuidedFigures | None:
    """Measure deadlock-guided testing beside the systematic one, for those that have it."""
    if not benchmark.guided or task.algorithm != "exhaustive":
        return None
    return guided_figures(benchmark, task.n, task.timeout)


def peak_memory() -> int:
    """Return the most memory in bytes that this process has occupied.

    Linux's own mark is preferred: `getrusage` also counts what the parent had when it forked.
    """
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    if resource is None:
        return 0
    peak: int = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def measure(task: Task, tick: Callable[[], None] | None = None) -> Measurement:
    """Measure a row in a process of its own; `tick` is called now and then meanwhile."""
    with subprocess.Popen(
        [sys.executable, "-c", f"from {__name__} import main; main()", json.dumps(asdict(task))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=_environment(),
    ) as child:
        try:
            output, errors = _wait_for(child, tick)
        finally:
            child.kill()
    if child.returncode:
        reason = (errors.strip().splitlines() or [f"status {child.returncode}"])[-1]
        raise TreadleBug(f"the process that measured {task} failed: {reason}")
    return Measurement.from_json(output)


def _wait_for(child: subprocess.Popen[str], tick: Callable[[], None] | None) -> tuple[str, str]:
    while True:
        try:
            return child.communicate(timeout=None if tick is None else 0.2)
        except subprocess.TimeoutExpired:
            if tick is not None:
                tick()


def _environment() -> dict[str, str]:
    """Return the environment of the measuring process, which must find this very package."""
    package = str(Path(__file__).resolve().parents[2])
    path = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([package, path] if path else [package])}


def main() -> None:
    """Measure the row that the command line describes; print the measurement."""
    from treadle.papers import PAPERS

    task = Task(**json.loads(sys.argv[1]))
    benchmark = PAPERS[task.paper].benchmarks[task.program]
    sys.stdout.write(json.dumps(asdict(explore_in_process(benchmark, task))))
