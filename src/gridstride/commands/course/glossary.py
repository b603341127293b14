"""`gridstride glossary`: the terms of the lessons."""

from __future__ import annotations

import re

from gridstride.commands.course.course_target import course_errors
from gridstride.commands.terminal import WrongUse, emit, stdout

_DAY = re.compile(r"\(Day (\d+)\)")


def run(term: str | None, *, as_json: bool) -> bool:
    """Show one term, or all of them."""
    from gridstride.course.content import glossary
    from gridstride.course.files.markdown import for_terminal
    from gridstride.course.glossary import Term, find_term

    with course_errors():
        terms = glossary()
    match = find_term(terms, term) if term is not None else None
    if isinstance(match, str):
        raise WrongUse(match)
    shown = [match] if isinstance(match, Term) else list(terms.values())
    if as_json:
        emit({"terms": [{"term": entry.name, "meaning": for_terminal(entry.meaning).strip()} for entry in shown]})
        return True
    console = stdout()
    for entry in shown:
        console.print(entry.name, style="bold")
        console.print(f"  {_DAY.sub(_written, for_terminal(entry.meaning).strip())}\n")
    return True


def _written(day: re.Match[str]) -> str:
    """The day that explains a term, and whether it is there."""
    from gridstride.course.content import day_numbers

    return day[0] if int(day[1]) in day_numbers() else f"(Day {day[1]}, not written yet)"
