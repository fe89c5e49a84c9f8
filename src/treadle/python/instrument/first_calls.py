"""Functions that are rewritten when they are first called: of a large package, most never are.

Until then a function has a stub (`stubs`). When that is called, the function is rewritten and what
was called for runs as rewritten code, below two frames that would not be there else. So this
execution is not quite what it is when everything was rewritten beforehand, and none that counts:
`have_happened` says so, and whoever runs executions begins this one again. By then all functions
that were called have their rewritten code.

Other threads of the operating system, which nobody controls, run the code that was there before.
"""

from __future__ import annotations

import _thread
import gc
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, MethodType
from typing import Any

from treadle.python.instrument.scope import Scope
from treadle.python.instrument.stubs import hook_of, stub_of

_MOST_ROUNDS = 100
"""Executions that are begun again, from which on new functions are rewritten at once."""
_MOST_TIMES = 10
"""Executions that are begun again for one stub: code that somebody keeps may be called for ever."""
_thread_ident = _thread.get_ident
"""As it is outside of an exploration, which replaces it."""


class FirstCall:
    """Stands for a function of a module that has not been called yet, and its copies."""

    __slots__ = ("_calls", "code", "functions", "module", "scope", "stub", "times")

    def __init__(self, calls: FirstCalls, code: CodeType, module: str, scope: Scope) -> None:
        self._calls = calls
        self.code = code
        self.module = module
        self.scope = scope
        self.functions: list[FunctionType] = []
        self.stub = stub_of(code, self.call)
        self.times = 0
        """Executions that were begun again because this was called."""

    @property
    def key(self) -> tuple[int, str]:
        """What other functions have that wait for the same."""
        return id(self.code), self.module

    def meet_copies(self) -> None:
        """Take in functions that somebody made of the stub: they have it when all others do not."""
        known = set(map(id, self.functions))
        self.functions += (one for one in _functions_with(self.stub) if id(one) not in known)

    def forget(self) -> None:
        """Be of no use any more: garbage collection does not find what code refers to."""
        self.stub, self.times = self.code, _MOST_TIMES
        self.functions.clear()

    def call(self, cells: Any, given: Any, more: Any, named: Any, words: Any) -> Any:
        """Call the function with what its stub was given."""
        code = self._calls.code_to_run(self)
        function = FunctionType(code, sys._getframe(1).f_globals, code.co_name, None, cells or None)
        if named:
            first = code.co_argcount
            names = code.co_varnames[first : first + code.co_kwonlyargcount]
            words = {**dict(zip(names, named, strict=True)), **words}
        return function(*given, *more, **words)


class FirstCalls:
    """The functions of an exploration that have not been called yet."""

    _thread = 0
    """The thread that explores, for all: code of an earlier exploration may have been kept."""

    def __init__(self, rewritten: Callable[[CodeType, str, Scope], CodeType]) -> None:
        self._rewritten = rewritten
        self._waiting: dict[tuple[int, str], FirstCall] = {}
        self._called: dict[FirstCall, None] = {}
        """What was called since somebody asked."""
        self._finished: list[FirstCall] = []
        """What has been rewritten."""
        self._rounds = 0
        """How often executions were begun again because of first calls."""

    def begin(self) -> None:
        """Begin an exploration, in this thread."""
        FirstCalls._thread = _thread_ident()

    def end(self) -> None:
        """End it: whatever still has a stub runs the code that was there before."""
        FirstCalls._thread = 0
        for first in (*self._waiting.values(), *self._finished):
            first.forget()
        self._waiting.clear()
        self._called.clear()
        self._finished.clear()

    def wait_for(self, function: FunctionType, code: CodeType, module: str, scope: Scope) -> bool:
        """Rewrite a function, which has some code, when it is first called; tell whether it will.

        Whoever loads modules again and again would have first calls for ever.
        """
        if self._rounds >= _MOST_ROUNDS:
            return False
        first = self._waiting.get((id(code), module))
        if first is None:
            first = FirstCall(self, code, module, scope)
            self._waiting[first.key] = first
        first.functions.append(function)
        function.__code__ = first.stub
        return True

    def include(self, function: FunctionType) -> bool:
        """Tell whether a function waits for its first call."""
        first = first_call_of(function.__code__)
        return first is not None and self._waiting.get(first.key) is first

    def know_scopes(self, scope_of: Callable[[dict[str, Any]], Scope]) -> None:
        """Take in that modules turned out to be other than they seemed."""
        for first in (*self._waiting.values(), *self._finished):
            first.scope = scope_of(first.functions[0].__globals__)

    def have_happened(self) -> bool:
        """Tell whether a function was called for the first time since somebody asked."""
        if not self._called:
            return False
        self._rounds += 1
        called, self._called = self._called, {}
        for first in called:
            first.times += 1
            if first.times > 1:
                first.meet_copies()
            self._finish(first)  # again: nothing can be rewritten where the stack is at its end
        return True

    def settle(self, function: FunctionType) -> None:
        """Let a function have the code that it will run, for somebody who looks at it."""
        first = first_call_of(function.__code__)
        if first is not None and self._is_explored():
            self._finish(first)

    def code_to_run(self, first: FirstCall) -> CodeType:
        """Return the code that a call of a stub is to run."""
        if not self._is_explored():
            return first.code
        if first.times < _MOST_TIMES:
            self._called[first] = None
        return self._finish(first)

    def _is_explored(self) -> bool:
        return self._thread == _thread_ident()

    def _finish(self, first: FirstCall) -> CodeType:
        """Give all functions with a stub their rewritten code, unless somebody else did."""
        code = self._rewritten(first.code, first.module, first.scope)
        if self._waiting.get(first.key) is first:
            del self._waiting[first.key]
            self._finished.append(first)
        _exchange(first.functions, first.stub, code)
        return code

    def await_again(self) -> None:
        """Let everything that was rewritten be as it was before its first call."""
        for first in self._finished:
            code = self._rewritten(first.code, first.module, first.scope)
            _exchange(first.functions, code, first.stub)
            self._waiting[first.key] = first
        self._finished.clear()


def _exchange(functions: list[FunctionType], old: CodeType, new: CodeType) -> None:
    """Give functions other code, unless somebody else did so already."""
    for function in functions:
        if function.__code__ is old:
            function.__code__ = new


def _functions_with(code: CodeType) -> Iterator[FunctionType]:
    for one in gc.get_referrers(code):
        if type(one) is FunctionType and one.__code__ is code:
            yield one


def first_call_of(code: CodeType) -> FirstCall | None:
    """Return what a stub calls; None for any other code object."""
    hook = hook_of(code)
    if type(hook) is MethodType and type(hook.__self__) is FirstCall:
        return hook.__self__
    return None
