"""What libraries keep under names, in loggers, registries and contexts, is shared by all threads.

One thread sets something, directly or by a function of the library; another one calls a function
that looks at it, or looks itself. Each program has exactly the outcomes that real threads have.
"""

from __future__ import annotations

import builtins
import contextlib
import contextvars
import ctypes
import dataclasses
import enum
import functools
import inspect
import linecache
import logging
import sys
import threading
import uuid
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from together import Look, looking, outcomes, together

import treadle
from treadle.python.instrument import rewritten_code

_OLD = {"<made up>": (3, None, ["old"], "<made up>")}
_NEW = {"<made up>": (3, None, ["new"], "<made up>")}


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """Put back what the programs set for the whole process."""
    lines, shown = linecache.cache, warnings.showwarning
    node, getters = uuid._node, uuid._GETTERS
    with warnings.catch_warnings():
        yield
    linecache.cache, warnings.showwarning = lines, shown
    uuid._node, uuid._GETTERS = node, getters
    logging.disable(logging.NOTSET)
    vars(builtins).pop("made_up", None)


def assigned_cache() -> Look:
    linecache.cache = {**_OLD}
    return lambda: setattr(linecache, "cache", {**_NEW}), lambda: linecache.getline("<made up>", 1)


def changed_cache() -> Look:
    linecache.cache = {**_OLD}
    return lambda: linecache.cache.update(_NEW), lambda: linecache.getline("<made up>", 1)


def cache_by_its_namespace() -> Look:
    linecache.cache = {**_OLD}

    def change() -> None:
        vars(linecache)["cache"] = {**_NEW}

    return change, lambda: linecache.getline("<made up>", 1)


def cleared_by_the_library() -> Look:
    linecache.cache = {**_OLD}
    return linecache.clearcache, lambda: "<made up>" in linecache.cache


def assigned_node() -> Look:
    uuid._node = 1
    return lambda: setattr(uuid, "_node", 2), uuid.getnode


def assigned_by_the_library() -> Look:
    uuid._node, uuid._GETTERS = None, []  # which would run other programs
    return uuid.getnode, lambda: uuid._node is not None


def shown_warnings() -> Look:
    shown: list[int] = []

    def show(*_: Any, **__: Any) -> None:
        shown.append(1)

    def hide(*_: Any, **__: Any) -> None:
        pass

    def look() -> int:
        warnings.warn("made up", stacklevel=1)
        return len(shown)

    warnings.showwarning = hide
    warnings.simplefilter("always")
    return lambda: setattr(warnings, "showwarning", show), look


class Kept(logging.Handler):
    """Counts what it gets."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def emit(self, record: logging.LogRecord) -> None:
        del record
        self.count += 1


def _logger() -> tuple[logging.Logger, Kept]:
    logger, handler = logging.getLogger("treadle.made.up"), Kept()
    logger.handlers[:], logger.filters[:] = [handler], []
    logger.setLevel(logging.INFO)
    logger.propagate, logger.disabled = False, False
    logging.disable(logging.NOTSET)
    return logger, handler


def _logged(logger: logging.Logger, handler: Kept) -> Callable[[], int]:
    def look() -> int:
        logger.info("made up")
        return handler.count

    return look


def disabled_logging() -> Look:
    logger, handler = _logger()
    return logging.disable, _logged(logger, handler)


def disabled_logging_asked_for() -> Look:
    logger, _ = _logger()
    return logging.disable, lambda: int(logger.isEnabledFor(logging.INFO))


def disabled_logger() -> Look:
    logger, handler = _logger()
    return lambda: setattr(logger, "disabled", True), _logged(logger, handler)


def propagating_logger() -> Look:
    logger, handler = _logger()
    child = logger.getChild("below")
    child.setLevel(logging.INFO)
    child.propagate = True
    return lambda: setattr(child, "propagate", False), _logged(child, handler)


def level_of_a_handler() -> Look:
    logger, handler = _logger()
    return lambda: handler.setLevel(logging.ERROR), _logged(logger, handler)


def assigned_level_of_a_handler() -> Look:
    logger, handler = _logger()
    return lambda: setattr(handler, "level", logging.ERROR), _logged(logger, handler)


def level_of_a_handler_that_only_its_logger_has() -> Look:
    logger, handler = _logger()

    def change() -> None:
        logging.getLogger("treadle.made.up").handlers[0].setLevel(logging.ERROR)

    return change, _logged(logger, handler)


def filter_of_a_handler() -> Look:
    logger, handler = _logger()
    return lambda: handler.addFilter(lambda _: False), _logged(logger, handler)


def level_by_an_adapter() -> Look:
    logger, handler = _logger()
    adapter = logging.LoggerAdapter(logger, {})
    return lambda: adapter.setLevel(logging.ERROR), _logged(logger, handler)


def style_of_a_formatter() -> Look:
    formatter: Any = logging.Formatter("%(levelno)s")
    record = logging.makeLogRecord({"levelno": 0})
    return (
        lambda: setattr(formatter._style, "_fmt", "1"),
        lambda: int(formatter.format(record)),
    )


def registry_of_a_generic_function() -> Look:
    generic = functools.singledispatch(lambda _: None)
    return lambda: generic.register(int, print), lambda: int in generic.registry


def registry_that_was_taken_before() -> Look:
    generic = functools.singledispatch(lambda _: None)
    registry = generic.registry
    return lambda: generic.register(int, print), lambda: len(registry) == 2


def registry_of_a_generic_method() -> Look:
    class Owner:
        @functools.singledispatchmethod
        def method(self, value: Any) -> None: ...

    registry: Any = vars(Owner)["method"].dispatcher.registry
    return lambda: vars(Owner)["method"].register(int, print), lambda: int in registry


def members_of_an_enumeration() -> Look:
    class Colour(enum.Enum):
        RED = 1

    return (
        lambda: Colour._member_map_.update(BLUE=Colour.RED),
        lambda: "BLUE" in Colour.__members__,
    )


def name_among_the_builtins() -> Look:
    vars(builtins).pop("made_up", None)
    names: Any = __builtins__

    def change() -> None:
        names["made_up"] = 1

    return change, lambda: hasattr(builtins, "made_up")


def name_found_by_eval() -> Look:
    vars(builtins).pop("made_up", None)

    def look() -> bool:
        try:
            return bool(eval("made_up"))
        except NameError:
            return False

    return lambda: setattr(builtins, "made_up", 1), look


LOOKS: dict[Callable[[], Look], set[object]] = {
    assigned_node: {1, 2},
    **{make: {"old", "new"} for make in (assigned_cache, changed_cache, cache_by_its_namespace)},
    **{
        make: {0, 1}
        for make in (
            disabled_logging, disabled_logging_asked_for, disabled_logger, propagating_logger,
            level_of_a_handler, assigned_level_of_a_handler, filter_of_a_handler,
            level_of_a_handler_that_only_its_logger_has, level_by_an_adapter,
            style_of_a_formatter, shown_warnings,
        )
    },
    **{
        make: {False, True}
        for make in (
            cleared_by_the_library, assigned_by_the_library, registry_of_a_generic_function,
            registry_that_was_taken_before, registry_of_a_generic_method,
            members_of_an_enumeration, name_among_the_builtins, name_found_by_eval,
        )
    },
}  # fmt: skip


@pytest.mark.parametrize("make", LOOKS, ids=lambda make: make.__name__)
def test_both_outcomes_are_seen(make: Callable[[], Look]) -> None:
    assert looking(make) == set(map(repr, LOOKS[make]))


def entered_twice() -> list[str]:
    context = contextvars.copy_context()
    variable = contextvars.ContextVar("variable", default=0)
    said = ["", ""]

    def work(number: int) -> None:
        try:
            context.run(variable.set, number)
        except RuntimeError:
            said[number] = "entered"

    together(lambda: work(0), lambda: work(1))
    return said


def counted_in_one_context() -> list[object]:
    context = contextvars.copy_context()
    variable = contextvars.ContextVar("variable", default=0)
    said: list[object] = [0, 0]

    def count() -> None:
        variable.set(variable.get() + 1)

    def work(number: int) -> None:
        try:
            context.run(count)
        except RuntimeError:
            said[number] = "entered"

    together(lambda: work(0), lambda: work(1))
    return [*said, context.get(variable)]


@pytest.mark.parametrize("algorithm", ["exhaustive", "sleep", "source", "optimal"])
def test_a_context_is_left_when_what_it_ran_has_returned(algorithm: str) -> None:
    """`variable.set` is C code: nobody comes between. What Python code sets, others see."""
    assert outcomes(entered_twice, algorithm) == {"['', '']"}
    assert outcomes(counted_in_one_context, algorithm) == {
        "[0, 0, 2]",
        "['entered', 0, 1]",
        "[0, 'entered', 1]",
    }


def test_what_is_set_in_a_context_is_seen_by_who_looks_into_it() -> None:
    first = contextvars.ContextVar("first", default=0)
    second = contextvars.ContextVar("second", default=0)

    def program() -> list[Any]:
        context = contextvars.copy_context()
        seen: list[Any] = []

        def change() -> None:
            first.set(1)
            second.set(1)

        together(
            lambda: context.run(change),
            lambda: seen.extend([context.get(second, 0), context.get(first, 0)]),
        )
        return seen

    assert outcomes(program) == {"[0, 0]", "[0, 1]", "[1, 1]"}


class Pair(ctypes.Structure):
    _fields_ = (("x", ctypes.c_int), ("y", ctypes.c_int))


class Triple(Pair):
    _fields_ = (("z", Pair),)


@pytest.mark.parametrize("kind", [Pair, Triple])
def test_fields_of_structures_are_locations_and_what_they_lead_to_is_named(kind: Any) -> None:
    def count() -> None:
        structure = kind()

        def work() -> None:
            structure.x += 1

        together(work, work)
        assert structure.x == 2

    line = inspect.getsourcelines(count)[1] + 1
    result = treadle.explore(count)
    assert [failure.kind for failure in result.failures] == ["assertion"]
    assert result.escapes == [
        f"ctypes.Structure() at tests/threads/test_library_names.py:{line}: "
        "what threads do to each other through C code is not seen"
    ]


def test_who_dispatches_while_others_register_is_noted() -> None:
    """The library goes through the registry step by step, and is not looked into."""

    def program() -> None:
        generic = functools.singledispatch(lambda _: None)
        together(lambda: generic.register(int, print), lambda: generic(True))

    [note] = treadle.explore(program).notes
    assert note.startswith("functools.singledispatch.dispatch ran uninstrumented")


def test_fields_of_data_classes_that_are_taken_are_noted() -> None:
    @dataclasses.dataclass
    class Point:
        x: int = 0

    def program() -> None:
        together(lambda: getattr(Point, "__dataclass_fields__", None), lambda: None)
        together(lambda: Point.__dataclass_fields__.clear, lambda: None)

    [note] = treadle.explore(program).notes
    assert note.startswith("fields of data classes that change inside of their dictionary")


def test_a_warning_names_the_line_that_warns() -> None:
    seen: list[tuple[str, int]] = []

    def program() -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")

            def warn() -> None:
                warnings.warn("made up", stacklevel=1)

            thread = threading.Thread(target=warn)
            thread.start()
            thread.join()
        seen.extend((warning.filename, warning.lineno) for warning in caught)

    line = inspect.getsourcelines(program)[1] + 5
    assert treadle.explore(program).ok
    assert set(seen) == {(__file__, line)}


def test_what_is_put_among_the_builtins_by_item_is_undone_and_takes_nothing_away() -> None:
    names: Any = __builtins__
    before = set(vars(builtins))

    def program() -> None:
        names["made_up"] = 0

        def change() -> None:
            names["made_up"] = names["made_up"] + 1

        together(change, change)
        assert names["made_up"] == 2

    [failure] = treadle.explore(program).failures
    assert failure.kind == "assertion"
    assert set(vars(builtins)) == before


def test_rewritten_code_depends_on_all_that_rewrites() -> None:
    """Else what an older Treadle has rewritten, and kept on disk, would be taken for its own."""
    files = rewritten_code.sources()
    modules = {f"treadle.python.{path.parent.name}.{path.stem}" for path in files}
    modules &= sys.modules.keys()
    assert {rewritten_code.rewriter.__name__, "treadle.python.accesses.iterate"} <= modules
    imported = {
        value.__name__ if inspect.ismodule(value) else value.__module__
        for name in modules
        for value in vars(sys.modules[name]).values()
        if inspect.ismodule(value) or inspect.isfunction(value) or inspect.isclass(value)
    }
    rewriting = {name for name in imported if name.startswith("treadle.python.instrument.")}
    assert rewriting <= modules


def test_that_an_exception_left_what_c_code_had_called_is_noted() -> None:
    def program() -> None:
        context = contextvars.copy_context()

        def fail() -> None:
            raise ValueError

        def work() -> None:
            with contextlib.suppress(ValueError):
                context.run(fail)

        together(work, lambda: None)

    line = inspect.getsourcelines(program)[1] + 8
    assert treadle.explore(program).notes == [
        "an exception left what contextvars.Context.run() at "
        f"tests/threads/test_library_names.py:{line} had called: "
        "what C code did after that belongs to the last step of the function, so "
        "nobody is seen to come in between"
    ]
