"""ABS files on the command line: `treadle run`, `replay`, `compare` and `abs`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("here")

FOLDER = Path(__file__).parents[2] / "examples" / "actors"

SUM = """\
module Sum;
class Adder(Int start) {
  Int total = start;
  Int add(Int n, List<Int> more) {
    total = total + n;
    foreach (m in more) { total = total + m; }
    assert total < 10;
    return total;
  }
  Unit nothing() { skip; }
}
"""


@pytest.fixture
def here(models: Path) -> Path:
    for path in FOLDER.glob("*.abs"):
        (models / path.name).write_text(path.read_text())
    (models / "sum.abs").write_text(SUM)
    return models


def run_json(call, *arguments: str) -> tuple[int, dict]:
    status, out, err = call("run", *arguments, "--no-database", "--json")
    assert err == ""
    return status, json.loads(out)


def test_a_model_is_explored_and_its_result_has_the_keys_of_others(call) -> None:
    status, found = run_json(call, "barber.abs", "--keep-going")
    assert status == 1
    _, other = run_json(call, "models.py::race", "--keep-going")
    assert set(found) == set(other)
    assert (found["target"], found["executions"]) == ("barber.abs::main", 7)
    assert [failure["kind"] for failure in found["failures"]] == ["deadlock"]


def test_levels_and_verdicts(call) -> None:
    status, found = run_json(call, "registry.abs", "--dependency", "field")
    assert (status, found["executions"]) == (0, 6)
    status, found = run_json(call, "registry.abs")
    assert (status, found["executions"]) == (0, 24)
    status, out, _ = call("run", "registry.abs", "--no-database", "--quiet")
    assert (status, out) == (0, "VERIFIED: registry.abs::main, no interleaving fails\n")


def test_reports_show_lines_of_the_model(call) -> None:
    status, out, _ = call("run", "bank.abs", "--no-database")
    assert status == 1
    assert "bank.abs:65" in out
    assert '  File "bank.abs", line 65, in run\n    assert sum == 20;\n' in out


def test_a_failure_is_replayed(call) -> None:
    _, out, _ = call("run", "protocol.abs", "--no-database")
    command = out.strip().splitlines()[-1].removeprefix("Replay: treadle ").split()
    status, out, _ = call(*command)
    assert status == 1
    assert "Deadlock" in out


def test_the_method_under_test(call) -> None:
    wanted = ["sum.abs", "--method", "Adder(1).add", "--args"]
    status, found = run_json(call, *wanted, "2, list[3, 3]")
    assert (status, found["target"]) == (0, "sum.abs::Adder(1).add(2, list[3, 3])")
    status, found = run_json(call, *wanted, "2, list[3, 4]")
    assert (status, found["failures"][0]["kind"]) == (1, "assertion")
    status, out, _ = call("run", "sum.abs::Adder(9).nothing", "--no-database", "--quiet")
    assert (status, out[:8]) == (0, "VERIFIED")
    status, out, _ = call("run", "sum.abs", "--method", "Adder(9).nothing", "-q", "--no-database")
    assert status == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["sum.abs"], "sum.abs:11:1: there is no main block: add one, or choose a method with "
                      "--method Adder.add\n  }\n  ^\n"),
        (["sum.abs", "--args", "1"],
         "--args are those of a method: name it with --method Class.m\n"),
        (["models.py", "--method", "A.b"],
         "--method is for .abs files without a name: give FILE.abs\n"),
        (["sum.abs::main", "--method", "A.b"],
         "--method is for .abs files without a name: give FILE.abs\n"),
        (["sum.abs", "--method", "Adder(1).ad", "--args", "1"],
         "sum.abs:13:18: class Adder has no method ad; did you mean add?\n"
         "  { (new Adder(1))!ad(1); }\n                   ^\n"),
        (["bad.abs"], "bad.abs:2:13: syntax error at '4', expected an operator or ';'\n"
                      "  { Int x = 3 4; }\n              ^\n"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place_and_status_2(
    call, here, arguments: list[str], says: str
) -> None:
    (here / "bad.abs").write_text("module Bad;\n{ Int x = 3 4; }\n")
    assert call("run", *arguments, "--no-database") == (2, "", f"treadle: error: {says}")


def test_the_translation_runs(call, here) -> None:
    status, out, err = call("abs", "barber.abs")
    assert (status, err) == (0, "")
    assert "class BarberImpl(Actor):\n" in out
    assert "    await client.sits.send()\n" in out
    (here / "translated.py").write_text(out)
    status, found = run_json(call, "translated.py", "--keep-going")
    assert (status, found["executions"], len(found["failures"])) == (1, 7, 1)


def test_the_translation_of_what_is_no_abs(call, here) -> None:
    (here / "bad.abs").write_text("module Bad;\n{ frob(1); }\n")
    status, out, err = call("abs", "bad.abs")
    assert (status, out) == (2, "")
    says = "treadle: error: bad.abs:2:3: there is no function frob"
    assert err == f"{says}\n  {{ frob(1); }}\n    ^\n"
    status, _, err = call("abs", "nothing.abs")
    assert status == 2
    assert "nothing.abs" in err


def test_algorithms_are_compared(call) -> None:
    chosen = ["--algorithm", "source", "--algorithm", "optimal"]
    status, out, _ = call("compare", "barber.abs", *chosen)
    assert status == 1
    assert "All 2 algorithms that covered the space agree" in out
