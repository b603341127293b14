"""The pages, without a browser: what they show, what they record, and what is in the way of them."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import socket
import sqlite3
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from model_server import model_server
from nicegui import ui

from gridstride.course import content
from gridstride.course.content import course_folder, day, day_numbers
from gridstride.course.learner.progress import LearnerProgress, RunDetails
from gridstride.judge.find import find, problem_names
from gridstride.workbench import store
from gridstride.workbench.lab_text import LabText
from gridstride.workbench.ladder_record import recorded as recorded_times
from gridstride.workbench.pages import chat
from gridstride.workbench.pages import editor as editor_page
from gridstride.workbench.pages.editor import Editor

Visit = Callable[[Callable[..., Any]], None]


def recorded(mine: Path) -> LearnerProgress:
    return LearnerProgress(mine / "progress.sqlite")


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
        await _click(user, _all(user, ui.element, "choice")[wrong])
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
        _all(user, ui.input)[0].value = "twelve"
        await _click(user, _all(user, ui.button, "act")[0])
        await user.should_see("'twelve' is no answer: give a number", retries=200)
        _all(user, ui.input)[-1].value = "12"  # the question was asked anew, so that its field is the newest
        await _click(user, _all(user, ui.button, "act")[-1])
        await user.should_see("Right:", retries=200)

    visit(scenario)
    with recorded(mine) as progress:
        (answer,) = progress.answers(5)
    assert (answer.given, answer.right) == ("12", True)


def test_a_lab_is_run_and_its_verdict_is_there_after_a_reload(visit: Visit, mine: Path) -> None:
    async def scenario(user: Any, _: Any) -> None:
        await user.open("/day/1/lab")
        (editor,) = user.find(ui.codemirror).elements
        editor.value = day(1).solution.read_text()
        user.find("Run").click()
        await user.should_see("Pass (", retries=200)
        await user.should_see("Show the solution")
        await user.open("/day/1/lab")
        await user.should_see("requests of 10000")

    visit(scenario)
    assert (mine / "day001/chips.toml").read_text() == day(1).solution.read_text()
    with recorded(mine) as progress:
        assert [run.passed for run in progress.runs(1)] == [True]


def test_two_saves_at_once_are_not_taken_for_another_program(
    visit: Visit, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Editor] = []
    made, read = Editor.__init__, LabText._read

    def keep(self: Editor, *given: Any) -> None:
        made(self, *given)
        opened.append(self)

    def read_slowly(self: LabText) -> str:
        text = read(self)
        if slow.acquire(blocking=False):  # the second of the two: the first has written before this one compares
            time.sleep(0.5)
        return text

    async def scenario(user: Any, _: Any) -> None:
        await user.open("/day/1/lab")
        (editor,) = user.find(ui.codemirror).elements
        editor.value = "mine"
        monkeypatch.setattr(LabText, "_read", read_slowly)
        slow.release()
        both = [asyncio.create_task(opened[0].save()) for _ in range(2)]
        assert await asyncio.gather(*both) == [True, True]

    slow = threading.Semaphore(0)
    monkeypatch.setattr(Editor, "__init__", keep)
    visit(scenario)
    assert (mine / "day001/chips.toml").read_text() == "mine"


def test_a_pass_leads_on_and_the_solution_has_the_width_of_the_page(visit: Visit) -> None:
    async def scenario(user: Any, _: Any) -> None:
        await user.open("/day/1/lab")
        (editor,) = user.find(ui.codemirror).elements
        editor.value = day(1).solution.read_text()
        user.find("Run").click()
        await user.should_see(f"On to day 2: {day(2).title}", retries=200)
        user.find("Show the solution").click()
        await user.should_see("The solution", retries=200)
        (below,) = _all(user, ui.element, "solution")
        assert below.parent_slot.parent is _all(user, ui.element, "page")[0]
        assert "resident_warps" in below.default_slot.children[1].props["innerHTML"]

    visit(scenario)


def test_findings_are_marked_in_the_editor(visit: Visit) -> None:
    wrong = day(1).solution.read_text().replace("6912", "221184")
    line = next(n for n, each in enumerate(wrong.splitlines(), start=1) if "221184" in each)

    async def scenario(user: Any, _: Any) -> None:
        await user.open("/day/1/lab")
        (editor,) = user.find(ui.codemirror).elements
        editor.value = wrong
        user.find("Run").click()
        await user.should_see("Not yet", retries=200)
        assert [each["line"] for each in editor.decorations] == [line]
        await user.should_see(f"line {line}")

    visit(scenario)


def test_a_run_is_found_again_by_another_window(visit: Visit) -> None:
    async def scenario(user: Any, workbench: Any) -> None:
        job = await workbench.dispatcher.add("another", "judge", 5, day(5).starter.read_text())
        await user.open("/day/5/lab")
        await user.should_see("Cancel")
        user.find("Cancel").click()
        await user.should_see("The run was cancelled", retries=200)
        assert job.id not in workbench.dispatcher.live

    visit(scenario)


def test_another_browsers_run_keeps_nobody_from_asking_for_an_own_one(visit: Visit) -> None:
    async def scenario(user: Any, workbench: Any) -> None:
        source = day(5).solution.read_text()
        first = await workbench.dispatcher.add("another", "judge", 5, source)
        await user.open("/day/5/lab")
        await user.should_see("another browser's run", retries=50)
        user.find("Run").click()
        await user.should_see("next in line", retries=50)
        (own,) = [each for each in workbench.dispatcher.live.values() if each.job.id != first.id]
        assert not own.running
        user.find("Run").click()  # one of its own at a time
        await asyncio.sleep(0.3)
        assert len(workbench.dispatcher.live) <= 2
        await user.should_see("Not yet", retries=300)

    visit(scenario)


def seconds_run(user: Any) -> int:
    """As the page says of the run that goes on."""
    texts = [label.text for label in user.find(kind=ui.label).elements if label.text.startswith("running: ")]
    found = re.search(r"(\d+) s$", texts[0]) if texts else None
    return int(found[1]) if found else 0


async def goes_on(user: Any) -> None:
    before, deadline = seconds_run(user), time.monotonic() + 60
    while seconds_run(user) <= before:
        assert time.monotonic() < deadline, f"it stays at {before} s"
        await asyncio.sleep(0.05)


def test_while_a_run_goes_on_its_time_does(visit: Visit) -> None:
    async def scenario(user: Any, workbench: Any) -> None:
        endless = day(5).solution.read_text().replace("__syncthreads();", "while (n) ;")
        await user.open("/day/5/lab")
        (editor,) = user.find(ui.codemirror).elements
        editor.value = endless
        user.find("Run").click()
        await user.should_see("n=", retries=200)
        await goes_on(user)
        await goes_on(user)
        user.find("Cancel").click()
        await user.should_see("The run was cancelled", retries=200)

    visit(scenario)


def test_hints_come_one_by_one_and_the_solution_on_asking_is_recorded(visit: Visit, mine: Path) -> None:
    async def scenario(user: Any, _: Any) -> None:
        await user.open("/day/5/lab")
        await user.should_not_see(kind=ui.markdown, content="Step 1 is there")
        user.find("First hint of 4").click()
        await user.should_see("Next hint of 4", retries=20)
        user.find("Show it, and record that").click()
        await user.should_see("The whole ladder", retries=20)

    visit(scenario)
    with recorded(mine) as progress:
        assert progress.hints(5) == 1
        assert progress.solution_seen_early(5)


def test_every_day_opens_with_its_lab(visit: Visit) -> None:
    async def scenario(user: Any, _: Any) -> None:
        for number in day_numbers():
            await user.open(f"/day/{number}")
            await user.should_see("Say what you expect")
            await user.open(f"/day/{number}/lab")
            await user.should_see("First hint")

    visit(scenario)


@pytest.mark.parametrize("path", ["/chat", "/glossary", "/history", "/ladders", "/portfolio", "/settings"])
def test_every_other_page_opens(visit: Visit, path: str) -> None:
    async def scenario(user: Any, _: Any) -> None:
        await user.open(path)
        await user.should_see(kind=ui.html, content=path[1:].capitalize())

    visit(scenario)


def test_a_ladder_shows_what_was_measured_beside_what_is_predicted(visit: Visit) -> None:
    times = recorded_times("transpose")
    assert times is not None
    slow, fast = times.rungs["01_naive"], times.rungs["02_shared_tile"]

    async def scenario(user: Any, _: Any) -> None:
        await user.open("/ladder/transpose")
        for rung in find("transpose").rungs():
            await user.should_see(rung.name)
        for text in (
            f"Measured on an {times.gpu}",
            f"{slow.measured_ms:.4g} ms",
            f"{slow.predicted_ms:.4g} ms",
            f"{slow.measured_ms / fast.measured_ms:.2f}".rstrip("0") + "× faster than the rung below",
            "the speed of torch.copy_",
        ):
            await user.should_see(text)
        await user.should_not_see(kind=ui.markdown, content="__global__")
        _toggle(_all(user, ui.element, "source")[0])
        await user.should_see(kind=ui.markdown, content="__global__")

    visit(scenario)


def test_a_rung_that_gained_nothing_is_as_fast_as_the_one_below(visit: Visit) -> None:
    async def scenario(user: Any, _: Any) -> None:
        await user.open("/ladder/matmul")  # whose rung 07 is as fast as its 06
        await user.should_see("As fast as the rung below")

    visit(scenario)


def test_a_ladder_without_times_says_how_to_climb_it(visit: Visit) -> None:
    name = next(each for each in problem_names() if recorded_times(each) is None)

    async def scenario(user: Any, _: Any) -> None:
        await user.open(f"/ladder/{name}")
        await user.should_see(f"gridstride climb {name} counts and predicts on this machine")
        answer = await user.http_client.get("/ladder/nosuch")
        assert answer.status_code == 404
        assert "There is no ladder" in answer.text

    visit(scenario)


def test_ladders_are_linked_from_the_days_and_their_labs(visit: Visit) -> None:
    number = next(each for each in day_numbers() if day(each).lab.problem)
    name = day(number).lab.problem

    async def scenario(user: Any, _: Any) -> None:
        for path in ("/", f"/day/{number}/lab"):
            await user.open(path)
            parts = user.find(ui.link).elements | user.find(ui.html).elements
            assert any(f"/ladder/{name}" in f"{part.props.get('href')} {part.props.get('innerHTML')}" for part in parts)

    visit(scenario)


def test_a_chat_without_a_server_says_how_to_start_one(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:  # bound and not listening: nobody answers there, and nobody else takes it
        free.bind(("127.0.0.1", 0))
        monkeypatch.setattr(chat, "_PORT", free.getsockname()[1])

        async def scenario(user: Any, _: Any) -> None:
            await user.open("/chat")
            await user.should_see("No model can be talked to", retries=50)
            await user.should_see("gridstride serve FOLDER")
            await user.should_not_see("Send")

        visit(scenario)


def test_a_chat_shows_the_answer_and_keeps_what_was_not_answered(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    with model_server(["Warps ", "wait."], "out of memory") as (port, asked):
        monkeypatch.setattr(chat, "_PORT", port)

        async def scenario(user: Any, _: Any) -> None:
            await user.open("/chat")
            await user.should_see("tiny answers", retries=50)
            (field,) = user.find(ui.textarea).elements
            field.value = "What do warps do?"
            user.find("Send").click()
            await user.should_see("Warps wait.", retries=50)
            field.value = "And then?"
            user.find("Send").click()
            await user.should_see("the server says 500: out of memory", retries=50)
            assert field.value == "And then?"

        visit(scenario)
    assert [len(each["messages"]) for each in asked] == [1, 3]


def test_the_glossary_is_narrowed(visit: Visit) -> None:
    async def scenario(user: Any, _: Any) -> None:
        await user.open("/glossary")
        user.find(ui.input).type("coalesc")
        (terms,) = _all(user, ui.html, "terms")
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
        _toggle(_all(user, ui.element, "source")[0])
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
        await _click(user, _all(user, ui.element, "choice")["abcdefgh".index(question.answer)])
        await user.should_see("Right:")
        await user.open("/again")
        await user.should_see("No question waits to be asked again")

    visit(scenario)


def test_a_lab_file_that_cannot_be_opened_is_said_and_the_other_pages_stay(visit: Visit, mine: Path) -> None:
    (mine / "day005").mkdir()
    file = mine / "day005/fields.cu"
    os.mkfifo(file)

    async def scenario(user: Any, _: Any) -> None:
        await user.open("/day/5/lab")
        await user.should_see("is a pipe or a device")
        await user.should_not_see(kind=ui.codemirror)
        await user.open("/")
        await user.should_see("The course")
        file.unlink()
        await user.open("/day/5/lab")
        await user.should_see(kind=ui.codemirror)

    visit(scenario)


def test_an_open_editor_says_once_that_its_file_is_none_and_goes_on_when_it_is_one(
    visit: Visit, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(editor_page, "_TICK", 0.05)

    async def scenario(user: Any, _: Any) -> None:
        await user.open("/day/5/lab")
        file = mine / "day005/fields.cu"
        file.write_bytes(b"caf\xe9")
        await user.should_see("is not UTF-8 text", retries=50)
        said = _all(user, ui.element, "trouble")
        await asyncio.sleep(0.3)
        assert _all(user, ui.element, "trouble") == said
        file.write_text("theirs")
        await user.should_see("reloaded", retries=50)
        await user.should_not_see("is not UTF-8 text")

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


def test_a_hint_that_cannot_be_recorded_is_said(visit: Visit, mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_WAIT", 0.1)

    async def scenario(user: Any, _: Any) -> None:
        await user.open("/day/5/lab")
        other = sqlite3.connect(mine / "progress.sqlite", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        user.find("First hint of 4").click()
        await user.should_see("locked by another program", retries=50)
        other.close()

    visit(scenario)


def test_a_file_that_was_changed_twice_is_asked_about(visit: Visit, mine: Path) -> None:
    async def scenario(user: Any, _: Any) -> None:
        await user.open("/day/5/lab")
        (editor,) = user.find(ui.codemirror).elements
        editor.value = "mine"
        (mine / "day005/fields.cu").write_text("theirs")
        await user.should_see("Which text is to be kept?", retries=40)
        assert (mine / "day005/fields.cu").read_text() == "theirs"
        user.find("What stands in the editor").click()
        await user.should_not_see("Which text is to be kept?", retries=40)
        assert (mine / "day005/fields.cu").read_text() == "mine"

    visit(scenario)


def test_what_an_editor_elsewhere_saves_comes_into_the_page(visit: Visit, mine: Path) -> None:
    async def scenario(user: Any, _: Any) -> None:
        await user.open("/day/5/lab")
        (mine / "day005/fields.cu").write_text("theirs")
        await user.should_see("reloaded: another program wrote the file", retries=40)
        assert [each.value for each in user.find(ui.codemirror).elements] == ["theirs"]

    visit(scenario)


def test_a_portfolio_without_a_pass_says_what_is_missing(visit: Visit) -> None:
    async def scenario(user: Any, _: Any) -> None:
        await user.open("/portfolio")
        user.find("Write it").click()
        await user.should_see("no lab has been passed yet", retries=200)

    visit(scenario)


def _all(user: Any, kind: type[ui.element], css_class: str = "") -> list[Any]:
    """The elements of a kind, those first that were made first."""
    found = user.find(kind=kind).elements
    return sorted((each for each in found if not css_class or css_class in each.classes), key=lambda each: each.id)


def _toggle(details: ui.element) -> None:
    """As a browser says that a line was opened."""
    details._handle_event({"listener_id": next(iter(details._event_listeners)), "args": {}})


async def _click(user: Any, element: ui.element) -> None:
    """As a browser would, on one element of several alike."""
    from nicegui.testing.user_interaction import UserInteraction

    UserInteraction(user, {element}, None).click()
    await asyncio.sleep(0)
