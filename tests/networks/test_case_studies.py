"""The case studies, each with its exact number of executions and its verdict."""

from __future__ import annotations

import time
from typing import Any

import pytest
from policies import (
    AllBarriers,
    AskingBarrier,
    Balancer,
    FarEndFirst,
    Firewall,
    ForgetfulFirewall,
    Learning,
    LearningByDestination,
    OneTurn,
    OneTurnWithBarriers,
    OtherBarriers,
    Ssh,
    SshBarrier,
    SshFirst,
    SshTwoPhases,
    authenticated,
    kinds,
    line,
    migrating,
    no_ssh,
    pair,
    protocols,
    requests,
    star,
    triangle,
)

import treadle
import treadle.networks as sdn
from treadle.core.events import Mode
from treadle.explore.registry import ALGORITHMS
from treadle.networks.world.tables import FlowTable
from waiting import seconds_here

LOOP = {"no_loop", "no_black_hole"}


def explored(net: sdn.Network, policy: Any, packets: Any, *args: Any, **options: Any) -> Any:
    result = sdn.explore(net, policy, packets, *args, stop_on_failure=False, **options)
    assert result.complete
    assert result.blocked == 0 or result.algorithm != "optimal"
    return result


# Load balancer


@pytest.mark.parametrize(("count", "executions"), [(1, 8), (2, 64), (3, 512)])
def test_load_balancer(count: int, executions: int) -> None:
    result = explored(triangle(), Balancer, requests(count))
    assert (result.executions, kinds(result)) == (executions, LOOP)


def test_all_interleavings_of_the_load_balancer() -> None:
    assert explored(triangle(), Balancer, requests(1), "exhaustive").executions == 286


@pytest.mark.parametrize("algorithm", [name for name, a in ALGORITHMS.items() if a.covers])
def test_every_algorithm_finds_the_same(algorithm: str) -> None:
    cases: list[Any] = [(triangle(), Balancer, requests(1), [])]
    if algorithm != "exhaustive":  # which would not come to an end
        trusted = [sdn.delivered("21", "h1"), sdn.delivered("31", "h1")]
        cases.append((star(), Firewall, migrating(4), trusted))
    for net, policy, packets, properties in cases:
        expected = explored(net, policy, packets, properties=properties)
        result = explored(net, policy, packets, algorithm, properties=properties)
        assert verdicts(result) == verdicts(expected)


def verdicts(result: Any) -> set[tuple[str, str]]:
    return {(failure.kind, failure.message) for failure in result.failures}


def test_one_turn_for_all() -> None:
    for algorithm in ("optimal", "optimal-context"):
        result = explored(triangle(), OneTurn, requests(2), algorithm)
        assert (result.executions, kinds(result)) == (248, LOOP)


def test_one_turn_for_all_if_equal_rules_were_writes(monkeypatch) -> None:
    monkeypatch.setattr(FlowTable, "mode", Mode.WRITE)
    assert explored(triangle(), OneTurn, requests(2)).executions == 296
    by_state = explored(triangle(), OneTurn, requests(2), "optimal-context")
    assert by_state.executions == 248


@pytest.mark.parametrize("count", [1, 2, 3, 5, 50])
def test_load_balancer_with_barriers(count: int) -> None:
    result = explored(triangle(), AllBarriers, requests(count))
    assert (result.executions, result.events, kinds(result)) == (1, 11 * count, set())


@pytest.mark.parametrize(("count", "executions"), [(1, 1), (2, 2), (3, 6), (4, 24)])
def test_load_balancer_with_barriers_and_one_turn(count: int, executions: int) -> None:
    result = explored(triangle(), OneTurnWithBarriers, requests(count))
    assert (result.executions, kinds(result)) == (executions, set())


def test_both_replicas_get_the_same_with_one_turn() -> None:
    balanced = sdn.balanced("r1 r2", by=0)
    assert explored(triangle(), OneTurnWithBarriers, requests(2), properties=[balanced]).ok
    with_turns_per_header = explored(triangle(), AllBarriers, requests(2), properties=[balanced])
    assert kinds(with_turns_per_header) == {"balanced"}


@pytest.mark.parametrize(
    ("policy", "executions", "failing"),
    [
        (Balancer, 8, LOOP),
        (AskingBarrier, 4, {"no_loop"}),
        (OtherBarriers, 2, {"no_black_hole"}),
        (AllBarriers, 1, set()),
        (FarEndFirst, 1, set()),
    ],
)
def test_which_barriers_help(policy: Any, executions: int, failing: set[str]) -> None:
    result = explored(triangle(), policy, requests(1))
    assert (result.executions, kinds(result)) == (executions, failing)
    somewhere: set[str] = set()
    net = triangle()

    @net.finally_
    def look(net: sdn.Network) -> None:
        somewhere.update(host for host in ("r1", "r2") if net.arrivals(host))

    explored(net, policy, requests(1))
    assert somewhere <= {"r1", "r2"}
    assert somewhere, "it arrives in some execution"


def test_large_cases_are_quick() -> None:
    started = time.process_time()
    assert explored(triangle(), AllBarriers, requests(125)).events == 11 * 125
    assert time.process_time() - started < seconds_here(5)
    started = time.process_time()
    assert explored(triangle(), Balancer, requests(3)).executions == 512
    assert time.process_time() - started < seconds_here(5)  # 0.5 s on a machine of its own


# SSH


@pytest.mark.parametrize(
    ("policy", "sent", "executions", "failing"),
    [
        (Ssh, ["ssh"], 22, {"no_conflict", "no_black_hole", "never"}),
        (SshFirst, ["ssh"], 22, {"no_black_hole", "never"}),
        (SshFirst, ["web"], 6, {"no_black_hole"}),
        (SshBarrier, ["ssh"], 1, set()),
        (SshBarrier, ["web"], 1, set()),
        (SshBarrier, ["ssh", "web"], 21, {"never"}),
        (SshBarrier, ["web", "web"], 15, set()),
        (SshBarrier, ["ssh", "ssh"], 27, {"never"}),
        (SshTwoPhases, ["ssh"], 1, set()),
        (SshTwoPhases, ["ssh", "web"], 12, set()),
        (SshTwoPhases, ["ssh", "ssh"], 9, set()),
    ],
)
def test_ssh(policy: Any, sent: list[str], executions: int, failing: set[str]) -> None:
    result = explored(pair(), policy, protocols(*sent), properties=no_ssh(*sent))
    assert (result.executions, kinds(result)) == (executions, failing)


@pytest.mark.parametrize(("sent", "steps"), [("ssh", 13), ("web", 15)])
def test_steps_behind_a_barrier(sent: str, steps: int) -> None:
    assert explored(pair(), SshBarrier, protocols(sent)).events == steps


# Learning switch


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize(("switches", "executions"), [(3, 4), (6, 7)])
def test_learning_with_authentication(switches: int, executions: int, count: int) -> None:
    properties = [sdn.never("h2h1", host) for host in ("h1", "h3")] if count == 3 else []
    result = explored(line(switches), Learning, authenticated(count), properties=properties)
    assert (result.executions, kinds(result)) == (executions, set())
    assert len(result.notes) == (count == 3)


def test_rules_by_destination_let_a_banned_host_through() -> None:
    properties = [sdn.never("h2h1", "h1")]
    result = explored(line(3), LearningByDestination, authenticated(3), properties=properties)
    assert kinds(result) == {"never"}


# Firewall


@pytest.mark.parametrize(("count", "executions"), [(3, 2), (4, 8), (5, 8), (6, 48)])
def test_firewall(count: int, executions: int) -> None:
    properties = [sdn.never("41", "h1")] if count == 5 else []
    result = explored(star(), Firewall, migrating(count), properties=properties)
    assert (result.executions, kinds(result)) == (executions, set())


@pytest.mark.parametrize(("count", "executions"), [(3, 1), (4, 2), (5, 2), (6, 6)])
def test_forgetful_firewall(count: int, executions: int) -> None:
    result = explored(
        star(), ForgetfulFirewall, migrating(count), properties=[sdn.never("31", "h1")]
    )
    assert (result.executions, kinds(result)) == (executions, {"never"})


def test_the_verdict_says_for_which_packets() -> None:
    verified = explored(triangle(), AllBarriers, requests(1))
    assert "no interleaving fails for these packets" in str(verified)
    stopped = sdn.explore(triangle(), AllBarriers, requests(1), max_executions=1)
    assert isinstance(stopped, treadle.Result)
    assert "for these packets" in str(stopped)
