"""`unittest.mock`: a call of a mock is one step, and what mocks remember of calls is shared.

What a mock remembers (`call_count`, `mock_calls` and so on) is one location. A call adds to it and
to those of the mocks that it hangs on. Calls commute as long as nobody asks for their order, and
are no step as long as nobody asks for them at all: that is learned, like anything that changes.

Mocks that hang on others are made when they are first asked for, by whatever thread; so they are
named after the mock that they hang on.
"""

from __future__ import annotations

import unittest.mock
from collections.abc import Callable, Iterator
from typing import Any

from treadle.core.events import Codes, Mode
from treadle.python.accesses import instruction_hooks as hooks
from treadle.python.accesses.known_functions import LIBRARY
from treadle.python.runtime import control, slots
from treadle.python.sharing.children import attributes_of, children_of_instance
from treadle.python.sharing.published import published
from treadle.python.sharing.tables import ObjectTable, Table
from treadle.python.sharing.walks import register
from treadle.threads.primitives.patches import Patches
from treadle.threads.primitives.put_in_place import assign, change_items

_COUNTS = frozenset({"called", "call_count", "await_count"})
_ORDER = frozenset(
    {"call_args", "call_args_list", "mock_calls", "method_calls", "await_args", "await_args_list"}
)
_ASSERTIONS_ON_COUNTS = (
    "assert_called", "assert_called_once", "assert_not_called", "assert_any_call",
    "assert_called_once_with",
)  # fmt: skip
_ASSERTIONS_ON_ORDER = ("assert_called_with", "assert_has_calls")
_ON_COUNTS_OF_AWAITS = (
    "assert_awaited", "assert_awaited_once", "assert_not_awaited", "assert_any_await",
    "assert_awaited_once_with",
)  # fmt: skip
_ON_ORDER_OF_AWAITS = ("assert_awaited_with", "assert_has_awaits")


class MockTable(ObjectTable):
    """The attributes of a mock, and its record of calls."""

    __slots__ = ()

    @classmethod
    def sort_of(cls, value: Any, label: str) -> str:
        """Mocks are told apart by name."""
        del value
        return f"mock {label}"

    def part(self, mock: Any) -> Table:
        """Return the table of a mock that hangs on this one."""
        name = str(attributes_of(mock).get("_mock_new_name"))
        label = f"{self.label}{name}" if name == "()" else f"{self.label}.{name}"
        return self.shared.new_table(MockTable, (self.key, "part", name), mock, label)

    def read(self, what: Any) -> Codes:
        """Return the codes of reading an attribute, or what is remembered of calls."""
        if what in _COUNTS or what in _ORDER:
            return self.asked(for_order=what in _ORDER)
        return super().read(what)

    def write(self, what: Any) -> Codes:
        """Return the codes of assigning an attribute: mocks keep it."""
        return self.stored(what)

    def asked(self, *, for_order: bool) -> Codes:
        """Return the codes of asking for the calls, or for their order."""
        is_known = self.shared.note(self.sort, "asked for calls")
        if for_order:
            is_known = self.shared.note(self.sort, "asked for order") and is_known
        return (self.at("calls", Mode.READ, " calls"),) if is_known else ()

    def called(self) -> Codes:
        """Return the codes of remembering a call."""
        if not self.shared.happens(self.sort, "asked for calls"):
            return ()
        in_order = self.shared.happens(self.sort, "asked for order")
        return (self.at("calls", Mode.WRITE if in_order else Mode.ADD, " calls"),)

    def forgotten(self) -> Codes:
        """Return the codes of forgetting the calls, in whatever order they came."""
        self.asked(for_order=True)
        return self.called()

    def answers(self, mock: Any) -> Codes:
        """Return the codes of looking up what a call returns."""
        codes = (*self["return_value"], *self["side_effect"])
        if isinstance(attributes_of(mock).get("_mock_side_effect"), Iterator):
            codes = (*codes, self.at("results", Mode.WRITE, " results"))
        return codes


def _parent_of(mock: Any) -> Any:
    return attributes_of(mock).get("_mock_new_parent")


def _table_of(mock: Any) -> MockTable | None:
    """Return the table of a mock that others can reach."""
    table = published.get(id(mock))
    if table is None and _parent_of(mock) is not None:
        above = _table_of(_parent_of(mock))
        if above is not None:
            table = above.part(mock)
            above.shared.enter(mock, table)
    return table if isinstance(table, MockTable) else None


def _increment_mock_call(self: Any, /, *args: Any, **kwargs: Any) -> None:
    """Remember a call, in a step in which its result is looked up as well."""
    table = _table_of(self) if control.current() is not None else None
    if table is not None:
        for value in (*args, *kwargs.values()):
            slots.hand_out(value, f"argument of {table.label}")
        _say_called(self, table)
    _original_increment(self, *args, **kwargs)


def _say_called(mock: Any, table: MockTable) -> None:
    """Announce that a mock, and those that it hangs on, remember a call; and what it returns."""
    codes = table.answers(mock)
    while mock is not None and (above := _table_of(mock)) is not None:
        codes = (*codes, *above.called())
        mock = _parent_of(mock)
    hooks.say(codes)


async def _execute_mock_call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Await what an asynchronous mock returned: that is remembered, and the answer looked up."""
    table = _table_of(self) if control.current() is not None else None
    if table is not None:
        _say_called(self, table)
    return await _original_execute(self, *args, **kwargs)


def _get_child_mock(self: Any, /, **kwargs: Any) -> Any:
    """Make a mock that hangs on this one, and name it if others can reach it."""
    child = _original_child(self, **kwargs)
    if control.current() is not None:
        _table_of(child)
    return child


def _announcing(codes_of: Callable[[MockTable], Codes]) -> Any:
    """Stand for a method that does something with what a mock remembers."""

    def call(function: Any, /, *args: Any, **kwargs: Any) -> Any:
        table = published.get(id(function.__self__))
        if isinstance(table, MockTable):
            hooks.say(codes_of(table))
        return function(*args, **kwargs)

    return call


def _patching(original: Any) -> Any:
    """Stand for a method that begins or ends `patch`: it assigns an attribute of something."""

    def call(self: Any, *args: Any) -> Any:
        if control.current() is None:
            return original(self, *args)
        return assign(self.getter(), self.attribute, lambda: original(self, *args), _PATCH)

    return call


def _patching_items(original: Any) -> Any:
    """Stand for a method that begins or ends `patch.dict`: it changes a dictionary."""

    def call(self: Any) -> Any:
        return change_items(self.in_dict, self.values, lambda: original(self), _PATCH)

    return call


_PATCH = "unittest.mock.patch"
_Patch: Any = unittest.mock._patch
_PatchDict: Any = unittest.mock._patch_dict
_Mock = unittest.mock.NonCallableMock
_Callable: Any = unittest.mock.CallableMixin
_original_increment: Any = _Callable._increment_mock_call
_original_child: Any = _Mock._get_child_mock
_Async: Any = unittest.mock.AsyncMockMixin
_original_execute: Any = _Async._execute_mock_call
_execute_mock_call.__qualname__ = _original_execute.__qualname__
register(_Mock, MockTable, children_of_instance)
for _kind, _names, _codes_of in (
    ("NonCallableMock", _ASSERTIONS_ON_COUNTS, lambda table: table.asked(for_order=False)),
    ("NonCallableMock", _ASSERTIONS_ON_ORDER, lambda table: table.asked(for_order=True)),
    ("NonCallableMock", ("reset_mock",), MockTable.forgotten),
    ("AsyncMockMixin", _ON_COUNTS_OF_AWAITS, lambda table: table.asked(for_order=False)),
    ("AsyncMockMixin", _ON_ORDER_OF_AWAITS, lambda table: table.asked(for_order=True)),
    ("AsyncMockMixin", ("reset_mock",), MockTable.forgotten),
):
    for _name in _names:
        LIBRARY["unittest.mock", f"{_kind}.{_name}"] = _announcing(_codes_of)

PATCHES = Patches(
    attributes=[
        (_Callable, "_increment_mock_call", _increment_mock_call),
        (_Async, "_execute_mock_call", _execute_mock_call),
        (_Mock, "_get_child_mock", _get_child_mock),
        (_Patch, "__enter__", _patching(_Patch.__enter__)),
        (_Patch, "__exit__", _patching(_Patch.__exit__)),
        (_PatchDict, "_patch_dict", _patching_items(_PatchDict._patch_dict)),
        (_PatchDict, "_unpatch_dict", _patching_items(_PatchDict._unpatch_dict)),
    ]
)
