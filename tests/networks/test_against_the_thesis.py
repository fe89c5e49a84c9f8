"""The library's model against the thesis's rules, by brute force on random networks."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from rewriting import Rule, Setting, final_states, random_setting

import treadle.networks as sdn

FACTS = {"no_loop": "loop", "no_black_hole": "dropped", "no_conflict": "conflict"}


def action_of(text: str) -> sdn.Action:
    named = {"drop": sdn.drop(), "flood": sdn.flood()}
    return named[text] if text in named else sdn.output(int(text))


def match_of(target: str | None) -> sdn.Match:
    return sdn.match() if target is None else sdn.match(dst=target)


def network_of(setting: Setting) -> sdn.Network:
    net = sdn.Network().switches(setting.switches).hosts("a b")
    done = set()
    for one, other in setting.links.items():
        if (other, one) not in done:
            done.add((one, other))
            net.link(one, other)
    for switch, priority, target, _, action in setting.rules:
        net.install(switch, match_of(target), action_of(action), priority)
    return net


def policy_of(setting: Setting) -> type[sdn.Controller]:
    class Policy(sdn.Controller):
        def __init__(self) -> None:
            self.asked = dict.fromkeys("ab", 0)

        def packet_in(self, event: sdn.Event) -> None:
            target = event.packet.dst
            turn = self.asked[target] % 2
            self.asked[target] += 1
            for rule in setting.policy[event.switch.name, target, turn]:
                switch, priority, wanted, _, action = rule
                self.net.switch(switch).install(match_of(wanted), action_of(action), priority)
            says = setting.outs[event.switch.name, target]
            event.switch.packet_out(event, None if says == "table" else action_of(says))

    return Policy


def packets_of(setting: Setting) -> Any:
    def packets(net: sdn.Network) -> None:
        for name, host, target in setting.packets:
            net.send(host, name=name, dst=target)

    return packets


def rules_in(net: sdn.Network, setting: Setting) -> frozenset[Rule]:
    found = set()
    for switch in setting.switches:
        for priority, match, (action,) in net.table(switch):
            name, *args = action
            target = dict(match).get("dst")
            found.add((switch, priority, target, 0, str(args[0]) if args else name))
    return frozenset(found)


class Explored:
    """All final states of an exploration, with how many executions it took."""

    def __init__(self, setting: Setting, algorithm: str = "optimal", **options: Any) -> None:
        net = network_of(setting)
        self.states: set[Any] = set()

        @net.finally_
        def look(net: sdn.Network) -> None:
            world: Any = net._running
            arrived = {("arrived", packet, host) for host in "ab" for packet in net.arrivals(host)}
            buffered = frozenset(world.buffered())
            facts = {
                (FACTS[crash.kind], *words(str(crash.exception))) for crash in world.run._found
            }
            self.states.add((rules_in(net, setting), buffered, frozenset(arrived | facts)))

        self.result = sdn.explore(
            net,
            policy_of(setting),
            packets_of(setting),
            algorithm,
            stop_on_failure=False,
            max_executions=3000,
            **options,
        )


def words(message: str) -> tuple[str, str]:
    """Return packet and switch of a violation."""
    text = message.split()
    if text[0] == "rules":
        return text[5], text[2]
    switch = text[text.index("at") + 1] if "at" in text else text[4]
    return text[1], switch.rstrip(":")


def naive(setting: Setting) -> set[Any]:
    return {
        (tables, frozenset((question[0], question[2]) for question in buffered), facts)
        for tables, buffered, facts in final_states(setting)
    }


@settings(max_examples=60)
@given(seed=st.integers(0, 100_000))
def test_the_same_final_states(seed: int) -> None:
    setting = random_setting(seed)
    explored = Explored(setting)
    assume(explored.result.complete)
    assert explored.states == naive(setting)
    assert explored.result.blocked == 0


@settings(max_examples=25)
@given(seed=st.integers(0, 100_000), algorithm=st.sampled_from(["source", "optimal-context"]))
def test_other_algorithms_reach_the_same_states(seed: int, algorithm: str) -> None:
    setting = random_setting(seed)
    explored = Explored(setting, algorithm)
    assume(explored.result.complete)
    assert explored.states == naive(setting)


@settings(max_examples=40)
@given(seed=st.integers(0, 100_000))
def test_finer_levels_see_the_same_with_fewer_executions(seed: int) -> None:
    setting = random_setting(seed)
    by_switch = Explored(setting, level="switch")
    assume(by_switch.result.complete)
    by_table = Explored(setting, level="table")
    by_entry = Explored(setting)
    assert by_entry.states == by_table.states == by_switch.states
    entry, table, switch = (one.result.executions for one in (by_entry, by_table, by_switch))
    assert entry <= table <= switch


def test_levels_differ() -> None:
    """They are worth having: somewhere each of them saves executions."""
    saved = {"table": 0, "switch": 0}
    for seed in range(30):
        setting = random_setting(seed)
        entry = Explored(setting).result
        for level in saved:
            other = Explored(setting, level=level).result
            saved[level] += other.executions > entry.executions
    assert min(saved.values()) > 0


@settings(max_examples=25)
@given(seed=st.integers(0, 100_000))
def test_ordered_channels_leave_only_some_of_the_states(seed: int) -> None:
    setting = random_setting(seed)
    ordered = Explored(setting, ordered=True, ordered_links=True)
    assume(ordered.result.complete)
    assert ordered.states <= naive(setting)
    assert ordered.states


@pytest.mark.minutes
@settings(max_examples=2000)
@given(seed=st.integers(0, 10_000_000))
def test_the_same_final_states_of_many(seed: int) -> None:
    setting = random_setting(seed)
    explored = Explored(setting)
    assume(explored.result.complete)
    assert explored.states == naive(setting)
