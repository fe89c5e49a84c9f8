"""One function: where it may have to wait, what it holds there, and what it gives to others.

What is held is what *may* be held: where branches meet, all that one of them holds. A lock that is
taken without waiting for ever is held afterwards, and nobody waits for it there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from treadle.analyses.lock_order.calls import CALLING_BACK
from treadle.analyses.lock_order.events import (
    SELF,
    Calls,
    Event,
    Held,
    Path,
    Provides,
    Summary,
    Unknown,
    Waits,
)
from treadle.analyses.lock_order.expressions import is_known
from treadle.analyses.lock_order.implicit import HARMLESS, WAITING_FOR_FUTURES, implicit_calls
from treadle.analyses.lock_order.limits import endless_parameters, gives_up
from treadle.analyses.lock_order.points_to import PointsTo
from treadle.analyses.lock_order.primitives import (
    HANDED_OVER,
    LOCK_LIKE,
    Aspect,
    Resource,
    provided_by,
    waited_for_by,
)
from treadle.analyses.lock_order.sources import (
    MANAGERS,
    Function,
    Place,
    last_name,
    place_of,
)
from treadle.analyses.lock_order.values import (
    MAKERS,
    NOTHING,
    PLAIN,
    FunctionValue,
    Instance,
    Kind,
    Outside,
    Site,
    Slot,
    Value,
    Values,
    lock_slot,
    target_slot,
)


@dataclass(slots=True)
class _Flow:
    """What is known on the way through a body."""

    held: frozenset[Held] | None = frozenset()
    """None where nobody gets to."""
    exits: list[frozenset[Held]] = field(default_factory=list)
    yields: list[frozenset[Held]] = field(default_factory=list)
    """What is held where a `with` that enters the function runs its body."""
    generates: frozenset[Held] = frozenset()
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
        self._endless = endless_parameters(function)
        self.events: list[Event] = []
        managers = self._managers_around(function)
        if managers:
            self._with([ast.withitem(one) for one in managers], function.body)
        else:
            self._block(function.body)
        exits = self._flow.yields or [*self._flow.exits, self._flow.held or frozenset()]
        self.summary = Summary(
            frozenset().union(*exits), frozenset(self._flow.gives_back), self._flow.generates
        )

    def _managers_around(self, function: Function) -> list[ast.expr]:
        """Return the decorators of a function that are context managers."""
        if not isinstance(function.node, ast.FunctionDef | ast.AsyncFunctionDef):
            return []
        functions = self._to.sources.functions
        return [
            one
            for one in function.node.decorator_list
            if isinstance(one, ast.Call)
            and (
                any(
                    isinstance(callee, FunctionValue)
                    and functions[callee.name].is_decorated(*MANAGERS)
                    for callee in self._values(one.func)
                )
                or any(
                    isinstance(value, Instance)
                    and self._to.attribute(value.name, "__enter__", is_bound=True)
                    for value in self._values(one)
                )
            )
        ]

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
                self._loop([ast.copy_location(ast.Expr(test), test), *body])
                self._block(orelse)
            case ast.For() | ast.AsyncFor():
                self._for(node)
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

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        self._expression(node.iter)
        self._implicit(node)
        before = self._flow.held or frozenset()
        self._flow.held = before | self._held_by_generator(node.iter)
        given = self._flow.held - before
        if isinstance(node.iter, ast.Call) and last_name(node.iter) == "sorted":
            self._branches(node.body, [])  # taken in one order by everybody
        else:
            self._loop(node.body)
        if self._flow.held is not None:
            self._flow.held -= given
        self._block(node.orelse)

    def _loop(self, body: list[ast.stmt]) -> None:
        """Go through a body until it holds nothing new that it kept from its last time."""
        known: frozenset[Held] | None = None
        while self._flow.held is not None and self._flow.held != known:
            known = self._flow.held
            self._branches(body, [])

    def _held_by_generator(self, iterated: ast.expr) -> frozenset[Held]:
        """Return what a generator holds while the body of a loop over it runs."""
        if not isinstance(iterated, ast.Call):
            return frozenset()
        place = place_of(iterated, self._function)
        return frozenset(
            Held(one.site, None, place)
            for callee in self._values(iterated.func)
            if isinstance(callee, FunctionValue) and callee.name in self._summaries
            for one in self._summaries[callee.name].generates
        )

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
        stacks = {ast.unparse(item.optional_vars) for item in items if item.optional_vars}
        self._flow.exits[first:] = [held & before for held in self._flow.exits[first:]]
        if self._flow.held is not None:
            taken_inside = self._taken_explicitly(body, stacks)
            self._flow.held = frozenset(
                one for one in self._flow.held if one in before or one.place in taken_inside
            )

    def _taken_explicitly(self, body: list[ast.stmt], stacks: set[str]) -> frozenset[Place]:
        """Return where a block takes what outlives a `with` around it.

        That is by `acquire`, and by `enter_context` of a stack that this `with` does not end.
        """
        return frozenset(
            place_of(node, self._function)
            for statement in body
            for node in ast.walk(statement)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and (
                node.func.attr == "acquire"
                or (
                    node.func.attr == "enter_context" and ast.unparse(node.func.value) not in stacks
                )
            )
        )

    def _enter(self, manager: ast.expr, place: Place | None = None) -> None:
        place = place or place_of(manager, self._function)
        values = self._values(manager)
        if self._is_unknown_lock(manager, values, "__enter__"):
            self._take({self._unknown_lock(manager)}, manager, place)
        self._take(values, manager, place)
        for value in values:
            if isinstance(value, Instance):
                self._call_method(value, "__enter__", manager)

    def _exit(self, manager: ast.expr) -> None:
        for value in self._values(manager):
            if isinstance(value, Instance):
                self._call_method(value, "__exit__", manager)
            elif isinstance(value, Site) and value.kind is Kind.POOL:
                self._wait(value, Aspect.END, place_of(manager, self._function))

    def _is_unknown_lock(self, node: ast.expr, values: Values, method: str) -> bool:
        """Tell whether nobody knows what is taken: it may be any lock."""
        if any(isinstance(one, Site) for one in values):
            return False
        if isinstance(node, ast.Call):
            callees = [one for one in self._values(node.func) if isinstance(one, FunctionValue)]
            functions = [self._to.sources.functions[one.name] for one in callees]
            return not values and any(not one.is_decorated(*MANAGERS) for one in functions)
        if not is_known(values):
            return True
        if values == PLAIN and isinstance(node, ast.Attribute | ast.Subscript):
            return self._values(node.value) == PLAIN  # handed through something of a library
        instances = [one for one in values if isinstance(one, Instance)]
        return bool(instances) and not any(
            self._to.attribute(one.name, method, is_bound=True) for one in instances
        )

    def _unknown_lock(self, node: ast.expr) -> Site:
        place = place_of(node, self._function)
        site = Site(Kind.UNKNOWN, place, node.col_offset, is_single=False)
        self._to.names.setdefault(site, f"`{ast.unparse(node)}`")
        return site

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
        elif isinstance(node, ast.Yield | ast.YieldFrom) and self._flow.held is not None:
            if self._function.is_decorated(*MANAGERS):
                self._flow.yields.append(self._flow.held)
            else:
                self._flow.generates |= self._flow.held
                if isinstance(node, ast.YieldFrom):
                    self._flow.generates |= self._held_by_generator(node.value)
        elif isinstance(node, ast.Attribute):
            self._property(node)
        self._implicit(node)

    def _implicit(self, node: ast.AST) -> None:
        """Follow the methods that an operator, an index or a builtin calls."""
        for operand, names in implicit_calls(node):
            for value in self._values(operand):
                for name in names if isinstance(value, Instance) else ():
                    assert isinstance(value, Instance)
                    self._call_method(value, name, operand)

    def _property(self, node: ast.Attribute) -> None:
        wanted = ("setter",) if isinstance(node.ctx, ast.Store) else ("property", "cached_property")
        on_self = isinstance(node.value, ast.Name) and self._is_self(node.value.id)
        for owner in self._values(node.value):
            if isinstance(owner, Instance):
                for ancestor in self._to.lines_of_descent(owner.name):
                    for method in ancestor.methods.get(node.attr, ()):
                        if method.is_decorated(*wanted):
                            self._calls(method.name, node, on_self=on_self)

    def _call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Attribute):
            self._method_call(node, node.func)
        callees = self._values(node.func)
        self._callbacks(node, callees)
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

    def _method_call(self, node: ast.Call, method: ast.Attribute) -> None:
        """Go through the call of a method of something that threads wait for."""
        owners = self._values(method.value)
        self._primitives(owners, method, node)
        place = place_of(node, self._function)
        if method.attr == "enter_context" and node.args:
            self._enter(node.args[0], place)
        elif method.attr in ("acquire", "release"):
            is_unknown = self._is_unknown_lock(method.value, owners, method.attr)
            if is_unknown or (method.attr == "acquire" and owners == PLAIN):
                self._primitives({self._unknown_lock(method.value)}, method, node)

    def _callbacks(self, node: ast.Call, callees: Values) -> None:
        """Follow functions that a library is given, and the futures that it waits for."""
        names = {one.name for one in callees if isinstance(one, Outside)}
        given = [*node.args, *(one.value for one in node.keywords)]
        place = place_of(node, self._function)
        for value in frozenset[Value]().union(*(self._values(one) for one in given)):
            if isinstance(value, FunctionValue) and names & CALLING_BACK:
                for _ in range(2):  # with what it kept from its last time
                    self._calls(value.name, node, on_self=False)
            elif isinstance(value, FunctionValue) and not names <= {*MAKERS, *HARMLESS}:
                what = (
                    f"{ast.unparse(node.func)}({self._to.sources.functions[value.name].short_name}"
                )
                held = self._flow.held or frozenset()
                self.events.append(Unknown(what, held, place))
        if names & WAITING_FOR_FUTURES:
            for future in self._to.expressions.items(
                self._values(node.args[0]) if node.args else NOTHING
            ):
                if isinstance(future, Site) and future.kind is Kind.FUTURE:
                    self._wait(future, Aspect.END, place)

    def _constructors(self, name: str) -> list[str]:
        if name not in self._to.sources.classes:
            return []
        methods = ("__new__", "__init__", "__post_init__")
        found = (self._to.attribute(name, one, is_bound=True) for one in methods)
        return [one.name for each in found for one in each if isinstance(one, FunctionValue)]

    def _is_unknown(self, callee: ast.expr) -> bool:
        """Tell whether what is called was handed in from somewhere: its name says nothing."""
        if isinstance(callee, ast.Attribute):
            owners = self._values(callee.value)
            return bool(owners) and all(isinstance(one, Instance) for one in owners)
        return isinstance(callee, ast.Name | ast.Subscript | ast.Call)

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

    def _primitives(self, owners: Iterable[Value], method: ast.Attribute, node: ast.Call) -> None:
        """Go through a call of a method of things of which it has one."""
        place = place_of(node, self._function)
        name = method.attr
        sites = sorted((one for one in owners if isinstance(one, Site)), key=_by_place)
        if name == "acquire":
            may_wait = not self._gives_up(node, name, Kind.LOCK)
            self._take(sites, method.value, place, may_wait=may_wait)
        for site in sites:
            if site.kind in LOCK_LIKE and name == "release":
                self._release(site, method.value)
            provided = provided_by(site, name)
            if provided is not None:
                self._provide(Resource(site, provided), place)
            waited = waited_for_by(site, name)
            if waited is not None and not self._gives_up(node, name, site.kind):
                self._wait(site, waited, place)

    def _take(
        self, values: Iterable[Value], node: ast.expr, place: Place, *, may_wait: bool = True
    ) -> None:
        """Take one of some locks; which one is not known."""
        before = self._flow.held or frozenset()
        taken: frozenset[Held] = frozenset()
        path = self._path(node)
        sites = (one for one in values if isinstance(one, Site) and one.kind in LOCK_LIKE)
        for site in sorted(sites, key=_by_place):
            for lock in self._locks_of(site):
                own = path if lock is site else None
                if may_wait:
                    resource = Resource(lock, Aspect.LOCK)
                    self.events.append(Waits(resource, own, before, place))
                    self._flow.needed.add((resource, place))
                taken |= {Held(lock, own, place)}
        self._flow.held = before | taken

    def _release(self, site: Site, node: ast.expr) -> None:
        held = self._flow.held or frozenset()
        path = self._path(node)
        for lock in self._locks_of(site):
            own = path if lock is site else None
            matching = [one for one in held if one.site == lock and one.path == own]
            matching = matching or [one for one in held if one.site == lock]
            if not matching:
                self._flow.gives_back.add(lock)
                if lock.kind in HANDED_OVER:
                    self._provide(Resource(lock, Aspect.LOCK), place_of(node, self._function))
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

    def _gives_up(self, node: ast.Call, method: str, kind: Kind) -> bool:
        return gives_up(node, method, kind, self._endless)

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


def _by_place(site: Site) -> tuple[str, int, int]:
    return site.place.file, site.place.line, site.column
