"""A plugin of pytest: a test that takes far more CPU time than any does ends its process.

How busy the machine is decides nothing. The process gets `SIGXCPU`, which ends it, as nothing else
would end a test that is in the middle of a computation. `scripts/mutation.py` uses it.
"""

from __future__ import annotations

import os
import resource
import time

import pytest

VARIABLE = "CPU_SECONDS_OF_A_TEST"
"""The environment variable that says how many seconds there are."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Begin to count anew."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    seconds = int(time.process_time()) + 1 + int(os.environ[VARIABLE])
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, hard))
