"""How long operations take on a chip, and what share of it a kernel asks for: from the chip's table and from counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gridstride.virtual.chips import Chip
from gridstride.virtual.machine.memory.owners import HOST
from gridstride.virtual.observe.run import ObservedRun

_OF_THE_CHIP = ("DRAM", "L2", "atomics")
"""Parts of a prediction that all multiprocessors share; the others are each one's own."""
_NO_PART = ("latency", "launch")
_OF_MULTIPROCESSORS = ("blocks", "multiprocessors")
_MEMORY = {"DRAM": 1.0}


@dataclass(frozen=True, slots=True)
class Work:
    """Microseconds, and the share of each of the chip's resources that is taken meanwhile."""

    us: float
    demand: Mapping[str, float]


def kernel_work(run: ObservedRun, chip: Chip) -> Work:
    """Of a counted launch; grids that it launched itself run side by side as far as they fit."""
    grids = [_grid(launch, chip) for launch in (run, *run.descendants())]
    parent, children = grids[0], grids[1:]
    if not children:
        return parent
    fitted = sum(child.us * max(child.demand.values()) for child in children)
    longest = max(child.us for child in children)
    part = _share(run, chip)
    own = {name: part if name in _OF_MULTIPROCESSORS else 1.0 for name in parent.demand}
    return Work(parent.us + max(fitted, longest), own)


def _share(run: ObservedRun, chip: Chip) -> float:
    """Of the chip's multiprocessors, those that the launch may run on."""
    some = run.model.multiprocessors
    return 1.0 if some is None else len(some) / chip.properties.multiprocessors


def _grid(run: ObservedRun, chip: Chip) -> Work:
    predicted, some = run.predicted, run.model.multiprocessors
    p = chip.part(some).properties
    blocks = run.grid[0] * run.grid[1] * run.grid[2]
    resident = max(1, chip.resident_blocks(run.block[0] * run.block[1] * run.block[2], run.shared,
                                           run.occupancy.registers))  # fmt: skip
    busy = {name: ms / predicted.ms for name, ms in predicted.parts.items()}
    own = max((share for name, share in busy.items() if name not in (*_OF_THE_CHIP, *_NO_PART)), default=0.0)
    demand = {
        "blocks": blocks / (p.multiprocessors * resident),
        "multiprocessors": own * min(1.0, blocks / p.multiprocessors),
        **{name: busy.get(name, 0.0) for name in _OF_THE_CHIP},
    }
    demand = {name: min(1.0, share) for name, share in demand.items()}
    if some is not None:  # they are a resource of their own, and their share of the chip's
        own_part = {f"{name} of {some}": demand[name] for name in _OF_MULTIPROCESSORS}
        demand = {name: share * (_share(run, chip) if name in _OF_MULTIPROCESSORS else 1.0)
                  for name, share in demand.items()} | own_part  # fmt: skip
    return Work(predicted.ms * 1e3, demand)


def over_links(work: Work, crossing: Mapping[tuple[int, int], int], device: int, chip: Chip) -> Work:
    """The kernel of a GPU that reads or writes others' memory: no shorter than its way in or out takes for the bytes.

    `crossing`: bytes from one GPU to another, or from HOST and to it.
    """
    us = 0.0
    for rate, is_host in ((chip.timeline["peer_gb_per_s"], False), (chip.timeline["link_gb_per_s"], True)):
        own = {pair: nbytes for pair, nbytes in crossing.items() if (HOST in pair) == is_host}
        into = sum(nbytes for (_, to), nbytes in own.items() if to == device)
        out = sum(nbytes for (origin, _), nbytes in own.items() if origin == device)
        us = max(us, max(into, out) / (rate * 1e3) if into or out else 0.0)
    if us <= work.us:
        return work
    demand = {name: share if name.startswith("blocks") else share * work.us / us for name, share in work.demand.items()}
    return Work(us, demand)


def link_us(nbytes: int, chip: Chip, *, pageable: bool) -> float:
    """A copy between host and device; pageable memory goes through pinned memory, piece by piece."""
    times = chip.timeline
    rate = times["pageable_gb_per_s"] if pageable else times["link_gb_per_s"]
    return times["copy_us"] + nbytes / (rate * 1e3)


def peer_us(nbytes: int, chip: Chip, *, direct: bool) -> float:
    """A copy between two GPUs: straight, or through pinned memory of the host where neither may use the other's."""
    times = chip.timeline
    rate = times["peer_gb_per_s"] if direct else times["staged_gb_per_s"]
    return times["copy_us"] + nbytes / (rate * 1e3)


def host_us(nbytes: int, chip: Chip) -> float:
    """A copy within the host's memory."""
    return nbytes / (chip.timeline["pageable_gb_per_s"] * 1e3)


def memory_work(nbytes: int, chip: Chip) -> Work:
    """Device memory read or written, as fast as it goes: of a copy within the device the bytes count twice."""
    return Work(chip.timeline["copy_us"] + nbytes / (chip.rates["dram_tb_per_s"] * 1e6), _MEMORY)
