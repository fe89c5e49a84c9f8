"""A directory with models, and the command line in it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cli_models import MODELS


@pytest.fixture
def models(tmp_path, monkeypatch) -> Path:
    """Work in a directory that has `models.py`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "models.py").write_text(MODELS)
    return tmp_path


@pytest.fixture
def call(models, command_line):
    """The command line, in the directory of the models."""
    assert Path.cwd() == models
    return command_line
