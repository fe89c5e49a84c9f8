"""Built-ins that rewritten code calls as they are, after a hook or without one: by their names."""

from __future__ import annotations

import builtins
import functools
from collections import deque
from collections.abc import Callable
from typing import Any

from treadle.python.accesses import any_order, iterate
from treadle.python.accesses import instruction_hooks as hooks

Hook = Callable[..., Any]
"""What rewritten code calls before, or around, an instruction."""

HARMLESS_CALLS = frozenset(
    {
        "isinstance", "issubclass", "range", "type", "ord",
        "chr", "callable", "super", "object", "pow", "slice", "property",
        "staticmethod", "classmethod", "input", "globals", "locals", "BaseException", "Exception",
        *(
            name
            for name, value in vars(builtins).items()
            if issubclass(type(value), type) and issubclass(value, Exception)
        ),
    }
)  # fmt: skip
"""Built-ins that touch nothing shared through their arguments."""
ASKING_ONE: dict[Callable[..., Any], Hook] = {
    function: functools.partial(hooks.read_one, method=f"__{function.__name__}__")
    for function in (abs, round, divmod)
}
"""Built-ins that ask their first argument by a special method."""
READING: dict[str, Hook] = {
    "len": hooks.read_size,
    "bool": hooks.read_truth,
    **dict.fromkeys(["list", "tuple", "int", "float"], hooks.read_elements),
    **dict.fromkeys(["set", "frozenset"], any_order.to_collect),
    "sum": any_order.to_sum,
    **{function.__name__: hook for function, hook in ASKING_ONE.items()},
}
"""Built-ins that read an argument at once, and the hooks that announce that."""
IN_WORDS = frozenset({"str", "repr", "print", "format"})
"""Built-ins that put their arguments into words."""
GOING_THROUGH: dict[str, Hook] = {
    **dict.fromkeys(["any", "all"], iterate.to_ask_for_truth),
    **dict.fromkeys(["min", "max"], any_order.to_compare),
    "sorted": any_order.to_sort,
}
"""Built-ins that look into the elements of their argument, and what makes them do so visibly."""
BUILTIN_METHODS = frozenset(
    name
    for kind in (list, dict, set, frozenset, str, bytes, bytearray, tuple, int, float, deque)
    for name in dir(kind)
)
"""Names of methods of built-in classes."""
