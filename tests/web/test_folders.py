"""Folders of servers: those of the dead are removed, and no others."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from treadle.web.folders import new_folder, remove_abandoned


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_folders_of_dead_servers_are_removed(temporary: Path) -> None:
    killed = subprocess.Popen([sys.executable, "-c", "pass"])
    killed.wait()
    abandoned = temporary / f"treadle-web-{killed.pid}-abc_1"
    others = [
        temporary / name
        for name in (
            f"treadle-web-{os.getpid()}-abc",
            "treadle-web-1-abc",
            f"treadle-web-{killed.pid}",
            f"treadle-web-notes-{killed.pid}-x",
            f"other-{killed.pid}-abc",
        )
    ]
    for folder in (abandoned, *others):
        folder.mkdir()
        (folder / "program.py").write_text("")
    with new_folder() as own:
        remove_abandoned()
        assert sorted(temporary.iterdir()) == sorted([*others, Path(own)])
    assert sorted(temporary.iterdir()) == sorted(others)
