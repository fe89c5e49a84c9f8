"""The thesis's rules (si, shp, so, shm, chm, hhp), written naively as rewriting of states.

A state is a multiset of messages, the tables, the buffers, what the controller has counted, and the
facts: arrivals, drops, loops, conflicts. Any message may be next; `final_states` tries them all.
Nothing here uses Treadle: it is what the library's model is compared with.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from typing import Any

Message = tuple[Any, ...]
Rule = tuple[str, int, str | None, int, str]
"""Switch, priority, destination (None: any), in-port (0: any), action: `2`, `drop`, `flood`."""


@dataclass(frozen=True)
class Setting:
    """A random network with a random policy."""

    switches: tuple[str, ...]
    links: dict[tuple[str, int], tuple[str, int]]
    """Both directions; hosts have the port 1."""
    rules: tuple[Rule, ...]
    packets: tuple[tuple[str, str, str], ...]
    """Name, host, destination."""
    policy: dict[tuple[str, str, int], tuple[Rule, ...]]
    """By switch, destination, and how often that was asked before, modulo 2."""
    outs: dict[tuple[str, str], str]
    """What a packet-out says, by switch and destination: an action, or `table`."""

    def ports(self, switch: str) -> list[int]:
        return sorted(port for node, port in self.links if node == switch)


@dataclass(frozen=True)
class State:
    messages: tuple[Message, ...]
    tables: frozenset[Rule]
    buffered: frozenset[Any]
    asked: tuple[tuple[str, int], ...]
    facts: frozenset[Message]


def random_setting(seed: int) -> Setting:
    draw = random.Random(seed)
    switches = ("s1", "s2", "s3")[: draw.choice([2, 2, 3])]
    links: dict[tuple[str, int], tuple[str, int]] = {}
    free = dict.fromkeys(switches, 1)

    def connect(one: tuple[str, int], other: tuple[str, int]) -> None:
        links[one], links[other] = other, one

    def port(switch: str) -> tuple[str, int]:
        free[switch] += 1
        return switch, free[switch] - 1

    connect(("a", 1), port("s1"))
    connect(("b", 1), port(switches[-1]))
    for one, other in itertools.pairwise(switches):
        connect(port(one), port(other))
    if len(switches) == 3 and draw.random() < 0.5:
        connect(port("s1"), port("s3"))
    ports = {switch: range(1, free[switch]) for switch in switches}

    def rule(switch: str) -> Rule:
        action = draw.choice([*map(str, ports[switch]), "drop", "flood"])
        return switch, draw.choice([1, 1, 2]), draw.choice(["a", "b", None]), 0, action

    packets = [("p", "a", "b"), ("q", draw.choice("ab"), draw.choice("ab"))]
    some = [rule(draw.choice(switches)) for _ in range(draw.randrange(2))]
    return Setting(
        switches,
        links,
        tuple({rule[:4]: rule for rule in some}.values()),
        tuple(packets[: draw.choice([1, 1, 2])]),
        {
            (switch, target, turn): tuple(
                rule(draw.choice(switches)) for _ in range(draw.choice([0, 1, 1, 2]))
            )
            for switch in switches
            for target in "ab"
            for turn in range(2)
        },
        {
            (switch, target): draw.choice(
                ["table", "table", "drop", str(draw.choice(ports[switch]))]
            )
            for switch in switches
            for target in "ab"
        },
    )


def final_states(setting: Setting) -> set[tuple[frozenset[Rule], frozenset[Any], frozenset[Any]]]:
    """Return tables, buffers and facts of all states in which no message is left."""
    asked = tuple((target, 0) for target in "ab")
    sends = tuple(("send", *packet) for packet in setting.packets)
    todo = [State(sends, frozenset(setting.rules), frozenset(), asked, frozenset())]
    seen = set(todo)
    found = set()
    while todo:
        state = todo.pop()
        if not state.messages:
            found.add((state.tables, state.buffered, state.facts))
        for at, message in enumerate(state.messages):
            rest = State(
                state.messages[:at] + state.messages[at + 1 :],
                state.tables,
                state.buffered,
                state.asked,
                state.facts,
            )
            following = _RULES[message[0]](setting, rest, *message[1:])
            if following not in seen:
                seen.add(following)
                todo.append(following)
    return found


def _with(state: State, *messages: Message, **changes: Any) -> State:
    values = {**vars(state), **changes}
    values["messages"] = tuple(sorted((*state.messages, *messages), key=repr))
    return State(**values)


def _fact(state: State, *fact: Any) -> State:
    return _with(state, facts=state.facts | {fact})


def _moved(setting: Setting, node: str, port: int, packet: Message) -> Message:
    peer, its_port = setting.links[node, port]
    kind = "packet" if peer in setting.switches else "deliver"
    return (kind, peer, its_port, *packet)


def _si(setting: Setting, state: State, name: str, host: str, target: str) -> State:
    return _with(state, _moved(setting, host, 1, (name, target, ())))


def _hhp(_setting: Setting, state: State, host: str, _port: int, name: str, *_rest: Any) -> State:
    return _fact(state, "arrived", name, host)


def _shp(
    setting: Setting, state: State, switch: str, port: int, name: str, target: str, visits: Any
) -> State:
    if any(visited == switch for visited, _ in visits):
        return _fact(state, "loop", name, switch)
    packet = (name, target, (*visits, (switch, port)))
    actions = _looked_up(state, switch, port, target)
    if not actions:
        question = (switch, port, *packet)
        return _with(state, ("ask", *question), buffered=state.buffered | {question})
    return _applied(setting, state, switch, port, packet, actions)


def _chm(
    setting: Setting, state: State, switch: str, port: int, name: str, target: str, visits: Any
) -> State:
    asked = dict(state.asked)
    turn, asked[target] = asked[target] % 2, asked[target] + 1
    rules = [("rule", *rule) for rule in setting.policy[switch, target, turn]]
    out = ("out", setting.outs[switch, target], switch, port, name, target, visits)
    return _with(state, *rules, out, asked=tuple(sorted(asked.items())))


def _shm(
    _setting: Setting,
    state: State,
    switch: str,
    priority: int,
    target: str | None,
    port: int,
    action: str,
) -> State:
    key = (switch, priority, target, port)
    kept = {rule for rule in state.tables if rule[:4] != key}
    return _with(state, tables=frozenset(kept | {(*key, action)}))


def _so(setting: Setting, state: State, says: str, switch: str, port: int, *packet: Any) -> State:
    question = (switch, port, *packet)
    state = _with(state, buffered=state.buffered - {question})
    actions = {says} if says != "table" else _looked_up(state, switch, port, packet[1])
    if not actions:
        return _fact(state, "dropped", packet[0], switch)
    return _applied(setting, state, switch, port, packet, actions)


def _looked_up(state: State, switch: str, port: int, target: str) -> set[str]:
    """Return what the rules of the highest priority say."""
    found = [
        rule
        for rule in state.tables
        if rule[0] == switch and rule[2] in (None, target) and rule[3] in (0, port)
    ]
    highest = max((rule[1] for rule in found), default=0)
    return {rule[4] for rule in found if rule[1] == highest}


def _applied(
    setting: Setting, state: State, switch: str, port: int, packet: Message, actions: set[str]
) -> State:
    if len(actions) > 1:
        return _fact(state, "conflict", packet[0], switch)
    (action,) = actions
    if action == "drop":
        return state
    outs = [int(action)] if action != "flood" else setting.ports(switch)
    moved = [
        _moved(setting, switch, out, packet) for out in outs if action != "flood" or out != port
    ]
    return _with(state, *moved)


_RULES: dict[str, Any] = {
    "send": _si,
    "packet": _shp,
    "ask": _chm,
    "rule": _shm,
    "out": _so,
    "deliver": _hhp,
}
