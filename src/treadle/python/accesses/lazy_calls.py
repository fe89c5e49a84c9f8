"""Functions in C that go through their arguments one by one, and may call others for each.

`map`, `zip`, `itertools` and the like take an element when they are asked for one. So they get
iterators of ours, each of whose steps is announced, and functions that are looked at when called.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

from treadle.python.accesses import iterate, known_functions
from treadle.python.sharing.published import published

_FILTERS = (filter, itertools.filterfalse)
_CALLING: dict[Any, int] = {
    **dict.fromkeys(
        (map, functools.reduce, itertools.starmap, itertools.takewhile, itertools.dropwhile), 0
    ),
    **dict.fromkeys(_FILTERS, 0),
    **dict.fromkeys((itertools.accumulate, itertools.groupby), 1),
}
"""Which argument is called for each element; for a filter, None stands for `bool`."""


def _lazy(function: Any) -> Callable[..., Any]:
    """Stand for something that goes through its arguments one by one."""

    def call(*args: Any, **kwargs: Any) -> Any:
        ready = list(args)
        for place, value in enumerate(args):
            if id(value) in published and (function is not functools.reduce or place == 1):
                ready[place] = iterate.lazily(value)
        at = _CALLING.get(function, len(ready))
        if at < len(ready):
            if args[at] is not None:
                ready[at] = iterate.called_late(args[at])
            elif function in _FILTERS:
                ready[at] = known_functions.truth
        for name in ("func", "key"):
            if kwargs.get(name) is not None:
                kwargs[name] = iterate.called_late(kwargs[name])
        return function(*ready, **kwargs)

    return call


def chained(*iterables: Any) -> Any:
    """Stand for `itertools.chain`, which begins with each of its arguments when it gets there."""
    if any(id(one) in published for one in iterables):
        return itertools.chain.from_iterable(map(iterate.lazily, iterables))
    return itertools.chain(*iterables)


def chained_from(iterables: Any) -> Any:
    """Stand for `itertools.chain.from_iterable`."""
    return itertools.chain.from_iterable(map(iterate.iterate, iterate.iterate(iterables)))


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    function: _lazy(function) for function in (functools.reduce, itertools.tee)
}
"""Functions, each with what stands for it."""
CLASSES: dict[type, Callable[..., Any]] = {
    **{
        kind: _lazy(kind)
        for kind in (enumerate, zip, map, filter, *vars(itertools).values())
        if isinstance(kind, type) and kind is not itertools.repeat
    },
    itertools.chain: chained,
}
"""Classes of iterators, each with what stands for it."""
