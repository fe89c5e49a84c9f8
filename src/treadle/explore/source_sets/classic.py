"""Classic DPOR (Flanagan and Godefroid 2005) with sleep sets, as seed 002 states it.

The test of source-DPOR strengthened (end of section 5.1): an initial counts only if its event
happens before `e'`, or is `e'`. That makes the backtrack sets persistent, and larger.
"""

from __future__ import annotations

from treadle.explore.source_sets.source import Source


class Classic(Source):
    """Source-DPOR restricted to initials that happen before the second event of the race."""

    def relevant(self, last: int) -> int:
        """Return the events that happen before `last`, and itself."""
        return self.search.trace.before[last]
