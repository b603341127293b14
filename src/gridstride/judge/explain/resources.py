"""How near a kernel comes to what each part of the chip can do, and where it is under the chip's rooflines."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from gridstride.judge.explain.at_size import AtSize
from gridstride.virtual.observe.counters import Counters
from gridstride.virtual.observe.predict import SECTOR

_LANES = 32
_WAVEFRONT = 128  # bytes that one pass over the banks of shared memory gives
_UNLIMITED = ("latency", "launch")  # waits, which have no speed of light


@dataclass(frozen=True, slots=True)
class Resource:
    """One part of the chip: milliseconds that it would need alone, and that as a share of the whole time."""

    name: str
    ms: float
    share: float

    def json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class MemoryLevel:
    """One memory under the roofline: bytes that it moves, its bandwidth, operations for each byte, and the most
    operations per second that it allows.
    """

    name: str
    bytes: float
    bytes_per_s: float
    intensity: float
    roof: float

    def json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Rooflines:
    """Operations of the launch, operations per second that were reached, the arithmetic peak, and each memory."""

    flops: float
    flops_per_s: float
    peak: float
    peak_of: str
    levels: tuple[MemoryLevel, ...]

    def json(self) -> dict[str, Any]:
        return {**asdict(self), "levels": [level.json() for level in self.levels]}


def resources(at: AtSize, ms: float) -> tuple[Resource, ...]:
    """Every part with anything to do, the busiest first, against a launch that takes `ms`."""
    parts = at.predict().parts.items()
    return tuple(Resource(name, us, us / ms) for name, us in parts if us > 0 and name not in _UNLIMITED)


def rooflines(at: AtSize, ms: float) -> Rooflines:
    """The hierarchical roofline of a launch that takes `ms`: the same operations over the bytes of each memory."""
    c, chip = at.grown, at.chip
    seconds, clock = 1e-3 * ms, chip.properties.clock_mhz * 1e6
    flops = operations(c)
    all_clocks = clock * chip.properties.multiprocessors
    kind, rate = _arithmetic(c, at)
    measured = {
        "DRAM": (c.read_bytes + c.written_bytes, chip.rates["dram_tb_per_s"] * 1e12),
        "L2": (SECTOR * c.l2_sectors, clock * chip.prediction["l2_read_bytes"]),
        "L1 and shared": (
            SECTOR * c.global_sectors + _WAVEFRONT * c.shared_wavefronts,
            all_clocks * chip.rates["shared_bytes"],
        ),
    }
    peak = all_clocks * rate
    levels = tuple(
        MemoryLevel(name, moved, width, flops / moved, min(peak, flops / moved * width))
        for name, (moved, width) in measured.items()
        if moved
    )
    return Rooflines(flops, flops / seconds, peak, kind, levels)


def operations(c: Counters) -> float:
    """Floating-point operations, a multiply-add being two, of the lanes that were on."""
    kinds = c.kinds
    of_warps = sum(kinds.get(kind, 0) for kind in ("fp32", "fp64", "special"))
    of_warps += 2 * sum(kinds.get(kind, 0) for kind in ("fp32_fma", "fp64_fma", "half"))
    return _LANES * c.lane_share * of_warps + c.tensor_operations


def _arithmetic(c: Counters, at: AtSize) -> tuple[str, float]:
    """What the arithmetic is mostly done by, and its operations per clock and multiprocessor."""
    rates, kinds = at.chip.rates, c.kinds
    if c.tensor_operations:
        return "tensor", 2 * rates["tensor_f16_fma"] * at.chip.prediction["tensor_share"]
    widths = {
        "FP64": (kinds.get("fp64", 0) + kinds.get("fp64_fma", 0), 2 * rates["fp64"]),
        "FP16": (kinds.get("half", 0), 2 * rates["half2"]),
        "FP32": (kinds.get("fp32", 0) + kinds.get("fp32_fma", 0), 2 * rates["fp32"]),
    }
    name = max(widths, key=lambda item: widths[item][0])
    return (name, widths[name][1]) if widths[name][0] else ("FP32", widths["FP32"][1])
