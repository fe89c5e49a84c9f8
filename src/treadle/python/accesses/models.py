"""Objects that have a model: something that stands for them while a test is explored.

A real lock made before would block all tasks at once. Whoever has a model for a class registers it
here; calls of methods, and `with` statements, are made to the model instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from treadle.python.runtime import control

_MODELS: dict[type, Callable[[Any], Any]] = {}


def register_model(kind: type, model_of: Callable[[Any], Any]) -> None:
    """Say what stands for the instances of a class in an execution."""
    _MODELS[kind] = model_of


def has_model(obj: Any) -> bool:
    """Tell whether something stands for an object in the present execution."""
    return type(obj) in _MODELS and control.current() is not None


def model_of(obj: Any) -> Any:
    """Return what stands for an object that has a model."""
    return _MODELS[type(obj)](obj)
