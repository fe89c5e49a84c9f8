"""What leads out of sight however deep in a library it is made: input; databases say so likewise.

Calls by code under test are seen by their module (`treadle.python.accesses.outside_modules`). These
are replaced besides, since libraries make them for their users. Audit events would tell of them
all, but `id` raises one too, which rewritten code calls all the time.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from treadle.python.accesses.outside_modules import NOT_SEEN
from treadle.python.runtime.escapes import escapes
from treadle.threads.primitives.outside.world import concerns_program
from treadle.threads.primitives.patches import Patches


def naming(
    original: Any,
    name: str,
    what: str,
    stays: Callable[..., bool] = lambda *_, **__: False,
) -> Callable[..., Any]:
    """Stand for a function that leads outside, unless it stays inside with its arguments."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if not stays(*args, **kwargs) and concerns_program():
            escapes.add(NOT_SEEN.format(what), name)
        return original(*args, **kwargs)

    return call


_input: Any = builtins.input

PATCHES: Patches = Patches(
    references=[(builtins.input, naming(_input, "input", "standard input"))],
)
