"""Bytecode with hooks: a call before every instruction that may touch something shared.

A guided tour. `rewrite` takes a code object and returns one that does the same, but calls a
function of `hooks` before each visible access, with copies of the operands from the stack. Nearly
always the object is nobody else's; so the call stands behind a *guard*, `id(obj) in published`,
which is inlined because a call of a Python function would cost three times as much.

Functions written in C touch their arguments without any bytecode. So the callable of every call is
replaced, on the stack, by what `calls.resolve` makes of it. For that it has to lie in one place:
methods are loaded as plain attributes.

The rewriter knows for many stack slots which instruction filled them (`origins`), and leaves hooks
out where that says enough: the truth of a comparison, `i + 1`, `isinstance(...)`. Line numbers,
exception tables are kept right by the `bytecode` package. What differs from one Python to the next
is in `opcodes`, and `decode` hides most of it. Hooks of operators are in
`operator_hooks`.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bytecode import BinaryOp, Instr, Label
from bytecode.instr import TryBegin, TryEnd

from treadle.python.accesses import (
    calls,
    coroutines,
    described,
    exceptions,
    iterate,
    known_functions,
    managers,
    streams,
    taking,
)
from treadle.python.accesses import instruction_hooks as hooks
from treadle.python.accesses.codes_of_functions import look_at_code
from treadle.python.accesses.container_methods import MUTATORS
from treadle.python.accesses.direct_methods import look_at
from treadle.python.accesses.known_builtins import (
    GOING_THROUGH,
    HARMLESS_CALLS,
    IN_WORDS,
    READING,
)
from treadle.python.instrument import increments, variables
from treadle.python.instrument.decode import decoded, encoded
from treadle.python.instrument.direct_calls import direct_calls
from treadle.python.instrument.emit import (
    Item,
    before_reading,
    effect,
    guard,
    guard_cell,
    guard_two,
    hook,
    instead,
    is_published,
    leave,
    replaced,
    unless_direct,
)
from treadle.python.instrument.instructions import (
    FRESH,
    OPPOSITE,
)
from treadle.python.instrument.loops import BACK, ends_of_rounds
from treadle.python.instrument.names import ATTRIBUTE_STORES, NAMING, VARIABLE_STORES, before_name
from treadle.python.instrument.opcodes import (
    AFTER_YIELD,
    BEFORE_CALLS,
    CALLS,
    CONDITIONAL_JUMPS,
    HAS_SPECIAL_METHODS,
    ITERATES_BY_INDEX,
    JUMP_IF_TRUE,
    LEAVING,
    NOT_CALLABLE,
    NULL_LAST,
    RESUME_PLACE,
    TAKES_KEYWORDS_ALWAYS,
    callable_depth,
    load_attribute,
    null_for_call,
)
from treadle.python.instrument.operands import operands_of
from treadle.python.instrument.operator_hooks import OperatorHooks
from treadle.python.instrument.scope import Scope
from treadle.python.instrument.stack_origins import Origins


def rewrite(code: types.CodeType, scope: Scope) -> types.CodeType:
    """Return a code object, and all those inside it, with hooks."""
    return _Rewriter(code, scope).rewrite()


class _Rewriter(OperatorHooks):
    """Rewrites one code object."""

    def __init__(self, code: types.CodeType, scope: Scope) -> None:
        self._code = code
        self._source: list[Item] = decoded(code)
        own = frozenset() if scope.assigns_cells else variables.fixed_variables(code, self._source)
        inherited = scope.fixed.intersection(code.co_freevars)
        imported = scope.imported | variables.imported_variables(self._source)
        super().__init__(
            replace(scope, fixed=own | inherited, imported=imported),
            Origins(imported, scope.specials, variables.given_variables(code)),
        )
        self._ends_of_rounds = ends_of_rounds(self._source)
        self._seen_labels: set[int] = set()
        self._direct = direct_calls(self._source, self._scope)
        self._has_keywords = False
        self._is_generator_expression = code.co_name == "<genexpr>"
        self._is_at_first = True
        """Whether what comes next is run before anything else, even by a generator."""

    def rewrite(self) -> types.CodeType:
        """Return the new code object."""
        source = self._source
        index = 0
        while index < len(source):
            item = source[index]
            if isinstance(item, Label):
                self._origins.forget()
                self._seen_labels.add(id(item))
                self._out.append(item)
            elif isinstance(item, Instr):
                index = self._instruction(index, item)
                continue
            else:
                self._out.append(item)
            index += 1
        result: Any = source
        result[:] = self._out
        return encoded(result, self._code)

    def _instruction(self, index: int, i: Any) -> int:
        """Emit an instruction with its hooks; return the index of the next one."""
        if self._scope.replaces_specials:
            self._look_at_classes(i)
        if i.name in BEFORE_CALLS:
            end = index
            while self._source[end].name not in CALLS:
                end += 1
            self._has_keywords = i.name == "KW_NAMES"
            called = self._origins.top(callable_depth(self._source[end]))
            if self._scope.replaces_specials and end > index:
                self._look_at_classes(self._source[end])
            self._call(self._source[end])
            for one in self._source[index : end + 1]:
                self._plain(one)
            if self._scope.gil and called.name != "LOAD_SPECIAL":  # up to 3.13 `with` is no call
                self._emit(hook(i.location, hooks.point))
            return end + 1
        if i.name == "LOAD_ATTR" and self._is_increment(index):
            self._increment(*self._source[index : index + increments.LENGTH])
            return index + increments.LENGTH
        if i.name == "LOAD_CONST" and isinstance(i.arg, types.CodeType):
            nested = rewrite(i.arg, self._scope)
            self._plain(Instr("LOAD_CONST", nested, location=i.location))
            return index + 1
        if i.name in LEAVING and not self._is_await(i):
            self._emit(leave(i.location))
        make = _REWRITTEN.get(i.name)
        if make is None or not make(self, i):
            self._plain(i)
        return index + 1

    def _is_await(self, i: Any) -> bool:
        """Tell whether a coroutine suspends: `throw` expects `SEND` right before that (3.11)."""
        if i.name != "YIELD_VALUE":
            return False
        before = (one for one in reversed(self._out) if not isinstance(one, TryBegin | TryEnd))
        return getattr(next(before, None), "name", "") == "SEND"

    def _look_at_classes(self, i: Any) -> None:
        """Emit a look at what decides which special methods an instruction runs."""
        unpacked = self._unpacked(i) if i.name == "CALL_FUNCTION_EX" else ()
        depths = operands_of(i, unpacked)
        if depths:
            self._emit(hook(i.location, hooks.look_at_classes, copies=depths))

    # Attributes

    def _attribute(self, i: Any) -> bool:
        is_method, name = i.arg if isinstance(i.arg, tuple) else (i.name == "LOAD_METHOD", i.arg)
        if id(i) in self._direct:
            return self._direct_method(i, name)
        if name in _DICTIONARIES and not is_method:
            self._emit(replaced(i.location, _DICTIONARIES[name]))
            self._origins.forget()
            return True
        if name == "__code__":
            self._emit(hook(i.location, look_at_code, copies=[1]))
        if name in self._scope.class_names:
            self._emit(hook(i.location, hooks.load_class_attr, copies=[1], consts=[name]))
        else:
            call = hook(i.location, hooks.load_attr, copies=[1], consts=[name])
            self._emit(guard(i.location, 1, call))
        if not is_method:
            return False
        self._out += load_attribute(i.location, name)
        self._out += null_for_call(i.location)
        self._origins.follow(i)
        return True

    def _direct_method(self, i: Instr, name: str) -> bool:
        """Load the method of an object that nobody else has as it is; else resolve it at once."""
        at = i.location
        unknown, shared, end = Label(), Label(), Label()
        loads = hooks.load_class_attr if name in self._scope.class_names else hooks.load_attr
        self._emit(unless_direct(at, shared, unknown))
        self._out += [*(effect(at) if name in taking.TAKING else ()), i]
        self._out.append(Instr("JUMP_FORWARD", end, location=at))
        self._out += [unknown, *hook(at, look_at, copies=[1])]
        self._out += [shared, *hook(at, loads, copies=[1], consts=[name])]
        self._out += load_attribute(at, name)
        self._out += [*replaced(at, _resolving(name)), *null_for_call(at), end]
        self._origins.follow(i)
        return True

    def _super_attribute(self, i: Any) -> bool:
        is_method, explicit, name = i.arg
        if not is_method:
            return False
        self._out.append(Instr(i.name, (False, explicit, name), location=i.location))
        self._out += null_for_call(i.location)
        self._origins.forget()
        return True

    def _store_attribute(self, i: Any) -> bool:
        self._effect(i)
        if i.arg == "__dict__":
            self._emit(hook(i.location, known_functions.store_dict, copies=[2, 1]))
            return False
        store = ATTRIBUTE_STORES[self._origins.is_given(2)]
        call = hook(i.location, store, copies=[2, 1], consts=[i.arg])
        self._emit(guard(i.location, 1, call))
        return False

    def _is_increment(self, index: int) -> bool:
        """Tell whether a number is added to an attribute of what `COPY` has just copied."""
        before, *found = self._source[index - 1 : index + increments.LENGTH] if index else [None]
        is_copied = isinstance(before, Instr) and before.name == "COPY" and before.arg == 1
        return is_copied and increments.is_increment(found, self._scope)

    def _increment(self, load: Any, number: Any, operation: Any, swap: Any, store: Any) -> None:
        """Add a number to an attribute, with one look at whose object that is."""
        at, shared, end = load.location, Label(), Label()
        self._emit(is_published(at, Instr("COPY", 2, location=at)))
        self._emit([Instr(JUMP_IF_TRUE, shared, location=at), load, number, operation, swap])
        self._effect(store)
        self._emit([store, Instr("JUMP_FORWARD", end, location=store.location), shared])
        self._emit(hook(at, hooks.load_attr, copies=[1], consts=[store.arg]))
        for i in (load, number, operation, swap):
            self._plain(i)
        self._effect(store)
        stores = ATTRIBUTE_STORES[self._origins.is_given(2)]
        self._emit(hook(store.location, stores, copies=[2, 1], consts=[store.arg]))
        self._plain(store)
        self._emit([end])

    def _delete_attribute(self, i: Any) -> bool:
        self._effect(i)
        call = hook(i.location, hooks.delete_attr, copies=[1], consts=[i.arg])
        self._emit(guard(i.location, 1, call))
        return False

    # Items

    def _binary(self, i: Any) -> bool:
        return self._item(i) if BinaryOp(i.arg).name == "SUBSCR" else self._operator(i)

    def _item(self, i: Any) -> bool:
        if self._origins.top(2).name not in FRESH:
            self._emit(guard(i.location, 2, hook(i.location, hooks.load_item, copies=[2, 1])))
        return False

    def _store_item(self, i: Any) -> bool:
        self._effect(i)
        call = instead(i.location, 3, streams.store_item, [3, 2, 1])
        if self._origins.top(1).is_slice:
            self._emit(guard_two(i.location, call, (2, 3)))
        else:
            self._emit(guard(i.location, 2, call))
        return False

    def _delete_item(self, i: Any) -> bool:
        self._effect(i)
        self._emit(guard(i.location, 2, hook(i.location, hooks.delete_item, copies=[2, 1])))
        return False

    def _slice(self, i: Any) -> bool:
        self._emit(guard(i.location, 3, hook(i.location, hooks.load_slice, copies=[3])))
        return False

    def _store_slice(self, i: Any) -> bool:
        self._effect(i)
        call = instead(i.location, 4, streams.store_slice, [4, 3])
        self._emit(guard_two(i.location, call, (3, 4)))
        return False

    # Variables

    def _load_cell(self, i: Any) -> bool:
        if i.arg.name != "__class__" and i.arg.name not in self._scope.fixed:
            call = hook(i.location, hooks.load_cell, cell=i.arg)
            self._emit(guard_cell(i.location, i.arg, call))
        return False

    def _store_cell(self, i: Any) -> bool:
        if i.arg.name not in self._scope.fixed:
            self._effect(i)
            store = VARIABLE_STORES[self._origins.is_given(1)]
            call = hook(i.location, store, copies=[1], cell=i.arg)
            self._emit(guard_cell(i.location, i.arg, call))
        return False

    def _delete_cell(self, i: Any) -> bool:
        self._effect(i)
        call = hook(i.location, hooks.delete_cell, cell=i.arg)
        self._emit(guard_cell(i.location, i.arg, call))
        return False

    def _name(self, i: Any) -> bool:
        self._emit(before_name(i, self._scope, is_given=self._origins.is_given(1)))
        return False

    # Iteration, and conditions

    def _iterate(self, i: Any) -> bool:
        if self._origins.top(1).name not in FRESH:
            self._emit(guard(i.location, 1, replaced(i.location, iterate.iterate)))
        if ITERATES_BY_INDEX and self._is_generator_expression and self._is_at_first:
            copy = Instr("COPY", 1, location=i.location)
            keep = Instr("STORE_FAST", ".0", location=i.location)  # where older Pythons have it
            self._emit([*replaced(i.location, iterate.begin), copy, keep])
        return False

    def _await(self, i: Any) -> bool:
        self._emit(replaced(i.location, coroutines.awaited))
        return False

    def _ask_for_next(self, i: Any) -> bool:
        call = hook(i.location, coroutines.asked_for_next, copies=[1])
        self._emit(guard(i.location, 1, call))
        return False

    def _load_local(self, i: Any) -> bool:
        """What a generator expression goes through may be published after the generator is made."""
        if ITERATES_BY_INDEX or i.arg != ".0" or not self._is_generator_expression:
            return False
        self._plain(i)
        self._emit(guard(i.location, 1, replaced(i.location, iterate.go_on)))
        return True

    def _conditional_jump(self, i: Any) -> bool:
        condition = i.name.partition("IF_")[2]
        if not condition.endswith("NONE"):
            self._truth(i)
        if id(i.arg) not in self._seen_labels:
            return False
        # What is called before a loop's next iteration is called only if there is one.
        leave = Label()
        name = i.name.replace("BACKWARD", "FORWARD").replace(condition, OPPOSITE[condition])
        self._plain(Instr(name, leave, location=i.location))
        self._jump(i)
        self._plain(Instr("JUMP_BACKWARD", i.arg, location=i.location))
        self._out.append(leave)
        self._origins.forget()
        return True

    # Calls, and where they begin and end

    def _call(self, i: Any) -> None:
        """Emit what has to come before a call."""
        depth = callable_depth(i)
        origin = self._origins.top(depth)
        if i.name == "CALL_FUNCTION_EX":
            for place in self._unpacked(i):
                call = hook(i.location, hooks.read_whole, copies=[place])
                self._emit(guard(i.location, place, call))
        resolve = calls.resolve if origin.by is None else _resolving(origin.arg)
        if origin.by is not None and origin.arg in MUTATORS - taking.TAKING:
            self._effect(i)
        if id(i) in self._direct or origin.name in NOT_CALLABLE or self._leaves_with(i):
            return
        if origin.name == "LOAD_GLOBAL" and self._is_plain(origin.arg, i):
            return
        swap = [] if depth == 1 else [Instr("SWAP", depth, location=i.location)]
        self._emit([*swap, *replaced(i.location, resolve), *swap])

    def _unpacked(self, i: Any) -> range:
        """Return where the arguments of `f(*a, **k)` lie; a NULL may stand for keywords."""
        if not TAKES_KEYWORDS_ALWAYS:
            return range(1, 2 + (i.arg & 1))
        return range(2, 3) if self._origins.top(1).name == "NULL" else range(1, 3)

    def _leaves_with(self, i: Any) -> bool:
        """Tell whether a call is that of `__exit__` at the end of a `with`; `enter` saw to it.

        Up to 3.13 the method is where others have NULL, and the first None where others have what
        they call: to resolve that takes 1.03 times the time of a test of nothing but `with lock:`.
        """
        nones = i.arg if HAS_SPECIAL_METHODS else i.arg + (not NULL_LAST)
        if i.name != "CALL" or nones != 3:
            return False
        *given, below = [self._origins.top(depth) for depth in (1, 2, 3, 4)]
        return not below.name and all(one.is_constant and one.arg is None for one in given)

    def _is_plain(self, name: str, i: Any) -> bool:
        """Tell whether a global can be called as it is, after what is emitted here."""
        if name in self._scope.own:
            return True
        if name in self._scope.shadowed:
            return False
        if i.name != "CALL" or i.arg not in (1, 2) or self._has_keywords:
            return name in HARMLESS_CALLS and name != "type"  # which may make a class
        if name == "sum" and (i.arg == 2 or self._scope.item_by_item):
            return False  # of lists, perhaps, which are looked into
        if name in GOING_THROUGH:
            return self._go_through(name, i)
        for depth in range(1, i.arg + 1):
            if name in IN_WORDS:
                self._put_into_words(i, depth)
            elif name in READING and self._origins.top(depth).name not in FRESH | {"LOAD_CONST"}:
                call = before_reading(i.location, READING[name], i.arg, depth)
                self._emit(guard(i.location, depth, call))
        return name in READING or name in IN_WORDS or name in HARMLESS_CALLS

    def _go_through(self, name: str, i: Any) -> bool:
        """Emit what comes before something that looks into its arguments, one by one."""
        if i.arg == 1:
            self._emit(replaced(i.location, GOING_THROUGH[name]))
        elif name in ("min", "max"):
            self._look_into_both(i, "__lt__")
        return True

    def _enter(self, i: Any) -> bool:
        self._emit(replaced(i.location, managers.enter))
        return False

    def _raise(self, i: Any) -> bool:
        if i.arg:
            raising = exceptions.before_raise if i.arg == 1 else exceptions.before_raise_from
            call = hook(i.location, raising, copies=range(i.arg, 0, -1))
            self._emit(guard(i.location, i.arg, call))
        return False

    def _load_special(self, i: Any) -> bool:
        """A `with` statement loads `__exit__` of a copy of its manager, then `__enter__`."""
        if i.arg.name == "EXIT":
            self._plain(Instr("POP_TOP", location=i.location))
            self._enter(i)
            self._plain(Instr("COPY", 1, location=i.location))
        return False

    def _resume(self, i: Any) -> bool:
        place = i.arg & RESUME_PLACE
        self._plain(i)
        if self._scope.gil and place <= AFTER_YIELD:  # not after `yield from` or `await`
            self._emit(hook(i.location, hooks.point))
        self._is_at_first = place != 0
        if ITERATES_BY_INDEX and place == 0 and self._is_generator_expression:
            swap = Instr("SWAP", 2, location=i.location)
            go_on = [swap, *replaced(i.location, iterate.go_on), swap]
            self._emit(guard(i.location, 2, go_on))
        return True

    def _jump(self, i: Any) -> bool:
        ends_round = id(i) in self._ends_of_rounds
        if ends_round:
            line = i.location.lineno if i.location else 0
            site = (self._code.co_filename, self._code.co_qualname, line, len(self._out))
            self._emit(hook(i.location, hooks.loop, consts=[site]))
        can_be_interrupted = id(i.arg) in self._seen_labels and "NO_INTERRUPT" not in i.name
        if self._scope.gil and (ends_round or can_be_interrupted):
            self._emit(hook(i.location, hooks.point))
        return False


def _resolving(name: str) -> Callable[[Any], Any]:
    """Return what finds out what to call instead of a method of this name."""
    return taking.resolve if name in taking.TAKING else calls.resolve


_DICTIONARIES = {**known_functions.DICTIONARIES, **described.DICTIONARIES}
"""Attributes that are dictionaries with the name of their owner."""
_REWRITTEN: dict[str, Callable[[_Rewriter, Instr], bool]] = {
    "LOAD_ATTR": _Rewriter._attribute,
    "LOAD_METHOD": _Rewriter._attribute,
    "LOAD_SUPER_ATTR": _Rewriter._super_attribute,
    "STORE_ATTR": _Rewriter._store_attribute,
    "DELETE_ATTR": _Rewriter._delete_attribute,
    "BINARY_SUBSCR": _Rewriter._item,
    "STORE_SUBSCR": _Rewriter._store_item,
    "DELETE_SUBSCR": _Rewriter._delete_item,
    "BINARY_SLICE": _Rewriter._slice,
    "STORE_SLICE": _Rewriter._store_slice,
    "LOAD_FAST": _Rewriter._load_local,
    "LOAD_DEREF": _Rewriter._load_cell,
    "LOAD_CLASSDEREF": _Rewriter._load_cell,
    "LOAD_FROM_DICT_OR_DEREF": _Rewriter._load_cell,
    "STORE_DEREF": _Rewriter._store_cell,
    "DELETE_DEREF": _Rewriter._delete_cell,
    **dict.fromkeys(NAMING, _Rewriter._name),
    "GET_ITER": _Rewriter._iterate,
    "GET_YIELD_FROM_ITER": _Rewriter._iterate,
    "GET_AWAITABLE": _Rewriter._await,
    "GET_ANEXT": _Rewriter._ask_for_next,
    "UNPACK_SEQUENCE": _Rewriter._read_top,
    "UNPACK_EX": _Rewriter._read_top,
    "LIST_EXTEND": _Rewriter._read_top,
    "SET_UPDATE": _Rewriter._read_top,
    "DICT_UPDATE": _Rewriter._read_top,
    "DICT_MERGE": _Rewriter._read_top,
    "GET_LEN": _Rewriter._read_size,
    "CONTAINS_OP": _Rewriter._contains,
    "COMPARE_OP": _Rewriter._compare,
    "BINARY_OP": _Rewriter._binary,
    "UNARY_NOT": _Rewriter._truth,
    "UNARY_NEGATIVE": _Rewriter._unary,
    "UNARY_INVERT": _Rewriter._unary,
    "UNARY_POSITIVE": _Rewriter._unary,
    "CALL_INTRINSIC_1": _Rewriter._unary,
    "TO_BOOL": _Rewriter._truth,
    "FORMAT_VALUE": _Rewriter._format,
    "FORMAT_SIMPLE": _Rewriter._format,
    "FORMAT_WITH_SPEC": _Rewriter._format,
    "CONVERT_VALUE": _Rewriter._format,
    "BEFORE_WITH": _Rewriter._enter,
    "RAISE_VARARGS": _Rewriter._raise,
    "LOAD_SPECIAL": _Rewriter._load_special,
    "MATCH_KEYS": _Rewriter._match_keys,
    "MATCH_CLASS": _Rewriter._match_class,
    "RESUME": _Rewriter._resume,
    **dict.fromkeys(BACK, _Rewriter._jump),
    "JUMP_IF_TRUE_OR_POP": _Rewriter._truth,
    "JUMP_IF_FALSE_OR_POP": _Rewriter._truth,
    **dict.fromkeys(CONDITIONAL_JUMPS, _Rewriter._conditional_jump),
}
