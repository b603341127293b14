"""What judges a day's lab, by the lab's kind."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gridstride.course.labs.lab_verdict import LabVerdict
from gridstride.course.lesson import Day

Judge = Callable[[Path], LabVerdict]


def _quiet(_: str) -> None:
    pass


@contextmanager
def judge_of(
    day: Day, *, draw: random.Random | None = None, progress: Callable[[str], None] = _quiet
) -> Iterator[Judge]:
    """The judge, ready; `draw` gives a program's sizes and data, `progress` hears of each case of a kernel before it is
    run. MissingToolchain where compilers are needed.
    """
    if day.lab.kind == "writing":
        from gridstride.course.labs import table_lab

        yield lambda file: table_lab.judge(day, file)
    elif day.lab.kind == "program":
        from gridstride.course.labs.program_lab import ProgramLab

        with ProgramLab(day, draw=draw) as program_lab:
            program_lab.warm_up()
            yield program_lab.judge
    else:
        from gridstride.course.labs.kernel_lab import KernelLab

        with KernelLab(day, progress=progress) as kernel_lab:
            kernel_lab.warm_up()
            yield kernel_lab.judge
