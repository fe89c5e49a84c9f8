"""What was found for two blocks, known by their code: not asked again in this process, nor later.

    .treadle/constraints/HASH.json      what was found for two blocks

The key is the code of both blocks, the constants in it, and the kinds of shared values: all that an
answer depends on. What is read from a file is taken only if it is nothing but comparisons.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from treadle.core.version import __version__
from treadle.smt.code import Code, Shared
from treadle.smt.place import directory
from treadle.smt.synthesis import Synthesised, synthesise

_FORMAT = 1
_known: dict[str, Synthesised] = {}

_COMPARISONS = (
    ast.Expression, ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Compare, ast.Call, ast.Attribute,
    ast.Subscript, ast.Name, ast.Constant, ast.boolop, ast.unaryop, ast.operator, ast.cmpop,
    ast.expr_context,
)  # fmt: skip
"""What a constraint consists of."""


def synthesised(
    first: Code, second: Code, shared: Mapping[str, Shared], *, crossing: bool = False
) -> Synthesised:
    """Return where two blocks commute: as it is known, or found now."""
    key = _key(first, second, shared, crossing)
    found = _known.get(key) or _load(key)
    if found is None:
        found = synthesise(first, second, shared, crossing=crossing)
        _save(key, found)
    _known[key] = found
    return found


def _key(first: Code, second: Code, shared: Mapping[str, Shared], crossing: bool) -> str:
    parts = [
        _FORMAT, __version__, crossing, _code_key(first), _code_key(second), sorted(shared.items())
    ]  # fmt: skip
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def _code_key(code: Code) -> list[object]:
    """Return all of a block that decides what is found for it."""
    names = {node.id for node in ast.walk(code.definition) if isinstance(node, ast.Name)}
    constants = []
    for name in sorted(names - code.local):
        with contextlib.suppress(KeyError):
            value = code.meaning(name)
            known = getattr(value, "__qualname__", None) or repr(value)
            constants.append((name, type(value).__name__, known, code.is_pure(value)))
    yields = [node for node in ast.walk(code.definition) if isinstance(node, ast.Yield)]
    position = [(node.lineno, node.col_offset) == code.origin for node in yields]
    return [ast.dump(code.definition), position, sorted(code.kinds.items()), constants]


def _load(key: str) -> Synthesised | None:
    place = directory()
    if place is None:
        return None
    try:
        entry: dict[str, Any] = json.loads((place / f"{key}.json").read_text("utf-8"))
        if not all(map(_is_harmless, entry["constraints"])):
            return None
        return Synthesised(
            tuple(entry["constraints"]),
            bool(entry["is_exact"]),
            frozenset(entry["relied_on"]),
            {side: frozenset(names) for side, names in entry["locals"].items()},
            float(entry["seconds"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _save(key: str, found: Synthesised) -> None:
    """Keep what was found, if that is possible; nothing depends on it."""
    place = directory()
    if place is None:
        return
    entry = asdict(found) | {
        "relied_on": sorted(found.relied_on),
        "locals": {side: sorted(names) for side, names in (found.locals or {}).items()},
    }
    with contextlib.suppress(OSError):
        place.mkdir(parents=True, exist_ok=True)
        ignored = place.parent / ".gitignore"
        if not ignored.exists():
            ignored.write_text("*\n", "utf-8")
        written = place / f"{key}.{os.getpid()}"
        written.write_text(json.dumps(entry), "utf-8")
        written.replace(place / f"{key}.json")


def _is_harmless(text: str) -> bool:
    """Tell whether a text is a constraint, and not other code."""
    try:
        nodes = list(ast.walk(ast.parse(text, mode="eval")))
    except SyntaxError:
        return False
    return all(
        isinstance(node, _COMPARISONS)
        and not getattr(node, "attr", getattr(node, "id", "")).startswith("_")
        and not (isinstance(node, ast.Call) and not isinstance(node.func, ast.Name))
        for node in nodes
    )
