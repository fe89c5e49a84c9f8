"""Algorithms compared: who may miss what."""

from __future__ import annotations

import json

from report_samples import EMBRACE, LOST_UPDATE, failure, text_of
from treadle.core.failure import Failure
from treadle.core.result import Result
from treadle.report.comparison import Comparison


def compared(*results: Result) -> Comparison:
    return Comparison("bank.py", results, frozenset({"random"}))


def named(algorithm: str, *failures: Failure, complete: bool = True, **more) -> Result:
    return Result("bank", algorithm, complete=complete, failures=list(failures), **more)


def test_algorithms_that_agree():
    words = compared(
        named("source", LOST_UPDATE, executions=12), named("optimal", LOST_UPDATE, executions=8)
    ).in_words()
    assert words == text_of(
        """
        bank.py

        algorithm  executions  blocked  events    time  failed  covers
        source             12        0       0  0.00 s       1  yes
        optimal             8        0       0  0.00 s       1  yes

        All 2 algorithms that covered the space agree:
          assertion: audit: AssertionError: 1 of 2 deposits is lost
        """
    )


def test_an_algorithm_that_missed_a_failure():
    comparison = compared(named("source"), named("optimal", LOST_UPDATE))
    assert comparison.disagreements() == [
        "source missed assertion: audit: AssertionError: 1 of 2 deposits is lost"
    ]
    assert "DISAGREEMENT: source missed" in comparison.in_words()


def test_a_sample_may_miss_failures_but_not_find_others():
    sample = named("random", LOST_UPDATE, complete=False)
    assert compared(named("optimal", LOST_UPDATE, EMBRACE), sample).disagreements() == []
    (wrong,) = compared(named("optimal"), sample).disagreements()
    assert wrong.startswith("random found assertion")


def test_an_unfinished_algorithm_may_miss_failures_too():
    unfinished = named("exhaustive", complete=False, stopped_by="timeout = 60 s")
    comparison = compared(unfinished, named("optimal", EMBRACE))
    assert comparison.disagreements() == []
    assert "exhaustive stopped by timeout = 60 s" in comparison.in_words()
    assert "Only optimal covered the space:" in comparison.in_words()


def test_without_a_complete_algorithm_there_is_nothing_to_compare():
    comparison = compared(named("source", LOST_UPDATE, complete=False))
    assert comparison.disagreements() == []
    assert comparison.in_words().endswith("so there is nothing to compare.")


def test_the_order_of_waits_makes_no_difference():
    turned = failure("deadlock", "", EMBRACE.trace, waits=EMBRACE.waits[::-1])
    assert compared(named("source", EMBRACE), named("optimal", turned)).disagreements() == []


def test_a_comparison_as_json():
    shown = json.loads(json.dumps(compared(named("source"), named("optimal", EMBRACE)).as_dict()))
    assert shown["schema"] == "treadle.comparison/1"
    assert shown["target"] == "bank.py"
    assert len(shown["disagreements"]) == 1
    assert [row["algorithm"] for row in shown["results"]] == ["source", "optimal"]
