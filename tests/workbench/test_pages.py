"""The pages, without a browser: what they show, what they record, and what is in the way of them."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from nicegui import ui
from page_elements import Visit, elements, recorded, toggle

from gridstride.course import content
from gridstride.course.content import course_folder, day, day_numbers
from gridstride.course.learner.progress import LearnerProgress, RunDetails
from gridstride.workbench import store


def test_the_days_are_listed_with_what_was_done(visit: Visit, mine: Path) -> None:
    first, second, *_ = day_numbers()
    with recorded(mine) as progress:
        progress.record_run(first, passed=True, seconds=0.1)
        progress.record_solution(second, passed=False)
        progress.record_run(second, passed=False, seconds=0.1)

    async def scenario(user: Any, _: Any) -> None:
        await user.open("/")
        for text in (
            day(1).title,
            f"Go on with day {second}",
            "lab: passed",
            "lab: begun (solution first)",
            "day in a row",
        ):
            await user.should_see(text)

    visit(scenario)


def test_a_lesson_hides_marks_and_leads_its_links_to_pages(visit: Visit) -> None:
    async def scenario(user: Any, _: Any) -> None:
        await user.open("/day/5")
        lesson = max((each.props["innerHTML"] for each in user.find(ui.markdown).elements), key=len)
        assert "<!--" not in lesson
        assert "picture=" not in lesson
        assert 'href="/glossary#' in lesson
        assert "glossary.md" not in lesson
        await user.should_see("Say what you expect")
        await user.should_see(day(5).interviews[0].question)

    visit(scenario)


def test_an_answer_is_explained_and_recorded_and_there_after_a_reload(visit: Visit, mine: Path) -> None:
    question = next(each for each in day(5).questions if each.answer)

    async def scenario(user: Any, _: Any) -> None:
        await user.open("/day/5")
        wrong = next(n for n in range(len(question.choices)) if "abcdefgh"[n] != question.answer)
        await _click(user, elements(user, ui.element, "choice")[wrong])
        await user.should_see("Not right:")
        await user.open("/day/5")
        await user.should_see("Not right:")

    visit(scenario)
    with recorded(mine) as progress:
        (answer,) = progress.answers(5)
    assert (answer.question, answer.right) == (question.id, False)


def test_a_prediction_is_measured(visit: Visit, mine: Path) -> None:
    async def scenario(user: Any, _: Any) -> None:
        await user.open("/day/5")
        elements(user, ui.input)[0].value = "twelve"
        await _click(user, elements(user, ui.button, "act")[0])
        await user.should_see("'twelve' is no answer: give a number", retries=200)
        elements(user, ui.input)[-1].value = "12"  # the question was asked anew, so that its field is the newest
        await _click(user, elements(user, ui.button, "act")[-1])
        await user.should_see("Right:", retries=200)

    visit(scenario)
    with recorded(mine) as progress:
        (answer,) = progress.answers(5)
    assert (answer.given, answer.right) == ("12", True)


@pytest.mark.parametrize("path", ["/chat", "/glossary", "/history", "/ladders", "/portfolio", "/settings"])
def test_every_other_page_opens(visit: Visit, path: str) -> None:
    async def scenario(user: Any, _: Any) -> None:
        await user.open(path)
        await user.should_see(kind=ui.html, content=path[1:].capitalize())

    visit(scenario)


def test_the_glossary_is_narrowed(visit: Visit) -> None:
    async def scenario(user: Any, _: Any) -> None:
        await user.open("/glossary")
        user.find(ui.input).type("coalesc")
        (terms,) = elements(user, ui.html, "terms")
        assert 0 < terms.content.count("<section") < 10
        assert 'id="coalesced-access"' in terms.content
        user.find(ui.input).type("xyz")
        assert "No term has that word" in terms.content

    visit(scenario)


def test_history_has_the_terminals_runs_too(visit: Visit, mine: Path) -> None:
    with recorded(mine) as progress:
        progress.record_run(5, passed=False, seconds=1.5, details=RunDetails(finding="race", message="line 14"))

    async def scenario(user: Any, _: Any) -> None:
        await user.open("/history")
        for text in ("1 run, 0 passed", "race: line 14", "1.5"):
            await user.should_see(text)

    visit(scenario)


def test_history_has_the_source_of_a_pass(visit: Visit, mine: Path) -> None:
    with recorded(mine) as progress:
        progress.record_run(1, passed=True, seconds=0.5, details=RunDetails(source="[a100]\nresident_warps = 6912\n"))

    async def scenario(user: Any, _: Any) -> None:
        await user.open("/history")
        await user.should_see("The source that passed")
        await user.should_not_see(kind=ui.markdown, content="resident_warps")
        toggle(elements(user, ui.element, "source")[0])
        await user.should_see(kind=ui.markdown, content="resident_warps")

    visit(scenario)


def test_questions_that_are_due_are_asked_on_a_page_of_their_own(
    visit: Visit, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = next(each for each in day(5).questions if each.answer)
    with recorded(mine) as progress, monkeypatch.context() as earlier:
        earlier.setattr(LearnerProgress, "now", lambda _: (datetime.now(UTC) - timedelta(days=2)).isoformat())
        progress.record_answer(5, question.id, question.answer, right=True)

    async def scenario(user: Any, _: Any) -> None:
        await user.open("/")
        await user.should_see("question to answer again")
        assert "/again" in {link.props["href"] for link in user.find(ui.link).elements}
        await user.open("/again")
        await user.should_see("1 (day 5)")
        await _click(user, elements(user, ui.element, "choice")["abcdefgh".index(question.answer)])
        await user.should_see("Right:")
        await user.open("/again")
        await user.should_see("No question waits to be asked again")

    visit(scenario)


@pytest.mark.parametrize("word", ["999", "0", "-1", "x", "3.0", "%00"])
def test_a_day_that_is_not_there_is_said(visit: Visit, word: str) -> None:
    async def scenario(user: Any, _: Any) -> None:
        for path in (f"/day/{word}", f"/day/{word}/lab"):
            answer = await user.http_client.get(path)
            assert answer.status_code == 404
            assert "no day" in answer.text
            assert "To the days" in answer.text

    visit(scenario)


def test_a_broken_lesson_is_named_and_the_others_stay(
    visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "course"
    shutil.copytree(course_folder(), broken)
    (broken / "day005/quiz.toml").write_text("[[question]\n")
    monkeypatch.setattr(content, "course_folder", lambda: broken)
    content.day.cache_clear()
    content.glossary.cache_clear()

    async def scenario(user: Any, _: Any) -> None:
        await user.open("/")
        await user.should_see("day005/quiz.toml:1")
        await user.should_see(content.day(1).title)
        await user.open("/day/5")
        await user.should_see("day005/quiz.toml:1")

    try:
        visit(scenario)
    finally:
        content.day.cache_clear()
        content.glossary.cache_clear()


def test_a_damaged_database_is_kept_aside_and_said_so(visit: Visit, mine: Path) -> None:
    (mine / "progress.sqlite").write_bytes(b"not a database " * 200)

    async def scenario(user: Any, _: Any) -> None:
        await user.open("/")
        await user.should_see("is damaged")

    visit(scenario)
    assert len(list(mine.glob("progress.sqlite.damaged-*"))) == 1


def test_a_locked_database_is_said_and_the_page_works_again_afterwards(
    visit: Visit, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_WAIT", 0.1)

    async def scenario(user: Any, _: Any) -> None:
        other = sqlite3.connect(mine / "progress.sqlite", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        await user.open("/day/5/lab")
        user.find("Run").click()
        await user.should_see("locked by another program", retries=50)
        other.execute("ROLLBACK")
        other.close()
        await user.open("/day/1/lab")
        user.find("Run").click()
        await user.should_see("Not yet", retries=200)

    visit(scenario)


def test_a_portfolio_without_a_pass_says_what_is_missing(visit: Visit) -> None:
    async def scenario(user: Any, _: Any) -> None:
        await user.open("/portfolio")
        user.find("Write it").click()
        await user.should_see("no lab has been passed yet", retries=200)

    visit(scenario)


async def _click(user: Any, element: ui.element) -> None:
    """As a browser would, on one element of several alike."""
    from nicegui.testing.user_interaction import UserInteraction

    UserInteraction(user, {element}, None).click()
    await asyncio.sleep(0)
