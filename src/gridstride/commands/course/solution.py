"""`gridstride solution`: a day's solution, once its lab is passed or when it is asked for all the same."""

from __future__ import annotations

from gridstride.commands.course.course_target import chosen_day, opened
from gridstride.commands.terminal import emit, stdout


def run(word: str | None, *, anyway: bool, as_json: bool) -> bool:
    """Show the solution; False where the lab is not passed and nobody insists."""
    from gridstride.course.learner.standing import standing

    with opened() as progress:
        day = chosen_day(word, progress)
        passed = standing(day, progress).passed
        shown = passed or anyway
        if shown:
            progress.record_solution(day.number, passed=passed)
    text = day.solution.read_text() if shown else ""
    ladder = f"gridstride climb {day.lab.problem}" if day.lab.problem and shown else ""
    if as_json:
        emit({"day": day.number, "passed": passed, "shown": shown, "solution": text or None, "ladder": ladder or None})
        return shown
    console = stdout()
    if not shown:
        console.print(
            f"Day {day.number} is not passed yet. gridstride hint {day.number} gives a hint; with --anyway the "
            "solution is shown, and progress says so."
        )
        return False
    console.print(text.rstrip("\n"))
    if ladder:
        console.print(f"\nThe whole ladder: {ladder}", style="dim")
    return True
