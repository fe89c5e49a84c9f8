"""`treadle replay` with a schedule that was written by hand."""

from __future__ import annotations

import json


def test_replay_shows_an_execution_without_failure(call):
    status, out, err = call("replay", "models.py::broken", "consumer producer")
    assert (status, err) == (0, "")
    assert out.endswith("\n\nNo failure in these 2 steps.\n")
    assert "read ready = False" in out


def test_replay_of_a_part_says_who_can_go_on(call):
    status, out, _ = call("replay", "models.py::broken", "producer")
    assert status == 3
    assert "No failure in this step; the program can go on with consumer." in out


def test_replay_shows_all_steps(call):
    _, out, _ = call("replay", "models.py::make_deadlock", "left right")
    assert "Deadlock after 2 steps" in out


def test_replay_as_json(call):
    status, out, _ = call("replay", "models.py::broken", "producer consumer", "--json")
    assert (status, json.loads(out)["failure"]["message"]) == (1, "KeyError: 'key'")
    status, out, _ = call("replay", "models.py::broken", "consumer producer", "--json")
    assert (status, json.loads(out)["failure"]) == (0, None)
