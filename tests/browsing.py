"""Looking at a page in a browser: what changes there is waited for, never looked at once."""

from __future__ import annotations

from typing import Any

PATIENCE = 120_000
"""Milliseconds that something may take on a machine that has much else to do."""


def expect(locator: Any) -> Any:
    """Return playwright's assertions about a part of a page: each waits until it holds."""
    from playwright.sync_api import expect as assertions  # where there is none, tests are skipped

    assertions.set_options(timeout=PATIENCE)
    return assertions(locator)
