"""What an operation may touch that runs code which is not looked into, or many objects at once."""

from __future__ import annotations

import types
import weakref
from collections import deque
from collections.abc import Iterable
from typing import Any

from treadle.core.events import OPEN, Codes
from treadle.python.accesses.uninstrumented import (
    behind,
    is_foreign,
    look_at_state_of,
    modules_under_test,
    special_methods,
    state_of,
)
from treadle.python.runtime import slots
from treadle.python.runtime.atoms import ATOMS
from treadle.python.runtime.looking import flags_of, module_of_class
from treadle.python.sharing import children
from treadle.python.sharing.containers import (
    AliasTable,
    ContainerTable,
    MappingProxyTable,
    whole_read,
    whole_write,
)
from treadle.python.sharing.lives import WEAK_MODULES, lives
from treadle.python.sharing.namespaces import instrumented
from treadle.python.sharing.nested import CALLED_IN_C, SHOWING, content, goes_on, shown_by
from treadle.python.sharing.tables import ObjectTable, Table

_INERT = (
    type, types.FunctionType, types.CellType, types.BuiltinFunctionType, types.MethodType,
    types.ModuleType, types.CodeType, types.FrameType,
)  # fmt: skip
_RESUMED = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)
"""What shows how far it is, as `inspect.getgeneratorstate` tells."""
_ON_ELEMENTS = ("__eq__", "__lt__", "__format__", "__bool__", "__add__", "__iter__")
"""What functions do with the elements of what they are given."""
_HEAP_TYPE = 1 << 9


class Reach:
    """Collects what an operation may touch that is not looked into."""

    def __init__(self, published: dict[int, Table]) -> None:
        self._published = published
        self._codes: dict[int, None] = {}
        self._is_open = False
        self._seen: set[int] = set()
        self._quiet: set[tuple[type, str]] = set()
        """Sorts of containers of which none changes in a way that shows in all of it."""
        self.missing: list[tuple[Any, str]] = []
        """What hangs on a published object and is not published: it was put there unseen."""
        self.notes: list[str] = []
        """Names of foreign functions that are called."""

    @property
    def codes(self) -> Codes:
        """What is touched, in a fixed order, what the operation is about first."""
        if not self._codes:
            return ()
        first, *others = self._codes
        return (first, *sorted(others), *([OPEN] if self._is_open else []))

    def _add(self, codes: Iterable[int]) -> None:
        self._codes.update(dict.fromkeys(codes))

    def touch(self, codes: Codes) -> None:
        """Add accesses that are known."""
        self._add(codes)

    def write(self, roots: Iterable[Any], others: Iterable[Any] = (), name: str = "") -> None:
        """Add that everything which hangs on some objects is written.

        Of the others only containers and objects of foreign classes are. `name` is an attribute
        that may be made.
        """
        self._is_open = True
        todo = deque([*((value, True) for value in roots), *((value, False) for value in others)])
        if any(module_of_class(type(value)) in WEAK_MODULES for value, is_root in todo if is_root):
            lives.expect(value for value, _ in todo)
        while todo and goes_on(self._seen):
            value, is_root = todo.popleft()
            value = value.__self__ if type(value) in CALLED_IN_C else value
            if type(value) in ATOMS or id(value) in self._seen or issubclass(type(value), _INERT):
                continue
            self._seen.add(id(value))
            parts = self._write_one(value, is_root, name)
            if not ATOMS.issuperset(map(type, parts)):  # of numbers and strings there are many
                todo += [(part, False) for part in parts if type(part) not in ATOMS]

    def _write_one(self, value: Any, is_root: bool, name: str) -> Iterable[Any]:
        """Add what is written of one object; return what hangs on it."""
        kind = type(value)
        table = self._published.get(id(value))
        if table is None:
            return value if kind in (tuple, frozenset) else ()
        foreign = is_foreign(kind)
        if module_of_class(kind) in WEAK_MODULES:
            self._add(lives.in_containers())
        if isinstance(table, ContainerTable):
            self._add(table.whole_write())
            found = content(value)
            self._miss(found, f"{table.label}[...]")
            if not foreign:
                return found
            return [*found, *self._write_attributes(value, table, name if is_root else "")]
        if type(table) is not ObjectTable:
            self._add(whole_write(table, ()) if is_root else ())
            return ()
        if not is_root and not foreign:
            return ()
        if foreign:
            self._add((state_of(table),))
        return self._write_attributes(value, table, name if is_root else "")

    def _write_attributes(self, value: Any, table: Any, name: str) -> list[Any]:
        if issubclass(type(value), types.GeneratorType):
            frame = value.gi_frame
            is_own = frame is None or id(frame.f_globals) in instrumented
            return [] if is_own else self._hidden(value, table)
        if not flags_of(type(value)) & _HEAP_TYPE:
            self._add(whole_write(table, ()))
            return self._hidden(value, table)
        held = {label[1:]: part for part, label in children.children_of_instance(value, "")}
        held = {key: part for key, part in held.items() if not issubclass(type(part), type)}
        for key, part in held.items():
            self._miss([part], f"{table.label}.{key}")
        self._add(whole_write(table, ()))
        for key in dict.fromkeys([*held, *([name] if name else [])]):
            self._add(table.stored(key))
        hidden = children.hidden_parts(value)
        self._miss(hidden, table.label)
        return [*held.values(), *hidden]

    def _hidden(self, value: Any, table: Table) -> list[Any]:
        """Return what an object in C holds."""
        found = children.parts_in_c(value)
        self._miss(found, table.label)
        return found

    def _miss(self, parts: Iterable[Any], label: str) -> None:
        """Take note of what hangs on something published, if it is not published itself."""
        for part in parts:
            kind = type(part)
            if kind in (tuple, frozenset):
                self._miss(part, label)
            elif (
                kind not in ATOMS
                and id(part) not in self._published
                and not issubclass(kind, weakref.ref)  # it depends on chance what those lead to
                and (not issubclass(kind, _INERT) or _is_under_test(part))
            ):
                self.missing.append((part, label))

    def read(
        self,
        roots: tuple[Any, ...],
        methods: tuple[str, ...] | None,
        deeply: bool = False,
        *,
        through: bool = False,
    ) -> None:
        """Add that some objects are read, with the containers in them.

        `methods` are the special methods that are called, None stands for any; `deeply` also reads
        the attributes of all objects that are met, and those of objects that are not published if
        it looks `through` them: the words of such an object are code under test.
        """
        todo: list[tuple[Any, tuple[str, ...] | None, bool]]
        todo = [(value, methods, False) for value in reversed(roots)]
        while todo and goes_on(self._seen):
            value, called, may_change = todo.pop()
            kind = type(value)
            if kind in ATOMS or id(value) in self._seen:
                continue
            table = self._published.get(id(value))
            if table is not None and self._runs_foreign(value, table, called):
                self.write([value])
                continue
            self._seen.add(id(value))
            if table is not None and issubclass(kind, _RESUMED):
                self._add((look_at_state_of(table),))
            if isinstance(table, ContainerTable):
                self._read_whole(table)
                self._is_open = self._is_open or may_change
                may_change = True
            elif (type(table) is ObjectTable or table is None) and (
                issubclass(kind, SHOWING)
                or (deeply and (through or table is not None) and not issubclass(kind, _INERT))
            ):
                self._add(whole_read(table) if table is not None else ())
                todo += [(part, _ON_ELEMENTS, True) for part in shown_by(value)]
                self._is_open = True
            todo += [(part, _ON_ELEMENTS, may_change) for part in content(value)]

    def _read_whole(self, table: ContainerTable) -> None:
        """Add that all of a container is read; there may be many of a sort that never changes."""
        sort = (type(table), table.sort)
        if sort not in self._quiet:
            codes = table.whole_read()
            self._add(codes)
            if not codes and not isinstance(table, AliasTable | MappingProxyTable):
                self._quiet.add(sort)

    def read_truths(self, root: Any) -> None:
        """Add that a container is gone through, and the truth of its elements asked for."""
        table = self._published.get(id(root))
        if table is not None and self._runs_foreign(root, table, ("__iter__",)):
            self.write([root])
            return
        if isinstance(table, ContainerTable):
            self._add(table.whole_read())
        for part in content(root):
            found = self._published.get(id(part))
            if found is None:
                continue
            if self._runs_foreign(part, found, ("__bool__",)):
                self.write([part])
            elif isinstance(found, ContainerTable):
                self._add(found.size())
                self._is_open = self._is_open or table is not None

    def _runs_foreign(self, value: Any, table: Table, methods: tuple[str, ...] | None) -> bool:
        kind = type(value)
        if not is_foreign(kind):
            return False
        if methods is None:
            methods = special_methods(kind)
        found = [
            one
            for one in (behind(kind, method) for method in methods)
            if one.name or (one.is_foreign and not isinstance(table, ContainerTable))
        ]
        self.notes += [one.name for one in found[:1] if one.name]
        for one in found:
            if one.function is not None:
                self._add(slots.met_by(one.function, value)[0])
        return bool(found)


def _is_under_test(value: Any) -> bool:
    """Tell whether a class, function or method is of code under test."""
    if issubclass(type(value), type):
        return module_of_class(value) in modules_under_test
    function = getattr(value, "__func__", value)
    return type(function) is types.FunctionType and id(function.__globals__) in instrumented
