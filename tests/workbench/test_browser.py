"""Learners in a real browser: they read, answer, fail, take a hint, pass, and come back after a restart."""

from __future__ import annotations

import importlib.util
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from model_server import model_server
from served import up

from gridstride.course.content import course_folder, day
from gridstride.course.learner.progress import LearnerProgress, RunDetails
from gridstride.course.lesson import LETTERS

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PATHS = (
    "/", "/day/1", "/day/5", "/day/5/lab", "/again", "/ladders", "/ladder/matmul", "/ladder/scan", "/glossary",
    "/history", "/portfolio", "/chat", "/settings", "/day/34", "/day/34/lab",
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


def wait_for(holds: Callable[[], bool], seconds: float = 20) -> None:
    """Until it holds."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


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
        page.get_by_role("button", name="Explain it in pictures").click()
        report = page.locator("iframe").get_attribute("src")
        page.goto(f"{url}{report}")
        page.get_by_role("heading", name="add<<<4, 256>>>").wait_for()
        page.get_by_role("heading", name="What a warp touches").wait_for()
        trouble += checked(page)
        page.goto(f"{url}/day/3/lab")
        page.get_by_role("button", name="Show the solution").click()
        page.locator(".solution pre").wait_for()
        trouble += checked(page)
        page.goto(f"{url}/history")
        page.locator("summary").first.click()
        page.locator(".history pre").wait_for()
        trouble += checked(page)
        page.goto(f"{url}/portfolio")
        page.get_by_role("button", name="Write it").click()
        page.locator("iframe").wait_for()
        page.goto(f"{url}/portfolio/site/index.html")
        page.get_by_role("link", name="Day 3").click()
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
        page.get_by_role("button", name="Explain it in pictures").click()
        page.goto(url + page.locator("iframe").get_attribute("src"))
        page.get_by_role("heading", name="What a warp touches").wait_for()
        trouble += checked(page)
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
    with LearnerProgress(mine / "progress.sqlite") as progress:
        progress.record_run(5, passed=False, seconds=1.5, details=RunDetails(finding="race", message="line 14"))
        progress.record_answer(5, "ceiling", "a", right=False)
    with up(mine) as (url, _):
        page = page_of(browser, url, [], color_scheme=scheme)
        for path in PATHS:
            page.goto(url + path)
            page.locator(".cm-content[tabindex]" if path.endswith("lab") else "h1").first.wait_for()
            assert [each["id"] for each in axe.run(page).response["violations"]] == [], path


def test_axe_finds_nothing_on_a_page_that_waits_for_its_server_or_has_lost_it(browser: Any, mine: Path) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    with up(mine) as (url, process):
        page = page_of(browser, url, [])  # it says that the server has gone
        page.goto(f"{url}/day/3/lab")
        page.locator(".cm-content[tabindex]").wait_for()
        page.route("**/slow", lambda _: None)  # never answered, as axe's own requests are not at once by a busy server
        page.evaluate("() => { const asked = new XMLHttpRequest(); asked.open('GET', '/slow'); asked.send(); }")
        page.wait_for_timeout(600)  # Quasar shows a request that takes 300 ms
        assert page.get_by_role("progressbar").count() == 0
        assert [each["id"] for each in axe.run(page).response["violations"]] == []
        process.kill()
        process.wait()
        page.get_by_role("alert").get_by_text("Connection lost.").wait_for()
        assert [each["id"] for each in axe.run(page).response["violations"]] == []


def test_a_run_goes_on_when_its_server_is_killed_and_the_page_finds_it_again(browser: Any, mine: Path) -> None:
    with up(mine) as (url, process):
        page = page_of(browser, url, [])  # it says that the server has gone
        page.goto(f"{url}/day/5/lab")
        write(page, day(5).solution.read_text())
        page.keyboard.press("Control+Enter")
        page.get_by_text("running: ").wait_for()
        process.kill()
        process.wait()
    with up(mine, "--port", url.rpartition(":")[2]):
        page.locator(".verdict.pass").wait_for()
    with LearnerProgress(mine / "progress.sqlite") as progress:
        assert [run.passed for run in progress.runs(5)] == [True]


def test_a_second_window_shows_what_was_typed_and_run_in_the_first(browser: Any, mine: Path) -> None:
    trouble: list[str] = []
    with up(mine) as (url, _):
        first, second = (page_of(browser, url, trouble) for _ in range(2))
        for page in (first, second):
            page.goto(f"{url}/day/1/lab")
            page.locator(".cm-content[contenteditable=true]").wait_for()
        write(first, day(1).solution.read_text())
        first.keyboard.press("Control+Enter")
        second.get_by_text("reloaded: another program wrote the file").wait_for()
        first.locator(".verdict.pass").wait_for()
        second.reload()
        second.locator(".verdict.pass").wait_for()
    assert (mine / "day001/chips.toml").read_text() == day(1).solution.read_text()
    assert trouble == []


def test_other_machines_are_asked_for_the_password_on_a_page_of_its_own(browser: Any, mine: Path) -> None:
    with up(mine, "--host", "0.0.0.0", GRIDSTRIDE_PASSWORD="correct horse") as (url, _):
        trouble: list[str] = []
        url = url.replace("0.0.0.0", "127.0.0.1")
        page = page_of(browser, url, trouble)
        page.goto(f"{url}/day/5")
        trouble += checked(page)
        page.keyboard.type("correct horse")
        page.keyboard.press("Enter")
        page.get_by_role("heading", name=day(5).title).wait_for()
        assert trouble == []


def test_a_chat_with_the_served_model(browser: Any, mine: Path) -> None:
    trouble: list[str] = []
    with model_server(["Warps ", "wait."]) as (port, asked), up(mine) as (url, _):
        page = page_of(browser, url, trouble)
        page.goto(f"{url}/chat")
        page.get_by_label("Port of the server").fill(str(port))
        page.get_by_role("button", name="Connect").click()
        page.get_by_label("Say something").fill("What do warps do?")
        page.keyboard.press("Control+Enter")
        page.get_by_text("Warps wait.").wait_for()
        trouble += checked(page)
    assert trouble == []
    assert [each["messages"][-1]["content"] for each in asked] == ["What do warps do?"]


def test_a_quiz_is_answered_by_keyboard_one_question_after_the_other(browser: Any, mine: Path) -> None:
    with up(mine) as (url, _):
        page = page_of(browser, url, [])
        page.goto(f"{url}/day/5")
        cards = page.locator(".question")
        cards.nth(2).locator("button.choice").first.focus()  # the first with choices
        page.keyboard.press("Enter")
        cards.nth(2).locator(".why").wait_for()
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('.question')?.ariaLabel") == "Question 3"
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('.question')?.ariaLabel") == "Question 4"


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


def test_what_is_typed_while_the_server_is_gone_is_in_the_file_once_it_is_back(browser: Any, mine: Path) -> None:
    file = mine / "day001/chips.toml"
    with up(mine) as (url, process):
        page = page_of(browser, url, [])  # it says that the server has gone
        page.goto(f"{url}/day/1/lab")
        write(page, "# saved\n")
        wait_for(lambda: file.read_text() == "# saved\n")
        process.kill()
        process.wait()
        write(page, "# saved\n# typed into the void\n")
    with up(mine, "--port", url.rpartition(":")[2]):
        wait_for(lambda: file.read_text() == "# saved\n# typed into the void\n", seconds=60)
        page.get_by_text("restored").wait_for()


def test_of_two_texts_that_met_while_the_server_was_gone_the_learner_keeps_one(browser: Any, mine: Path) -> None:
    file = mine / "day001/chips.toml"
    with up(mine) as (url, process):
        page = page_of(browser, url, [])
        page.goto(f"{url}/day/1/lab")
        write(page, "# saved\n")
        wait_for(lambda: file.read_text() == "# saved\n")
        process.kill()
        process.wait()
        write(page, "# mine\n")
    file.write_text("# theirs\n")
    with up(mine, "--port", url.rpartition(":")[2]):
        page.get_by_role("button", name="What stands in the editor").wait_for()
        assert file.read_text() == "# theirs\n"
        page.get_by_role("button", name="What stands in the editor").click()
        wait_for(lambda: file.read_text() == "# mine\n")
