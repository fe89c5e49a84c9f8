"""Fixtures: those of functions anew for every execution, those of wider scopes once."""

from __future__ import annotations

import pytest

from running_pytest import Run, verdict_of


def test_function_fixtures_are_made_anew_and_torn_down_in_every_execution(run: Run) -> None:
    result = run(
        """
        import pathlib

        log = pathlib.Path("log")  # outlives executions, and no execution reads it

        def note(word):
            with log.open("a") as file:
                file.write(word)

        @pytest.fixture
        def counter():
            note("up ")
            yield Counter()
            note("down ")

        @pytest.mark.treadle
        def test_it(counter):
            assert counter.value == 0
            run(counter.increment, counter.increment)

        def test_pairs():
            words = log.read_text().split()
            assert words == ["up", "down"] * (len(words) // 2)
            assert len(words) // 2 >= 4
        """
    )
    result.assert_outcomes(passed=2)
    assert verdict_of(result) == "verified, 4 executions"


def test_wider_fixtures_are_set_up_once_outside_of_control(run: Run) -> None:
    result = run(
        """
        made = []

        @pytest.fixture(scope="session")
        def in_session():
            made.append("session")
            yield threading.Lock()
            made.append("session ended")

        @pytest.fixture(scope="module")
        def in_module(in_session):
            made.append("module")
            return in_session

        @pytest.fixture(scope="class")
        def in_class(in_module):
            made.append("class")
            return in_module

        @pytest.fixture
        def counter(in_class):
            return Counter()

        @pytest.mark.treadle
        def test_it(counter, in_class):
            def increment():
                with in_class:
                    counter.increment()
            run(increment, increment)
            assert counter.value == 2

        def test_made():
            assert made == ["session", "module", "class"]
        """
    )
    result.assert_outcomes(passed=2)
    assert verdict_of(result) == "verified, 2 executions"


def test_wider_fixtures_asked_for_by_an_execution_are_set_up_outside_of_control(run: Run) -> None:
    result = run(
        """
        made = []

        @pytest.fixture(scope="module")
        def inner():
            made.append("inner")
            return threading.Lock()

        @pytest.fixture(scope="module")
        def outer(request):
            made.append("outer")
            return request.getfixturevalue("inner")

        @pytest.fixture
        def counter(request):
            request.getfixturevalue("outer")
            return Counter()

        @pytest.mark.treadle
        def test_it(counter, request):
            lock = request.getfixturevalue("inner")
            def increment():
                with lock:
                    counter.increment()
            run(increment, increment)

        def test_made():
            assert made == ["outer", "inner"]
        """
    )
    result.assert_outcomes(passed=2)
    assert verdict_of(result) == "verified, 2 executions"


def test_wider_fixtures_are_set_up_even_if_the_test_catches_everything(run: Run) -> None:
    result = run(
        """
        @pytest.fixture(scope="module")
        def wide():
            return [threading.current_thread()]

        @pytest.mark.treadle
        def test_it(request):
            try:
                wide = request.getfixturevalue("wide")
            except Exception:
                return
            counter = Counter()
            run(counter.increment, counter.increment)
        """
    )
    assert verdict_of(result) == "verified, 4 executions"


def test_subtests_of_pytest_are_refused(run: Run) -> None:
    pytest.importorskip("_pytest.subtests")
    result = run(
        """
        @pytest.mark.treadle
        def test_it(subtests):
            with subtests.test():
                assert 0
        """
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["treadle: error: the fixture 'subtests' reports failures past Treadle, so it*"]
    )


def test_builtin_fixtures(run: Run) -> None:
    result = run(
        """
        import os, sys

        @pytest.mark.treadle
        def test_it(tmp_path, monkeypatch, capsys, caplog, request, recwarn):
            assert list(tmp_path.iterdir()) == []
            (tmp_path / "file").write_text("x")
            assert tmp_path.name == "test_it0"
            assert "TREADLE_X" not in os.environ
            monkeypatch.setenv("TREADLE_X", "1")
            print("printed")
            counter = Counter()
            run(counter.increment, counter.increment)
            assert capsys.readouterr().out == "printed\\n"
            assert request.node.name == "test_it"
            assert len(recwarn) == 0
        """
    )
    result.assert_outcomes(passed=1)
    assert verdict_of(result) == "verified, 4 executions"


def test_log_records_of_earlier_executions_are_gone(run: Run) -> None:
    result = run(
        """
        import logging

        @pytest.mark.treadle
        def test_it(caplog):
            logging.getLogger("x").warning("hello")
            counter = Counter()
            run(counter.increment, counter.increment)
            assert caplog.messages == ["hello"]
        """
    )
    result.assert_outcomes(passed=1)
    assert verdict_of(result) == "verified, 4 executions"


def test_parameters_of_tests_and_fixtures(run: Run) -> None:
    result = run(
        """
        @pytest.fixture(params=[0, 10])
        def start(request):
            return request.param

        @pytest.mark.parametrize("threads", [1, 2])
        @pytest.mark.treadle
        def test_it(start, threads):
            counter = Counter()
            counter.value = start
            run(*[counter.increment] * threads)
            assert counter.value > start
        """,
        "-v",
    )
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(
        [
            "test_it.py::test_it[[]0-1[]]: verified, 1 execution",
            "test_it.py::test_it[[]0-2[]]: verified, 4 executions",
            "test_it.py::test_it[[]10-1[]]: verified, 1 execution",
            "test_it.py::test_it[[]10-2[]]: verified, 4 executions",
        ]
    )


def test_autouse_usefixtures_and_conftest(run: Run, pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import pytest

        class Box:
            pass

        box = Box()

        @pytest.fixture(autouse=True)
        def empty():
            box.content = []

        @pytest.fixture
        def filled(empty):
            box.content.append(1)

        @pytest.fixture
        def the_box():
            return box
        """
    )
    result = run(
        """
        @pytest.mark.usefixtures("filled")
        @treadle.check()
        def test_it(the_box):
            run(lambda: the_box.content.append(2), lambda: the_box.content.append(3))
            assert the_box.content == [1, 2, 3]
        """
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E       assert [[]1, 3, 2[]] == [[]1, 2, 3[]]"])


def test_threads_of_fixtures_are_under_control_and_their_module_is_instrumented(
    run: Run, pytester: pytest.Pytester
) -> None:
    pytester.makeconftest(
        """
        import threading
        import pytest

        class Worker:
            def __init__(self):
                self.count = 0
                self.threads = [threading.Thread(target=self.work) for _ in range(2)]

            def work(self):
                count = self.count
                self.count = count + 1

        @pytest.fixture
        def worker():
            worker = Worker()
            for thread in worker.threads:
                thread.start()
            yield worker
            for thread in worker.threads:
                thread.join()
            assert worker.count == 2
        """
    )
    result = run("""
        @pytest.mark.treadle
        def test_it(worker):
            pass
        """)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*ERROR at teardown of test_it*", "E*assert 1 == 2"])
    assert verdict_of(result) == "failed after 2 executions: assertion"


def test_errors_of_fixtures_are_reported_as_usual(run: Run) -> None:
    result = run(
        """
        @pytest.fixture
        def broken():
            raise RuntimeError("no fixture today")

        @pytest.fixture
        def bad_end():
            yield
            raise RuntimeError("bad end")

        @pytest.fixture(scope="module")
        def broken_module():
            raise RuntimeError("no module today")

        @pytest.mark.treadle
        def test_setup(broken): pass

        @pytest.mark.treadle
        def test_teardown(bad_end): pass

        @pytest.mark.treadle
        def test_module(broken_module): pass

        @pytest.mark.treadle
        def test_missing(nowhere): pass
        """
    )
    result.assert_outcomes(errors=4)
    result.stdout.fnmatch_lines(
        [
            "*ERROR at setup of test_setup*",
            "E       RuntimeError: no fixture today",
            "*ERROR at teardown of test_teardown*",
            "E       RuntimeError: bad end",
            "*ERROR at setup of test_module*",
            "E       RuntimeError: no module today",
            "*ERROR at setup of test_missing*",
            "E       fixture 'nowhere' not found",
        ]
    )
    result.stdout.no_fnmatch_line("*Replay:*")  # no interleaving has to do with it


def test_an_error_in_the_teardown_does_not_hide_that_of_the_test(run: Run) -> None:
    result = run(
        """
        @pytest.fixture
        def bad_end():
            yield
            raise RuntimeError("bad end")

        @pytest.mark.treadle
        def test_it(bad_end):
            assert 1 == 2
        """
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["E       assert 1 == 2", "E       and then, in the teardown: RuntimeError: bad end"]
    )


def test_executions_that_are_cut_or_abandoned_are_torn_down(run: Run) -> None:
    """Cut in a fixture, cut in the test, unwound in a fixture, unwound in the test."""
    result = run(
        """
        ups, downs = [], []

        @pytest.fixture
        def counter(request):
            ups.append(1)
            request.addfinalizer(lambda: downs.append(1))
            counter = Counter()
            treadle.assume(treadle.choose([True, False]))
            run(counter.increment, counter.increment)
            yield counter

        @pytest.mark.treadle(algorithm="sleep", restore=False)  # abandons executions
        def test_it(counter):
            run(counter.increment, counter.increment)
            treadle.assume(counter.value != 3)

        def test_balance():
            assert len(ups) == len(downs) > 16
        """
    )
    result.assert_outcomes(passed=2)


def test_nothing_piles_up_at_wider_fixtures(run: Run) -> None:
    result = run(
        """
        kept = {}

        @pytest.fixture(scope="module")
        def wide(request):
            kept["fixture"] = request._fixturedef
            return object()

        @pytest.fixture
        def narrow(wide):
            return Counter()

        @pytest.mark.treadle
        def test_it(narrow):
            run(narrow.increment, narrow.increment)

        def test_finalizers(request):
            assert len(kept["fixture"]._finalizers) <= 2
        """
    )
    result.assert_outcomes(passed=2)


def test_the_order_of_what_was_logged_matters_to_who_asks_for_it(run: Run) -> None:
    result = run(
        """
        import logging

        def log_in_two_threads():
            log = logging.getLogger("here")
            run(lambda: log.warning("one"), lambda: log.warning("two"))

        @pytest.mark.treadle
        def test_wrong(caplog):
            log_in_two_threads()
            assert caplog.messages == ["one", "two"]

        @pytest.mark.treadle
        def test_right(caplog):
            log_in_two_threads()
            assert sorted(caplog.messages) == ["one", "two"]

        @pytest.mark.treadle
        def test_nobody_asks():
            log_in_two_threads()
        """
    )
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*::test_wrong: failed after 2 executions: assertion",
            "*::test_right: verified, 2 executions",
            "*::test_nobody_asks: verified, 1 execution",
        ]
    )
