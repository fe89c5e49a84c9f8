"""What only the newer Pythons can compile."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

import treadle

IMPORTS = """
import threading
{lazily}import colorsys
{lazily}from fractions import Fraction

def test():
    out = []

    def work():
        out.append(Fraction(1, 2))
        colorsys.rgb_to_hsv(1, 1, 1)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(out) == 2
"""
TEMPLATES = """
def test():
    x, y = 1, 2
    made = t"{x} and {y!r:>5}"
    assert [one.value for one in made.interpolations] == [1, 2]
    assert [one.format_spec for one in made.interpolations] == ["", ">5"]
"""


def explored(folder: Path, name: str, source: str) -> tuple[int, bool]:
    (folder / f"{name}.py").write_text(source)
    result = treadle.explore(importlib.import_module(name).test)
    assert not result.failures
    return result.executions, result.complete


@pytest.mark.skipif(sys.version_info < (3, 15), reason="from Python 3.15 on")
def test_lazy_imports_are_as_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    lazy = explored(tmp_path, "imports_lazily", IMPORTS.format(lazily="lazy "))
    assert lazy == explored(tmp_path, "imports_at_once", IMPORTS.format(lazily=""))


@pytest.mark.skipif(sys.version_info < (3, 14), reason="from Python 3.14 on")
def test_template_strings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    assert explored(tmp_path, "makes_templates", TEMPLATES) == (1, True)
