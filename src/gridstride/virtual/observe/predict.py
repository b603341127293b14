"""How long a launch would take on the chip: a model of its busiest part and of the wait for results.

Every part of the chip gets the time that the counted work keeps it busy, on the multiprocessor that has most blocks to
run. Beside these stands a bound from Little's law: a warp alone takes as long as its longest chain of dependent
instructions, and only so many warps are there at a time. The largest of all is the limiter; the busiest part and the
wait are added as powers, for near to each other they hold each other up. Counts are of PTX, not of machine code.

bench/prediction.py compares with an H200; its constants are in the chip's file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gridstride.virtual.chips import Chip
from gridstride.virtual.lowering.observed.dependency_chains import MEMORY_LATENCIES
from gridstride.virtual.lowering.observed.instruction_classes import TENSOR_TYPES
from gridstride.virtual.observe.counters import Counters

SECTOR = 32
LANES = 32
_AS_LONG = 0.97  # what issues most reaches 97 % of the schedulers' rate on an H200, the pipes 99 % of theirs (ncu)
_PLACE = 1024  # bytes that one part of L2 has side by side: atomics there take turns
_VANISH = ("parameter", "move")  # classes that machine code has no instruction for, or seldom
_TENSOR_RATE = {
    "f16": 1.0, "bf16": 1.0, "tf32": 0.5, "s8": 2.0, "u8": 2.0, "e4m3": 2.0, "e5m2": 2.0, "f64": 1 / 32,
    "s4": 1 / 16, "u4": 1 / 16, "b1": 1 / 16,
}  # fmt: skip
"""Of the rate for 16-bit factors (Hopper white paper); factors of four bits and of one have no fast path on Hopper."""
if unmatched := _TENSOR_RATE.keys() ^ set(TENSOR_TYPES):
    raise ImportError(f"predict.py must have one rate for each type of factors: see {', '.join(sorted(unmatched))}")


@dataclass(frozen=True, slots=True)
class Prediction:
    """A predicted time in milliseconds. `limiter` is the first of `parts`, which hold what each part of the chip would
    need alone, the longest first; a pipe comes before the issue of instructions that is within 3 % of it.
    """

    ms: float
    limiter: str
    parts: Mapping[str, float]

    def __str__(self) -> str:
        shown = ", ".join(f"{name} {ms:.3g}" for name, ms in list(self.parts.items())[:5] if ms)
        return f"limited by {self.limiter}: {self.ms:.3g} ms predicted ({shown})"

    def json(self) -> dict[str, Any]:
        return {"ms": self.ms, "limiter": self.limiter, "parts": dict(self.parts)}


@dataclass(frozen=True, slots=True)
class GridShape:
    """A launch as the model sees it: blocks in the grid, warps in a block, blocks that a multiprocessor holds."""

    blocks: int
    warps: int
    resident: int


def predict(counters: Counters, shape: GridShape, chip: Chip) -> Prediction:
    """The time of a launch with these counts, on an idle chip whose caches are cold."""
    per_ms = chip.properties.clock_mhz * 1e3
    busy = busy_ms(counters, shape, chip)
    latency = _latency(counters, shape, chip) / per_ms
    constants = chip.prediction
    start = (constants["launch_us"] + (constants["cold_us"] if counters.read_bytes else 0.0)) / 1e3
    launch = start + shape.blocks * constants["block_clocks"] / per_ms
    # Shared memory and L1 share one path; the one that is asked for more gives the two their name.
    path = busy["shared memory"] + busy["L1"]
    name = "shared memory" if busy["shared memory"] >= busy["L1"] else "L1"
    parts = {**busy, name: path, "latency": latency, "launch": launch}
    ordered = dict(sorted(parts.items(), key=lambda part: -part[1]))
    power = constants["sharpness"]
    computing = max(busy[part] for part in _COMPUTING)
    memory = max(busy["L2"], busy["DRAM"])  # what the one gives the other takes
    apart = [computing, path, memory, latency, launch - start, busy["atomics"], busy["barriers"]]
    ms = start + sum(time**power for time in apart) ** (1 / power)
    named = _named(ordered)
    return Prediction(ms, named, {named: ordered.pop(named), **ordered})


def busy_ms(counters: Counters, shape: GridShape, chip: Chip) -> dict[str, float]:
    """Milliseconds for which these counts keep each part of the chip busy; of a line's counts, its share of them."""
    per_ms = chip.properties.clock_mhz * 1e3
    busy = {name: clocks / per_ms for name, clocks in _busy(counters, shape, chip).items()}
    busy["DRAM"] = (counters.read_bytes + counters.written_bytes) / (chip.rates["dram_tb_per_s"] * 1e9)
    return busy


def _named(parts: Mapping[str, float]) -> str:
    """The longest part; a pipe that is as good as as long as the issue of instructions says more than that does."""
    first = next(iter(parts))
    pipes = (name for name, ms in parts.items() if name in _COMPUTING[1:] and ms >= _AS_LONG * parts[first])
    return next(pipes, first) if first == _COMPUTING[0] else first


_COMPUTING = ("issue", "FP32", "FP64", "FP16", "integer", "special functions", "tensor")
"""Parts that are busy with the same instructions: the slowest of them counts."""


def _busy(counters: Counters, shape: GridShape, chip: Chip) -> dict[str, float]:
    """Clocks for which each part is busy; those of a multiprocessor are the ones with most blocks to run."""
    kinds, rates, constants = counters.kinds, chip.rates, chip.prediction
    per_block = -(-shape.blocks // chip.properties.multiprocessors) / shape.blocks

    def lanes(*names: str) -> float:
        return LANES * per_block * sum(kinds.get(name, 0) for name in names)

    issued = counters.instructions - sum(kinds.get(name, 0) for name in _VANISH)
    local = (counters.local_load_sectors + counters.local_store_sectors) / 4
    return {
        "issue": per_block * issued / rates["schedulers"],
        "FP32": lanes("fp32", "fp32_fma") / rates["fp32"],
        "FP64": lanes("fp64", "fp64_fma") / rates["fp64"],
        "FP16": lanes("half") / (rates["half2"] / 2),
        # Sums run on the pipe of the multiply-adds too, as fast as on their own.
        "integer": max(lanes("integer", "integer_fma") / 2, lanes("integer_fma")) / rates["integer"],
        "special functions": lanes("special") / rates["special"],
        "tensor": per_block * _tensor_clocks(counters, chip),
        "shared memory": per_block * (counters.shared_wavefronts + kinds.get("warp", 0)),
        "L1": per_block * (counters.global_lines + local),
        "L2": _l2_clocks(counters, constants),
        "barriers": per_block * kinds.get("barrier", 0) * constants["barrier_clocks"],
        "atomics": _atomic_clocks(counters, constants),
    }


def _atomics(counters: Counters) -> int:
    return counters.global_atomic_sectors + counters.global_reduction_sectors


def _loaded(counters: Counters) -> int:
    """Sectors of loads that L1 does not have."""
    return max(0, counters.l2_sectors - counters.global_store_sectors - _atomics(counters))


def _l2_clocks(counters: Counters, constants: Mapping[str, float]) -> float:
    """L2 takes so many bytes a clock, and so many lines, however little of each is asked for."""
    loaded, stored = _loaded(counters), counters.global_store_sectors + counters.local_store_sectors
    by_bytes = SECTOR * (loaded / constants["l2_read_bytes"] + stored / constants["l2_write_bytes"])
    lines = counters.l2_lines - counters.global_atomic_lines + counters.local_store_sectors / 4
    return max(by_bytes, lines / constants["l2_lines"])


def _atomic_clocks(counters: Counters, constants: Mapping[str, float]) -> float:
    """All at different addresses as fast as L2 goes; what lies in one place of it one after the other."""
    sectors = _atomics(counters)
    packets = counters.global_atomic_lines + counters.contended_lanes - counters.merged_atomics
    clocks_per_packet = (
        constants["same_address_clocks"] if counters.atomic_bytes <= SECTOR else constants["same_line_clocks"]
    )
    serial = packets * clocks_per_packet + counters.merged_atomics * constants["merged_clocks"]
    return max(sectors / constants["l2_atomic_sectors"], serial / max(1.0, counters.atomic_bytes / _PLACE))


def _tensor_clocks(counters: Counters, chip: Chip) -> float:
    peak = 2 * chip.rates["tensor_f16_fma"] * chip.prediction["tensor_share"]
    return sum(done / (peak * _TENSOR_RATE[type_]) for type_, done in counters.tensor_types.items())


def _latency(counters: Counters, shape: GridShape, chip: Chip) -> float:
    """Clocks until the last warp is through, if nothing held it up but its own instructions' results."""
    alone = _chain(counters, chip) / max(1, shape.blocks * shape.warps)
    waves = shape.blocks / (chip.properties.multiprocessors * max(1, shape.resident))
    # Few waves end together and the last one is waited for whole; of many, blocks fill each other's gaps.
    alone += chip.prediction["divergence_clocks"] * counters.divergent_branches / max(1, shape.blocks * shape.warps)
    return alone * (math.ceil(waves) if waves <= 4 else waves + 0.5)


def _chain(counters: Counters, chip: Chip) -> float:
    """The chains of all warps, at the latency that the launch's loads have on average."""
    latency = chip.latency
    requested = counters.global_load_sectors + counters.tma_sectors
    loads = _loaded(counters)
    missed = min(1.0, loads / requested) if requested else 0.0
    cold = min(1.0, counters.read_bytes / (SECTOR * loads)) if loads else 0.0
    load_latency = latency["l1"] + missed * (latency["l2"] - latency["l1"] + cold * (latency["dram"] - latency["l2"]))
    return _between(load_latency, MEMORY_LATENCIES, counters.chain)


def _between(x: float, xs: tuple[int, ...], ys: tuple[float, ...]) -> float:
    """Linear between the points, and on beyond them."""
    i = 0 if x < xs[1] else 1
    return ys[i] + (ys[i + 1] - ys[i]) * (x - xs[i]) / (xs[i + 1] - xs[i])
