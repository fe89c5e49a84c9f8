"""The programs and figures of "SYCO: A Systematic Testing Tool for Concurrent Objects" (CC 2016).

The paper shows the tool on small programs; the figures are those of the thesis, which uses it.
"""

from __future__ import annotations

from math import factorial, prod

from treadle.papers.paper import Benchmark, Paper, PaperTable, Printed, Row
from treadle.papers.thesis_actors import barber, pipesort, protocol


def _sorting_classes(n: int) -> int:
    """Return the classes of `pipesort`: the i-th cell from the end gets i items in any order."""
    return prod(factorial(i) for i in range(2, n + 1))


PROTOCOL = Benchmark(
    "protocol",
    lambda _: protocol(),
    lambda _: 3,
    largest=1,
    fails=True,
    interleavings={1: (6, 23)},
    remark="theirs has backtrack sets without sleep sets; its two deadlocks are one class, and "
    "optimal explores each class once",
)
BARBER = Benchmark(
    "barber",
    barber,
    lambda n: {1: 7, 2: 628}[n],
    largest=2,
    fails=True,
    interleavings={1: (42, 181)},
)
PIPESORT = Benchmark(
    "pipesort",
    lambda n: pipesort(tuple(range(n, 0, -1))),
    _sorting_classes,
    smallest=2,
    interleavings={3: (291, 1083)},
)

PAPER = Paper(
    "cc16",
    "SYCO: A Systematic Testing Tool for Concurrent Objects (CC 2016)",
    (
        PaperTable(
            "Without reduction",
            ("exhaustive",),
            ("executions", "states", "time"),
            (
                Row(PROTOCOL, 1, {"exhaustive": Printed(executions=6)}),
                Row(BARBER, 1, {"exhaustive": Printed(states=181)}),
                Row(PIPESORT, 3),
            ),
            has_lines=True,
        ),
        PaperTable(
            "With partial order reduction; SYCO's is that of source sets",
            ("source", "optimal"),
            ("executions", "states", "time"),
            (
                Row(PROTOCOL, 1, {"source": Printed(executions=4)}),
                Row(BARBER, 1),
                Row(BARBER, 2),
                Row(PIPESORT, 3),
                Row(PIPESORT, 4),
                Row(PIPESORT, 5, {"source": Printed(executions=34_560, time="43s")}),
            ),
            has_lines=True,
        ),
    ),
    (
        "A state is a macro-step that was executed and not replayed: a node of the tree of "
        "executions, the root left out.",
    ),
)
