"""`gridstride hint`: one hint more for a day's lab."""

from __future__ import annotations

from gridstride.commands.course.course_target import chosen_day, opened
from gridstride.commands.terminal import emit, stdout


def run(word: str | None, *, as_json: bool) -> bool:
    """Show the next hint, and the ones before it; that it was taken is recorded."""
    with opened() as progress:
        day = chosen_day(word, progress)
        hints = day.lab.hints
        number = progress.next_hint(day.number, len(hints))
    if as_json:
        emit({"day": day.number, "number": number, "of": len(hints), "hints": list(hints[:number])})
        return True
    console = stdout()
    for index, text in enumerate(hints[:number], start=1):
        console.print(f"{index}. {text.strip()}", style="dim" if index < number else None)
    remaining = len(hints) - number
    console.print(
        f"\n{remaining} more"
        if remaining
        else f"\nThat was the last; gridstride solution {day.number} --anyway is left."
    )
    return True
