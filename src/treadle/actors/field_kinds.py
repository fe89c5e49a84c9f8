"""Which kinds of values the fields of actors may hold, whatever happens.

What is assigned to a field is read off all methods, and what methods are given off all that send
them. That is certain only if nothing escapes: every method is sent by name, every actor made by its
class's name, and no code reaches fields in another way. Else any field may hold anything.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import FunctionType
from typing import TYPE_CHECKING, Any

from treadle.actors.actor import Actor, ActorType
from treadle.actors.classes import reachable
from treadle.actors.container_fields import Container, ContainerFields, Elements
from treadle.actors.method_source import THIS, as_process, meaning_in
from treadle.analyses.known import function_of, unwrapped
from treadle.analyses.value_kinds import Kinds, Source, ValueKinds
from treadle.smt.values import tag_of

if TYPE_CHECKING:
    from treadle.actors.programs import Program

_ANY: Kinds = frozenset({"opaque"})
_REFLECTION = frozenset(
    {"delattr", "eval", "exec", "getattr", "globals", "locals", "setattr", "super", "vars"}
)
_DECIDING = frozenset({"__getattr__", "__getattribute__", "__setattr__", "__delattr__"})
"""Methods that decide what reading or writing any attribute does."""
_OTHER_WAYS = frozenset({"send", "call"})
_BASES = (Actor, object)


class FieldKinds:
    """The kinds of values of the fields of a program's actors, and of what methods are given."""

    def __init__(self, program: Program) -> None:
        found = list(reachable(program.main, *program.args, *program.kwargs.values()))
        self.classes = [one for one in found if isinstance(one, ActorType)]
        functions = [one for one in found if isinstance(one, FunctionType)]
        self._methods = {
            unwrapped(value) for cls in self.classes for value in _members(cls).values()
        } - {None}
        everybody = dict.fromkeys([*functions, *filter(None, self._methods)])
        self.sources: dict[FunctionType, Source] = {}
        self._is_closed = all(map(_is_plain, self.classes))
        for each in everybody:
            self._read(each)
        checks = [*program.properties.invariants, *program.properties.finals]
        self._containers = dict(ContainerFields(self.sources, map(unwrapped, checks)).found())
        if any(map(self._escapes, self.sources.values())):
            self._is_closed = False
        if not self._is_closed:
            self._containers.clear()
        self._kinds = _Sent(self._with_elements(), self._initial(), self._given(program))
        if not self._is_closed:
            self._kinds.forget_shared()

    def _with_elements(self) -> dict[FunctionType, Source]:
        """Return all functions, with elements where containers are made."""
        elements = Elements(self._containers)
        return {
            function: replace(
                source,
                definition=ast.fix_missing_locations(
                    elements.visit(copy.deepcopy(source.definition))
                ),
            )
            for function, source in self.sources.items()
        }

    def container(self, name: str) -> tuple[Container, Kinds] | None:
        """Return what a field always holds, and the kinds of its values; None: no container."""
        found = self._containers.get(name)
        return None if found is None else (found, self._kinds.shared.get(name, frozenset()))

    def of_local(self, function: FunctionType, name: str) -> Kinds:
        """Return the kinds of values that a local name may hold, as far as is known."""
        return self._kinds.locals.get((function, name), frozenset())

    def of_field(self, name: str) -> Kinds:
        """Return the kinds of values that a field of a name may hold."""
        if name in self._containers:
            return _ANY
        return self._kinds.shared.get(name, _ANY) or _ANY

    def is_stored(self, cls: type, name: str) -> bool:
        """Tell whether an attribute of an actor is what was stored, and no code decides on it."""
        members = _members(cls)
        return _DECIDING.isdisjoint(members) and not hasattr(type(members.get(name)), "__get__")

    def has_always(self, cls: type, name: str) -> bool:
        """Tell whether an actor of a class has a field from its beginning on."""
        if name == THIS or name in _members(cls):
            return True
        initial = function_of(cls, "__init__")
        source = None if initial is None else self.sources.get(initial)
        if source is None:
            return False
        return any(
            isinstance(statement, ast.Assign) and name in _fields_in(source, statement.targets)
            for statement in source.definition.body
        )

    def fields(self) -> frozenset[str]:
        """Return the names of all fields."""
        return frozenset(self._kinds.shared) - {THIS}

    # What is read

    def _read(self, function: FunctionType) -> None:
        is_method = function in self._methods
        definition = as_process(function, always_waits=True, is_method=is_method)
        if definition is None:
            self._is_closed = False
            return
        meaning = meaning_in(function)
        making = _Making(definition.args.posonlyargs + definition.args.args, meaning)
        definition = making.visit(definition)
        local = _bind_the_rest(definition)
        self.sources[function] = Source(definition, local, meaning, self._receivers)

    def _receivers(self, name: str) -> object:
        """Return the functions that are called by what is sent, or made."""
        what, _, how = name.partition(".")
        if how == "__init__":
            owners = [cls for cls in self.classes if cls.__name__ == what]
            return tuple(filter(None, (_initial_of(cls) for cls in owners)))
        return tuple(filter(None, (function_of(cls, what) for cls in self.classes)))

    def _escapes(self, source: Source) -> bool:
        """Tell whether code may send, make or change something that is not seen."""
        names = {name for cls in self.classes for name in _members(cls)}
        for node in ast.walk(source.definition):
            match node:
                case ast.Attribute(ast.Attribute(_, name)) if name in self._containers:
                    pass  # a method of a set or a list, whatever actors call theirs
                case ast.Attribute(_, attr):
                    is_method = attr in names and any(function_of(c, attr) for c in self.classes)
                    if is_method or attr in _OTHER_WAYS or attr.startswith("__"):
                        return True
                case ast.Name(name) if name in _REFLECTION:
                    return True
                case ast.Name(name, ast.Load()) if _is_class(name, source.meaning):
                    return True
                case ast.Delete() | ast.ClassDef():
                    return True
        return False

    # What there is in the beginning

    def _initial(self) -> dict[str, Kinds]:
        found: dict[str, Kinds] = {THIS: _ANY}
        for cls in self.classes:
            for name, value in _members(cls).items():
                if unwrapped(value) is None:
                    found[name] = found.get(name, frozenset()) | {tag_of(value)}
        for source in self.sources.values():
            for node in ast.walk(source.definition):
                for name in _fields_in(source, [node]):
                    found.setdefault(name, frozenset())
        return found

    def _given(self, program: Program) -> list[tuple[object, Sequence[object]]]:
        """Return what functions are given that nobody is seen to call."""
        unknown = [object()] * 100
        given: list[tuple[object, Sequence[object]]] = []
        for function in self.sources:
            if function not in self._methods:
                is_main = function is program.main and not program.kwargs
                given.append((function, program.args if is_main else unknown))
        return given


class _Sent(ValueKinds):
    """What is given to all functions that a message may call."""

    def create(self, function: object, given: Sequence[Kinds]) -> None:
        """Note that a task is created, and what it is given besides its actor."""
        assert isinstance(function, tuple)
        for each in function:
            super().create(each, given[1:])


class _Making(ast.NodeTransformer):
    """Making an actor is sending it its `__init__`."""

    def __init__(self, parameters: Iterable[ast.arg], meaning: Any) -> None:
        self._this = next(iter(parameters)).arg
        self._meaning = meaning

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if not (isinstance(node.func, ast.Name) and _is_class(node.func.id, self._meaning)):
            return node
        cls = self._meaning(node.func.id)
        spawn = ast.Attribute(ast.Name(self._this, ast.Load()), "spawn", ast.Load())
        name = ast.Name(f"{cls.__name__}.__init__", ast.Load())
        given: list[ast.expr] = [ast.Constant(None), *node.args]
        if node.keywords:
            given = [ast.Starred(ast.Constant(None), ast.Load())]
        return ast.copy_location(ast.Call(spawn, [name, *given], []), node)


def _bind_the_rest(definition: ast.FunctionDef) -> frozenset[str]:
    """Let names that are bound in other ways than by assignments hold anything; return all."""
    nodes = list(ast.walk(definition))
    bound = {node.id for node in nodes if isinstance(node, ast.Name) and _is_bound(node)}
    inner = {a.arg for n in nodes if isinstance(n, ast.Lambda) for a in ast.walk(n.args)
             if isinstance(a, ast.arg)}  # fmt: skip
    handlers = {n.name for n in nodes if isinstance(n, ast.ExceptHandler) and n.name}
    plain = {name for node in nodes for name in _assigned_by(node)}
    for name in sorted((bound - plain) | inner | handlers):
        loop = ast.For(ast.Name(name, ast.Store()), ast.Constant(None), [ast.Pass()], [])
        definition.body.append(ast.fix_missing_locations(ast.copy_location(loop, definition)))
    given = definition.args
    parameters = {each.arg for each in ast.walk(given) if isinstance(each, ast.arg)}
    return frozenset(bound | inner | handlers | parameters)


def _is_bound(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _assigned_by(node: ast.AST) -> set[str]:
    """Return the names that a plain assignment or loop binds."""
    targets: list[ast.expr] = []
    match node:
        case ast.Assign(several):
            targets = several
        case ast.AugAssign(target) | ast.AnnAssign(target) | ast.For(target):
            targets = [target]
    return {n.id for target in targets for n in ast.walk(target)
            if isinstance(n, ast.Name) and _is_bound(n)}  # fmt: skip


def _fields_in(source: Source, nodes: Iterable[ast.AST]) -> set[str]:
    """Return the fields among some expressions."""
    this = source.parameters[0]
    return {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == this
    }


def _is_class(name: str, meaning: Any) -> bool:
    try:
        return isinstance(meaning(name), ActorType)
    except KeyError:
        return False


def _initial_of(cls: type) -> FunctionType | None:
    return function_of(cls, "__init__") if "__init__" in _members(cls) else None


_MACHINERY = frozenset(
    {
        "__abstractmethods__", "__annotate__", "__annotate_func__", "__annotations__",
        "__annotations_cache__", "__doc__", "__firstlineno__", "__module__", "__orig_bases__",
        "__parameters__", "__qualname__", "__static_attributes__", "_abc_impl",
    }
)  # fmt: skip
"""Members that Python adds to every class."""


def _members(cls: type) -> Mapping[str, Any]:
    """Return what the classes of the user say of an actor."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if base not in _BASES and base.__module__ not in ("abc", "typing"):
            found.update({k: v for k, v in vars(base).items() if k not in _MACHINERY})
    return found


def _is_plain(cls: type) -> bool:
    """Tell whether the fields of an actor are what is assigned to them, and nothing else."""
    return all(
        name in ("__init__", "__repr__") or not name.startswith("__")
        if unwrapped(value) is not None
        else not name.startswith("__") and tag_of(value) != "opaque"
        for name, value in _members(cls).items()
    )
