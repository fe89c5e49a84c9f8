"""Deadlock cycles in words, and as JSON."""

from __future__ import annotations

from dataclasses import asdict

from treadle.core.counting import count
from treadle.core.deadlocks import CONFIRMED, Condition, Contexts, DeadlockCycle, Deadlocks, Link
from treadle.report.line import plain, wrapped

_OF_THREADS = {"holds": "holds", "owes": "has yet to give"}
"""What a thread has that another one waits for, by how it waits itself."""
_WAITS = {"get": "waits", "await": "waits, its actor released,", "until": "waits for a condition"}


def cycle_in_words(cycle: DeadlockCycle) -> str:
    """Return who waits for whom, as one sentence.

    >>> link = Link("Self.b", "self.py", 3, "get", "Self.c", "Self of L9", "Self.b")
    >>> cycle_in_words(DeadlockCycle("deadlock", (link,)))
    'Self.b waits at self.py:3 for Self.c; Self of L9 is held by Self.b'
    """
    if all(link.wait in _OF_THREADS for link in cycle.chain):
        return "; ".join(map(link_in_words, cycle.chain))
    first, *others = cycle.chain
    return "".join([link_in_words(first), *(f", which {_wait_in_words(one)}" for one in others)])


def link_in_words(link: Link) -> str:
    """Return one of those who wait, and for whom."""
    if link.wait in _OF_THREADS:
        has = f"{_OF_THREADS[link.wait]} {link.held}"
        return f"{link.method} {has} and waits for {link.awaited} at {link.file}:{link.line}"
    return f"{link.method} {_wait_in_words(link)}"


def _wait_in_words(link: Link) -> str:
    how = _WAITS[link.wait]
    end = " to write what it waits for" if link.wait == "until" else ""
    held = f"; {link.held} is held by {link.holder}" if link.held else ""
    return f"{how} at {link.file}:{link.line} for {link.awaited}{end}{held}"


def headline(found: Deadlocks) -> str:
    """Return the verdict as one line."""
    if found.free:
        why = "proved" if found.cycles else "proved for all inputs"
        return f"VERIFIED: {found.target}, free of deadlock, {why}"
    confirmed, cycles = len(found.confirmed), len(found.cycles)
    if found.is_settled and found.contexts is not None:
        most = found.contexts.most
        return f"VERIFIED: {found.target}, no deadlock up to {count(most, 'task')} of each method"
    if confirmed:
        return f"FAILED: {found.target}, {count(confirmed, 'deadlock cycle')} confirmed of {cycles}"
    if cycles:
        return f"INCOMPLETE: {found.target}, {count(cycles, 'deadlock cycle')}, none confirmed"
    return f"INCOMPLETE: {found.target}, no deadlock cycle, but not all code is understood"


def deadlocks_in_words(found: Deadlocks) -> str:
    """Return the verdict, each cycle with its own, conditions, and notes."""
    lines = [headline(found), f"  {'time':<12}{found.seconds:.2f} s"]
    if found.contexts is not None:
        lines.append(f"  {'contexts':<12}{_contexts_in_words(found.contexts)}")
    for number, cycle in enumerate(found.cycles, 1):
        lines += ["", f"Cycle {number}, {_verdict_in_words(cycle)}:"]
        lines.append(plain(wrapped(f"  {cycle}", indent=2)))
        for failure in cycle.failures[: 1 if cycle.verdict == CONFIRMED else 0]:
            lines.append(f"  Schedule: {failure.schedule}")
        lines += _case_in_words(cycle)
    if found.conditions:
        lines += ["", "Conditions that may never hold:"]
        lines += [f"  {_condition_in_words(one)}" for one in found.conditions]
    notes = [plain(wrapped(f"  {'note':<12}{note}", indent=14)) for note in found.notes]
    return "\n".join([*lines, *([""] if notes else []), *notes])


def _verdict_in_words(cycle: DeadlockCycle) -> str:
    kind = "" if cycle.kind == "deadlock" else "through a condition, "
    states = "" if cycle.states is None else f" ({count(cycle.states, 'state')}"
    if states:
        states += f", {count(cycle.pruned, 'execution')} cut)"
    reason = f": {cycle.reason}" if cycle.reason else ""
    words = {"confirmed": "confirmed", "unfeasible": "unfeasible here", "undecided": "not decided"}
    return f"{kind}{words[cycle.verdict]}{reason}{states}"


def _contexts_in_words(contexts: Contexts) -> str:
    words = f"{contexts.generated} tried, {contexts.deadlocking} with a deadlock"
    return words + (f", {contexts.limited} met a limit" if contexts.limited else "")


def _case_in_words(cycle: DeadlockCycle) -> list[str]:
    """Return the interleaving of the first test case, and what it is about."""
    if not cycle.cases:
        return []
    case = cycle.cases[0]
    more = len(cycle.cases) - 1
    others = f" ({count(more, 'more test case')} with others)" if more else ""
    return [
        f"  Context: {case.context}{others}",
        plain(wrapped(f"  Deadlock: {case.words}", indent=2)),
        f"  Schedule: {' '.join(case.schedule)}",
        *(f"  {row}" for row in case.table),
    ]


def _condition_in_words(one: Condition) -> str:
    return f"{one.method} at {one.file}:{one.line}: {one.condition}"


def deadlocks_as_dict(found: Deadlocks) -> dict[str, object]:
    """Return what `treadle deadlocks --json` prints of one target."""
    told: dict[str, object] = {
        "target": found.target,
        "free": found.free,
        "cycles": [_cycle_as_dict(cycle) for cycle in found.cycles],
        "conditions": [
            {"method": one.method, "file": one.file, "line": one.line, "condition": one.condition}
            for one in found.conditions
        ],
        "notes": found.notes,
        "seconds": round(found.seconds, 4),
    }
    if found.contexts is not None:
        told["contexts"] = asdict(found.contexts)
    return told


def _cycle_as_dict(cycle: DeadlockCycle) -> dict[str, object]:
    return {
        "kind": cycle.kind,
        "verdict": cycle.verdict,
        "chain": [
            {
                "method": link.method,
                "file": link.file,
                "line": link.line,
                "wait": link.wait,
                "awaited": link.awaited,
                "held": link.held,
                "holder": link.holder,
                "words": link_in_words(link),
            }
            for link in cycle.chain
        ],
        "tests": cycle.tests,
        "states": cycle.states,
        "pruned": cycle.pruned,
        "reason": cycle.reason,
        "failures": [
            {"message": one.message, "schedule": str(one.schedule), "token": one.token}
            for one in cycle.failures
        ],
    }
