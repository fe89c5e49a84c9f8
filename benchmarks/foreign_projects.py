"""Projects whose tests start threads, each with its sources and an environment of its own."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import tarfile
import tempfile
import venv
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
WALL = 1200
"""Seconds that a process may take by the clock, whatever other processes want of the machine."""
OPTIONS = (
    "-p", "foreign_plugin", "-p", "no:cacheprovider", "-q", "-o", "addopts=",
    "-W", "ignore::pytest.PytestUnknownMarkWarning",
)  # fmt: skip
"""What is added to a command line may name plugins that are not there, or declare marks."""


@dataclass(frozen=True)
class Project:
    """A project: what is downloaded, what is imported, where its tests are."""

    name: str
    package: str
    tests: str = "tests"
    needs: tuple[str, ...] = ()
    """What its tests import besides."""


LIMITS = (
    "pytest-asyncio", "pytest-lazy-fixtures", "hiro", "pymemcache", "pymongo", "redis", "valkey",
    "etcd3", "coredis", "motor",
)  # fmt: skip

PROJECTS = (
    Project("apscheduler==3.11.3", "apscheduler", needs=("pytz", "anyio")),
    Project("asgiref==3.13.0", "asgiref", needs=("pytest-asyncio",)),
    Project("boltons==26.2.0", "boltons"),
    Project("cachelib==0.17.0", "cachelib", "tests/test_simple_cache.py", ("pytest-xprocess",)),
    Project("cachetools==8.0.0", "cachetools"),
    Project("diskcache==5.6.3", "diskcache"),
    Project("dogpile.cache==1.5.0", "dogpile", needs=("mako", "redis", "pymemcache")),
    Project("eliot==1.18.0", "eliot", "eliot/tests", needs=("testtools", "hypothesis")),
    Project("fasteners==0.20", "fasteners", needs=("diskcache", "more-itertools")),
    Project("injector==0.24.0", "injector", "injector_test.py"),
    Project("kazoo==2.11.0", "kazoo", "kazoo/tests", ("objgraph", "gevent", "eventlet")),
    Project("limits==5.8.0", "limits", needs=LIMITS),
    Project("more-itertools==11.2.1", "more_itertools"),
    Project("persist-queue==1.1.0", "persistqueue", "persistqueue/tests", ("msgpack", "cbor2")),
    Project("prometheus-client==0.26.0", "prometheus_client", needs=("asgiref",)),
    Project("pykka==4.5.0", "pykka", needs=("pytest-mock",)),
    Project("pyrate-limiter==4.5.1", "pyrate_limiter", needs=("pytest-asyncio", "filelock")),
    Project("readerwriterlock==1.0.10", "readerwriterlock"),
    Project("s3transfer==0.19.3", "s3transfer", "tests/unit"),
    Project("structlog==26.1.0", "structlog", needs=("pytest-asyncio", "time-machine")),
    Project("transaction==5.1", "transaction", "src/transaction/tests"),
    Project("transitions==0.9.3", "transitions", needs=("mock", "graphviz", "dill")),
    Project("watchdog==7.1.0", "watchdog", needs=("pytest-timeout", "flaky", "eventlet")),
    Project("werkzeug==3.1.9", "werkzeug", "tests/test_local.py", needs=("greenlet",)),
    Project("wrapt==2.5.2", "wrapt"),
    Project("zict==3.0.0", "zict", "zict/tests", ("pytest-asyncio", "pytest-timeout", "psutil")),
)


@dataclass(frozen=True)
class Ended:
    """How a run of pytest ended."""

    printed: str
    cpu: float
    """Seconds of processor time that it took."""
    is_late: bool
    """Whether it had to be ended."""


class Prepared:
    """A project with its sources and an environment in which its tests can run."""

    def __init__(self, project: Project, into: Path) -> None:
        self.project = project
        self.home = into / project.package
        self.python = self.home / "venv" / "bin" / "python"
        if not (self.home / "ready").exists():
            self._download()
            self._install()
            (self.home / "ready").touch()
        self.sources = next(path for path in (self.home / "sources").iterdir() if path.is_dir())

    def _download(self) -> None:
        files = self.home / "files"
        self._do(
            [sys.executable, "-m", "pip", "download", "-qq", "--no-deps",
             "--no-binary", ":all:", "-d", str(files), self.project.name]
        )  # fmt: skip
        with tarfile.open(next(files.iterdir())) as archive:
            archive.extractall(self.home / "sources", filter="data")

    def _install(self) -> None:
        venv.create(self.home / "venv", with_pip=True)
        wanted = ["-e", str(HERE.parent), "pytest", self.project.name, *self.project.needs]
        self._do([str(self.python), "-m", "pip", "install", "-qq", *wanted])

    def _do(self, command: list[str]) -> None:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{self.project.name} cannot be had: {done.stderr[-400:]}")

    def pytest(self, *arguments: str, seconds: int, **settings: str) -> Ended:
        """Run pytest beside the project's sources, for so many seconds of processor time."""
        paths = (HERE, HERE.parent / "src", self.sources)
        environment = {
            **os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), "PYTHONHASHSEED": "0",
            "FOREIGN_CPU": str(seconds), **settings,
        }  # fmt: skip
        command = [str(self.python), "-m", "pytest", *OPTIONS, *arguments]
        with tempfile.TemporaryFile() as output:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            process = subprocess.Popen(
                command, cwd=self.sources, env=environment, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            )  # fmt: skip
            is_late = not _ends_within(process, WALL)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            output.seek(0)
            printed = output.read().decode(errors="replace")
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Ended(printed, cpu, is_late or process.returncode == -signal.SIGXCPU)


def _ends_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait for a process, end what is left of it, and tell whether it ended by itself."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return True
