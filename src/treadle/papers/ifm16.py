"""The table of "Combining Static Analysis and Testing for Deadlock Detection" (iFM 2016).

Its programs HB, fPA, PA and SB, and the sleeping barber of its example, are those of the paper. The
sources of the others (FA, UL, WM, fFA, fP2P, fUL) are lost: they are written again from what the
paper says of them, and their counts are their own. What the paper calls a state is a node of the
tree of executions.
"""

from __future__ import annotations

from treadle.papers.lost_programs import (
    factorial,
    free_factorial,
    free_peers,
    free_unbounded_loop,
    unbounded_loop,
    water,
)
from treadle.papers.paper import Benchmark, Paper, PaperTable, Printed, Row
from treadle.papers.thesis_actors import barber, birds, free_pairing, pairing

_UNFINISHED = 10.0
"""Seconds for systematic testing of what the paper did not see finish either."""
_LOST = "the paper's source is lost, and this program is written from its description"


def _printed(
    duc: str,
    guided: str,
    largest: str,
    gains: tuple[str, str, str, str],
    executions: int | None = None,
    states: int | None = None,
) -> dict[str, Printed]:
    """Return a line of table 1; gains are those of states and time, then of the largest search."""
    states_gain, time_gain, largest_gain, longest_gain = gains
    columns = {
        "D/U/C": duc,
        "Guided states": guided,
        "Largest": largest,
        "Gain states": states_gain,
        "Gain time": time_gain,
        "Gain largest": largest_gain,
        "Gain longest": longest_gain,
    }
    return {"exhaustive": Printed(executions=executions, states=states, guided=columns)}


_HB = Benchmark(
    "HB",
    lambda n: birds(n, n - 1),
    lambda n: {2: 6, 3: 90, 4: 2520}.get(n, 0),
    smallest=2,
    fails=True,
    interleavings={2: (70, 271), 3: (34_650, 114_031)},
    remark="it prints thousands",
    guided="cycle",
    guided_states={3: (51_031, 16_800)},
)
_FPA = Benchmark(
    "fPA",
    free_pairing,
    lambda n: {2: 2, 3: 6, 4: 24}.get(n, 0),
    smallest=2,
    interleavings={2: (14, 99), 3: (7_350, 30_298)},
    remark="it prints thousands",
    guided="cycle",
    guided_states={3: (6_526, 2_184)},
)
_PA = Benchmark(
    "PA",
    pairing,
    lambda n: {2: 2, 3: 6, 4: 12}.get(n, 0),
    smallest=2,
    fails=True,
    interleavings={2: (14, 57), 3: (294, 898)},
    guided="cycle",
    guided_states=dict.fromkeys(range(2, 10), (6, 0)),
)
_SB = Benchmark(
    "SB",
    barber,
    lambda n: {1: 7, 2: 628}.get(n, 0),
    fails=True,
    guided="cycle",
    guided_states={3: (23, 1)},
)
_BARBER = Benchmark(
    "barber",
    barber,
    lambda n: {1: 7, 2: 628}.get(n, 0),
    fails=True,
    interleavings={1: (42, 181)},
    guided="all",
    guided_states={1: (19, 3)},
)


def _uncounted(n: int) -> None:
    """Nobody has counted the classes."""
    del n


_FA = Benchmark("FA", factorial, _uncounted, fails=True, guided="cycle", remark=_LOST)
_UL = Benchmark("UL", unbounded_loop, _uncounted, fails=True, guided="cycle", remark=_LOST)
_WM = Benchmark("WM", water, _uncounted, fails=True, guided="cycle", remark=_LOST)
_FFA = Benchmark("fFA", free_factorial, _uncounted, guided="cycle", remark=_LOST)
_FP2P = Benchmark("fP2P", free_peers, _uncounted, guided="cycle", remark=_LOST)
_FUL = Benchmark("fUL", free_unbounded_loop, _uncounted, guided="cycle", remark=_LOST)

_GUIDED_ROWS = (
    Row(_HB, 3, _printed("2/3/5", "103k", "34k", ("0.9", "0.73", "3.33", "2.15"), 35_000, 114_000)),
    Row(_FPA, 3, _printed("0/2/2", "9k", "4k", ("3.33", "1.75", "6.98", "3.73"), 7_000, 30_000)),
    Row(_PA, 2),
    Row(_PA, 3, _printed("2/0/2", "12", "6", ("> 27k", "> 3.6k", "> 55k", "> 38k"))),
    Row(
        _SB,
        3,
        _printed("1/0/1", "23", "23", ("> 25k", "> 2.5k", "> 25k", "> 2.5k")),
        cap=_UNFINISHED,
    ),
    Row(_BARBER, 1, {"exhaustive": Printed(states=181, guided={"Guided states": "19"})}),
    Row(_FA, 2, _printed("2/1/3", "3k", "2k", ("13.7", "5.5", "22.2", "15.1"), 11_000, 41_000)),
    Row(
        _UL,
        3,
        _printed("1/0/1", "5", "5", ("> 2.5k", "> 1.1k", "> 98k", "> 2.5k")),
        cap=_UNFINISHED,
    ),
    Row(
        _WM,
        3,
        _printed("1/0/2", "> 258k", "> 258k", ("1.47*", "1*", "1.47*", "1*")),
        cap=_UNFINISHED,
    ),
    Row(_FFA, 2, _printed("0/1/1", "11k", "11k", ("2.35", "1.61", "2.35", "1.61"), 5_000, 25_000)),
    Row(
        _FP2P, 3, _printed("0/1/1", "52k", "52k", ("2.28", "1.96", "2.28", "1.96"), 25_000, 118_000)
    ),
    Row(_FUL, 3, _printed("0/1/1", "236", "236", ("> 2k", "> 1k", "> 2k", "> 1k"))),
)
_OPTIMAL_ROWS = tuple(
    Row(row.benchmark, row.n)
    for row in _GUIDED_ROWS
    if row.benchmark.interleavings and (row.benchmark.name, row.n) != ("PA", 2)
)

PAPER = Paper(
    "ifm16",
    "Combining Static Analysis and Testing for Deadlock Detection (iFM 2016)",
    (
        PaperTable(
            "Table 1: systematic testing, and guided by each deadlock cycle",
            ("exhaustive",),
            (
                "executions", "states", "D/U/C", "guided", "largest", "gain", "largest gain",
                "time gain", "longest gain",
            ),
            _GUIDED_ROWS,
        ),
        PaperTable(
            "The same without guidance, one execution for each class",
            ("optimal",),
            ("executions", "states", "time"),
            _OPTIMAL_ROWS,
            has_lines=True,
        ),
    ),
    (
        "D/U/C: cycles confirmed, unfeasible, and all; the paper's D counts deadlocks. Guided "
        "states are those of the searches for all cycles, newest task first, without pruned "
        "leaves; the largest is what a processor for each would take. The search for a cycle ends "
        "with the first deadlock of it; for barber, with the last. The paper counts in thousands, "
        "and its times are those of another machine.",
        "FA, UL, WM, fFA, fP2P and fUL: the paper's sources are lost. These programs are written "
        "from its descriptions, and their counts are not the paper's.",
    ),
)  # fmt: skip
