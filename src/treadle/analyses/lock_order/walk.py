"""One function: where it may have to wait, what it holds there, and what it gives to others.

What is held is what *may* be held: where branches meet, all that one of them holds. A lock that is
taken without waiting for ever is held afterwards, and nobody waits for it there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from treadle.analyses.lock_order.expressions import place_of
from treadle.analyses.lock_order.points_to import PointsTo
from treadle.analyses.lock_order.primitives import (
    LOCK_LIKE,
    Aspect,
    Resource,
    positions_of_limits,
    provided_by,
    waited_for_by,
)
from treadle.analyses.lock_order.sources import Function, Place
from treadle.analyses.lock_order.values import (
    FunctionValue,
    Instance,
    Kind,
    Site,
    Slot,
    Values,
    lock_slot,
    target_slot,
)

Path = tuple[object, ...]
"""How an object is reached: from which variable, by which attributes."""
SELF = "self"
"""The variable that a path begins with if that is the object whose method runs."""


@dataclass(frozen=True, slots=True)
class Held:
    """A lock that is held, since when, and how it was reached if that names one object."""

    site: Site
    path: Path | None
    place: Place


@dataclass(frozen=True, slots=True)
class Waits:
    """It may have to wait here."""

    resource: Resource
    path: Path | None
    held: frozenset[Held]
    place: Place


@dataclass(frozen=True, slots=True)
class Provides:
    """It gives something that others may wait for; it had to wait for some things before."""

    resource: Resource
    held: frozenset[Held]
    needed: frozenset[tuple[Resource, Place]]
    """What it took before, and where."""
    place: Place


@dataclass(frozen=True, slots=True)
class Calls:
    """It calls a function that is analysed, too."""

    function: str
    on_self: bool
    held: frozenset[Held]
    place: Place


@dataclass(frozen=True, slots=True)
class Unknown:
    """It calls something, and nobody knows what."""

    what: str
    held: frozenset[Held]
    place: Place


Event = Waits | Provides | Calls | Unknown


@dataclass(slots=True)
class Summary:
    """What a caller has to know of a function."""

    leaves: frozenset[Held] = frozenset()
    """What it may hold when it returns, or yields to a `with`, that it took itself."""
    gives_back: frozenset[Site] = frozenset()
    """What it releases without having taken it."""


@dataclass(slots=True)
class _Flow:
    """What is known on the way through a body."""

    held: frozenset[Held] | None = frozenset()
    """None where nobody gets to."""
    exits: list[frozenset[Held]] = field(default_factory=list)
    yields: list[frozenset[Held]] = field(default_factory=list)
    """What is held where a `with` that enters the function runs its body."""
    needed: set[tuple[Resource, Place]] = field(default_factory=set)
    gives_back: set[Site] = field(default_factory=set)


class Walk:
    """Goes through a function once."""

    def __init__(
        self, points_to: PointsTo, function: Function, summaries: Mapping[str, Summary]
    ) -> None:
        self._to = points_to
        self._function = function
        self._summaries = summaries
        self._flow = _Flow()
        self.events: list[Event] = []
        self._block(function.body)
        exits = self._flow.yields or [*self._flow.exits, self._flow.held or frozenset()]
        self.summary = Summary(frozenset().union(*exits), frozenset(self._flow.gives_back))

    # Statements

    def _block(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            if self._flow.held is None:
                return
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                self._with(items, body)
            case ast.If(test=test, body=body, orelse=orelse):
                self._expression(test)
                self._branches(body, orelse)
            case ast.While(test=test, body=body, orelse=orelse):
                self._expression(test)
                self._branches(body, [])
                self._block(orelse)
            case ast.For(iter=items, body=body, orelse=orelse):
                self._expression(items)
                self._branches(body, [])
                self._block(orelse)
            case ast.Try() | ast.TryStar():
                self._try(node)
            case ast.Match(subject=subject, cases=cases):
                self._expression(subject)
                self._branches(*(case.body for case in cases), [])
            case ast.Return() | ast.Raise():
                self._children(node)
                if isinstance(node, ast.Return) and self._flow.held is not None:
                    self._flow.exits.append(self._flow.held)
                self._flow.held = None
            case ast.Break() | ast.Continue():
                pass  # what follows is gone through with the same locks: more, never less
            case _:
                self._children(node)

    def _children(self, node: ast.stmt) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self._expression(child)

    def _branches(self, *blocks: list[ast.stmt]) -> None:
        """Go through blocks of which one is run; hold afterwards what one of them leaves."""
        before = self._flow.held
        ends = []
        for block in blocks:
            self._flow.held = before
            self._block(block)
            ends.append(self._flow.held)
        self._flow.held = _either(ends)

    def _try(self, node: ast.Try | ast.TryStar) -> None:
        before, first = self._flow.held, len(self._flow.exits)
        self._block(node.body)
        after_body = self._flow.held
        self._block(node.orelse)
        ends = [self._flow.held]
        for handler in node.handlers:
            self._flow.held = _either([before, after_body])
            self._block(handler.body)
            ends.append(self._flow.held)
        if node.finalbody:
            left, self._flow.exits[first:] = self._flow.exits[first:], []
            for held in {*left, *([_either([before, after_body])] if not any(ends) else [])}:
                self._flow.held = held
                self._block(node.finalbody)
                self._flow.exits += [self._flow.held] if self._flow.held is not None else []
            self._flow.held = _either(ends)
            self._block(node.finalbody)
        else:
            self._flow.held = _either(ends)

    def _with(self, items: list[ast.withitem], body: list[ast.stmt]) -> None:
        first = len(self._flow.exits)
        before = self._flow.held or frozenset()
        for item in items:
            self._expression(item.context_expr)
            self._enter(item.context_expr)
        self._block(body)
        for item in reversed(items):
            self._exit(item.context_expr)
        self._flow.exits[first:] = [held & before for held in self._flow.exits[first:]]
        if self._flow.held is not None:
            taken_inside = self._taken_explicitly(body)
            self._flow.held = frozenset(
                one for one in self._flow.held if one in before or one.place in taken_inside
            )

    def _taken_explicitly(self, body: list[ast.stmt]) -> frozenset[Place]:
        """Return where a block calls `acquire`: what it takes there outlives a `with` around it."""
        return frozenset(
            place_of(node, self._function)
            for statement in body
            for node in ast.walk(statement)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "acquire"
        )

    def _enter(self, manager: ast.expr) -> None:
        values = self._values(manager)
        for value in values:
            if isinstance(value, Site) and value.kind in LOCK_LIKE:
                self._take(value, manager, place_of(manager, self._function))
            elif isinstance(value, Instance):
                self._call_method(value, "__enter__", manager)

    def _exit(self, manager: ast.expr) -> None:
        for value in self._values(manager):
            if isinstance(value, Instance):
                self._call_method(value, "__exit__", manager)

    def _call_method(self, value: Instance, name: str, node: ast.expr) -> None:
        is_self = isinstance(node, ast.Name) and self._is_self(node.id)
        for method in self._to.attribute(value.name, name, is_bound=True):
            if isinstance(method, FunctionValue):
                self._calls(method.name, node, on_self=is_self)

    # Expressions

    def _expression(self, node: ast.expr) -> None:
        """Go through the calls of an expression, inner ones first."""
        if isinstance(node, ast.Lambda):
            return
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self._expression(child)
            elif isinstance(child, ast.keyword):
                self._expression(child.value)
            elif isinstance(child, ast.comprehension):
                for part in (child.iter, *child.ifs):
                    self._expression(part)
        if isinstance(node, ast.Call):
            self._call(node)
        elif isinstance(node, ast.Yield) and self._flow.held is not None:
            if self._function.is_decorated("contextmanager"):
                self._flow.yields.append(self._flow.held)
        elif isinstance(node, ast.Attribute):
            self._property(node)

    def _property(self, node: ast.Attribute) -> None:
        for owner in self._values(node.value):
            if isinstance(owner, Instance):
                for ancestor in self._to.lines_of_descent(owner.name):
                    method = ancestor.methods.get(node.attr)
                    if method is not None and method.is_decorated("property", "cached_property"):
                        on_self = isinstance(node.value, ast.Name) and self._is_self(node.value.id)
                        self._calls(method.name, node, on_self=on_self)

    def _call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Attribute):
            for owner in self._values(node.func.value):
                if isinstance(owner, Site):
                    self._primitive(owner, node.func, node)
        callees = self._values(node.func)
        on_self = (
            isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and self._is_self(node.func.value.id)
        )
        for callee in callees:
            if isinstance(callee, FunctionValue):
                self._calls(callee.name, node, on_self=on_self)
            elif not isinstance(callee, Site):
                name = getattr(callee, "name", "")
                for method in self._constructors(name):
                    self._calls(method, node, on_self=False)
        if not callees and self._is_unknown(node.func):
            what = ast.unparse(node.func)
            place = place_of(node, self._function)
            self.events.append(Unknown(what, self._flow.held or frozenset(), place))

    def _constructors(self, name: str) -> list[str]:
        if name not in self._to.sources.classes:
            return []
        found = self._to.attribute(name, "__init__", is_bound=True)
        return [one.name for one in found if isinstance(one, FunctionValue)]

    def _is_unknown(self, callee: ast.expr) -> bool:
        """Tell whether what is called was handed in from somewhere: its name says nothing."""
        if isinstance(callee, ast.Attribute):
            owners = self._values(callee.value)
            return bool(owners) and all(isinstance(one, Instance) for one in owners)
        return isinstance(callee, ast.Name | ast.Subscript)

    def _calls(self, function: str, node: ast.expr, *, on_self: bool) -> None:
        held = self._flow.held or frozenset()
        place = place_of(node, self._function)
        self.events.append(Calls(function, on_self, held, place))
        summary = self._summaries.get(function)
        if summary is not None:
            kept = {one for one in held if one.site not in summary.gives_back}
            left = {Held(one.site, None, place) for one in summary.leaves}
            self._flow.held = frozenset(kept | left)

    # Primitives

    def _primitive(self, site: Site, method: ast.Attribute, node: ast.Call) -> None:
        place = place_of(node, self._function)
        name = method.attr
        if site.kind in LOCK_LIKE and name == "acquire":
            self._take(site, method.value, place, may_wait=not _gives_up(node, name, site.kind))
        elif site.kind in LOCK_LIKE and name == "release":
            self._release(site, method.value)
        provided = provided_by(site, name)
        if provided is not None:
            self._provide(Resource(site, provided), place)
        waited = waited_for_by(site, name)
        if waited is not None and not _gives_up(node, name, site.kind):
            self._wait(site, waited, place)

    def _take(self, site: Site, node: ast.expr, place: Place, *, may_wait: bool = True) -> None:
        held = self._flow.held or frozenset()
        path = self._path(node)
        for lock in self._locks_of(site):
            own = path if lock is site else None
            if may_wait:
                resource = Resource(lock, Aspect.LOCK)
                self.events.append(Waits(resource, own, held, place))
                self._flow.needed.add((resource, place))
            held |= {Held(lock, own, place)}
        self._flow.held = held

    def _release(self, site: Site, node: ast.expr) -> None:
        held = self._flow.held or frozenset()
        path = self._path(node)
        for lock in self._locks_of(site):
            own = path if lock is site else None
            matching = [one for one in held if one.site == lock and one.path == own]
            matching = matching or [one for one in held if one.site == lock]
            if not matching:
                self._flow.gives_back.add(lock)
            held -= frozenset(matching)
        self._flow.held = held

    def _wait(self, site: Site, aspect: Aspect, place: Place) -> None:
        held = self._flow.held or frozenset()
        if aspect is Aspect.NOTIFICATION:  # the condition's own lock is given back meanwhile
            locks = self._locks_of(site)
            held = frozenset(one for one in held if one.site not in locks)
            for lock in locks:
                self.events.append(Waits(Resource(lock, Aspect.LOCK), None, held, place))
        self.events.append(Waits(Resource(site, aspect), None, held, place))

    def _provide(self, resource: Resource, place: Place) -> None:
        held = self._flow.held or frozenset()
        own = self._locks_of(resource.site)
        held = frozenset(one for one in held if one.site not in own)
        needed = {one for one in self._flow.needed if one[0].site not in own}
        self.events.append(Provides(resource, held, frozenset(needed), place))

    def _locks_of(self, site: Site) -> list[Site]:
        """Return what is really taken: the locks of a condition, if it was given some."""
        if site.kind is not Kind.CONDITION:
            return [site]
        given = [one for one in self._to.get(lock_slot(site)) if isinstance(one, Site)]
        return given or [site]

    # Names

    def _values(self, node: ast.expr) -> Values:
        return self._to.settled(node, self._function)

    def _is_self(self, name: str) -> bool:
        scope: Function | None = self._function
        while scope is not None and name not in scope.variables:
            scope = scope.outer
        return scope is not None and bool(scope.owner) and scope.parameters[:1] == [name]

    def _path(self, node: ast.expr) -> Path | None:
        """Return how an object is reached, if that names the same object each time."""
        attributes: list[str] = []
        while isinstance(node, ast.Attribute):
            attributes.insert(0, node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        if self._is_self(node.id):
            return (SELF, *attributes)
        slot: Slot = self._to.slot_of_name(node.id, self._function)
        return (slot, *attributes) if self._is_bound_once(node.id, slot) else None

    def _is_bound_once(self, name: str, slot: Slot) -> bool:
        """Tell whether a variable is the same object for all who see it at one time."""
        if slot[0] == "global":
            return True
        owner = self._to.sources.functions[str(slot[1])]
        if isinstance(owner.node, ast.Module | ast.Lambda):
            return False
        stores = [
            node
            for node in ast.walk(owner.node)
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        ]
        loops = [one for one in ast.walk(owner.node) if isinstance(one, ast.For | ast.While)]
        in_loops = {inner for loop in loops for inner in ast.walk(loop)}
        return len(stores) <= 1 and not in_loops.intersection(stores)


def functions_run_by(points_to: PointsTo, site: Site) -> list[str]:
    """Return the functions that a thread or a future runs."""
    found = points_to.get(target_slot(site))
    return [one.name for one in found if isinstance(one, FunctionValue)]


def _either(ends: list[frozenset[Held] | None]) -> frozenset[Held] | None:
    """Return what is held after one of several ways."""
    reached = [one for one in ends if one is not None]
    return frozenset[Held]().union(*reached) if reached else None


def _gives_up(node: ast.Call, method: str, kind: Kind) -> bool:
    """Tell whether a call that waits gives up after some time, or at once."""
    named = {one.arg: one.value for one in node.keywords}
    flag, limit = positions_of_limits(kind, method)
    blocking = named.get("blocking") or named.get("block") or _at(node.args, flag)
    if blocking is not None and _is_constant(blocking, False):
        return True
    timeout = named.get("timeout") or _at(node.args, limit)
    return timeout is not None and not any(_is_constant(timeout, one) for one in (None, -1))


def _at(arguments: list[ast.expr], position: int | None) -> ast.expr | None:
    return None if position is None or position >= len(arguments) else arguments[position]


def _is_constant(node: ast.expr, value: object) -> bool:
    try:
        found: object = ast.literal_eval(node)
    except (ValueError, TypeError):
        return False
    return type(found) is type(value) and found == value
