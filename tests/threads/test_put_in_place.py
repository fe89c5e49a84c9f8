"""What libraries put where threads reach it by a name: fakes, handlers of logging, connections."""

from __future__ import annotations

import logging
import logging.config
import sqlite3
import sys
import unittest
import unittest.mock
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from typing import Any

import pytest
from together import together

import treadle


class Fake:
    """Counts its calls, without a lock."""

    calls = 0

    def __call__(self) -> None:
        self.calls += 1


def fetch() -> None:
    """Stands for a library's function."""


class Service:
    """Asks a client that its class has."""

    client: Any = None

    def ask(self) -> None:
        self.client()


service = Service()
settings: dict[str, Callable[[], None]] = {"fetch": fetch}
HERE = sys.modules[__name__]
Patching = Callable[[Fake], AbstractContextManager[Any]]


def by_fetch() -> None:
    fetch()


def by_class() -> None:
    Service().ask()


def by_object() -> None:
    service.ask()


def by_item() -> None:
    settings["fetch"]()


def monkey(method: str, *args: Any) -> Patching:
    """Return how to put a fake somewhere by pytest."""

    @contextmanager
    def patching(fake: Fake) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            getattr(patch, method)(*args, fake)
            yield

    return patching


PATCHED: list[tuple[Patching, Callable[[], None]]] = [
    (lambda fake: unittest.mock.patch(f"{__name__}.fetch", fake), by_fetch),
    (lambda fake: unittest.mock.patch.object(Service, "client", fake), by_class),
    (lambda fake: unittest.mock.patch.object(service, "client", fake), by_object),
    (lambda fake: unittest.mock.patch.multiple(HERE, fetch=fake), by_fetch),
    (lambda fake: unittest.mock.patch.dict(settings, fetch=fake), by_item),
    (monkey("setattr", HERE, "fetch"), by_fetch),
    (monkey("setattr", f"{__name__}.fetch"), by_fetch),
    (monkey("setattr", Service, "client"), by_class),
    (monkey("setattr", service, "client"), by_object),
    (monkey("setitem", settings, "fetch"), by_item),
]


@pytest.mark.parametrize("number", range(len(PATCHED)))
def test_what_is_put_in_the_place_of_something_is_shared(number: int) -> None:
    def program() -> None:
        patching, call = PATCHED[number]
        fake = Fake()
        with patching(fake):
            together(call, call)
        assert fake.calls == 2

    assert [one.kind for one in treadle.explore(program).failures] == ["assertion"]
    assert fetch is settings["fetch"]


def test_calls_of_a_mock_in_the_place_of_a_function_come_in_any_order() -> None:
    def program() -> None:
        with unittest.mock.patch(f"{__name__}.fetch") as mock:
            together(lambda: fetch(), lambda: fetch(1))  # type: ignore[call-arg]
            assert mock.mock_calls == [unittest.mock.call(), unittest.mock.call(1)]

    assert [one.kind for one in treadle.explore(program).failures] == ["assertion"]


class NoLock:
    """Lets everybody in; since Python 3.13 a handler without any lock raises an error."""

    def acquire(self) -> None:
        pass

    def release(self) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


class Counting(logging.Handler):
    """Counts records, without a lock."""

    count = 0

    def createLock(self) -> None:  # noqa: N802 - so it is called
        self.lock = NoLock()  # type: ignore[assignment]

    def emit(self, record: logging.LogRecord) -> None:
        self.count += 1


_at_import = logging.getLogger(f"{__name__}.at_import")
_at_import.addHandler(Counting())
_CONFIGURATION = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"counting": {"()": Counting}},
    "loggers": {f"{__name__}.configured": {"handlers": ["counting"]}},
}


@pytest.mark.parametrize("name", ["at_import", "configured"])
def test_handlers_that_a_logger_has_from_elsewhere_are_shared(name: str) -> None:
    def program() -> None:
        if name == "configured":
            logging.config.dictConfig(_CONFIGURATION)
        log = logging.getLogger(f"{__name__}.{name}")
        [handler] = log.handlers
        assert isinstance(handler, Counting)
        before = handler.count
        together(lambda: log.error("one"), lambda: log.error("two"))
        assert handler.count == before + 2

    assert [one.kind for one in treadle.explore(program).failures] == ["assertion"]


@pytest.mark.parametrize("in_order", [False, True])
def test_what_assert_logs_keeps_comes_in_any_order(in_order: bool) -> None:
    def program() -> None:
        with unittest.TestCase().assertLogs("here", "INFO") as found:
            log = logging.getLogger("here")
            together(lambda: log.info("one"), lambda: log.info("two"))
        expected = ["INFO:here:one", "INFO:here:two"]
        assert (found.output if in_order else sorted(found.output)) == expected

    assert treadle.explore(program).ok is not in_order


def execute(connection: sqlite3.Connection) -> object:
    return connection.execute("select 1")


@pytest.mark.parametrize(
    ("make", "use", "options", "kinds"),
    [
        (None, execute, {}, ["exception"]),
        (None, sqlite3.Connection.close, {}, ["exception"]),
        (None, sqlite3.Connection.interrupt, {}, []),
        (None, execute, {"check_same_thread": False}, []),
        (sqlite3.Connection.cursor, execute, {}, ["exception"]),
        (sqlite3.Connection.cursor, execute, {"check_same_thread": False}, []),
    ],
)
def test_a_connection_belongs_to_the_thread_that_made_it(
    make: Any, use: Callable[[Any], object], options: dict[str, Any], kinds: list[str]
) -> None:
    def program() -> None:
        with closing(sqlite3.connect(":memory:", **options)) as connection:
            used = connection if make is None else make(connection)
            together(lambda: use(used))

    failures = treadle.explore(program).failures
    assert [one.kind for one in failures] == kinds
    assert all("SQLite objects created in a thread" in one.message for one in failures)
