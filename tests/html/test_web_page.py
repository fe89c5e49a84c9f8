"""The page of `treadle web` in a real browser: every control, on a wide screen and a telephone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from web.serving import ENDLESS_SPACE, Served, served

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

Keep = Callable[[Any, str], None]
both_widths = pytest.mark.parametrize("width", [1280, 400])
HERE = ".cm-line.here"
WRONG = ".cm-line:has(.cm-lintRange-error)"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("web"), "--seconds", "60", "--memory", "600") as one:
        yield one


@pytest.fixture
def visit(browser: Any, server: Served) -> Iterator[Callable[..., Any]]:
    """Open the page; at the end nothing has gone wrong and nobody else was asked."""
    said: list[str] = []
    asked: list[str] = []
    contexts = []

    def open_one(width: int = 1280, **how: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, **how)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(server.address)
        page.wait_for_selector("#names option", state="attached")
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert said == []
    assert [url for url in asked if not url.startswith((server.address, "data:", "about:"))] == []


def text_of(page: Any) -> str:
    return "\n".join(page.locator(".cm-line").all_inner_texts())


def write(page: Any, text: str) -> None:
    page.locator(".cm-content").fill(text)


def choose(page: Any, name: str) -> None:
    with page.expect_response(lambda answer: "/check" in answer.url):
        page.select_option("#library", name)
    file = name.rpartition("/")[2]
    page.wait_for_function(
        "file => document.querySelector('#file').value.startsWith(file)", arg=file
    )


def apply(page: Any, words: str = "done") -> None:
    page.click("#apply")
    page.wait_for_function(
        "words => document.querySelector('#progress').textContent.includes(words)", arg=words
    )


def fits(page: Any, width: int) -> bool:
    return page.evaluate("document.documentElement.scrollWidth") <= width


def downloaded(page: Any, selector: str) -> tuple[str, str]:
    with page.expect_download() as caught:
        page.click(selector)
    return caught.value.suggested_filename, Path(caught.value.path()).read_text("utf-8")


# Executions


@both_widths
def test_a_program_of_actors(width: int, visit: Any, keep: Keep) -> None:
    page = visit(width)
    keep(page, f"web-idle-{width}")
    choose(page, "actors/database.py")
    page.select_option("[name=stop_on_failure]", "false")
    page.select_option("[name=dependency]", "field")
    page.fill("#program", "main")
    apply(page)
    assert fits(page, width)
    page.locator("#outcome").scroll_into_view_if_needed()
    keep(page, f"web-failed-{width}")
    assert page.locator("#outcome h2.failed").count() == 1
    assert page.locator(".groups .badge.bad").count() == 1
    assert page.locator(".groups .badge.good").count() == 2
    differing = page.locator(".groups >> nth=0 >> .final .differs dt").all_inner_texts()
    assert sorted(set(differing)) == ["Store1.client", "Worker1.data"]
    page.click(".groups summary >> nth=0")
    assert not page.is_visible(".groups a[target=viewer] >> nth=0")
    page.click(".groups summary >> nth=0")
    page.click(".groups a[target=viewer] >> nth=0")
    frame = page.frame_locator("#viewer")
    assert frame.locator(".diagram .step").count() == frame.locator(".steps li[id]").count()
    frame.locator("[data-move=first]").click()
    frame.locator("[data-move=forward]").click()
    assert page.locator(HERE).all_inner_texts() == ["    async def register(self, w: Any) -> None:"]
    page.locator("#viewer").scroll_into_view_if_needed()
    page.wait_for_timeout(300)  # rows that come into sight are painted a moment later
    keep(page, f"web-execution-{width}")
    page.click("text=Report and tree")
    frame.locator(".tree").wait_for()


def test_what_is_shown_can_be_downloaded(visit: Any) -> None:
    page = visit()
    choose(page, "peterson.py")
    page.fill("#program", "correct")
    apply(page)
    assert page.locator("#outcome h2.verified").count() == 1
    name, text = downloaded(page, "text=HTML")
    assert (name, text[:15]) == ("peterson.html", "<!DOCTYPE html>")
    name, text = downloaded(page, "text=JSON")
    found = json.loads(text)
    assert (name, found["executions"], len(found["recorded"])) == ("peterson.json", 4, 4)
    name, text = downloaded(page, "#outcome >> text=Program")
    assert (name, text.rstrip()) == (
        "peterson.py",
        Path("examples/peterson.py").read_text().rstrip(),
    )
    name, text = downloaded(page, "text=SVG >> nth=1")
    assert (name, text[:5]) == ("peterson-2.svg", "<svg ")
    assert "--lane:" in text, "it has its colours with it"


@both_widths
def test_cycles_are_listed_and_can_be_clicked(width: int, visit: Any, keep: Keep) -> None:
    page = visit(width)
    choose(page, "actors/barber.py")
    page.select_option("#guided", "all")
    apply(page)
    assert page.locator(".cycles > li").count() == 1
    assert page.inner_text(".cycles .badge") == "confirmed"
    page.click(".cycles .place >> nth=0")
    line = int(page.inner_text(".cycles .place >> nth=0").partition(":")[2])
    example = Path("examples/actors/barber.py").read_text().splitlines()
    assert page.locator(HERE).all_inner_texts() == [example[line - 1]]
    page.click(".cycles a[target=viewer] >> nth=0")
    page.frame_locator("#viewer").locator(".diagram .tied").first.wait_for()
    page.locator("#outcome").scroll_into_view_if_needed()
    keep(page, f"web-cycles-{width}")


def test_contexts_give_test_cases(visit: Any) -> None:
    page = visit()
    choose(page, "actors/barber.py")
    page.fill("#contexts", "1")
    apply(page)
    page.click("text=Test case")
    assert "def test_" in page.inner_text(".cycles pre")


# The editor


@both_widths
def test_mistakes_stand_at_their_lines(width: int, visit: Any, keep: Keep) -> None:
    page = visit(width)
    page.fill("#file", "own.py")
    write(page, "x = 1\ndef broken(:\n    pass\n")
    page.wait_for_selector(WRONG)
    assert page.locator(WRONG).all_inner_texts() == ["def broken(:"]
    assert page.inner_text("#mistake") == "Line 2: invalid syntax"
    keep(page, f"web-syntax-{width}")
    write(page, "x = 1\nraise ValueError('no')\n")
    apply(page, "ValueError: no")
    assert page.locator(WRONG).all_inner_texts() == ["raise ValueError('no')"]
    assert fits(page, width)
    keep(page, f"web-mistake-{width}")


def test_it_is_an_editor(visit: Any) -> None:
    page = visit()
    page.fill("#file", "own.py")
    write(page, "")
    page.keyboard.type("def p():\npass")
    assert text_of(page) == "def p():\n    pass", "a new line is indented"
    assert page.locator(".tok-keyword").all_inner_texts() == ["def", "pass"]
    page.keyboard.press("Home")
    page.keyboard.press("Tab")
    assert text_of(page) == "def p():\n        pass"
    page.keyboard.press("Control+z")
    assert text_of(page) == "def p():\n    pass"
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") != "cm-content", "a way out by keys"


def test_abs_has_colours_and_mistakes_too(visit: Any) -> None:
    page = visit()
    choose(page, "actors/barber.abs")
    assert "class" in page.locator(".tok-keyword").all_inner_texts()
    page.fill("#file", "own.abs")
    write(page, "class {")
    page.wait_for_selector(WRONG)


# Programs


def test_an_own_file_is_opened(visit: Any, tmp_path: Path) -> None:
    page = visit()
    (tmp_path / "own.py").write_text("x = 12345\n")
    page.set_input_files("#upload", str(tmp_path / "own.py"))
    page.wait_for_function("() => document.querySelector('#file').value === 'own.py'")
    assert text_of(page).strip() == "x = 12345"


def test_a_program_is_given_its_initial_values(visit: Any, keep: Keep) -> None:
    page = visit()
    choose(page, "actors/bank.abs")
    page.fill("#program", "AccountImpl.change")
    labels = page.locator("#arguments label")
    assert labels.count() == 2, "the class has a parameter, and the method"
    for at, value in enumerate(("3", "4")):
        page.locator("#arguments input").nth(at).fill(value)
    keep(page, "web-values")
    with page.expect_request(lambda request: request.url.endswith("/jobs")) as sent:
        apply(page)
    assert sent.value.post_data_json["program"] == "AccountImpl(3).change(4)"
    page.fill("#program", "main")
    assert labels.count() == 0


def test_every_setting_is_sent_and_only_what_was_changed(visit: Any) -> None:
    page = visit()
    page.click("text=More settings")
    chosen: dict[str, str] = {}
    for control in page.locator("#settings [name]").all():
        name = control.get_attribute("name")
        assert page.locator(f"label[for={control.get_attribute('id')}]").is_visible(), name
        if control.evaluate("one => one.tagName") == "SELECT":
            values = control.locator("option").evaluate_all("all => all.map(one => one.value)")
            chosen[name] = next(v for v in values if v != control.get_attribute("data-default"))
            control.select_option(chosen[name])
        elif name != "contexts":
            is_number = control.get_attribute("inputmode") == "decimal"
            chosen[name] = "7" if is_number else "a,b"
            control.fill(chosen[name])
    assert len(chosen) > 25
    with page.expect_request(lambda request: request.url.endswith("/jobs")) as sent:
        page.click("#apply")
    assert sent.value.post_data_json["options"] == chosen
    page.wait_for_selector("#progress.wrong")


def test_a_setting_that_is_refused_is_told_and_is_no_error_of_the_page(visit: Any) -> None:
    page = visit()
    page.click("text=More settings")
    page.fill("#option-max_steps", "many")
    apply(page, "max_steps must be")
    assert page.is_enabled("#apply")
    page.fill("#option-max_steps", "")
    page.fill("#file", "no/name")
    page.keyboard.press("Tab")
    page.wait_for_selector("#mistake:has-text('is no name for a file')")


# Running


@both_widths
def test_stop_ends_a_search(width: int, visit: Any, keep: Keep) -> None:
    page = visit(width)
    write(page, ENDLESS_SPACE)
    assert page.is_disabled("#stop")
    apply(page, "executions")
    assert page.is_disabled("#apply")
    page.locator("#progress").scroll_into_view_if_needed()
    keep(page, f"web-running-{width}")
    page.click("#stop")
    page.wait_for_selector("#outcome h2.incomplete")
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


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("exits", "import os\nos._exit(4)\n", "ended its own process, with status 4"),
        ("memory", "x = [0] * 10**9\n", "needs more than 600 MB at bounded_buffer.py:1"),
        ("nothing", "", "has no program"),
    ],
)
def test_bad_programs(name: str, text: str, said: str, visit: Any, keep: Keep) -> None:
    page = visit()
    write(page, text)
    apply(page, said)
    keep(page, f"web-{name}")
    choose(page, "jacm17/readers")
    apply(page)


def test_a_restart_is_told(browser: Any, tmp_path: Path) -> None:
    with served(tmp_path) as first:
        page = browser.new_page()
        page.goto(first.address)
        page.wait_for_selector(".cm-line")
    page.click("#apply")
    page.wait_for_function(
        "() => document.querySelector('#progress').textContent.includes('does not answer')"
    )
    page.close()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (400, "light")])
def test_everybody_can_use_it(width: int, scheme: str, visit: Any, keep: Keep) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = visit(width, color_scheme=scheme)
    choose(page, "actors/barber.py")
    page.click("text=More settings")
    page.select_option("#guided", "cycle")
    apply(page)
    assert fits(page, width)
    keep(page, f"web-{scheme}-{width}")
    found = axe.Axe().run(page).response["violations"]
    serious = [
        (one["id"], [node["html"][:90] for node in one["nodes"]])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
    assert serious == []
