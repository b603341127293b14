"""The table of counters and times: what its columns are, and a rung's cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gridstride.judge.gains import WorkUnit, per_request, per_unit
from gridstride.judge.timing.limits import Rates
from gridstride.judge.verdict import RungResult
from gridstride.virtual.observe.figures import percent, short, times

if TYPE_CHECKING:
    from gridstride.judge.ladder import Ladder


@dataclass(frozen=True, slots=True)
class Speed:
    """What a problem's speed is given in: operations or bytes per second, by which of the two bounds it."""

    unit: str
    work: float  # per launch
    limit: float  # per second

    @staticmethod
    def on(ladder: Ladder) -> Speed:
        """The speed of the timed case on the ladder's device."""
        flops, moved = ladder.problem.work(ladder.problem.timed)
        rates = Rates.of(ladder.device.properties, ladder.problem)
        if flops / rates.flops > moved / rates.memory_bytes:
            return Speed("FLOP/s", flops, 1e3 * rates.flops)
        return Speed("B/s", moved, 1e3 * rates.memory_bytes)

    def of(self, ms: float | None) -> float | None:
        """Work per second of a launch that takes `ms`."""
        return self.work / (1e-3 * ms) if ms else None


def header(ladder: Ladder, unit: WorkUnit, speed: Speed) -> list[str]:
    """The columns after the rung and its verdict."""
    timed = (
        ["ms", speed.unit, *(f"vs {name}" for name in _peers(ladder.results)), "of limit"] if _has_times(ladder) else []
    )
    accesses = ["requests", "sectors", "per req.", "wavefronts", "conflicts", "barriers"]
    counted = ["instr.", f"per {unit.name}", "lanes", *accesses]
    return ["max error", *timed, *counted, *([] if timed else ["predicted ms"]), "limited by"]


def cells(ladder: Ladder, result: RungResult, unit: WorkUnit, speed: Speed) -> list[str]:
    """One rung's row under that header."""
    counters, sectors = result.counters, per_request(result.counters)
    measured = speed.of(result.time_ms)
    timed = [
        _number(result.time_ms, ".4g"),
        f"{short(measured)}" if measured else "–",
        *(times(result.peers[name]) if name in result.peers else "–" for name in _peers(ladder.results)),
        percent(result.speed_of_light) if result.speed_of_light else "–",
    ]
    lanes = counters.get("active_lanes", 0) / (32 * counters["instructions"]) if counters.get("instructions") else None
    counted = [
        _count(result, "instructions"),
        f"{per_unit(counters, unit):.3g}" if counters else "–",
        percent(lanes) if lanes is not None else "–",
        _count(result, "global_requests"),
        _count(result, "global_sectors"),
        _number(sectors, ".1f"),
        _count(result, "shared_wavefronts"),
        _count(result, "bank_conflicts"),
        _count(result, "barriers"),
    ]
    predicted = [] if _has_times(ladder) else [_number(result.predicted_ms, ".3g")]
    error = _number(result.max_error, ".1e")
    return [error, *(timed if _has_times(ladder) else []), *counted, *predicted, result.limiter or "–"]


def _has_times(ladder: Ladder) -> bool:
    return any(result.time_ms is not None for result in ladder.results)


def _peers(results: Sequence[RungResult]) -> list[str]:
    return list(dict.fromkeys(name for result in results for name in result.peers))


def _count(result: RungResult, counter: str) -> str:
    return short(result.counters[counter]) if counter in result.counters else "–"


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else "0" if value == 0 else f"{value:{form}}"
