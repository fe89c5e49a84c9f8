"""Loops whose length nobody knows beforehand: functions of all that they read.

A `for` over a range whose body only computes with whole numbers cannot raise and ends, so what it
leaves in a name is a function of what all its names held before. The solver knows nothing more of
it. A constraint with such a function in it is evaluated by running the loop.
"""

from __future__ import annotations

import ast
import copy
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from treadle.smt.code import Code

_COMPUTING = (
    ast.Assign, ast.AugAssign, ast.If, ast.Pass, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare,
    ast.IfExp, ast.Name, ast.Attribute, ast.Constant, ast.Add, ast.Sub, ast.Mult, ast.USub,
    ast.UAdd, ast.Not, ast.And, ast.Or, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq,
    ast.expr_context,
)  # fmt: skip
"""What the body of such a loop consists of: nothing of it raises, given whole numbers."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop as functions: what it leaves in each name, of what its names held."""

    name: str
    loop: ast.For
    shared: tuple[str, ...]
    """Shared names that it reads or writes."""
    local: tuple[str, ...]
    """Other names, but for the one that it counts by."""
    written: frozenset[str]
    """Which of all these it writes, by the name of the parameter."""

    def called(self, written: str) -> str:
        """Return what the function is called that says what is left in a name."""
        return f"{self.name}_{written}"

    def compiled(self, written: str) -> LoopFunction:
        """Return that function."""
        names = [*map(as_parameter, self.shared), *self.local]
        body = [_Plain().visit(copy.deepcopy(self.loop)), ast.Return(ast.Name(written, ast.Load()))]
        given = ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
        made = ast.FunctionDef(self.called(written), given, body, [], None, None)
        module = ast.fix_missing_locations(ast.Module([made], []))
        namespace: dict[str, Callable[..., int]] = {}
        exec(compile(module, "<loop>", "exec"), {"range": range, "__builtins__": {}}, namespace)
        return LoopFunction(namespace[self.called(written)])


@dataclass(frozen=True, slots=True)
class LoopFunction:
    """What a loop leaves in a name."""

    function: Callable[..., int]

    def __call__(self, *given: int) -> int:
        """Run the loop."""
        return self.function(*given)


def as_parameter(shared: str) -> str:
    """Return what a shared name is called inside of a function.

    >>> as_parameter("x")
    's_x'
    """
    return f"s_{shared}"


class _Plain(ast.NodeTransformer):
    """Shared names become names of the function."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return ast.Name(as_parameter(node.attr), node.ctx)


def as_function(loop: ast.For, state: str) -> Loop | None:
    """Return a loop over a range as functions; None if its body does more than to compute."""
    inside = [node for statement in loop.body for node in ast.walk(statement)]
    if loop.orelse or not isinstance(loop.target, ast.Name):
        return None
    if not all(isinstance(node, _COMPUTING) and _is_number(node) for node in inside):
        return None
    every = [*inside, *(node for arg in _bounds(loop) for node in ast.walk(arg))]
    owners = [node.value for node in every if isinstance(node, ast.Attribute)]
    if not all(isinstance(owner, ast.Name) and owner.id == state for owner in owners):
        return None
    names = {node.id for node in every if isinstance(node, ast.Name) and node not in owners}
    targets = [target for node in inside for target in _targets(node)]
    if any(not isinstance(target, ast.Name | ast.Attribute) for target in targets):
        return None
    written = {_as_name(target) for target in targets}
    if loop.target.id in written or state in names:
        return None
    shared = {node.attr for node in every if isinstance(node, ast.Attribute)}
    digest = zlib.crc32(ast.dump(loop).encode())
    local = tuple(sorted(names - {loop.target.id}))
    return Loop(f"loop_{digest:08x}", loop, tuple(sorted(shared)), local, frozenset(written))


def _bounds(loop: ast.For) -> list[ast.expr]:
    assert isinstance(loop.iter, ast.Call)
    return loop.iter.args


def _is_number(node: ast.AST) -> bool:
    return not isinstance(node, ast.Constant) or isinstance(node.value, int)


def _targets(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.Assign(targets):
            return targets
        case ast.AugAssign(target):
            return [target]
    return []


def _as_name(target: ast.expr) -> str:
    if isinstance(target, ast.Attribute):
        return as_parameter(target.attr)
    assert isinstance(target, ast.Name)
    return target.id


def functions_of(*codes: Code) -> dict[str, LoopFunction]:
    """Return the functions that constraints of some blocks may call for their loops."""
    return {
        found.called(name): found.compiled(name)
        for code in codes
        for found in _loops_in(code)
        for name in found.written
    }


def _loops_in(code: Code) -> Iterator[Loop]:
    for node in ast.walk(code.definition):
        match node:
            case ast.For(_, ast.Call(ast.Name(), _, [])):
                found = as_function(node, code.state)
                if found is not None:
                    yield found
