"""Methods of `unittest.TestCase` as tests: one call runs `setUp`, the method and `tearDown`."""

from __future__ import annotations

import unittest

import pytest
from _pytest.unittest import TestCaseFunction


def run_case(case: unittest.TestCase) -> None:
    """Run a test case once; raise what went wrong first."""
    __tracebackhide__ = True
    outcome = _Outcome()
    case(outcome)
    if outcome.error is not None:
        raise outcome.error


def expects_failure(item: pytest.Item) -> bool:
    """Tell whether a test is marked with `unittest.expectedFailure`, itself or by its class."""
    return isinstance(item, TestCaseFunction) and any(
        getattr(marked, "__unittest_expecting_failure__", False) for marked in (item.obj, item.cls)
    )


class _Outcome(unittest.TestResult):
    """Keeps the first thing that went wrong, whole."""

    def __init__(self) -> None:
        super().__init__()
        self.error: BaseException | None = None

    def addError(self, test: unittest.TestCase, err: object) -> None:  # noqa: N802
        """Keep an error."""
        self._keep(err)

    def addFailure(self, test: unittest.TestCase, err: object) -> None:  # noqa: N802
        """Keep a failure."""
        self._keep(err)

    def addSubTest(  # noqa: N802
        self, test: unittest.TestCase, subtest: unittest.TestCase, err: object
    ) -> None:
        """Keep the failure of a sub-test."""
        if err is not None:
            self._keep(err)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802
        """Keep that the test was skipped."""
        self._first(pytest.skip.Exception(reason, _use_item_location=True))

    def addExpectedFailure(self, test: unittest.TestCase, err: object) -> None:  # noqa: N802
        """Keep an expected failure: whether it was expected is judged when all is explored."""
        self._keep(err)

    def _keep(self, err: object) -> None:
        assert isinstance(err, tuple)
        self._first(err[1])

    def _first(self, error: BaseException) -> None:
        if self.error is None:
            self.error = error
