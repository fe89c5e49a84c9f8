"""Code under test that C code or a library has called, and that is left by an exception.

What the caller does then is a step of its own: others may come in between. Each case looks at a
flag before it raises; the other thread sets the flag, and then changes what the caller looks at
when it goes on. All algorithms have to reach exactly what brute force does.
"""

from __future__ import annotations

import dis
import importlib
import itertools
import sys
import threading
import traceback
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import real_threads
import treadle
from differential import reached
from differential_programs import Program
from treadle.python.accesses import callbacks
from treadle.python.instrument.rewrite import rewrite
from treadle.python.instrument.scope import Scope


class Flag:
    """Whether the other thread has begun, and what was seen of that."""

    def __init__(self) -> None:
        self.is_set = 0
        self.saw: list[int] = []

    def set(self) -> None:
        self.is_set = 1

    def look(self) -> None:
        self.saw.append(self.is_set)


class Nothing:
    """Ends at once, by an exception as all iterators do."""

    def __init__(self, flag: Flag) -> None:
        self.flag = flag

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        self.flag.look()
        raise StopIteration


class Fails(Exception):
    """What the code under test raises."""


def key_of(flag: Flag) -> Callable[[int], int]:
    def key(_: int) -> int:
        flag.look()
        raise Fails

    return key


def explored(
    do: Callable[[Flag, list[int]], object], algorithm: str, granularity: str
) -> set[tuple[Any, ...]]:
    """Return all outcomes of a call, beside a thread that sets the flag and appends an item."""
    found: set[tuple[Any, ...]] = set()

    def test() -> None:
        flag = Flag()
        items = [1, 2]
        got: list[str] = []

        def one() -> None:
            try:
                value = repr(do(flag, items))
            except Fails:
                value = "fails"
            got.append(value)

        def two() -> None:
            flag.set()
            items.append(3)

        threads = [threading.Thread(target=function) for function in (one, two)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with treadle.atomic():
            found.add((*flag.saw, *got, tuple(items)))

    result = treadle.explore(test, algorithm, granularity=granularity, max_executions=2000)
    assert result.ok
    assert result.complete
    return found


ALL = (1, 2, 3)
CASES: dict[str, tuple[Callable[[Flag, list[int]], object], set[tuple[Any, ...]]]] = {
    "what comes after an iterator that ended": (
        lambda flag, items: sorted(set().union(Nothing(flag), items)),
        {(saw, text, ALL) for saw in (0, 1) for text in ("[1, 2]", "[1, 2, 3]")},
    ),
    "a chain": (
        lambda flag, items: list(itertools.chain(Nothing(flag), items)),
        {(saw, text, ALL) for saw in (0, 1) for text in ("[1, 2]", "[1, 2, 3]")},
    ),
    "items that are put back": (
        lambda flag, items: items.sort(key=key_of(flag)),
        {(saw, "fails", left) for saw in (0, 1) for left in ((1, 2), ALL)},
    ),
    "a slice": (
        lambda flag, items: items.__setitem__(slice(0, 2), Nothing(flag)),
        {(saw, "None", (3,)) for saw in (0, 1)},
    ),
    "what was there before": (
        lambda flag, items: items.extend(itertools.chain([7], map(key_of(flag), [0]))),
        {(0, "fails", (1, 2, 7, 3)), (1, "fails", (1, 2, 7, 3)), (1, "fails", (1, 2, 3, 7))},
    ),
}


@pytest.mark.parametrize("granularity", ["access", "gil"])
@pytest.mark.parametrize("case", CASES)
def test_what_c_code_does_after_an_exception_is_a_step(case: str, granularity: str) -> None:
    do, outcomes = CASES[case]
    brute = ["exhaustive"] if granularity == "access" else []  # thousands with a global lock
    for algorithm in (*brute, "sleep", "source", "optimal"):
        assert explored(do, algorithm, granularity) == outcomes


LIBRARY = """
def tried(function, items):
    try:
        function(0)
    except Exception:
        return len(items)
"""


def test_what_a_library_does_after_an_exception_is_a_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "library_that_tries.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(folder)
    library: Any = importlib.import_module("library_that_tries")
    try:
        for algorithm in ("exhaustive", "optimal"):
            found = explored(
                lambda flag, items: library.tried(key_of(flag), items), algorithm, "access"
            )
            assert found == {(saw, size, ALL) for saw in (0, 1) for size in ("2", "3")}
    finally:
        del sys.modules["library_that_tries"]


PROGRAMS = [
    ("numbers", "x.sort(key=refusing)", "len(x)"),
    ("numbers", "x.sort(key=refusing)", "x.append(5)"),
    ("numbers", "x.extend(failing(4, 5))", "x.append(7)"),
    ("numbers", "max(x, key=refusing)", "x.pop(0)"),
    ("list", "heapq.heappush(x, Refusing(3))", "len(x)"),
    ("list", "Refusing(2) in x", "x.pop(0)"),
    ("list", "x.index(Refusing(3))", "x.pop(0)"),
    ("list", "bisect.insort(x, Refusing(3))", "x.pop(0)"),
    ("list", "heapq.heapify(x)", "x.append(Refusing(3))"),
    ("dict", "x.update((K(n), n) for n in failing(3, 4))", "len(x)"),
    ("dict", "x[Refusing(3)] = 3", "x.pop(K(1))"),
    ("set", "x.add(Refusing(3))", "x.discard(K(1))"),
    ("deque", "x.extend(failing(4, 5))", "len(x)"),
]


@pytest.mark.parametrize(("kind", "one", "two"), PROGRAMS)
def test_real_threads_show_the_same(kind: str, one: str, two: str) -> None:
    program = Program(kind, one, two)
    shown = set(real_threads.outcomes(program, is_gil=True))
    assert any("ArithmeticError" in outcome for outcome in shown)
    for granularity in ("gil", "access"):
        for algorithm in ("sleep", "optimal"):
            found, result = reached(program, algorithm, granularity, 2000)
            assert result.complete
            assert found == shown


SOURCE = """
def plain(o):
    return o.missing

def handled(o):
    try:
        return o.missing
    except AttributeError:
        return o.other

def at_last(o):
    try:
        o.missing
    finally:
        o.x

def generator(o):
    yield 1
    with o:
        yield o.missing

def nested(o):
    def inner():
        for one in o:
            one.missing
    return [inner() for _ in range(1)]
"""


class Manager:
    """Iterable, and a manager of nothing."""

    x = 1

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: object) -> None:
        return None

    def __iter__(self) -> Iterator[int]:
        return iter([1])


@pytest.mark.parametrize("name", ["plain", "handled", "at_last", "generator", "nested"])
def test_exceptions_look_the_same_to_whoever_catches_them(name: str) -> None:
    seen = []
    for is_rewritten in (False, True):
        code = compile(SOURCE, "<raised>", "exec", dont_inherit=True)
        namespace: dict[str, Any] = {}
        exec(rewrite(code, Scope()) if is_rewritten else code, namespace)
        with pytest.raises(AttributeError) as caught:
            list(namespace[name](Manager()))
        frames = traceback.extract_tb(caught.value.__traceback__)[1:]
        context = caught.value.__context__
        seen.append(([(one.lineno, one.name) for one in frames], type(context), str(caught.value)))
        assert sys.exc_info() == (None, None, None)
    assert seen[0] == seen[1]


def codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from codes_in(const)


@pytest.mark.parametrize("name", ["plain", "handled", "at_last", "generator", "nested"])
def test_every_instruction_has_a_handler(name: str) -> None:
    """From where the function begins to the handler of all that it does not handle itself."""
    whole = rewrite(compile(SOURCE, "<raised>", "exec", dont_inherit=True), Scope())
    (code,) = (one for one in codes_in(whole) if one.co_name == name)
    steps = list(dis.get_instructions(code))
    begin = next(step.offset for step in steps if step.opname == "RESUME")
    entries = dis.Bytecode(code).exception_entries  # type: ignore[attr-defined]
    last = max(entry.target for entry in entries)
    covered = {at for entry in entries for at in range(entry.start, entry.end + 1)}
    bare = {step.opname for step in steps if begin < step.offset < last} - {"CACHE"}
    assert bare
    assert not [step for step in steps if begin < step.offset < last and step.offset not in covered]


def test_the_end_of_an_instruction_is_found_however_many_hooks_it_has() -> None:
    """One position in the source is one instruction and its hooks; 40 bytes are not enough."""
    source = "def f(a, b):\n    print(a, b)\n    return a in b\n"
    code = rewrite(compile(source, "<raised>", "exec", dont_inherit=True), Scope())
    (function,) = (one for one in codes_in(code) if one.co_name == "f")
    positions = list(function.co_positions())
    lengths = set()
    for at, position in enumerate(positions):
        end = callbacks._end_of_instruction(function, 2 * at) // 2
        assert set(positions[at:end]) == {position}
        assert end == len(positions) or positions[end] != position
        lengths.add(2 * (end - at))
    assert max(lengths) > 40
