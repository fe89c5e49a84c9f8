"""Threads as a front end: any function without parameters that is called as a test.

This file is light. What takes control of threads is loaded when a test is opened.
"""

from __future__ import annotations

import difflib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from treadle.core.decorated import called_plainly
from treadle.core.errors import TreadleError
from treadle.core.front_end import FrontEnd
from treadle.core.options import declared_in
from treadle.core.program import Program
from treadle.python.runtime.patience import Patience
from treadle.threads.options import ESCAPE, GRANULARITIES, ThreadOptions

if TYPE_CHECKING:
    from treadle.threads.program import ThreadProgram


NEWEST_PYTHON = (3, 15)
"""The last version whose instructions (`opcodes`) and primitives (`internals`) were looked at."""


class Threads(FrontEnd):
    """Functions that use threads."""

    name = "threads"
    targets = "a function without parameters that uses threads"
    options = declared_in(ThreadOptions)
    granularities = GRANULARITIES
    kinds = (ESCAPE,)
    takes_any_function = True

    def recognises(self, target: object) -> bool:
        """Tell whether something can be called."""
        return callable(target)

    def is_meant(self, name: str, value: object, module: str) -> bool:
        """Tell whether a variable is a function of the module that can be called as a test."""
        return (
            not name.startswith("_")
            and inspect.isfunction(value)
            and value.__module__ == module
            and not inspect.isgeneratorfunction(value)
            and not inspect.iscoroutinefunction(value)
            and not inspect.signature(value).parameters
        )

    def refuse(self, function: Any) -> None:
        """Refuse what only makes an object when it is called: its code would never run."""
        name = getattr(function, "__name__", "it")
        given = function
        function = inspect.unwrap(function)
        if inspect.isasyncgenfunction(function):
            raise TreadleError(
                f"{name!r} is an asynchronous generator: give a coroutine function or a plain one"
            )
        if inspect.isgeneratorfunction(function) and function is given:  # else who knows what it is
            raise TreadleError(
                f"{name!r} is a process, not a program: add it to a treadle.model.Program"
            )
        if isinstance(function, type):
            raise TreadleError(
                f"{name!r} is a class: give a function; pytest runs the methods of classes"
            )

    def with_options(self, program: Program, given: Mapping[str, Any]) -> Program:
        """Return the program: for data races the search looks, whatever it was made with."""
        return super().with_options(program, {n: v for n, v in given.items() if n != "races"})

    @contextmanager
    def opened(
        self, target: Callable[[], object], options: Mapping[str, Any]
    ) -> Iterator[ThreadProgram]:
        """Take control of a test, and try it out once to learn what matters in it."""
        refuse_unknown_python()
        from treadle.threads.program import ThreadProgram  # greenlet and bytecode come with it

        self.refuse(target)
        refuse_parameters(target)
        for package in options["instrument"]:
            refuse_missing(package)
        program = ThreadProgram(
            target,
            getattr(target, "__name__", "test"),
            instrument=options["instrument"],
            is_coarse=options["granularity"] == "gil",
            item_by_item=options["granularity"] == "free-threaded",
            thread_exceptions=options["thread_exceptions"],
            watchdog=options["watchdog"],
            max_rounds=options["max_rounds"],
            escapes_fail=options["escapes"] == "fail",
            has_shared_clock=options["clock"] == "shared",
            patience=Patience(options["latency"], options["timeouts"]),
            towards_deadlock=options["towards_deadlock"],
            restore=options["restore"],
        )
        with called_plainly(), program.controlled():
            _refuse_what_was_not_run(program.try_out())
            yield program


THREADS = Threads()


def refuse_unknown_python() -> None:
    """Refuse interpreters whose instructions and primitives nobody looked at."""
    if sys.implementation.name == "cpython" and sys.version_info[:2] <= NEWEST_PYTHON:
        return
    newest = ".".join(map(str, NEWEST_PYTHON))
    here = f"{sys.implementation.name} {sys.version_info[0]}.{sys.version_info[1]}"
    raise TreadleError(
        f"threads can be explored on CPython 3.11 to {newest}, and this is {here}: use one of "
        "those, or a newer Treadle; models can be explored here"
    )


def refuse_parameters(test: Callable[..., object]) -> None:
    """Refuse a test that cannot be called as it is."""
    try:
        inspect.signature(test).bind()
    except TypeError:
        raise TreadleError(
            "the test must take no arguments: give a function without parameters; pytest runs "
            "tests with fixtures"
        ) from None


def refuse_missing(package: str) -> None:
    """Refuse to instrument what is not there and could not be imported."""
    if package in sys.modules or _can_be_imported(package):
        return
    close = difflib.get_close_matches(package, sys.modules, 1)
    hint = f"did you mean {close[0]!r}?" if close else "give the name to import it by"
    raise TreadleError(f"instrument: there is no module or package {package!r}: {hint}")


def _can_be_imported(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):  # of the package that it is in, or an empty name
        return False


def _refuse_what_was_not_run(returned: object) -> None:
    """Refuse a test that returned something that has yet to be run."""
    if inspect.iscoroutine(returned):
        returned.close()
    elif not inspect.isgenerator(returned) and not inspect.isasyncgen(returned):
        return
    raise TreadleError(
        f"the test returned a {type(returned).__name__}, which nobody ran: run it in the test"
    )
