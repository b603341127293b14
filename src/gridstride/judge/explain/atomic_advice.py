"""What to try about atomics that take turns."""

from __future__ import annotations

from collections.abc import Iterator

from gridstride.judge.explain import what_if
from gridstride.judge.explain.advice import CONFLICT_SHARE, Advice, AdviceSubject, predicted_gain
from gridstride.judge.explain.lines import LineProfile
from gridstride.virtual.observe.figures import percent

_BLOCKS_ENOUGH = 8  # for each multiprocessor, in a grid that goes over the elements in strides
_FEWER = 0.25  # of a small grid's blocks are left where a large one's become far fewer


def shared_atomics(s: AdviceSubject) -> Iterator[Advice]:
    """Lanes whose atomics meet in shared memory: another layout would not help, they take turns at one word."""
    for line in s.lines:
        c = line.counters
        if not c.atomic_conflicts or c.atomic_conflicts < CONFLICT_SHARE * c.shared_atomic_wavefronts:
            continue
        cause = (
            f"lanes of a warp update the same words of shared memory, and take turns: "
            f"{percent(c.atomic_conflicts / c.shared_atomic_wavefronts)} of the passes of these atomics are for that"
        )
        remedy = (
            "let fewer lanes meet: add up in registers or in the warp first (__reduce_add_sync, __match_any_sync) and "
            "let one lane do the atomic, or give each warp a copy of its own, which are added up at the end"
        )
        improved = what_if.without_conflicts(s.at.counters, c.atomic_conflicts)
        yield Advice("shared atomics", line.number, cause, remedy, predicted_gain(s, improved), "bank_conflicts",
                     improved.bank_conflicts / s.at.counters.bank_conflicts)  # fmt: skip


def contended(s: AdviceSubject) -> Iterator[Advice]:
    """Atomics in global memory."""
    for line in s.lines:
        c = line.counters
        if not (c.global_atomic_requests + c.global_reduction_requests):
            continue
        per_block = c.atomics / max(1, s.blocks)
        if per_block <= 1:
            yield from _fewer_blocks(s, line)
            continue
        improved = what_if.one_atomic_per_block(s.at.counters, c, s.warps_per_block)
        cause = f"{c.atomics:,} atomics go to global memory" + (
            f", {percent(c.contended_lanes / c.atomics)} of them to an address that another lane of the warp wants too"
            if c.contended_lanes
            else ""
        )
        yield Advice(
            "atomics", line.number, cause,
            "add up in the warp (__shfl_down_sync, __reduce_add_sync) and in shared memory first, and do one atomic "
            "for the block", predicted_gain(s, improved), "atomics", 1 / s.warps_per_block,
        )  # fmt: skip


def _fewer_blocks(s: AdviceSubject, line: LineProfile) -> Iterator[Advice]:
    """The block has added up already: only fewer blocks make fewer atomics."""
    share = min(1.0, _BLOCKS_ENOUGH * s.at.chip.properties.multiprocessors / s.at.shape.blocks)
    improved = what_if.fewer_atomics(s.at.counters, line.counters, share)
    yield Advice(
        "atomics", line.number, f"each of {s.at.shape.blocks:,} blocks does an atomic here, and they take turns",
        "let fewer blocks do more (a grid-stride loop over a grid of a few blocks for each multiprocessor): each adds "
        "up more before its atomic", predicted_gain(s, improved), "atomics", max(share, _FEWER),
    )  # fmt: skip
