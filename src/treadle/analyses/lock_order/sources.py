"""From files to modules, classes and functions, by name."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.Module
MANAGERS = ("contextmanager", "asynccontextmanager")
"""Decorators that make a context manager of a generator."""
_NAMED = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands in the source."""

    file: str
    line: int
    last_line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(eq=False, slots=True)
class Function:
    """A function, a lambda, or the code of a module."""

    name: str
    """Qualified, with its module: `bank.Account.move`."""
    module: Module
    node: FunctionNode
    owner: str = ""
    """The class that it is a method of."""
    outer: Function | None = None
    """The function that it is defined in."""
    variables: frozenset[str] = frozenset()
    """What it binds itself: parameters and local variables."""

    @property
    def parameters(self) -> list[str]:
        """The names of its parameters by position."""
        if isinstance(self.node, ast.Module):
            return []
        return [one.arg for one in (*self.node.args.posonlyargs, *self.node.args.args)]

    @property
    def short_name(self) -> str:
        """The name without the module."""
        return self.name.removeprefix(f"{self.module.name}.")

    @property
    def body(self) -> list[ast.stmt]:
        """Its statements; a lambda has one."""
        if isinstance(self.node, ast.Lambda):
            return [ast.copy_location(ast.Return(self.node.body), self.node.body)]
        return self.node.body

    def is_decorated(self, *names: str) -> bool:
        """Tell whether one of the decorators has one of some names."""
        if not isinstance(self.node, _NAMED):
            return False
        return any(last_name(one) in names for one in self.node.decorator_list)


@dataclass(eq=False, slots=True)
class Class:
    """A class with its methods."""

    name: str
    module: Module
    node: ast.ClassDef
    scope: Function
    """The function, or the module, that it is defined in."""
    methods: dict[str, list[Function]] = field(default_factory=dict)
    """All definitions of each name: a property and its setter, the branches of an `if`."""


@dataclass(eq=False, slots=True)
class Module:
    """One file."""

    name: str
    file: str
    tree: ast.Module


@dataclass(slots=True)
class Sources:
    """All that is analysed together."""

    modules: dict[str, Module] = field(default_factory=dict)
    classes: dict[str, Class] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    by_node: dict[ast.AST, Function] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)
    _methods: dict[str, list[Function]] = field(default_factory=dict)

    def methods_named(self, name: str) -> list[Function]:
        """Return the methods of all classes that have a name."""
        if not self._methods:
            for owner in self.classes.values():
                for own, methods in owner.methods.items():
                    self._methods.setdefault(own, []).extend(methods)
        return self._methods.get(name, [])


def place_of(node: ast.expr | ast.stmt, function: Function) -> Place:
    """Return where a part of a function stands."""
    return Place(function.module.file, node.lineno, node.end_lineno or node.lineno)


def last_name(node: ast.expr) -> str:
    """Return the last part of a dotted name, or of what is called: `b` of `a.b(…)`."""
    if isinstance(node, ast.Call):
        return last_name(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def read(files: Iterable[Path], root: Path | None = None) -> Sources:
    """Read files; those that are no Python are named in the result."""
    sources = Sources()
    for path in sorted(set(files)):
        shown = _shown(path, root)
        try:
            tree = ast.parse(path.read_bytes(), filename=str(path))
        except (OSError, SyntaxError, ValueError) as error:
            sources.unreadable.append(f"{shown}: cannot be read: {error}")
            continue
        module = Module(_module_name(path), shown, tree)
        sources.modules[module.name] = module
        top = Function(f"{module.name}.<module>", module, tree, variables=frozenset())
        sources.functions[top.name] = top
        sources.by_node[tree] = top
        _Finder(sources, module).find(tree, module.name, None, None)
    return sources


def _shown(path: Path, root: Path | None) -> str:
    if root is not None and path.is_relative_to(root):
        return str(path.relative_to(root))
    return str(path)


def _module_name(path: Path) -> str:
    """Return the dotted name that a file is imported by: packages have an `__init__.py`."""
    parts = [] if path.stem == "__init__" else [path.stem]
    folder = path.parent
    while (folder / "__init__.py").exists():
        parts.append(folder.name)
        folder = folder.parent
    return ".".join(reversed(parts)) or path.parent.name


class _Finder:
    """Finds the classes and functions of one module."""

    def __init__(self, sources: Sources, module: Module) -> None:
        self._sources = sources
        self._module = module

    def find(self, node: ast.AST, prefix: str, owner: Class | None, outer: Function | None) -> None:
        """Take note of what is defined directly in a node, and look inside."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                name = f"{prefix}.{child.name}"
                scope = outer or self._sources.by_node[self._module.tree]
                made = Class(name, self._module, child, scope)
                self._sources.classes[name] = made
                self.find(child, name, made, outer)
            elif isinstance(child, _NAMED | ast.Lambda):
                self._function(child, prefix, owner, outer)
            else:
                self.find(child, prefix, owner, outer)

    def _function(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
        prefix: str,
        owner: Class | None,
        outer: Function | None,
    ) -> None:
        own = node.name if isinstance(node, _NAMED) else f"<lambda:{node.lineno}:{node.col_offset}>"
        name = f"{prefix}.{own}"
        if name in self._sources.functions:  # defined again: in a branch, or a property's setter
            name = f"{name} (line {node.lineno})"
        function = Function(
            name, self._module, node, owner.name if owner else "", outer, frozenset(_bound(node))
        )
        self._sources.functions[name] = function
        self._sources.by_node[node] = function
        if owner is not None and isinstance(node, _NAMED):
            owner.methods.setdefault(node.name, []).append(function)
        self.find(node, name, None, function)


def _bound(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Iterator[str]:
    """Yield the names that a function binds, without those that it declares to be another's."""
    arguments = node.args
    stars = [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
    for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *stars):
        yield one.arg
    body: list[ast.AST] = [] if isinstance(node, ast.Lambda) else list(node.body)
    bound, elsewhere = set(), set()
    while body:
        part = body.pop()
        if isinstance(part, ast.Global | ast.Nonlocal):
            elsewhere |= set(part.names)
        elif isinstance(part, _NAMED | ast.ClassDef):
            bound.add(part.name)
            continue
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            bound.add(part.id)
        elif isinstance(part, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and part.name:
            bound.add(part.name)
        elif isinstance(part, ast.alias):
            bound.add((part.asname or part.name).partition(".")[0])
        if not isinstance(part, ast.Lambda):
            body += ast.iter_child_nodes(part)
    yield from bound - elsewhere
