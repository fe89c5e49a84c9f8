"""The page of `treadle web` in a real browser: every control, on a wide screen and a telephone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from browsing import PATIENCE, expect
from web.serving import ENDLESS_SPACE, Served, served

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

Keep = Callable[[Any, str], None]
both_widths = pytest.mark.parametrize("width", [1280, 400])
HERE = ".cm-line.here"
WRONG = ".cm-line:has(.cm-lintRange-error)"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("web"), "--seconds", "300", "--memory", "600") as one:
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
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(server.address)
        wait_for_check(page)
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert said == []
    assert [url for url in asked if not url.startswith((server.address, "data:", "about:"))] == []


def wait_for_check(page: Any) -> None:
    """Wait until what the page tells of the program is that of the text in its editor."""
    page.wait_for_selector("#code[aria-busy=false]")


def wait_for_text(page: Any, text: str) -> None:
    """Wait until this is in the editor, to the space."""
    page.wait_for_function(
        """text => text === [...document.querySelectorAll('.cm-line')]
            .map(line => line.textContent).join('\\n')""",
        arg=text,
    )


def wait_for_frame(page: Any, inside: str) -> Any:
    """Wait until the viewer has loaded a page with something inside of it; return its frame."""
    page.wait_for_function(
        """inside => {
            const shown = document.querySelector('#viewer').contentDocument;
            return shown.readyState === 'complete' && shown.querySelector(inside);
        }""",
        arg=inside,
    )
    return page.frame_locator("#viewer")


def write(page: Any, text: str) -> None:
    page.locator(".cm-content").fill(text)


def choose(page: Any, name: str) -> None:
    page.select_option("#library", name)
    wait_for_check(page)
    assert page.input_value("#file").startswith(name.rpartition("/")[2])


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
    expect(page.locator("#outcome h2.failed")).to_have_count(1)
    expect(page.locator(".groups .badge.bad")).to_have_count(1)
    expect(page.locator(".groups .badge.good")).to_have_count(2)
    differing = page.locator(".groups >> nth=0 >> .final .differs dt").all_inner_texts()
    assert sorted(set(differing)) == ["Store1.client", "Worker1.data"]
    page.click(".groups summary >> nth=0")
    expect(page.locator(".groups a[target=viewer] >> nth=0")).to_be_hidden()
    page.click(".groups summary >> nth=0")
    page.click(".groups a[target=viewer] >> nth=0")
    frame = wait_for_frame(page, ".diagram")
    expect(frame.locator(".diagram .step")).to_have_count(frame.locator(".steps li[id]").count())
    frame.locator("[data-move=first]").click()
    frame.locator("[data-move=forward]").click()
    expect(page.locator(HERE)).to_have_text(["    async def register(self, w: Any) -> None:"])
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
    expect(page.locator("#outcome h2.verified")).to_have_count(1)
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
    expect(page.locator(".cycles > li")).to_have_count(1)
    expect(page.locator(".cycles .badge")).to_have_text(["confirmed"])
    page.click(".cycles .place >> nth=0")
    line = int(page.inner_text(".cycles .place >> nth=0").partition(":")[2])
    example = Path("examples/actors/barber.py").read_text().splitlines()
    expect(page.locator(HERE)).to_have_text([example[line - 1]])
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
    expect(page.locator(".cycles pre")).to_contain_text("def test_")


# The editor


@both_widths
def test_mistakes_stand_at_their_lines(width: int, visit: Any, keep: Keep) -> None:
    page = visit(width)
    page.fill("#file", "own.py")
    write(page, "x = 1\ndef broken(:\n    pass\n")
    expect(page.locator(WRONG)).to_have_text(["def broken(:"])
    expect(page.locator("#mistake")).to_have_text("Line 2: invalid syntax")
    keep(page, f"web-syntax-{width}")
    write(page, "x = 1\nraise ValueError('no')\n")
    apply(page, "ValueError: no")
    expect(page.locator(WRONG)).to_have_text(["raise ValueError('no')"])
    assert fits(page, width)
    keep(page, f"web-mistake-{width}")


def begin_an_indented_line(page: Any) -> None:
    """Press Enter; the editor knows how far to indent once it has parsed what was typed."""
    for _ in range(PATIENCE // 100):
        page.keyboard.press("Enter")
        if page.locator(".cm-line").last.text_content() == "    ":
            return
        page.keyboard.press("Control+z")
        page.wait_for_timeout(100)
    raise AssertionError("a new line is not indented")


def test_it_is_an_editor(visit: Any) -> None:
    page = visit()
    page.fill("#file", "own.py")
    write(page, "")
    page.keyboard.type("def p():")
    begin_an_indented_line(page)
    page.keyboard.type("pass")
    wait_for_text(page, "def p():\n    pass")
    expect(page.locator(".tok-keyword")).to_have_text(["def", "pass"])
    page.keyboard.press("Home")
    page.keyboard.press("Tab")
    wait_for_text(page, "def p():\n        pass")
    page.keyboard.press("Control+z")
    wait_for_text(page, "def p():\n    pass")
    expect(page.locator(".cm-content")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(page.locator(".cm-content")).not_to_be_focused()  # a way out by keys


def test_abs_has_colours_and_mistakes_too(visit: Any) -> None:
    page = visit()
    choose(page, "actors/barber.abs")
    expect(page.locator(".tok-keyword").get_by_text("class", exact=True)).not_to_have_count(0)
    page.fill("#file", "own.abs")
    write(page, "class {")
    page.wait_for_selector(WRONG)


# Programs


def test_an_own_file_is_opened(visit: Any, tmp_path: Path) -> None:
    page = visit()
    (tmp_path / "own.py").write_text("x = 12345\n")
    page.set_input_files("#upload", str(tmp_path / "own.py"))
    expect(page.locator("#file")).to_have_value("own.py")
    wait_for_text(page, "x = 12345\n")


def test_a_program_is_given_its_initial_values(visit: Any, keep: Keep) -> None:
    page = visit()
    choose(page, "actors/bank.abs")
    page.fill("#program", "AccountImpl.change")
    labels = page.locator("#arguments label")
    expect(labels).to_have_count(2)  # the class has a parameter, and the method
    for at, value in enumerate(("3", "4")):
        page.locator("#arguments input").nth(at).fill(value)
    keep(page, "web-values")
    with page.expect_request(lambda request: request.url.endswith("/jobs")) as sent:
        apply(page)
    assert sent.value.post_data_json["program"] == "AccountImpl(3).change(4)"
    page.fill("#program", "main")
    expect(labels).to_have_count(0)


def test_every_setting_is_sent_and_only_what_was_changed(visit: Any) -> None:
    page = visit()
    page.click("text=More settings")
    chosen: dict[str, str] = {}
    for control in page.locator("#settings [name]").all():
        name = control.get_attribute("name")
        expect(page.locator(f"label[for={control.get_attribute('id')}]")).to_be_visible()
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
    expect(page.locator("#apply")).to_be_enabled()
    page.fill("#option-max_steps", "")
    page.fill("#file", "no/name")
    page.keyboard.press("Tab")
    page.wait_for_selector("#mistake:has-text('is no name for a file')")


# Answers that take long


@pytest.fixture
def held(visit: Any) -> tuple[Any, list[Any]]:
    """A page whose checks are answered when the test says so, and those that wait for it."""
    page = visit()
    return page, hold(page, "**/check")


def hold(page: Any, address: str) -> list[Any]:
    """Let these requests wait, in the list that is returned."""
    waiting: list[Any] = []
    page.route(address, lambda route: waiting.append(route))  # playwright marks it: no method
    return waiting


def wait_for_one(page: Any, waiting: list[Any]) -> Any:
    for _ in range(PATIENCE // 10):
        if waiting:
            return waiting.pop(0)
        page.wait_for_timeout(10)
    raise AssertionError("the page asks for nothing")


def answer(page: Any, route: Any) -> None:
    """Let a request go on, and wait until the page has handled the answer."""
    with page.expect_response(route.request.url):
        route.continue_()
    page.evaluate("fetch('editor.js').then(later => later.text())")


def test_the_page_says_that_a_text_is_not_checked_yet(held: tuple[Any, list[Any]]) -> None:
    page, waiting = held
    code = page.locator("#code")
    expect(code).to_have_attribute("aria-busy", "false")
    write(page, "def p(): pass")
    expect(code).to_have_attribute("aria-busy", "true")
    first = wait_for_one(page, waiting)
    write(page, "def p(:")
    second = wait_for_one(page, waiting)
    answer(page, first)
    expect(code).to_have_attribute("aria-busy", "true")  # the answer is that of another text
    second.continue_()
    expect(code).to_have_attribute("aria-busy", "false")
    expect(page.locator("#mistake")).to_have_text("Line 1: invalid syntax")


def test_a_check_does_not_wipe_away_what_a_run_tells(held: tuple[Any, list[Any]]) -> None:
    page, waiting = held
    jobs: list[str] = []
    page.on("request", lambda request: jobs.append(request.url.rpartition("/")[2]))
    write(page, "raise ValueError('no')")
    page.click("#apply")
    expect(page.locator("#progress")).to_have_text("starting")
    check = wait_for_one(page, waiting)
    assert "jobs" not in jobs, "it would run a program with the parameters of an older text"
    check.continue_()
    expect(page.locator("#progress")).to_contain_text("ValueError: no")
    expect(page.locator("#mistake")).to_contain_text("ValueError: no")
    assert not waiting


def test_of_two_programs_the_one_that_was_chosen_last_is_opened(visit: Any) -> None:
    page = visit()
    waiting = hold(page, "**/library?*")
    page.select_option("#library", "actors/bank.abs")
    slow = wait_for_one(page, waiting)
    page.select_option("#library", "peterson.py")
    wait_for_one(page, waiting).continue_()
    expect(page.locator("#file")).to_have_value("peterson.py")
    answer(page, slow)
    wait_for_check(page)
    expect(page.locator("#file")).to_have_value("peterson.py")


# Running


@both_widths
def test_stop_ends_a_search(width: int, visit: Any, keep: Keep) -> None:
    page = visit(width)
    write(page, ENDLESS_SPACE)
    expect(page.locator("#stop")).to_be_disabled()
    apply(page, "executions")
    expect(page.locator("#apply")).to_be_disabled()
    page.locator("#progress").scroll_into_view_if_needed()
    keep(page, f"web-running-{width}")
    page.click("#stop")
    expect(page.locator("#outcome h2.incomplete")).to_contain_text("before the interruption")
    expect(page.locator("#apply")).to_be_enabled()


def test_two_browsers_at_once(visit: Any) -> None:
    one, other = visit(), visit(400)
    for page, algorithm in ((one, "optimal"), (other, "exhaustive")):
        choose(page, "jacm17/readers")
        page.select_option("[name=algorithm]", algorithm)
        page.click("#apply")
    for page in (one, other):
        page.wait_for_selector("#outcome h2")
    expect(one.locator("#outcome h3")).to_contain_text("4 executions")


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
        page.set_default_timeout(PATIENCE)
        page.goto(first.address)
        wait_for_check(page)
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
