"""Results in words and as JSON, and failures as JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import treadle.report
from declared import granularities, kinds
from report_samples import EMBRACE, LOST_UPDATE, text_of
from treadle.core.records import WaitKind
from treadle.core.result import Result
from treadle.report.as_json import failure_as_dict, result_as_dict
from treadle.report.text import (
    failure_in_words,
    result_in_words,
    verdict_in_words,
)


def result(**changes) -> Result:
    values = {"executions": 1200, "blocked": 30, "events": 5000, "replayed": 700, "seconds": 2.5}
    return Result("bank", "source", **{**values, **changes})


def test_a_verified_result():
    assert result_in_words(result(complete=True)) == text_of(
        """
        VERIFIED: bank, no interleaving fails
          algorithm   source
          executions  1,200 complete, 30 blocked
          events      5,000 executed, 700 replayed
          time        2.50 s, 492 executions per second
        """
    )


def test_a_failed_result():
    failed = result(
        failures=[LOST_UPDATE, EMBRACE, LOST_UPDATE],
        failing=7,
        stopped_by="timeout = 3 s",
        seconds=0.0,
    )
    assert result_in_words(failed, target="bank.py::transfer") == text_of(
        """
        FAILED: bank.py::transfer, 2 assertion, 1 deadlock
          algorithm   source
          executions  1,200 complete, 30 blocked
          events      5,000 executed, 700 replayed
          time        0.00 s
          failing     7 times, each failure is shown once
          stopped     by timeout = 3 s, there may be more failures
        """
    )


def test_an_incomplete_result_says_why_and_estimates_the_rest():
    stopped = result(stopped_by="max_executions = 1200", estimate=48000.0)
    assert verdict_in_words(stopped) == (
        "INCOMPLETE: bank, no failure found before max_executions = 1200"
    )
    assert result_in_words(stopped).splitlines()[-1] == (
        "  estimate    about 48,000 executions in all or more, 2.5% of them done or less"
    )


def test_an_estimate_that_tells_nothing_is_left_out():
    assert "estimate" not in result_in_words(result(estimate=1200.0, stopped_by="timeout = 1 s"))
    assert "estimate" not in result_in_words(result(estimate=None))


def test_results_and_failures_print_themselves():
    assert str(result()) == result_in_words(result())
    assert str(EMBRACE) == failure_in_words(EMBRACE)


def test_plain_text_needs_no_third_party_package():
    code = (
        "import sys, treadle; p = treadle.model.Program(x=0)\n"
        "def f(s):\n    yield\n    assert s.x\n"
        "p.process(f)\n"
        "r = treadle.explore(p); print(r, r.failures[0])\n"
        "assert not {'rich', 'click'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


# JSON


def test_a_result_as_json():
    failed = result(failures=[LOST_UPDATE], failing=1, stopped_by="the first failure")
    shown = json.loads(json.dumps(result_as_dict(failed, target="bank.py")))
    assert shown.pop("failures")[0]["kind"] == "assertion"
    assert shown == {
        "schema": "treadle.result/1",
        "target": "bank.py",
        "program": "bank",
        "algorithm": "source",
        "verdict": "failed",
        "executions": 1200,
        "blocked": 30,
        "cut": 0,
        "elsewhere": 0,
        "workers": 1,
        "parts": 0,
        "lost": 0,
        "complete": False,
        "events": 5000,
        "replayed": 700,
        "states": None,
        "probes": 0,
        "pairs_asked": 0,
        "constraints_used": 0,
        "seconds": 2.5,
        "stopped_by": "the first failure",
        "estimate": None,
        "failing": 1,
        "notes": [],
        "escapes": [],
        "rests_on": [],
        "scope": "",
        "exploration": None,
    }


def test_a_failure_as_json():
    shown = json.loads(json.dumps(failure_as_dict(EMBRACE)))
    assert shown == {
        "schema": "treadle.failure/1",
        "kind": "deadlock",
        "headline": "Deadlock after 2 steps: left and right wait for each other",
        "message": "",
        "process": "",
        "step": 2,
        "schedule": "left right",
        "token": "",
        "granularity": "",
        "options": {},
        "pair": None,
        "cause": None,
        "cycle": ["left", "right"],
        "acquired": [0, 1],
        "state": {},
        "links": [],
        "frames": [],
        "graph": None,
        "traceback": "",
        "waits": [
            {
                "process": "left",
                "resource": "b",
                "holders": ["right"],
                "where": "bank.py:6",
                "spins": False,
                "label": "",
                "kind": "lock",
            },
            {
                "process": "right",
                "resource": "a",
                "holders": ["left"],
                "where": "bank.py:11",
                "spins": False,
                "label": "",
                "kind": "lock",
            },
        ],
        "remarks": [],
        "trace": [
            {
                "process": "left",
                "accesses": [{"operation": "acquire", "location": "a", "value": ""}],
                "takes": ["a"],
                "gives": [],
                "changes": [],
                "preempts": "",
                "where": "bank.py:5",
                "source": "",
                "error": "",
                "label": "",
                "then": "",
                "lane": "",
                "arrival": "",
                "is_inner": False,
            },
            {
                "process": "right",
                "accesses": [{"operation": "acquire", "location": "b", "value": ""}],
                "takes": ["b"],
                "gives": [],
                "changes": [],
                "preempts": "left",
                "where": "bank.py:10",
                "source": "",
                "error": "",
                "label": "",
                "then": "",
                "lane": "",
                "arrival": "",
                "is_inner": False,
            },
        ],
    }


def test_the_schema_lists_the_kinds_of_waits():
    schema = json.loads((Path(treadle.report.__file__).parent / "schema.json").read_text())
    assert schema["$defs"]["wait"]["properties"]["kind"]["enum"] == list(WaitKind)


def test_the_schema_lists_the_kinds_of_failures_and_the_granularities():
    schema = json.loads((Path(treadle.report.__file__).parent / "schema.json").read_text())
    properties = schema["$defs"]["failure"]["properties"]
    assert properties["kind"]["enum"] == list(kinds())
    assert properties["granularity"]["enum"] == list(granularities())
