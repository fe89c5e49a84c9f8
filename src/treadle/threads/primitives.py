"""All primitives that are replaced while a test is explored."""

from __future__ import annotations

from treadle.threads import thread
from treadle.threads.patches import Patches

PATCHES: list[Patches] = [thread.PATCHES]
