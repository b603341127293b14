"""The whole explanation of one kernel: the verdict first, then what limits it, line by line, and what to try."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gridstride.judge.explain import nsight
from gridstride.judge.explain.advice import Advice, Subject, advise
from gridstride.judge.explain.at_size import AtSize, timed
from gridstride.judge.explain.lines import Line, lines
from gridstride.judge.explain.nsight import Measured
from gridstride.judge.explain.resources import Resource, Rooflines, resources, rooflines
from gridstride.judge.explain.rungs import Rung, climbed, nearest, with_rungs
from gridstride.judge.find import Folder
from gridstride.judge.header import KernelFile
from gridstride.judge.ladder import Ladder
from gridstride.judge.problem import Case
from gridstride.judge.runnable import RefusedError, Runnable, build
from gridstride.judge.verdict import RungResult
from gridstride.judge.verify import observe, prepare, totals
from gridstride.protocol import Device
from gridstride.virtual.observe.occupancy import Occupancy
from gridstride.virtual.observe.predict import Prediction
from gridstride.virtual.observe.run import Run

Progress = Callable[[str], None]
COUNTED = "counted on the virtual GPU"
_GOES_ON = frozenset(
    "race barrier_divergence unwaited_copy proxy_fence exited_block unstarted_block uninitialised".split()
)
"""Findings that do not end a run; neither do those of wgmma. After any other the counts are those of a part."""


def _goes_on(kind: str) -> bool:
    """Whether a run goes on after such a finding."""
    return kind in _GOES_ON or kind.startswith("wgmma_")


def _quiet(_: str) -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What a run of the kernel says, at the timed size where times are meant. `ms` is the time that shares are of:
    measured where a GPU ran it, else predicted.
    """

    run: Run
    at: AtSize
    predicted: Prediction
    ms: float
    measured: bool
    occupancy: Occupancy
    resources: tuple[Resource, ...]
    rooflines: Rooflines
    lines: tuple[Line, ...]
    advice: tuple[Advice, ...]
    rungs: tuple[Rung, ...]
    nearest: Rung | None
    runnable: Runnable

    @property
    def complete(self) -> bool:
        """Whether the run went to its end: of one that was stopped the counts are partial, and no time follows."""
        return all(_goes_on(finding.kind) for finding in self.run.findings)

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
            "parts": dict(self.predicted.parts), "speed_of_light": [each.json() for each in self.resources],
            "roofline": self.rooflines.json(),
            "advice": [each.json() for each in self.advice], "ladder": [rung.json() for rung in self.rungs],
            "nearest_rung": self.nearest.name if self.nearest else None,
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The verdict on a kernel and its profile; that is None where it could not be run at all."""

    file: KernelFile
    folder: Folder
    device: Device
    result: RungResult
    profile: Profile | None
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
    progress: Progress = _quiet,
) -> Explanation:
    """Judge a kernel and explain its time. `ladder`: compare with the problem's rungs too."""
    judge = Ladder(folder, device=device, seed=seed, progress=progress)
    result = judge.judge(file)
    try:
        runnable = build(folder.problem, file, judge.virtual)
    except RefusedError:
        return Explanation(file=file, folder=folder, device=judge.device, result=result, profile=None)
    endless = any(finding.kind == "timeout" for finding in result.findings)  # nothing is gained by waiting again
    run = result.run or (None if endless else _observed(folder, runnable, judge.seed))
    if run is None or not run.counters.instructions:
        return Explanation(file=file, folder=folder, device=judge.device, result=result, profile=None)
    rungs = climbed(folder, judge.virtual, judge.seed, progress) if ladder else ()
    profile = _profile(file, folder, runnable, run, result.time_ms, rungs)
    result = replace(result, run=run, counters=totals(run))
    if profile.complete:
        result = replace(result, limiter=profile.limiter, predicted_ms=profile.predicted.ms)
    measured = None
    if judge.device.kind == "physical" and result.verdict == "pass":
        progress("profiling with Nsight Compute")
        measured = nsight.measure(file.filename, str(folder.path), judge.seed)
    return Explanation(file=file, folder=folder, device=judge.device, result=result, profile=profile, measured=measured)


def _observed(folder: Folder, runnable: Runnable, seed: int) -> Run | None:
    """The run of a kernel that is wrong: what it counts is still worth showing, as far as it came."""
    problem = folder.problem
    one = prepare(problem, [Case(problem.observed, "normal", seed)])[0]
    run, _ = observe(problem, runnable, one)
    return run  # type: ignore[no-any-return]


def _profile(
    file: KernelFile, folder: Folder, runnable: Runnable, run: Run, time_ms: float | None, rungs: tuple[Rung, ...]
) -> Profile:
    problem = folder.problem
    at = timed(problem, runnable, run)
    predicted = at.predict()
    ms = time_ms or predicted.ms
    shown = lines(at, file.source, Path(file.filename).name)
    if not all(_goes_on(finding.kind) for finding in run.findings):
        shown = tuple(replace(line, share=0.0, part="") for line in shown)
    warps = at.shape.warps
    occupancy = _occupancy(problem.timed, runnable, run)
    advice = advise(Subject(problem, at, shown, occupancy, run.model.registers.spilled, warps))
    counters = run.counters.as_dict()
    return Profile(
        run=run, at=at, predicted=predicted, ms=ms, measured=time_ms is not None, occupancy=occupancy,
        resources=resources(at, ms), rooflines=rooflines(at, ms), lines=shown,
        advice=with_rungs(advice, counters, predicted.ms, rungs), rungs=rungs, nearest=nearest(counters, rungs),
        runnable=runnable,
    )  # fmt: skip


def _occupancy(sizes: Any, runnable: Runnable, run: Run) -> Occupancy:
    """Of the launch at the timed size, whose grid is larger than the observed one's."""
    from gridstride.virtual.observe.occupancy import occupancy

    model = run.model
    return occupancy(model.chip, runnable.shape(sizes).grid, model.block, model.shared, model.registers)
