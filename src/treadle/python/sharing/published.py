"""The objects that are published, by `id`: one dictionary, which rewritten code looks into."""

from __future__ import annotations

from typing import Any

from treadle.python.sharing.tables import Table

published: dict[int, Table] = {}
"""Tables of the published objects, by `id`."""


def label_of(obj: Any, otherwise: str) -> str:
    """Return the name of an object for people."""
    table = published.get(id(obj))
    return otherwise if table is None else table.label


def label_or_kind(obj: Any) -> str:
    """Return the name of an object for people, or what it is if it is nobody else's."""
    return label_of(obj, f"a {type(obj).__name__} of its own")
