"""A lab whose file is a kernel: the judge's verdict, from a process that stays ready between two of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from gridstride.closed_at_end import ClosedAtEnd
from gridstride.course.figures.worked_kernels import WorkedKernels
from gridstride.course.labs.bounds import exceeded
from gridstride.course.labs.lab_verdict import LabFinding, LabVerdict, with_line, without_more_time
from gridstride.course.lesson import Day

_PATIENCE = 30.0  # seconds for a launch: of large cases under observation some take ten


def _quiet(_: str) -> None:
    pass


class KernelLab(ClosedAtEnd):
    """Judges one day's kernel again and again. The worker, the cases and their answers are made once; `progress` hears
    of each case before it is run.
    """

    def __init__(self, day: Day, *, progress: Callable[[str], None] = _quiet) -> None:
        from gridstride.judge.find import find
        from gridstride.judge.ladder import Ladder, Listeners
        from gridstride.virtual.gpu import VirtualGPU

        self.day = day
        device = VirtualGPU(day.lab.chip, time_limit=_PATIENCE)
        self._ladder = Ladder(find(day.lab.problem), device=device, sandbox=True, listeners=Listeners(case=progress))
        self._bench = WorkedKernels(day)

    def warm_up(self) -> None:
        """Prepare the cases, so that the first verdict does not wait for them."""
        for _ in self._ladder.cases():
            pass

    def judge(self, file: Path) -> LabVerdict:
        """The verdict on the file as it is now; OSError where it cannot be read."""
        from gridstride.judge.header import HeaderError, read_kernel

        began = time.perf_counter()
        try:
            kernel = read_kernel(file)
            if kernel.launch is None and (finding := self._no_launch(kernel)):
                return LabVerdict(self.day.number, (finding,), time.perf_counter() - began)
            result = self._ladder.judge(kernel)
        except HeaderError as error:
            finding = LabFinding("launch", error.message, error.line, shown=(str(error),))
            return LabVerdict(self.day.number, (finding,), time.perf_counter() - began)
        findings = tuple(_finding(finding, file) for finding in result.findings) or self._beyond_bounds(
            result.run, file
        )
        measured = {} if findings else self._measured(result.run)
        return LabVerdict(self.day.number, findings, time.perf_counter() - began, measured, result.cases,
                          source=kernel.source, chip=self.day.lab.chip)  # fmt: skip

    def close(self) -> None:
        """End the worker."""
        self._ladder.close()

    def _no_launch(self, kernel: Any) -> LabFinding | None:
        """Where the file does not say its grid and block: the lines that the lab's file was given with."""
        from gridstride.judge.header import read_kernel, stray_grid

        launch = read_kernel(self.day.starter).launch
        if launch is None:  # the problem's own launch is meant
            return None
        line = stray_grid(kernel.source)
        where = f"the launch shape in line {line} is below the file's opening comment" if line else "no launch shape"
        message = (
            f"{where}: the file opens with its grid (how many blocks) and its block (how many threads in each), as it "
            "did when it was given to you:"
        )
        lines = (f"// block: {' '.join(launch.block)}", f"// grid: {' '.join(launch.grid)}")
        location = f", line {line}" if line else ""
        shown = (f"launch{location}: {message}", *(f"  {line}" for line in lines))
        return LabFinding("launch", "\n".join((message, *lines)), line, shown=shown)

    def _beyond_bounds(self, run: Any, file: Path) -> tuple[LabFinding, ...]:
        return tuple(replace(bound, shown=_shown(bound, file)) for bound in exceeded(self.day, run))

    def _measured(self, run: Any) -> dict[str, float]:
        return {name: self._bench.value(name, lab=run) for name in self.day.lab.measures}


def _finding(finding: Any, file: Path) -> LabFinding:
    finding = replace(finding, message=without_more_time(finding.message))
    return LabFinding(finding.kind, finding.message, finding.line, shown=_shown(finding, file))


def _shown(finding: Any, file: Path) -> tuple[str, ...]:
    """What a terminal shows of the judge's finding or the lab's own, with its source line."""
    location = f", line {finding.line}" if finding.line else ""
    text = file.read_text(encoding="utf-8-sig", errors="replace")
    line = None if finding.kind == "compile_error" else finding.line  # the compiler's message has it
    return with_line(f"{finding.kind.replace('_', ' ')}{location}: {finding.message}", text, line)
