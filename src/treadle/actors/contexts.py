"""Initial contexts for classes of actors: which classes, and test cases that are run for real."""

from __future__ import annotations

import linecache
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from treadle.actors.actor import Actor, ActorType
from treadle.actors.classes import classes_in, reachable
from treadle.actors.deadlocks import KNOWN
from treadle.actors.programs import Program, program
from treadle.actors.restoring import Followed, follow, restore
from treadle.core.errors import TreadleError
from treadle.symbolic.framework import Framework
from treadle.symbolic.limits import Limits
from treadle.symbolic.test_case import TestCase
from treadle.symbolic.values import ANY


def classes_of(target: object) -> list[type]:
    """Return the classes of actors of a program, of a module, or of some classes."""
    if isinstance(target, Program):
        found = classes_in(target.main, (*target.args, *target.kwargs.values()))
    elif isinstance(target, ModuleType):
        own = [value for value in vars(target).values() if isinstance(value, ActorType)]
        found = [cls for cls in reachable(*own) if isinstance(cls, ActorType)]
    elif isinstance(target, Iterable):
        found = list(target)
    else:
        found = [target] if isinstance(target, type) else []
    wrong = next((each for each in found if not isinstance(each, ActorType)), None)
    if wrong is not None:
        raise TreadleError(f"{wrong!r} is no class of actors: contexts are made of these")
    classes = [cls for cls in dict.fromkeys(found) if cls is not Actor]
    if not classes:
        raise TreadleError(f"{_name(target)} has no classes of actors: there are no contexts of it")
    return sorted(classes, key=lambda cls: (cls.__module__, _line(cls)))


def _name(target: object) -> str:
    return str(getattr(target, "__name__", None) or repr(target))


def _line(cls: type) -> int:
    codes = [getattr(getattr(value, "function", value), "__code__", None)
             for value in vars(cls).values()]  # fmt: skip
    return min((code.co_firstlineno for code in codes if code is not None), default=0)


def framework_of(target: object, limits: Limits, sensitivity: int) -> Framework:
    """Return what generates contexts of a program, a module or some classes, and tries them."""
    return Framework(KNOWN, classes_of(target), limits, sensitivity)


def program_of(test: TestCase, classes: Iterable[type]) -> Program:
    """Return the program of a test case."""
    file = f"<context {test.name}>"
    linecache.cache[file] = (len(test.program), None, test.program.splitlines(keepends=True), file)
    names: dict[str, Any] = {cls.__name__: cls for cls in classes}
    names |= {"ANY": ANY, "restore": restore, "program": program}
    exec(compile(test.program, file, "exec"), names)
    made = names[test.name]
    assert isinstance(made, Program)
    return made


def run_concretely(test: TestCase, classes: Iterable[type]) -> Followed:
    """Run a test case: what symbolic execution says has to happen for real."""
    return follow(program_of(test, classes), test.schedule)
