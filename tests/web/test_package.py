"""What an installed Treadle has for its page: the examples, and an editor in one file."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from treadle.web import library as library_module
from treadle.web.library import library

ROOT = Path(__file__).parent.parent.parent
WEB = ROOT / "src" / "treadle" / "web"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the package as for a wheel; return where it is."""
    pytest.importorskip("setuptools")
    folder = tmp_path_factory.mktemp("built")
    for name in ("examples", "src"):
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "*.so")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    command = [sys.executable, "setup.py", "-q", "build_py", "--build-lib", "lib"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=600)
    return folder / "lib" / "treadle"


def test_the_library_has_the_examples_wherever_it_is_installed(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = {name: entry.text for name, entry in library().items()}
    monkeypatch.setattr(library_module, "_PLACES", (built / "web" / "library",))
    there = {name: entry.text for name, entry in library().items()}
    assert there == here
    files = {
        path.relative_to(ROOT / "examples").as_posix()
        for path in (ROOT / "examples").rglob("*")
        if path.suffix in (".py", ".abs")
    }
    assert files <= set(there)
    for name in ("editor.js", "web.js", "web.css"):
        assert (built / "web" / name).read_bytes() == (WEB / name).read_bytes()


def test_the_editor_is_made_of_what_is_named() -> None:
    """Its first lines have names, versions and licences: those that are locked, and no other."""
    text = (WEB / "editor.js").read_text("utf-8")
    banner = text[: text.index("*/")]
    inside = dict(re.findall(r"^(\S+) ([\d.]+): Copyright", banner, re.MULTILINE))
    locked = json.loads((ROOT / "scripts" / "editor" / "package-lock.json").read_text())
    versions = {
        path.removeprefix("node_modules/"): one["version"]
        for path, one in locked["packages"].items()
        if path and "esbuild" not in path
    }
    assert inside.items() <= versions.items()
    assert inside["codemirror"] == "6.0.2"
    assert "THE SOFTWARE IS PROVIDED" in banner
    assert len(text) < 600_000
