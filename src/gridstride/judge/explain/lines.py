"""What each source line has of the predicted time.

The model adds the parts of the chip as powers; each part's weight in that sum is shared out to the lines by how long
each keeps that part busy. Waiting is shared out by the latency of what the lines wait for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from gridstride.judge.explain.at_size import AtSize
from gridstride.virtual.observe.counters import Counters
from gridstride.virtual.observe.line_counters import LineCounters
from gridstride.virtual.observe.predict import busy_ms

_ARITHMETIC, _SPECIAL, _SHARED, _BRANCH = (
    4,
    22,
    24,
    12,
)  # clocks until a result can be used (lowering/observed/dependency_chains.py)
_COUNTS = tuple(f.name for f in fields(LineCounters))


@dataclass(frozen=True, slots=True)
class LineProfile:
    """One source line: its share of the predicted time (0 to 1), the part of the chip it weighs on most, its counts."""

    number: int
    code: str
    share: float
    part: str
    counters: LineCounters

    def json(self) -> dict[str, Any]:
        """What `explain --json` says of a line."""
        c = self.counters
        return {
            "line": self.number, "code": self.code.strip(), "share": self.share, "part": self.part,
            "instructions": c.instructions, "lane_share": c.lane_share,
            "divergent_branches": c.divergent_branches, "branches": c.branches,
            "global_requests": c.global_requests, "global_sectors": c.global_sectors,
            "global_ideal_sectors": c.global_ideal_sectors,
            "sectors_per_request": c.sectors_per_request if c.global_requests else None,
            "ideal_sectors_per_request": c.global_ideal_sectors / c.global_requests if c.global_requests else None,
            "shared_requests": c.shared_requests, "shared_wavefronts": c.shared_wavefronts,
            "bank_conflicts": c.bank_conflicts, "atomics": c.atomics, "contended_lanes": c.contended_lanes,
            "barriers": c.barriers, "kinds": dict(c.kinds),
        }  # fmt: skip


def lines(at: AtSize, source: str, filename: str) -> tuple[LineProfile, ...]:
    """Every line of the kernel's own file that did anything, in the file's order."""
    own = [c for c in at.counters.lines if c.line and Path(c.file or "").name == Path(filename).name]
    if not own:
        return ()
    busy = [_busy(line, at) for line in at.counters.lines]
    weights = _weights(at)
    totals = {part: sum(weights.get(part, 0.0) for weights in busy) for part in weights}
    text = source.splitlines()
    result = []
    for counters, line_busy in zip(at.counters.lines, busy, strict=True):
        if counters not in own or counters.line is None or counters.line > len(text) or not counters.instructions:
            continue
        shares = {part: w * line_busy.get(part, 0.0) / totals[part] for part, w in weights.items() if totals[part]}
        part = max(shares, key=lambda name: shares[name]) if any(shares.values()) else ""
        result.append(LineProfile(counters.line, text[counters.line - 1], sum(shares.values()), part, counters))
    return tuple(sorted(result, key=lambda line: line.number))


def as_counters(line: LineCounters) -> Counters:
    """A line's counts as those of a run that did nothing else."""
    return Counters(**{name: getattr(line, name) for name in _COUNTS})


def _weights(at: AtSize) -> Mapping[str, float]:
    """Each part's weight in the predicted time; the start of the launch belongs to no line."""
    predicted, power = at.predict(), at.chip.prediction["sharpness"]
    raised = {part: ms**power for part, ms in predicted.parts.items() if ms > 0 and part != "launch"}
    total = sum(raised.values()) or 1.0
    return {part: weight / total for part, weight in raised.items()}


def _busy(line: LineCounters, at: AtSize) -> dict[str, float]:
    """How long a line keeps each part busy, in units that only mean something beside other lines'."""
    counters = as_counters(line)
    counters.atomic_bytes = at.counters.atomic_bytes
    busy = busy_ms(counters, at.shape, at.chip)
    path = busy["shared memory"] + busy["L1"]
    return {**busy, "shared memory": path, "L1": path, "DRAM": float(line.l2_sectors + line.tma_sectors),
            "latency": _waited(line, at)}  # fmt: skip


def _waited(line: LineCounters, at: AtSize) -> float:
    """Clocks that a warp would wait for the line's results, if it waited for each alone."""
    latency, kinds = at.chip.latency, line.kinds
    loads = line.global_load_requests + line.global_atomic_requests
    missed = line.l1_missed_sectors / line.global_load_sectors if line.global_load_sectors else 0.0
    far = latency["l1"] + missed * (latency["dram"] - latency["l1"])
    arithmetic = sum(count for kind, count in kinds.items() if kind not in ("memory", "parameter", "move"))
    return (
        loads * far
        + line.shared_requests * _SHARED
        + kinds.get("special", 0) * (_SPECIAL - _ARITHMETIC)
        + (kinds.get("branch", 0)) * (_BRANCH - _ARITHMETIC)
        + arithmetic * _ARITHMETIC
    )
