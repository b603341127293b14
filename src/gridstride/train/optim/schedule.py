"""The learning rate as a share of its peak: warm-up, then WSD (warm-up, stable, decay) or a cosine.

WSD's stable part has no end of its own: where a run is given minutes instead of steps, its end is set once, when the
decay has to begin, from the speed until then. What was set is part of the run's state, so that a resumed run goes on
exactly as planned.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from gridstride.train.config import run_config as settings


@dataclass(frozen=True, slots=True)
class SchedulePlan:
    """Steps of the whole run, and the first one whose rate decays."""

    decay_from: int
    steps: int


def planned(schedule: settings.ScheduleSection, steps: int) -> SchedulePlan:
    """The plan of a run of known length."""
    if schedule.shape == "cosine":
        return SchedulePlan(min(schedule.warmup, steps), steps)
    return SchedulePlan(max(round(steps * (1 - schedule.decay_share)), min(schedule.warmup, steps)), steps)


def plan_by_time(
    schedule: settings.ScheduleSection, *, step: int, seconds: float, budget: float, speed: float
) -> SchedulePlan | None:
    """The plan of a run of `budget` seconds after `step` steps, at `speed` steps per second from now on.

    None while the rate should stay at its peak.
    """
    if step < 1 or seconds < budget * (1 - schedule.decay_share):
        return None
    seconds_left = max(budget - seconds, 0.0)
    return SchedulePlan(step, step + max(round(seconds_left * speed), 1))


def factor(schedule: settings.ScheduleSection, step: int, plan: SchedulePlan | None) -> float:
    """Share of the peak rate in a step counted from 0; without a plan the decay has not begun."""
    warm = min((step + 1) / schedule.warmup, 1.0)
    if plan is None or step < plan.decay_from:
        return warm
    done = (step - plan.decay_from) / max(plan.steps - plan.decay_from, 1)
    shape = (1 + math.cos(math.pi * done)) / 2 if schedule.shape == "cosine" else 1 - done
    return warm * (schedule.floor + (1 - schedule.floor) * shape)
