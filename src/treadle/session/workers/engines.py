"""Engines: whatever has the interface of `concurrent.futures.Executor`, and Ray and Dask.

An engine places jobs on machines and brings answers back. Retries are the coordinator's: engines
disagree on what they retry, and a job that is done twice does no harm.
"""

from __future__ import annotations

import _socket
import concurrent.futures
import importlib.util
import pickle
import warnings
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any

from treadle.core.errors import TreadleBug, TreadleError
from treadle.session.workers.foreman import foremen
from treadle.session.workers.hands import Died, Hands
from treadle.session.workers.parts import Answer, Job
from treadle.session.workers.spawned import KEPT, HandDied, Hello, explore_in_hand

_PATIENCE = 10.0
"""Seconds that an engine has to answer when it is first spoken to."""
_PACKAGES = {"dask": "distributed", "ray": "ray"}
_SERVERS = {"dask": ("Dask scheduler", "dask scheduler"), "ray": ("Ray", "ray start --head")}
_Socket, _getaddrinfo = _socket.socket, _socket.getaddrinfo
"""Those of a test under control lead nowhere else."""


class OnExecutor(Hands):
    """Jobs through an executor; each is done by a hand that the executor's worker keeps."""

    def __init__(
        self, executor: Any, count: int, hello: Hello, close: Callable[[], None] | None = None
    ) -> None:
        self.count = count
        self.each = hello.hands
        self._executor = executor
        self._hello = pickle.dumps(hello)
        self._close = close
        self._futures: dict[Future[bytes], int] = {}

    def submit(self, job: Job) -> None:
        """Let the engine place a job."""
        try:
            future = self._executor.submit(explore_in_hand, self._hello, pickle.dumps(job))
        except Exception as error:
            raise TreadleError(
                f"the engine is gone ({_first_line(error)}): start it again, and go on with "
                f"resume=FILE, if checkpoint=FILE kept how far it was"
            ) from None
        self._futures[future] = job.number

    def wait(self, seconds: float) -> list[Answer | Died]:
        """Return answers, and what became of jobs that have none."""
        done, _ = concurrent.futures.wait(
            self._futures, seconds, concurrent.futures.FIRST_COMPLETED
        )
        return [self._outcome(future, self._futures.pop(future)) for future in done]

    def _outcome(self, future: Future[bytes], number: int) -> Answer | Died:
        try:
            answer: Answer = pickle.loads(future.result())
            return answer
        except (TreadleError, TreadleBug):
            raise
        except Exception as error:
            refused = _cause(error, TreadleError)
            if refused is not None:
                raise refused from None
            died = _cause(error, HandDied)
            return Died(number, str(died or f"{type(error).__name__}: {error}"))

    def close(self) -> None:
        """Let go of jobs, and end hands in this process; those elsewhere end when they are idle."""
        for future in self._futures:
            future.cancel()
        KEPT.close(self._hello)
        if self._close is not None:
            self._close()
        KEPT.close(self._hello)


def _cause(error: BaseException | None, kind: type[Exception]) -> Exception | None:
    """Return what an engine's own exception wraps, if it is of a kind."""
    while error is not None:
        if isinstance(error, kind):
            return error
        error = getattr(error, "cause", None) or error.__cause__
    return None


def threads(count: int, hello: Hello) -> OnExecutor:
    """Return hands of this machine that import the test by name."""
    executor = ThreadPoolExecutor(count)
    return OnExecutor(executor, count, hello, lambda: executor.shutdown(cancel_futures=True))


def on_engine(engine: Any, count: int | None, hello: Hello) -> OnExecutor:
    """Return hands of an engine, as many as it has, unless a number is given."""
    if not isinstance(engine, str):
        return OnExecutor(engine, count or int(getattr(engine, "_max_workers", 0)) or 1, hello)
    if engine.startswith("dask://"):
        return _on_dask(engine, count, hello)
    return _on_ray(engine, count, hello)


def refuse_missing(engine: object) -> None:
    """Refuse an engine that is not installed, or not at its address, before anything is explored.

    A small space is explored without it, but who names an engine is to know that it is not there.
    """
    if not isinstance(engine, str):
        return
    kind, _, address = engine.partition("://")
    if importlib.util.find_spec(_PACKAGES[kind]) is None:
        raise _not_installed(engine)
    host, _, port = address.rpartition(":")
    if not (host and port.isdigit()):
        return
    try:
        found = _getaddrinfo(host.strip("[]"), int(port), _socket.AF_UNSPEC, _socket.SOCK_STREAM)
        family, _, _, _, where = found[0]
        connection = _Socket(family, _socket.SOCK_STREAM)
        connection.settimeout(_PATIENCE)
        try:
            connection.connect(where)
        finally:
            connection.close()
    except OSError as error:
        raise _not_there(engine, error) from None


def _not_installed(engine: str) -> TreadleError:
    kind = engine.partition("://")[0]
    return TreadleError(f"on={engine!r} needs {kind.capitalize()}: pip install 'treadle[{kind}]'")


def _not_there(engine: str, error: Exception) -> TreadleError:
    what, start = _SERVERS[engine.partition("://")[0]]
    return TreadleError(
        f"on={engine!r}: there is no {what} ({_first_line(error)}): start it with `{start}`"
    )


def _on_dask(engine: str, count: int | None, hello: Hello) -> OnExecutor:
    try:
        from distributed import Client
    except ImportError:
        raise _not_installed(engine) from None
    address = engine.replace("dask://", "tcp://")
    try:
        client = Client(address, timeout=_PATIENCE)
    except (OSError, ValueError) as error:
        raise _not_there(engine, error) from None
    tasks, hands = foremen([*client.ncores().values()])
    if not client.ncores():
        client.close()
        raise TreadleError(f"on={engine!r}: the scheduler has no workers: start `dask worker`")
    hello = replace(hello, hands=hands if count is None else 1)
    return OnExecutor(client.get_executor(pure=False), count or tasks, hello, client.close)


class _RayExecutor:
    """Ray as an executor."""

    def __init__(self, ray: Any, processors: int) -> None:
        self._run = ray.remote(num_cpus=processors)(explore_in_hand)

    def submit(self, _: object, *arguments: bytes) -> Future[bytes]:
        """Let Ray run the one function that there is."""
        future: Future[bytes] = self._run.remote(*arguments).future()
        return future


def _on_ray(engine: str, count: int | None, hello: Hello) -> OnExecutor:
    try:
        import ray
    except ImportError:
        raise _not_installed(engine) from None
    is_started = not ray.is_initialized()
    if is_started:
        address = None if engine == "ray" else engine
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the error says it, in one sentence
                ray.init(address, log_to_driver=False, include_dashboard=None if address else False)
        except (OSError, RuntimeError, ValueError) as error:
            raise _not_there(engine, error) from None
    nodes = [int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]]
    tasks, hands = foremen([processors for processors in nodes if processors])
    if count is not None:
        tasks, hands = count, 1

    def close() -> None:
        if is_started:
            with suppress(Exception):
                ray.shutdown()

    return OnExecutor(_RayExecutor(ray, hands), tasks, replace(hello, hands=hands), close)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
