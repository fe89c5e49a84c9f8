"""Values as a path of the code decides about them: of which kind they are, true, or the same."""

from __future__ import annotations

from treadle.smt.paths import Path
from treadle.smt.terms import Atom, IsA, IsSame, IsTrue, Sort, Var, is_zero
from treadle.smt.values import COMPARED, Tag, Value


class RaisesError(Exception):
    """The code raises an exception on this path: its name, and what else tells it from others."""

    def __init__(self, name: str, *details: Value | str) -> None:
        super().__init__(name)
        self.known_by = (name, *details)


class UnsureError(Exception):
    """Nobody can tell what happens on this path."""


def read(path: Path, holder: Var, kinds: tuple[Tag, ...]) -> Value:
    """Return what a part of the state holds; the path decides of which kind it is."""
    known: tuple[tuple[Atom, bool], ...] = ()
    for tag in kinds[:-1]:
        atom = IsA(holder, tag)
        if path.decide((atom, True)):
            return _of_kind(holder, tag, (*known, (atom, True)))
        known += ((atom, False),)
    return _of_kind(holder, kinds[-1], known)


def _of_kind(holder: Var, tag: Tag, known: tuple[tuple[Atom, bool], ...]) -> Value:
    if tag == "none" or tag == "opaque":
        return Value.of(holder, tag)
    sort: Sort = tag
    needs = (*holder.needs, *known)
    var = Var(holder.text, sort, holder.form, holder.parts, holder.shared, needs, holder.is_known)
    return Value.of(var, tag)


def truth(path: Path, var_or_value: bool | Var) -> bool:
    """Tell whether a truth value is true on a path."""
    if isinstance(var_or_value, bool):
        return var_or_value
    return path.decide((IsTrue(var_or_value), True))


def same(path: Path, one: Value, other: Value) -> bool:
    """Tell whether two values are the same, kind included."""
    if one.tag != other.tag:
        if "result" in (one.tag, other.tag):
            raise UnsureError  # it may be anything
        return False
    if one.tag == "int":
        return path.decide(is_zero(one.term - other.term))
    if one.tag == "bool":
        if one.term == other.term:
            return True
        return truth(path, one.term) == truth(path, other.term)
    if one.tag in COMPARED:
        return _same_term(path, one, other)
    if one.term != other.term:
        raise UnsureError
    return True


def _same_term(path: Path, one: Value, other: Value) -> bool:
    left, right = one.term, other.term
    if left == right:
        return True
    if not isinstance(left, Var):
        left, right = right, left
    if not isinstance(left, Var):
        return False  # two constants
    if isinstance(right, Var) and right.text < left.text:
        left, right = right, left
    return path.decide((IsSame(left, right), True))
