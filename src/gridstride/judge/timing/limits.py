"""What the chip allows: the least time a problem can take, whatever the kernel."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

from gridstride.judge.problem import Problem
from gridstride.protocol import DeviceProperties
from gridstride.virtual.chips import chip as chip_named
from gridstride.virtual.chips import names

# CUDA C++ Programming Guide, "Arithmetic Instructions": results per clock and multiprocessor for 32-bit add, multiply
# and multiply-add, by compute capability.
_FP32_LANES = {(7, 5): 64, (8, 0): 64, (8, 6): 128, (8, 7): 128, (8, 9): 128, (9, 0): 128, (10, 0): 128, (12, 0): 128}
_SECTOR = 32  # bytes
_L1_BYTES = 128  # per clock and multiprocessor, loads that hit L1: 123 seen on an H200 (bench/prediction.py, l1_read4)
_TENSOR_RATES = {"float16": 1.0, "bfloat16": 1.0, "tf32": 0.5, "e4m3": 2.0}
"""Multiply-adds of tensor cores in proportion to those of 16 bits, from Ampere (tf32) and Ada (e4m3) on."""
_TRANSFERS = 2  # per memory clock: double data rate, as the driver reports the clock


@dataclass(frozen=True, slots=True)
class Rates:
    """What one chip does at most, per millisecond."""

    flops: float
    memory_bytes: float
    sectors: float

    @staticmethod
    def of(chip: DeviceProperties, problem: Problem | None = None) -> Rates:
        """Rates from the clock, the number of multiprocessors and the memory bus.

        A problem that is given 16-bit floats, or names the type of its products, may be solved on tensor cores: its
        arithmetic has their rate.
        """
        clocks = chip.clock_mhz * 1e3 * chip.multiprocessors
        per_clock: float = _FP32_LANES.get(chip.compute_capability, 128)
        types = [problem.products, *(p.dtype for p in problem.parameters if p.given)] if problem else []
        if on_tensor_cores := [_TENSOR_RATES[t] for t in types if t in _TENSOR_RATES]:
            per_clock = on_tensor_cores[0] * _tensor_rate(chip.compute_capability)
        return Rates(
            flops=2 * per_clock * clocks,
            memory_bytes=chip.memory_clock_mhz * 1e3 * _TRANSFERS * chip.memory_bus_bits / 8,
            sectors=_L1_BYTES / _SECTOR * clocks,
        )


@functools.cache
def _tensor_rate(capability: tuple[int, int]) -> float:
    """16-bit multiply-adds per clock and multiprocessor; without a limit where no chip here has the capability."""
    all_chips = (chip_named(name) for name in names())
    return max((chip.rates["tensor_f16_fma"] for chip in all_chips if chip.properties.compute_capability == capability),
               default=math.inf)  # fmt: skip


def floor_ms(work: tuple[int, int], rates: Rates) -> float:
    """The roofline: no kernel does `work` (flops, bytes) in less, however good it is."""
    flops, moved = work
    return max(flops / rates.flops, moved / rates.memory_bytes)
