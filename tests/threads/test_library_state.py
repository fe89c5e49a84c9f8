"""What libraries keep: modules, classes, registries, loggers, warnings; and what is noted."""

from __future__ import annotations

import argparse
import collections
import collections.abc
import contextlib
import copy
import dataclasses
import decimal
import functools
import heapq
import importlib
import io
import json
import json.encoder
import logging
import logging.handlers
import mimetypes
import pickle
import pprint
import queue
import random
import string
import sys
import threading
import time
import types
import warnings
import weakref
from collections.abc import Callable, Iterator
from json import JSONEncoder
from typing import Any

import pytest
from together import together
from told import told

import treadle

Body = Callable[[], Any]
FAILING: dict[str, tuple[Body, int]] = {}
NOTED: dict[str, tuple[Body, str]] = {}
LOG = logging.getLogger("treadle.test")


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    default, dumps, path = JSONEncoder.default, json.dumps, list(sys.path)
    yield
    JSONEncoder.default, json.dumps, sys.path[:] = default, dumps, path  # type: ignore[method-assign]
    LOG.handlers.clear()
    LOG.propagate = True
    for holder, name in ((string, "n"), (JSONEncoder, "n")):
        if name in vars(holder):
            delattr(holder, name)
    mimetypes.types_map.pop(".treadle", None)
    sys.modules.pop("treadle_fake", None)


def failing(executions: int) -> Callable[[Body], None]:
    """Register a test that fails in some interleaving, and in how many executions all are seen."""

    def register(body: Body) -> None:
        FAILING[body.__name__] = (body, executions)

    return register


def noted(name: str) -> Callable[[Body], None]:
    """Register a test of which it is noted that a function ran as one step."""

    def register(body: Body) -> None:
        NOTED[body.__name__] = (body, name)

    return register


# Modules and classes


@failing(4)
def attribute_of_a_module() -> None:
    string.n = 0  # type: ignore[attr-defined]

    def increment() -> None:
        string.n += 1  # type: ignore[attr-defined]

    together(increment, increment)
    assert string.n == 2  # type: ignore[attr-defined]


@failing(4)
def attribute_of_a_module_by_name() -> None:
    setattr(string, "n", 0)  # noqa: B010

    def increment() -> None:
        setattr(string, "n", getattr(string, "n") + 1)  # noqa: B009, B010

    together(increment, increment)
    assert getattr(string, "n") == 2  # noqa: B009


@failing(4)
def attribute_of_a_module_imported_in_a_function() -> None:
    import string as here

    here.n = 0  # type: ignore[attr-defined]

    def increment() -> None:
        import string as there

        there.n += 1  # type: ignore[attr-defined]

    together(increment, increment)
    assert here.n == 2  # type: ignore[attr-defined]


@failing(3)
def a_function_that_is_patched() -> None:
    original = json.dumps

    def patch() -> None:
        json.dumps = lambda *_: "no"  # type: ignore[assignment]
        json.dumps = original

    def use() -> None:
        assert json.dumps([]) == "[]"

    together(patch, use)


@failing(4)
def attribute_of_a_class() -> None:
    JSONEncoder.n = 0  # type: ignore[attr-defined]

    def increment() -> None:
        JSONEncoder.n += 1  # type: ignore[attr-defined]

    together(increment, increment)
    assert JSONEncoder.n == 2  # type: ignore[attr-defined]


@failing(4)
def attribute_of_a_class_found_in_its_module() -> None:
    json.encoder.JSONEncoder.n = 0  # type: ignore[attr-defined]

    def increment() -> None:
        json.encoder.JSONEncoder.n += 1  # type: ignore[attr-defined]

    together(increment, increment)
    assert json.encoder.JSONEncoder.n == 2  # type: ignore[attr-defined]


@failing(3)
def a_method_that_is_patched() -> None:
    original = JSONEncoder.default

    def patch() -> None:
        JSONEncoder.default = lambda *_: "x"  # type: ignore[method-assign]
        JSONEncoder.default = original  # type: ignore[method-assign]

    def use() -> None:
        with pytest.raises(TypeError):
            JSONEncoder().default(object())

    together(patch, use)


@failing(6)
def a_registry() -> None:
    mimetypes.types_map.pop(".treadle", None)
    made = []

    def register() -> None:
        if ".treadle" not in mimetypes.types_map:
            made.append(1)
            mimetypes.types_map[".treadle"] = "x"

    together(register, register)
    assert len(made) == 1


@failing(6)
def modules_by_name() -> None:
    sys.modules.pop("treadle_fake", None)
    made = []

    def load() -> None:
        if "treadle_fake" not in sys.modules:
            made.append(1)
            sys.modules["treadle_fake"] = types.ModuleType("treadle_fake")

    together(load, load)
    sys.modules.pop("treadle_fake", None)
    assert len(made) == 1


@failing(2)
def an_import_of_a_module_that_is_made() -> None:
    sys.modules.pop("treadle_fake", None)

    def make() -> None:
        sys.modules["treadle_fake"] = types.ModuleType("treadle_fake")

    def load() -> None:
        import treadle_fake

        assert treadle_fake

    try:
        together(make, load)
    finally:
        sys.modules.pop("treadle_fake", None)


@failing(3)
def an_import_of_a_module_that_is_deleted() -> None:
    module = importlib.import_module("colorsys")

    def replace() -> None:
        del sys.modules["colorsys"]
        sys.modules["colorsys"] = module

    def load() -> None:
        assert importlib.import_module("colorsys") is module

    try:
        together(replace, load)
    finally:
        sys.modules["colorsys"] = module


@failing(4)
def the_path_of_modules() -> None:
    length = len(sys.path)

    def add() -> None:
        if "/treadle" not in sys.path:
            sys.path.insert(0, "/treadle")

    together(add, add)
    found, sys.path[:] = len(sys.path), [one for one in sys.path if one != "/treadle"]
    assert found == length + 1


# Loggers, warnings, output, randomness


@failing(4)
def a_handler_that_is_added_once() -> None:
    LOG.handlers.clear()

    def set_up() -> None:
        if not LOG.handlers:
            LOG.addHandler(logging.NullHandler())

    together(set_up, set_up)
    assert len(LOG.handlers) == 1


@failing(4)
def a_handler_of_a_logger_by_name() -> None:
    logging.getLogger("treadle.other").handlers.clear()

    def set_up() -> None:
        logger = logging.getLogger("treadle.other")
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())

    together(set_up, set_up)
    assert len(logging.getLogger("treadle.other").handlers) == 1


@failing(14)
def a_level_that_is_put_back() -> None:
    LOG.setLevel(logging.INFO)

    def verbose() -> None:
        before = LOG.level
        LOG.setLevel(logging.DEBUG)
        LOG.setLevel(before)

    together(verbose, verbose)
    assert LOG.level == logging.INFO


@failing(4)
def filters_of_warnings() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        def ignore() -> None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")

        def warn() -> None:
            with pytest.raises(UserWarning):
                warnings.warn("x", stacklevel=1)

        together(ignore, warn)


@failing(2)
def order_of_what_is_printed() -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        together(lambda: print("a"), lambda: print("b"))
    assert printed.getvalue() == "a\nb\n"


@failing(20)
def redirected_by_two() -> None:
    def capture() -> None:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            print("a")
        assert printed.getvalue() == "a\n"

    usual = sys.stdout
    try:
        together(capture, capture)
    finally:
        sys.stdout = usual


def redirected_beside(write: Body, *, enter: Callable[[Any, Any], Any] | None = None) -> Body:
    """Return a test in which `sys.stderr` is redirected while something is written to it."""

    def test() -> None:
        printed = io.StringIO()

        def redirect() -> None:
            manager = contextlib.redirect_stderr(printed)
            if enter is None:
                with manager:
                    pass
            else:
                with contextlib.ExitStack() as stack:
                    enter(stack, manager)

        together(redirect, write)
        assert printed.getvalue() == ""

    return test


def enter_and_leave(_: Any, manager: Any) -> None:
    manager.__enter__()
    manager.__exit__(None, None, None)


WRITING: dict[str, Body] = {
    "written": lambda: sys.stderr.write("x\n"),
    "printed": lambda: print("x", file=sys.stderr),
    "logged by nobody": lambda: logging.Logger("x").warning("x"),
    "usage of a command": lambda: argparse.ArgumentParser().print_usage(sys.stderr),
}


@pytest.mark.parametrize("write", WRITING)
@pytest.mark.parametrize("granularity", ["access", "gil"])
def test_redirection_is_an_assignment(write: str, granularity: str) -> None:
    test = redirected_beside(WRITING[write])
    assert treadle.explore(test, granularity=granularity).failures[0].kind == "assertion"


@pytest.mark.parametrize(
    "enter", [contextlib.ExitStack.enter_context, enter_and_leave], ids=["stack", "by name"]
)
def test_redirection_by_other_means(enter: Callable[[Any, Any], Any]) -> None:
    test = redirected_beside(WRITING["written"], enter=enter)
    assert treadle.explore(test).failures[0].kind == "assertion"


def test_methods_called_by_their_class() -> None:
    """What stands for a method takes its object from the arguments then."""
    calls: list[tuple[Callable[[Any], None], int]] = [
        (lambda counter: collections.Counter.update(counter, "a"), 2),
        (lambda counter: collections.Counter.subtract(counter, "a"), -2),
    ]
    for call, total in calls:

        def test(call: Callable[[Any], None] = call, total: int = total) -> None:
            counter: Any = collections.Counter()
            together(lambda: call(counter), lambda: call(counter))
            assert counter["a"] == total

        assert treadle.explore(test).ok

    def log() -> None:
        logger = logging.Logger("x")
        handler = logging.NullHandler()
        together(
            lambda: logging.Logger.addHandler(logger, handler),
            lambda: logging.Logger.debug(logger, "x"),
        )

    assert treadle.explore(log).executions == 2


@failing(3)
def printed_where_somebody_assigned() -> None:
    printed, usual = io.StringIO(), sys.stdout

    def redirect() -> None:
        sys.stdout = printed
        sys.stdout = usual

    together(redirect, lambda: print("x"))
    assert printed.getvalue() == ""


@failing(5)
def filters_of_warnings_counted() -> None:
    before, found = len(warnings.filters), []

    def ignore() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")

    together(ignore, lambda: found.append(len(warnings.filters)))
    assert found == [before]


@failing(3)
def a_seed_that_is_not_alone() -> None:
    def draw() -> None:
        random.seed(42)
        assert random.random() == random.Random(42).random()

    together(draw, random.random)


@failing(2)
def a_stack_of_callbacks() -> None:
    stack, order = contextlib.ExitStack(), []
    together(*[functools.partial(stack.callback, order.append, n) for n in (1, 2)])
    stack.close()
    assert order == [2, 1]


@failing(3)
def a_context_of_decimals() -> None:
    context = decimal.Context(prec=5)
    seen: list[str] = []

    def change() -> None:
        context.prec = 3
        context.prec = 5

    together(change, lambda: seen.append(str(context.divide(1, 3))))
    assert seen == ["0.33333"]


@pytest.mark.parametrize("name", FAILING)
def test_state_of_libraries_is_shared(name: str) -> None:
    test, executions = FAILING[name]
    result = treadle.explore(test, stop_on_failure=False)
    assert result.failures
    assert (result.complete, result.executions) == (True, executions)
    assert {failure.kind for failure in result.failures} <= {"assertion", "exception"}
    again = treadle.replay(test, result.failures[0].token)
    assert again is not None


def test_what_is_only_read_costs_nothing() -> None:
    def test() -> None:
        def read() -> None:
            assert json.dumps([1]) == "[1]"
            assert mimetypes.types_map
            LOG.debug("x")
            assert string.digits

        together(read, read)

    result = treadle.explore(test)
    assert (result.ok, result.executions, result.notes) == (True, 1, [])


# What is noted


@dataclasses.dataclass
class Pair:
    first: int = 0
    second: int = 0


@noted("copy.deepcopy")
def copied() -> None:
    shared = {"a": [1]}
    together(lambda: shared["a"].append(2), lambda: copy.deepcopy(shared))


@noted("json.dumps")
def as_json() -> None:
    shared = {"a": 1}
    together(lambda: shared.update(a=2), lambda: json.dumps(shared))


@noted("pprint.pformat")
def printed() -> None:
    shared = [1]
    together(lambda: shared.append(2), lambda: pprint.pformat(shared))


@noted("heapq.merge")
def merged() -> None:
    shared = [1]
    together(lambda: shared.append(2), lambda: list(heapq.merge(shared, [3])))


@noted("collections.Counter.update")
def counted() -> None:
    shared: collections.Counter[str] = collections.Counter()
    together(*[lambda: shared.update({"x": 1, "y": 1})] * 2)


@noted("collections.Counter.__add__")
def added() -> None:
    shared = collections.Counter(x=1)
    together(lambda: shared.update(x=1), lambda: shared + shared)


@noted("dataclasses.asdict")
def as_a_dictionary() -> None:
    shared = Pair()

    def change() -> None:
        shared.first = 1

    together(change, lambda: dataclasses.asdict(shared))


@noted("contextlib._BaseExitStack.callback")
def a_stack() -> None:
    stack = contextlib.ExitStack()
    together(*[lambda: stack.callback(print)] * 2)
    stack.pop_all()


@noted("logging.StreamHandler.emit")
def logged_into_memory() -> None:
    LOG.handlers.clear()
    LOG.propagate = False
    LOG.addHandler(logging.StreamHandler(io.StringIO()))
    together(*[lambda: LOG.error("x")] * 2)


@pytest.mark.parametrize("name", NOTED)
def test_what_runs_as_one_step_is_noted(name: str) -> None:
    test, function = NOTED[name]
    result = treadle.explore(test)
    assert result.ok
    place = "ran uninstrumented on shared objects at tests/threads/test_library_state.py:"
    assert any(note.startswith(f"{function} {place}") for note in result.notes), result.notes


# Copies, weak references, clocks

MAKERS: list[Callable[[], Any]] = [
    threading.Lock, threading.RLock, threading.Condition, threading.Event, threading.Semaphore,
    lambda: threading.Barrier(2), queue.Queue, queue.LifoQueue, queue.PriorityQueue,
    queue.SimpleQueue, threading.Thread, lambda: threading.Timer(1, print),
]  # fmt: skip


def copies() -> list[str]:
    return told(
        [
            lambda make=make, function=function: function(make()) is None  # type: ignore[misc]
            for make in MAKERS
            for function in (copy.copy, copy.deepcopy, pickle.dumps)
        ]
    )


def test_locks_and_queues_refuse_to_be_copied_as_real_ones_do() -> None:
    real = copies()
    seen: list[list[str]] = []
    assert treadle.explore(lambda: seen.append(copies())).ok
    assert seen[-1] == real
    assert "TypeError: cannot pickle '_thread.lock' object" in real
    assert "TypeError: cannot pickle '_queue.SimpleQueue' object" in real


class Node:
    """Something that can be referred to weakly."""


@pytest.mark.parametrize(
    "make",
    [weakref.proxy, weakref.WeakValueDictionary, weakref.WeakKeyDictionary, weakref.WeakSet],
)
def test_what_refers_weakly_to_code_under_test_needs_no_note(make: Callable[..., Any]) -> None:
    def test() -> None:
        node = Node()
        made = make(node) if make is weakref.proxy else make()
        together(lambda: made is None, lambda: node)

    assert treadle.explore(test).notes == []


def references_left(node: Any, kept: set[weakref.ref[Any]]) -> None:
    kept.add(weakref.ref(node, kept.discard))


def test_a_failure_names_what_would_have_died() -> None:
    def test() -> None:
        kept: set[weakref.ref[Any]] = set()
        together(lambda: references_left(argparse.Namespace(), kept))
        assert not kept

    result = treadle.explore(test)
    [failure] = result.failures
    [note] = result.notes
    line = references_left.__code__.co_firstlineno + 1
    assert f"(weakref.ref() at tests/threads/test_library_state.py:{line})" in note
    assert failure.remarks == [f"It may rest on a life that is too long: {note}"]
    replayed = treadle.replay(test, failure.token)
    assert replayed is not None
    assert replayed.remarks == failure.remarks


@pytest.mark.parametrize("led_to", [Node, types, collections.abc.Mapping])
def test_weak_references_to_what_lasts_need_no_note(led_to: Any) -> None:
    def test() -> None:
        kept: list[Any] = []
        together(lambda: kept.append(weakref.ref(led_to)))
        assert kept == []

    result = treadle.explore(test)
    assert [failure.remarks for failure in result.failures] == [[]]
    assert result.notes == []


class Closing:
    """Something that does more than vanish."""

    def __del__(self) -> None: ...


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda _: Closing(), f"{__name__}.Closing()"),
        (io.BufferedReader, "io.BufferedReader()"),
        (io.TextIOWrapper, "io.TextIOWrapper()"),
    ],
)
def test_what_would_be_closed_by_its_death_is_noted(make: Callable[[Any], Any], name: str) -> None:
    def test() -> None:
        kept: list[Any] = [io.BytesIO(b"made up")]
        together(lambda: kept.append(make(kept[0])), lambda: None)

    [note] = treadle.explore(test).notes
    assert f"its `__del__` is run at the end of an execution only ({name} at " in note


def test_files_that_close_nothing_that_is_shared_need_no_note() -> None:
    def test() -> None:
        with io.StringIO("made up") as text, io.BytesIO() as raw:
            together(text.read, raw.read)

    assert treadle.explore(test).notes == []


def stamps() -> None:
    seen: dict[str, float] = {}

    def first() -> None:
        seen["first"] = time.monotonic()

    def second() -> None:
        seen["second"] = time.monotonic()

    together(first, second)
    assert seen["first"] <= seen["second"]


def test_a_clock_of_ones_own_is_noted() -> None:
    result = treadle.explore(stamps)
    assert result.ok
    (note,) = result.notes
    assert note.startswith("threads look at the clock (time.monotonic() at ")
    assert 'clock="shared" explores the others' in note


@pytest.mark.parametrize("algorithm", ["exhaustive", "sleep", "optimal"])
def test_a_shared_clock_shows_all_orders(algorithm: str) -> None:
    result = treadle.explore(stamps, algorithm, clock="shared", stop_on_failure=False)
    assert result.failure_kinds == {"assertion": 1}
    assert result.notes == []
    again = treadle.replay(stamps, result.failures[0].token)
    assert again is not None
    if algorithm == "optimal":
        assert result.executions == 2


def test_a_shared_clock_goes_on() -> None:
    def test() -> None:
        seen: list[float] = []

        def work() -> None:
            seen.append(time.monotonic())
            time.sleep(5)
            seen.append(time.monotonic())

        together(work, work)
        assert seen[-1] >= seen[0] + 5

    assert treadle.explore(test, clock="shared", max_executions=50).failures == []
