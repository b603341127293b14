"""`gridstride chips`: which GPUs the virtual one can be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gridstride.commands.terminal import emit, stdout
from gridstride.virtual.observe.figures import aligned

if TYPE_CHECKING:
    from gridstride.virtual.chips import Chip

_HEADER = ("chip", "name", "capability", "SMs", "clock", "memory", "bandwidth", "L2", "shared per block")


def run(*, as_json: bool) -> bool:
    """List the chips with their limits."""
    from gridstride.virtual.chips import chip, names

    all_chips = [chip(name) for name in names()]
    if as_json:
        emit({"chips": [_entry(known_chip) for known_chip in all_chips]})
        return True
    console = stdout()
    for line in aligned(_HEADER, [_row(known_chip) for known_chip in all_chips], left=(0, 1)):
        console.print(line)
    console.print("\nUse one:  gridstride climb matmul --chip h200")
    return True


def _entry(known_chip: Chip) -> dict[str, Any]:
    p = known_chip.properties
    return {
        "chip": known_chip.key,
        "name": p.name,
        "compute_capability": ".".join(map(str, p.compute_capability)),
        "multiprocessors": p.multiprocessors,
        "clock_mhz": p.clock_mhz,
        "memory_bytes": p.total_memory,
        "memory_bytes_per_s": _bandwidth(known_chip),
        "l2_bytes": p.l2_bytes,
        "shared_per_block_bytes": p.shared_per_block_optin,
        "max_threads_per_multiprocessor": p.max_threads_per_multiprocessor,
        "registers_per_multiprocessor": p.registers_per_multiprocessor,
    }


def _row(known_chip: Chip) -> list[str]:
    p = known_chip.properties
    return [
        known_chip.key,
        p.name,
        ".".join(map(str, p.compute_capability)),
        str(p.multiprocessors),
        f"{p.clock_mhz:.0f} MHz",
        f"{p.total_memory / 2**30:.0f} GiB",
        f"{_bandwidth(known_chip) / 1e12:.2f} TB/s",
        f"{p.l2_bytes / 2**20:.0f} MiB",
        f"{p.shared_per_block_optin // 1024} KiB",
    ]


def _bandwidth(known_chip: Chip) -> float:
    """Bytes per second between the chip and its memory, at most."""
    from gridstride.judge.timing.limits import Rates

    return 1e3 * Rates.of(known_chip.properties).memory_bytes
