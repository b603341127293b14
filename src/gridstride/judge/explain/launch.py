"""The profile of one launch of a program: the same as of a kernel that is judged, at the size that was launched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gridstride.judge.execution.access_map import WarpAccess
from gridstride.judge.execution.lane_timeline import TimelineStep
from gridstride.judge.explain.at_size import AtSize
from gridstride.judge.explain.explanation import PICTURED, KernelProfile
from gridstride.judge.explain.lines import lines
from gridstride.judge.explain.resources import resources, rooflines
from gridstride.virtual.observe.run import ObservedRun


@dataclass(frozen=True, slots=True)
class LaunchProfile:
    """A kernel in one shape: how often it was launched so, the modelled microseconds of all of them, and the profile of
    the longest.
    """

    kernel: str
    launches: int
    us: float
    profile: KernelProfile

    @property
    def called(self) -> str:
        """As a launch is written."""
        run = self.profile.run
        return f"{self.kernel}<<<{_dims(run.grid)}, {_dims(run.block)}>>>"


def launch_profile(
    run: ObservedRun, source: str, filename: str, accesses: Sequence[WarpAccess], way: Sequence[TimelineStep]
) -> KernelProfile:  # fmt: skip
    """Of an observed launch with every access that was looked at, of which the heaviest lines' are kept."""
    model = run.model
    at = AtSize(run.counters, model.shape(run.grid), model.chip, 1.0, None)
    predicted = at.predict()
    shown = lines(at, source, filename)
    reach = [line for line in shown if line.counters.global_requests or line.counters.shared_requests]
    heaviest = [line.number for line in sorted(reach, key=lambda line: -line.share)[:PICTURED]]
    touched = sorted((a for a in accesses if a.line in heaviest), key=lambda a: heaviest.index(a.line))
    diverges = any(line.counters.divergent_branches for line in shown)
    return KernelProfile(
        run=run, at=at, predicted=predicted, ms=predicted.ms, measured=False, occupancy=run.occupancy,
        resources=resources(at, predicted.ms), rooflines=rooflines(at, predicted.ms), lines=shown, advice=(), rungs=(),
        nearest=None, accesses=tuple(touched), way=tuple(way) if diverges else (),
    )  # fmt: skip


def _dims(dims: Sequence[int]) -> str:
    """Without the sides of 1 behind the first."""
    trimmed = [*dims]
    while len(trimmed) > 1 and trimmed[-1] == 1:
        trimmed.pop()
    return str(trimmed[0]) if len(trimmed) == 1 else f"({', '.join(map(str, trimmed))})"
