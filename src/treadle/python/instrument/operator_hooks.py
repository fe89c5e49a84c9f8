"""Hooks before operators, and before whatever else looks into its operands.

An operator runs a special method of one of its operands, and that may look into both. Hooks are
left out where the stack's origins say that nothing shared can be looked into: the truth of a
comparison, `i + 1`.
"""

from __future__ import annotations

from typing import Any

from bytecode import BinaryOp, Compare, Instr

from treadle.python.accesses import any_order, streams
from treadle.python.accesses import instruction_hooks as hooks
from treadle.python.instrument.emit import (
    Item,
    contains,
    guard,
    guard_item,
    guard_objects,
    guard_two,
    hook,
    instead,
)
from treadle.python.instrument.emitting import Emitting
from treadle.python.instrument.instructions import FRESH, METHODS, RESULTS, SCALARS, UNARY


class OperatorHooks(Emitting):
    """Emits hooks before instructions that look into what is on the stack."""

    # Containers

    def _read_top(self, i: Any) -> bool:
        if self._origins.top(1).name not in FRESH:
            call = hook(i.location, hooks.read_whole, copies=[1])
            self._emit(guard(i.location, 1, call))
        return False

    def _read_size(self, i: Any) -> bool:
        self._emit(guard(i.location, 1, hook(i.location, hooks.read_size, copies=[1])))
        return False

    def _contains(self, i: Any) -> bool:
        item, container = self._origins.top(2), self._origins.top(1)
        if container.is_constant:
            return False
        if self._scope.item_by_item:
            self._out += contains(i.location, is_negated=bool(i.arg))
            self._origins.follow(i)
            return True
        call = hook(i.location, hooks.contains, copies=[2, 1])
        if item.name not in SCALARS:
            self._emit(guard_item(i.location, call))
        elif container.name not in FRESH:
            self._emit(guard(i.location, 1, call))
        return False

    def _match_keys(self, i: Any) -> bool:
        self._emit(guard(i.location, 2, hook(i.location, hooks.match_keys, copies=[2, 1])))
        return False

    def _match_class(self, i: Any) -> bool:
        call = hook(i.location, hooks.match_class, copies=[3, 2, 1], consts=[i.arg])
        self._emit(guard(i.location, 3, call))
        return False

    # Operators

    def _truth(self, i: Any) -> bool:
        top = self._origins.top(1)
        if top.name not in FRESH and not top.is_constant:
            self._emit(guard(i.location, 1, hook(i.location, hooks.read_truth, copies=[1])))
        return False

    def _unary(self, i: Any) -> bool:
        method = UNARY.get(i.arg.name if i.name == "CALL_INTRINSIC_1" else i.name)
        if method is not None:
            call = hook(i.location, hooks.read_one, copies=[1], consts=[method])
            self._emit(guard(i.location, 1, call))
        return False

    def _compare(self, i: Any) -> bool:
        plain, is_cast, _ = Compare(i.arg).name.partition("_CAST")
        method = f"__{plain.lower()}__"
        if not self._has_plain_constant(i, method):
            self._look_into_both(i, method)
        if not is_cast or not RESULTS["COMPARE_OP"] & self._scope.specials:
            return False
        self._plain(Instr("COMPARE_OP", Compare[plain], location=i.location))
        to_bool = Instr("TO_BOOL", location=i.location)  # which may be anybody's code, too
        self._truth(to_bool)
        self._plain(to_bool)
        return True

    def _has_plain_constant(self, i: Any, method: str) -> bool:
        """Emit the hook of an operator one of whose operands is a number or a string, if one is.

        No container is looked into then; but what is published may run code of a library.
        """
        plain = [depth for depth in (1, 2) if self._origins.top(depth).is_plain]
        if len(plain) == 1 and self._scope.meets_foreign_operators:
            call = hook(i.location, hooks.read_both, copies=[2, 1], consts=[method])
            self._emit(guard(i.location, 3 - plain[0], call))
        return bool(plain)

    def _look_into_both(self, i: Any, method: str) -> None:
        """Emit the hook of an operator that looks into its operands, if those may be containers."""
        depths = [depth for depth in (2, 1) if self._origins.top(depth).name not in SCALARS]
        reads = any_order.to_equal if method in ("__eq__", "__ne__") else hooks.read_both
        call = hook(i.location, reads, copies=[2, 1], consts=[method])
        self._emit(guard_objects(i.location, depths, call) if depths else [])

    def _two_operands(self, i: Any, call: list[Item]) -> None:
        """Emit a hook that is called if one of two operands is published."""
        left, right = self._origins.top(2), self._origins.top(1)
        if right.is_constant or right.name in FRESH:
            self._emit(guard(i.location, 2, call))
        elif left.is_constant or left.name in FRESH:
            self._emit(guard(i.location, 1, call))
        else:
            self._emit(guard_two(i.location, call))

    def _operator(self, i: Any) -> bool:
        operator = BinaryOp(i.arg).name
        is_in_place = operator.startswith("INPLACE_")
        method = METHODS[operator.removeprefix("INPLACE_")]
        name = f"__i{method}__" if is_in_place else f"__{method}__"
        has_number = any(self._origins.top(depth).is_number for depth in (1, 2))
        if has_number and method != "mul" and not self._scope.meets_foreign_operators:
            return False  # arithmetic, nearly always: a check would cost too much
        if name == "__mod__":
            self._look_into_both(i, name)
            return False
        if is_in_place:
            call = instead(i.location, 1, streams.update_in_place, [2, 1], [name])
        else:
            call = hook(i.location, hooks.read_both, copies=[2, 1], consts=[name])
        self._two_operands(i, call)
        return False

    # Words

    def _format(self, i: Any) -> bool:
        has_spec = i.name == "FORMAT_WITH_SPEC" or (i.name == "FORMAT_VALUE" and i.arg & 4)
        self._put_into_words(i, 2 if has_spec else 1)
        return False

    def _put_into_words(self, i: Any, depth: int) -> None:
        if self._origins.top(depth).name not in SCALARS:
            call = hook(i.location, hooks.read_deep, copies=[depth])
            self._emit(guard_objects(i.location, [depth], call))
