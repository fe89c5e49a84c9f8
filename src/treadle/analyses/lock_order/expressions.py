"""What an expression may be, given what variables hold."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from treadle.analyses.lock_order.sources import Function, Place
from treadle.analyses.lock_order.values import (
    MAKERS,
    NOTHING,
    ClassValue,
    Container,
    FunctionValue,
    Instance,
    Kind,
    Known,
    Outside,
    Site,
    Value,
    Values,
    attribute_slot,
    item_slot,
    local_slot,
    lock_slot,
    return_slot,
    target_slot,
)

if TYPE_CHECKING:
    from treadle.analyses.lock_order.points_to import PointsTo

_PUT = frozenset({"append", "add", "appendleft", "insert", "extend", "update", "setdefault"})
"""Methods of containers whose arguments, or the items of these, are in it afterwards."""
_TAKE = frozenset({"get", "pop", "popleft", "popitem", "setdefault", "__getitem__"})
_VIEWS = frozenset({"values", "items", "keys", "copy"})
_MANY = ast.ListComp | ast.SetComp | ast.GeneratorExp
_PASSING = frozenset({"list", "tuple", "set", "dict", "sorted", "reversed", "iter", "deque"})
"""Builtins whose result has the items of their argument."""
_PICKING = frozenset({"next", "min", "max", "getattr"})
"""Builtins that give something that was in their argument."""
_WRAPPERS = frozenset({"functools.partial", "functools.wraps", "weakref.proxy", "typing.cast"})
_FACTORIES = frozenset({"collections.defaultdict"})
PLAIN: Values = frozenset({Outside("a plain value")})
"""A number, a text, or an object of a library: its parts and what its methods give are such, too.

That they call something back which they were given is not seen."""
_DEEPEST = 4
"""How many names lead to something of a library at most: `concurrent.futures.thread.X`."""


class Expressions:
    """Evaluates expressions."""

    def __init__(self, points_to: PointsTo) -> None:
        self._to = points_to
        self.repeats = False
        """Whether the present statement may run several times in one call of its function."""

    def of(self, node: ast.expr, function: Function) -> Values:
        """Return what an expression in a function may be."""
        match node:
            case ast.Name(id=name):
                slot = self._to.slot_of_name(name, function)
                unbound = NOTHING if slot[0] == "local" else {Outside(f"builtins.{name}")}
                return self._to.get(slot) or frozenset(unbound)
            case ast.Constant(value=value):
                return NOTHING if value is None else PLAIN
            case ast.JoinedStr() | ast.Compare():
                self._parts(node, function)
                return PLAIN
            case ast.Attribute(value=value, attr=name):
                return self.attribute(self.of(value, function), name)
            case ast.Call():
                return self._call(node, function)
            case ast.Subscript(value=value):
                return self.items(self.of(value, function))
            case ast.Lambda():
                return frozenset({FunctionValue(self._to.sources.by_node[node].name)})
            case ast.IfExp(body=first, orelse=second):
                return self.of(first, function) | self.of(second, function)
            case ast.BoolOp(values=parts):
                return frozenset().union(*(self.of(part, function) for part in parts))
            case ast.NamedExpr(target=target, value=value):
                found = self.of(value, function)
                self._to.add(self._to.slot_of_name(target.id, function), found)
                return found
            case ast.Await(value=value) | ast.Starred(value=value):
                return self.of(value, function)
            case ast.Yield(value=value) if value is not None:
                self._to.add(return_slot(function.name), self.of(value, function))
                return NOTHING
            case _:
                return self._container(node, function)

    def _container(self, node: ast.expr, function: Function) -> Values:
        """Return the container that a display or a comprehension makes."""
        made = Container(place_of(node, function), node.col_offset)
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            parts = node.elts
        elif isinstance(node, ast.Dict):
            parts = node.values
        elif isinstance(node, _MANY | ast.DictComp):
            return self._comprehension(node, function, made)
        else:
            self._parts(node, function)
            return NOTHING
        for part in parts:
            self._to.add(item_slot(made), self.of(part, function))
        return frozenset({made})

    def _parts(self, node: ast.expr, function: Function) -> None:
        """Evaluate what is inside of something whose own value does not matter."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.of(child, function)

    def _comprehension(
        self,
        node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp,
        function: Function,
        made: Container,
    ) -> Values:
        for one in node.generators:
            found = self.items(self.of(one.iter, function))
            targets = one.target.elts if isinstance(one.target, ast.Tuple) else [one.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    self._to.add(self._to.slot_of_name(target.id, function), found)
        before, self.repeats = self.repeats, True
        part = node.value if isinstance(node, ast.DictComp) else node.elt
        self._to.add(item_slot(made), self.of(part, function))
        self.repeats = before
        return frozenset({made})

    # Parts of values

    def attribute(self, owners: Values, name: str) -> Values:
        """Return what an attribute of values may be."""
        found: Values = NOTHING
        for owner in owners:
            if isinstance(owner, Instance | ClassValue):
                is_bound = isinstance(owner, Instance)
                is_super = isinstance(owner, Instance) and owner.is_super
                found |= self._to.attribute(owner.name, name, is_bound=is_bound, is_super=is_super)
            elif isinstance(owner, Known):
                found |= self._to.of_module(owner.name, name)
            elif isinstance(owner, Outside) and not owner.name.startswith("builtins."):
                found |= _part_of(owner, name)
        return found or (NOTHING if is_known(owners) else self._by_name(name))

    def _by_name(self, name: str) -> Values:
        """Return what an attribute of an unknown object may be: that of any class."""
        found: Values = NOTHING
        for values in self._to.attributes_named(name):
            found |= frozenset(one for one in values if isinstance(one, Site | Instance))
        for method in self._to.sources.methods_named(name):
            found |= {FunctionValue(method.name, is_bound=True)}
        return found

    def items(self, values: Values) -> Values:
        """Return what is in containers, or comes out of what is iterated."""
        found: Values = NOTHING
        for value in values:
            if isinstance(value, Container):
                found |= self._to.get(item_slot(value))
        nested = [one for one in found if isinstance(one, Container)]
        for one in nested:  # a pair of a dictionary, a row of a table
            found |= self._to.get(item_slot(one))
        return found

    def entered(self, managers: Values) -> Values:
        """Return what `with` gives for what it enters."""
        found: Values = NOTHING
        for manager in managers:
            if isinstance(manager, Instance):
                for method in self._to.attribute(manager.name, "__enter__", is_bound=True):
                    if isinstance(method, FunctionValue):
                        found |= self._to.get(return_slot(method.name))
            else:
                found |= {manager}
        return found

    def put_into(self, containers: Values, values: Values) -> None:
        """Let containers hold values, too."""
        for one in containers:
            if isinstance(one, Container):
                self._to.add(item_slot(one), values)

    def annotated(self, node: ast.expr, function: Function) -> Values:
        """Return what an annotation says that a variable holds."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                node = ast.parse(node.value, mode="eval").body
            except SyntaxError:
                return NOTHING
        if isinstance(node, ast.BinOp):
            return self.annotated(node.left, function) | self.annotated(node.right, function)
        if isinstance(node, ast.Subscript):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            inside = frozenset[Value]().union(*(self.annotated(part, function) for part in parts))
            if getattr(node.value, "id", "") in ("Optional", "Union", "Annotated", "ClassVar"):
                return inside
            made = Container(Place(function.module.file, -id(node), 0), 0)
            self._to.add(item_slot(made), inside)
            return frozenset({made}) if inside else NOTHING
        if not isinstance(node, ast.Name | ast.Attribute):
            return NOTHING
        found = self.of(node, function)
        return frozenset(Instance(one.name) for one in found if isinstance(one, ClassValue))

    # Calls

    def _call(self, node: ast.Call, function: Function) -> Values:
        arguments = [self.of(one, function) for one in node.args]
        named = {one.arg: self.of(one.value, function) for one in node.keywords}
        found: Values = NOTHING
        for callee in self.of(node.func, function):
            found |= self.call(callee, arguments, named, node, function)
        if isinstance(node.func, ast.Attribute):
            owners = self.of(node.func.value, function)
            found |= self._method_of_known(owners, node.func.attr, arguments, named, node, function)
        return found

    def call(
        self,
        callee: Value,
        arguments: list[Values],
        named: dict[str | None, Values],
        node: ast.Call,
        function: Function,
    ) -> Values:
        """Return what a call of a value may give; bind the arguments to parameters."""
        if isinstance(callee, Outside):
            return self._outside(callee.name, arguments, named, node, function)
        if isinstance(callee, ClassValue):
            made = frozenset[Value]({Instance(callee.name)})
            for method in self._to.attribute(callee.name, "__init__", is_bound=True):
                if isinstance(method, FunctionValue):
                    self._bind(method, arguments, named)
            for name, values in named.items():  # the fields of a data class
                if name is not None:
                    self._to.add(attribute_slot(callee.name, name), values)
            return made | self._thread_of_class(callee.name, node, function)
        if isinstance(callee, FunctionValue):
            self._bind(callee, arguments, named)
            return self._to.get(return_slot(callee.name))
        if isinstance(callee, Instance):
            found: Values = NOTHING
            for method in self._to.attribute(callee.name, "__call__", is_bound=True):
                if isinstance(method, FunctionValue):
                    found |= self.call(method, arguments, named, node, function)
            return found
        return NOTHING

    def _bind(
        self, callee: FunctionValue, arguments: list[Values], named: dict[str | None, Values]
    ) -> None:
        target = self._to.sources.functions[callee.name]
        names = target.parameters[1:] if callee.is_bound else target.parameters
        for name, values in zip(names, arguments, strict=False):
            self._to.add(local_slot(callee.name, name), values)
        for keyword, values in named.items():
            if keyword is not None:
                self._to.add(local_slot(callee.name, keyword), values)

    def _outside(
        self,
        name: str,
        arguments: list[Values],
        named: dict[str | None, Values],
        node: ast.Call,
        function: Function,
    ) -> Values:
        """Return what a call of something that is not analysed gives."""
        short = name.rpartition(".")[2]
        if name in MAKERS:
            return frozenset({self._made(MAKERS[name], arguments, named, node, function)})
        if name in _WRAPPERS:
            return frozenset().union(*arguments[-1:] if short == "cast" else arguments[:1])
        if short == "field" and "default_factory" in named:
            return self._called(named["default_factory"], node, function)
        if name in _FACTORIES:
            made = Container(place_of(node, function), node.col_offset)
            for values in arguments[:1]:
                self._to.add(item_slot(made), self._called(values, node, function))
            return frozenset({made})
        if short in _PASSING:
            made = Container(place_of(node, function), node.col_offset)
            for values in arguments:
                self._to.add(item_slot(made), self.items(values))
            return frozenset({made})
        if short in _PICKING:
            return self.items(frozenset().union(*arguments))
        if name == "builtins.super":
            return self._bases_of(function)
        return PLAIN

    def _bases_of(self, function: Function) -> Values:
        """Return what `super()` stands for in a method."""
        heritage = self._to.lines_of_descent(function.owner)[1:2]
        return frozenset(Instance(one.name, is_super=True) for one in heritage) or PLAIN

    def _called(self, factories: Values, node: ast.Call, function: Function) -> Values:
        """Return what factories give that are called again and again."""
        before, self.repeats = self.repeats, True
        found = frozenset[Value]().union(
            *(self.call(one, [], {}, node, function) for one in factories)
        )
        self.repeats = before
        return found

    def _made(
        self,
        kind: Kind,
        arguments: list[Values],
        named: dict[str | None, Values],
        node: ast.Call,
        function: Function,
    ) -> Site:
        is_single = isinstance(function.node, ast.Module) and not self.repeats
        bounds = [*node.args, *(one.value for one in node.keywords if one.arg == "maxsize")]
        is_bounded = kind is Kind.QUEUE and any(
            not isinstance(one, ast.Constant) or bool(one.value) for one in bounds
        )
        site = Site(kind, place_of(node, function), node.col_offset, is_single, is_bounded)
        if kind is Kind.CONDITION:
            given = [*arguments[:1], *([named["lock"]] if "lock" in named else [])]
            for values in given:
                self._to.add(lock_slot(site), values)
        if kind is Kind.THREAD:
            targets = [named[key] for key in ("target", "function") if key in named]
            for values in [*arguments[1:2], *targets]:
                self._start(site, values, arguments, named, node, function)
        return site

    def _start(
        self,
        site: Site,
        functions: Values,
        arguments: list[Values],
        named: dict[str | None, Values],
        node: ast.Call,
        function: Function,
    ) -> None:
        """Let what is made at a site run functions, with the arguments `args`."""
        self._to.add(target_slot(site), functions)
        given = next((one.value for one in node.keywords if one.arg == "args"), None)
        if isinstance(given, ast.Tuple | ast.List):
            arguments = [self.of(one, function) for one in given.elts]
        for one in functions:
            self.call(one, arguments, {}, node, function)
        del named

    def _thread_of_class(self, name: str, node: ast.Call, function: Function) -> Values:
        """Return the thread that an instance of a class derived from `Thread` is."""
        for owner in self._to.lines_of_descent(name):
            top = self._to.sources.functions[f"{owner.module.name}.<module>"]
            for base in owner.node.bases:
                if Outside("threading.Thread") in self.of(base, top):
                    site = Site(Kind.THREAD, place_of(node, function), node.col_offset, False)
                    self._to.add(target_slot(site), self._to.attribute(name, "run", is_bound=True))
                    return frozenset({site})
        return NOTHING

    def _method_of_known(
        self,
        owners: Values,
        name: str,
        arguments: list[Values],
        named: dict[str | None, Values],
        node: ast.Call,
        function: Function,
    ) -> Values:
        """Return what methods of containers and pools give."""
        found: Values = NOTHING
        for owner in owners:
            if isinstance(owner, Container):
                if name in _PUT:
                    for values in arguments:
                        self._to.add(item_slot(owner), values | self.items(values))
                found |= self._to.get(item_slot(owner)) if name in _TAKE else NOTHING
                found |= {owner} if name in _VIEWS else NOTHING
            elif isinstance(owner, Site) and owner.kind is Kind.POOL and name in ("submit", "map"):
                future = Site(Kind.FUTURE, place_of(node, function), node.col_offset, False)
                self._start(future, frozenset().union(*arguments[:1]), arguments[1:], named,
                            node, function)  # fmt: skip
                found |= {future}
        return found


def _part_of(owner: Outside, name: str) -> Values:
    """Return an attribute of a library's module or class."""
    if owner in PLAIN or owner.name.count(".") >= _DEEPEST:
        return PLAIN
    return frozenset({Outside(f"{owner.name}.{name}")})


def is_known(values: Values) -> bool:
    """Tell whether something is known about a value, so that nothing has to be guessed."""
    return any(
        not isinstance(one, Outside) or not one.name.startswith("builtins.") for one in values
    )


def place_of(node: ast.expr | ast.stmt, function: Function) -> Place:
    """Return where a part of a function stands."""
    return Place(function.module.file, node.lineno, node.end_lineno or node.lineno)
