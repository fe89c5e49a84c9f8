"""Rewritten code is kept on disk, and a cache that is broken does no harm."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import pytest
from corpus import SNIPPETS

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
