"""A real browser for the tests of pages: Debian's Chromium, driven by playwright.

Where one of the two is missing, the tests are skipped, and say which. What a page prints to its
console, what goes wrong in it and what it asks the network for is watched in every test.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from browsing import PATIENCE
from looked_at import (
    ACTORS,
    BANK,
    LAZY,
    NETWORK,
    PROVED,
    QUEUE,
    compared,
    long_report,
    report,
    tasks_report,
)
from treadle.report.html.index import Entry, index_page
from treadle.report.html.page import comparison_in_html, page

ROOT = Path(__file__).parent.parent.parent
SCREENSHOTS = ROOT / "build" / "screenshots"
"""Pictures of all pages are left here, to be looked at."""
_NAMES = ("chromium", "chromium-browser", "google-chrome")
Open = Callable[..., Any]


def chromium() -> str | None:
    """Return the browser of this machine, if there is one."""
    named = os.environ.get("TREADLE_CHROMIUM")
    return named or next(filter(None, map(shutil.which, _NAMES)), None)


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a page of each sort; return where they are."""
    folder = tmp_path_factory.mktemp("pages")
    samples = {
        "lazy": LAZY,
        "bank": BANK,
        "queue": QUEUE,
        "actors": ACTORS,
        "network": NETWORK,
        "proved": PROVED,
    }
    for name, target in samples.items():
        (folder / f"{name}.html").write_text(page(report(target)), "utf-8")
    (folder / "tasks.html").write_text(page(tasks_report()), "utf-8")
    (folder / "long.html").write_text(page(long_report()), "utf-8")
    side_by_side = compared(LAZY, "exhaustive", "sleep", "optimal", "optimal-context")
    (folder / "compared.html").write_text(comparison_in_html(side_by_side), "utf-8")
    entries = [
        Entry("test_bank.py::test_it", "failed", "failed after 2 executions", "bank.html"),
        Entry("test_peterson.py::test_it", "verified", "verified, 4 executions", "proved.html"),
    ]
    (folder / "index.html").write_text(index_page(entries), "utf-8")
    return folder


@pytest.fixture(scope="session")
def browser(pages: Path) -> Iterator[Any]:  # noqa: ARG001 - no exploration once it is open
    playwright = pytest.importorskip("playwright.sync_api", reason="no playwright: extra `browser`")
    program = chromium()
    if program is None:
        pytest.skip("no Chromium on this machine: install it, or name it in TREADLE_CHROMIUM")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def open_page(browser: Any, pages: Path) -> Iterator[Open]:
    """Open pages of some width; at the end nothing has gone wrong and nobody was asked."""
    said: list[str] = []
    asked: list[str] = []
    contexts = []

    def open_one(name: str, width: int = 1280, height: int = 900, **how: Any) -> Any:
        address = how.pop("address", "")
        how.setdefault("permissions", ["clipboard-read", "clipboard-write"])
        context = browser.new_context(viewport={"width": width, "height": height}, **how)
        contexts.append(context)
        opened = context.new_page()
        opened.set_default_timeout(PATIENCE)
        opened.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        opened.on("pageerror", lambda error: said.append(str(error)))
        opened.on("request", lambda request: asked.append(request.url))
        opened.goto(f"{(pages / name).as_uri()}.html{address}")
        return opened

    yield open_one
    for context in contexts:
        context.close()
    assert said == []
    foreign = [url for url in asked if not url.startswith((pages.as_uri(), "data:", "about:"))]
    assert foreign == []


@pytest.fixture
def keep() -> Callable[[Any, str], None]:
    """Keep a picture of what is shown, as an artefact."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)

    def shoot(opened: Any, name: str) -> None:
        opened.screenshot(path=SCREENSHOTS / f"{name}.png")

    return shoot
