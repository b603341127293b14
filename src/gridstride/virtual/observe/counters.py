"""What a run counted: totals, and the same for every source line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from gridstride.virtual.lowering.observed import ACCESS_COUNTERS
from gridstride.virtual.machine.layout import LANES


@dataclass(slots=True)
class LineCounters:
    """Counts of one source line (of a whole kernel: `Counters`). Instructions are of PTX, one per warp that runs it.

    `active_lanes` sums the lanes of those instructions. A request is one warp's access; a sector is 32 bytes of global
    memory; a wavefront is one pass over the banks of shared memory; `bank_conflicts` are passes beyond those needed.
    """

    file: str | None = None
    line: int | None = None
    instructions: int = 0
    active_lanes: int = 0
    global_requests: int = 0
    global_sectors: int = 0
    global_lines: int = 0
    global_ideal_sectors: int = 0
    global_bytes: int = 0
    shared_requests: int = 0
    shared_wavefronts: int = 0
    bank_conflicts: int = 0
    barriers: int = 0
    atomics: int = 0

    @property
    def lane_share(self) -> float:
        """Active lanes over the lanes that the instructions had, 0 to 1."""
        return self.active_lanes / (LANES * self.instructions) if self.instructions else 1.0

    @property
    def sectors_per_request(self) -> float:
        """Sectors a request touches; 4 is what 32 lanes of 4 bytes in a row need."""
        return self.global_sectors / self.global_requests if self.global_requests else 0.0

    def add(self, other: LineCounters) -> None:
        for name in _COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def as_dict(self) -> dict[str, int]:
        """The counts by name."""
        return {name: getattr(self, name) for name in _COUNTS}


_COUNTS = tuple(f.name for f in fields(LineCounters) if f.name not in ("file", "line"))


@dataclass(slots=True)
class Counters(LineCounters):
    """Totals of a run. `kinds`: warp instructions by class. `sampled`: (blocks counted, blocks in the grid); where they
    differ, the totals are scaled up from the counted blocks.
    """

    lines: tuple[LineCounters, ...] = ()
    kinds: Mapping[str, int] = field(default_factory=dict)
    sampled: tuple[int, int] = (0, 0)

    @property
    def exact(self) -> bool:
        """True where every block was counted."""
        return self.sampled[0] == self.sampled[1]


def collect(raw: np.ndarray[Any, Any], tables: Mapping[str, Any], counted: int, blocks: int) -> Counters:
    """Turns the machine's counters (summed over workers) into lines and totals."""
    scale = blocks / counted if counted else 0.0
    lines: dict[tuple[str | None, int | None], LineCounters] = defaultdict(LineCounters)
    kinds: dict[str, int] = defaultdict(int)
    for block in tables["blocks"]:
        warps, lanes = (int(v) for v in raw[block["at"] : block["at"] + 2])
        if not warps:
            continue
        for part in block["lines"]:
            line = lines[part["file"], part["line"]]
            executed = round(warps * part["count"] * scale)
            line.instructions += executed
            line.active_lanes += round(lanes * part["count"] * scale)
            line.barriers += executed if part["kind"] == "barrier" else 0
            kinds[part["kind"]] += executed
    for access in tables["accesses"]:
        values = [round(int(v) * scale) for v in raw[access["at"] : access["at"] + len(ACCESS_COUNTERS)]]
        _add_access(lines[access["file"], access["line"]], access, dict(zip(ACCESS_COUNTERS, values, strict=True)))
    return _total(lines, kinds, counted, blocks)


def _add_access(line: LineCounters, access: Mapping[str, Any], counts: Mapping[str, int]) -> None:
    if access["space"] == "shared":
        line.shared_requests += counts["requests"]
        line.shared_wavefronts += counts["wavefronts"]
        line.bank_conflicts += counts["wavefronts"] - counts["ideal"]
    else:
        line.global_requests += counts["requests"]
        line.global_sectors += counts["sectors"]
        line.global_lines += counts["lines"]
        line.global_ideal_sectors += counts["ideal"]
        line.global_bytes += counts["lanes"] * access["bytes"]
    if access["kind"] in ("atom", "red"):
        line.atomics += counts["lanes"]


def _total(
    lines: Mapping[tuple[str | None, int | None], LineCounters], kinds: Mapping[str, int], counted: int, blocks: int
) -> Counters:
    total = Counters(kinds=dict(kinds), sampled=(counted, blocks))
    for (file, number), line in lines.items():
        line.file, line.line = file, number
        total.add(line)
    total.lines = tuple(sorted(lines.values(), key=lambda c: (c.file or "", c.line or 0)))
    return total
