"""Options of a virtual GPU: their defaults, and the checks of what a user gives."""

from __future__ import annotations

import numbers
import operator
import os

from gridstride.virtual.machine.schedule import Schedule

PRINTF_BUFFER = 1 << 20
HEAP = 8 << 20
"""Bytes for printf and for malloc in kernels: what the CUDA runtime gives unless told otherwise."""

PENDING_LAUNCHES = 2048
"""Launches from kernels that may wait: cudaLimitDevRuntimePendingLaunchCount, unless told otherwise."""

TIME_LIMIT = 120.0
"""Seconds a launch may take unless `time_limit` says otherwise."""


def checked_schedule(schedule: Schedule | None) -> Schedule | None:
    """The schedule; TypeError for anything else."""
    if schedule is not None and not isinstance(schedule, Schedule):
        raise TypeError(f"schedule must be a gs.Schedule or None, not {schedule!r}")
    return schedule


def at_least(least: int, name: str, value: int) -> int:
    """A whole number; TypeError for anything else, ValueError below `least`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, not {value!r}") from None
    if number < least:
        raise ValueError(f"{name} must be at least {least}, not {number}")
    return number


def checked_time_limit(limit: float | None) -> float:
    """Seconds for a launch: those given, else those of the environment; TypeError, ValueError."""
    if limit is None:
        return _limit_from_environment()
    if not isinstance(limit, numbers.Real):
        raise TypeError(f"time_limit must be a number of seconds, not {limit!r}")
    if not limit > 0:
        raise ValueError(f"time_limit must be above 0 seconds, not {limit}")
    return float(limit)


def _limit_from_environment() -> float:
    text = os.environ.get("GRIDSTRIDE_TIME_LIMIT", "")
    try:
        limit = float(text) if text else TIME_LIMIT
    except ValueError:
        limit = 0.0
    if not limit > 0:
        raise ValueError(f"GRIDSTRIDE_TIME_LIMIT={text!r} is not a number of seconds above 0")
    return limit
