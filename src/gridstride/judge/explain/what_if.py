"""Counts as they would be if one thing were mended: the model of time is asked again with these.

Each function gives new totals of the observed run, from the old ones and the line that changes.
"""

from __future__ import annotations

import copy

from gridstride.virtual.observe.counters import Counters
from gridstride.virtual.observe.line_counters import LineCounters

_LANES = 32
_SECTORS_OF_A_LINE = 4
_VECTOR = 4  # values that one instruction moves with float4 or int4


def coalesced(total: Counters, line: LineCounters) -> Counters:
    """The line's lanes lie side by side: as many sectors as the bytes need."""
    changed, share = copy.copy(total), line.global_ideal_sectors / line.global_sectors
    for name in ("global_sectors", "global_load_sectors", "global_store_sectors"):
        setattr(changed, name, getattr(total, name) - round(getattr(line, name) * (1 - share)))
    changed.global_lines -= max(0, line.global_lines - max(line.global_requests, _lines(line.global_ideal_sectors)))
    changed.l2_sectors -= round(line.l2_sectors * (1 - share))
    changed.l2_lines -= max(0, line.l2_lines - _lines(round(line.l2_sectors * share)))
    changed.l1_missed_sectors -= round(line.l1_missed_sectors * (1 - share))
    return changed


def without_conflicts(total: Counters, conflicts: int) -> Counters:
    """So many passes over the banks of shared memory fewer, which the bytes do not need."""
    changed = copy.copy(total)
    changed.shared_wavefronts -= conflicts
    changed.bank_conflicts -= conflicts
    return changed


def fewer_barriers(total: Counters, share: float) -> Counters:
    """That share of the barriers is left."""
    changed = copy.copy(total)
    waits = total.kinds.get("barrier", 0)
    changed.kinds = {**total.kinds, "barrier": round(waits * share)}
    changed.instructions -= waits - changed.kinds["barrier"]
    return changed


def divided(total: Counters, kind: str, instructions: int) -> Counters:
    """With so many more instructions (fewer, where negative) that a division takes in machine code."""
    changed = copy.copy(total)
    pipe = "fp32" if kind == "float" else "integer"
    changed.kinds = {**total.kinds, pipe: max(0, total.kinds.get(pipe, 0) + instructions)}
    changed.instructions = max(0, total.instructions + instructions)
    return changed


def fewer_atomics(total: Counters, line: LineCounters, share: float) -> Counters:
    """That share of the line's atomics on global memory is left."""
    changed = copy.copy(total)
    for name in ("global_atomic_sectors", "global_reduction_sectors", "global_atomic_lines", "contended_lanes",
                 "merged_atomics"):  # fmt: skip
        setattr(changed, name, getattr(total, name) - round(getattr(line, name) * (1 - share)))
    return changed


def full_lanes(total: Counters, *lines: LineCounters) -> Counters:
    """The lanes of a warp go the same way: the same work in fewer, full instructions, and no branch that splits."""
    changed = copy.copy(total)
    changed.kinds = dict(total.kinds)
    for line in lines:
        share = line.lane_share
        changed.instructions -= round(line.instructions * (1 - share))
        for kind, count in line.kinds.items():
            changed.kinds[kind] -= round(count * (1 - share))
    factor = changed.instructions / total.instructions if total.instructions else 1.0
    changed.divergent_branches = 0
    first, second, third = (clocks * factor for clocks in total.chain)
    changed.chain = (first, second, third)
    return changed


def kept_near(total: Counters, line: LineCounters, bytes_needed: int) -> Counters:
    """What the line reads is loaded once by the block and read from shared memory: one pass for each warp's access."""
    changed = copy.copy(total)
    keep = min(1.0, bytes_needed / (_LANES * max(1, line.global_load_sectors)))
    removed = round(line.global_load_sectors * (1 - keep))
    changed.global_sectors -= removed
    changed.global_load_sectors -= removed
    changed.global_lines -= round(line.global_lines * (1 - keep))
    changed.l2_sectors -= round(line.l2_sectors * (1 - keep))
    changed.l2_lines -= round(line.l2_lines * (1 - keep))
    changed.l1_missed_sectors -= round(line.l1_missed_sectors * (1 - keep))
    changed.shared_wavefronts += line.global_load_requests
    return changed


def wide(total: Counters, *lines: LineCounters) -> Counters:
    """Four values for each access: a quarter of the instructions, and four times the bytes on their way."""
    changed = copy.copy(total)
    changed.kinds = dict(total.kinds)
    saved = round(sum(line.instructions for line in lines) * (1 - 1 / _VECTOR))
    changed.instructions -= saved
    for line in lines:
        for kind, count in line.kinds.items():
            if kind in ("integer", "integer_fma", "memory", "branch", "convert"):
                changed.kinds[kind] -= round(count * (1 - 1 / _VECTOR))
    first, second, third = (clocks / _VECTOR for clocks in total.chain)
    changed.chain = (first, second, third)
    return changed


def in_single(total: Counters, line: LineCounters) -> Counters:
    """The line's double-precision arithmetic in single precision."""
    changed = copy.copy(total)
    changed.kinds = dict(total.kinds)
    for double, single in (("fp64", "fp32"), ("fp64_fma", "fp32_fma")):
        count = line.kinds.get(double, 0)
        changed.kinds[double] = changed.kinds.get(double, 0) - count
        changed.kinds[single] = changed.kinds.get(single, 0) + count
    return changed


def one_atomic_per_warp(total: Counters, line: LineCounters) -> Counters:
    """The warp adds up what its lanes have, and one lane does the atomic."""
    changed = copy.copy(total)
    share = line.global_atomic_requests + line.global_reduction_requests
    sectors = line.global_atomic_sectors + line.global_reduction_sectors
    changed.global_atomic_sectors -= round(line.global_atomic_sectors * (1 - min(1.0, share / max(1, sectors))))
    changed.global_reduction_sectors -= round(line.global_reduction_sectors * (1 - min(1.0, share / max(1, sectors))))
    changed.contended_lanes -= line.contended_lanes
    changed.kinds = {**total.kinds, "warp": total.kinds.get("warp", 0) + 5 * share}
    return changed


def one_atomic_per_block(total: Counters, line: LineCounters, warps: int) -> Counters:
    """The block adds up in shared memory first, and one thread of it does the atomic."""
    changed = one_atomic_per_warp(total, line)
    removed_share = 1 - 1 / max(1, warps)
    for name in ("global_atomic_sectors", "global_reduction_sectors", "global_atomic_lines", "merged_atomics"):
        setattr(changed, name, round(getattr(changed, name) * (1 - removed_share)))
    return changed


def at_registers(total: Counters, line: LineCounters) -> Counters:
    """What the line keeps in local memory stays in registers."""
    changed = copy.copy(total)
    for name in ("local_load_requests", "local_load_sectors", "local_store_requests", "local_store_sectors"):
        setattr(changed, name, getattr(total, name) - getattr(line, name))
    return changed


def _lines(sectors: int) -> int:
    return -(-sectors // _SECTORS_OF_A_LINE)
