"""Functions of named packages are rewritten when they are first called; nobody can tell."""

from __future__ import annotations

import asyncio
import gc
import inspect
import sys
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import treadle
from treadle.core.failure import without_addresses
from treadle.python.instrument import rewritten_code
from treadle.python.instrument.first_calls import FirstCall, FirstCalls, first_call_of
from treadle.python.instrument.modules import variable_of
from treadle.python.instrument.rewritten_code import RewrittenCode
from treadle.python.instrument.scope import Scope

SOURCE = '''
"""A library with functions of all sorts, few of which are called."""
import functools, sys, threading, weakref

class Box:
    limit = 3
    def __init__(self, number=0, *rest, name="", **more):
        self.number, self.rest, self.name, self.more = number, rest, name, more
        self.lock = threading.Lock()
    def __lt__(self, other):
        return self.number < other.number
    def __enter__(self):
        self.lock.acquire()
        return self
    def __exit__(self, *error):
        self.lock.release()
    def __iter__(self):
        for index in range(self.number):
            yield self.number - index
    @property
    def double(self):
        return 2 * self.number
    @classmethod
    def made(cls, number):
        return cls(number)
    def add(self, by=1):
        self.number += by
    def add_safely(self, by=1):
        with self:
            self.number += by
    async def later(self):
        return self.number

class Special(Box):
    def __init__(self, number):
        super().__init__(number)

def twice(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        function(*args, **kwargs)
        return function(*args, **kwargs)
    return call

@twice
def add_twice(box):
    box.number += 1

def adder(by):
    def add(box):
        box.number += by
    return add

add_five = adder(5)
held = {"add": add_five}

def default(box, how=add_five):
    how(box)

def key(box):
    return -box.number

def depth():
    frame, count = sys._getframe(1), 0
    while frame is not None:
        count += frame.f_globals.get("__name__") == __name__
        frame = frame.f_back
    return count

def entry():
    return depth()

def other():
    return depth()

def fails(box):
    raise ValueError(box.number)

def unused(box):
    box.number = 100
    return 1

def replaced(box):
    box.number += 100

class Dying:
    def __init__(self, box):
        self.box = box
    def __del__(self):
        self.box.number += 1

def let_die(dying):
    del dying
    return 1

@functools.lru_cache
def cached(number):
    return number + 1
'''


@pytest.fixture
def lib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A package that nobody has ever seen, and a cache of its own."""
    monkeypatch.setenv("TREADLE_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "site-packages"
    package = folder / "lazylib"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(folder))
    import lazylib  # type: ignore[import-not-found]

    yield lazylib
    del sys.modules["lazylib"]


def together(*targets: Callable[[], object]) -> None:
    threads = [threading.Thread(target=target) for target in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def programs_of(lib: Any) -> dict[str, Callable[[], None]]:
    """Return tests that call functions in as many ways as there are."""

    def check(entry: Callable[[], int]) -> None:
        assert entry() == 1

    def methods() -> None:
        box = lib.Box(1, 2, name="a", b=3)
        together(box.add_safely, lambda: box.add_safely(by=3))
        assert box.rest == (2,)
        assert box.more == {"b": 3}
        assert box.number == 5

    def called_from_c() -> None:
        boxes = [lib.Box(2), lib.Special(1), lib.Box.made(3)]
        together(lambda: boxes.sort(), lambda: list(map(lib.key, boxes)))
        assert [box.double for box in sorted(boxes, key=lib.key)] == [6, 4, 2]

    def generators() -> None:
        box = lib.Box(2)
        seen: list[int] = []
        together(box.add, lambda: seen.extend(box))
        assert box.number == 3
        assert inspect.isgeneratorfunction(lib.Box.__iter__)
        assert inspect.iscoroutinefunction(lib.Box.later)
        with pytest.raises(StopIteration):
            box.later().send(None)

    def held_by_reference() -> None:
        box = lib.Box()
        lib.add_twice(box)
        together(lambda: lib.held["add"](box), lambda: box.add_safely())
        lib.default(box)
        assert box.number in (8, 12, 13)

    def codes() -> None:
        box = lib.Box()
        lib.replaced.__code__ = lib.unused.__code__
        assert lib.unused.__code__ is lib.replaced.__code__
        together(lambda: lib.replaced(box), box.add)
        assert box.number in (100, 101)

    def frames() -> None:
        first: list[int] = []
        together(
            lambda: first.append(1),
            lambda: check(lib.entry if first else lib.other),  # each in one order only
        )
        assert lib.depth() == 0

    def deaths() -> None:
        box = lib.Box()
        together(lambda: lib.let_die(lib.Dying(box)), box.add)
        assert box.number in (1, 2)

    def caches() -> None:
        found: list[int] = []
        together(*[lambda: found.append(lib.cached(1))] * 2)
        assert found == [2, 2]

    def failing() -> None:
        box = lib.Box()

        def check() -> None:
            if box.number:
                lib.fails(box)

        together(check, box.add)

    found = (methods, called_from_c, generators, held_by_reference, frames, deaths, caches,
             failing, codes)  # fmt: skip
    return {one.__name__: one for one in found}


def found_by(test: Callable[[], None], **options: Any) -> tuple[object, ...]:
    result = treadle.explore(test, instrument=["lazylib"], stop_on_failure=False, **options)
    failures = [
        (failure.kind, failure.token, without_addresses(str(failure)))
        for failure in result.failures
    ]
    return result.executions, result.events, result.complete, result.notes, failures


def refuse(*_: object) -> bool:
    """Stand in for `wait_for`: everything is rewritten at once."""
    return False


COUNTS = {
    "methods": 2, "called_from_c": 9, "generators": 4, "held_by_reference": 4, "frames": 2,
    "deaths": 4, "caches": 12, "failing": 2, "codes": 3,
}  # fmt: skip


OTHER_WAYS = {"algorithm": "source", "granularity": "gil"}


@pytest.mark.parametrize(
    ("name", "options"),
    [*((name, {}) for name in COUNTS), ("frames", OTHER_WAYS), ("called_from_c", OTHER_WAYS)],
)
def test_it_makes_no_difference_when_functions_are_rewritten(
    lib: Any, monkeypatch: pytest.MonkeyPatch, name: str, options: dict[str, Any]
) -> None:
    code = lib.replaced.__code__
    lazily = found_by(programs_of(lib)[name], **options)
    lib.replaced.__code__ = code
    monkeypatch.setattr(FirstCalls, "wait_for", refuse)
    at_once = found_by(programs_of(lib)[name], **options)
    assert lazily == at_once
    if not options:
        assert lazily[0] == COUNTS[name]


def test_only_what_is_called_is_rewritten(lib: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rewritten: list[str] = []
    rewrite = rewritten_code.rewriter.rewrite

    def noted(code: types.CodeType, scope: Any) -> types.CodeType:
        if code.co_filename == lib.__file__:
            rewritten.append(code.co_qualname)
        return rewrite(code, scope)

    monkeypatch.setattr(rewritten_code.rewriter, "rewrite", noted)
    before = {
        name: value.__code__ for name, value in vars(lib).items() if inspect.isfunction(value)
    }
    assert found_by(programs_of(lib)["frames"])[0] == 2
    assert rewritten == ["entry", "depth", "other"]
    assert {name: getattr(lib, name).__code__ for name in before} == before
    assert all(first_call_of(code) is None for code in before.values())


@pytest.mark.parametrize(("passes", "said"), [(True, "passed"), (False, "failed")])
def test_an_outcome_of_the_first_execution_only_is_seen(lib: Any, passes: bool, said: str) -> None:
    """It is the execution in which functions were rewritten; it counts for what outlives it."""
    runs = iter(range(1000))

    def test() -> None:
        together(lib.Box().add)
        is_first = next(runs) == 0
        assert is_first == passes

    (failure,) = treadle.explore(test, instrument=["lazylib"]).failures
    assert failure.kind == "nondeterminism"
    assert said in failure.message


@pytest.mark.parametrize("keeps_code", [False, True])
def test_what_a_library_has_made_of_a_stub_may_be_called_in_every_execution(
    lib: Any, keeps_code: bool
) -> None:
    """Executions were begun again for ever."""
    kept: dict[str, Any] = {}

    def copied(function: types.FunctionType) -> types.FunctionType:
        code = kept.setdefault("code", function.__code__)
        copy = types.FunctionType(code, function.__globals__, "copy", function.__defaults__)
        return copy if keeps_code else kept.setdefault("copy", copy)

    copied = types.FunctionType(  # of no module under test
        copied.__code__, {"types": types}, "copied", None, copied.__closure__
    )

    def test() -> None:
        box = lib.Box()
        together(lambda: copied(lib.Box.add)(box), box.add)
        assert box.number == 2

    for _ in range(2):
        result = treadle.explore(test, instrument=["lazylib"], restore=False, stop_on_failure=False)
        assert [failure.kind for failure in result.failures] == ["assertion"]
        assert result.executions == 4


def test_nothing_is_left_of_functions_that_were_never_called(lib: Any) -> None:
    """Code that refers to itself is not found by garbage collection."""
    test = programs_of(lib)["frames"]
    found_by(test)
    gc.collect()
    before = sum(type(one) is FirstCall for one in gc.get_objects())
    found_by(test)
    gc.collect()
    assert sum(type(one) is FirstCall for one in gc.get_objects()) == before == 0


def test_threads_that_nobody_controls_run_the_code_that_was_there() -> None:
    def function(a: int, /, *more: int, key: int = 0) -> tuple[object, ...]:
        return a, more, key, sys._getframe().f_code.co_consts

    def refuse_to_rewrite(*_: object) -> types.CodeType:
        raise AssertionError("it is not for this thread")

    before = function.__code__
    calls = FirstCalls(refuse_to_rewrite)
    calls.begin()
    assert calls.wait_for(function, before, "m", Scope())
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(function(1, 2, key=3)))
    thread.start()
    thread.join()
    assert found == [(1, (2,), 3, before.co_consts)]
    assert not calls.have_happened()
    calls.end()
    assert function(1) == (1, (), 0, before.co_consts)


def test_a_stub_looks_like_its_function_and_passes_everything_on() -> None:
    outside = 7

    def function(a: int, b: int = 2, /, c: int = 3, *d: int, e: int, f: int = 6, **g: int) -> Any:
        inner = lambda: (a, e, g, outside)  # noqa: E731
        return a, b, c, d, e, f, inner()

    async def coroutine() -> int:
        return outside

    def generator(count: int) -> Iterator[int]:
        yield from range(count)

    for one in (function, coroutine, generator):
        source = inspect.getsource(one)
        _with_stub(one)  # type: ignore[arg-type]
        assert inspect.getsource(one) == source
    assert function(1, e=5) == (1, 2, 3, (), 5, 6, (1, 5, {}, 7))
    assert function(1, 0, 0, 4, e=5, f=0, a=9) == (1, 0, 0, (4,), 5, 0, (1, 5, {"a": 9}, 7))
    assert asyncio.run(coroutine()) == 7
    assert inspect.iscoroutinefunction(coroutine)
    assert list(generator(2)) == [0, 1]
    assert inspect.isgeneratorfunction(generator)
    many = ", ".join(f"x + {number}" for number in range(1000, 1300))
    made: dict[str, Any] = {}
    exec(f"def large(x): return [{many}]", made)
    _with_stub(made["large"])
    assert made["large"](1) == list(range(1001, 1301))


def _with_stub(function: types.FunctionType) -> None:
    calls = FirstCalls(lambda code, *_: code)
    calls.begin()
    assert calls.wait_for(function, function.__code__, "m", Scope())
    assert first_call_of(function.__code__) is not None


def test_a_package_has_one_file_to_which_all_processes_add(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREADLE_CACHE", str(tmp_path))
    codes = [compile(f"x.a{name}", f"/somewhere/lib/{name}.py", "exec") for name in ("a", "b", "c")]
    processes = [RewrittenCode(variable_of) for _ in range(2)]
    for one in processes:
        one.prepare(codes[0], "lib.a")
    for one, code in zip(processes, codes[:2], strict=True):
        one.rewritten(code, "lib.x", Scope())
        one.save()
    (file,) = tmp_path.iterdir()
    assert file.name.startswith("lib-")
    monkeypatch.setattr(rewritten_code.rewriter, "rewrite", None)
    third = RewrittenCode(variable_of)
    for code in codes[:2]:
        third.rewritten(code, "lib.x", Scope())
    with pytest.raises(TypeError):
        third.rewritten(codes[2], "lib.x", Scope())


def test_the_same_code_of_two_files_of_a_package_says_which_it_is_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plugins of a package may all have one name."""
    monkeypatch.setenv("TREADLE_CACHE", str(tmp_path))
    kept = RewrittenCode(variable_of)
    for name in ("/somewhere/lib/a/plugin.py", "/somewhere/lib/b/plugin.py"):
        code = compile("x.a", name, "exec")
        assert kept.rewritten(code, "lib.plugin", Scope()).co_filename == name
