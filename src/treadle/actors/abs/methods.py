"""Which methods there are: of a class, of an interface, of whoever may be called.

Types are not checked beyond that: it is enough to say "class C has no method m".
"""

from __future__ import annotations

from collections.abc import Iterator

from lark import Token

from treadle.actors.abs.declarations import Class, Declarations, Interface, Signature, Type
from treadle.actors.abs.errors import Node, did_you_mean

_OBJECT = "Object"
"""The interface that everything implements."""


class Methods:
    """Looks methods up, and refuses those that are not there."""

    def __init__(self, declared: Declarations) -> None:
        self._declared = declared
        self._source = declared.source

    def check_classes(self) -> None:
        """Refuse classes that have not all methods of their interfaces."""
        for one in self._declared.classes:
            for name in one.implements:
                interface = self._interface(name, one.module)
                for signature in self.of_interface(interface):
                    self._check_implemented(one, interface, signature)

    def _check_implemented(self, one: Class, interface: Interface, asked: Signature) -> None:
        method = one.methods.get(asked.name)
        if method is None:
            self._source.refuse(
                one.node,
                f"class {one.name} has no method {asked.name}, "
                f"which interface {interface.name} asks for",
            )
        if len(method.parameters) != len(asked.parameters):
            self._source.refuse(
                method.node,
                f"method {asked.name} of {one.name} has {_parameters(method)}, "
                f"and interface {interface.name} asks for {len(asked.parameters)}",
            )

    def _interface(self, name: Token, module: str) -> Interface:
        found = self._declared.interfaces.find(str(name), module)
        if found is None and name.rpartition(".")[2] == _OBJECT:
            return Interface(_OBJECT, _OBJECT, "", name)
        if found is None:
            advice = self._declared.interfaces.advice(str(name))
            self._source.refuse(name, f"there is no interface {name}{advice}")
        return found

    def of_interface(self, interface: Interface) -> Iterator[Signature]:
        """Yield the methods of an interface, and of those that it extends."""
        seen, work = set[str](), [interface]
        while work:
            one = work.pop()
            if one.name not in seen:
                seen.add(one.name)
                yield from one.methods.values()
                work += [self._interface(name, one.module) for name in one.extends]

    def interfaces_of(self, one: Class) -> list[str]:
        """Return the names of all interfaces that a class implements."""
        found: list[str] = []
        work = [self._interface(name, one.module) for name in one.implements]
        while work:
            interface = work.pop(0)
            if interface.name not in found:
                found.append(interface.name)
                work += [self._interface(name, interface.module) for name in interface.extends]
        return found

    def called(
        self, method: Token, given: int, receiver: Type | Class | None, module: str
    ) -> Signature | None:
        """Return the method that a call means, if one can be told; refuse it if there is none."""
        whose, methods = self._candidates(receiver, module)
        fitting = [each for each in methods if each.name == str(method)]
        if not fitting:
            advice = did_you_mean(str(method), [each.name for each in methods])
            self._source.refuse(method, f"{whose} has no method {method}{advice}")
        counts = {len(each.parameters) for each in fitting}
        if given not in counts:
            self._source.refuse(method, f"{method} takes {_parameters(fitting[0])}, not {given}")
        return fitting[0] if receiver is not None else None

    def _candidates(
        self, receiver: Type | Class | None, module: str
    ) -> tuple[str, list[Signature]]:
        """Return who is called, in words, and the methods there are."""
        if isinstance(receiver, Class):
            return f"class {receiver.name}", list(receiver.methods.values())
        if receiver is not None:
            interface = self._declared.interfaces.find(receiver.name, module)
            if interface is not None:
                return f"interface {interface.name}", list(self.of_interface(interface))
            one = self._declared.classes.find(receiver.name, module)
            if one is not None:
                return f"class {one.name}", list(one.methods.values())
        everywhere = [each for one in self._declared.classes for each in one.methods.values()]
        return "no class here: it", everywhere

    def check_arguments(self, node: Node, one: Class, given: int) -> None:
        """Refuse a creation with the wrong number of arguments."""
        if given != len(one.parameters):
            self._source.refuse(node, f"class {one.name} takes {_parameters(one)}, not {given}")


def _parameters(one: Class | Signature) -> str:
    count = len(one.parameters)
    return f"{count} parameter{'' if count == 1 else 's'}"
