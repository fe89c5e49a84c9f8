"""Lists, sets and maps of ABS's standard library.

Where ABS has one function for lists and another for sets or maps, ours takes all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from treadle.actors.abs.functions import failed, in_abs
from treadle.actors.abs.values import Just, Map, Maybe, Nothing, Pair, Set, text_of
from treadle.analyses.known import pure

_List = tuple[Any, ...]


# Lists


@in_abs
def head(items: _List) -> Any:
    """Return the first item."""
    return items[0] if items else failed("head(Nil)")


@in_abs
def tail(items: _List) -> _List:
    """Return all items but the first."""
    return items[1:] if items else failed("tail(Nil)")


@in_abs
def last(items: _List) -> Any:
    """Return the last item."""
    return items[-1] if items else failed("last(Nil)")


@in_abs
def length(items: Any) -> int:
    """Return how many items there are."""
    return len(items)


@in_abs
def size(items: Any) -> int:
    """Return how many items or keys there are."""
    return len(items)


@in_abs
def isEmpty(items: Any) -> bool:  # noqa: N802
    """Tell whether there are no items."""
    return not items


@in_abs
def nth(items: _List, index: int) -> Any:
    """Return an item by its place, from 0."""
    return items[index] if 0 <= index < len(items) else failed(f"nth(…, {index})")


@in_abs
def appendright(items: _List, item: Any) -> _List:
    """Return a list with one more item at the end."""
    return (*items, item)


@in_abs
def concatenate(one: Any, other: Any) -> Any:
    """Return both lists, or strings, one after the other."""
    return one + other


@in_abs
def without(items: _List, item: Any) -> _List:
    """Return a list without all that equals an item."""
    return tuple(each for each in items if each != item)


@in_abs
def reverse(items: _List) -> _List:
    """Return a list backwards."""
    return items[::-1]


@in_abs
def copy(item: Any, times: int) -> _List:
    """Return a list of the same item several times."""
    return (item,) * times


@in_abs
def range_(first: int, last: int) -> _List:
    """Return the numbers from one to another, both included."""
    return tuple(range(first, last + 1))


@in_abs
def sum_(items: Iterable[Any]) -> Any:
    """Return the sum of numbers."""
    return sum(items)


@in_abs
def contains(items: Any, item: Any) -> bool:
    """Tell whether an item is in a set or a list, or a key in a map."""
    return item in items


@in_abs
def list_(items: _List) -> _List:
    """Return a list as it is."""
    return items


@in_abs
def elements(items: Iterable[Any]) -> _List:
    """Return the items of a set as a list."""
    return tuple(items)


# Sets


@in_abs
def set_(items: Iterable[Any]) -> Set:
    """Return the items of a list as a set."""
    return Set(items)


@pure
def set_of(*items: Any) -> Set:
    """`set[…]`."""
    return Set(items)


@in_abs
def emptySet(items: Set) -> bool:  # noqa: N802
    """Tell whether a set is empty."""
    return not items


@in_abs
def insertElement(items: Set, item: Any) -> Set:  # noqa: N802
    """Return a set with one more item."""
    return Set((*items, item))


@in_abs
def remove(items: Any, item: Any) -> Any:
    """Return a set without an item, or a map without a key."""
    return removeKey(items, item) if isinstance(items, Map) else Set(i for i in items if i != item)


@in_abs
def union(one: Set, other: Set) -> Set:
    """Return what is in at least one of both."""
    return Set((*one, *other))


@in_abs
def intersection(one: Set, other: Set) -> Set:
    """Return what is in both."""
    return Set(item for item in one if item in other)


@in_abs
def difference(one: Set, other: Set) -> Set:
    """Return what is in the first only."""
    return Set(item for item in one if item not in other)


@in_abs
def isSubset(one: Set, other: Set) -> bool:  # noqa: N802
    """Tell whether all of the first is in the second."""
    return one <= other


@in_abs
def hasNext(items: Any) -> bool:  # noqa: N802
    """Tell whether there is an item left."""
    return bool(items)


@in_abs
def take(items: Set) -> Any:
    """Return some item of a set: the first."""
    return next(iter(items)) if items else failed("take(EmptySet)")


@in_abs
def next_(items: Set) -> Pair:
    """Return an item of a set, and the set without it."""
    item = take(items)
    return Pair(remove(items, item), item)


@in_abs
def takeMaybe(items: Set) -> Maybe:  # noqa: N802
    """Return some item of a set, if there is one."""
    return Just(take(items)) if items else Nothing()


# Maps


@pure
def map_of(*pairs: Pair) -> Map:
    """`map[…]`; of two pairs with one key the first counts, as in a search from the left."""
    found: dict[Any, Any] = {}
    for pair in pairs:
        found.setdefault(pair.fst, pair.snd)
    return Map(found.items())


@in_abs
def map_(items: Iterable[Pair]) -> Map:
    """Return a list of pairs as a map."""
    return map_of(*items)


@in_abs
def emptyMap(items: Map) -> bool:  # noqa: N802
    """Tell whether a map is empty."""
    return not items


@in_abs
def put(items: Map, key: Any, value: Any) -> Map:
    """Return a map with another value for a key."""
    return Map((*items.items(), (key, value)))


@in_abs
def insert(items: Map, pair: Pair) -> Map:
    """Return a map with a pair of key and value put in."""
    return put(items, pair.fst, pair.snd)


@in_abs
def removeKey(items: Map, key: Any) -> Map:  # noqa: N802
    """Return a map without a key."""
    return Map((each, value) for each, value in items.items() if each != key)


@in_abs
def lookup(items: Map, key: Any) -> Maybe:
    """Return the value of a key, if there is one."""
    return Just(items[key]) if key in items else Nothing()


@in_abs
def lookupMaybe(items: Map, key: Any) -> Maybe:  # noqa: N802
    """Return the value of a key, if there is one."""
    return lookup(items, key)


@in_abs
def lookupUnsafe(items: Map, key: Any) -> Any:  # noqa: N802
    """Return the value of a key; fails if there is none."""
    return items[key] if key in items else failed(f"lookupUnsafe(…, {text_of(key)})")


@in_abs
def lookupDefault(items: Map, key: Any, default: Any) -> Any:  # noqa: N802
    """Return the value of a key, or a default."""
    return items.get(key, default)


@in_abs
def keys(items: Map) -> Set:
    """Return the keys of a map."""
    return Set(items)


@in_abs
def values(items: Map) -> _List:
    """Return the values of a map."""
    return tuple(items.values())


@in_abs
def entries(items: Map) -> _List:
    """Return the pairs of keys and values of a map."""
    return tuple(Pair(key, value) for key, value in items.items())
