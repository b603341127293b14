"""A learner's evening in a real browser: reads, answers, writes a wrong kernel, takes a hint, passes, comes back."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from served import up

from gridstride.course.content import day
from gridstride.course.progress import Progress

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PATHS = ("/", "/day/1", "/day/5", "/day/5/lab", "/glossary", "/history", "/portfolio", "/settings")
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


def test_a_learner_reads_answers_fails_takes_a_hint_passes_and_comes_back(browser: Any, mine: Path) -> None:
    solution = day(5).solution.read_text()
    trouble: list[str] = []
    with up(mine) as (url, _):
        page = page_of(browser, url, trouble)
        page.goto(url)
        page.get_by_role("link", name="Begin day 1").click()
        page.get_by_role("heading", name=day(1).title).wait_for()
        page.locator("button.choice").first.click()
        page.locator(".why").first.wait_for()
        page.goto(f"{url}/day/5/lab")
        write(page, solution.replace("__syncthreads();", ""))
        page.keyboard.press("Control+Enter")
        page.locator(".verdict.fail").wait_for()
        assert page.locator(".finding .kind").first.inner_text() == "race"
        assert "stage[k] = records" in page.locator(".cm-line.found-line").first.inner_text()
        page.get_by_role("button", name="First hint").click()
        page.locator(".hints li").first.wait_for()
        write(page, solution)
        page.get_by_role("button", name="Run", exact=True).click()
        page.locator(".verdict.fail").wait_for(state="detached")
        page.reload()  # the run goes on
        page.locator(".verdict.pass").wait_for()
        page.close()  # it would say that the server has gone
    with up(mine) as (url, _):
        page = page_of(browser, url, trouble)
        page.goto(url)
        page.get_by_role("link", name="Lab of day 5: passed").wait_for()
        assert page.locator(".figure .value").first.inner_text().startswith("1 of")
        page.goto(f"{url}/day/5/lab")
        page.locator(".verdict.pass").wait_for()
        assert page.locator(".hints li").count() == 1
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
