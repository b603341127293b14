"""How long after a save `gridstride watch` has a verdict: `python bench/watch.py [--repeats N]`.

A process of its own watches each lab whose file is a kernel. Each wrong attempt and the solution is saved over the file
in turn, each time with another comment at the end, so that nothing comes from the cache.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import ROOT, Row, machine, publish

sys.path.insert(0, str(ROOT / "src"))

from gridstride.course.content import day, day_numbers
from gridstride.course.lesson import Day

TARGET = 2.0  # seconds


def seconds(lesson: Day, attempt: Path, repeats: int) -> list[float]:
    """From a save to the line that says what came of it."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "GRIDSTRIDE_COURSE": folder, "PYTHONUNBUFFERED": "1"}
        command = [sys.executable, "-m", "gridstride", "watch", str(lesson.number)]
        found = []
        with subprocess.Popen(command, cwd=ROOT / "src", env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True) as process:  # fmt: skip
            _verdict(process)
            for number in range(repeats):
                text = f"{attempt.read_text()}// {number} {time.time_ns()}\n"
                began = time.perf_counter()
                (Path(folder) / lesson.name / lesson.lab.file).write_text(text)
                passed = _verdict(process)
                found.append(time.perf_counter() - began)
                if passed:  # which ends the watch
                    return found
            process.terminate()
        return found


def _verdict(process: subprocess.Popen[str]) -> bool:
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(("pass (", "not yet (")):
            return line.startswith("pass")
    raise RuntimeError("gridstride watch ended without a verdict")


def measured(lesson: Day, attempt: Path, repeats: int) -> list[float]:
    """The same; a solution needs a process for each, as it passes."""
    if attempt == lesson.solution:
        return [each for _ in range(repeats) for each in seconds(lesson, attempt, 1)]
    return seconds(lesson, attempt, repeats)


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--repeats", type=int, default=3)
    repeats = words.parse_args().repeats
    started, rows = machine(), []
    for lesson in (each for each in map(day, day_numbers()) if each.lab.kind == "kernel"):
        for attempt in (lesson.solution, *lesson.wrong):
            times = measured(lesson, attempt, repeats)
            median = statistics.median(times)
            name = f"day {lesson.number}, {attempt.parent.name} {attempt.stem}"
            rows.append(Row(name, f"{median:.2f} s", f"{TARGET:g} s", median <= TARGET, detail={"seconds": times}))
    publish("watch", rows, started)


if __name__ == "__main__":
    main()
