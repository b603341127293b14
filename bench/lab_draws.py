"""Whether the labs whose file is a whole program judge the same whatever is drawn.

    python bench/lab_draws.py [--draws N] [--day D]…

Each solution, worked program and wrong attempt is judged N times, each time with other sizes, data and orders; the
tests do so once, with draws that stay the same. A solution must pass each time, and a wrong attempt be refused with
the finding that it names.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from pathlib import Path

from common import Row, machine, publish

from gridstride.course.content import day, day_numbers
from gridstride.course.labs.lab_judge import judge_of
from gridstride.course.labs.lab_verdict import LabVerdict
from gridstride.course.lesson import Day
from gridstride.judge.header import read_kernel


def files(lesson: Day) -> Iterator[Path]:
    """What must pass, then what must not."""
    yield lesson.solution
    worked = sorted((lesson.folder / "worked").glob("*.cu"))
    yield from (each for each in worked if "int main(" in each.read_text())
    yield from lesson.wrong


def as_expected(lesson: Day, file: Path, verdict: LabVerdict) -> bool:
    """Whether the verdict is what the tests ask of this file."""
    if file not in lesson.wrong:
        return verdict.passed == (file == lesson.solution or file.name in lesson.lab.passes)
    expect = read_kernel(file).expect
    assert expect is not None
    if verdict.passed:
        return False
    first = verdict.findings[0]
    return (expect.kind, expect.pattern or first.where) == (first.kind, first.where)


def row(lesson: Day, file: Path, draws: int) -> Row:
    others = []
    with judge_of(lesson, draw=random.Random()) as judge:
        for _ in range(draws):
            verdict = judge(file)
            if not as_expected(lesson, file, verdict):
                others.append(verdict.findings[0].message if verdict.findings else "passed")
    name = f"day {lesson.number}, {file.parent.name} {file.stem}"
    return Row(name, f"{draws - len(others)} of {draws}", f"{draws} of {draws}", not others, "; ".join(others))


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--draws", type=int, default=8)
    words.add_argument("--day", type=int, action="append", default=[])
    asked = words.parse_args()
    started, rows = machine(), []
    for lesson in map(day, asked.day or day_numbers()):
        if lesson.lab.kind == "program":
            for file in files(lesson):
                rows.append(row(lesson, file, asked.draws))
                print(rows[-1].name, rows[-1].figure, flush=True)
    publish("lab_draws", rows, started)


if __name__ == "__main__":
    main()
