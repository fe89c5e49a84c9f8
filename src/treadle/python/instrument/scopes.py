"""What the rewriter has to know about each module under test, found from all of them together."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from treadle.python.accesses import calls
from treadle.python.instrument.module_tables import variable_of
from treadle.python.instrument.scan import Facts, is_special
from treadle.python.instrument.scope import Scope
from treadle.python.runtime.looking import found_in, members_of, module_of_class
from treadle.python.sharing.namespaces import instrumented
from treadle.python.sharing.shared import FOREIGN_OPERATORS

_PLAIN_SPECIALS = frozenset({"__init__", "__post_init__", "__enter__", "__exit__"})
"""Special methods that are called where it shows."""
OF_FUNCTIONS = frozenset({"__code__", "__defaults__", "__kwdefaults__"})
"""Attributes of functions that decide what calling them does."""


@dataclass(frozen=True, slots=True)
class Names:
    """Names in the code under test that decide how any of its modules is rewritten."""

    stored: frozenset[str]
    """Attributes that are assigned."""
    assigned: frozenset[str]
    """Global variables that are assigned."""
    of_classes: frozenset[str]
    """Data that classes hold."""
    methods: frozenset[str]
    computed: frozenset[str]
    specials: frozenset[str]


def is_of_test(value: Any) -> bool:
    """Tell whether a value is a function or class of a module under test."""
    if type(value) is types.FunctionType:
        return id(value.__globals__) in instrumented
    return issubclass(type(value), type) and module_of_class(value) in calls.modules_under_test


class Scopes:
    """The scope of each module under test."""

    def __init__(
        self,
        namespaces: Mapping[int, tuple[str, dict[str, Any]]],
        *,
        gil: bool,
        item_by_item: bool,
    ) -> None:
        self._namespaces = namespaces
        self._gil = gil
        self._item_by_item = item_by_item
        self.facts: dict[Facts, None] = {}
        self.late: set[tuple[str, str]] = set()
        """Globals, with their modules, and attributes of classes that were seen to be assigned."""
        self._known: dict[int, Scope] = {}
        self._common: tuple[tuple[int, int], Names] | None = None
        """What `names` found, and how many facts and modules there were then."""

    def clear(self) -> None:
        """Forget all modules."""
        self._known.clear()
        self.facts.clear()
        self._common = None

    def add(self, facts: Facts) -> None:
        """Take in what code does that was not there before."""
        if facts not in self.facts:
            self.facts[facts] = None
            self._known.clear()

    def learn(self, late: set[tuple[str, str]]) -> bool:
        """Take in which names turned out to be assigned; tell whether that changes a scope."""
        self._common = None  # classes may have been added to modules meanwhile
        before = {key: self.made(*found) for key, found in self._namespaces.items()}
        self.late |= late
        self._known.clear()
        return any(self.made(*self._namespaces[key]) != scope for key, scope in before.items())

    def of(self, namespace: dict[str, Any]) -> Scope:
        """Return the scope of a module, as it was when somebody first asked."""
        scope = self._known.get(id(namespace))
        if scope is None:
            name, _ = self._namespaces[id(namespace)]
            scope = self._known[id(namespace)] = self.made(name, namespace)
        return scope

    def made(self, module: str, namespace: dict[str, Any]) -> Scope:
        """Return the scope of a module as it is now."""
        names = self.names()
        stored = names.stored
        assigned = names.assigned | {name for owner, name in self.late if owner == module}
        class_names = stored & names.of_classes | {name for owner, name in self.late if not owner}
        own = {
            name
            for name, value in namespace.items()
            if name not in stored and name not in assigned and is_of_test(value)
        }
        variables = {
            name: variable_of(module, name)
            for name in sorted((assigned | stored) & (namespace.keys() | assigned))
            if name in assigned or not isinstance(namespace[name], types.ModuleType)
        }
        replaced = {name for owner, name in self.late if owner == "builtins"}
        replaced -= namespace.keys() | assigned
        variables.update((name, variable_of("builtins", name)) for name in sorted(replaced))
        return Scope(
            variables=dict(variables),
            class_names=frozenset(class_names),
            shadowed=frozenset(set(namespace) | assigned | replaced),
            own=frozenset(own),
            methods=names.methods,
            computed=names.computed,
            specials=names.specials,
            meets_foreign_operators=FOREIGN_OPERATORS in self.late,
            replaces_specials=any(map(is_special, class_names | stored & OF_FUNCTIONS)),
            assigns_cells="cell_contents" in stored,
            gil=self._gil,
            item_by_item=self._item_by_item,
        )

    def names(self) -> Names:
        """Return the names that matter in all modules, which are the same for each."""
        version = len(self.facts), len(self._namespaces)
        if self._common is None or self._common[0] != version:
            facts = list(self.facts)
            found = Names(
                stored=frozenset(name for one in facts for name in one.attributes_stored),
                assigned=frozenset(name for one in facts for name in one.globals_stored),
                of_classes=frozenset(self._class_names()),
                methods=frozenset(name for one in facts for name in one.functions),
                computed=frozenset(name for one in facts for name in one.class_names),
                specials=frozenset(name for one in facts for name in one.specials)
                - _PLAIN_SPECIALS,
            )
            self._common = version, found
        return self._common[1]

    def _class_names(self) -> set[str]:
        """Return the names of data that classes under test hold."""
        names = {name for facts in self.facts for name in facts.class_names}
        used = {name for facts in self.facts for name in facts.names}
        for _, namespace in self._namespaces.values():
            for value in list(namespace.values()):
                if (
                    issubclass(type(value), type)
                    and module_of_class(value) in calls.modules_under_test
                ):
                    names.update(
                        name
                        for name, item in members_of(value).items()
                        if found_in(type(item), "__get__") is None
                    )
                elif issubclass(type(value), type):
                    names.update(members_of(value))
                elif issubclass(type(value), types.ModuleType):
                    names.update(self._names_of_classes(value, used))
        return names

    def _names_of_classes(self, module: types.ModuleType, used: set[str]) -> Iterator[str]:
        """Yield the names that classes of a library have which the code under test refers to."""
        for name in used.intersection(vars(module)):
            found = vars(module)[name]
            if issubclass(type(found), type) and not is_of_test(found):
                yield from members_of(found)
