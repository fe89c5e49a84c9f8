"""Where paths really lead is found out once for each directory, and again when links change."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from together import outcomes, together

import treadle


def test_a_directory_is_resolved_once_in_an_execution(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: Counter[str] = Counter()
    resolve = os.path.realpath

    def counting(path: Any, **options: Any) -> Any:
        asked[os.fspath(path)] += 1
        return resolve(path, **options)

    monkeypatch.setattr(os.path, "realpath", counting)

    def look() -> None:
        for number in range(20):
            assert not (tmp_path / str(number)).is_file()

    result = treadle.explore(lambda: together(look, look))
    assert (result.ok, result.executions) == (True, 1)
    assert {path: times for path, times in asked.items() if path.startswith(str(tmp_path))} == {
        str(tmp_path): 3  # once in each execution, also those that Treadle learns from
    }


def test_a_link_that_is_replaced_leads_elsewhere(tmp_path: Path) -> None:
    way, other = tmp_path / "way", tmp_path / "other"
    for name in ("full", "empty"):
        (tmp_path / name).mkdir()
    (tmp_path / "full" / "file").touch()

    def program() -> Any:
        for link, led_to in ((way, "full"), (other, "empty")):
            link.unlink(missing_ok=True)
            link.symlink_to(tmp_path / led_to)
        seen: list[bool] = []

        def look() -> None:
            seen.extend([(way / "file").is_file(), (way / "file").is_file()])

        together(look, lambda: other.replace(way))
        return seen

    assert outcomes(program) == {"[True, True]", "[True, False]", "[False, False]"}
