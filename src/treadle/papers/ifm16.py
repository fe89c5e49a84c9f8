"""The table of "Combining Static Analysis and Testing for Deadlock Detection" (iFM 2016).

Its programs HB, fPA, PA and the sleeping barber; the sources of the others (FA, UL, WM, fFA, fP2P,
fUL) are lost. What the paper calls a state is a node of the tree of executions.
"""

from __future__ import annotations

from treadle.papers.paper import Benchmark, Paper, PaperTable, Printed, Row
from treadle.papers.thesis_actors import barber, birds, free_pairing, pairing


def _rows() -> tuple[Row, ...]:
    return (
        Row(_HB, 3, {"exhaustive": Printed(executions=35_000, states=114_000)}),
        Row(_FPA, 3, {"exhaustive": Printed(executions=7_000, states=30_000)}),
        Row(_PA, 2),
        Row(_PA, 3),
        Row(_BARBER, 1, {"exhaustive": Printed(states=181)}),
    )


_HB = Benchmark(
    "HB",
    lambda n: birds(n, n - 1),
    lambda n: {2: 6, 3: 90, 4: 2520}.get(n, 0),
    smallest=2,
    fails=True,
    interleavings={2: (70, 271), 3: (34_650, 114_031)},
    remark="it prints thousands",
)
_FPA = Benchmark(
    "fPA",
    free_pairing,
    lambda n: {2: 2, 3: 6, 4: 24}.get(n, 0),
    smallest=2,
    interleavings={2: (14, 99), 3: (7_350, 30_298)},
    remark="it prints thousands",
)
_PA = Benchmark(
    "PA",
    pairing,
    lambda n: {2: 2, 3: 6, 4: 12}.get(n, 0),
    smallest=2,
    fails=True,
    interleavings={2: (14, 57), 3: (294, 898)},
)
_BARBER = Benchmark(
    "barber",
    barber,
    lambda n: {1: 7, 2: 628}.get(n, 0),
    fails=True,
    interleavings={1: (42, 181)},
)

PAPER = Paper(
    "ifm16",
    "Combining Static Analysis and Testing for Deadlock Detection (iFM 2016)",
    (
        PaperTable(
            "Systematic testing without guidance",
            ("exhaustive",),
            ("executions", "states", "time"),
            _rows(),
            has_lines=True,
        ),
        PaperTable(
            "The same, one execution for each class",
            ("optimal",),
            ("executions", "states", "time"),
            _rows(),
            has_lines=True,
        ),
    ),
    (
        "The paper counts in thousands, and its times are those of another machine. What a "
        "deadlock cycle leaves out (its columns with guidance) is not measured here.",
    ),
)
