"""A lab in a notebook: its verdict, its hints, and the pictures that explain a kernel, shown as HTML."""

from __future__ import annotations

import atexit
from contextlib import ExitStack
from dataclasses import dataclass
from html import escape

from gridstride.course.content import day
from gridstride.course.course_errors import ProgressError
from gridstride.course.labs.lab_judge import Judge, judge_of
from gridstride.course.labs.lab_verdict import LabFinding, LabVerdict
from gridstride.course.learner.predictions import measurement, predictions
from gridstride.course.learner.progress import LearnerProgress
from gridstride.course.learner.workspace import prepare_lab, progress_file
from gridstride.course.lesson import Day
from gridstride.plain import plain

_PATIENCE = 10.0  # seconds for a launch, which takes milliseconds
_PASS, _FAIL = "#1b8a4e", "#d0453c"  # legible on a light page and on a dark one


@dataclass(frozen=True, slots=True)
class NotebookVerdict:
    """A verdict as a notebook shows it; `lines` are a terminal's."""

    verdict: LabVerdict
    shows: str
    measured: tuple[tuple[str, str], ...]

    def __repr__(self) -> str:
        lines = [line for finding in self.verdict.findings for line in finding.shown]
        return plain("\n".join([self._headline(), *lines, *(f"{name}: {text}" for name, text in self.measured)]))

    def _repr_html_(self) -> str:
        colour = _PASS if self.verdict.passed else _FAIL
        rows = "".join(f"<tr><td>{_text(name)}</td><td>{_text(text)}</td></tr>" for name, text in self.measured)
        html = f"<p>{_text(self.shows)}</p>" if self.verdict.passed else ""
        return (
            f"<div style='border-left:3px solid {colour};padding:2px 0 2px 12px'><b style='color:{colour}'>"
            f"{_text(self._headline())}</b>{html}{''.join(map(_finding, self.verdict.findings))}"
            f"{f'<table>{rows}</table>' if rows else ''}</div>"
        )

    def _headline(self) -> str:
        return f"{'Pass' if self.verdict.passed else 'Not yet'} ({self.verdict.seconds:.1f} s)"


@dataclass(frozen=True, slots=True)
class Explained:
    """The page that `gridstride explain --report` writes, in a frame of its own, where its scripts would not run."""

    page: str
    said: str

    def __repr__(self) -> str:
        return self.said

    def _repr_html_(self) -> str:
        return (
            f'<iframe sandbox="" title="The kernel explained" srcdoc="{escape(self.page)}" '
            'style="width:100%;height:760px;border:1px solid rgba(128,128,128,.4)"></iframe>'
        )


@dataclass(frozen=True, slots=True)
class Hint:
    """The hints that were taken, the newest last."""

    texts: tuple[str, ...]
    of: int

    def __repr__(self) -> str:
        return "\n".join(f"{number}. {text.strip()}" for number, text in enumerate(self.texts, start=1))

    def _repr_markdown_(self) -> str:
        return f"{self!r}\n\n({len(self.texts)} of {self.of})"


class Lab:
    """One day's lab: the learner's file, judged on asking. What judges it stays ready until Python ends."""

    def __init__(self, number: int) -> None:
        self.day: Day = day(number)
        self.file, _ = prepare_lab(self.day)
        self._ready = ExitStack()
        self._judge: Judge | None = None
        atexit.register(self._ready.close)

    def __repr__(self) -> str:
        return f"Lab of day {self.day.number}: {self.day.lab.title} ({self.file})"

    def check(self) -> NotebookVerdict:
        """The verdict on the file as it is now, recorded as every other; ProgressError, MissingToolchain."""
        if self._judge is None:
            self._judge = self._ready.enter_context(judge_of(self.day))
        try:
            verdict = self._judge(self.file)
        except OSError as error:
            raise ProgressError(f"{self.file} cannot be read: {error.strerror}") from error
        with LearnerProgress(progress_file()) as progress:
            progress.record_verdict(verdict)
            predicted = predictions(self.day, progress)
        measured = tuple(
            (name.replace("_", " "), measurement(self.day, name, value, predicted.get(name)))
            for name, value in verdict.measured.items()
        )
        return NotebookVerdict(verdict, self.day.lab.shows, measured)

    def hint(self) -> Hint:
        """One hint more, and the ones before it; that it was taken is recorded."""
        hints = self.day.lab.hints
        with LearnerProgress(progress_file()) as progress:
            hints_shown = progress.next_hint(self.day.number, len(hints))
        return Hint(tuple(hints[:hints_shown]), len(hints))

    def explain(self) -> Explained:
        """The kernel, or a program's launches, run once more in the sandbox for their pictures; ProblemError where the
        lab has neither, NothingToShow, BuildFailed.
        """
        from gridstride.judge.explain import explain
        from gridstride.judge.find import find
        from gridstride.judge.problem import ProblemError
        from gridstride.judge.report.kernel_page import render
        from gridstride.judge.submission import submission
        from gridstride.virtual.gpu import VirtualGPU

        lab = self.day.lab
        if lab.kind == "program":
            return self._pictured()
        if lab.kind != "kernel":
            raise ProblemError(f"the lab of day {self.day.number} is no kernel: lab.check() judges it")
        device = VirtualGPU(lab.chip, time_limit=_PATIENCE)
        explained = explain(submission(self.file), find(lab.problem), device=device)
        command = f"gridstride explain {lab.file} --problem {lab.problem} --chip {lab.chip}"
        limiter = (
            f", limited by {explained.profile.limiter}" if explained.profile and explained.profile.complete else ""
        )
        return Explained(render(explained, command=command), f"{lab.problem}: {explained.result.verdict}{limiter}")

    def _pictured(self) -> Explained:
        from gridstride.course.labs.program_pictures import page

        return Explained(page(self.day, self.file), f"{self.file.name}: its launches in the lab's first run")


def _finding(finding: LabFinding) -> str:
    location = f", line {finding.line}" if finding.line else ""
    shown = "\n".join(line for line in finding.shown[1:] if " | " in line)
    listing = f"<pre style='margin:2px 0'>{_text(shown)}</pre>" if shown else ""
    heading = f"<b>{_text(finding.kind.replace('_', ' '))}{location}</b>"
    if finding.kind == "compile_error":
        return f"<div>{heading}<pre style='margin:2px 0'>{_text(finding.message)}</pre></div>"
    return f"<div style='white-space:pre-line'>{heading} {_text(finding.message)}</div>{listing}"


def _text(text: str) -> str:
    return escape(plain(text))
