"""Which instruction filled a slot of the stack, as far as straight-line code tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bytecode import BinaryOp, Instr

from treadle.python.instrument.instructions import RESULTS
from treadle.python.instrument.opcodes import ITERATES_BY_INDEX, NULL_LAST, callable_depth

_PLAIN = (int, float, bool, complex, str, type(None))


@dataclass(frozen=True, slots=True)
class Origin:
    """The instruction that produced a value, with a name or constant if it has one."""

    name: str = ""
    arg: Any = None
    by: Instr | None = None
    """The instruction itself, if it loads an attribute."""

    @property
    def is_constant(self) -> bool:
        """Whether the value is a constant, which nobody changes."""
        return self.name == "LOAD_CONST"

    @property
    def is_number(self) -> bool:
        """Whether the value is a constant number."""
        return self.name == "LOAD_CONST" and self.arg.__class__ in (int, float, bool, complex)

    @property
    def is_plain(self) -> bool:
        """Whether the value is a constant that is equal to no container."""
        return self.name == "LOAD_CONST" and self.arg.__class__ in _PLAIN

    @property
    def is_slice(self) -> bool:
        """Whether the value is made of the parts of `a[i:j]`."""
        return self.name == "BUILD_SLICE" or (self.is_constant and type(self.arg) is slice)


_UNKNOWN = Origin()
_NULL = Origin("NULL")
_LOCAL_LOADS = frozenset({"LOAD_FAST", "LOAD_FAST_CHECK"})
_LOADS = _LOCAL_LOADS | {"LOAD_CONST", "LOAD_DEREF", "LOAD_NAME"}
_TWO_TO_ONE = frozenset({"COMPARE_OP", "BINARY_OP", "CONTAINS_OP", "IS_OP", "BINARY_SUBSCR"})
_ONE_TO_ONE = frozenset(
    {
        "UNARY_NOT", "UNARY_NEGATIVE", "UNARY_INVERT", "TO_BOOL", "FORMAT_SIMPLE", "CONVERT_VALUE",
    }
)  # fmt: skip
_POPS = {"POP_TOP": 1, "STORE_FAST": 1, "STORE_NAME": 1, "STORE_GLOBAL": 1, "STORE_DEREF": 1,
         "STORE_ATTR": 2, "STORE_SUBSCR": 3, "DELETE_SUBSCR": 2, "DELETE_ATTR": 1}  # fmt: skip
_NEUTRAL = frozenset(
    {"RESUME", "NOP", "KW_NAMES", "PRECALL", "MAKE_CELL", "COPY_FREE_VARS", "NOT_TAKEN"}
)
_BUILDS = frozenset({"BUILD_TUPLE", "BUILD_LIST", "BUILD_SET", "BUILD_STRING", "BUILD_SLICE"})
_MATCHES = frozenset({"MATCH_MAPPING", "MATCH_SEQUENCE"})


def _operation(arg: Any) -> str:
    """Return what an operator with two operands is called: some make nothing new."""
    if BinaryOp(arg).name == "SUBSCR":
        return "BINARY_SUBSCR"
    return "INPLACE_OP" if arg >= BinaryOp.INPLACE_ADD else "BINARY_OP"


class Origins:
    """A stack of origins that follows the instructions; below what is known, all is unknown."""

    def __init__(
        self,
        modules: frozenset[str] = frozenset(),
        specials: frozenset[str] = frozenset(),
        given: frozenset[str] = frozenset(),
    ) -> None:
        self._stack: list[Origin] = []
        self._given = given
        """Parameters that keep what the function was called with."""
        self._modules = modules
        """Variables that hold what was imported."""
        self._anything = {name for name, methods in RESULTS.items() if methods & specials}
        """Operators that may yield anything, and not only what is new, or true or false."""

    def forget(self) -> None:
        """Know nothing any more: other code may jump here."""
        self._stack.clear()

    def top(self, depth: int) -> Origin:
        """Return what is known of a slot; 1 is the top."""
        return self._stack[-depth] if depth <= len(self._stack) else _UNKNOWN

    def is_given(self, depth: int) -> bool:
        """Tell whether a slot holds a constant, or what the function was called with."""
        found = self.top(depth)
        if found.is_constant:
            return True
        # From 3.13 on a cell is loaded like a local variable where a function begins.
        is_variable = found.name in _LOCAL_LOADS and isinstance(found.arg, str)
        return is_variable and found.arg in self._given

    def _pop(self, count: int) -> None:
        if count:
            del self._stack[-count:]

    def follow(self, i: Instr) -> None:
        """Take an instruction into account that is executed and does not jump."""
        name, arg, stack = i.name, i.arg, self._stack
        if name in _LOADS:
            stack.append(Origin(name, arg))
        elif name == "LOAD_GLOBAL":
            self._load_global(arg)
        elif name == "PUSH_NULL":
            stack.append(_NULL)
        elif name in ("LOAD_ATTR", "LOAD_METHOD"):
            self._load_attribute(i)
        elif name in _TWO_TO_ONE:
            self._pop(2)
            stack.append(self._result(name, arg))
        elif name in _ONE_TO_ONE:
            self._pop(1)
            stack.append(Origin(name))
        elif name in _MATCHES:
            stack.append(Origin("MATCH"))
        elif name in _POPS:
            self._pop(_POPS[name])
        elif name in _BUILDS:
            self._build(name, arg)
        elif name in ("CALL", "CALL_KW"):
            self._call(i)
        elif name == "GET_ITER":
            self._pop(1)
            stack += [Origin(name), Origin("INDEX")][: 1 + ITERATES_BY_INDEX]
        elif name == "LOAD_SPECIAL":
            self._pop(1)
            stack += [Origin(name), Origin(name)]
        elif name == "COPY":
            stack.append(self.top(arg))  # type: ignore[arg-type]
        elif name == "SWAP" and arg <= len(stack):  # type: ignore[operator]
            stack[-1], stack[-arg] = stack[-arg], stack[-1]  # type: ignore[operator]
        elif name == "MAKE_FUNCTION" and (NULL_LAST or not arg):
            self._pop(1)
            stack.append(Origin(name))
        elif name.startswith("POP_JUMP"):
            self._pop(1)
        elif name not in _NEUTRAL:
            self.forget()

    def _result(self, name: str, arg: Any) -> Origin:
        """Return what an operator with two operands yields."""
        found = _operation(arg) if name == "BINARY_OP" else name
        return _UNKNOWN if found in self._anything else Origin(found)

    def _call(self, i: Any) -> None:
        called = self.top(callable_depth(i))
        self._pop(i.arg + 2 + (i.name == "CALL_KW"))
        is_super = called.name == "LOAD_GLOBAL" and called.arg == "super"
        self._stack.append(Origin("SUPER" if is_super else i.name))

    def _build(self, name: str, arg: Any) -> None:
        if arg <= len(self._stack):
            self._pop(arg)
        else:
            self.forget()
        self._stack.append(Origin(name))

    def _load_global(self, arg: Any) -> None:
        with_null, name = arg
        self._push(Origin("LOAD_GLOBAL", name), with_null)

    def _is_import(self, loaded: Origin) -> bool:
        is_variable = loaded.name in _LOADS and not loaded.is_constant
        return is_variable and getattr(loaded.arg, "name", loaded.arg) in self._modules

    def _load_attribute(self, i: Instr) -> None:
        arg: Any = i.arg
        is_method, name = arg if isinstance(arg, tuple) else (i.name == "LOAD_METHOD", arg)
        kind = "LOAD_METHOD" if is_method else "LOAD_ATTR"
        if self.top(1).name == "SUPER":
            kind = "LOAD_SUPER"
        elif self.top(1).name == "LOAD_GLOBAL" or self._is_import(self.top(1)):
            # perhaps of a module or class
            kind = "LOAD_OF_GLOBAL"
        self._pop(1)
        self._push(Origin(kind, name, i), is_method)

    def _push(self, origin: Origin, with_null: bool) -> None:
        """Push what was loaded, for a call with the NULL that belongs to it."""
        if not with_null:
            self._stack.append(origin)
        elif NULL_LAST:
            self._stack += [origin, _NULL]
        else:
            self._stack += [_NULL, origin]
