"""The chips that the virtual GPU can be: limits and rates, one TOML file each, every figure with its source."""

from __future__ import annotations

import difflib
import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gridstride.protocol import DeviceProperties

_FOLDER = Path(__file__).parent
_PARTITIONS = 4
_LINE = 128  # bytes
_LEAST_L1 = 16 << 10  # bytes that shared memory never takes


@dataclass(frozen=True, slots=True)
class Chip:
    """One GPU model. `rates` are per clock and multiprocessor, `latency` in clocks; `allocation` says in what pieces a
    multiprocessor is shared out, `prediction` holds the constants of observe/predict.py, `timeline` those of
    programs/timeline: the link to the host and what calls cost, in microseconds.
    """

    key: str
    properties: DeviceProperties
    rates: Mapping[str, float]
    latency: Mapping[str, float]
    allocation: Mapping[str, int]
    prediction: Mapping[str, float]
    timeline: Mapping[str, float]

    def part(self, multiprocessors: tuple[int, ...] | None) -> Chip:
        """The chip with as many multiprocessors as a launch may run on; L2 and DRAM are all there."""
        if multiprocessors is None:
            return self
        return replace(self, properties=replace(self.properties, multiprocessors=len(multiprocessors)))

    def resident_blocks(self, threads: int, shared: int, registers: int = 0) -> int:
        """Blocks of this size that one multiprocessor holds at a time; `shared` in bytes, `registers` per thread.

        Counts what the occupancy calculator counts (cuda_occupancy.h of the CUDA toolkit).
        """
        return min(self.block_limits(threads, shared, registers).values())

    def block_limits(self, threads: int, shared: int, registers: int = 0) -> dict[str, int]:
        """How many such blocks each resource of a multiprocessor is enough for."""
        p, unit = self.properties, self.allocation
        warps = -(-threads // p.warp_size)
        fits = {
            "blocks": p.max_blocks_per_multiprocessor,
            "threads": p.max_threads_per_multiprocessor // (warps * p.warp_size),
        }
        allocated = -(-(shared + unit["shared_reserved"]) // unit["shared_unit"]) * unit["shared_unit"]
        if allocated:
            fits["shared memory"] = p.shared_per_multiprocessor // allocated
        if registers:
            # Each of the four partitions has a quarter of the registers and gives them to whole warps.
            per_warp = -(-registers * p.warp_size // unit["register_unit"]) * unit["register_unit"]
            fits["registers"] = _PARTITIONS * (p.registers_per_multiprocessor // _PARTITIONS // per_warp) // warps
        return fits

    def l1_lines(self, threads: int, shared: int) -> int:
        """Lines of L1 that one resident block has to itself: what shared memory leaves, in equal shares."""
        p = self.properties
        blocks = max(1, self.resident_blocks(threads, shared))
        free = self.rates["l1_bytes"] - min(blocks * (shared + 1024), p.shared_per_multiprocessor)
        return max(1, int(max(free, _LEAST_L1) / blocks / _LINE))


def names() -> list[str]:
    """The chips there are."""
    return sorted(p.stem for p in _FOLDER.glob("*.toml"))


@functools.cache
def chip(name: str) -> Chip:
    """The chip of that name; ValueError with the nearest name otherwise."""
    key = str(name).lower()
    path = _FOLDER / f"{key}.toml"
    if key not in names():
        near = difflib.get_close_matches(key, names(), 1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise ValueError(f"unknown chip {name!r}{hint} There are: {', '.join(names())}")
    data = tomllib.loads(path.read_text())
    return Chip(
        path.stem, _properties(data), data["rates"], data["latency_clocks"], data["allocation"], data["prediction"],
        data["timeline"],
    )  # fmt: skip


def _properties(data: dict[str, Any]) -> DeviceProperties:
    limits: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data["limits"].items()}
    plain: dict[str, Any] = {k: v for k, v in data.items() if not isinstance(v, dict | list)}
    return DeviceProperties(**plain, **limits, compute_capability=tuple(data["compute_capability"]), warp_size=32)
