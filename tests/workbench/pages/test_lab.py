"""The lab's page: its editor, its runs, its verdict, hints and the solution."""

from __future__ import annotations

import asyncio
import os
import re
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from nicegui import ui
from page_elements import Visit, elements, recorded

from gridstride.course.content import day, day_numbers
from gridstride.workbench import store
from gridstride.workbench.lab_text import LabText
from gridstride.workbench.pages import editor as editor_page
from gridstride.workbench.pages.editor import Editor


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
        (below,) = elements(user, ui.element, "solution")
        assert below.parent_slot.parent is elements(user, ui.element, "page")[0]
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
        said = elements(user, ui.element, "trouble")
        await asyncio.sleep(0.3)
        assert elements(user, ui.element, "trouble") == said
        file.write_text("theirs")
        await user.should_see("reloaded", retries=50)
        await user.should_not_see("is not UTF-8 text")

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
