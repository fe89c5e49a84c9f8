"""Coverage of code that runs in greenlets: whether what measures it was told of them."""

from __future__ import annotations

import sys


def advice_on_coverage() -> tuple[str, ...]:
    """Return what to tell users whose branches would be measured wrongly."""
    coverage = sys.modules.get("coverage")
    measuring = None if coverage is None else coverage.Coverage.current()
    if measuring is None or sys.gettrace() is None:  # sys.monitoring does not mind greenlets
        return ()
    if "greenlet" in (measuring.get_option("run:concurrency") or ()):
        return ()
    return (
        'add concurrency = ["thread", "greenlet"] to [tool.coverage.run]: controlled threads are '
        "greenlets, and without it some branches seem not to be taken",
    )
