"""A lab whose file is a whole program: compiled, run several times on other data, and held against what must come."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gridstride.closed_at_end import ClosedAtEnd
from gridstride.course.figures.arithmetic import names
from gridstride.course.figures.figures import LAB, of_program
from gridstride.course.figures.worked_kernels import WorkedKernels
from gridstride.course.labs.bounds import UNORDERED, out_of_bounds
from gridstride.course.labs.lab_verdict import LabFinding, LabVerdict, with_line, with_words
from gridstride.course.labs.program_failures import after_a_failure, failing, ignored, with_its_last_call
from gridstride.course.labs.program_findings import (
    device_finding,
    ended_otherwise,
    ended_otherwise_modelled,
    last_lines,
    left_behind,
    not_built,
    not_destroyed,
    not_waited,
    only_in_an_order,
    printed_too_much,
    too_early,
    wrong_lines,
    wrong_numbers,
)
from gridstride.course.labs.program_trials import ProgramTrial, Trials
from gridstride.course.lesson import Day, LabRun
from gridstride.programs.calls.activity import KERNEL_COUNTS, OF_LINKS
from gridstride.programs.calls.objects import left_in_words
from gridstride.programs.timeline.totals import Totals

if TYPE_CHECKING:
    from gridstride.programs.process.confined import Outcome

_OF_A_PREDICTED_RUN = frozenset((*KERNEL_COUNTS, *OF_LINKS, *(field.name for field in fields(Totals))))


class ProgramLab(ClosedAtEnd):
    """Judges one day's program again and again. `draw` gives the runs' sizes and data."""

    def __init__(self, day: Day, *, draw: random.Random | None = None) -> None:
        self.day = day
        self._bench = WorkedKernels(day)
        self._trials = Trials(day.lab, draw or random.Random())
        self._first: dict[str, float] = {}
        self._source = day.lab.file

    def close(self) -> None:
        """Remove what was built."""
        self._trials.close()

    def warm_up(self) -> None:
        """Have the virtual GPU loaded; MissingToolchain where the compilers are not installed."""
        from gridstride.programs.toolchain.wheels import toolchain

        toolchain()
        self._trials.room.warm_up()

    def judge(self, file: Path) -> LabVerdict:
        """The verdict on the file as it is now; OSError where it cannot be read."""
        from gridstride.programs.program_errors import BuildFailed

        began = time.perf_counter()
        text = file.read_text(encoding="utf-8-sig", errors="replace")
        findings: tuple[LabFinding, ...] = ()
        measured: dict[str, float] = {}
        done = 0
        try:
            self._source = file.name
            self._trials.build(file)
        except BuildFailed as failed:
            findings = (not_built(failed.output, str(failed), text),)
        else:
            last = [run for run in self.day.lab.runs if run.late or run.checks]  # figures are more to the point
            done, findings = self._runs([run for run in self.day.lab.runs if run not in last], text)
            if not findings:
                counted, findings = self._of_the_first()
            if not findings:
                more, findings = self._runs(last, text)
                done += more
                findings = findings or tuple(not_destroyed(self._first))
                measured = {} if findings else self._measured(counted)
        return LabVerdict(self.day.number, findings, time.perf_counter() - began, measured, done, source=text,
                          chip=self.day.lab.chip)  # fmt: skip

    def _of_the_first(self) -> tuple[Mapping[str, float], tuple[LabFinding, ...]]:
        """What the first run counts, and how that is out of bounds or unlike what was printed."""
        if not self._is_modelled():
            return self._first, tuple(out_of_bounds(self.day, self._first))
        trial, outcome = self._trials.modelled()
        counted = {**of_program(outcome), **trial.sizes}
        findings = tuple(ended_otherwise_modelled(outcome, trial.run.status)) or tuple(out_of_bounds(self.day, counted))
        return counted, findings or tuple(wrong_numbers(self.day.lab, counted, outcome))

    def _runs(self, runs: Sequence[LabRun], text: str) -> tuple[int, tuple[LabFinding, ...]]:
        """How many were as they must be, and what was wrong in the next one."""
        for done, run in enumerate(runs):
            if findings := tuple(self._findings(run, text)):
                return done, findings
        return len(runs), ()

    def _is_modelled(self) -> bool:
        """Whether a figure or a printed number that is looked at is a kernel's count or a modelled time, which takes a
        run of its own.
        """
        if self.day.lab.numbers:
            return True
        used = (*self.day.lab.measures, *(bound.figure for bound in self.day.lab.bounds))
        return any(_OF_A_PREDICTED_RUN & names(self.day.figures[name].value) for name in used)

    def _measured(self, counted: Mapping[str, float]) -> dict[str, float]:
        figures = self.day.figures
        return {
            name: self._bench.value(name, lab=counted if figures[name].run == LAB else None)
            for name in self.day.lab.measures
        }

    # -- one run ------------------------------------------------------------------------------------------------------
    def _findings(self, run: LabRun, text: str) -> Iterator[LabFinding]:
        """What is wrong in one run; the first thing only, as the rest mostly follows from it."""
        trial = self._trials.drawn(run)
        if run.checks:
            activity = self._trials.outcome(trial, tells_calls=True).ended.activity
            for failed_run in failing(run, activity, self._trials.draw):
                failed_trial = replace(trial, run=failed_run)
                if findings := tuple(self._first_finding(failed_trial, self._trials.outcome(failed_trial), text)):
                    yield from findings
                    return
            return
        outcome = self._trials.outcome(trial)
        if run.fails and not outcome.ended.activity.get("failed_calls", 1):
            trial = replace(trial, run=with_its_last_call(run, outcome.ended.activity))
            outcome = self._trials.outcome(trial)
        modelled = self.day.lab.modelled and not (run.fails or run.idle or run.late)
        # The results are this run's; what is found on the device, the other's.
        if modelled and (otherwise := self._ended_otherwise_modelled(trial)):
            yield from otherwise
            return
        if run is self.day.lab.runs[0]:
            self._first = {**of_program(outcome), **trial.sizes}
        findings = tuple(self._first_finding(trial, outcome, text))
        yield from map(self._only_in_its_order(trial, text), findings)
        if not findings:
            yield from self._beyond(trial, outcome)

    def _ended_otherwise_modelled(self, trial: ProgramTrial) -> tuple[LabFinding, ...]:
        return tuple(ended_otherwise_modelled(self._trials.outcome(trial, predict=True), trial.run.status))

    def _only_in_its_order(self, trial: ProgramTrial, text: str) -> Callable[[LabFinding], LabFinding]:
        """Adds to what is found in a run with a seed that all is well without, if it is so."""

        def explained(finding: LabFinding) -> LabFinding:
            usual = replace(trial, seed=None)
            if trial.seed is None or tuple(self._first_finding(usual, self._trials.outcome(usual), text)):
                return finding
            return with_words(finding, only_in_an_order(trial.seed))

        return explained

    def _beyond(self, trial: ProgramTrial, outcome: Outcome) -> Iterator[LabFinding]:
        """Bounds that hold in each run, and in an ordered one that on what nothing orders."""
        run = trial.run
        findings: list[LabFinding] = []
        if not (run.fails or run.idle or run.late):
            held = {bound.figure for bound in self.day.lab.bounds if bound.every_run}
            findings += out_of_bounds(self.day, {**of_program(outcome), **trial.sizes}, held)
        if run.ordered:
            modelled = of_program(self._trials.outcome(trial, predict=True))
            findings += out_of_bounds(self.day, {**modelled, **trial.sizes}, {UNORDERED})
        for finding in findings:
            message = f"{finding.message} (run as {self._trials.called(trial)})"
            yield replace(finding, message=message, shown=(f"{finding.kind.replace('_', ' ')}: {message}",))

    def _first_finding(self, trial: ProgramTrial, outcome: Outcome, text: str) -> Iterator[LabFinding]:
        for finding in self._all_findings(trial, outcome):
            called = f" (run as {self._trials.called(trial)})" if self.day.lab.arguments else ""
            message = f"{finding.message}{called}"
            location = f", line {finding.line}" if finding.line else ""
            shown = with_line(f"{finding.kind.replace('_', ' ')}{location}: {message}", text, finding.line)
            yield LabFinding(finding.kind, message, finding.line, finding.where, (*shown, *finding.shown))
            return

    def _all_findings(self, trial: ProgramTrial, outcome: Outcome) -> Iterator[LabFinding]:
        if trial.run.idle:  # who waits for what a kernel was to write may wait for ever, or fall over what is there
            if (results := self._trials.results(trial)) is not None:
                yield from results.right_without_kernels()
            return
        passed_over = [*ignored(trial.run, outcome)] if trial.run.fails else []
        if passed_over or not trial.run.fails or outcome.stopped:  # who says what failed may end by an exception, too
            for finding in ended_otherwise(outcome):
                yield with_words(finding, after_a_failure(trial.run)) if trial.run.fails else finding
        if trial.run.fails:
            yield from passed_over
            return
        results = self._trials.results(trial)
        if trial.run.late:
            findings = [*_unlike_expected(trial.run, outcome), *(results.wrong(outcome) if results else ())]
            findings += wrong_lines(self.day.lab, trial.sizes, outcome) if self.day.lab.lines else ()
            if findings:  # is it the data, which are new?
                prompt = replace(trial, run=replace(trial.run, late=False))
                yield from self._all_findings(prompt, self._trials.outcome(prompt))
            yield from map(too_early, findings)
            return
        device = [finding for finding in outcome.ended.findings if finding["kind"] != "leak"]
        yield from (device_finding(finding, self._source) for finding in device)
        yield from _unlike_expected(trial.run, outcome)
        if outcome.lost and not self.day.lab.lines:
            yield LabFinding("too_much", printed_too_much(outcome.lost), shown=last_lines(outcome))
        if results is not None:
            yield from results.wrong(outcome)
            yield from results.changed_by_the_host(lambda: self._trials.with_other_data(trial))
        if self.day.lab.lines:
            yield from wrong_lines(self.day.lab, trial.sizes, outcome)
        if launches := int(outcome.ended.activity.get("unwaited_launches", 0)):
            yield LabFinding("not_waited", not_waited(launches))
        leaks = [finding for finding in outcome.ended.findings if finding["kind"] == "leak"]
        if leaks:
            yield LabFinding("leak", left_behind(leaks, left_in_words(outcome.ended.activity)))


def _unlike_expected(run: LabRun, outcome: Outcome) -> Iterator[LabFinding]:
    """A program that ended with another status."""
    if outcome.ended.status != run.status:
        message = f"the program ended with exit status {outcome.ended.status}, {run.status} was expected"
        yield LabFinding("exit_status", message, shown=last_lines(outcome))
