"""Tests that are coroutine functions: without any plugin, and beside those that run such tests."""

from __future__ import annotations

import importlib.util

import pytest

from running_pytest import Run, verdict_of

TWO_INCREMENTS = """
    import asyncio

    async def increment(counter):
        value = counter.value
        await treadle.pause()
        counter.value = value + 1

    @pytest.fixture
    def counter():
        made = Counter()
        yield made
        assert made.value in (1, 2), "the fixture was torn down too early"
        made.value = None
"""


@pytest.fixture(autouse=True)
def _patience(pytester: pytest.Pytester) -> None:
    """Let no test end because the machine is busy."""
    pytester.makepyprojecttoml("[tool.treadle]\ntimeout = 600\n")


def has(plugin: str) -> pytest.MarkDecorator:
    """Return a mark that skips a test unless a plugin is installed."""
    is_there = importlib.util.find_spec(plugin) is not None
    return pytest.mark.skipif(not is_there, reason=f"{plugin} is not installed")


def test_without_any_plugin(run: Run) -> None:
    result = run(
        """
        import asyncio

        @treadle.check
        async def test_it():
            counter = Counter()

            async def increment():
                value = counter.value
                await treadle.pause()
                counter.value = value + 1

            await asyncio.gather(increment(), increment())
            assert counter.value == 1
        """
    )
    result.assert_outcomes(passed=1)
    assert verdict_of(result) == "verified, 2 executions"


def test_fixtures_live_until_the_test_has_ended(run: Run) -> None:
    result = run(
        TWO_INCREMENTS
        + """
    @pytest.mark.treadle
    @pytest.mark.parametrize("expected", [1])
    async def test_it(counter, expected):
        await asyncio.gather(increment(counter), increment(counter))
        assert counter.value == expected
        """
    )
    result.assert_outcomes(passed=1)
    assert verdict_of(result) == "verified, 2 executions"


def test_failure_of_a_coroutine_has_its_line(run: Run) -> None:
    result = run(
        TWO_INCREMENTS
        + """
    class TestIt:
        @pytest.mark.treadle
        async def test_it(self, counter):
            await asyncio.gather(increment(counter), increment(counter))
            assert counter.value == 2
        """
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E * assert 1 == 2", "*test_it.py:*: AssertionError"])


def test_one_turn_or_more_in_the_tests_own_module(run: Run) -> None:
    result = run(
        """
        import asyncio

        log = []

        async def note(word):
            await asyncio.sleep(0)
            log.append(word)

        @pytest.mark.treadle
        async def test_it():
            log.clear()
            await asyncio.gather(note("a"), note("b"))
            assert log == ["a", "b"]
        """
    )
    result.assert_outcomes(failed=1)


def test_skipping_a_coroutine(run: Run) -> None:
    result = run(
        """
        @pytest.mark.treadle
        async def test_it():
            await treadle.pause()
            pytest.skip("not today")
        """,
        "-rs",
    )
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*not today*"])


ASYNCHRONOUS = """
    @pytest.fixture(scope="{scope}")
    async def connection():
        yield "connected"

    @pytest.mark.treadle
    async def test_it(connection):
        assert connection == "connected"
"""


@pytest.mark.parametrize("scope", ["function", "session"])
def test_asynchronous_fixture_is_refused(run: Run, scope: str) -> None:
    result = run(ASYNCHRONOUS.format(scope=scope))
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "*TreadleError: the fixture 'connection' at test_it.py:* is asynchronous, so its value "
            "belongs to another event loop: make it in the test*"
        ]
    )


def test_asynchronous_fixture_that_is_asked_for_late_is_refused(run: Run) -> None:
    result = run(
        """
        @pytest.fixture
        async def connection():
            yield "connected"

        @pytest.mark.treadle
        async def test_it(request):
            request.getfixturevalue("connection")
        """
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*the fixture 'connection' at test_it.py:* is asynchronous*"])


BESIDE = (
    TWO_INCREMENTS
    + """
    pytestmark = {mark}

    @pytest.mark.treadle
    async def test_explored(counter):
        await asyncio.gather(increment(counter), increment(counter))
        assert counter.value == 1

    async def test_theirs(counter):
        await increment(counter)
        assert asyncio.get_running_loop().is_running()
    """
)


@has("pytest_asyncio")
@pytest.mark.parametrize("mode", ["strict", "auto"])
def test_beside_pytest_asyncio(run_apart: Run, mode: str) -> None:
    mark = "[pytest.mark.asyncio]" if mode == "strict" else "[]"
    result = run_apart(BESIDE.format(mark=mark), f"--asyncio-mode={mode}")
    result.assert_outcomes(passed=2)
    assert verdict_of(result) == "verified, 2 executions"


@has("pytest_asyncio")
def test_fixture_of_pytest_asyncio_is_refused(run_apart: Run) -> None:
    result = run_apart(ASYNCHRONOUS.format(scope="function"), "--asyncio-mode=auto")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*TreadleError: the fixture 'connection' at * is asynchronous*"])


@has("anyio")
def test_beside_anyio(run_apart: Run) -> None:
    source = BESIDE.format(mark="[pytest.mark.anyio]") + (
        "\n    @pytest.fixture\n    def anyio_backend():\n        return 'asyncio'\n"
    )
    result = run_apart(source, "-p", "anyio")
    result.assert_outcomes(passed=2)
    assert verdict_of(result) == "verified, 2 executions"
