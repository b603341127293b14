"""What the chip allows: the least time a problem can take, whatever the kernel."""

from __future__ import annotations

from dataclasses import dataclass

from gridstride.protocol import DeviceProperties

# CUDA C++ Programming Guide, "Arithmetic Instructions": results per clock and multiprocessor for 32-bit add, multiply
# and multiply-add, by compute capability.
_FP32_LANES = {(7, 5): 64, (8, 0): 64, (8, 6): 128, (8, 7): 128, (8, 9): 128, (9, 0): 128, (10, 0): 128, (12, 0): 128}
_SECTOR = 32  # bytes
_L1_BYTES = 128  # per clock and multiprocessor, loads that hit L1: 123 seen on an H200 (bench/prediction.py, l1_read4)
_TRANSFERS = 2  # per memory clock: double data rate, as the driver reports the clock


@dataclass(frozen=True, slots=True)
class Rates:
    """What one chip does at most, per millisecond."""

    flops: float
    memory_bytes: float
    sectors: float

    @staticmethod
    def of(chip: DeviceProperties) -> Rates:
        """Rates from the clock, the number of multiprocessors and the memory bus."""
        clocks = chip.clock_mhz * 1e3 * chip.multiprocessors
        lanes = _FP32_LANES.get(chip.compute_capability, 128)
        return Rates(
            flops=2 * lanes * clocks,
            memory_bytes=chip.memory_clock_mhz * 1e3 * _TRANSFERS * chip.memory_bus_bits / 8,
            sectors=_L1_BYTES / _SECTOR * clocks,
        )


def floor_ms(work: tuple[int, int], rates: Rates) -> float:
    """The roofline: no kernel does `work` (flops, bytes) in less, however good it is."""
    flops, moved = work
    return max(flops / rates.flops, moved / rates.memory_bytes)
