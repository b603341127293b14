"""`gridstride progress`: what has been done, and what comes next."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gridstride.commands.course.course_target import ALL_PASSED, days_there, opened
from gridstride.commands.terminal import emit, stdout

if TYPE_CHECKING:
    from gridstride.course.learner.standing import DayStanding

_HEADER = ("day", "", "lab", "runs", "hints", "quiz")


def run(*, as_json: bool) -> bool:
    """Show each day, the streak, and how many questions wait."""
    from gridstride.course.learner.standing import due_count, next_day, next_step, standing, streak
    from gridstride.course.learner.workspace import workspace

    with opened() as progress:
        days = days_there()
        rows = [standing(day, progress) for day in days]
        row_of_days = streak(progress.active_times(), datetime.now().astimezone().date())
        waiting = due_count(days, progress, datetime.now(UTC))
        following = next_day(days, progress)
        command = next_step(standing(following, progress)) if following else None
    if as_json:
        emit({"folder": str(workspace()), "days": [row.json() for row in rows], "streak": row_of_days,
              "due": waiting, "next": following.number if following else None, "command": command})  # fmt: skip
        return True
    from gridstride.virtual.observe.figures import aligned

    console = stdout()
    cells = [_row(row) for row in rows]
    for line in aligned(_HEADER, cells, left=(1, 2)):
        console.print(line)
    console.print()
    in_a_row = "1 day" if row_of_days == 1 else f"{row_of_days} days"
    console.print(f"{in_a_row} in a row; questions that wait to be asked again: {waiting} (gridstride quiz)")
    console.print(f"Next: {command}" if command else f"{ALL_PASSED}.")
    console.print(f"Your files: {workspace()}", style="dim")
    return True


def _row(row: DayStanding) -> list[str]:
    lab = "passed" if row.passed else "begun" if row.runs else "–"
    solution_note = " (solution first)" if row.solution_first else ""
    hints, quiz = f"{row.hints} of {len(row.day.lab.hints)}", f"{row.right} of {len(row.day.questions)}"
    return [str(row.day.number), row.day.title, lab + solution_note, str(row.runs), hints, quiz]
