"""The whole explanation of one kernel: the verdict first, then what limits it, line by line, and what to try."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gridstride.judge.cases.data import generate
from gridstride.judge.execution.access_map import WarpAccess
from gridstride.judge.execution.lane_timeline import TimelineStep
from gridstride.judge.execution.runnable import RefusedError
from gridstride.judge.execution.subject import Subject as Kernel
from gridstride.judge.explain import nsight
from gridstride.judge.explain.advice import Advice, AdviceSubject
from gridstride.judge.explain.advice_rules import advise
from gridstride.judge.explain.at_size import AtSize, timed
from gridstride.judge.explain.lines import LineProfile, lines
from gridstride.judge.explain.nsight import Measured
from gridstride.judge.explain.resources import Resource, Rooflines, resources, rooflines
from gridstride.judge.explain.rungs import RungCounts, climbed, nearest, with_rungs
from gridstride.judge.find import Folder
from gridstride.judge.header import KernelFile
from gridstride.judge.ladder import Ladder, Listeners
from gridstride.judge.problem import Case, Problem
from gridstride.judge.reference.prepared_cases import prepare
from gridstride.judge.sandbox.python_header import is_python
from gridstride.judge.verdict import RungResult
from gridstride.judge.verify import observe, totals
from gridstride.protocol import Device
from gridstride.virtual.observe.occupancy import Occupancy
from gridstride.virtual.observe.predict import Prediction
from gridstride.virtual.observe.run import ObservedRun

Progress = Callable[[str], None]
COUNTED = "counted on the virtual GPU"
PICTURED = 4
"""Lines whose accesses are looked at."""


def _quiet(_: str) -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelProfile:
    """What a run of the kernel says, at the timed size where times are meant. `ms` is the time that shares are of:
    measured where a GPU ran it, else predicted.
    """

    run: ObservedRun
    at: AtSize
    predicted: Prediction
    ms: float
    measured: bool
    occupancy: Occupancy
    resources: tuple[Resource, ...]
    rooflines: Rooflines
    lines: tuple[LineProfile, ...]
    advice: tuple[Advice, ...]
    rungs: tuple[RungCounts, ...]
    nearest: RungCounts | None
    accesses: tuple[WarpAccess, ...]
    """Of the heaviest lines, what the lanes of one warp touch."""
    way: tuple[TimelineStep, ...]
    """Of a kernel that diverges, the way of its first warp."""

    @property
    def complete(self) -> bool:
        """Whether the run went to its end: of one that was stopped the counts are partial, and no time follows."""
        return not self.run.stopped

    @property
    def limiter(self) -> str:
        return self.predicted.limiter

    def json(self) -> dict[str, Any]:
        c = self.run.counters
        counted = {"source": COUNTED, "complete": self.complete, "counters": totals(self.run),
                   "sampled": list(c.sampled), "occupancy": self.occupancy.json(),
                   "lines": [line.json() for line in self.lines]}  # fmt: skip
        if not self.complete:
            nothing = dict.fromkeys(("predicted_ms", "limiter", "parts", "speed_of_light", "roofline", "nearest_rung"))
            return {**counted, **nothing, "advice": [], "ladder": [rung.json() for rung in self.rungs]}
        return {
            **counted, "predicted_ms": self.predicted.ms, "limiter": self.limiter,
            "parts": dict(self.predicted.parts), "speed_of_light": [resource.json() for resource in self.resources],
            "roofline": self.rooflines.json(),
            "advice": [advice.json() for advice in self.advice], "ladder": [rung.json() for rung in self.rungs],
            "nearest_rung": self.nearest.name if self.nearest else None,
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelExplanation:
    """The verdict on a kernel and its profile; that is None where it could not be run at all."""

    file: KernelFile
    folder: Folder
    device: Device
    result: RungResult
    profile: KernelProfile | None
    measured: Measured | None = None
    """What Nsight Compute says, where a physical GPU was asked for."""

    def json(self) -> dict[str, Any]:
        """The object of `explain --json`: that of `check --json`, and the profile."""
        problem = self.folder.problem
        sizes = {"counted_at": dict(problem.observed), "predicted_for": dict(problem.timed)}
        profile = self.profile.json() if self.profile else None
        measured = self.measured.json() if self.measured else None
        return {**self.result.check_json(), "problem": problem.name, "device": self.device.kind,
                "chip": self.device.chip, **sizes, "profile": profile, "measured": measured}  # fmt: skip


def explain(
    file: KernelFile,
    folder: Folder,
    *,
    device: Device | str | None = None,
    seed: int | None = None,
    ladder: bool = True,
    sandbox: bool = True,
    progress: Progress = _quiet,
) -> KernelExplanation:
    """Judge a kernel and explain its time. `ladder`: compare with the problem's rungs too.

    It is compiled and run on the virtual GPU in a worker under limits, unless `sandbox` is False or the file is one of
    the problem's own.
    """
    judge = Ladder(
        folder,
        device=device,
        seed=seed,
        listeners=Listeners(progress),
        sandbox=sandbox and not _is_in_folder(file, folder),
    )
    try:
        return _explained(file, judge, ladder, progress)
    finally:
        judge.close()


def _is_in_folder(file: KernelFile, folder: Folder) -> bool:
    """Whether the kernel lies in the problem's folder, which its user trusts: problem.py is run as it is."""
    return Path(file.filename).resolve().is_relative_to(folder.path.resolve())


def _explained(file: KernelFile, judge: Ladder, ladder: bool, progress: Progress) -> KernelExplanation:
    folder, result = judge.folder, judge.judge(file)
    nothing = KernelExplanation(file=file, folder=folder, device=judge.device, result=result, profile=None)
    try:
        subject = judge.build(file)
    except RefusedError:
        return nothing
    endless = any(finding.kind == "timeout" for finding in result.findings)  # nothing is gained by waiting again
    run = result.run or (None if endless else _observed(folder, subject, judge.seed))
    if run is None or not run.counters.instructions:
        return nothing
    rungs = climbed(folder, judge.virtual, judge.seed, progress) if ladder else ()
    profile = _profile(file, judge, subject, run, result.time_ms, rungs)
    result = replace(result, run=run, counters=totals(run))
    if profile.complete:
        result = replace(result, limiter=profile.limiter, predicted_ms=profile.predicted.ms)
    return replace(nothing, result=result, profile=profile, measured=_measured(file, judge, result, progress))


def _measured(file: KernelFile, judge: Ladder, result: RungResult, progress: Progress) -> Measured | None:
    """What Nsight Compute says of a kernel that is right, where it runs on a physical GPU."""
    if judge.device.kind != "physical" or result.verdict != "pass":
        return None
    if is_python(file.filename):
        return Measured(problem="kernels in Python are not profiled with ncu: the counts are those of the virtual GPU")
    progress("profiling with Nsight Compute")
    return nsight.measure(file.filename, str(judge.folder.path), judge.seed)


def _observed(folder: Folder, subject: Kernel, seed: int) -> ObservedRun | None:
    """The run of a kernel that is wrong: what it counts is still worth showing, as far as it came."""
    problem = folder.problem
    prepared_case = prepare(problem, [Case(problem.observed, "normal", seed)])[0]
    run, _ = observe(problem, subject, prepared_case)
    return run  # type: ignore[no-any-return]


def _profile(
    file: KernelFile,
    judge: Ladder,
    subject: Kernel,
    run: ObservedRun,
    time_ms: float | None,
    rungs: tuple[RungCounts, ...],
) -> KernelProfile:
    problem = judge.problem
    at = timed(problem, subject, run)
    predicted = at.predict()
    ms = time_ms or predicted.ms
    shown = lines(at, file.source, Path(file.filename).name)
    if run.stopped:
        shown = tuple(replace(line, share=0.0, part="") for line in shown)
    warps, blocks = at.shape.warps, run.counters.sampled[1]
    occupancy = _occupancy(problem.timed, subject, run)
    advice = advise(
        AdviceSubject(
            problem, at, shown, occupancy, run.model.registers.spilled, warps, blocks, subject.facts.divisions
        )
    )
    counters = run.counters.as_dict()
    return KernelProfile(
        run=run, at=at, predicted=predicted, ms=ms, measured=time_ms is not None, occupancy=occupancy,
        resources=resources(at, ms), rooflines=rooflines(at, ms), lines=shown,
        advice=with_rungs(advice, counters, predicted.ms, rungs), rungs=rungs, nearest=nearest(counters, rungs),
        accesses=touched(problem, subject, shown, judge.seed), way=diverged(problem, subject, shown, judge.seed),
    )  # fmt: skip


def touched(problem: Problem, subject: Kernel, shown: Sequence[LineProfile], seed: int) -> tuple[WarpAccess, ...]:
    """What a warp touches on the heaviest of these lines, the heaviest first."""
    reach = [line for line in shown if line.counters.global_requests or line.counters.shared_requests]
    heaviest = [line.number for line in sorted(reach, key=lambda line: -line.share)[:PICTURED]]
    if not heaviest:
        return ()
    case = Case(problem.observed, "normal", seed)
    accesses = subject.accesses(problem.signature, case, generate(problem, case), heaviest)
    return tuple(
        sorted(
            (access for access in accesses if access.line in heaviest), key=lambda access: heaviest.index(access.line)
        )
    )


def diverged(problem: Problem, subject: Kernel, shown: Sequence[LineProfile], seed: int) -> tuple[TimelineStep, ...]:
    """The way of the first warp where lanes of some warp go different ways; a kernel without needs no second run."""
    if not any(line.counters.divergent_branches for line in shown):
        return ()
    case = Case(problem.observed, "normal", seed)
    return subject.way_of_a_warp(problem.signature, case, generate(problem, case))


def _occupancy(sizes: Any, subject: Kernel, run: ObservedRun) -> Occupancy:
    """Of the launch at the timed size, whose grid is larger than the observed one's."""
    from gridstride.virtual.observe.occupancy import occupancy

    model = run.model
    return occupancy(model.chip, subject.shape(sizes).grid, model.block, model.shared, model.registers)
