"""pytest with several workers: fixtures, parameters, classes, and pytest-xdist."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from waiting import PATIENCE, processes, wait_until

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
    pytester.makepyprojecttoml('[tool.treadle]\nsplit_by = "executions"\ntimeout = 600\n')
    counts = {"test_adding[2]": 4, "test_adding[3]": 36, "TestTwice::test_adding": 34}
    assert reports(pytester) == {name: (count, 1) for name, count in counts.items()}
    several = reports(pytester, "--treadle-workers", "2")
    assert several == {name: (count, 2) for name, count in counts.items()}


# By node id, in processes that are no copies


BY_NAME = ("--treadle-workers", "2", "--treadle-spawn")


def test_by_node_id(pytester: pytest.Pytester) -> None:
    """Fixtures, parameters and options are made again by pytest, and torn down."""
    pytester.makepyfile(
        TESTS.replace("        return 1", "        yield pytestconfig.getoption('--step')")
        .replace("def step()", "def step(pytestconfig)")
        .replace('''
    @pytest.fixture
    def box()''', '''
        with open("torn-down", "a") as file:
            file.write("once\\n")

    @pytest.fixture
    def box()''')
    )  # fmt: skip
    pytester.makeconftest(
        AT_ONCE
        + "\n    def pytest_addoption(parser):\n        parser.addoption('--step', type=int)\n"
    )
    pytester.makepyprojecttoml('[tool.treadle]\nsplit_by = "executions"\ntimeout = 600\n')
    found = reports(
        pytester, *BY_NAME, "--step", "1", "--log-file", "log", "--basetemp", "temporary",
        "--junitxml", "junit.xml", "-k", "3 or Twice",
    )  # fmt: skip
    assert found == {"test_adding[3]": (36, 2), "TestTwice::test_adding": (34, 2)}
    assert (pytester.path / "torn-down").read_text() == "once\n" * 3
    assert 'tests="2"' in (pytester.path / "junit.xml").read_text()
    assert (pytester.path / "temporary").is_dir()


ASKING = """
    import pytest
    import threading

    @pytest.fixture(scope="module")
    def late():
        return {"n": 1}

    @pytest.mark.treadle
    def test_asking(request):
        seen = []

        def look():
            seen.append("look")

        threads = [threading.Thread(target=look), threading.Thread(target=lambda: seen.append(1))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if seen[0] == 1:
            assert request.getfixturevalue("late") == {"n": 1}
"""


@pytest.mark.parametrize("spawn", [(), ("--treadle-spawn",)])
def test_a_fixture_that_only_some_executions_ask_for(
    pytester: pytest.Pytester, spawn: tuple[str, ...]
) -> None:
    pytester.makepyfile(ASKING)
    pytester.makeconftest(AT_ONCE.replace("= 3", "= 1"))
    pytester.makepyprojecttoml('[tool.treadle]\nsplit_by = "executions"\ntimeout = 600\n')
    alone = reports(pytester)
    found = reports(pytester, "--treadle-workers", "2", *spawn)
    assert found == {"test_asking": (alone["test_asking"][0], 2)}


ONLY_ONCE = """
    import pytest
    import threading

    @pytest.fixture(scope="session")
    def only_once():
        return open("exclusive", "x")

    @pytest.mark.treadle
    def test_file(only_once):
        found = []
        threads = [threading.Thread(target=found.append, args=(n,)) for n in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found[0] < 3
"""


def test_a_fixture_that_cannot_be_made_again(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=ONLY_ONCE)
    pytester.makeconftest(AT_ONCE.replace("= 3", "= 1"))
    pytester.makepyprojecttoml('[tool.treadle]\nsplit_by = "executions"\ntimeout = 600\n')
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", *BY_NAME)
    assert result.ret == 1
    assert (
        "test_it.py::test_file cannot be set up in another process (setup: FileExistsError: [Errno "
        "17] File exists: 'exclusive'): use workers that are copies (on Linux, without spawn and "
        "on), or workers=1"
    ) in " ".join(result.stdout.str().split())


BESIDE = """
    import threading

    go_on = threading.Event()
    threading.Thread(target=go_on.wait, daemon=True).start()
"""


def test_nobody_insists_on_workers(pytester: pytest.Pytester) -> None:
    """The process cannot be copied, and the test not be set up elsewhere: one worker explores."""
    pytester.makepyfile(test_it=ONLY_ONCE)
    pytester.makeconftest(AT_ONCE.replace("= 3", "= 1") + BESIDE)
    pytester.makepyprojecttoml('[tool.treadle]\nsplit_by = "executions"\nworkers = 2\n')
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    output = " ".join(result.stdout.str().split())
    assert result.ret == 0, output
    assert "verified, 6 executions" in output
    assert "explored by one worker: this process has threads of its own and cannot be" in output
    assert "in other processes: test_it.py::test_file cannot be set up" in output


FAILING = """
    import asyncio
    import pytest

    @pytest.mark.treadle(order="any")
    @pytest.mark.parametrize("much", [lambda: 2], ids=["two::[of them]"])
    async def test_failing(much, capsys):
        box = {"n": 0}

        async def add():
            seen = box["n"]
            await asyncio.sleep(0)
            box["n"] = seen + 1

        await asyncio.gather(add(), add())
        assert box["n"] == much()
"""


def test_a_failure_of_a_coroutine_with_a_parameter(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(FAILING)
    pytester.makeconftest(AT_ONCE.replace("= 3", "= 1"))
    found = []
    for options in ((), (*BY_NAME, "-n", "2")):
        pytester.makepyprojecttoml('[tool.treadle]\nsplit_by = "executions"\ntimeout = 600\n')
        result = pytester.runpytest_subprocess(
            "-p", "no:cacheprovider", "--treadle-no-database", "--treadle-keep-going",
            "--treadle-report", "found.json", *options,
        )  # fmt: skip
        assert result.ret == 1, result.stdout.str()
        (file,) = pytester.path.glob("found-*.json")
        shown = json.loads(file.read_text())
        file.unlink()
        found.append(
            (shown["executions"], [one["message"].splitlines()[0] for one in shown["failures"]])
        )
        assert shown["workers"] == 1 + bool(options)
    assert found[0] == found[1]
    assert found[0] == (4, ["AssertionError: assert 1 == 2"])


# Beside others


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


def test_ctrl_c_ends_pytest_and_its_workers(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(LARGE)
    settings = 'split_by = "executions"\nworkers = 2\ntimeout = false\n'
    pytester.makepyprojecttoml(f"[tool.treadle]\n{settings}")
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    wait_until(lambda: len(processes(group=process.pid)) > 2)  # hands are there
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == pytest.ExitCode.INTERRUPTED, output
    assert "KeyboardInterrupt" in output
    wait_until(lambda: not processes(group=process.pid))


def test_a_debugger_needs_the_process_itself(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TESTS)
    pytester.makeconftest(AT_ONCE)
    pytester.makepyprojecttoml('[tool.treadle]\nsplit_by = "executions"\ntimeout = 600\n')
    arguments = ("-p", "no:cacheprovider", "--treadle-workers", "2", "-k", "adding and 3")
    note = "explored by one worker: --pdb needs this process"
    result = pytester.runpytest_subprocess("--pdb", "--treadle-report", "found.json", *arguments)
    assert note in result.stdout.str()
    (file,) = pytester.path.glob("found*.json")
    found = json.loads(file.read_text())
    assert (found["executions"], found["workers"]) == (36, 1)
    assert note not in pytester.runpytest_subprocess(*arguments).stdout.str()
