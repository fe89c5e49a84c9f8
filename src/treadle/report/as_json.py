"""Results, failures and replays for other programs: dictionaries that `json.dumps` takes.

`schema.json` beside this file says what they are, as a JSON Schema; `docs/json.md` says what the
keys mean. Keys may be added within a version; a change of meaning or a removal makes a new one.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from treadle.core.exploration import Exploration
from treadle.core.failure import Cause, Failure
from treadle.core.records import StepRecord
from treadle.core.result import Result
from treadle.core.schedule import Schedule
from treadle.findings.replay import Replayed
from treadle.findings.shrink.shrinking import Shrunk
from treadle.report.cast import Cast
from treadle.report.execution import moments_of, preempted
from treadle.report.failure import headline
from treadle.report.sources import sources_of
from treadle.report.text import verdict, verdict_in_words
from treadle.report.tracebacks import traceback_in_words
from treadle.report.waits import acquisitions, waiting_cycle

RESULT_SCHEMA = "treadle.result/1"
FAILURE_SCHEMA = "treadle.failure/1"
REPLAY_SCHEMA = "treadle.replay/1"


def result_as_dict(
    result: Result, *, target: str = "", shrunk: Sequence[Shrunk] = ()
) -> dict[str, Any]:
    """Return a result as a dictionary of schema `treadle.result/1`.

    `shrunk` is what shrinking made of the failures, in their order, if they were shrunk.
    """
    savings = itertools.chain(map(_saving, shrunk), itertools.repeat(None))
    return {
        "schema": RESULT_SCHEMA,
        **({"target": target} if target else {}),
        "program": result.program,
        "algorithm": result.algorithm,
        "verdict": verdict(result).lower(),
        "executions": result.executions,
        "blocked": result.blocked,
        "cut": result.cut,
        "elsewhere": result.elsewhere,
        "workers": result.workers,
        "parts": result.parts,
        "lost": result.lost,
        "complete": result.complete,
        "events": result.events,
        "replayed": result.replayed,
        "probes": result.probes,
        "pairs_asked": result.pairs_asked,
        "constraints_used": result.constraints_used,
        "states": result.states,
        "seconds": result.seconds,
        "stopped_by": result.stopped_by or None,
        "estimate": result.estimate,
        "failing": result.failing,
        "notes": result.notes,
        "escapes": result.escapes,
        "rests_on": result.rests_on,
        "scope": result.scope,
        "exploration": None
        if result.exploration is None
        else exploration_as_dict(result.exploration),
        "failures": [
            {**failure_as_dict(failure), "shrunk": saving}
            for failure, saving in zip(result.failures, savings, strict=False)
        ],
    }


def report_as_dict(
    result: Result, target: str, replays: Sequence[str], *, shrunk: Sequence[Shrunk] = ()
) -> dict[str, Any]:
    """Return all that a report of a result has to show, with the source of what it names.

    Beyond `treadle.result/1` there are the verdict in words and, for each failure, the command
    that replays it.
    """
    shown = result_as_dict(result, target=target, shrunk=shrunk)
    for failure, command in zip(shown["failures"], replays, strict=True):
        failure["replay"] = command
    places = [step["where"] for failure in shown["failures"] for step in _all_steps(failure)]
    places += [wait["where"] for failure in shown["failures"] for wait in failure["waits"]]
    places += reversed_at(shown)
    return {
        **shown,
        "summary": verdict_in_words(result, target=target),
        "sources": sources_as_dict(places),
    }


def reversed_at(result: dict[str, Any]) -> list[str]:
    """Return where the steps are that an observed search has reversed."""
    pairs = (result["exploration"] or {"reversals": ()})["reversals"]
    return [pair[which]["where"] for pair in pairs for which in ("first", "second")]


def report_in_json(result: Result, target: str, replays: Sequence[str]) -> str:
    """Return a result as a file."""
    return json.dumps(report_as_dict(result, target, replays), indent=2) + "\n"


def _all_steps(failure: dict[str, Any]) -> list[dict[str, Any]]:
    return [*failure["trace"], *((failure["cause"] or {}).get("other", ()))]


def exploration_as_dict(exploration: Exploration) -> dict[str, Any]:
    """Return the shape of an exploration; branches come before those below them, by number."""
    branches = list(exploration.tree.walk())
    parents = {id(child): at for at, branch in enumerate(branches) for child in branch.children}
    return {
        "processes": exploration.processes,
        "locations": exploration.locations,
        "longest": exploration.longest,
        "tree": [
            {
                "parent": parents.get(id(branch)),
                "steps": [_flat(step) for step in branch.steps],
                "ending": branch.ending,
                "left_out": [asdict(one) for one in branch.left_out],
                "undrawn": branch.undrawn,
                "below": asdict(branch.counts),
            }
            for branch in branches
        ],
        "reversals": [asdict(pair) for pair in exploration.reversals],
        "uncounted": exploration.uncounted,
    }


def _saving(shrunk: Shrunk) -> dict[str, Any]:
    """Return what shrinking achieved."""
    return {
        "before": dict(zip(("switches", "steps"), shrunk.before, strict=True)),
        "after": dict(zip(("switches", "steps"), shrunk.after, strict=True)),
        "replays": shrunk.replays,
        "is_smallest": shrunk.is_smallest,
    }


def replayed_as_dict(replayed: Replayed, *, target: str = "") -> dict[str, Any]:
    """Return a replay as a dictionary of schema `treadle.replay/1`."""
    return {
        "schema": REPLAY_SCHEMA,
        **({"target": target} if target else {}),
        "is_same": replayed.is_same,
        "difference": replayed.difference or None,
        "can_go_on": replayed.able,
        "failure": failure_as_dict(replayed.failure) if replayed.failure is not None else None,
        "trace": _steps_as_dicts(replayed.steps),
    }


def failure_as_dict(failure: Failure) -> dict[str, Any]:
    """Return a failure as a dictionary of schema `treadle.failure/1`."""
    steps = failure.trace[: failure.step + 1]
    initial, _ = moments_of(failure.trace)
    error = failure.exception
    return {
        "schema": FAILURE_SCHEMA,
        "kind": failure.kind,
        "headline": headline(failure, steps, Cast(steps, failure.waits)),
        "message": failure.message,
        "process": failure.process,
        "step": failure.step,
        "schedule": str(failure.schedule),
        "token": failure.token,
        "granularity": failure.granularity,
        "options": failure.options,
        "pair": failure.pair,
        "cause": _cause_as_dict(failure.cause),
        "waits": [_without_held(asdict(wait)) for wait in failure.waits],
        "cycle": waiting_cycle(failure.waits),
        "acquired": sorted(acquisitions(failure.waits, steps)),
        "state": initial,
        "trace": _steps_as_dicts(failure.trace),
        "links": [asdict(link) for link in failure.links],
        "frames": [asdict(frame) for frame in failure.frames],
        "graph": None if failure.graph is None else asdict(failure.graph),
        "remarks": failure.remarks,
        "traceback": "" if error is None else traceback_in_words(error),
    }


def execution_as_dict(execution: Replayed) -> dict[str, Any]:
    """Return any execution with the keys of a failing one, and the state in which it ends.

    One that passes has the kind `passes`: nothing is said of a cause, and no step is marked.
    """
    steps = execution.steps
    initial, moments = moments_of(steps)
    changes = {change.name: change.after for moment in moments for change in moment.changes}
    if execution.failure is not None:
        told = failure_as_dict(execution.failure)
    else:
        nothing: dict[str, Any] = dict.fromkeys(_SAID_OF_FAILURES, "")
        told = {
            **nothing,
            **{key: [] for key in ("waits", "cycle", "acquired", "frames", "remarks")},
            "schema": FAILURE_SCHEMA,
            "kind": "passes",
            "headline": "passes",
            "step": len(steps),
            "schedule": str(Schedule(step.process for step in steps)),
            "options": {},
            "pair": None,
            "cause": None,
            "state": initial,
            "trace": _steps_as_dicts(steps),
            "links": [asdict(link) for link in execution.links],
            "graph": None if execution.graph is None else asdict(execution.graph),
        }
    return {**told, "final": {**initial, **changes}}


_SAID_OF_FAILURES = ("message", "process", "token", "granularity", "traceback")


def sources_as_dict(places: Sequence[str]) -> dict[str, Any]:
    """Return the pieces of source around `file:line` places, by file."""
    return {
        file: [{"first": piece.first, "lines": list(piece.lines)} for piece in pieces]
        for file, pieces in sources_of(places).items()
    }


def _flat(record: Any) -> dict[str, Any]:
    """Return the fields of a record that has no records in it; `asdict` would look, slowly."""
    return {name: getattr(record, name) for name in record.__slots__}


def _cause_as_dict(cause: Cause | None) -> dict[str, Any] | None:
    if cause is None:
        return None
    return {
        "indices": list(cause.indices),
        "steps": [_steps_as_dicts([step])[0] for step in (cause.first, cause.second)],
        "location": cause.location,
        "decides": cause.decides,
        "other": _steps_as_dicts(cause.other),
    }


def _steps_as_dicts(steps: Sequence[StepRecord]) -> list[dict[str, Any]]:
    """Return steps with what each changed: values before and after, and who holds what."""
    _, moments = moments_of(steps)
    return [
        {
            **_flat(step),
            "accesses": [_without_held(_flat(one)) for one in step.accesses],
            "takes": list(moment.takes),
            "gives": [{"name": name, "process": process} for name, process in moment.gives],
            "changes": [_flat(change) for change in moment.changes],
            "preempts": preempted(steps, index),
        }
        for index, (step, moment) in enumerate(zip(steps, moments, strict=True))
    ]


def _without_held(found: dict[str, Any]) -> dict[str, Any]:
    """Leave out what only links waits with accesses."""
    return {key: value for key, value in found.items() if key != "held"}
