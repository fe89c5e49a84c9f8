"""Flow tables: rules that are looked up by port and header, and changed by match and priority."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from treadle.core.events import Mode
from treadle.model.rules import Entry, Rules


class FlowTable(Rules):
    """The flow table of a switch."""

    __slots__ = ()

