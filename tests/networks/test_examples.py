"""Every example has the verdict that its text promises, and runs on the command line."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from policies import kinds

import treadle
from treadle.core.decorated import called_plainly

pytest.importorskip("networkx", reason="needs the extra sdn")
EXAMPLES = Path(__file__).parents[2] / "examples" / "sdn"
VERDICTS = {
    "load_balancer::test_hasty": (8, {"no_loop", "no_black_hole"}),
    "load_balancer::test_half_repaired": (4, {"no_loop"}),
    "load_balancer::test_repaired": (1, set()),
    "ssh_two_phases::test_one_barrier": (21, {"never"}),
    "ssh_two_phases::test_two_phases": (12, set()),
    "path_update::test_at_once": (3, {"no_black_hole", "delivered"}),
    "path_update::test_make_before_break": (2, set()),
    "path_update::test_deletes_the_old_rule": (3, {"no_black_hole", "delivered"}),
    "os_ken_learning_switch::test_line": (6, set()),
    "os_ken_learning_switch::test_ring": (None, {"no_loop"}),
    "os_ken_firewall::test_connected": (None, set()),
    "os_ken_firewall::test_while_connecting": (None, {"never"}),
    "os_ken_load_balancer::test_hasty": (None, {"balanced"}),
    "os_ken_load_balancer::test_patient": (None, set()),
}


def load(name: str) -> Any:
    if name.startswith("os_ken"):
        pytest.importorskip("os_ken", reason="needs the extra sdn")
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("example", VERDICTS)
def test_verdict(example: str) -> None:
    file, _, name = example.partition("::")
    expected, failing = VERDICTS[example]
    with called_plainly():
        program = getattr(load(file), name)()
    result = treadle.explore(program, stop_on_failure=False, max_executions=2000)
    assert kinds(result) == failing
    assert result.complete
    assert expected in (None, result.executions)


def test_every_example_is_listed() -> None:
    found = {
        f"{path.stem}::{name}"
        for path in EXAMPLES.glob("*.py")
        for name in vars(load(path.stem))
        if name.startswith("test_")
    }
    assert found == set(VERDICTS)


def test_on_the_command_line(command_line, workplace: Path) -> None:
    del workplace
    for name, status in (("test_hasty", 1), ("test_repaired", 0)):
        done = command_line("run", f"{EXAMPLES / 'load_balancer.py'}::{name}")
        assert done[0] == status
