"""The server of `treadle web`: who may ask, what programs can do to it, and what it answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from web.serving import Served, served

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

LOST_UPDATE = """
import treadle

program = treadle.model.Program(x=0)

def increment(s):
    old = s.x
    yield
    s.x = old + 1

program.process(increment, name="p")
program.process(increment, name="q")
"""
ENDLESS_SPACE = """
import treadle

program = treadle.model.Program(x=0)

def writer(s):
    for _ in range(9):
        s.x += 1
        yield

for name in "pqrst":
    program.process(writer, name=name)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("web"), "--seconds", "6", "--memory", "600") as one:
        yield one


def test_only_its_own_page_may_use_it(server: Served) -> None:
    assert server.ask("")[0] == 200
    port = server.address.split(":")[2].split("/")[0]
    assert server.ask("", Host=f"evil.example:{port}")[0] == 403
    assert server.ask("jobs", {}, Origin="http://evil.example")[0] == 403
    root = Served(server.address.rsplit("/", 2)[0] + "/")
    for wrong in ("", "guessed/", "guessed/jobs"):
        status, text = root.ask(wrong)
        assert status == 403
        assert "after a restart it is a new one" in text


def test_executions_have_final_states(server: Served) -> None:
    job = server.apply(LOST_UPDATE)
    assert server.end_of(job) == {"kind": "result", "text": ""}
    _, summary = server.ask(f"jobs/{job}/summary")
    # four orders of two reads and two writes: both updates, or one is lost
    report = json.loads(server.ask(f"jobs/{job}/result.json")[1])
    assert report["schema"] == "treadle.result/1"
    assert report["verdict"] == "verified"
    assert f"{report['executions']} executions" in summary.replace("</h3>", "")
    assert "x = 1" in summary
    assert "x = 2" in summary
    assert "Execution 1" in server.ask(f"jobs/{job}/executions/1.html")[1]
    assert server.ask(f"jobs/{job}/executions/1.svg")[1].startswith("<svg")
    assert server.ask(f"jobs/{job}/program")[1] == LOST_UPDATE
    assert "Tree of executions" in server.ask(f"jobs/{job}/report.html")[1]
    assert server.ask(f"jobs/{job}/executions/99.html")[0] == 400


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def p(:", "program.py:1 is not valid Python"),
        ("x = 1\nraise KeyError(3)", "(program.py:2)"),
        ("import os\nos._exit(3)", "ended its own process, with status 3"),
        ("import sys\nsys.exit(3)", "SystemExit: 3"),
        ("while True: pass", "6 s"),
        ("x = [0] * 10**9", "MemoryError"),
        ("", "has no program"),
    ],
)
def test_bad_programs_are_told_and_the_server_stays(server: Served, text: str, said: str) -> None:
    assert said in server.error_of(text)
    assert server.ask("")[0] == 200


def test_settings_that_make_no_sense_are_refused(server: Served) -> None:
    for options, said in (
        ({"max_steps": "many"}, "max_steps must be"),
        ({"algorithm": "optimum"}, "did you mean 'optimal'"),
        ({"maxsteps": "3"}, "did you mean 'max_steps'"),
        ({"contexts": "two"}, "contexts must be"),
    ):
        status, text = server.ask("jobs", {"file": "a.py", "text": "", "options": options})
        assert status == 400
        assert said in json.loads(text)["error"]


def test_what_is_no_program_is_refused(server: Served) -> None:
    for wish in ({}, [], {"file": "../a.py", "text": ""}, {"file": "a.txt", "text": ""}):
        assert server.ask("jobs", wish)[0] == 400
    assert server.ask("jobs/nothing/summary")[0] == 400


def test_stopping_gives_what_was_found(server: Served) -> None:
    job = server.apply(ENDLESS_SPACE, algorithm="exhaustive")
    server.wait_for_progress(job)
    assert server.ask(f"jobs/{job}/stop", {})[0] == 200
    assert server.end_of(job)["kind"] == "result"
    report = json.loads(server.ask(f"jobs/{job}/result.json")[1])
    assert report["stopped_by"] == "the interruption"
    assert not report["complete"]


def test_two_at_once_do_not_disturb_each_other(server: Served) -> None:
    one, other = server.apply(LOST_UPDATE), server.apply(LOST_UPDATE, algorithm="exhaustive")
    assert server.end_of(one)["kind"] == server.end_of(other)["kind"] == "result"
    counts = [
        json.loads(server.ask(f"jobs/{job}/result.json")[1])["executions"] for job in (one, other)
    ]
    assert counts[1] == 6
    assert counts[0] < 6


def test_deadlocks_are_guided(server: Served, tmp_path: Path) -> None:
    del tmp_path
    text = json.loads(server.ask("library?name=actors/barber.py")[1])["text"]
    job = server.apply(text, "barber.py", guided="cycle")
    last = server.end_of(job)
    assert last["kind"] == "result", last
    found = json.loads(server.ask(f"jobs/{job}/result.json")[1])
    assert found["cycles"][0]["verdict"] == "confirmed"


def test_the_library_has_examples_and_papers(server: Served) -> None:
    page = server.ask("")[1]
    assert 'value="jacm17/readers"' in page
    assert 'value="threads/lost_update.py"' in page
    text = json.loads(server.ask("library?name=jacm17/readers")[1])["text"]
    job = server.apply(text)
    assert server.end_of(job)["kind"] == "result"
    assert json.loads(server.ask(f"jobs/{job}/result.json")[1])["executions"] == 4


def test_mistakes_have_lines(server: Served) -> None:
    found = json.loads(server.ask("check", {"file": "a.py", "text": "x = 1\ny = = 2"})[1])
    assert found["error"]["line"] == 2
    found = json.loads(server.ask("check", {"file": "a.abs", "text": "class {"})[1])
    assert found["error"]["line"] == 1
    found = json.loads(server.ask("check", {"file": "a.py", "text": "def barber(n): ..."})[1])
    assert found["names"] == ["barber(n)"]
