"""Does a block keep a constraint true? `C ∧ guard ⇒ wp(block, C)`, over all of its paths.

The constraint of two steps is relied on as long as nobody else can make it false. That nobody may
write what it reads is one reason; that whoever may write it keeps it true is another.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from treadle.smt.code import Code, NotTranslatedError, Shared
from treadle.smt.commuting import SIDES
from treadle.smt.execution import Execution
from treadle.smt.expressions import Expressions
from treadle.smt.on_path import RaisesError, UnsureError, read, truth
from treadle.smt.paths import Path, TooManyPathsError, explore
from treadle.smt.solver import Encoder
from treadle.smt.store import Store
from treadle.smt.terms import Var
from treadle.smt.values import Tag, Value

_MOST_PATHS = 256
_OTHER = "other"


@dataclass(frozen=True, slots=True)
class Condition:
    """A constraint, as Python over `s`, `first`, `second`."""

    text: str
    meaning: Callable[[str], object]
    """What other names in it mean; raises `KeyError` if that is unknown."""
    kinds: Mapping[str, Mapping[str, tuple[Tag, ...]]]
    """Kinds of values of the local names of both steps, by side."""
    is_pure: Callable[[object], bool]


@dataclass(slots=True)
class Kept:
    """Whether a constraint is kept, provided that local names hold what was assumed of them."""

    always: bool
    locals: dict[str, set[str]] = field(default_factory=lambda: {side: set() for side in SIDES})
    """Local names whose kinds of values were relied on, by side."""


def keeps(condition: Condition, block: Code, shared: Mapping[str, Shared]) -> Kept:
    """Tell whether a block keeps a constraint true wherever it runs; what is not sure does not."""
    kept = Kept(always=False)
    uncertain: set[str] = set()

    def run(path: Path) -> bool:
        store = Store(path, shared, uncertain)
        if not _Evaluation(condition, kept, path, store).holds_now():
            return True
        other = _Other(block, _OTHER, path, store, set())
        try:
            if not other.is_enabled():
                return True
        except UnsureError:
            pass  # it begins, and raises what its condition raised
        other.run()
        return _Evaluation(condition, kept, path, store).holds_now()

    try:
        leaves = explore(Encoder(), run, _MOST_PATHS)
    except (NotTranslatedError, TooManyPathsError, UnsureError, RaisesError, SyntaxError):
        return kept
    kept.always = all(leaf.result for leaf in leaves) and not uncertain
    return kept


class _Evaluation(Expressions):
    """A constraint in a state of a path."""

    def __init__(self, condition: Condition, kept: Kept, path: Path, store: Store) -> None:
        tree = ast.parse(condition.text, mode="eval")
        self._tree = tree.body
        self._kinds = condition.kinds
        self._kept = kept
        super().__init__(_as_code(condition), "", path, store, set())

    def holds_now(self) -> bool:
        """Tell whether the constraint holds."""
        return self.holds(self._tree)

    def _shared(self, node: ast.Attribute | ast.Subscript) -> Value:
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in SIDES
        ):
            side = node.value.id
            self._kept.locals[side].add(node.attr)
            kinds = self._kinds[side].get(node.attr, ("int",))
            return read(self.path, Var(f"{side}.{node.attr}", "int"), kinds)
        return super()._shared(node)


def _as_code(condition: Condition) -> Code:
    """Return a constraint as code that belongs to no process."""
    definition = ast.parse("def constraint(s): pass").body[0]
    assert isinstance(definition, ast.FunctionDef)
    return Code(
        "constraint", definition, None, "s", frozenset(), {}, condition.meaning,
        lambda _: set(), condition.is_pure,
    )  # fmt: skip


class _Other(Execution):
    """A block of another process, anywhere: a local name of it may even be unbound."""

    def local(self, name: str) -> Value:
        """Return what a local name is when the block begins."""
        if name not in self.code.kinds:
            raise UnsureError
        parameters = self.code.definition.args
        if name not in {arg.arg for arg in parameters.posonlyargs + parameters.args}:
            is_bound = Var(f"{self.side}.{name} is bound", "bool", is_known=False)
            if not truth(self.path, is_bound):
                raise RaisesError("UnboundLocalError", name)
        return super().local(name)
