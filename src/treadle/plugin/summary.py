"""Treadle's lines at the end of a pytest session: one per test, and one that counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from operator import itemgetter
from typing import Any, get_args

from treadle.core.counting import count
from treadle.plugin.verdict import Outcome, Verdict

_COLOURS = {"verified": "green", "failed": "red", "incomplete": "yellow", "sampled": "yellow"}
_QUIET = -1


def write_summary(reporter: Any, verdicts: Sequence[tuple[str, dict[str, Any]]]) -> None:
    """Write the summary; with `-q` only what is no proof and the count, with `-qq` nothing."""
    if reporter.verbosity < _QUIET:
        return
    if reporter.config.pluginmanager.hasplugin("dsession"):  # they come as workers finish them
        verdicts = sorted(verdicts, key=itemgetter(0))
    read = [(test, Verdict.from_dict(values)) for test, values in verdicts]
    shown = [
        (test, verdict)
        for test, verdict in read
        if reporter.verbosity > _QUIET or verdict.outcome == "incomplete"
    ]
    reporter.write_sep("=", "treadle")
    for test, verdict in shown:
        reporter.write_line(f"{test}: {verdict}", **_markup(verdict.outcome))
        for escape in verdict.escapes:
            reporter.write_line(f"  escape: {escape}")
        for note in verdict.notes:
            reporter.write_line(f"  note: {note}")
    reporter.write_line(count_in_words([verdict for _, verdict in read]))


def count_in_words(verdicts: Sequence[Verdict]) -> str:
    """Return how many tests there were, and how many of each outcome.

    >>> count_in_words([Verdict("verified"), Verdict("failed"), Verdict("verified")])
    '3 tests explored: 2 verified, 1 failed'
    """
    counts = Counter(verdict.outcome for verdict in verdicts)
    tests = f"{count(len(verdicts), 'test')} explored"
    parts = [f"{counts[outcome]} {outcome}" for outcome in get_args(Outcome) if counts[outcome]]
    return f"{tests}: {', '.join(parts)}"


def _markup(outcome: str) -> dict[str, bool]:
    colour = _COLOURS.get(outcome)
    return {colour: True} if colour else {}
