"""What the machine of a trace can do at most: a GPU by its data sheet, a CPU by what was measured beside the run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from gridstride.profile.trace import Trace
from gridstride.profile.work import MinimalWork
from gridstride.virtual.chips import Chip, chip, names

_WORDS = re.compile(r"[a-z]+\d*[a-z]*|\d+[a-z]*")
_CLOSE = 0.15  # of the memory: what a driver keeps for itself, and GB against GiB
TF32 = "tf32"  # float32 in matrix products of the tensor cores
_HALVES = ("c10::Half", "c10::BFloat16")


@dataclass(frozen=True, slots=True)
class PeakRates:
    """Rates per second, and where they are from. `flops` by element type; `products` those of matrix products."""

    bytes_per_s: float
    flops: Mapping[str, float]
    products: Mapping[str, float]
    source: str

    def floor_ns(self, work: MinimalWork, *, product: bool = False) -> float:
        """No machine of this kind does the work in less; the time of the bytes alone where the type has no rate."""
        rate = (self.products if product else self.flops).get(work.dtype)
        return 1e9 * max(work.flops / rate if rate else 0.0, work.bytes / self.bytes_per_s)

    def bound(self, work: MinimalWork, *, product: bool = False) -> str:
        """Which of the two it is that limits: "arithmetic" or "memory"."""
        rate = (self.products if product else self.flops).get(work.dtype)
        return "arithmetic" if rate and work.flops / rate > work.bytes / self.bytes_per_s else "memory"


def limits(trace: Trace) -> PeakRates | None:
    """Of the trace's first device, or of the CPU that recorded it; None where nothing is known."""
    if trace.on_gpu:
        chip = chip_of(trace)
        return _of_chip(chip) if chip else None
    measured = trace.about.get("gridstride", {}).get("cpu")
    return _of_cpu(measured) if measured else None


def device_name(trace: Trace) -> str:
    """What the trace calls its device; "CPU" where none did anything."""
    if not trace.on_gpu:
        return "CPU"
    devices = trace.about.get("deviceProperties") or [{}]
    return str(devices[0].get("name", "a GPU without a name"))


def chip_of(trace: Trace) -> Chip | None:
    """The chip that the trace's device is; one of the same name with other processors or memory is another chip."""
    devices = trace.about.get("deviceProperties") or [{}]
    words = _WORDS.findall(device_name(trace).lower())
    chips = [chip(name) for name in names() if name in words or name in map("".join, pairwise(words))]
    return chips[0] if chips and _same(chips[0], devices[0]) else None


def _same(chip: Chip, device: Mapping[str, Any]) -> bool:
    processors = device.get("numSms", chip.properties.multiprocessors)
    memory = device.get("totalGlobalMem") or chip.properties.total_memory
    near = abs(float(memory) / chip.properties.total_memory - 1) < _CLOSE
    return near and int(processors) == chip.properties.multiprocessors


def _of_chip(chip: Chip) -> PeakRates:
    p, rates = chip.properties, chip.rates
    clocks = p.clock_mhz * 1e6 * p.multiprocessors
    plain = {"float": 2 * rates["fp32"] * clocks, "double": 2 * rates["fp64"] * clocks}
    plain |= dict.fromkeys(_HALVES, 2 * rates["half2"] * clocks)
    tensor = 2 * rates["tensor_f16_fma"] * clocks
    return PeakRates(
        bytes_per_s=1e12 * rates["dram_tb_per_s"],
        flops=plain,
        products=plain | dict.fromkeys(_HALVES, tensor) | {TF32: tensor / 2},
        source=f"{p.name}: {1e-12 * tensor:.0f} TFLOP/s in 16 bits, {1e-12 * plain['float']:.0f} TFLOP/s in float32, "
        f"{rates['dram_tb_per_s']:.2f} TB/s",
    )


def _of_cpu(measured: Mapping[str, Any]) -> PeakRates:
    rates = {str(dtype): float(rate) for dtype, rate in measured["flops"].items()}
    moved = float(measured["bytes_per_s"])
    rate_text = ", ".join(f"{1e-9 * rate:.0f} GFLOP/s in {_plainly(dtype)}" for dtype, rate in rates.items())
    threads = measured.get("threads")
    return PeakRates(
        bytes_per_s=moved,
        flops={},  # what the vector units do at most was not measured: the bytes alone bound such operators
        products=rates,
        source=f"this CPU with {threads} thread{'s' if threads != 1 else ''}, measured after the run: a matrix product "
        f"gave {rate_text}, a copy {1e-9 * moved:.1f} GB/s",
    )


def _plainly(dtype: str) -> str:
    return {"float": "float32", "double": "float64"}.get(dtype, dtype.removeprefix("c10::").lower())
