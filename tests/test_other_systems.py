"""What works where things are missing: signals, clocks, modules, and Pythons that nobody knows."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from treadle.threads import front_end

WINDOWS = """
    import os, signal, subprocess, sys, time
    for name in ("fcntl", "resource", "termios", "pwd", "grp", "_posixsubprocess"):
        sys.modules[name] = None  # importing it fails
    for owner, names in (
        (signal, "SIGRTMIN SIGRTMAX SIGUSR1 SIGUSR2 SIGALRM SIGVTALRM SIGKILL ITIMER_VIRTUAL "
                 "pthread_kill setitimer"),
        (time, "clock_gettime clock_gettime_ns pthread_getcpuclockid tzset"),
        (os, "fork forkpty getuid geteuid getpgid mkfifo posix_spawn posix_spawnp pread pwrite "
             "chroot fchmod fchown lchown chown uname wait wait4 waitpid statvfs"),
    ):
        for name in names.split():
            if hasattr(owner, name):
                delattr(owner, name)
"""
MODEL = """
    import treadle
    from treadle.model import Program

    program = Program("counter", count=0)

    def add(s):
        seen = s.count
        yield
        s.count = seen + 1

    program.process(add, name="p")
    program.process(add, name="q")
    print(treadle.explore(program).executions)
    import treadle.papers.harness, treadle.cli, treadle.plugin
"""
THREADS = """
    import threading
    import treadle

    def test():
        box = [0]

        def add():
            box[0] += 1

        threads = [threading.Thread(target=add) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    print(treadle.explore(test).executions)
"""


ACTORS = """
    import treadle
    from treadle.actors import Actor, program

    class Account(Actor):
        def __init__(self):
            self.total = 0

        def add(self, amount):
            self.total += amount

    @program
    def main():
        account = Account()
        account.add.send(1)
        account.add.send(2)

    print(treadle.explore(main).executions)
"""
NETWORK = """
    import treadle.networks as sdn

    net = sdn.Network()
    net.switches("s1 s2").hosts("h0 h1")
    net.links("h0-s1", "s1-s2", "h1-s2")

    class Paths(sdn.Controller):
        def packet_in(self, event):
            for switch, port in self.net.path(event.switch, event.packet.dst):
                switch.install(sdn.match(dst=event.packet.dst), sdn.output(port))
            event.switch.packet_out(event)

    found = sdn.explore(net, Paths, lambda net: net.send("h0", dst="h1"), stop_on_failure=False)
    print(found.executions)
"""


def started(*parts: str) -> str:
    code = "".join(map(textwrap.dedent, parts))
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


@pytest.mark.parametrize(
    "program", [MODEL, THREADS, ACTORS, NETWORK], ids=["model", "threads", "actors", "network"]
)
def test_without_what_only_posix_has(program: str) -> None:
    printed = started(WINDOWS, program)
    assert int(printed) > 0
    assert printed == started(program)


def test_threads_are_refused_on_a_python_that_is_too_new(
    monkeypatch: pytest.MonkeyPatch, command_line: Any, tmp_path: Path
) -> None:
    file = tmp_path / "tests_of_mine.py"
    file.write_text("def passing() -> None:\n    pass\n")
    monkeypatch.setattr(front_end, "NEWEST_PYTHON", (3, 10))
    status, _, error = command_line("run", f"{file}::passing")
    assert status == 2
    assert "threads can be explored on CPython 3.11 to 3.10, and this is cpython" in error
    assert len(error.strip().splitlines()) == 1


@pytest.mark.parametrize("program", [MODEL, ACTORS, NETWORK], ids=["model", "actors", "network"])
def test_what_is_no_thread_works_on_a_python_that_is_too_new(program: str) -> None:
    newer = """
        from treadle.threads import front_end
        front_end.NEWEST_PYTHON = (3, 10)
    """
    assert started(newer, program) == started(program)
