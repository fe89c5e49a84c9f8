"""Barriers: waited for, or order only; no message overtakes one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policies import kinds, pair

import treadle.networks as sdn


def one(net: sdn.Network) -> None:
    net.send("h1", dst="h2")


def final_rules(policy: Any, **options: Any) -> set[tuple[Any, ...]]:
    """Return all tables of s1 that executions end with."""
    net = pair()
    seen: set[tuple[Any, ...]] = set()

    @net.finally_
    def look(net: sdn.Network) -> None:
        seen.add(tuple((match, tuple(actions)) for _, match, actions in net.table("s1")))

    result = sdn.explore(net, policy, one, stop_on_failure=False, no_black_hole=False, **options)
    assert result.complete
    return seen


class Replacing(sdn.Controller):
    """Installs two rules of one key, one after the other."""

    def between(self, switch: sdn.Switch) -> Any:
        return None

    def packet_in(self, event: sdn.Event) -> Any:
        switch = event.switch
        switch.install(sdn.match(dst="h2"), sdn.drop())
        self.between(switch)
        switch.install(sdn.match(dst="h2"), sdn.output(2))


class Ordering(Replacing):
    def between(self, switch: sdn.Switch) -> Any:
        switch.barrier()


class Elsewhere(Replacing):
    def between(self, switch: sdn.Switch) -> Any:
        self.net.switch("s2").barrier()


class WaitingBetween(sdn.Controller):
    def packet_in(self, event: sdn.Event) -> Iterator[Any]:
        event.switch.install(sdn.match(dst="h2"), sdn.drop())
        yield event.switch.barrier()
        event.switch.install(sdn.match(dst="h2"), sdn.output(2))


class LateYield(sdn.Controller):
    """Yields a barrier after it has sent more: that comes after it all the same."""

    def packet_in(self, event: sdn.Event) -> Iterator[Any]:
        event.switch.install(sdn.match(dst="h2"), sdn.drop())
        barrier = event.switch.barrier()
        event.switch.install(sdn.match(dst="h2"), sdn.output(2))
        yield barrier


DROP = (sdn.match(dst="h2"), (sdn.drop(),))
FORWARD = (sdn.match(dst="h2"), (sdn.output(2),))


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (Replacing, {(DROP,), (FORWARD,)}),
        (Elsewhere, {(DROP,), (FORWARD,)}),
        (Ordering, {(FORWARD,)}),
        (WaitingBetween, {(FORWARD,)}),
        (LateYield, {(FORWARD,)}),
    ],
)
def test_what_can_be_overtaken(policy: Any, expected: set[Any]) -> None:
    assert final_rules(policy) == expected


def test_ordered_channels_need_no_barrier() -> None:
    assert final_rules(Replacing, ordered=True) == {(FORWARD,)}
    assert final_rules(Replacing, ordered=False) == {(DROP,), (FORWARD,)}


class TwoHandlers(sdn.Controller):
    """Each of two packets installs a rule, and the first one a barrier between two."""

    def packet_in(self, event: sdn.Event) -> None:
        switch = event.switch
        if event.packet.src == "a":
            switch.install(sdn.match(dst="x"), sdn.output(2))
            switch.barrier()
            switch.install(sdn.match(dst="y"), sdn.output(2))
        else:
            switch.install(sdn.match(dst="z"), sdn.output(2))


def orders_at(policy: Any, packets: Any, switch: str, **options: Any) -> set[tuple[str, ...]]:
    """Return in which orders a switch handles its flow-mods, in all executions."""
    program = sdn.program(pair(), policy, packets, no_black_hole=False, no_loop=False, **options)
    found: set[tuple[str, ...]] = set()

    def go(prefix: list[int]) -> None:
        run: Any = program.start(detail=True)
        for process in prefix:
            run.step(process)
        enabled = run.enabled()
        if not enabled:
            words = [
                str(record.accesses[0])
                for record in run.records()
                if record.lane == switch and "flow-mod" in record.process
            ]
            found.add(tuple(words))
        run.drop()
        for process in enabled:
            go([*prefix, process])

    go([])
    return found


def test_epochs_are_those_of_the_switch() -> None:
    def both(net: sdn.Network) -> None:
        net.send("h1", src="a", dst="h2")
        net.send("h1", src="b", dst="h2")

    for order in orders_at(TwoHandlers, both, "s1"):
        assert order.index("dst=x → s2") < order.index("dst=y → s2")
    # The rule of the other handler belongs to the first epoch or to the second.
    places = {order.index("dst=z → s2") for order in orders_at(TwoHandlers, both, "s1")}
    assert places == {0, 1, 2}


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000))
def test_no_message_overtakes_a_barrier(seed: int) -> None:
    """Of random policies: messages of an earlier epoch are handled before those of a later one."""
    draw = random.Random(seed)
    plan = [draw.choice(["s1", "s2", "barrier s1", "barrier s2", "wait s1"]) for _ in range(5)]

    class Policy(sdn.Controller):
        def packet_in(self, event: sdn.Event) -> Iterator[Any]:
            for number, what in enumerate(plan):
                verb, _, name = what.rpartition(" ")
                switch = self.net.switch(name)
                if verb == "barrier":
                    switch.barrier()
                elif verb == "wait":
                    yield switch.barrier()
                else:
                    switch.install(sdn.match(number=number), sdn.drop())

    for name in ("s1", "s2"):
        epochs: dict[str, int] = {}
        epoch = 0
        for number, what in enumerate(plan):
            if what == name:
                epochs[f"number={number} → drop"] = epoch
            epoch += what.endswith(f" {name}")
        for order in orders_at(Policy, one, name):
            assert set(order) == set(epochs)
            handled = [epochs[words] for words in order]
            assert handled == sorted(handled)


class Several(sdn.Controller):
    """Waits for several barriers at once, or one after the other."""

    TOGETHER = True

    def packet_in(self, event: sdn.Event) -> Iterator[Any]:
        s1, s2 = self.net.switch("s1"), self.net.switch("s2")
        s1.install(sdn.match(dst="h2"), sdn.output(2))
        if self.TOGETHER:
            s2.install(sdn.match(dst="h2"), sdn.output(2))
            yield [s1.barrier(), s2.barrier()]
        else:
            yield s1.barrier()
            s2.install(sdn.match(dst="h2"), sdn.output(2))
            yield s2.barrier()
        event.switch.packet_out(event)


class OneAfterTheOther(Several):
    TOGETHER = False


@pytest.mark.parametrize("policy", [Several, OneAfterTheOther])
def test_several_barriers(policy: Any) -> None:
    result = sdn.explore(pair(), policy, one, properties=[sdn.delivered("1", "h2")])
    assert (result.ok, result.executions) == (True, 1)


def test_a_barrier_without_messages_is_no_obstacle() -> None:
    class Policy(sdn.Controller):
        def packet_in(self, event: sdn.Event) -> Iterator[Any]:
            yield event.switch.barrier()
            event.switch.packet_out(event, sdn.drop())

    result = sdn.explore(pair(), Policy, one)
    assert (result.ok, result.executions) == (True, 1)


def test_a_barrier_waits_for_packet_outs_too() -> None:
    class Policy(sdn.Controller):
        def packet_in(self, event: sdn.Event) -> Iterator[Any]:
            event.switch.packet_out(event, sdn.output(2))
            yield event.switch.barrier()
            event.switch.install(sdn.match(dst="h2"), sdn.drop())

    net = pair()
    net.install("s2", sdn.match(dst="h2"), sdn.output(2))
    result = sdn.explore(net, Policy, one, properties=[sdn.delivered("1", "h2")])
    assert result.ok
    assert kinds(result) == set()
