"""`treadle compare`: all algorithms side by side."""

from __future__ import annotations

import json
from pathlib import Path

import treadle
from treadle.explore.source_sets.optimal import Optimal


def test_compare_shows_all_algorithms_and_that_they_agree(call):
    status, out, err = call("compare", "models.py::race")
    assert (status, err) == (1, "")
    assert max(map(len, out.splitlines())) <= 80
    rows = {line.split()[0]: line.split()[1:] for line in out.splitlines()[3:] if line}
    assert set(treadle.ALGORITHMS) <= set(rows)
    assert rows["random"][0] == rows["pct"][0] == "1,000"
    assert rows["random"][-1] == "samples"
    assert rows["optimal"][-1] == "yes"
    assert int(rows["exhaustive"][0]) > int(rows["optimal"][0])
    covering = sum(algorithm.covers for algorithm in treadle.ALGORITHMS.values())
    assert f"All {covering} algorithms that covered the space agree:\n  assertion: " in out


def test_compare_of_a_verified_program(call):
    chosen = ["--algorithm", "source", "--algorithm", "optimal"]
    status, out, _ = call("compare", "models.py::safe", *chosen)
    assert status == 0
    assert out.endswith("All 2 algorithms that covered the space agree: no interleaving fails.\n")
    assert "exhaustive" not in out


def test_compare_with_budgets_too_small(call):
    status, out, _ = call("compare", "models.py::safe", "--max-executions", "1")
    assert status == 3
    assert "No algorithm covered the space" in out
    assert "optimal stopped by max_executions = 1" in out


def test_compare_of_races_leaves_out_what_does_not_see_every_order(call):
    seeing = [name for name, kind in treadle.ALGORITHMS.items() if kind.sees_every_order]
    others = [name for name in treadle.ALGORITHMS if name not in seeing]
    racy = "import threading\nbox = [0]\ndef add():\n    box[0] += 1\ndef test_it():\n"
    racy += "    thread = threading.Thread(target=add)\n    thread.start()\n    add()\n"
    racy += "    thread.join()\n"
    Path("racy.py").write_text(racy)
    status, out, err = call("compare", "racy.py::test_it", "--races", "--json")
    assert (status, [row["algorithm"] for row in json.loads(out)["results"]]) == (1, seeing)
    assert f"left out, as --races needs every order of steps: {', '.join(others)}\n" in err
    status, _, err = call("compare", "racy.py::test_it", "--races", "--algorithm", others[0])
    assert (status, "races=True needs an algorithm" in err) == (2, True)


def test_compare_as_json(call):
    status, out, _ = call("compare", "models.py::make_deadlock", "--json")
    shown = json.loads(out)
    assert (status, shown["disagreements"]) == (1, [])
    assert [row["algorithm"] for row in shown["results"]] == list(treadle.ALGORITHMS)


def test_compare_is_loud_about_an_algorithm_that_misses_a_failure(call, monkeypatch):
    monkeypatch.setattr(Optimal, "backtrack", lambda _self: -1)  # ends after one execution
    status, out, err = call("compare", "models.py::make_deadlock")
    assert status == 70
    assert "DISAGREEMENT: optimal missed deadlock: left waits for b, held by right; " in out
    assert err.startswith("treadle: bug: algorithms must not contradict each other")
