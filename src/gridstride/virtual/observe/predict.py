"""How long a launch would take on the chip: the busiest part, from counts and published rates. Not calibrated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gridstride.virtual.chips import Chip
from gridstride.virtual.observe.counters import Counters

LAUNCH_MS = 0.0025
"""Time of an empty kernel, which is added to every launch: about 2.5 µs on current chips."""
SECTOR = 32
_DEPENDENT_ISSUE = 4.0
"""Clocks from an arithmetic instruction to the next one that needs its result (compute capability 7.0 and later)."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """A predicted time in milliseconds; `limiter` is the part of the chip that is busiest, `parts` all of them."""

    ms: float
    limiter: str
    parts: Mapping[str, float]


def predict(
    counters: Counters, grid: tuple[int, int, int], block: tuple[int, int, int], shared: int, chip: Chip, touched: int
) -> Prediction:
    """The largest of what each part needs; `touched` bounds the bytes that can come from DRAM, each taken once."""
    clocks = _clocks(counters, grid, block, shared, chip)
    per_ms = chip.properties.clock_mhz * 1e3
    parts = {name: value / per_ms for name, value in clocks.items()}
    moved = min(counters.global_sectors * SECTOR, touched)
    parts["DRAM"] = moved / (chip.rates["dram_tb_per_s"] * 1e9)
    limiter = max(parts, key=lambda name: parts[name])
    return Prediction(LAUNCH_MS + parts[limiter], limiter, parts)


def _clocks(
    counters: Counters, grid: tuple[int, int, int], block: tuple[int, int, int], shared: int, chip: Chip
) -> dict[str, float]:
    rates, kinds = chip.rates, counters.kinds
    blocks = grid[0] * grid[1] * grid[2]
    threads = block[0] * block[1] * block[2]
    busy = min(blocks, chip.properties.multiprocessors)
    warps = 32.0
    fp32 = kinds.get("fp32", 0) + kinds.get("fp32_fma", 0)
    fp64 = kinds.get("fp64", 0) + kinds.get("fp64_fma", 0)
    resident = max(1, chip.resident_blocks(threads, shared)) * chip.properties.multiprocessors
    waves = -(-blocks // resident)
    longest = counters.instructions / max(1, blocks * -(-threads // 32))
    return {
        "issue": counters.instructions / (rates["schedulers"] * busy),
        "FP32": fp32 * warps / (rates["fp32"] * busy),
        "FP64": fp64 * warps / (rates["fp64"] * busy),
        "integer": kinds.get("integer", 0) * warps / (rates["integer"] * busy),
        "special functions": kinds.get("special", 0) * warps / (rates["special"] * busy),
        "shared memory": counters.shared_wavefronts / busy,
        "L1": counters.global_sectors * SECTOR / (rates["shared_bytes"] * busy),
        "L2": counters.global_sectors * SECTOR / rates["l2_bytes_total"],
        "latency": waves * longest * _DEPENDENT_ISSUE,
    }
