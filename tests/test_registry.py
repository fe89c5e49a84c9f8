"""Registries: values by name, loaded when they are asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

from treadle.core.errors import TreadleError
from treadle.core.registry import Registry


def fruit() -> Registry[object]:
    registry = Registry[object]("fruit")
    registry.add("apple", 1, "round")
    registry.add("pear", 2)
    return registry


def test_names_keep_their_order_and_map_to_values() -> None:
    registry = fruit()
    registry.add("banana", 0)
    assert list(registry) == ["apple", "pear", "banana"]
    assert dict(registry) == {"apple": 1, "pear": 2, "banana": 0}
    assert len(registry) == 3


def test_a_summary_is_kept_with_each() -> None:
    assert [fruit().summary(name) for name in fruit()] == ["round", ""]


@pytest.mark.parametrize("ask", ["__getitem__", "get", "summary", "remove"])
def test_an_unknown_name_is_an_error_that_lists_the_known_ones(ask: str) -> None:
    with pytest.raises(TreadleError) as caught:
        getattr(fruit(), ask)("melon")
    assert str(caught.value) == "unknown fruit 'melon': choose one of apple, pear"


def test_a_name_that_is_nearly_right_is_corrected() -> None:
    with pytest.raises(TreadleError, match=r"one of apple, pear \(did you mean 'apple'\?\)$"):
        fruit()["aple"]


@pytest.mark.parametrize("name", [None, 3, ["apple"]])
def test_what_is_no_name_is_unknown(name: object) -> None:
    assert name not in fruit()
    with pytest.raises(TreadleError, match="unknown fruit"):
        fruit()[name]  # type: ignore[index]


def test_a_name_is_taken_once() -> None:
    registry = fruit()
    with pytest.raises(TreadleError, match="there is a fruit 'pear' already"):
        registry.add("pear", 3)
    assert registry["pear"] == 2


def test_a_name_that_was_removed_is_free() -> None:
    registry = fruit()
    registry.remove("apple")
    assert "apple" not in registry
    registry.add("apple", 5)
    assert list(registry.items()) == [("pear", 2), ("apple", 5)]


def test_a_value_is_loaded_when_it_is_asked_for_and_not_before() -> None:
    script = """
import sys
from treadle.core.registry import Registry
registry = Registry[object]("colour")
registry.add("hls", "colorsys:rgb_to_hls", "by hue")
list(registry), registry.summary("hls"), "hls" in registry
assert "colorsys" not in sys.modules
assert registry["hls"].__name__ == "rgb_to_hls"
assert registry["hls"] is registry.get("hls")
"""
    subprocess.run([sys.executable, "-c", script], check=True, env=_with_treadle())


def _with_treadle() -> dict[str, str]:
    return {"PYTHONPATH": ":".join(filter(None, sys.path))}
