"""Which values nobody looks into."""

from __future__ import annotations

import types
from typing import Final

ATOMS: Final = frozenset(
    {
        int, float, complex, bool, str, bytes, type(None), type(Ellipsis), type(NotImplemented),
        range, slice, types.CodeType,
        types.WrapperDescriptorType, types.MethodDescriptorType, types.GetSetDescriptorType,
        types.MemberDescriptorType,
    }
)  # fmt: skip
"""Types whose values are immutable, or never looked into."""
