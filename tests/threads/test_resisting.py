"""Objects that resist looking: their code runs where the program runs it, and nowhere else."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections.abc import Callable
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from together import together

import treadle
from treadle.python.host.watchdog import Watchdog


def refuse(*_: Any) -> Any:
    raise RuntimeError("nobody may look")


def spin(*_: Any) -> str:
    while True:
        pass


def resisting(name: str, **attributes: Any) -> type:
    return type(name, (), {"__module__": __name__, **attributes})


def only_own(self: Any, name: str) -> Any:
    if name in ("number", "other"):
        return object.__getattribute__(self, name)
    raise RuntimeError(f"nobody may look at {name}")


KINDS: dict[str, Callable[[], Any]] = {
    "says it is a dictionary": resisting("Liar", __class__=property(lambda _: dict)),
    "has no class": resisting("Classless", __class__=property(refuse)),
    "has no attributes": resisting("Closed", __getattr__=refuse),
    "shows its own attributes only": resisting("Own", __getattribute__=only_own),
    "has no dictionary": resisting("Bare", __dict__=property(refuse)),
    "is equal to nothing": resisting("Unequal", __eq__=refuse, __hash__=object.__hash__),
    "cannot be hashed": resisting("Unhashable", __hash__=refuse),
    "has no length": resisting("Endless", __len__=refuse, __bool__=refuse, __iter__=refuse),
    "says it is long": resisting("Long", __len__=lambda _: 10**9, __getitem__=refuse),
    "cannot be shown": resisting("Mute", __repr__=refuse),
    "is shown for ever": resisting("Talker", __repr__=spin),
    "leaves when shown": resisting("Leaver", __repr__=lambda _: exec("raise SystemExit")),
    "is shown at length": resisting("Bore", __repr__=lambda _: "x" * 10_000_000),
    "is shown as a number": resisting("Number", __repr__=lambda _: 5),
    "has no module": resisting("Homeless", __module__=None),
    "has a number for a module": resisting("Numbered", __module__=5),
    "has a property for a module": resisting("Computed", __module__=property(refuse)),
    "has slots": resisting("Slotted", __slots__=("number", "other"), __getattr__=refuse),
    "mocks a dictionary": lambda: MagicMock(spec=dict),
}
KEPT = {name: make() for name, make in KINDS.items()}
"""Modules hold such objects, too."""


@pytest.mark.parametrize("name", KINDS)
def test_it_is_handed_about(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    alarms: list[object] = []
    monkeypatch.setattr(Watchdog, "_alarm", alarms.append)

    def test() -> None:
        value = KINDS[name]()
        box, names = [value, 0], {"it": value}
        same: list[bool] = []

        def work() -> None:
            mine = box[0]
            box[0] = names["it"] = mine
            same.append(mine is value)
            box[1] = box[1] + 1

        together(work, work)
        assert same == [True, True]
        assert KEPT[name] is not value
        assert box[1] == 2

    result = treadle.explore(test)
    assert [failure.kind for failure in result.failures] == ["assertion"]
    assert "assert 1 == 2" in result.failures[0].message
    assert result.failures[0].trace
    assert str(result.failures[0])
    assert not alarms, "nothing that is looked at blocks"


def test_a_pool_of_threads_of_multiprocessing_is_refused() -> None:
    def test() -> None:
        with ThreadPool(2) as pool:
            pool.map(abs, [1, 2])

    with pytest.raises(treadle.TreadleError, match=r"use concurrent\.futures\.ThreadPoolExecutor"):
        treadle.explore(test)
    with ThreadPool(1) as pool:
        assert pool.map(abs, [-1]) == [1]


def test_a_pool_that_is_loaded_in_the_test_is_refused_too(tmp_path: Path) -> None:
    """In a process of its own: here, `multiprocessing.pool` is loaded by now."""
    script = tmp_path / "script.py"
    script.write_text(
        "import multiprocessing.dummy, treadle\n\n\n"
        "def late():\n    multiprocessing.dummy.Pool(2).map(abs, [1])\n\n\n"
        "def imported():\n    from multiprocessing.pool import ThreadPool\n    ThreadPool(1)\n\n\n"
        "for test in (late, imported):\n"
        "    try:\n        treadle.explore(test)\n"
        "    except treadle.TreadleError as error:\n        print(error)\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    said = done.stdout.splitlines()
    assert len(said) == 2
    assert all("use concurrent.futures.ThreadPoolExecutor" in one for one in said)


# Metaclasses that say nothing, or raise


class Silent(type):
    """Says nothing about what a class is, and where it comes from."""

    def __getattribute__(cls, name: str) -> Any:
        if name in ("__mro__", "__dict__", "__module__", "__flags__", "__qualname__", "__name__"):
            raise RuntimeError(f"{name} is nobody's business")
        return super().__getattribute__(name)


class Lying(type):
    """Has properties where a class has something else."""

    @property
    def __mro__(cls) -> Any:
        raise RuntimeError("no bases")

    @property
    def __dict__(cls) -> Any:
        raise RuntimeError("no members")


class Mute(type):
    """Refuses whatever it is asked for."""

    def __getattribute__(cls, name: str) -> Any:
        raise RuntimeError(f"nobody asks for {name}")


class Homeless(type):
    """Has a property, which nobody can set, where a class has the name of its module."""

    @property
    def __module__(cls) -> Any:
        raise RuntimeError("no module")


@pytest.mark.parametrize("metaclass", [Silent, Lying, Mute, Homeless])
@pytest.mark.parametrize("guarded", [True, False])
def test_metaclasses_are_not_asked(
    metaclass: type, guarded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "there_before", metaclass("Before", (), {}))

    def increment(self: Any) -> None:
        self.value += 1

    def test() -> None:
        kind = metaclass("Kind", (), {"value": 0, "increment": increment})
        one, lock = kind(), threading.Lock()

        def work() -> None:
            with lock if guarded else contextlib.nullcontext():
                one.increment()

        together(work, work)
        value = one.value  # pytest would ask the metaclass to show more
        assert value == 2

    result = treadle.explore(test)
    assert [failure.kind for failure in result.failures] == ([] if guarded else ["assertion"])
    assert all(str(failure) for failure in result.failures)


UNUSED = """
import _socket
from treadle.python.runtime.looking import members_of, mro_of
assert "recv" in members_of(_socket.socket)
assert mro_of(_socket.socket) == (_socket.socket, object)
"""


def test_a_class_in_c_that_nobody_has_used_yet_is_looked_at() -> None:
    """CPython makes some ready when they are first asked for something."""
    subprocess.run([sys.executable, "-c", UNUSED], check=True)
