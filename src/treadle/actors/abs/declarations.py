"""What an ABS file declares: classes, interfaces, constructors, functions, by name.

A file may have several modules. A name is looked up in its own module first, then in the others,
whatever was imported or exported: a program that ABS accepts means the same.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from lark import Token, Tree

from treadle.actors.abs import containers, library, support, values
from treadle.actors.abs.errors import Node, Source, did_you_mean
from treadle.actors.abs.refusals import ANNOTATIONS, TYPES

CALLED = (library, containers, support, values)
"""The modules that translated programs call."""
RESERVED = frozenset(
    {*keyword.kwlist, *keyword.softkwlist}.union(*map(vars, CALLED))
    | {
        "Actor",
        "Program",
        "dataclass",
        "enumerate",
        "isinstance",
        "main",
        "pause",
        "program",
        "self",
        "until",
    }
)
"""Names that translated programs use for something else."""


@dataclass(frozen=True, slots=True)
class Type:
    """A type by its name, without the module, and its arguments."""

    name: str
    arguments: tuple[Type, ...] = ()


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a class, a method or a function."""

    name: str
    type: Type
    node: Node


@dataclass(frozen=True, slots=True)
class Signature:
    """A method: what it takes and returns; `block` if it is one of a class."""

    name: str
    parameters: tuple[Parameter, ...]
    result: Type
    node: Node
    block: Tree[Token] | None = None


@dataclass(slots=True)
class Declared:
    """What everything has that is declared: its names in ABS and in Python, and where it is."""

    name: str
    python: str
    module: str
    node: Node


@dataclass(slots=True)
class Interface(Declared):
    """An interface: its own methods, and those that it extends."""

    extends: tuple[Token, ...] = ()
    methods: dict[str, Signature] = field(default_factory=dict)


@dataclass(slots=True)
class Class(Declared):
    """A class; `members` are its fields and initialising blocks in their order."""

    parameters: tuple[Parameter, ...] = ()
    implements: tuple[Token, ...] = ()
    members: list[Tree[Token]] = field(default_factory=list)
    methods: dict[str, Signature] = field(default_factory=dict)


@dataclass(slots=True)
class Constructor(Declared):
    """A constructor of a data type, or an exception (which is of no type)."""

    type: str = ""
    labels: tuple[str, ...] = ()
    """What its parts are called; empty for one that has no name."""
    is_exception: bool = False

    @property
    def fields(self) -> tuple[str, ...]:
        """What its parts are called in Python."""
        named = enumerate(self.labels, 1)
        return tuple(member_name(label) if label else f"part{at}" for at, label in named)


@dataclass(slots=True)
class Function(Declared):
    """A function; `functions` are parameters in a list of their own, which are functions."""

    functions: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    body: Node | None = None


_Declared = TypeVar("_Declared", bound=Declared)


class Table(Generic[_Declared]):
    """Everything of one kind, by name and module."""

    def __init__(self, kind: str, source: Source) -> None:
        self._kind = kind
        self._source = source
        self._found: dict[str, dict[str, _Declared]] = {}

    def __iter__(self) -> Iterator[_Declared]:
        return (one for by_module in self._found.values() for one in by_module.values())

    def add(self, one: _Declared) -> None:
        """Declare something; refuse what is there already."""
        by_module = self._found.setdefault(one.name, {})
        if one.module in by_module:
            self._source.refuse(one.node, f"{self._kind} {one.name} is declared twice")
        by_module[one.module] = one

    def find(self, name: str, module: str) -> _Declared | None:
        """Look a name up from a module; it may be qualified by another one."""
        where, _, last = name.rpartition(".")
        by_module = self._found.get(last, {})
        if where:
            return by_module.get(where)
        return by_module.get(module) or next(iter(by_module.values()), None)

    def advice(self, name: str) -> str:
        """Return what may have been meant, as the end of a sentence."""
        return did_you_mean(name, self._found)


class Declarations:
    """All that a file declares."""

    def __init__(self, source: Source, tree: Tree[Token]) -> None:
        self.source = source
        self.interfaces: Table[Interface] = Table("interface", source)
        self.classes: Table[Class] = Table("class", source)
        self.constructors: Table[Constructor] = Table("constructor", source)
        self.functions: Table[Function] = Table("function", source)
        self.synonyms: dict[str, Type] = {}
        self.types: dict[str, str] = {}
        """Data types: their names in Python."""
        self.mains: list[tuple[str, Tree[Token]]] = []
        """Main blocks, with their modules."""
        self.has_cogs = any(token == "cog" for token in tree.scan_values(_is_new_kind))
        """Whether it is of the older dialect, in which plain `new` is local."""
        self.taken: set[str] = set(RESERVED)
        """Names of Python that mean something at the top of the file."""
        self._module = ""
        for item in tree.children:
            assert isinstance(item, Tree), "items are rules"
            self._declare(item)

    def _declare(self, item: Tree[Token]) -> None:
        *annotations, node = item.children
        self.check_annotations(annotations)
        assert isinstance(node, Tree), "an item is a rule"
        match node.data:
            case "module":
                self._module = str(node.children[0])
            case "main":
                self.mains.append((self._module, _tree(node.children[0])))
            case "synonym":
                name, _, meant = node.children
                self.synonyms[str(name)] = self.type_of(meant)
            case "data":
                self._data(node)
            case "exception":
                self._constructor(_tree(node.children[0]), "", is_exception=True)
            case "function":
                self._function(node)
            case "interface":
                self._interface(node)
            case "class_":
                self._class(node)

    def python_name(self, name: str, *, within: str = "") -> str:
        """Return a name for Python that nothing else at the top of the file has."""
        made = plain_name(name)
        if made in self.taken and within:
            made = f"{made}_{plain_name(within)}"
        while made in self.taken:
            made += "_"
        self.taken.add(made)
        return made

    # Annotations and types

    def check_annotations(self, annotations: list[Node]) -> None:
        """Refuse annotations that change what a program does; the others mean nothing here."""
        for annotation in annotations:
            if not isinstance(annotation, Tree):
                continue
            for annotated in annotation.children:
                for name in _tree(annotated).scan_values(_is_upper):
                    if str(name) in ANNOTATIONS:
                        self.source.refuse(name, f"[{name}]: {ANNOTATIONS[str(name)]}")

    def type_of(self, node: Node) -> Type:
        """Return a type that is written down; refuse those that there are not."""
        tree = _tree(node)
        name, *arguments = tree.children
        assert isinstance(name, Token), "a type begins with its name"
        last = name.rpartition(".")[2]
        if last in TYPES and last not in {*self.types, *self.synonyms}:
            self.source.refuse(name, f"{name}: {TYPES[last]}")
        inner = [_tree(each).children[-1] for each in arguments if isinstance(each, Tree)]
        meant = self.synonyms.get(last)
        return meant or Type(last, tuple(self.type_of(each) for each in inner if each is not None))

    # Declarations

    def _data(self, node: Tree[Token]) -> None:
        name, _, *constructors = node.children
        python = self.python_name(str(name))
        self.types[str(name)] = python
        for each in constructors:
            if isinstance(each, Tree):
                self._constructor(each, str(name), is_exception=False)

    def _constructor(self, node: Tree[Token], type_: str, *, is_exception: bool) -> None:
        name, *given = node.children
        names = []
        for each in given:
            if isinstance(each, Tree):
                *_, written, label = each.children
                self.type_of(written)
                names.append(str(label or ""))
        python = self.python_name(str(name), within=self._module)
        self.constructors.add(
            Constructor(str(name), python, self._module, node, type_, tuple(names), is_exception)
        )

    def _function(self, node: Tree[Token]) -> None:
        _, name, _, first, second, body = node.children
        functions: tuple[str, ...] = ()
        parameters = second if second is not None else first
        if _tree(first).data == "function_names":
            functions = tuple(str(each) for each in _tree(first).children)
        else:
            parameters = _tree(first).children[0]
        given = () if parameters is first else self.parameters(parameters)
        python = self.python_name(str(name), within=self._module)
        self.functions.add(Function(str(name), python, self._module, name, functions, given, body))

    def _interface(self, node: Tree[Token]) -> None:
        name, extends, *signatures = node.children
        made = Interface(str(name), str(name), self._module, name, _names(extends))
        for each in signatures:
            *annotations, result, method, parameters = _tree(each).children
            self.check_annotations(annotations)
            made.methods[str(method)] = self._signature(result, method, parameters, None)
        self.interfaces.add(made)

    def _class(self, node: Tree[Token]) -> None:
        name, parameters, implements, *members = node.children
        given = () if parameters is None else self.parameters(parameters)
        python = self.python_name(str(name), within=self._module)
        made = Class(str(name), python, self._module, name, given, _names(implements))
        for each in members:
            *annotations, member = _tree(each).children
            self.check_annotations(annotations)
            if _tree(member).data == "method":
                result, method, taken, block = _tree(member).children
                if str(method) in made.methods:
                    self.source.refuse(method, f"method {method} of {name} is declared twice")
                signature = self._signature(result, method, taken, _tree(block))
                made.methods[str(method)] = signature
            else:
                made.members.append(_tree(member))
        self.classes.add(made)

    def _signature(
        self, result: Node, name: Node, parameters: Node, block: Tree[Token] | None
    ) -> Signature:
        given = self.parameters(parameters)
        return Signature(str(name), given, self.type_of(result), name, block)

    def parameters(self, node: Node) -> tuple[Parameter, ...]:
        """Return the parameters that are written down."""
        found = []
        for each in _tree(node).children:
            if isinstance(each, Tree):
                *annotations, written, name = each.children
                self.check_annotations(annotations)
                found.append(Parameter(str(name), self.type_of(written), name))
        return tuple(found)


def plain_name(name: str) -> str:
    """Return a name without what Python's names cannot have."""
    return name.rpartition(".")[2].replace("'", "_prime")


def member_name(name: str) -> str:
    """Return what a field, a method or a part of a value is called in Python."""
    made = plain_name(name)
    return f"{made}_" if keyword.iskeyword(made) or made == "local" else made


def _tree(node: Node | None) -> Tree[Token]:
    assert isinstance(node, Tree), f"not a rule: {node!r}"
    return node


def _names(node: Node | None) -> tuple[Token, ...]:
    return () if node is None else tuple(_tree(node).scan_values(_is_upper))


def _is_upper(token: object) -> bool:
    return isinstance(token, Token) and token.type == "UPPER"


def _is_new_kind(token: object) -> bool:
    return isinstance(token, Token) and token.type == "NEW_KIND"
