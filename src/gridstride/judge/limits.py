"""What the chip allows: the least time a problem can take, and where the counted work of a kernel goes.

Counts are of PTX, not of machine code, so times made from them are predictions and are named so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gridstride.protocol import DeviceProperties

# CUDA C++ Programming Guide, "Arithmetic Instructions": results per clock and multiprocessor for 32-bit add, multiply
# and multiply-add, by compute capability.
_FP32_LANES = {(7, 5): 64, (8, 0): 64, (8, 6): 128, (8, 7): 128, (8, 9): 128, (9, 0): 128, (10, 0): 128, (12, 0): 128}
_SCHEDULERS = 4  # warp instructions issued per clock and multiprocessor, from capability 5.0 on
_SECTOR = 32  # bytes
_L1_BYTES = 64  # per clock and multiprocessor, global loads that hit L1
_TRANSFERS = 2  # per memory clock: double data rate, as the driver reports the clock


@dataclass(frozen=True, slots=True)
class Rates:
    """What one chip does at most, per millisecond."""

    flops: float
    memory_bytes: float
    warp_instructions: float
    sectors: float
    shared_wavefronts: float

    @staticmethod
    def of(chip: DeviceProperties) -> Rates:
        """Rates from the clock, the number of multiprocessors and the memory bus."""
        clocks = chip.clock_mhz * 1e3 * chip.multiprocessors
        lanes = _FP32_LANES.get(chip.compute_capability, 128)
        return Rates(
            flops=2 * lanes * clocks,
            memory_bytes=chip.memory_clock_mhz * 1e3 * _TRANSFERS * chip.memory_bus_bits / 8,
            warp_instructions=_SCHEDULERS * clocks,
            sectors=_L1_BYTES / _SECTOR * clocks,
            shared_wavefronts=clocks,
        )


def floor_ms(work: tuple[int, int], rates: Rates) -> float:
    """The roofline: no kernel does `work` (flops, bytes) in less, however good it is."""
    flops, moved = work
    return max(flops / rates.flops, moved / rates.memory_bytes)


def busy_ms(counters: Mapping[str, float], work: tuple[int, int], rates: Rates) -> dict[str, float]:
    """How long each part of the chip is busy with the counted work, if the rest never holds it up."""
    flops, moved = work
    return {
        "memory bandwidth": moved / rates.memory_bytes,
        "arithmetic": flops / rates.flops,
        "instruction issue": counters.get("instructions", 0) / rates.warp_instructions,
        "global sectors": counters.get("global_sectors", 0) / rates.sectors,
        "shared memory": counters.get("shared_wavefronts", 0) / rates.shared_wavefronts,
    }


def scaled(counters: Mapping[str, float], factor: float) -> dict[str, float]:
    """Counts of a case `factor` times as large, for a kernel whose counts grow with its work."""
    return {name: value * factor for name, value in counters.items()}
