"""What was measured of the ladders on an H200, beside what the virtual GPU had predicted, as it was recorded."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_NAME = "ladders_h200.json"


@dataclass(frozen=True, slots=True)
class RungTimes:
    """One rung: milliseconds measured and predicted, the speed as a share of each peer's, and what limits it."""

    measured_ms: float
    predicted_ms: float | None
    peers: Mapping[str, float]
    limiter: str


@dataclass(frozen=True, slots=True)
class Recorded:
    """A ladder's times at `sizes`. `limit_ms` is the least that the chip allows, whatever the kernel."""

    gpu: str
    date: str
    sizes: Mapping[str, int]
    limit_ms: float
    rungs: Mapping[str, RungTimes]


def recorded(problem: str) -> Recorded | None:
    """The times of a problem's ladder; None where none were measured."""
    record = _record()
    entry = next((problem_entry for problem_entry in record["problems"] if problem_entry["problem"] == problem), None)
    if entry is None:
        return None
    passed = [rung for rung in entry["rungs"] if rung["verdict"] == "pass" and rung["speed_of_light"]]
    if not passed:
        return None
    limit = passed[0]["time_ms"] * passed[0]["speed_of_light"]  # by the clocks that this very GPU reported
    rungs = {rung["rung"]: _times(rung) for rung in passed}
    return Recorded(record["gpu"], entry.get("date", record["date"])[:10], entry["sizes"], limit, rungs)


def record_file() -> Path:
    """In the package as it is installed, or beside src in a checkout."""
    installed = Path(__file__).resolve().parents[1] / "kernels" / _NAME
    return installed if installed.is_file() else Path(__file__).resolve().parents[3] / "bench/results" / _NAME


@functools.cache
def _record() -> Any:
    return json.loads(record_file().read_text(encoding="utf-8"))


def _times(rung: Mapping[str, Any]) -> RungTimes:
    return RungTimes(rung["time_ms"], rung["predicted_ms"], rung["peers"] or {}, rung["limiter"] or "")
