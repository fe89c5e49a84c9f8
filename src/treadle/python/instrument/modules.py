"""Which code is instrumented: functions that exist already, and modules imported later.

By default that is every module that the test can reach and that belongs neither to the standard
library nor to site-packages nor to Treadle, plus the packages that the user names, plus the module
of the test.
Functions that exist get their `__code__` exchanged while a test is explored. What such modules hold
in global variables is published once per exploration.
"""

from __future__ import annotations

import builtins
import copy
import dataclasses
import functools
import importlib
import logging
import operator
import sys
import threading
import types
from array import array
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence, Set
from typing import Any

from treadle.python.accesses import calls, loggers, lru_caches, uninstrumented
from treadle.python.accesses.class_making import SUBCLASSES
from treadle.python.host.collector import functions_and_instances, is_frozen
from treadle.python.instrument.first_calls import FirstCalls
from treadle.python.instrument.first_hooks import with_hook_at_first
from treadle.python.instrument.loaded_modules import LoadedModules, is_covered, is_under_test
from treadle.python.instrument.module_tables import (
    BUILTINS,
    ModuleTable,
    enter_module,
    enter_of_library,
    variable_of,
)
from treadle.python.instrument.reached_modules import modules_of
from treadle.python.instrument.rewritten_code import RewrittenCode
from treadle.python.instrument.scan import facts_of
from treadle.python.instrument.scopes import OF_FUNCTIONS, Scopes, is_of_test
from treadle.python.runtime import notes, slots
from treadle.python.runtime.atoms import ATOMS
from treadle.python.runtime.looking import flags_of, members_of, module_of_class
from treadle.python.runtime.spin import effects
from treadle.python.sharing.identities import classes_in, identities
from treadle.python.sharing.namespaces import executed, instrumented
from treadle.python.sharing.shared import FOREIGN_OPERATORS, Feature, Shared
from treadle.python.sharing.variable import GLOBAL

_NOT_WALKED = frozenset({"logging", "pytest", "_pytest", "hypothesis", "unittest", "typing", "re"})
"""Libraries whose objects hold nothing that tests share."""
_CALLED_AS_METHODS = (copy, operator)
"""Modules with functions that are called like methods of containers."""

_TELLING_MAIN = frozenset({"main_thread", "current_thread", "enumerate"})
"""Functions by which threads get hold of the main thread."""
_CONTAINERS = (list, dict, set, deque, bytearray, array, object, type, OrderedDict, defaultdict)
"""Classes whose methods may be called with an instance as argument: `list.append(x, 1)`."""

_CLASS = "class "
_DECIDING = OF_FUNCTIONS | {"__class__"}


_HEAP_TYPE = 1 << 9


def _is_followed(kind: type) -> bool:
    """Tell whether a class is of code under test; that of `exec` may have no module."""
    module = module_of_class(kind)
    is_executed = module == "builtins" and bool(flags_of(kind) & _HEAP_TYPE)
    return is_executed or module in calls.modules_under_test


_rewritten = RewrittenCode(variable_of)
_loaded = LoadedModules()


class Instrumentation:
    """Rewrites the code under test, and puts it back."""

    def __init__(
        self,
        test: Callable[[], Any],
        packages: tuple[str, ...],
        *,
        gil: bool = False,
        item_by_item: bool = False,
        at_first_call: bool = False,
    ) -> None:
        self._test = _function_of(test)
        self._runs_also: tuple[Callable[..., Any], ...] = getattr(test, "runs_also", ())
        """Functions that the test does not know of but runs: fixtures."""
        self._packages = packages
        self._at_first_call = at_first_call
        """Whether functions of named packages are rewritten when they are first called."""
        self.first_calls = FirstCalls(_rewritten.rewritten)
        self._shared: Shared | None = None
        self._namespaces: dict[int, tuple[str, dict[str, Any]]] = {}
        """The modules under test: name and namespace, by `id` of the latter."""
        self._scopes = Scopes(self._namespaces, gil=gil, item_by_item=item_by_item)
        self._swapped: list[tuple[types.FunctionType, types.CodeType]] = []
        self._undo: list[Callable[[], None]] = []
        self._to_publish: list[tuple[str, dict[str, Any]]] = []
        self._called: set[str] = set()
        """Modules that the test was not seen to reach, but called."""
        self._declined: set[str] = set()
        """Modules that are not under test."""
        self._adapted: Set[Feature] = frozenset()
        """What was known when the code was rewritten."""
        self._importing = 0
        """How many imports are under way, one inside the other."""

    def install(self, shared: Shared, kinds: Sequence[type] = ()) -> list[Any]:
        """Rewrite every function of the modules that are instrumented.

        Return the instances of some classes, too, which were met while looking for functions.
        """
        self._shared = shared
        notes.begin()
        effects[0] = False
        self.first_calls.begin()
        shared.follows = _is_followed
        shared.enter_of_library = enter_of_library
        shared.has_foreign_operators = uninstrumented.has_foreign_operators
        try:
            self._trust_own_modules()
            added = self._add_namespaces()
            if is_frozen():
                identities.look_at_old()
            instances = self._rewrite_functions(added, kinds)
            self._patch()
            self.publish()
        except BaseException:
            self.undo()
            raise
        _rewritten.save()
        return instances

    def undo(self) -> None:
        """Put the original code back; write to disk what was rewritten meanwhile."""
        _rewritten.save()
        while self._undo:
            self._undo.pop()()
        lru_caches.undo()
        identities.end()
        self.first_calls.end()
        while self._swapped:
            function, code = self._swapped.pop()
            function.__code__ = code
        self._namespaces.clear()
        self._scopes.clear()
        self._to_publish.clear()
        instrumented.clear()
        executed.clear()
        calls.modules_under_test.clear()

    def adapt(self) -> None:
        """Rewrite the code anew if names turned out to be assigned that it computes itself."""
        assert self._shared is not None
        if "__code__" in self._shared.happening:  # what was put back may have been rewritten since
            self._rewrite_swapped()
        if self._shared.features is self._adapted:
            return
        self._adapted = self._shared.features
        late = set(_late_names(self._adapted)) - self._scopes.late
        if late and self._scopes.learn(late):
            self._rewrite_anew()

    def _rewrite_anew(self) -> None:
        assert self._shared is not None
        lru_caches.undo()
        self.first_calls.know_scopes(self._scopes.of)
        self._rewrite_swapped()
        self._shared.clear()
        self._to_publish = [
            (name, namespace)
            for name, namespace in self._namespaces.values()
            if id(namespace) not in executed
        ]
        self.publish()

    def _rewrite_swapped(self) -> None:
        for function, _ in self._swapped:
            if not self.first_calls.include(function):
                function.__code__ = self._rewrite(function.__code__, function.__globals__)

    def take_in(self, module: str) -> bool:
        """Instrument a module of the user's that is about to be called; tell whether it is new.

        The exploration begins anew with it.
        """
        if module in self._declined or module in calls.modules_under_test:
            return False
        loaded = sys.modules.get(module)
        if loaded is None or not self.is_instrumented(module, loaded):
            self._declined.add(module)
            return False
        self._called.add(module)
        for name, namespace in self._add_modules():
            if self._shared is not None:
                self._shared.note(f"module {name}", "called")
                for value in list(namespace.values()):
                    self._enter_library(self._shared, value)  # what changes now is put back
        return True

    def covers(self, module: str) -> bool:
        """Tell whether the user asked to look inside a module."""
        return is_covered(module, self._packages)

    # Modules

    def _trust_own_modules(self) -> None:
        instrumented.update(_loaded.own(self._packages))

    def _add_modules(self) -> list[tuple[str, dict[str, Any]]]:
        """Take in the modules that are there and not known yet, and rewrite their functions."""
        added = self._add_namespaces()
        self._rewrite_functions(added)
        return added

    def _add_namespaces(self) -> list[tuple[str, dict[str, Any]]]:
        added = [
            (name, namespace)
            for name, namespace in self._candidates()
            if id(namespace) not in self._namespaces
        ]
        for name, namespace in added:
            self._namespaces[id(namespace)] = name, namespace
            calls.modules_under_test.add(name)
        instrumented.update([id(namespace) for _, namespace in added])
        modules = calls.modules_under_test
        kinds = [kind for _, namespace in added for kind in classes_in(namespace, modules)]
        identities.take(kinds)
        return added

    def _rewrite_functions(
        self, added: list[tuple[str, dict[str, Any]]], kinds: Sequence[type] = ()
    ) -> list[Any]:
        """Rewrite the functions of new modules; return the instances of some classes."""
        if not added and not kinds:
            return []
        found = functions_and_instances([namespace for _, namespace in added], kinds)
        functions = [one for one in found if type(one) is types.FunctionType]
        originals = (_rewritten.original(function.__code__) for function in functions)
        self._scopes.facts.update(dict.fromkeys(map(facts_of, originals)))
        self._to_publish += added
        for function in functions:
            if not self._swap_at_first_call(function):
                self._swap(function)
        return [one for one in found if type(one) is not types.FunctionType]

    def _candidates(self) -> Iterator[tuple[str, dict[str, Any]]]:
        loaded = _loaded.under_test(self._packages)
        reached: dict[str, dict[str, Any]] = {}
        asked_for = [name for name in loaded if self.covers(name) or name in self._called]
        todo = [(name, loaded[name]) for name in asked_for]
        if self._test is not None:
            todo += ((name, loaded[name]) for name in modules_of(self._test) if name in loaded)
        for function in self._runs_also:
            todo += ((name, loaded[name]) for name in modules_of(function) if name in loaded)
        if self._test is not None:
            # First of all: meanwhile its file may have been loaded again, under the same name.
            name = str(self._test.__globals__.get("__name__") or self._test.__module__)
            todo.append((name, self._test.__globals__))
        unmet = loaded.keys() - {name for name, _ in todo}
        while todo:
            name, namespace = todo.pop()
            if name in reached:
                continue
            reached[name] = namespace
            if unmet:
                values = [one for one in namespace.values() if type(one) not in ATOMS]
                found = {other for one in values for other in modules_of(one) if other in unmet}
                unmet -= found
                todo += ((other, loaded[other]) for other in found)
        yield from sorted(reached.items(), key=lambda item: item[0])

    def is_instrumented(self, name: str, module: types.ModuleType) -> bool:
        """Tell whether a module's code is under test."""
        return is_under_test(name, module, self._packages)

    # Functions

    def _swap(self, function: types.FunctionType) -> None:
        """Exchange a function's code."""
        namespace = function.__globals__
        old = function.__code__
        new = self._rewrite(old, namespace)
        if new is not old:
            self._swapped.append((function, _rewritten.original(old)))
            function.__code__ = new

    def _swap_at_first_call(self, function: types.FunctionType) -> bool:
        """Exchange a function's code when it is first called, if that is worth while.

        What was called in this process before will be again.
        """
        namespace, code = function.__globals__, _rewritten.original(function.__code__)
        name, _ = self._namespaces[id(namespace)]
        if not self._at_first_call or not self.covers(name):
            return False
        scope = self._scopes.of(namespace)
        if _rewritten.remembered(code, name, scope) is not None:
            return False
        _rewritten.prepare(code, name)
        if not self.first_calls.wait_for(function, code, name, scope):
            return False
        self._swapped.append((function, code))
        return True

    def _rewrite(self, code: types.CodeType, namespace: dict[str, Any]) -> types.CodeType:
        name, _ = self._namespaces[id(namespace)]
        return _rewritten.rewritten(code, name, self._scopes.of(namespace))

    # Publication

    def publish(self) -> None:
        """Publish what the modules hold in variables; for every execution from now on."""
        if not self._to_publish:
            return
        assert self._shared is not None
        used = {name for facts in self._scopes.facts for name in facts.names}
        if self._test is not None:
            self._shared.publish(self._test, "test", ("test",))
        if "loggerDict" in used:
            loggers.enter_loggers(self._shared)
        enter_module(self._shared, builtins)  # every module has them under a name
        enter_module(self._shared, sys)  # libraries assign what it has for their users
        if not used.isdisjoint(_TELLING_MAIN):
            key = ("global", "threading", "main thread")
            self._shared.publish(threading.main_thread(), "main thread", key)
        if "modules" in used:  # of `sys`, where every module is found
            for one in list(sys.modules.values()):
                enter_module(self._shared, one)
        self._shared.names = used
        self._shared.stored = used if "setattr" in used else self._scopes.names().stored
        for module, namespace in self._to_publish:
            self._publish_module(module, namespace, used)
        self._to_publish.clear()
        self._shared.seal()

    def _publish_module(self, module: str, namespace: dict[str, Any], used: set[str]) -> None:
        found = self._shared
        assert found is not None
        for name, variable in self._scopes.of(namespace).variables.items():
            found.publish(variable, name, ("variable", module, name))
        for name, value in list(namespace.items()):
            if self._enter_library(found, value):
                continue
            if issubclass(type(value), logging.Logger):
                loggers.enter_logger(found, value)
            elif name in used and self._is_data(value):
                found.publish(value, name, ("global", module, name))
        here = sys.modules.get(module)
        if here is not None and vars(here) is namespace:
            enter_module(found, here)
        for one in (*_CALLED_AS_METHODS, *map(sys.modules.__getitem__, used & sys.modules.keys())):
            enter_module(found, one)
        for kind in _CONTAINERS:
            table = ModuleTable(found, ("class", kind.__name__), kind.__name__, kind.__name__)
            found.published.setdefault(id(kind), table)

    def _enter_library(self, shared: Shared, value: Any) -> bool:
        """Enter a module, or a class or function of a library; tell whether it is one."""
        if issubclass(type(value), types.ModuleType):
            enter_module(shared, value)
            return True
        is_tool = issubclass(type(value), type) or type(value) is types.FunctionType
        if is_tool and not is_of_test(value):
            enter_of_library(shared, value)
            return True
        return False

    def _is_data(self, value: Any) -> bool:
        """Tell whether what a global variable holds may be shared data."""
        kind = type(value)
        if kind in ATOMS or module_of_class(kind).partition(".")[0] in _NOT_WALKED:
            return False
        if kind is types.FunctionType:
            return id(value.__globals__) in instrumented
        return True

    # Code that appears while a test runs

    def _patch(self) -> None:
        """See to it that code made during an exploration is instrumented as well."""
        self._replace(importlib._bootstrap, "_find_and_load", self._import)
        self._replace(dataclasses, "_process_class", self._dataclass)
        self._set(slots, "compiled", self._compiled)
        self._set(slots, "take_in", self.take_in)
        self._set(slots, "with_hook_at_first", with_hook_at_first)
        self._set(slots, "settle", self.first_calls.settle)

    def _replace(self, owner: Any, name: str, by: Callable[..., Any]) -> None:
        self._set(owner, name, functools.partial(by, getattr(owner, name)))

    def _set(self, owner: Any, name: str, value: Any) -> None:
        original = getattr(owner, name)
        setattr(owner, name, value)
        self._undo.append(lambda: setattr(owner, name, original))

    def _import(self, original: Callable[..., Any], *args: Any) -> Any:
        """Import a module as one step; the exploration begins anew with what it holds."""
        if args[0] in sys.modules:  # `importlib.import_module`, and `patch` of mocks, ask each time
            return original(*args)
        before, slots.announce = slots.announce, slots.nothing
        self._importing += 1
        try:
            module = original(*args)
        finally:
            self._importing -= 1
            if slots.announce is slots.nothing:
                slots.announce = before
        if self._importing:  # by a module that is not complete yet
            return module
        added = self._add_modules()
        if self._shared is not None:
            enter_module(self._shared, module)
            for name, _ in added:
                self._shared.note("import", name)
        return module

    def _dataclass(self, original: Callable[..., Any], cls: Any, *args: Any) -> Any:
        made = original(cls, *args)
        for value in list(members_of(made).values()):
            inner = getattr(value, "__wrapped__", value)
            if type(inner) is types.FunctionType and id(inner.__globals__) in self._namespaces:
                self._swap(inner)
        return made

    def _compiled(
        self, source: Any, mode: str, namespace: dict[str, Any], flags: int, name: str
    ) -> Any:
        """Return the rewritten code of what is about to be run in a namespace."""
        if not isinstance(source, types.CodeType):
            if mode == "eval" and isinstance(source, str):
                source = source.lstrip(" \t")
            source = compile(source, "<string>", mode, flags, dont_inherit=True)
        if id(namespace) not in self._namespaces:
            self._namespaces[id(namespace)] = str(namespace.get("__name__", name)), namespace
            instrumented.add(id(namespace))
            executed.add(id(namespace))
            calls.modules_under_test.add(self._namespaces[id(namespace)][0])
        self._scopes.add(facts_of(source))
        scope = self._scopes.of(namespace)
        return _rewritten.rewritten(source, name, dataclasses.replace(scope, is_executed=True))


def _late_names(features: Set[Feature]) -> Iterator[tuple[str, str]]:
    """Yield globals, with their modules, and attributes of classes that are assigned."""
    for sort, what in features:
        if (sort, what) == FOREIGN_OPERATORS:
            yield FOREIGN_OPERATORS
        elif sort == BUILTINS and isinstance(what, str):
            yield "builtins", what
        elif sort.startswith(GLOBAL):
            module, _, name = sort.removeprefix(GLOBAL).rpartition(".")
            yield module, name
        elif (
            isinstance(what, str)
            and (sort.startswith(_CLASS) or what in _DECIDING)
            and not what.startswith(SUBCLASSES)  # at which no instruction looks
        ):
            yield "", what


def _function_of(test: Any) -> types.FunctionType | None:
    """Return the function behind a test: a method, a partial or a wrapped one."""
    while not isinstance(test, types.FunctionType):
        inner = getattr(test, "__func__", None) or getattr(test, "func", None)
        inner = inner or getattr(test, "__wrapped__", None)
        if inner is None:
            call = vars(type(test)).get("__call__")
            return call if isinstance(call, types.FunctionType) else None
        test = inner
    return test
