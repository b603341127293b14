"""How long after a save `gridstride watch` has a verdict.

    python bench/watch.py [--repeats N] [--day D]…

A process of its own watches each lab whose file is a kernel, and that of day 3, a whole program. The solution and each
wrong attempt are saved over the file in turn, each time with another edit, so that no verdict comes from a cache: in a
kernel's file a comment, in a program a line of main(); its solution also with an edited line of the kernel, and with
a comment. The starter has been judged before a solution is, so that all of the solution's text is new.

Seconds by the clock, from the save to the line that says what came of it, and of the processors, those of all its
processes together, which other work on the machine changes less: on two idle cores a verdict takes at least half of
those.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from common import CORES, ROOT, Row, machine, publish

sys.path.insert(0, str(ROOT / "src"))

from gridstride.course.content import day, day_numbers
from gridstride.course.lesson import Day

TARGET = 2.0  # seconds
PROGRAM = 3
"""The day whose program stands for all: two compilers and a run for each call that may fail."""
TICKS = os.sysconf("SC_CLK_TCK")
Edit = Callable[[str, int], str]
MAIN, KERNEL = re.compile(r"\bint main\([^)]*\)\s*\{"), re.compile(r"__global__ [^{]*\{")


def comment(text: str, number: int) -> str:
    """A comment at the end."""
    return f"{text}// {number}\n"


def host_line(text: str, number: int) -> str:
    """A line of main() that does nothing."""
    return MAIN.sub(lambda found: f"{found[0]} (void){number};", text, count=1)


def device_line(text: str, number: int) -> str:
    """A line of the kernel that leaves a comment in its PTX."""
    return KERNEL.sub(lambda found: f'{found[0]} asm volatile("// {number}");', text, count=1)


EDITS: dict[str, Edit] = {"a comment": comment, "a line of main()": host_line, "a line of the kernel": device_line}


def verdicts(lesson: Day, attempt: Path, edit: Edit, repeats: int) -> list[tuple[float, float]]:
    """Seconds by the clock and of the processors from a save to its verdict; once where it passes, which ends it."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "GRIDSTRIDE_COURSE": folder, "PYTHONUNBUFFERED": "1"}
        command = [sys.executable, "-m", "gridstride", "watch", str(lesson.number)]
        found = []
        with subprocess.Popen(command, cwd=ROOT / "src", env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True) as process:  # fmt: skip
            _verdict(process)
            for _ in range(repeats):
                text = edit(attempt.read_text(), time.time_ns() % 1_000_000_007)
                before, began = processor_seconds(process.pid), time.perf_counter()
                (Path(folder) / lesson.name / lesson.lab.file).write_text(text)
                passed = _verdict(process)
                wall = time.perf_counter() - began
                found.append((wall, processor_seconds(process.pid) - before))
                if passed:
                    break
            process.terminate()
        return found


def processor_seconds(process: int) -> float:
    """Of a process, of those below it, and of those that they have waited for."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        below = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:  # it has ended: who waited for it has its seconds
        return 0.0
    own = sum(map(int, fields[11:15])) / TICKS
    return own + sum(processor_seconds(int(each)) for each in below)


def _verdict(process: subprocess.Popen[str]) -> bool:
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(("pass (", "not yet (")):
            return line.startswith("pass")
    raise RuntimeError("gridstride watch ended without a verdict")


def measured(lesson: Day, attempt: Path, edit: Edit, repeats: int) -> list[tuple[float, float]]:
    """The same; a solution needs a process for each, as it passes."""
    if attempt == lesson.solution:
        return [each for _ in range(repeats) for each in verdicts(lesson, attempt, edit, 1)]
    return verdicts(lesson, attempt, edit, repeats)


def row(lesson: Day, attempt: Path, edited: str, repeats: int) -> Row:
    times = measured(lesson, attempt, EDITS[edited], repeats)
    wall, processors = (statistics.median(each) for each in zip(*times, strict=True))
    fastest = min(w for w, _ in times)
    cores = len(CORES[:2])
    name = f"day {lesson.number}, {attempt.parent.name} {attempt.stem}, {edited} edited"
    figure = f"{wall:.2f} s, {processors:.2f} s of processor time ({processors / cores:.2f} s on {cores} cores at best)"
    detail = {"wall_s": [w for w, _ in times], "processor_s": [p for _, p in times]}
    return Row(name, figure, f"< {TARGET:g} s", fastest < TARGET, detail=detail)


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--repeats", type=int, default=3)
    words.add_argument("--day", type=int, action="append", default=[])
    asked = words.parse_args()
    started, rows = machine(), []
    chosen = asked.day or [n for n in day_numbers() if day(n).lab.kind == "kernel" or n == PROGRAM]
    for lesson in map(day, chosen):
        program = lesson.lab.kind == "program"
        for edited in EDITS if program else ["a comment"]:
            rows.append(row(lesson, lesson.solution, edited, asked.repeats))
        for attempt in lesson.wrong:
            rows.append(row(lesson, attempt, "a line of main()" if program else "a comment", asked.repeats))
    publish("watch", rows, started)


if __name__ == "__main__":
    main()
