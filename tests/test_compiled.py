"""What is compiled (setup.py): interpreted classes cannot derive from compiled ones."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

from treadle.explore.registry import ALGORITHMS

ROOT = Path(__file__).parents[1]


def compiled_modules() -> list[str]:
    """Return the names of the modules that setup.py compiles."""
    for statement in ast.parse((ROOT / "setup.py").read_text()).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets) == "COMPILED":
            compiled: dict[str, tuple[str, ...]] = ast.literal_eval(statement.value)
            return [
                f"{p.replace('/', '.')}.{name}" for p, names in compiled.items() for name in names
            ]
    raise AssertionError("setup.py does not say what is compiled")


COMPILED = compiled_modules()


def qualified_names(tree: ast.Module, module: str) -> dict[str, str]:
    """Return what the names of classes and of imported things in a module stand for."""
    names = {node.name: f"{module}.{node.name}" for node in tree.body if is_class(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for one in node.names:
                names[one.asname or one.name] = f"{node.module}.{one.name}"
    return names


def is_class(node: ast.AST) -> TypeGuard[ast.ClassDef]:
    """Tell whether a node defines a class."""
    return isinstance(node, ast.ClassDef)


def bases(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each class of a module with each class that it derives from, read and not imported."""
    module = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
    tree = ast.parse(path.read_text())
    names = qualified_names(tree, module)
    for node in filter(is_class, ast.walk(tree)):
        for base in node.bases:
            first, _, rest = ast.unparse(base).partition("[")[0].partition(".")
            yield f"{module}.{node.name}", names.get(first, first) + (f".{rest}" if rest else "")


def test_what_derives_from_compiled_classes_is_compiled() -> None:
    derived = [pair for path in (ROOT / "src").rglob("*.py") for pair in bases(path)]
    assert ("treadle.threads.run.ThreadRun", "treadle.core.program.Run") in derived
    interpreted = {
        one
        for one, base in derived
        if base.rpartition(".")[0] in COMPILED and one.rpartition(".")[0] not in COMPILED
    }
    assert interpreted == set()


def test_what_is_compiled_is_there() -> None:
    for name in COMPILED:
        assert (ROOT / "src" / f"{name.replace('.', '/')}.py").is_file(), name


def test_algorithms_and_the_scheduler_are_compiled() -> None:
    needed = {kind.__module__ for kind in ALGORITHMS.values()}
    assert needed | {"treadle.python.runtime.scheduler"} <= set(COMPILED)
