"""Learners in a real browser: they read, answer, fail, take a hint, pass, and come back after a restart."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from served import up

from gridstride.course.content import course_folder, day
from gridstride.course.lesson import LETTERS
from gridstride.course.progress import Progress

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PATHS = (
    "/", "/day/1", "/day/5", "/day/5/lab", "/ladders", "/ladder/matmul", "/ladder/scan", "/glossary", "/history",
    "/portfolio", "/chat", "/settings",
)  # fmt: skip
WRONG = {1: ("bits.toml", "wrong value"), 2: ("swapped.cu", "wrong lines"), 3: ("no_guard.cu", "out of bounds")}
"""What is tried first on each day, and what must be found in it."""
pytestmark = [
    pytest.mark.timeout(300),  # a browser beside other tests, on two cores
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine (chromium, google-chrome)"),
    pytest.mark.skipif(importlib.util.find_spec("playwright") is None, reason="playwright is not installed"),
]


@pytest.fixture
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


def page_of(browser: Any, url: str, trouble: list[str], **context: Any) -> Any:
    """A page that notes what it asks of other machines, and what goes wrong in it."""
    page = browser.new_context(**context).new_page()
    page.set_default_timeout(60_000)
    own = (url, url.replace("http", "ws", 1), "data:", "about:")
    page.on("request", lambda request: None if request.url.startswith(own) else trouble.append(request.url))
    page.on("websocket", lambda socket: None if socket.url.startswith(own) else trouble.append(socket.url))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("console", lambda message: trouble.append(message.text) if message.type == "error" else None)
    return page


def write(page: Any, text: str) -> None:
    """Replace what stands in the editor, by the keyboard."""
    page.locator(".cm-content[contenteditable=true]").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def answer_all(page: Any, number: int) -> None:
    """Answer a lesson's questions as someone who reads on does: predictions with 1, of choices the first one wrong."""
    asked = page.locator(".question")
    own = day(number).questions
    for index in range(asked.count()):
        card = asked.nth(index)
        if card.get_by_role("button", name="Measure it").count():
            card.get_by_role("textbox").fill("1")
            card.get_by_role("textbox").press("Enter")
        elif index < len(own):
            letters = [letter for letter, _ in zip(LETTERS, own[index].choices, strict=False)]
            wrong = next(letter for letter in letters if letter != own[index].answer)
            card.locator("button.choice").nth(letters.index(wrong if index == 0 else own[index].answer)).click()
        else:
            card.locator("button.choice").first.click()
        card.locator(".why").wait_for()


def checked(page: Any) -> list[str]:
    """What axe finds on the page as it stands; nothing where axe is not installed, which the test below says."""
    if importlib.util.find_spec("axe_playwright_python") is None:
        return []
    from axe_playwright_python.sync_playwright import Axe

    return [f"{page.url}: {each['id']}" for each in Axe().run(page).response["violations"]]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_learner_walks_the_first_three_days_and_finds_them_passed_after_a_restart(browser: Any, mine: Path) -> None:
    trouble: list[str] = []
    with up(mine) as (url, _):
        page = page_of(browser, url, trouble)
        page.set_default_timeout(600_000)  # a machine's first program brings the C++ library's compilation with it
        for number in (1, 2, 3):
            page.goto(url)
            page.get_by_role("link", name=f"Begin day {number}").click()
            page.get_by_role("heading", name=day(number).title).wait_for()
            answer_all(page, number)
            trouble += checked(page)
            page.get_by_role("link", name=f"To the lab: {day(number).lab.title}").click()
            wrong, finding = WRONG[number]
            write(page, (course_folder() / f"day00{number}/wrong" / wrong).read_text())
            page.keyboard.press("Control+Enter")
            page.locator(".verdict.fail").wait_for()
            assert page.locator(".finding .kind").first.inner_text() == finding
            page.get_by_role("button", name="First hint").click()
            page.locator(".hints li").first.wait_for()
            trouble += checked(page)
            write(page, day(number).solution.read_text())
            page.get_by_role("button", name="Run", exact=True).click()
            page.locator(".verdict.pass").wait_for()
            trouble += checked(page)
        page.close()  # it would say that the server has gone
    with up(mine) as (url, _):
        page = page_of(browser, url, trouble)
        page.goto(url)
        assert page.locator(".figure .value").first.inner_text().startswith("3 of")
        page.get_by_role("link", name="Begin day 4").wait_for()
        for number in (1, 2, 3):
            assert page.get_by_role("link", name=f"Lab of day {number}: passed").is_visible()
            page.goto(f"{url}/day/{number}")
            page.locator(".why").first.wait_for()
            assert page.locator(".why").count() == page.locator(".question").count()
            page.goto(url)
        page.goto(f"{url}/history")
        assert page.locator("tbody tr").count() == 6
        page.goto(f"{url}/day/3/lab")
        page.locator(".verdict.pass").wait_for()
        assert page.locator(".hints li").count() == 1
    for number in (1, 2, 3):
        lab = day(number).lab
        assert (mine / f"day00{number}" / lab.file).read_text() == day(number).solution.read_text()
    assert trouble == []


@pytest.mark.slow
def test_a_race_is_marked_at_its_line_and_a_page_that_is_loaded_again_finds_its_run(browser: Any, mine: Path) -> None:
    solution = day(5).solution.read_text()
    trouble: list[str] = []
    with up(mine) as (url, _):
        page = page_of(browser, url, trouble)
        page.goto(f"{url}/day/5/lab")
        write(page, solution.replace("__syncthreads();", ""))
        page.keyboard.press("Control+Enter")
        page.locator(".verdict.fail").wait_for()
        assert page.locator(".finding .kind").first.inner_text() == "race"
        assert "stage[k] = records" in page.locator(".cm-line.found-line").first.inner_text()
        write(page, solution)
        page.get_by_role("button", name="Run", exact=True).click()
        page.locator(".verdict.fail").wait_for(state="detached")
        page.reload()  # the run goes on
        page.locator(".verdict.pass").wait_for()
    assert (mine / "day005/fields.cu").read_text() == solution
    assert trouble == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_fits_a_phone_and_follows_the_systems_colours(browser: Any, mine: Path, scheme: str) -> None:
    trouble: list[str] = []
    with up(mine) as (url, _):
        page = page_of(browser, url, trouble, viewport={"width": 390, "height": 844}, color_scheme=scheme)
        for path in PATHS:
            page.goto(url + path)
            page.locator("h1").first.wait_for()
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
            paper = page.evaluate("getComputedStyle(document.body).getPropertyValue('--paper').trim()")
            assert paper == {"light": "#fcfcfa", "dark": "#14171d"}[scheme], path
    assert trouble == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser: Any, mine: Path, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    with Progress(mine / "progress.sqlite") as progress:
        progress.record_run(5, passed=False, seconds=1.5, finding="race", message="line 14")
        progress.record_answer(5, "ceiling", "a", right=False)
    with up(mine) as (url, _):
        page = page_of(browser, url, [], color_scheme=scheme)
        for path in PATHS:
            page.goto(url + path)
            page.locator(".cm-content[tabindex]" if path.endswith("lab") else "h1").first.wait_for()
            assert [each["id"] for each in axe.run(page).response["violations"]] == [], path


def test_all_of_it_goes_by_keyboard(browser: Any, mine: Path) -> None:
    trouble: list[str] = []
    with up(mine) as (url, _):
        page = page_of(browser, url, trouble)
        page.goto(f"{url}/day/5/lab")
        page.locator(".cm-content[contenteditable=true]").wait_for()
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to main content"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.className").startswith("page")
        page.locator(".cm-content").focus()
        page.keyboard.press("Escape")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent.trim()") == "Run"
        page.keyboard.press("Enter")
        page.locator(".verdict.fail").wait_for()
    assert trouble == []
