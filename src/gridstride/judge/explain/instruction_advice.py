"""What to try about instructions: barriers, branches that diverge, float64 and divisions."""

from __future__ import annotations

from collections.abc import Iterator

from gridstride.judge.explain import what_if
from gridstride.judge.explain.advice import Advice, AdviceSubject, predicted_gain
from gridstride.virtual.observe.figures import percent

_LANES = 0.75  # lanes that are on, below which a line is called divergent
_MANY_BARRIERS = 4  # that a warp comes to, from which they are worth a thought
_BARRIERS_LEFT = 0.5  # of them, where each round has one in the place of two


def barriers(s: AdviceSubject) -> Iterator[Advice]:
    """Barriers that a block waits at again and again, where they hold the kernel up."""
    waiting = [line for line in s.lines if line.counters.kinds.get("barrier", 0)]
    if not waiting:
        return
    most = max(waiting, key=lambda line: line.counters.kinds["barrier"])
    count = sum(line.counters.kinds["barrier"] for line in waiting) / max(1, s.blocks * s.warps_per_block)
    if count < _MANY_BARRIERS:
        return
    improved = what_if.fewer_barriers(s.at.counters, _BARRIERS_LEFT)
    yield Advice(
        "barriers", most.number,
        f"every warp waits at {count:.0f} barriers of its block: all its warps stand still until the last one is there",
        "do more between two barriers (larger tiles, several elements for each thread), use two buffers in turn, so "
        "that one barrier for each round is enough, and exchange values within a warp by shuffles (__shfl_down_sync), "
        "which need none",
        predicted_gain(s, improved), "barriers", _BARRIERS_LEFT,
        tuple(line.number for line in waiting if line is not most),
    )  # fmt: skip


def divergence(s: AdviceSubject) -> Iterator[Advice]:
    """Branches that split warps, where lanes are off behind them."""
    split = [line for line in s.lines if line.counters.divergent_branches]
    idle = [line for line in s.lines if line.counters.lane_share < _LANES and line.counters.instructions]
    if not split or not idle:
        return
    # Where few lanes are on, the warp was split before: the cause is a branch that all of them come to.
    outer = [line for line in split if line.counters.lane_share >= _LANES] or split
    branch = max(outer, key=lambda line: line.counters.divergent_branches)
    below = tuple(line.number for line in idle if line is not branch)
    c = branch.counters
    improved = what_if.full_lanes(s.at.counters, *(line.counters for line in idle))
    lanes = sum(line.counters.active_lanes for line in idle) / (32 * sum(line.counters.instructions for line in idle))
    cause = (
        f"{percent(c.divergent_branches / max(c.branches, c.divergent_branches))} of the branches here split a warp; "
        f"the lines below run with {percent(lanes)} of their lanes on"
    )
    remedy = (
        "make the condition the same for all 32 lanes of a warp (decide by warp or block rather than by thread), sort "
        "the work so that like goes with like, or compute both sides and select"
    )
    yield Advice("divergence", branch.number, cause, remedy, predicted_gain(s, improved), "instructions",
                 improved.instructions / s.at.counters.instructions, below[:4])  # fmt: skip


def doubles(s: AdviceSubject) -> Iterator[Advice]:
    """Arithmetic in float64 where nothing in the problem is."""
    if any(parameter.dtype == "float64" for parameter in s.problem.parameters):
        return
    for line in s.lines:
        if not (line.counters.kinds.get("fp64", 0) or line.counters.kinds.get("fp64_fma", 0)):
            continue
        yield Advice("double precision", line.number,
                     "this line calculates in float64, though nothing in the problem is",
                     "write constants with an f (0.5f) and use the single-precision functions (sqrtf, expf)",
                     predicted_gain(s, what_if.in_single(s.at.counters, line.counters)))  # fmt: skip


_DIVISION_TEXTS = {
    "whole": (
        "divides whole numbers (/ or %) by one that is not known when the kernel is compiled: up to 20 instructions",
        "make the divisor a constant (constexpr, a template parameter) or a power of two (>> and &), divide once "
        "before the loop, or let a grid of two dimensions give row and column",
    ),
    "long": (
        "divides 64-bit whole numbers: a call of some 80 instructions",
        "divide in 32 bits where the numbers allow, make the divisor a constant, or divide once before the loop",
    ),
    "float": (
        "divides floats with correct rounding, in about 8 instructions",
        "multiply by the reciprocal, taken once before the loop, or use __fdividef where its error may be",
    ),
}


def divisions(s: AdviceSubject) -> Iterator[Advice]:
    """The counts have one instruction for a division: what machine code has is put in, and taken out again."""
    counters = {line.number: line.counters for line in s.lines}
    for division in s.divisions:
        line = counters.get(division.line)
        added = round(line.instructions * division.takes / division.instructions) if line else 0
        if added:
            cause, remedy = _DIVISION_TEXTS[division.kind]
            with_divisions = s.at.predict(what_if.divided(s.at.counters, division.kind, added)).ms
            yield Advice("division", division.line, f"this line {cause}", remedy, with_divisions / s.at.predict().ms)
