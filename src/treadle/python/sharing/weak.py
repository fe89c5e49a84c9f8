"""Weak references, proxies and finalizers: what they lead to is shared with whoever has them."""

from __future__ import annotations

import types
import weakref
from typing import Any

from treadle.core.events import Codes
from treadle.python.runtime.atoms import ATOMS
from treadle.python.runtime.looking import module_of_class
from treadle.python.sharing import finalizers
from treadle.python.sharing.children import (
    Children,
    children_of_finalizer,
    children_of_proxy,
    children_of_reference,
)
from treadle.python.sharing.lives import lives
from treadle.python.sharing.tables import ObjectTable, Table
from treadle.python.sharing.walks import register

_LASTING = (type, types.ModuleType)
"""Only the garbage collector takes these away: there is nothing to say of them."""


def _nothing() -> None:
    """Stand for a weak reference to what is dead already."""


class WeakProxyTable(Table):
    """A weak proxy: its attributes are those of what it stands for, which is published too."""

    __slots__ = ("target",)

    counts = True
    target: Any
    """Returns what the proxy stands for."""

    def begin(self, value: Any) -> None:
        """Find what the proxy stands for."""
        self.forget()
        found = next(children_of_proxy(value, ""), None)
        self.target = _nothing if found is None else weakref.ref(found[0])
        if found is not None:
            lives.watch(found[0])

    def read(self, what: Any) -> Codes:
        """Return the codes of reading an attribute of what the proxy stands for."""
        table = self._table()
        return (*self._life(), *(() if table is None else table[what]))

    def write(self, what: Any) -> Codes:
        """Return the codes of writing an attribute of what the proxy stands for."""
        table = self._table()
        return (*self._life(), *(() if table is None else table.writes[what]))

    def _life(self) -> Codes:
        lives.meet_end(self.target)
        return lives.following(self.target)

    def _table(self) -> Table | None:
        return self.shared.published.get(id(self.target()))


def _children(value: Any, label: str) -> Children:
    """Yield what a weak reference leads to: from now on Treadle says when that dies."""
    found = list(children_of_reference(value, label))
    led_to = found[0][0]
    kind = type(led_to)
    is_of_loop = module_of_class(kind).startswith("asyncio.")  # a stream's reader, say: it stays
    stays = kind in ATOMS or issubclass(kind, _LASTING) or is_of_loop
    if not stays and not lives.watch(led_to):
        finalizers.refers_weakly("weakref.ref")
    return iter(found)


register(weakref.ref, None, _children)
register(weakref.ProxyType, WeakProxyTable, children_of_proxy)
register(weakref.CallableProxyType, WeakProxyTable, children_of_proxy)
register(weakref.finalize, ObjectTable, children_of_finalizer)
