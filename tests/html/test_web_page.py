"""The page of `treadle web` in a real browser: every control, on a wide screen and a telephone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from web.serving import Served, served

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

Keep = Callable[[Any, str], None]
both_widths = pytest.mark.parametrize("width", [1280, 400])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("web"), "--seconds", "60") as one:
        yield one


@pytest.fixture
def visit(browser: Any, server: Served) -> Iterator[Callable[[int], Any]]:
    """Open the page; at the end nothing has gone wrong and nobody else was asked."""
    said: list[str] = []
    asked: list[str] = []
    contexts = []

    def open_one(width: int = 1280) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(server.address)
        page.wait_for_selector("#coloured .line")
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert said == []
    assert [url for url in asked if not url.startswith((server.address, "data:", "about:"))] == []


def choose(page: Any, name: str) -> None:
    before = page.input_value("#text")
    page.select_option("#library", name)
    page.wait_for_function("before => document.querySelector('#text').value !== before", arg=before)


def apply(page: Any, words: str = "done") -> None:
    page.click("#apply")
    page.wait_for_function(
        "words => document.querySelector('#progress').textContent.includes(words)", arg=words
    )


@both_widths
def test_a_program_of_actors(width: int, visit: Any, keep: Keep) -> None:
    page = visit(width)
    choose(page, "actors/database.py")
    page.select_option("[name=stop_on_failure]", "false")
    page.select_option("[name=dependency]", "field")
    page.fill("#program", "main")
    apply(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    keep(page, f"web-{width}")
    assert page.locator(".groups .badge.bad").count() == 1
    page.click(".groups a[target=viewer] >> nth=0")
    frame = page.frame_locator("#viewer")
    assert frame.locator(".diagram .step").count() == frame.locator(".steps li[id]").count()
    frame.locator("[data-move=first]").click()
    frame.locator("[data-move=forward]").click()
    assert page.locator("#coloured .line.here").count() == 1
    page.locator("#viewer").scroll_into_view_if_needed()
    keep(page, f"web-execution-{width}")
    page.click("text=Report and tree")
    frame.locator(".tree").wait_for()
    for link in page.locator("#outcome a[download]").all()[:3]:
        with page.expect_download() as caught:
            link.click()
        assert Path(caught.value.path()).stat().st_size > 0


@both_widths
def test_mistakes_stand_at_their_lines(width: int, visit: Any, keep: Keep) -> None:
    page = visit(width)
    page.fill("#file", "own.py")
    page.fill("#text", "x = 1\ndef broken(:\n    pass\n")
    page.wait_for_selector("#coloured .line.wrong")
    assert page.get_attribute("#coloured .line.wrong", "data-n") == "2"
    assert "Line 2" in page.inner_text("#mistake")
    page.fill("#text", "x = 1\nraise ValueError('no')\n")
    apply(page, "ValueError: no")
    assert page.get_attribute("#coloured .line.wrong", "data-n") == "2"
    keep(page, f"web-mistake-{width}")
    page.fill("#text", "import os\nos._exit(4)\n")
    apply(page, "with status 4")


def test_stop_ends_a_search(visit: Any) -> None:
    page = visit()
    choose(page, "actors/pipesort.py")
    page.fill(
        "#text",
        "import treadle\nprogram = treadle.model.Program(x=0)\n\ndef w(s):\n"
        "    for _ in range(9):\n        s.x += 1\n        yield\n\n"
        "for name in 'pqrst':\n    program.process(w, name=name)\n",
    )
    assert page.is_disabled("#stop")
    apply(page, "executions")
    page.click("#stop")
    page.wait_for_selector("#outcome h2")
    assert "before the interruption" in page.inner_text("#outcome h2")
    assert page.is_enabled("#apply")


def test_two_browsers_at_once(visit: Any) -> None:
    one, other = visit(), visit(400)
    for page, algorithm in ((one, "optimal"), (other, "exhaustive")):
        choose(page, "jacm17/readers")
        page.select_option("[name=algorithm]", algorithm)
        page.click("#apply")
    for page in (one, other):
        page.wait_for_selector("#outcome h2")
    assert "4 executions" in one.inner_text("#outcome h3")


def test_an_own_file_is_opened(visit: Any, tmp_path: Path) -> None:
    page = visit()
    (tmp_path / "own.py").write_text("x = 12345\n")
    page.set_input_files("#upload", str(tmp_path / "own.py"))
    page.wait_for_function("() => document.querySelector('#file').value === 'own.py'")
    assert page.input_value("#text") == "x = 12345\n"


@both_widths
def test_everybody_can_use_it(width: int, visit: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = visit(width)
    choose(page, "actors/database.py")
    page.fill("#program", "main")
    page.click("text=More settings")
    apply(page)
    found = axe.Axe().run(page).response["violations"]
    serious = [
        (one["id"], [node["html"][:90] for node in one["nodes"]])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
    assert serious == []


def test_a_restart_is_told(browser: Any, tmp_path: Path) -> None:
    with served(tmp_path) as first:
        page = browser.new_page()
        page.goto(first.address)
        page.wait_for_selector("#coloured .line")
    page.click("#apply")
    page.wait_for_function(
        "() => document.querySelector('#progress').textContent.includes('does not answer')"
    )
    page.close()
