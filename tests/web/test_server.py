"""The server of `treadle web`: who may ask, what programs can do to it, and what it answers."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from schema import validate
from treadle.web import shown
from treadle.web.form import read_options
from waiting import PATIENCE, processes, wait_until
from web.serving import ENDLESS_SPACE, Served, served

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


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("web"), "--seconds", "300", "--memory", "600") as one:
        yield one


@pytest.fixture(scope="module")
def hurried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server whose limit of time is reached soon, for programs that need all of it."""
    with served(tmp_path_factory.mktemp("hurried"), "--seconds", "4") as one:
        yield one


def test_only_its_own_page_may_use_it(server: Served) -> None:
    assert server.ask("")[0] == 200
    own = server.address.split("/")[2]
    port = own.partition(":")[2]
    assert server.ask("check", {"file": "a.py", "text": ""}, Origin=f"http://{own}")[0] == 200
    assert server.ask("", **{"Sec-Fetch-Site": "none"})[0] == 200
    for path, content in (("", None), ("jobs", {}), ("check", {}), ("editor.js", None)):
        for headers in (
            {"Host": f"evil.example:{port}"},  # its name was bound anew, to this machine
            {"Host": f"127.0.0.1:{int(port) + 1}"},
            {"Host": "127.0.0.1"},
            {"Origin": "http://evil.example"},
            {"Origin": "null"},  # a page in a sandbox
            {"Origin": f"https://{own}"},
            {"Sec-Fetch-Site": "cross-site"},  # an image, a frame, a link: no `Origin`
            {"Sec-Fetch-Site": "same-site"},  # another port of this machine
        ):
            assert server.ask(path, content, **headers)[0] == 403, (path, headers)
    root = Served(server.address.rsplit("/", 2)[0] + "/")
    for wrong in ("", "guessed/", "guessed/jobs"):
        status, text = root.ask(wrong)
        assert status == 403
        assert "after a restart it is a new one" in text


def test_it_is_there_for_this_machine_only(server: Served) -> None:
    port = int(server.address.split(":")[2].split("/")[0])
    elsewhere = socket.socket()
    elsewhere.settimeout(PATIENCE)
    with elsewhere, pytest.raises(ConnectionRefusedError):
        elsewhere.connect(("127.0.0.2", port))  # another address of this machine


@pytest.mark.parametrize("origin", ["", "Origin: http://evil.example\r\n"])
def test_no_web_socket_is_opened(server: Served, origin: str) -> None:
    host, path = server.address.removeprefix("http://").split("/", 1)
    name, _, port = host.partition(":")
    with socket.create_connection((name, int(port)), PATIENCE) as sent:
        sent.sendall(
            f"GET /{path}jobs HTTP/1.1\r\nHost: {host}\r\n{origin}Connection: Upgrade\r\n"
            "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: dHJlYWRsZS10cmVhZGxlCg==\r\n\r\n".encode()
        )
        assert b" 101 " not in sent.recv(200)
    assert server.ask("")[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "library?name=../../pyproject.toml",
        "library?name=/etc/hostname",
        "library?name=actors/../../README.md",
        "jobs/..%2f..%2fetc/program",
        "jobs/x/executions/1.svg/../../../../etc/hostname",
        "..%2f..%2f..%2f..%2fetc%2fhostname",
    ],
)
def test_no_path_leads_out_of_the_library(server: Served, path: str) -> None:
    status, _ = server.ask(path)
    assert status in (400, 403, 404)


def test_executions_have_final_states(server: Served) -> None:
    job = server.apply(LOST_UPDATE)
    assert server.end_of(job) == {"kind": "result", "text": ""}
    _, summary = server.ask(f"jobs/{job}/summary")
    # four orders of two reads and two writes: both updates, or one is lost
    report = json.loads(server.ask(f"jobs/{job}/result.json")[1])
    validate(report, "result")
    assert report["schema"] == "treadle.result/1"
    assert report["verdict"] == "verified"
    assert f"{report['executions']} executions" in summary.replace("</h3>", "")
    assert summary.count('class="differs"') == 2
    assert "<dt>x</dt><dd>1</dd>" in summary
    assert "<dt>x</dt><dd>2</dd>" in summary
    assert sorted(one["final"]["x"] for one in report["recorded"]) == ["1", "1", "2", "2"]
    assert report["not_recorded"] == 0
    assert "Execution 1" in server.ask(f"jobs/{job}/executions/1.html")[1]
    assert server.ask(f"jobs/{job}/executions/1.svg")[1].startswith("<svg")
    assert server.ask(f"jobs/{job}/program")[1] == LOST_UPDATE
    assert "Tree of executions" in server.ask(f"jobs/{job}/report.html")[1]
    assert server.ask(f"jobs/{job}/executions/99.html")[0] == 400


def test_executions_that_fill_no_file_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    executions = [{"trace": ["x" * 100]} for _ in range(30)]
    result = {"report": {"verdict": "verified"}, "executions": executions, "total": 1234}
    each = len(json.dumps(executions[0], indent=2))
    monkeypatch.setattr(shown, "MOST_CHARACTERS", 10 * each)
    told = shown.as_json(result)
    assert told == {"verdict": "verified", "recorded": executions[:10], "not_recorded": 1224}
    monkeypatch.setattr(shown, "MOST_CHARACTERS", 1)
    assert len(shown.as_json(result)["recorded"]) == 1, "one is there in any case"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def p(:", "program.py:1 is not valid Python"),
        ("x = 1\nraise KeyError(3)", "(program.py:2)"),
        ("import os\nos._exit(3)", "ended its own process, with status 3"),
        ("import sys\nsys.exit(3)", "SystemExit: 3"),
        ("x = [0] * 10**9", "more than 600 MB at program.py:1, the limit of this server"),
        ("x = [0]\nwhile True: x += x", "more than 600 MB at program.py:2"),
        ("", "has no program"),
    ],
)
def test_bad_programs_are_told_and_the_server_stays(server: Served, text: str, said: str) -> None:
    assert said in server.error_of(text)
    assert server.ask("")[0] == 200


@pytest.mark.parametrize(
    "text", ["while True: pass", "import threading\ndef test():\n    while True: pass"]
)
def test_endless_programs_are_ended_and_the_server_stays(hurried: Served, text: str) -> None:
    assert "stopped after 4 s, the limit of this server" in hurried.error_of(text)
    assert hurried.ask("")[0] == 200


def test_settings_that_make_no_sense_are_refused(server: Served) -> None:
    for options, said in (
        ({"max_steps": "many"}, "max_steps must be"),
        ({"algorithm": "optimum"}, "did you mean 'optimal'"),
        ({"maxsteps": "3"}, "did you mean 'max_steps'"),
        ({"contexts": "two"}, "contexts must be"),
        ({"checkpoint": "a"}, "unknown setting 'checkpoint'"),
    ):
        wish = {"file": "a.py", "text": "", "options": options}
        assert said in server.asked_by_page("jobs", wish)["error"]
        status, text = server.ask("jobs", wish)  # anybody else
        assert status == 400
        assert said in unescape(text)


def test_lists_are_written_with_commas() -> None:
    assert read_options({"instrument": "json"}) == {"instrument": ("json",)}
    assert read_options({"instrument": "json, csv,"}) == {"instrument": ("json", "csv")}


def test_what_is_no_program_is_refused(server: Served) -> None:
    names = (
        "../a.py",
        "..\\a.py",
        "a.txt",
        ".py",
        "a\0.py",
        "a\n.py",
        "x" * 99 + ".py",
        "\ud800.py",
    )
    texts = ("\ud800", 3, None)
    wishes = [{"file": name, "text": ""} for name in names]
    wishes += [{"file": "a.py", "text": text} for text in texts]
    for wish in ({}, [], {"file": "a.py", "text": "", "options": ["seed"]}, *wishes):
        assert server.ask("jobs", wish)[0] == 400
        assert server.ask("check", wish)[0] == 400
    assert server.ask("jobs/nothing/summary")[0] == 400
    assert "not kept any more" in server.asked_by_page("jobs/nothing/summary")["error"]


@pytest.mark.parametrize("file", ["json.py", "asyncio.py", 'a "b" (1).py', "größe 名.py"])
def test_a_file_may_have_any_name(server: Served, file: str) -> None:
    """That of a module which the worker needs, too; and names are no headers."""
    job = server.apply(LOST_UPDATE, file)
    assert server.end_of(job)["kind"] == "result"
    assert server.ask(f"jobs/{job}/program?download=1") == (200, LOST_UPDATE)


@pytest.mark.parametrize(
    "start",
    ["if os.fork() == 0: time.sleep(600)", "subprocess.Popen(['sleep', '600'])"],
    ids=["fork", "subprocess"],
)
def test_whatever_a_program_starts_ends_with_it(server: Served, tmp_path: Path, start: str) -> None:
    """It holds the pipes of the worker open; nobody waits for it, and it is not left behind."""
    note = tmp_path / "group"
    text = f"""
import os, pathlib, subprocess, time
pathlib.Path({str(note)!r}).write_text(str(os.getpgrp()))
{start}
os._exit(3)
"""
    assert "ended its own process, with status 3" in server.error_of(text)
    wait_until_gone(int(note.read_text()))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_programs_end_with_the_server(tmp_path: Path, number: int) -> None:
    note = tmp_path / "group"
    text = f"import os, pathlib\npathlib.Path({str(note)!r}).write_text(str(os.getpgrp()))\n"
    with served(tmp_path) as one:
        one.wait_for_progress(one.apply(text + ENDLESS_SPACE, algorithm="exhaustive"))
        os.kill(one.process, number)
        wait_until_gone(int(note.read_text()))


def wait_until_gone(group: int) -> None:
    """Wait for the end of a group of processes."""
    wait_until(lambda: not processes(group=group))


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


def test_what_was_found_within_the_limit_of_time_is_shown(hurried: Served) -> None:
    job = hurried.apply(ENDLESS_SPACE, algorithm="exhaustive")
    assert hurried.end_of(job)["kind"] == "result"
    report = json.loads(hurried.ask(f"jobs/{job}/result.json")[1])
    assert report["executions"] > 0
    assert not report["complete"]


def test_the_settings_of_a_project_hold(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.treadle]\nalgorithm = "source"\nseed = 5\n')
    with served(tmp_path) as one:
        page = one.ask("")[1]
        assert '<option value="source" selected>source (default)</option>' in page
        counts = {}
        for asked in ({}, {"algorithm": "optimal"}):
            job = one.apply(LOST_UPDATE, **asked)
            assert one.end_of(job)["kind"] == "result"
            report = json.loads(one.ask(f"jobs/{job}/result.json")[1])
            counts[report["algorithm"]] = report["executions"]
    assert list(counts) == ["source", "optimal"]


def test_what_is_wrong_in_a_project_is_said_before_the_page_opens(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.treadle]\nalgorithm = "sauce"\n')
    command = [sys.executable, "-m", "treadle", "web", "--no-browser"]
    command[1:3] = ["-c", "import sys; from treadle.cli import main; main(sys.argv[1:])"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 2
    assert "did you mean 'source'" in ended.stderr or "algorithm" in ended.stderr


GUIDED = """
from treadle.actors import Actor, program


class Node(Actor):
    async def meet(self, other, last):
        if last:
            other.meet.send(self, 0).get()

    async def idle(self):
        pass


@program
def main():
    nodes = [Node() for _ in range(6)]
    for at, node in enumerate(nodes):
        node.meet.send(nodes[at - 1], at == 99)
        for _ in range(4):
            node.idle.send()
"""


def test_stopping_a_guided_search_gives_what_is_known(server: Served) -> None:
    job = server.apply(GUIDED, guided="all")
    server.wait_for_progress(job)
    server.ask(f"jobs/{job}/stop", {})
    assert server.end_of(job)["kind"] == "result"
    found = json.loads(server.ask(f"jobs/{job}/result.json")[1])
    assert {cycle["reason"] for cycle in found["cycles"]} == {"it was stopped"}
    assert '<h2 class="told incomplete">' in server.ask(f"jobs/{job}/summary")[1]


def test_stopping_contexts_gives_what_is_known(server: Served) -> None:
    job = server.apply(GUIDED, contexts="6")
    server.wait_for_progress(job, "context")
    server.ask(f"jobs/{job}/stop", {})
    assert server.end_of(job)["kind"] == "result"
    found = json.loads(server.ask(f"jobs/{job}/result.json")[1])
    validate(found, "deadlocks")
    assert {one["reason"] for one in found["cycles"] if one["verdict"] == "undecided"} == {
        "it was stopped"
    }
    assert found["contexts"]["most"] == 6
    assert "not decided" in server.ask(f"jobs/{job}/summary")[1]


def test_deadlocks_of_threads_are_guided(server: Served) -> None:
    text = json.loads(server.ask("library?name=threads/bank_transfer.py")[1])["text"]
    job = server.apply(text, "bank_transfer.py", "opposite_order", guided="cycle")
    assert server.end_of(job)["kind"] == "result"
    found = json.loads(server.ask(f"jobs/{job}/result.json")[1])
    assert [cycle["verdict"] for cycle in found["cycles"]] == ["confirmed"]
    assert len(found["recorded"]) == 1
    validate(found, "deadlocks")


def test_deadlocks_are_guided(server: Served) -> None:
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
    parameters = [{"name": "n", "usual": ""}]
    assert found["programs"] == [
        {"name": "barber", "call": "barber({0})", "parameters": parameters}
    ]
