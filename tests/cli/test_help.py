"""What the command line says about itself."""

from __future__ import annotations

import pytest

import treadle
from treadle import cli


@pytest.mark.parametrize(
    "command", [[], ["run"], ["replay"], ["compare"], ["deadlocks"], ["constraints"]]
)
def test_help_has_examples(call, command):
    status, out, _ = call(*command, "--help")
    assert status == 0
    assert f"Examples:\n    treadle {' '.join(command)}" in out
    assert "Exit status: 0" in out


def test_what_each_command_does_is_said_in_full(call):
    _, out, _ = call("--help")
    _, _, commands = out.partition("Commands:\n")
    assert len(commands.splitlines()) == len(cli.cli.commands)
    assert "..." not in commands


def test_without_a_command_there_is_help(call):
    status, _, err = call()
    assert status == 2
    assert err.startswith("Usage: treadle")


def test_version(call):
    assert call("--version") == (0, f"treadle, version {treadle.__version__}\n", "")


def test_all_commands_are_there():
    assert sorted(cli.cli.commands) == [
        "abs", "bench", "compare", "completion", "constraints", "deadlocks", "replay", "run", "web",
    ]  # fmt: skip
