"""What a call may give, and what it binds to the parameters of what it calls."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from treadle.analyses.lock_order.sources import Function, Place, place_of
from treadle.analyses.lock_order.values import (
    ANY,
    MAKERS,
    NOTHING,
    PLAIN,
    ClassValue,
    Container,
    FunctionValue,
    Instance,
    Kind,
    Outside,
    Site,
    Value,
    Values,
    attribute_slot,
    item_slot,
    local_slot,
    lock_slot,
    made_slot,
    return_slot,
    target_slot,
)

if TYPE_CHECKING:
    from treadle.analyses.lock_order.expressions import Expressions
    from treadle.analyses.lock_order.points_to import PointsTo

_PUT = frozenset({"append", "add", "appendleft", "insert", "extend", "update", "setdefault"})
"""Methods of containers whose arguments, or the items of these, are in it afterwards."""
_TAKE = frozenset({"get", "pop", "popleft", "popitem", "setdefault", "__getitem__"})
_VIEWS = frozenset({"values", "items", "keys", "copy"})
_PASSING = frozenset(
    {
        *("list", "tuple", "set", "frozenset", "dict", "sorted", "reversed", "iter", "deque"),
        *("OrderedDict", "WeakKeyDictionary", "WeakValueDictionary", "WeakSet", "ChainMap"),
        *("zip", "enumerate", "filter", "chain", "cycle", "islice", "product", "permutations"),
        *("combinations", "from_iterable", "as_completed"),
    }
)
"""What gives the items of its arguments."""
_KEEPING = frozenset({"contextlib.nullcontext", "contextlib.closing"})
"""Managers that give what they were given when they are entered."""
_PICKING = frozenset({"next", "min", "max"})
"""Builtins that give something that was in their argument."""
CALLING_BACK = frozenset(
    {
        *("builtins.map", "builtins.filter", "builtins.sorted", "builtins.min", "builtins.max"),
        *("functools.reduce", "itertools.starmap", "itertools.takewhile", "itertools.dropwhile"),
    }
)
"""What calls functions that it was given."""
_POSITIONS_OF_ARGS = {"threading.Thread": (3, 4), "threading.Timer": (2, 3)}
"""Where `args` and `kwargs` stand among the arguments of what makes threads."""
REST, KEYWORDS, YIELDED = range(3)
"""What a function has besides its variables: `*args`, `**kwargs`, and what it yields."""


def rest_of(function: Function, which: int) -> Container:
    """Return a container that a function makes by being called."""
    node = function.node
    line = 0 if isinstance(node, ast.Module) else node.lineno
    return Container(Place(function.module.file, line, line), -1 - which, function.name)


@dataclass(slots=True)
class Arguments:
    """What a call hands over."""

    positional: list[Values] = field(default_factory=list)
    named: dict[str, Values] = field(default_factory=dict)
    anywhere: Values = NOTHING
    """What may get to any parameter: by `*` and `**`."""

    def at(self, position: int, *names: str) -> Values:
        """Return the argument at a position, or with one of some names."""
        found = self.positional[position] if position < len(self.positional) else NOTHING
        return found.union(*(self.named.get(name, NOTHING) for name in names))

    @property
    def all(self) -> Values:
        """All of them together."""
        return self.anywhere.union(*self.positional, *self.named.values())


class CallValues:
    """Evaluates calls."""

    def __init__(self, points_to: PointsTo, expressions: Expressions) -> None:
        self._to = points_to
        self._expressions = expressions

    def of(self, node: ast.Call, function: Function) -> Values:
        """Return what a call in a function may give."""
        given = self.arguments_of(node, function)
        found: Values = NOTHING
        for callee in self._expressions.of(node.func, function):
            found |= self.call(callee, given, node, function)
        if isinstance(node.func, ast.Attribute):
            owners = self._expressions.of(node.func.value, function)
            if node.func.attr == "enter_context":
                found |= self._expressions.entered(given.at(0))
            found |= self._method_of_known(owners, node.func.attr, given, node, function)
        return found

    def arguments_of(self, node: ast.Call, function: Function) -> Arguments:
        """Return what a call hands over."""
        given = Arguments()
        for one in node.args:
            values = self._expressions.of(one, function)
            if isinstance(one, ast.Starred):
                given.anywhere |= _spread(self._expressions.items(values))
            elif given.anywhere:  # how many came before is not known
                given.anywhere |= values
            else:
                given.positional.append(values)
        for keyword in node.keywords:
            values = self._expressions.of(keyword.value, function)
            if keyword.arg is None:
                given.anywhere |= _spread(self._expressions.items(values))
            else:
                given.named[keyword.arg] = values
        return given

    def call(self, callee: Value, given: Arguments, node: ast.expr, function: Function) -> Values:
        """Return what a call of a value may give; bind the arguments to parameters."""
        if isinstance(callee, Outside):
            return self._outside(callee.name, given, node, function)
        if isinstance(callee, ClassValue):
            return self._instance(callee, given, node, function)
        if isinstance(callee, FunctionValue):
            self._bind(callee, given)
            return self._to.get(return_slot(callee.name))
        if isinstance(callee, Instance):
            found: Values = NOTHING
            for method in self._to.attribute(callee.name, "__call__", is_bound=True):
                if isinstance(method, FunctionValue):
                    found |= self.call(method, given, node, function)
            return found
        return NOTHING

    def _instance(
        self, callee: ClassValue, given: Arguments, node: ast.expr, function: Function
    ) -> Values:
        """Return an object of a class; give its fields their values if it is a data class."""
        has_own = False
        for name in ("__init__", "__new__"):
            for method in self._to.attribute(callee.name, name, is_bound=True):
                if isinstance(method, FunctionValue):
                    has_own = True
                    self._bind(method, given)
        for name, values in given.named.items():
            self._to.add(attribute_slot(callee.name, name), values)
        if not has_own:
            fields = [
                statement.target.id
                for owner in reversed(self._to.lines_of_descent(callee.name))
                for statement in owner.node.body
                if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
            ]
            for number, name in enumerate(fields):
                values = given.at(number) | given.anywhere
                self._to.add(attribute_slot(callee.name, name), values)
        return self._thing_of_class(callee.name, node, function) | {Instance(callee.name)}

    def _bind(self, callee: FunctionValue, given: Arguments) -> None:
        target = self._to.sources.functions[callee.name]
        if isinstance(target.node, ast.Module):
            return
        names = target.parameters[callee.given + int(callee.is_bound) :]
        keywords = [one.arg for one in target.node.args.kwonlyargs]
        for name, values in zip(names, given.positional, strict=False):
            self._to.add(local_slot(callee.name, name), values)
        for values in given.positional[len(names) :]:
            self._to.add(item_slot(rest_of(target, REST)), values)
        for keyword, values in given.named.items():
            if keyword in names or keyword in keywords:
                self._to.add(local_slot(callee.name, keyword), values)
            else:
                self._to.add(item_slot(rest_of(target, KEYWORDS)), values)
        if given.anywhere:
            for name in (*names, *keywords):
                self._to.add(local_slot(callee.name, name), given.anywhere)
            for which in (REST, KEYWORDS):
                self._to.add(item_slot(rest_of(target, which)), given.anywhere)

    def _outside(self, name: str, given: Arguments, node: ast.expr, function: Function) -> Values:
        """Return what a call of something that is not analysed gives."""
        short = name.rpartition(".")[2]
        if name in MAKERS:
            return frozenset({self._made(name, given, node, function)})
        if name in CALLING_BACK:
            self._call_back(given, node, function)
        if name == "functools.partial":
            return self._partial(given, node, function)
        if name in ("weakref.proxy", "typing.cast"):
            return given.at(1 if short == "cast" else 0)
        if short == "field" and "default_factory" in given.named:
            return self._called(given.named["default_factory"], node, function)
        if name in ("builtins.getattr", "builtins.setattr"):
            return self._by_its_name(given, node, is_read=short == "getattr")
        if short in _PICKING:
            return self._expressions.items(given.all)
        if name == "builtins.super":
            return self._bases_of(function)
        if name == "_thread.start_new_thread":
            self._run(None, given.at(0), self._handed_over(node, function, 1, 2), node, function)
            return PLAIN
        inside: Values | None = None
        if name == "collections.defaultdict":
            inside = self._called(given.at(0), node, function)
        elif name in _KEEPING:
            inside = given.at(0)
        elif short in _PASSING:
            inside = self._expressions.items(given.all).union(*given.named.values())
        if inside is None:
            return self._lock_of_library(name, node, function)
        made = Container(place_of(node, function), node.col_offset)
        self._to.add(item_slot(made), inside)
        return frozenset({made})

    def _lock_of_library(self, name: str, node: ast.expr, function: Function) -> Values:
        """Return a lock if a library calls it so: `filelock.FileLock`; else a plain value."""
        short = name.rpartition(".")[2]
        if not short.endswith("Lock") or name.startswith("builtins."):
            return PLAIN
        kind = Kind.RLOCK if short.endswith("RLock") else Kind.LOCK
        return frozenset({self._site(kind, node, function)})

    def _call_back(self, given: Arguments, node: ast.expr, function: Function) -> None:
        """Let a builtin call what it was given, with items of its other arguments."""
        items = Arguments(anywhere=self._expressions.items(given.all))
        for one in given.all:
            if isinstance(one, FunctionValue):
                self.call(one, items, node, function)

    def _partial(self, given: Arguments, node: ast.expr, function: Function) -> Values:
        bound = Arguments(given.positional[1:], given.named, given.anywhere)
        found: Values = NOTHING
        for one in given.at(0):
            self.call(one, bound, node, function)
            if isinstance(one, FunctionValue):
                filled = one.given + len(bound.positional)
                found |= {FunctionValue(one.name, one.is_bound, filled)}
            else:
                found |= {one}
        return found

    def _by_its_name(self, given: Arguments, node: ast.expr, *, is_read: bool) -> Values:
        """Read or write an attribute by `getattr` or `setattr`."""
        name = node.args[1] if isinstance(node, ast.Call) and len(node.args) > 1 else None
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            known = name.value
        else:
            known = ANY
        if is_read and known != ANY:
            return self._expressions.attribute(given.at(0), known) | given.at(2)
        found = given.at(2) if is_read else NOTHING
        for owner in given.at(0):
            if isinstance(owner, Instance | ClassValue):
                if is_read:
                    found |= self._to.sites_of(owner.name)
                else:
                    self._to.add(attribute_slot(owner.name, known), given.at(2))
        return found

    def _bases_of(self, function: Function) -> Values:
        """Return what `super()` stands for in a method."""
        heritage = self._to.lines_of_descent(function.owner)[1:2]
        return frozenset(Instance(one.name, is_super=True) for one in heritage) or PLAIN

    def _called(self, factories: Values, node: ast.expr, function: Function) -> Values:
        """Return what factories give that are called again and again."""
        before, self._expressions.repeats = self._expressions.repeats, True
        found = frozenset[Value]().union(
            *(self.call(one, Arguments(), node, function) for one in factories)
        )
        self._expressions.repeats = before
        return found

    # What threads wait for

    def _site(
        self, kind: Kind, node: ast.expr, function: Function, *, is_bounded: bool = False
    ) -> Site:
        is_single = isinstance(function.node, ast.Module) and not self._expressions.repeats
        return Site(kind, place_of(node, function), node.col_offset, is_single, is_bounded)

    def _made(self, name: str, given: Arguments, node: ast.expr, function: Function) -> Site:
        kind = MAKERS[name]
        is_bounded = kind is Kind.QUEUE and isinstance(node, ast.Call) and _has_bound(node)
        site = self._site(kind, node, function, is_bounded=is_bounded)
        if kind is Kind.CONDITION:
            self._to.add(lock_slot(site), given.at(0, "lock"))
        if kind is Kind.THREAD:
            handed = self._handed_over(node, function, *_POSITIONS_OF_ARGS[name])
            self._run(site, given.at(1, "target", "function"), handed, node, function)
        return site

    def _handed_over(self, node: ast.expr, function: Function, args: int, kwargs: int) -> Arguments:
        """Return what a thread gives to its function: what a tuple and a dictionary hold."""
        given = Arguments()
        if not isinstance(node, ast.Call):
            return given
        named = {one.arg: one.value for one in node.keywords}
        for key, position in (("args", args), ("kwargs", kwargs)):
            one = named.get(key) or (node.args[position] if position < len(node.args) else None)
            if one is None:
                continue
            if isinstance(one, ast.Tuple | ast.List) and not _has_star(one):
                given.positional = [self._expressions.of(part, function) for part in one.elts]
            else:
                values = self._expressions.of(one, function)
                given.anywhere |= _spread(self._expressions.items(values))
        return given

    def _run(
        self,
        site: Site | None,
        functions: Values,
        given: Arguments,
        node: ast.expr,
        function: Function,
    ) -> None:
        """Let what is made at a site run functions."""
        if site is not None:
            self._to.add(target_slot(site), functions)
        for callee in functions:
            self.call(callee, given, node, function)

    def _thing_of_class(self, name: str, node: ast.expr, function: Function) -> Values:
        """Return the thread or lock that an instance of a class derived from one is."""
        heritage = self._to.lines_of_descent(name)
        for owner in heritage:
            for base in owner.node.bases:
                for value in self._expressions.of(base, owner.scope):
                    if isinstance(value, Outside) and value.name in MAKERS:
                        site = self._site(MAKERS[value.name], node, function)
                        run = self._to.attribute(name, "run", is_bound=True)
                        self._to.add(target_slot(site), run)
                        for one in heritage:
                            self._to.add(made_slot(one.name), frozenset({site}))
                        return frozenset({site})
        return NOTHING

    def _method_of_known(
        self,
        owners: Values,
        name: str,
        given: Arguments,
        node: ast.Call,
        function: Function,
    ) -> Values:
        """Return what methods of containers, queues and pools give."""
        found: Values = NOTHING
        for owner in owners:
            if isinstance(owner, Container):
                if name in _PUT:
                    parts = frozenset(one for one in given.all if isinstance(one, Container))
                    self._to.add(item_slot(owner), given.all | self._expressions.items(parts))
                found |= self._to.get(item_slot(owner)) if name in _TAKE else NOTHING
                found |= {owner} if name in _VIEWS else NOTHING
            elif isinstance(owner, Site) and owner.kind is Kind.QUEUE:
                if name in ("put", "put_nowait"):
                    self._to.add(item_slot(owner), given.at(0, "item"))
                elif name in ("get", "get_nowait"):
                    found |= self._to.get(item_slot(owner))
            elif isinstance(owner, Site) and owner.kind is Kind.POOL and name in ("submit", "map"):
                found |= self._run_by_pool(owner, name, given, node, function)
        return found

    def _run_by_pool(
        self, pool: Site, name: str, given: Arguments, node: ast.Call, function: Function
    ) -> Values:
        future = Site(Kind.FUTURE, place_of(node, function), node.col_offset, False)
        rest = given.positional[1:]
        if name == "map":
            rest = [self._expressions.items(values) for values in rest]
        handed = Arguments(rest, given.named, given.anywhere)
        for site in (future, pool):
            self._run(site, given.at(0), handed, node, function)
        return frozenset({future})


def _spread(items: Values) -> Values:
    """Leave out what would make everything depend on everything: containers, plain values."""
    return frozenset(one for one in items if not isinstance(one, Container | Outside))


def _has_bound(node: ast.Call) -> bool:
    """Tell whether there may be no room in a queue that is made."""
    bounds = [*node.args, *(one.value for one in node.keywords if one.arg == "maxsize")]
    return any(not isinstance(one, ast.Constant) or bool(one.value) for one in bounds)


def _has_star(node: ast.Tuple | ast.List) -> bool:
    return any(isinstance(one, ast.Starred) for one in node.elts)
