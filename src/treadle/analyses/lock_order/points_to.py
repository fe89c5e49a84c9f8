"""What every variable may hold: points-to by allocation site, whatever the order of statements.

All objects of a class are one, and all items of a container. Bodies are gone through again and
again until no variable gets another value. Where nothing is known of an object, a method or an
attribute that is asked of it is looked for by its name in all classes that are analysed.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator

from treadle.analyses.lock_order.calls import Arguments, rest_of
from treadle.analyses.lock_order.effort import Effort, TooMuch
from treadle.analyses.lock_order.expressions import Expressions
from treadle.analyses.lock_order.sources import Class, Function, Module, Sources, last_name
from treadle.analyses.lock_order.values import (
    ANY,
    MAKERS,
    NOTHING,
    PLAIN,
    ClassValue,
    Container,
    FunctionValue,
    Instance,
    Known,
    Outside,
    Site,
    Slot,
    Value,
    Values,
    attribute_slot,
    decorated_slot,
    global_slot,
    local_slot,
    made_slot,
    return_slot,
)

_ROUNDS = 1000
"""More than any chain of assignments needs; the sets only grow, so it ends anyway."""
_MOST = 10_000_000
"""Values that are looked at; some seconds."""


class PointsTo:
    """The values of all variables."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self.names: dict[Site, str] = {}
        """What people call a site: the variable that it is kept in first."""
        self._values: dict[Slot, Values] = {}
        self.effort = Effort(_MOST)
        self._readers: dict[Slot, set[str | None]] = {}
        """Which functions and classes have looked at a slot; None: everybody depends on it."""
        self._reader: str | None = None
        self._dirty: set[str | None] = {None}
        """Who has to be gone through again, since what it looked at has got more values."""
        self._named: dict[str, set[Slot]] = {}
        """The attributes of all classes, by name."""
        self._packages = frozenset(
            ".".join(parts[:length])
            for parts in (name.split(".") for name in sources.modules)
            for length in range(1, len(parts) + 1)
        )
        """The names of modules that are analysed, and of the packages that they are in."""
        self._settled: dict[ast.expr, Values] = {}
        self._descent: dict[str, list[Class]] = {}
        self._heirs_of: dict[str, list[str]] = {}
        self.expressions = Expressions(self)

    def solve(self) -> None:
        """Find the values of all variables, or most of them if that takes too much."""
        with contextlib.suppress(TooMuch):
            self._solve()

    def _solve(self) -> None:
        for _ in range(_ROUNDS):
            dirty, self._dirty = self._dirty, set()
            self._descent.clear()
            self._heirs_of.clear()
            everybody = None in dirty
            for owner in self.sources.classes.values():
                if everybody or owner.name in dirty:
                    self._reader = owner.name
                    self._define_class(owner)
            for function in self.sources.functions.values():
                if everybody or function.name in dirty:
                    self._reader = function.name
                    self._go_through(function)
            if not self._dirty:
                return

    def settled(self, node: ast.expr, function: Function) -> Values:
        """Return what an expression may be, now that all variables are known."""
        if node not in self._settled:
            self._settled[node] = self.expressions.of(node, function)
        return self._settled[node]

    # Slots

    def get(self, slot: Slot) -> Values:
        """Return what a slot may hold."""
        self._readers.setdefault(slot, set()).add(self._reader)
        values = self._values.get(slot, NOTHING)
        self.effort.spend(1 + len(values))
        return values

    def add(self, slot: Slot, values: Values) -> None:
        """Let a slot hold values, too."""
        held = self._values.get(slot, NOTHING)
        if slot[0] == "item":
            values = _as_items(values)
        if values <= held:
            return
        self._values[slot] = held | values
        self._dirty |= self._readers.get(slot, set())
        if slot[0] == "attribute":
            self._named.setdefault(str(slot[2]), set()).add(slot)
            self._dirty |= self._readers.get(("named", slot[2]), set())
        if slot[0] == "global":
            self._dirty |= self._readers.get(("all", slot[1]), set())
        if slot[0] in ("global", "attribute", "local"):
            for value in values:
                if isinstance(value, Site):
                    self.names.setdefault(value, _variable_in_words(slot))

    def slots_of(self, kind: str) -> Iterator[tuple[Slot, Values]]:
        """Yield the slots of a kind with their values."""
        return ((slot, values) for slot, values in self._values.items() if slot[0] == kind)

    def attributes_named(self, name: str) -> Iterator[Values]:
        """Yield what the attributes of all classes may hold that have a name."""
        self._readers.setdefault(("named", name), set()).add(self._reader)
        return (self._values[slot] for slot in self._named.get(name, ()))

    # Names

    def slot_of_name(self, name: str, function: Function) -> Slot:
        """Return where a name that a function uses is kept."""
        scope: Function | None = function
        while scope is not None:
            if name in scope.variables:
                return local_slot(scope.name, name)
            scope = scope.outer
        return global_slot(function.module.name, name)

    def lines_of_descent(self, name: str) -> list[Class]:
        """Return a class and the classes that it derives from, nearest first."""
        if name not in self._descent:
            reader, self._reader = self._reader, None
            self._descent[name] = self._line_of(name)
            self._reader = reader
        return self._descent[name]

    def _line_of(self, name: str) -> list[Class]:
        found: dict[str, Class] = {}
        waiting = [name]
        while waiting:
            owner = self.sources.classes.get(waiting.pop(0))
            if owner is None or owner.name in found:
                continue
            found[owner.name] = owner
            for base in owner.node.bases:
                values = self.expressions.of(base, owner.scope)
                waiting += [one.name for one in values if isinstance(one, ClassValue)]
        return list(found.values())

    def attribute(self, owner: str, name: str, *, is_bound: bool, is_super: bool = False) -> Values:
        """Return what an attribute of a class, or of its instances, may be."""
        found: Values = NOTHING
        for one in (owner, *(() if is_super else self._heirs(owner))):
            for ancestor in self.lines_of_descent(one):
                found |= self.get(attribute_slot(ancestor.name, name))
                found |= self.get(attribute_slot(ancestor.name, ANY))
                if name in ancestor.methods:
                    for method in ancestor.methods[name]:
                        found |= self.method_value(method, is_bound=is_bound)
                    break
        return found

    def sites_of(self, owner: str) -> Values:
        """Return what any attribute of an instance may be that threads wait for.

        That is for an attribute whose name is not known; what methods it may be would be all.
        """
        owners = {
            ancestor.name
            for one in (owner, *self._heirs(owner))
            for ancestor in self.lines_of_descent(one)
        }
        found: Values = NOTHING
        for name, slots in list(self._named.items()):
            self._readers.setdefault(("named", name), set()).add(self._reader)
            for slot in slots:
                if slot[1] in owners:
                    found |= frozenset(v for v in self._values[slot] if isinstance(v, Site))
        return found

    def _heirs(self, name: str) -> list[str]:
        if not self._heirs_of:
            for heir in self.sources.classes:
                for one in self.lines_of_descent(heir):
                    self._heirs_of.setdefault(one.name, []).append(heir)
        return [heir for heir in self._heirs_of.get(name, ()) if heir != name]

    def method_value(self, method: Function, *, is_bound: bool) -> Values:
        """Return what a method is for whoever has its object, or its class."""
        if method.is_decorated("property", "cached_property"):
            return self.get(return_slot(method.name))
        if method.is_decorated("setter", "deleter"):
            return NOTHING
        decorated = self.get(decorated_slot(method.name))
        if decorated:
            return decorated
        if method.is_decorated("staticmethod"):
            return frozenset({FunctionValue(method.name)})
        is_bound = is_bound or method.is_decorated("classmethod")
        return frozenset({FunctionValue(method.name, is_bound)})

    # Definitions

    def _define_class(self, owner: Class) -> None:
        prefix, _, name = owner.name.rpartition(".")
        here = frozenset({ClassValue(owner.name)})
        if prefix in self.sources.classes:
            self.add(attribute_slot(prefix, name), here)
        elif prefix in self.sources.functions:
            self.add(local_slot(prefix, name), here)
        else:
            self.add(global_slot(prefix, name), here)
        top = owner.scope
        for statement in owner.node.body:
            if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
                values = self._value_in_class(statement.value, owner)
                targets = (
                    statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                )
                for target in targets:
                    if isinstance(target, ast.Name):
                        self.add(attribute_slot(owner.name, target.id), values)
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                annotated = self.expressions.annotated(statement.annotation, top)
                self.add(attribute_slot(owner.name, statement.target.id), annotated)

    def _value_in_class(self, node: ast.expr, owner: Class) -> Values:
        """Return what an expression in the body of a class may be, where methods have names."""
        found: Values = NOTHING
        is_property = isinstance(node, ast.Call) and last_name(node) == "property"
        for name in [node, *(node.args if isinstance(node, ast.Call) and is_property else [])]:
            for method in owner.methods.get(name.id, ()) if isinstance(name, ast.Name) else ():
                is_value = not is_property
                found |= {FunctionValue(method.name, is_bound=True)} if is_value else NOTHING
                found |= self.get(return_slot(method.name)) if is_property else NOTHING
        return found or self.expressions.of(node, owner.scope)

    def _go_through(self, function: Function) -> None:
        """Give values to what a function assigns."""
        self._define_function(function)
        waiting: list[tuple[ast.AST, bool]] = [(one, False) for one in function.body]
        while waiting:
            node, repeats = waiting.pop()
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                waiting += [(one, repeats) for one in node.decorator_list]
                continue
            if isinstance(node, ast.stmt):
                self.expressions.repeats = repeats
                self._statement(node, function)
            repeats = repeats or isinstance(node, ast.For | ast.While | ast.AsyncFor)
            if not isinstance(node, ast.expr):
                waiting += [(one, repeats) for one in ast.iter_child_nodes(node)]
        self.expressions.repeats = False

    def _define_function(self, function: Function) -> None:
        node = function.node
        if isinstance(node, ast.Module):
            return
        if function.owner and function.parameters and not function.is_decorated("staticmethod"):
            me = ClassValue if function.is_decorated("classmethod") else Instance
            first = local_slot(function.name, function.parameters[0])
            self.add(first, frozenset({me(function.owner)}))
            self.add(first, self.get(made_slot(function.owner)))
        self._decorate(function)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not function.owner:
            value = self.get(decorated_slot(function.name))
            value = value or frozenset({FunctionValue(function.name)})
            outer = function.outer
            if outer is None:
                self.add(global_slot(function.module.name, node.name), value)
            else:
                self.add(local_slot(outer.name, node.name), value)
        self._define_parameters(function, node.args)

    def _decorate(self, function: Function) -> None:
        """Find what a name stands for whose function has decorators that are analysed."""
        if not isinstance(function.node, ast.FunctionDef | ast.AsyncFunctionDef):
            return
        scope = function.outer or self.sources.functions[f"{function.module.name}.<module>"]
        plain = frozenset[Value]({FunctionValue(function.name)})
        values = plain
        for decorator in reversed(function.node.decorator_list):
            given = Arguments([values])
            found = frozenset[Value]().union(
                *(
                    self.expressions.calls.call(one, given, decorator, scope)
                    for one in self.expressions.of(decorator, scope)
                    if isinstance(one, FunctionValue | ClassValue | Instance)
                )
            )
            values = found or values
        if values == plain:
            return
        is_method = bool(function.owner) and not function.is_decorated("staticmethod")
        for one in values if is_method else ():
            if isinstance(one, FunctionValue) and (names := self.sources.functions[one.name]):
                me = ClassValue if function.is_decorated("classmethod") else Instance
                for name in names.parameters[:1]:
                    self.add(local_slot(one.name, name), frozenset({me(function.owner)}))
        self.add(
            decorated_slot(function.name),
            frozenset(
                FunctionValue(one.name, is_method) if isinstance(one, FunctionValue) else one
                for one in values
            ),
        )

    def _define_parameters(self, function: Function, arguments: ast.arguments) -> None:
        for one, kind in ((arguments.vararg, 0), (arguments.kwarg, 1)):
            if one is not None:
                self.add(local_slot(function.name, one.arg), frozenset({rest_of(function, kind)}))
        for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            if one.annotation is not None:
                annotated = self.expressions.annotated(one.annotation, function)
                self.add(local_slot(function.name, one.arg), annotated)
        named = (*arguments.posonlyargs, *arguments.args)
        for one, default in zip(reversed(named), reversed(arguments.defaults), strict=False):
            self.add(local_slot(function.name, one.arg), self.expressions.of(default, function))
        for one, given in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            if given is not None:
                self.add(local_slot(function.name, one.arg), self.expressions.of(given, function))

    # Statements

    def _statement(self, node: ast.stmt, function: Function) -> None:
        evaluate = self.expressions.of
        match node:
            case ast.Assign(targets=targets, value=value):
                values = evaluate(value, function)
                for target in targets:
                    self.assign(target, values, function, value)
            case ast.AnnAssign(target=target, value=value, annotation=annotation):
                found = self.expressions.annotated(annotation, function)
                found |= evaluate(value, function) if value is not None else NOTHING
                self.assign(target, found, function, value)
            case ast.AugAssign(target=target, value=value):
                self.assign(target, evaluate(value, function), function, value)
            case ast.For(target=target, iter=items) | ast.AsyncFor(target=target, iter=items):
                self.assign(target, self.expressions.items(evaluate(items, function)), function)
            case ast.Match(subject=subject, cases=cases):
                values = evaluate(subject, function)
                for pattern in (part for case in cases for part in ast.walk(case.pattern)):
                    if isinstance(pattern, ast.MatchAs | ast.MatchStar) and pattern.name:
                        slot = self.slot_of_name(pattern.name, function)
                        self.add(slot, values | self.expressions.items(values))
            case ast.With(items=managers) | ast.AsyncWith(items=managers):
                for manager in managers:
                    values = evaluate(manager.context_expr, function)
                    if manager.optional_vars is not None:
                        entered = self.expressions.entered(values)
                        self.assign(manager.optional_vars, entered, function)
            case ast.Return(value=value) if value is not None:
                self.add(return_slot(function.name), evaluate(value, function))
            case ast.Import() | ast.ImportFrom():
                self._import(node, function)
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        evaluate(child, function)

    def assign(
        self,
        target: ast.expr,
        values: Values,
        function: Function,
        source: ast.expr | None = None,
    ) -> None:
        """Let a target of an assignment hold values, too."""
        if isinstance(target, ast.Tuple | ast.List):
            pairs = source.elts if isinstance(source, ast.Tuple | ast.List) else []
            for number, one in enumerate(target.elts):
                if len(pairs) == len(target.elts):
                    part = self.expressions.of(pairs[number], function)
                else:
                    part = self.expressions.items(values)
                    part |= frozenset(v for v in values if not isinstance(v, Container | Outside))
                self.assign(one, part, function)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, values, function)
        elif isinstance(target, ast.Name):
            self.add(self.slot_of_name(target.id, function), values)
        elif isinstance(target, ast.Attribute):
            for owner in self.expressions.of(target.value, function):
                if isinstance(owner, Instance | ClassValue):
                    self.add(attribute_slot(owner.name, target.attr), values)
                elif isinstance(owner, Known):
                    self.add(global_slot(owner.name, target.attr), values)
                elif isinstance(owner, FunctionValue):
                    self.add(attribute_slot(owner.name, target.attr), values)
        elif isinstance(target, ast.Subscript):
            self.expressions.put_into(self.expressions.of(target.value, function), values)

    # Imports

    def _import(self, node: ast.Import | ast.ImportFrom, function: Function) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.name if alias.asname else alias.name.partition(".")[0]
                slot = self.slot_of_name(alias.asname or name, function)
                self.add(slot, frozenset({self._module(name)}))
            return
        origin = _origin(node, function.module)
        for alias in node.names:
            if alias.name == "*":
                self._readers.setdefault(("all", origin), set()).add(self._reader)
                for name in MAKERS:
                    if name.rpartition(".")[0] == origin:
                        short = name.rpartition(".")[2]
                        slot = global_slot(function.module.name, short)
                        self.add(slot, frozenset({Outside(name)}))
                for slot, values in list(self.slots_of("global")):
                    if slot[1] == origin:
                        self.add(global_slot(function.module.name, str(slot[2])), values)
                continue
            slot = self.slot_of_name(alias.asname or alias.name, function)
            self.add(slot, self.of_module(origin, alias.name))

    def _module(self, name: str) -> Known | Outside:
        return Known(name) if name in self._packages else Outside(name)

    def of_module(self, module: str, name: str) -> Values:
        """Return what an attribute of a module may be."""
        whole = f"{module}.{name}"
        if isinstance(self._module(whole), Known):
            return frozenset({Known(whole)})
        if isinstance(self._module(module), Known):
            return self.get(global_slot(module, name))
        return frozenset({Outside(whole)})


def _origin(node: ast.ImportFrom, module: Module) -> str:
    """Return the full name of the module that something is imported from."""
    if not node.level:
        return node.module or ""
    parts = module.name.split(".")
    is_package = module.file.endswith("__init__.py")
    kept = len(parts) - node.level + int(is_package)
    return ".".join([*parts[:kept], *([node.module] if node.module else [])])


def _as_items(values: Values) -> Values:
    """Return values as a container keeps them: what a library has is plain, unless it makes locks.

    Items are thrown together, and names of libraries would grow along each chain of attributes.
    """
    return frozenset(
        next(iter(PLAIN)) if isinstance(one, Outside) and one.name not in MAKERS else one
        for one in values
    )


def _variable_in_words(slot: Slot) -> str:
    """Name a variable: `Account.lock`, `LOCK`, `lock in move`."""
    kind, owner, name = slot
    short = str(owner).rpartition(".")[2]
    if kind == "attribute":
        return f"{short}.{name}"
    return str(name) if kind == "global" else f"{name} in {short}"
