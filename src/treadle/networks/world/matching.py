"""Matches, headers and actions: what rules are made of. All of them are plain tuples inside.

A header is a sorted tuple of fields and values. A match names some of the fields, and the port if
it cares; a prefix such as `10.0.0.0/8` stands for the addresses in it, and a value with a mask
(`01:00:00:00:00:00/01:00:00:00:00:00`) for those that agree where the mask is set.
"""

from __future__ import annotations

import functools
import ipaddress
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from treadle.core.errors import TreadleError

Header = tuple[tuple[str, Any], ...]
IN_PORT = "in_port"

_ADDRESSES = (
    ipaddress.IPv4Address,
    ipaddress.IPv6Address,
    ipaddress.IPv4Network,
    ipaddress.IPv6Network,
)
_PLAIN = (str, int, bytes, type(None))
_MAC = re.compile(r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}")


class Match(tuple[tuple[str, Any], ...]):
    """What packets a rule is for: fields with values, `in_port` among them; made by `match`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"match({', '.join(f'{name}={value!r}' for name, value in self)})"


class Action(tuple[Any, ...]):
    """What a switch does with a packet; made by `output`, `flood`, `drop` or `set_field`."""

    __slots__ = ()

    def __repr__(self) -> str:
        name, *args = self
        return f"{name}({', '.join(map(str, args))})"


Actions = tuple[tuple[Any, ...], ...]
"""Actions as tables hold them."""


def match(**fields: Any) -> Match:
    """Return a match: packets with these header fields, from this `in_port` if it is given.

    >>> match(dst="h2", in_port=1)
    match(dst='h2', in_port=1)
    """
    return Match(header_of(fields))


def header_of(fields: Mapping[str, Any]) -> Header:
    """Return fields as a header: sorted, and with values that compare by content."""
    return tuple(sorted((name, _plain(name, value)) for name, value in fields.items()))


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, _ADDRESSES):
        return str(value)
    if not isinstance(value, _PLAIN):
        raise TreadleError(
            f"{name}={value!r} is no value of a header field: give text, a number or an address"
        )
    return value


def covers(wanted: Any, question: Any) -> bool:
    """Tell whether a match, the second half of a key, is for a packet: its port and header."""
    return _covers(wanted[1], *question)


@functools.lru_cache(maxsize=100_000)
def _covers(wanted: Header, port: int, header: Header) -> bool:
    fields = {**dict(header), IN_PORT: port}
    return all(name in fields and agrees(value, fields[name]) for name, value in wanted)


@functools.lru_cache(maxsize=100_000)
def agrees(wanted: Any, value: Any) -> bool:
    """Tell whether a value is the one that a match wants, or one of them.

    >>> agrees("10.0.0.0/8", "10.1.2.3"), agrees(22, 22), agrees("h1", "h2")
    (True, True, False)
    """
    if wanted == value:
        return True
    if not (isinstance(wanted, str) and isinstance(value, str) and "/" in wanted):
        return False
    if _MAC.match(wanted):
        address, mask = map(_number_of, wanted.split("/"))
        return _MAC.fullmatch(value) is not None and _number_of(value) & mask == address & mask
    try:
        inner = ipaddress.ip_network(value, strict=False)
        return inner.subnet_of(ipaddress.ip_network(wanted, strict=False))  # type: ignore[arg-type]
    except (ValueError, TypeError):
        return False


def _number_of(mac: str) -> int:
    return int(mac.replace(":", ""), 16)


def is_within(inner: Header, outer: Header) -> bool:
    """Tell whether every packet that one match is for is one that the other is for."""
    narrow = dict(inner)
    return all(name in narrow and agrees(value, narrow[name]) for name, value in outer)


# Actions


def output(port: int) -> Action:
    """Forward the packet through a port."""
    if not isinstance(port, int) or isinstance(port, bool):
        raise TreadleError(f"output({port!r}): give the number of a port, as net.path() does")
    return Action(("output", port))


def flood() -> Action:
    """Forward a copy of the packet through every port but the one that it came from."""
    return Action(("flood",))


def drop() -> Action:
    """Drop the packet, on purpose."""
    return Action(("drop",))


def set_field(**fields: Any) -> Action:
    """Change header fields; what comes after it in a list of actions forwards the new header."""
    if not fields:
        raise TreadleError("set_field() changes nothing: write set_field(dst=...)")
    return Action(("set_field", *header_of(fields)))


def actions_of(given: Action | Sequence[Action] | None, what: str) -> Actions:
    """Return actions as tables hold them; refuse what is none."""
    listed: Iterable[Any] = [given] if isinstance(given, Action) else given or ()
    actions = list(listed) if isinstance(listed, list | tuple) else [listed]
    for action in actions:
        if not isinstance(action, Action):
            raise TreadleError(
                f"{what} has {action!r} for an action: write sdn.output(port), sdn.flood(), "
                f"sdn.drop(), sdn.set_field(...) or a list of them"
            )
    if not actions:
        raise TreadleError(f"{what} has no action: write sdn.drop() if packets are to be dropped")
    return tuple(tuple(action) for action in actions)


def match_of(given: Any, what: str) -> Header:
    """Return a match as tables hold it; refuse what is none."""
    if not isinstance(given, Match):
        raise TreadleError(f"{what} has {given!r} for a match: write sdn.match(dst=...)")
    return tuple(given)


def fields_in_words(header: Header) -> str:
    """Return a match or a header for people to read."""
    return ", ".join(f"{name}={value}" for name, value in header) or "any packet"
