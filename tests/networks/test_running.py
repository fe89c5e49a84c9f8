"""Networks under `check`, pytest and the command line; reports with nodes; tokens and replays."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from policies import AllBarriers, Balancer, kinds, requests, triangle

import treadle
import treadle.networks as sdn

FILE = """
    import treadle.networks as sdn

    net = sdn.Network().switches("s1 s2 s3").hosts("h0 r1 r2")
    net.links("h0-s1", "r1-s2", "r2-s3", "s1-s2", "s1-s3")

    class Balancer(sdn.Controller):
        def __init__(self):
            self.turn = 0

        def packet_in(self, event):
            replica = ("r1", "r2")[self.turn % 2]
            self.turn += 1
            path = self.net.path(event.switch, replica)
            for switch, port in path:
                switch.install(sdn.match(dst=event.packet.dst), sdn.output(port), priority=1)
            event.switch.packet_out(event)

    class Patient(Balancer):
        def packet_in(self, event):
            replica = ("r1", "r2")[self.turn % 2]
            self.turn += 1
            path = self.net.path(event.switch, replica)
            for switch, port in path:
                switch.install(sdn.match(dst=event.packet.dst), sdn.output(port), priority=1)
            yield [switch.barrier() for switch, _ in path]
            event.switch.packet_out(event)

    class Mistaken(sdn.Controller):
        def packet_in(self, event):
            event.switch.install(sdn.match(dst="x"), sdn.output(9))

    @sdn.check(net, Balancer)
    def test_hasty(net):
        net.send("h0", dst="vip")

    @sdn.check(net, Patient, no_loop=True, no_black_hole=True)
    def test_patient(net):
        net.send("h0", dst="vip")

    @sdn.check(net, Mistaken)
    def test_mistaken(net):
        net.send("h0", dst="vip")
"""


@pytest.fixture
def file(workplace: Path) -> Path:
    path = workplace / "test_net.py"
    path.write_text(dedent(FILE))
    return path


@pytest.mark.usefixtures("file")
def test_the_command_line(command_line) -> None:
    status, out, _ = command_line("run", "test_net.py::test_patient")
    assert status == 0
    assert "VERIFIED: test_net.py::test_patient, no interleaving fails for these packets" in out
    status, out, _ = command_line("run", "test_net.py::test_hasty", "--keep-going", "--json")
    assert status == 1
    found = json.loads(out)
    assert {failure["kind"] for failure in found["failures"]} == {"no_loop", "no_black_hole"}
    for failure in found["failures"]:
        status, out, _ = command_line("replay", "test_net.py::test_hasty", failure["token"])
        assert status == 1
        assert failure["message"].split(": ")[1].split(" → ")[0] in " ".join(out.split())


@pytest.mark.usefixtures("file")
def test_a_mistake_on_the_command_line(command_line) -> None:
    status, _, error = command_line("run", "test_net.py::test_mistaken")
    assert status == 2
    assert "s1 has no port 9: its ports are 1, 2, 3" in error
    assert error.count("test_net.py:") == 1


@pytest.mark.usefixtures("file")
def test_a_budget_on_the_command_line(command_line) -> None:
    arguments = ("--max-executions", "1", "--algorithm", "exhaustive")
    assert command_line("run", "test_net.py::test_patient", *arguments)[0] == 3


@pytest.mark.usefixtures("file")
def test_compare(command_line) -> None:
    status, out, _ = command_line("compare", "test_net.py::test_patient")
    assert status == 0
    assert "agree" in out


def test_pytest(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_net=dedent(FILE))
    result = pytester.runpytest_subprocess("-k", "hasty or patient", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=1)
    text = result.stdout.str()
    assert "--treadle-replay" in text
    assert "sends 1" in text


def test_check_raises_with_a_report() -> None:
    @sdn.check(triangle(), Balancer)
    def hasty(net: sdn.Network) -> None:
        """Sends one packet."""
        net.send("h0", dst="vip", src="client")

    assert (hasty.__name__, hasty.__doc__) == ("hasty", "Sends one packet.")
    with pytest.raises(treadle.CheckFailed) as failed:
        hasty()
    assert "FAILED: hasty" in str(failed.value)

    @sdn.check(triangle(), AllBarriers, properties=[sdn.delivered("1", "r1")])
    def patient(net: sdn.Network) -> None:
        net.send("h0", dst="vip", src="client")

    assert patient().ok


def test_a_network_is_not_changed_by_a_test() -> None:
    net = triangle()
    for _ in range(2):
        assert sdn.explore(net, AllBarriers, requests(1)).events == 11
    assert net.packets == []


# Reports


def looping() -> treadle.Failure:
    result = sdn.explore(triangle(), Balancer, requests(1), stop_on_failure=False)
    return next(failure for failure in result.failures if failure.kind == "no_loop")


def test_steps_are_in_words_of_networks() -> None:
    failure = looping()
    said = [(step.lane, str(step.accesses[0])) for step in failure.trace if step.accesses]
    assert said[:3] == [
        ("h0", "sends 1"),
        ("s1", "no rule for 1, asks"),
        ("controller", "s1 → s2, s2 → r1, s1: packet-out 1"),
    ]
    assert ("s2", "no rule for 1, asks") in said
    assert said[-1] == ("s1", "1 again")


def test_columns_are_nodes() -> None:
    from treadle.report.failure import lines_of
    from treadle.report.line import plain

    failure = looping()
    text = plain(lines_of(failure, width=200))
    (header,) = [line for line in text.splitlines() if "controller" in line and "│" in line]
    assert set(header.replace("│", " ").split()) == {"h0", "s1", "s2", "controller"} | (
        {"s3"} if any(step.lane == "s3" for step in failure.trace) else set()
    )
    assert "(ends)" not in text
    assert "preempted" not in text


def test_the_table_of_the_moment_is_beside_a_step() -> None:
    failure = looping()
    shown = [
        (step.lane, str(access))
        for step in failure.trace
        for access in step.accesses
        if access.operation == "table:"
    ]
    assert shown[0][1].startswith("table: src=client0 → ")
    assert len(shown) == len(set(shown)), "only where it changes"


def test_only_steps_of_the_controller_have_lines() -> None:
    for step in looping().trace:
        assert bool(step.where) == (step.lane == "controller")
        if step.where:
            assert "policies.py:" in step.where


def test_the_order_that_decides() -> None:
    failure = looping()
    assert failure.cause is not None
    assert "The order of these two decides" in str(failure)


def test_the_headline() -> None:
    text = str(looping()).splitlines()
    assert text[0].startswith("No_loop in ")
    assert "Loop: packet 1 comes to s1" in " ".join(text[:2])
    assert "semantics.py" not in "\n".join(text)


def test_schedules_and_tokens() -> None:
    program = sdn.program(triangle(), Balancer, requests(1))
    result = treadle.explore(program, stop_on_failure=False)
    for failure in result.failures:
        for what in (failure.schedule, str(failure.schedule), failure.token):
            again = treadle.replay(program, what)
            assert again is not None
            assert (again.kind, again.message) == (failure.kind, failure.message)


def test_steps_are_the_same_with_detail() -> None:
    program = sdn.program(triangle(), Balancer, requests(2))
    plain, detailed = program.start(), program.start(detail=True)
    while enabled := plain.enabled():
        process = enabled[len(enabled) // 2]
        assert detailed.enabled() == enabled
        assert plain.step(process) == detailed.step(process)
    assert not detailed.enabled()
    plain.close()
    detailed.close()


@pytest.mark.parametrize("schedule", ["stay", "oldest", "newest", "round-robin"])
def test_every_schedule_explores_the_same(schedule: str) -> None:
    result: Any = sdn.explore(
        triangle(), Balancer, requests(1), schedule=schedule, stop_on_failure=False
    )
    assert (result.executions, kinds(result)) == (8, {"no_loop", "no_black_hole"})


def test_kinds_are_known_everywhere() -> None:
    from treadle.networks.front_end import NETWORKS
    from treadle.networks.world import properties
    from treadle.session.front_ends import FRONT_ENDS

    declared = {
        value.kind
        for value in vars(properties).values()
        if isinstance(value, type) and issubclass(value, properties.Violation) and value.kind
    }
    assert declared == set(NETWORKS.kinds)
    assert FRONT_ENDS["networks"] is NETWORKS
