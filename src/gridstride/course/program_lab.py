"""A lab whose file is a whole program: compiled, run several times on other data, and held against what must come."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from gridstride.course.arithmetic import names
from gridstride.course.bounds import UNORDERED, out_of_bounds
from gridstride.course.figures import LAB, Bench
from gridstride.course.lab_verdict import LabFinding, LabVerdict, with_line
from gridstride.course.lesson import Day, LabRun
from gridstride.course.program_failures import failing, ignored, with_its_last_call
from gridstride.course.program_findings import (
    ended_otherwise,
    ended_otherwise_modelled,
    found_on_device,
    last_lines,
    not_built,
    not_destroyed,
    not_waited,
    printed_too_much,
    too_early,
    wrong_lines,
    wrong_numbers,
)
from gridstride.course.program_lab_file import problem_of
from gridstride.course.program_results import COPY_LOG, Results
from gridstride.course.program_runs import counts
from gridstride.programs.activity import KERNEL_COUNTS, OF_LINKS
from gridstride.programs.timeline.totals import Totals

if TYPE_CHECKING:
    from gridstride.judge.reference.prepared_cases import Prepared
    from gridstride.programs.confined import Outcome

_OF_A_PREDICTED_RUN = frozenset((*KERNEL_COUNTS, *OF_LINKS, *(each.name for each in fields(Totals))))
_IDLE_SECONDS = 10.0
"""For a run whose kernels do nothing: some programs then wait for ever."""
_SEED = 1 << 30


@dataclass(frozen=True, slots=True)
class _Drawn:
    """One run's sizes, and the problem's data and answers where the lab has a problem."""

    run: LabRun
    sizes: Mapping[str, int]
    prepared: Prepared | None


class ProgramLab:
    """Judges one day's program again and again. `draw` gives the runs' sizes and data."""

    def __init__(self, day: Day, *, draw: random.Random | None = None) -> None:
        from gridstride.programs.confined import ProgramRoom

        self.day = day
        self._draw = draw or random.Random()
        self._bench = Bench(day)
        self._problem = problem_of(day.lab)
        self._room = ProgramRoom(chip=day.lab.chip)
        self._first: dict[str, float] = {}
        self._source = day.lab.file

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove what was built."""
        self._room.close()

    def warm_up(self) -> None:
        """Have the virtual GPU loaded; MissingToolchain where the compilers are not installed."""
        from gridstride.programs.toolchain import toolchain

        toolchain()
        self._room.warm_up()

    def build(self, file: Path) -> None:
        """Compile the program; BuildFailed."""
        self._source = file.name
        self._room.build(file)

    def judge(self, file: Path) -> LabVerdict:
        """The verdict on the file as it is now; OSError where it cannot be read."""
        from gridstride.programs.errors import BuildFailed

        began = time.perf_counter()
        text = file.read_text(encoding="utf-8-sig", errors="replace")
        findings: tuple[LabFinding, ...] = ()
        measured: dict[str, float] = {}
        done = 0
        try:
            self.build(file)
        except BuildFailed as failed:
            findings = (not_built(failed.output, str(failed), text),)
        else:
            last = [run for run in self.day.lab.runs if run.late or run.checks]  # figures are more to the point
            done, findings = self._runs([run for run in self.day.lab.runs if run not in last], text)
            if not findings:
                counted = self._first
                if self._is_modelled():
                    drawn, outcome = self._modelled()
                    findings = tuple(ended_otherwise_modelled(outcome, drawn.run.status))
                    counted = {**counts(outcome), **drawn.sizes}
                    findings = findings or tuple(wrong_numbers(self.day.lab, counted, outcome))
                findings = findings or tuple(out_of_bounds(self.day, counted))
            if not findings:
                more, findings = self._runs(last, text)
                done += more
                findings = findings or tuple(not_destroyed(self._first))
                measured = {} if findings else self._measured(counted)
        return LabVerdict(self.day.number, findings, time.perf_counter() - began, measured, done, source=text,
                          chip=self.day.lab.chip)  # fmt: skip

    def _runs(self, runs: Sequence[LabRun], text: str) -> tuple[int, tuple[LabFinding, ...]]:
        """How many were as they must be, and what was wrong in the next one."""
        for done, run in enumerate(runs):
            if findings := tuple(self._findings(run, text)):
                return done, findings
        return len(runs), ()

    def counted(self) -> dict[str, float]:
        """What the program that was built does in the first run, with that run's sizes, by name."""
        drawn, outcome = self._modelled()
        return {**counts(outcome), **drawn.sizes}

    def pictured(self) -> tuple[Outcome, str]:
        """The first run of the program that was built, with its launches line by line; and how it was called."""
        first = self._drawn(self.day.lab.runs[0])
        return self._outcome(first, predict=True, pictures=True), self._called(first)

    def _modelled(self) -> tuple[_Drawn, Outcome]:
        """The first run once more, with counts of kernels and modelled times."""
        first = self._drawn(self.day.lab.runs[0])
        return first, self._outcome(first, predict=True)

    def _is_modelled(self) -> bool:
        """Whether a figure that is looked at is a kernel's count or a modelled time, which takes a run of its own."""
        used = (*self.day.lab.measures, *(bound.figure for bound in self.day.lab.bounds))
        return any(_OF_A_PREDICTED_RUN & names(self.day.figures[name].value) for name in used)

    def _measured(self, counted: Mapping[str, float]) -> dict[str, float]:
        figures = self.day.figures
        return {
            name: self._bench.value(name, lab=counted if figures[name].run == LAB else None)
            for name in self.day.lab.measures
        }

    # -- one run ------------------------------------------------------------------------------------------------------
    def _drawn(self, run: LabRun) -> _Drawn:
        sizes = {name: self._draw.randint(low, high) for name, (low, high) in run.sizes.items()}
        return self._prepared(run, sizes)

    def _prepared(self, run: LabRun, sizes: Mapping[str, int]) -> _Drawn:
        """With data of their own for the sizes."""
        from gridstride.judge.problem import Case
        from gridstride.judge.reference.prepared_cases import prepare

        if self._problem is None:
            return _Drawn(run, sizes, None)
        (prepared,) = prepare(self._problem, [Case(sizes, "normal", self._draw.randrange(_SEED), hidden=True)])
        return _Drawn(run, sizes, prepared)

    def _outcome(
        self, drawn: _Drawn, *, predict: bool = False, pictures: bool = False, tells_calls: bool = False
    ) -> Outcome:
        from gridstride.programs.run import Settings

        self._room.clear()
        run, watched = drawn.run, not predict and not drawn.run.late
        seconds = min(self.day.lab.seconds, _IDLE_SECONDS) if run.idle else self.day.lab.seconds
        logs = self._only_kernels() and not (run.fails or run.idle or run.late)
        settings = Settings(sanitize=watched, predict=predict, pictures=pictures, time_limit=seconds,
                            fails=run.fails, tells_calls=tells_calls, idle=run.idle,
                            late=run.late and not predict, gpus=run.gpus, memory=run.memory,
                            copy_log=str(self._room.data / COPY_LOG) if logs else None)  # fmt: skip
        return self._room.run([Path(self.day.lab.file).stem, *self._arguments(drawn)], settings)

    def _only_kernels(self) -> bool:
        """Whether kernels are to compute all of the results: it is so where a run has kernels that do nothing."""
        return any(run.idle for run in self.day.lab.runs)

    def _results(self, drawn: _Drawn) -> Results | None:
        """The files that the run was to write; None where it was to print only."""
        if drawn.prepared is None or self._problem is None:
            return None
        share = max(run.may_be_right for run in self.day.lab.runs)
        return Results(self._problem, drawn.prepared, self._room.data, share)

    def _with_other_data(self, drawn: _Drawn) -> Results:
        """The files of a run of the same sizes."""
        other = self._prepared(drawn.run, drawn.sizes)
        self._outcome(other)
        results = self._results(other)
        assert results is not None
        return results

    def _arguments(self, drawn: _Drawn) -> list[str]:
        """The program's arguments; the files that they name hold the run's data."""
        values: dict[str, Any] = dict(drawn.sizes)
        if drawn.prepared is not None:
            for name, value in drawn.prepared.inputs.items():
                if getattr(value, "ndim", 0):
                    (self._room.data / f"{name}.bin").write_bytes(value.tobytes())
                elif name not in values:
                    values[name] = repr(float(value))
            for name in (*drawn.prepared.inputs, *drawn.prepared.expected):
                values.setdefault(name, str(self._room.data / f"{name}.bin"))
        return [each.format(**values) for each in self.day.lab.arguments]

    def _findings(self, run: LabRun, text: str) -> Iterator[LabFinding]:
        """What is wrong in one run; the first thing only, as the rest mostly follows from it."""
        drawn = self._drawn(run)
        if run.checks:
            made = self._outcome(drawn, tells_calls=True).ended.activity
            for each in failing(run, made, self._draw):
                other = replace(drawn, run=each)
                yield from self._first_finding(other, self._outcome(other), text)
            return
        outcome = self._outcome(drawn)
        if run.fails and not outcome.ended.activity.get("failed_calls", 1):
            drawn = replace(drawn, run=with_its_last_call(run, outcome.ended.activity))
            outcome = self._outcome(drawn)
        if self.day.lab.modelled and not (run.fails or run.idle or run.late):
            self._outcome(drawn, predict=True)  # the results are this run's; what is found on the device, the other's
        if run is self.day.lab.runs[0]:
            self._first = {**counts(outcome), **drawn.sizes}
        found = tuple(self._first_finding(drawn, outcome, text))
        yield from found or self._beyond(drawn, outcome)

    def _beyond(self, drawn: _Drawn, outcome: Outcome) -> Iterator[LabFinding]:
        """Bounds that hold in each run, and in an ordered one that on what nothing orders."""
        run = drawn.run
        found: list[LabFinding] = []
        if not (run.fails or run.idle or run.late):
            held = {bound.figure for bound in self.day.lab.bounds if bound.every_run}
            found += out_of_bounds(self.day, {**counts(outcome), **drawn.sizes}, held)
        if run.ordered:
            modelled = counts(self._outcome(drawn, predict=True))
            found += out_of_bounds(self.day, {**modelled, **drawn.sizes}, {UNORDERED})
        for each in found:
            message = f"{each.message} (run as {self._called(drawn)})"
            yield replace(each, message=message, shown=(f"{each.kind.replace('_', ' ')}: {message}",))

    def _first_finding(self, drawn: _Drawn, outcome: Outcome, text: str) -> Iterator[LabFinding]:
        for found in self._all_findings(drawn, outcome):
            called = f" (run as {self._called(drawn)})" if self.day.lab.arguments else ""
            message = f"{found.message}{called}"
            place = f", line {found.line}" if found.line else ""
            shown = with_line(f"{found.kind.replace('_', ' ')}{place}: {message}", text, found.line)
            yield LabFinding(found.kind, message, found.line, found.where, (*shown, *found.shown))
            return

    def _called(self, drawn: _Drawn) -> str:
        """How the program was called, in words that fit a line: its files without their folder."""
        words = [Path(each).name if each.startswith("/") else each for each in self._arguments(drawn)]
        gpus = f", with {drawn.run.gpus} GPUs" if drawn.run.gpus > 1 else ""
        memory = f", with {drawn.run.memory:,} bytes of device memory" if drawn.run.memory else ""
        return f"{' '.join([Path(self.day.lab.file).stem, *words])}{gpus}{memory}"

    def _all_findings(self, drawn: _Drawn, outcome: Outcome) -> Iterator[LabFinding]:
        if drawn.run.idle:  # who waits for what a kernel was to write may wait for ever, or fall over what is there
            if (results := self._results(drawn)) is not None:
                yield from results.right_without_kernels()
            return
        passed_over = [*ignored(drawn.run, outcome)] if drawn.run.fails else []
        if passed_over or not drawn.run.fails or outcome.stopped:  # who says what failed may end by an exception, too
            yield from ended_otherwise(outcome)
        if drawn.run.fails:
            yield from passed_over
            return
        results = self._results(drawn)
        if drawn.run.late:
            late = [*_unlike_expected(drawn.run, outcome), *(results.wrong(outcome) if results else ())]
            late += wrong_lines(self.day.lab, drawn.sizes, outcome) if self.day.lab.lines else ()
            if late:  # is it the data, which are new?
                prompt = replace(drawn, run=replace(drawn.run, late=False))
                yield from self._all_findings(prompt, self._outcome(prompt))
            yield from map(too_early, late)
            return
        device = [each for each in outcome.ended.findings if each["kind"] != "leak"]
        yield from (found_on_device(each, self._source) for each in device)
        yield from _unlike_expected(drawn.run, outcome)
        if outcome.lost and not self.day.lab.lines:
            yield LabFinding("too_much", printed_too_much(outcome.lost), shown=last_lines(outcome))
        if results is not None:
            yield from results.wrong(outcome)
            yield from results.changed_by_the_host(lambda: self._with_other_data(drawn))
        if self.day.lab.lines:
            yield from wrong_lines(self.day.lab, drawn.sizes, outcome)
        if launches := int(outcome.ended.activity.get("unwaited_launches", 0)):
            yield LabFinding("not_waited", not_waited(launches))
        leaks = [each for each in outcome.ended.findings if each["kind"] == "leak"]
        if leaks:
            what = leaks[0]["message"]
            more = f"; there are {len(leaks)} such allocations" if len(leaks) > 1 else ""
            yield LabFinding("leak", f"{what}{more}. What is asked for with cudaMalloc is given back with cudaFree")


def _unlike_expected(run: LabRun, outcome: Outcome) -> Iterator[LabFinding]:
    """A program that ended with another status."""
    if outcome.ended.status != run.status:
        message = f"the program ended with exit status {outcome.ended.status}, {run.status} was expected"
        yield LabFinding("exit_status", message, shown=last_lines(outcome))
