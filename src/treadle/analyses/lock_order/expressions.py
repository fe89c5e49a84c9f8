"""What an expression may be, given what variables hold."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from treadle.analyses.lock_order.calls import YIELDED, CallValues, rest_of
from treadle.analyses.lock_order.sources import MANAGERS, Function, Place, place_of
from treadle.analyses.lock_order.values import (
    NOTHING,
    PLAIN,
    ClassValue,
    Container,
    FunctionValue,
    Instance,
    Known,
    Outside,
    Site,
    Value,
    Values,
    attribute_slot,
    item_slot,
    return_slot,
)

if TYPE_CHECKING:
    from treadle.analyses.lock_order.points_to import PointsTo

_MANY = ast.ListComp | ast.SetComp | ast.GeneratorExp
_DEEPEST = 4
"""How many names lead to something of a library at most: `concurrent.futures.thread.X`."""


class Expressions:
    """Evaluates expressions."""

    def __init__(self, points_to: PointsTo) -> None:
        self._to = points_to
        self.calls = CallValues(points_to, self)
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
                return self.calls.of(node, function)
            case ast.Subscript(value=value, slice=index):
                found = self.of(value, function)
                return found if isinstance(index, ast.Slice) else self.items(found)
            case ast.BinOp(left=left, right=right):
                both = self.of(left, function) | self.of(right, function)
                return frozenset(one for one in both if isinstance(one, Container)) or PLAIN
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
            case ast.Yield() | ast.YieldFrom():
                self._yield(node, function)
                return NOTHING
            case _:
                return self._container(node, function)

    def _yield(self, node: ast.Yield | ast.YieldFrom, function: Function) -> None:
        """Let a manager give what it yields, and a generator be a container of that."""
        found = self.of(node.value, function) if node.value is not None else NOTHING
        if isinstance(node, ast.YieldFrom):
            found = self.items(found)
        if function.is_decorated(*MANAGERS):
            self._to.add(return_slot(function.name), found)
            return
        made = rest_of(function, YIELDED)
        self._to.add(item_slot(made), found)
        self._to.add(return_slot(function.name), frozenset({made}))

    def _container(self, node: ast.expr, function: Function) -> Values:
        """Return the container that a display or a comprehension makes."""
        made = Container(place_of(node, function), node.col_offset)
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            parts = node.elts
        elif isinstance(node, ast.Dict):
            parts = [*filter(None, node.keys), *node.values]
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
            self._to.assign(one.target, found, function)
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
            elif isinstance(owner, FunctionValue):
                found |= self._to.get(attribute_slot(owner.name, name))
            elif isinstance(owner, Outside) and not owner.name.startswith("builtins."):
                found |= _part_of(owner, name)
        return found or (NOTHING if is_known(owners) else self._by_name(name))

    def _by_name(self, name: str) -> Values:
        """Return what an attribute of an unknown object may be: that of any class."""
        found: Values = NOTHING
        for values in self._to.attributes_named(name):
            found |= frozenset(one for one in values if isinstance(one, Site | Instance))
        for method in self._to.sources.methods_named(name):
            if not method.is_decorated("property", "cached_property"):
                found |= self._to.method_value(method, is_bound=True)
        return found

    def items(self, values: Values) -> Values:
        """Return what is in containers, or comes out of what is iterated."""
        found: Values = NOTHING
        for value in values:
            if isinstance(value, Container):
                found |= self._to.get(item_slot(value))
            elif isinstance(value, Instance):
                found |= self._items_of(value)
        nested = [one for one in found if isinstance(one, Container)]
        for one in nested:  # a pair of a dictionary, a row of a table
            found |= self._to.get(item_slot(one))
        return found

    def _items_of(self, value: Instance) -> Values:
        """Return what an object of a class gives by an index, or one by one."""
        found: Values = NOTHING
        for name in ("__getitem__", "__next__", "__iter__"):
            for method in self._to.attribute(value.name, name, is_bound=True):
                if isinstance(method, FunctionValue):
                    found |= self._to.get(return_slot(method.name))
        return found

    def entered(self, managers: Values) -> Values:
        """Return what `with` gives for what it enters."""
        found: Values = NOTHING
        for manager in managers:
            if isinstance(manager, Instance):
                for method in self._to.attribute(manager.name, "__enter__", is_bound=True):
                    if isinstance(method, FunctionValue):
                        found |= self._to.get(return_slot(method.name))
            elif isinstance(manager, Container):  # by `contextlib.nullcontext` or `closing`
                found |= self._to.get(item_slot(manager))
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
