"""pytest with several workers: fixtures, parameters, classes, and pytest-xdist."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

TESTS = """
    import threading
    import pytest

    def in_threads(*bodies):
        threads = [threading.Thread(target=body) for body in bodies]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    @pytest.fixture(scope="session")
    def step():
        return 1

    @pytest.fixture
    def box():
        return {"n": 0}

    @pytest.mark.treadle
    @pytest.mark.parametrize("threads", [2, 3])
    def test_adding(threads, step, box, tmp_path, monkeypatch):
        monkeypatch.setenv("SOME", "thing")
        (tmp_path / "file").write_text("here")

        def add():
            box["n"] += step

        in_threads(*[add] * threads)
        assert box["n"] > 0
        assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]

    class TestTwice:
        @pytest.mark.treadle
        def test_adding(self, box):
            def add():
                box["n"] += 1
                box["n"] += 1

            in_threads(add, add)
"""


AT_ONCE = """
    from treadle.session.workers import policy

    policy._EXECUTIONS = 3  # small as these spaces are, they are divided
"""


def reports(pytester: pytest.Pytester, *arguments: str) -> dict[str, tuple[int, int]]:
    """Return executions and workers of each test."""
    result = pytester.runpytest_subprocess(
        "-p", "no:cacheprovider", "--treadle-report", "found.json", *arguments
    )
    assert result.ret == 0, result.stdout.str() + result.stderr.str()
    found = {}
    for file in pytester.path.glob("found-*.json"):
        shown = json.loads(file.read_text())
        assert shown["verdict"] == "verified"
        found[shown["target"].partition("::")[2]] = shown["executions"], shown["workers"]
        file.unlink()
    return found


def test_fixtures_parameters_and_classes(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TESTS)
    pytester.makeconftest(AT_ONCE)
    pytester.makepyprojecttoml('[tool.treadle]\nsplit_by = "executions"\n')
    counts = {"test_adding[2]": 4, "test_adding[3]": 36, "TestTwice::test_adding": 34}
    assert reports(pytester) == {name: (count, 1) for name, count in counts.items()}
    several = reports(pytester, "--treadle-workers", "2")
    assert several == {name: (count, 2) for name, count in counts.items()}


SHARED = """
    import os
    import pytest

    @pytest.mark.treadle(workers="auto")
    def test_workers():
        from treadle.session.workers.place import processors
        assert processors() == max(1, len(os.sched_getaffinity(0)) // 2)
"""


def test_beside_others_auto_is_fewer(pytester: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    pytester.makepyfile(SHARED)
    result = pytester.runpytest_subprocess("-n", "2", "-p", "no:cacheprovider")
    assert result.ret == 0, result.stdout.str()


LARGE = """
    import pytest
    import threading

    @pytest.mark.treadle
    def test_large(tmp_path):
        box = {"n": 0}

        def add():
            for _ in range(3):
                box["n"] += 1

        threads = [threading.Thread(target=add) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
"""


def in_group(group: int) -> list[str]:
    return subprocess.run(
        ["pgrep", "-g", str(group)], capture_output=True, text=True
    ).stdout.split()


def wait_for_processes(group: int, *, are_there: bool) -> None:
    """Wait until there are hands, or until nobody is left."""
    for _ in range(1000):
        found = in_group(group)
        if len(found) > 2 if are_there else not found:
            return
        time.sleep(0.02)
    raise AssertionError(f"it never came to that: {found}")


def test_ctrl_c_ends_pytest_and_its_workers(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(LARGE)
    pytester.makepyprojecttoml('[tool.treadle]\nsplit_by = "executions"\nworkers = 2\n')
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    wait_for_processes(process.pid, are_there=True)
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == pytest.ExitCode.INTERRUPTED, output
    assert "KeyboardInterrupt" in output
    wait_for_processes(process.pid, are_there=False)


def test_a_debugger_needs_the_process_itself(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TESTS)
    pytester.makeconftest(AT_ONCE)
    pytester.makepyprojecttoml('[tool.treadle]\nsplit_by = "executions"\n')
    arguments = ("-p", "no:cacheprovider", "--treadle-workers", "2", "-k", "adding and 3")
    note = "explored by one worker: --pdb needs this process"
    result = pytester.runpytest_subprocess("--pdb", "--treadle-report", "found.json", *arguments)
    assert note in result.stdout.str()
    (file,) = pytester.path.glob("found*.json")
    found = json.loads(file.read_text())
    assert (found["executions"], found["workers"]) == (36, 1)
    assert note not in pytester.runpytest_subprocess(*arguments).stdout.str()
