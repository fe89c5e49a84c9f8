"""Methods and statements that change lists, dictionaries and sets."""

from __future__ import annotations

from treadle.symbolic.decisions import Raised
from treadle.symbolic.functions import Functions
from treadle.symbolic.values import WHATEVER, Box, Term, Value


class Updates(Functions):
    """Changes containers."""

    def update(self, container: Value, operation: str, given: list[Value]) -> Value:
        """Change a container; return what the method returns."""
        box = self.resolve(container, sent=True)
        if not isinstance(box, Box):
            if isinstance(box, tuple | str | int | None):
                raise Raised("AttributeError" if operation.isalpha() else "TypeError")
            self.ends("a change of something that the engine does not follow")
        if operation == "clear":
            self.state.boxes[box.name] = ()
            return None
        of = {"list": self._update_list, "dict": self._update_dict, "set": self._update_set}
        return of[box.kind](box, operation, given)

    def _unknown(self, operation: str) -> Value:
        self.ends(f"{operation} is not followed")
        return WHATEVER

    def _update_list(self, box: Box, operation: str, given: list[Value]) -> Value:
        items = list(self.state.boxes[box.name])
        result: Value = None
        match operation, given:
            case "append", [item]:
                items.append(item)
            case "extend", [more]:
                items += self.items(more)
            case "insert", [int() as at, item]:
                items.insert(at, item)
            case "reverse", []:
                items.reverse()
            case "pop", _:
                at = self._index(given[0] if given else -1, len(items))
                result = items.pop(at)
            case "remove", [item]:
                del items[self._found(items, item)]
            case "del", [key]:
                del items[self._index(key, len(items))]
            case "[]=", [key, value]:
                items[self._index(key, len(items))] = value
            case _:
                return self._unknown(operation)
        self.state.boxes[box.name] = tuple(items)
        return result

    def _index(self, key: Value, length: int) -> int:
        """Return the position that an index means; what is out of reach is an error."""
        key = self.resolve(key)
        if isinstance(key, Term):
            key = self._position(key, length)
        if not isinstance(key, int):
            self._unknown("an index that is no number")
        if not -length <= key < length:
            raise Raised("IndexError")
        return int(key)

    def _found(self, items: list[Value], item: Value) -> int:
        for at, each in enumerate(items):
            if self.truth(self.same(each, item, identity=False)):
                return at
        raise Raised("ValueError")

    def _update_dict(self, box: Box, operation: str, given: list[Value]) -> Value:
        match operation, given:
            case "[]=", [key, value]:
                return self.set_entry(box, key, value)
            case "del", [key]:
                self._pop(box, key)
                return None
            case "pop", [key]:
                return self._pop(box, key)
            case "pop", [key, default]:
                try:
                    return self._pop(box, key)
                except Raised:
                    return default
            case "setdefault", [key, value]:
                try:
                    return self.entry(box, key)
                except Raised:
                    self.set_entry(box, key, value)
                    return value
            case "update", [other]:
                for key, value in self._pairs(other):
                    self.set_entry(box, key, value)
                return None
        return self._unknown(operation)

    def _pairs(self, other: Value) -> list[tuple[Value, Value]]:
        """Return the entries of a dictionary, or of a container with pairs."""
        other = self.resolve(other)
        if isinstance(other, Box) and other.kind == "dict":
            return list(self.state.boxes[other.name])
        pairs = [self.items(each) for each in self.items(other)]
        if any(len(pair) != 2 for pair in pairs):
            raise Raised("ValueError")
        return [(pair[0], pair[1]) for pair in pairs]

    def _pop(self, box: Box, key: Value) -> Value:
        pairs = self.state.boxes[box.name]
        for at, (known, value) in enumerate(pairs):
            if self.truth(self.same(known, key, identity=False)):
                self.state.boxes[box.name] = (*pairs[:at], *pairs[at + 1 :])
                return value
        raise Raised("KeyError")

    def _update_set(self, box: Box, operation: str, given: list[Value]) -> Value:
        items = list(self.state.boxes[box.name])
        match operation, given:
            case "add", [item]:
                self.state.boxes[box.name] = self.distinct([*items, item])
                return None
            case "update", [more]:
                self.state.boxes[box.name] = self.distinct([*items, *self.items(more)])
                return None
            case "remove" | "discard", [item]:
                try:
                    del items[self._found(items, item)]
                except Raised:
                    if operation == "remove":
                        raise Raised("KeyError") from None
                self.state.boxes[box.name] = tuple(items)
                return None
        return self._unknown(operation)
