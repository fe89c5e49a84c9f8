"""Methods: of plain classes, with a fresh instance per execution, and of unittest's test cases."""

from __future__ import annotations

from running_pytest import Run, summary_of, verdict_of


def test_methods_have_a_fresh_instance_in_every_execution(run: Run) -> None:
    result = run(
        """
        class TestCounter:
            def setup_method(self, method):
                assert not hasattr(self, "counter")
                self.counter = Counter()

            def teardown_method(self):
                assert self.counter.value

            @pytest.fixture
            def twice(self):
                return [self.counter.increment] * 2

            @treadle.check()
            def test_it(self, twice):
                run(*twice)
                assert self.counter.value in (1, 2)
        """
    )
    result.assert_outcomes(passed=1)
    assert verdict_of(result) == "verified, 4 executions"


def test_marks_of_classes_and_modules(run: Run) -> None:
    result = run(
        """
        pytestmark = pytest.mark.treadle(algorithm="source", max_executions=3)

        def test_module():
            counter = Counter()
            run(counter.increment, counter.increment)

        @pytest.mark.treadle(max_executions=2)
        class TestClass:
            def test_class(self):
                test_module()

            @pytest.mark.treadle(max_executions=None)
            def test_method(self):
                test_module()

            @treadle.check(max_executions=1)
            def test_check(self):
                test_module()
        """
    )
    assert [line.split(", ")[0] for line in summary_of(result)[:-1]] == [
        "test_it.py::test_module: incomplete after 3 executions",
        "test_it.py::TestClass::test_class: incomplete after 2 executions",
        "test_it.py::TestClass::test_method: verified",
        "test_it.py::TestClass::test_check: incomplete after 1 execution",
    ]


def test_test_cases_of_unittest(run: Run) -> None:
    result = run(
        """
        class CounterTest(unittest.TestCase):
            @classmethod
            def setUpClass(cls):
                cls.lock = threading.Lock()

            def setUp(self):
                self.counter = Counter()
                self.addCleanup(lambda: setattr(self, "cleaned", True))

            def tearDown(self):
                assert self.counter.value

            def increment(self):
                with self.lock:
                    self.counter.increment()

            @treadle.check()
            def test_locked(self):
                run(self.increment, self.increment)
                self.assertEqual(self.counter.value, 2)

            @pytest.mark.treadle
            def test_racy(self):
                run(self.counter.increment, self.counter.increment)
                self.assertEqual(self.counter.value, 2)

            @pytest.mark.treadle
            def test_subtests(self):
                for wanted in (1, 2):
                    with self.subTest(wanted=wanted):
                        run(self.counter.increment)
                        self.assertEqual(self.counter.value, wanted)

            @pytest.mark.treadle
            def test_bad_subtest(self):
                run(self.counter.increment)
                with self.subTest():
                    self.assertEqual(self.counter.value, 3)

            @pytest.mark.treadle
            def test_skipped(self):
                self.skipTest("not today")

            @unittest.expectedFailure
            @pytest.mark.treadle
            def test_expected(self):
                run(self.counter.increment, self.counter.increment)
                self.assertEqual(self.counter.value, 2)

            @unittest.expectedFailure
            @pytest.mark.treadle
            def test_unexpected(self):
                run(self.counter.increment)
        """
    )
    result.assert_outcomes(passed=2, failed=3, skipped=1, xfailed=1)
    assert summary_of(result) == [
        "test_it.py::CounterTest::test_bad_subtest: failed after 1 execution: assertion",
        "test_it.py::CounterTest::test_expected: xfailed after 2 executions: assertion",
        "test_it.py::CounterTest::test_locked: verified, 2 executions",
        "test_it.py::CounterTest::test_racy: failed after 2 executions: assertion",
        "test_it.py::CounterTest::test_subtests: verified, 1 execution",
        "test_it.py::CounterTest::test_unexpected: verified, 1 execution",
        "6 tests explored: 3 verified, 2 failed, 1 xfailed",
    ]
    result.stdout.fnmatch_lines(["E       AssertionError: 1 != 2"])
    result.stdout.fnmatch_lines(["unexpected success: verified, 1 execution"])


def test_a_failing_set_up_of_a_test_case(run: Run) -> None:
    result = run(
        """
        class Broken(unittest.TestCase):
            def setUp(self):
                raise RuntimeError("no set-up today")

            @pytest.mark.treadle
            def test_it(self):
                pass
        """
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E       RuntimeError: no set-up today"])
