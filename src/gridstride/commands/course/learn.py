"""`gridstride learn`: a day's lesson in the terminal, and its lab in the learner's folder."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from gridstride.commands.course.course_target import ALL_PASSED, all_passed, chosen_day, opened
from gridstride.commands.terminal import emit, paged, stdout

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from gridstride.course.learner.standing import DayStanding
    from gridstride.course.lesson import Day


def run(word: str | None, *, notebook: bool, as_json: bool) -> bool:
    """Show the lesson, copy the lab's file where there is none yet; or write both as a notebook."""
    from gridstride.course.files.markdown import for_terminal
    from gridstride.course.learner.standing import standing
    from gridstride.course.learner.workspace import prepare_lab, prepare_worked

    with opened() as progress:
        if word is None and not as_json and all_passed(progress):
            stdout().print(f"{ALL_PASSED}. gridstride learn DAY opens one again, gridstride quiz asks what is due.")
            return True
        day = chosen_day(word, progress)
        if notebook:
            return _notebook(day, as_json=as_json)
        file, is_new = prepare_lab(day)
        worked = prepare_worked(day)
        so_far = standing(day, progress)
    if as_json:
        emit({
            "day": day.number, "title": day.title, "part": day.part, "minutes": day.minutes,
            "concepts": list(day.concepts), "needs": list(day.needs), "sources": list(day.sources),
            "lesson": for_terminal(day.text), "lab": day.lab.title, "file": str(file), "copied": is_new,
            "worked": worked and str(worked), "passed": so_far.passed,
        })  # fmt: skip
        return True
    console = stdout()
    with paged(console):
        _show_lesson(console, day, for_terminal(day.text))
    _show_lab(console, day, file, so_far, is_new=is_new)
    if worked is not None:
        console.print(f"\nThe lesson's own files: {worked}", style="dim", soft_wrap=True)
    return True


def _notebook(day: Day, *, as_json: bool) -> bool:
    from gridstride.course.notebook import prepare_notebook

    file, is_new = prepare_notebook(day)
    if as_json:
        emit({"day": day.number, "title": day.title, "notebook": str(file), "written": is_new})
        return True
    console = stdout()
    console.print(f"{file}{'' if is_new else ' (as you left it)'}", soft_wrap=True)
    console.print(f"  jupyter lab {shlex.quote(str(file))}    opens it (pip install jupyterlab)", soft_wrap=True)
    return True


def _show_lesson(console: Console, day: Day, text: str) -> None:
    from rich.markdown import Markdown

    console.print(f"Day {day.number} · {day.title} · {day.part} · {day.minutes} minutes", style="bold")
    if day.needs:
        console.print(f"After {', '.join(map(_needed, day.needs))}", style="dim")
    console.print()
    console.print(Markdown(text, hyperlinks=False), soft_wrap=False, width=min(console.width, 100))
    console.print()
    console.print(f"New words: {', '.join(day.concepts)} (gridstride glossary WORD)", style="dim")
    console.print(f"Sources: {'; '.join(day.sources)}", style="dim")
    if missing := _named_and_missing(text):
        console.print(f"Not written yet: {', '.join(f'day {number}' for number in missing)}", style="dim")
    console.print()


def _show_lab(console: Console, day: Day, file: Path, so_far: DayStanding, *, is_new: bool) -> None:
    """What there is to do, below the lesson's last page."""
    console.print(f"Lab: {day.lab.title}", style="bold")
    console.print(f"  {file}{'' if is_new else ' (as you left it)'}")
    number = day.number
    if day.lab.kind == "program" and (missing := _missing_compilers()):
        console.print(f"  {missing}", style="yellow")
    console.print(f"  gridstride quiz {number}    say what you expect before you run it")
    console.print(f"  gridstride watch {number}   judge it on every save")
    console.print(f"  gridstride hint {number}    when you are stuck")
    if so_far.passed:
        console.print(f"\nDay {number} is passed: gridstride solution {number} shows the solution.", style="green")


def _missing_compilers() -> str:
    """What is to be installed before a whole program can be compiled; empty where nothing is."""
    from gridstride.programs.program_errors import ProgramError
    from gridstride.programs.toolchain.wheels import toolchain

    try:
        toolchain()
    except ProgramError as missing:
        return str(missing)
    return ""


def _named_and_missing(text: str) -> list[int]:
    """The days that a lesson speaks of and the course does not have."""
    from gridstride.course.content import day_numbers

    return sorted({int(number) for number in re.findall(r"\b[Dd]ay (\d+)", text)} - set(day_numbers()))


def _needed(number: int) -> str:
    """An earlier day that a lesson builds on."""
    from gridstride.course.content import day_numbers

    return f"day {number}" if number in day_numbers() else f"day {number} (not written yet)"
