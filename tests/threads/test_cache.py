"""Rewritten code is kept on disk, and a cache that is broken does no harm."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import pytest
from corpus import SNIPPETS

import treadle
from treadle.python.instrument import rewritten_code
from treadle.python.instrument.modules import variable_of
from treadle.python.instrument.scope import Scope


def test_rewritten_code_is_taken_from_disk(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("TREADLE_CACHE", str(tmp_path))
    code = compile(
        "def f(o):\n    global g\n    g = o.x\n    return {1, 2}, o in {3, 4}", "a.py", "exec"
    )
    scope = Scope(variables={"g": variable_of("a", "g")})
    first = rewritten_code.RewrittenCode(variable_of)
    made = first.rewritten(code, "a", scope)
    first.save()
    monkeypatch.setattr(rewritten_code.rewriter, "rewrite", None)
    again = rewritten_code.RewrittenCode(variable_of).rewritten(code, "a", scope)
    assert again == made
    assert again is not made
    assert variable_of("a", "g") in next(c for c in again.co_consts if _is_code(c)).co_consts


def test_all_that_is_rewritten_can_be_written_down(tmp_path: Path, monkeypatch: Any) -> None:
    """A hook that cannot be named keeps every function that calls it out of the cache."""
    monkeypatch.setenv("TREADLE_CACHE", str(tmp_path))
    asks = "async def asks(q):\n    return [await q.get(), q.items.pop(), *q.keys()]"
    sources = [asks, *SNIPPETS.values()]
    codes = [compile(source, f"{n}.py", "exec") for n, source in enumerate(sources)]
    kept = rewritten_code.RewrittenCode(variable_of)
    made = [kept.rewritten(code, "a", Scope()) for code in codes]
    kept.save()
    monkeypatch.setattr(rewritten_code.rewriter, "rewrite", None)
    again = rewritten_code.RewrittenCode(variable_of)
    assert [again.rewritten(code, "a", Scope()) for code in codes] == made


@pytest.mark.parametrize("content", [b"", b"garbage", b"x" * 1000])
def test_a_corrupt_cache_is_harmless(tmp_path: Path, monkeypatch: Any, content: bytes) -> None:
    monkeypatch.setenv("TREADLE_CACHE", str(tmp_path))
    code = compile("def f(o):\n    return o.x", "a.py", "exec")
    for _ in range(2):
        kept = rewritten_code.RewrittenCode(variable_of)
        kept.rewritten(code, "a", Scope())
        kept.save()
        for file in tmp_path.iterdir():
            file.write_bytes(content)


def test_a_cache_that_cannot_be_written_is_harmless(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TREADLE_CACHE", str(tmp_path / "file" / "inside"))
    kept = rewritten_code.RewrittenCode(variable_of)
    kept.rewritten(compile("x.y", "a.py", "exec"), "a", Scope())
    kept.save()


def _is_code(value: object) -> bool:
    return isinstance(value, types.CodeType)


def test_what_has_no_operators_is_rewritten_once(tmp_path: Path, monkeypatch: Any) -> None:
    """That operators may be anybody's is learned late: then only who has some is rewritten."""
    monkeypatch.setenv("TREADLE_CACHE", str(tmp_path))
    kept = rewritten_code.RewrittenCode(variable_of)
    made = {}
    for source in ("f(o.x).y", "o.x == 1", "o.x + 1"):
        code = compile(source, "a.py", "exec")
        scopes = [Scope(meets_foreign_operators=meets) for meets in (False, True)]
        first, second = (kept.rewritten(code, "a", scope) for scope in scopes)
        made[source] = first is second
    assert made == {"f(o.x).y": True, "o.x == 1": False, "o.x + 1": False}


def test_what_is_rewritten_while_a_test_is_explored_is_kept(
    tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setenv("TREADLE_CACHE", str(tmp_path))

    def test() -> None:
        exec(compile("def late(o): return o.x", str(tmp_path / "late.py"), "exec"), {})

    treadle.explore(test)
    assert [path.name[:5] for path in tmp_path.iterdir() if path.name.startswith("late-")] == [
        "late-"
    ]
