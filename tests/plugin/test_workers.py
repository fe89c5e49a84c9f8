"""pytest with several workers: fixtures, parameters, classes, and pytest-xdist."""

from __future__ import annotations

import json

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
