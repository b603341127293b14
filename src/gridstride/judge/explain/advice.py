"""What to try: each rule finds a line and a cause, says what to do, and asks the model what that would gain."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gridstride.judge.execution.divisions import Division
from gridstride.judge.explain import what_if
from gridstride.judge.explain.at_size import AtSize
from gridstride.judge.explain.lines import Line
from gridstride.judge.problem import Problem
from gridstride.virtual.observe.counters import Counters, LineCounters
from gridstride.virtual.observe.figures import percent, times
from gridstride.virtual.observe.occupancy import Occupancy

_WORTH = 1.03  # a predicted gain by less is not worth a reader's time
_MOST = 6  # pieces of advice
_EXCESS = 1.25  # times the sectors that would do, from which a line is called uncoalesced
_CONFLICTS = 0.1  # of a line's wavefronts
_LANES = 0.75  # lanes that are on, below which a line is called divergent
_REUSED = 3.0  # times that a byte is fetched, from which it is worth keeping
_REUSE_TARGET = 0.5  # how far a tile lowers the traffic depends on its size: half is clearly one
_FULL = 0.99
_MANY_BARRIERS = 4  # that a warp comes to, from which they are worth a thought
_BARRIERS_LEFT = 0.5  # of them, where each round has one in the place of two
_BLOCKS_ENOUGH = 8  # for each multiprocessor, in a grid that goes over the elements in strides
_FEWER = 0.25  # of a small grid's blocks are left where a large one's become far fewer
_SECTOR, _WORD_SECTORS = 32, 4.5  # sectors per request up to which a warp reads one word for each lane


@dataclass(frozen=True, slots=True)
class Subject:
    """What the rules look at: the launch at its timed size, its lines, and how many of its blocks fit."""

    problem: Problem
    at: AtSize
    lines: tuple[Line, ...]
    occupancy: Occupancy
    spilled: int
    warps_per_block: int
    blocks: int  # of the launch that was counted
    divisions: tuple[Division, ...] = ()


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing to try. `gain` is how many times as fast the model says the launch would be, `counter` the count that
    would fall and `target` to what share of itself, while the count `same` stays; `rung` the rung of the ladder that
    does it, where one does.
    """

    name: str
    line: int | None
    cause: str
    remedy: str
    gain: float
    counter: str = ""
    target: float = 1.0
    also: tuple[int, ...] = field(default=())
    rung: str | None = None
    rung_title: str = ""
    same: str = ""

    def json(self) -> dict[str, Any]:
        return {
            "name": self.name, "line": self.line, "also_lines": list(self.also), "cause": self.cause,
            "remedy": self.remedy, "predicted_gain": self.gain, "rung": self.rung,
        }  # fmt: skip


Rule = Callable[[Subject], Iterator[Advice]]


def advise(subject: Subject) -> tuple[Advice, ...]:
    """The pieces of advice that the model promises something of, the most promising first."""
    found = [advice for rule in _RULES for advice in rule(subject) if advice.gain >= _WORTH]
    joined: dict[tuple[str, str], Advice] = {}
    for advice in sorted(found, key=lambda each: -each.gain):
        same = joined.get((advice.name, advice.remedy))
        if same is None:
            joined[advice.name, advice.remedy] = advice
        elif advice.line is not None:
            joined[advice.name, advice.remedy] = replace(same, also=(*same.also, advice.line))
    return tuple(sorted(joined.values(), key=lambda each: -each.gain))[:_MOST]


def _gain(subject: Subject, counters: Counters | None = None, *, resident: int | None = None) -> float:
    now = subject.at.predict().ms
    return now / subject.at.predict(counters, resident=resident).ms


def _uncoalesced(s: Subject) -> Iterator[Advice]:
    for line in s.lines:
        c = line.counters
        plain = c.global_load_requests + c.global_store_requests
        if not plain or not c.global_ideal_sectors or c.global_sectors < _EXCESS * c.global_ideal_sectors or c.atomics:
            continue
        ideal = c.global_ideal_sectors / c.global_requests
        verb, each = _worse(c)
        cause = (
            f"a warp's access {verb} {each:.1f} sectors of 32 bytes where the same bytes side by side "
            f"take {ideal:.1f}: neighbouring lanes are not at neighbouring addresses"
        )
        remedy = (
            "let threadIdx.x run along the array's last index, so that lane k and lane k + 1 touch neighbouring "
            "elements; where the order must change, go through a tile in shared memory"
        )
        after = what_if.coalesced(s.at.counters, c)
        yield Advice("coalesce", line.number, cause, remedy, _gain(s, after), "global_sectors",
                     after.global_sectors / s.at.counters.global_sectors)  # fmt: skip


def _worse(c: LineCounters) -> tuple[str, float]:
    """Whether the line's loads or its stores take more sectors for a request, and how many."""
    ways = {
        "reads": c.global_load_sectors / c.global_load_requests if c.global_load_requests else 0.0,
        "writes": c.global_store_sectors / c.global_store_requests if c.global_store_requests else 0.0,
    }
    verb = max(ways, key=lambda way: ways[way])
    return verb, ways[verb]


def _conflicts(s: Subject) -> Iterator[Advice]:
    for line in s.lines:
        c = line.counters
        passes, conflicts = c.shared_wavefronts - c.shared_atomic_wavefronts, c.bank_conflicts - c.atomic_conflicts
        if not conflicts or conflicts < _CONFLICTS * passes:
            continue
        each, spare = c.shared_wavefronts / c.shared_requests, percent(conflicts / passes)
        cause = (
            f"an access takes {each:.1f} passes over the banks of shared memory, {spare} of them only "
            "because lanes want different words of the same bank"
        )
        remedy = (
            "pad the tile by one column (float tile[32][33]) or swizzle its index (column ^ row), so that the lanes of "
            "a warp fall into different banks"
        )
        after = what_if.without_conflicts(s.at.counters, conflicts)
        yield Advice("bank conflicts", line.number, cause, remedy, _gain(s, after), "bank_conflicts",
                     after.bank_conflicts / s.at.counters.bank_conflicts)  # fmt: skip


def _shared_atomics(s: Subject) -> Iterator[Advice]:
    """Lanes whose atomics meet in shared memory: another layout would not help, they take turns at one word."""
    for line in s.lines:
        c = line.counters
        if not c.atomic_conflicts or c.atomic_conflicts < _CONFLICTS * c.shared_atomic_wavefronts:
            continue
        cause = (
            f"lanes of a warp update the same words of shared memory, and take turns: "
            f"{percent(c.atomic_conflicts / c.shared_atomic_wavefronts)} of the passes of these atomics are for that"
        )
        remedy = (
            "let fewer lanes meet: add up in registers or in the warp first (__reduce_add_sync, __match_any_sync) and "
            "let one lane do the atomic, or give each warp a copy of its own, which are added up at the end"
        )
        after = what_if.without_conflicts(s.at.counters, c.atomic_conflicts)
        yield Advice("shared atomics", line.number, cause, remedy, _gain(s, after), "bank_conflicts",
                     after.bank_conflicts / s.at.counters.bank_conflicts)  # fmt: skip


def _barriers(s: Subject) -> Iterator[Advice]:
    """Barriers that a block waits at again and again, where they hold the kernel up."""
    waiting = [line for line in s.lines if line.counters.kinds.get("barrier", 0)]
    if not waiting:
        return
    most = max(waiting, key=lambda line: line.counters.kinds["barrier"])
    each = sum(line.counters.kinds["barrier"] for line in waiting) / max(1, s.blocks * s.warps_per_block)
    if each < _MANY_BARRIERS:
        return
    after = what_if.fewer_barriers(s.at.counters, _BARRIERS_LEFT)
    yield Advice(
        "barriers", most.number,
        f"every warp waits at {each:.0f} barriers of its block: all its warps stand still until the last one is there",
        "do more between two barriers (larger tiles, several elements for each thread), use two buffers in turn, so "
        "that one barrier for each round is enough, and exchange values within a warp by shuffles (__shfl_down_sync), "
        "which need none",
        _gain(s, after), "barriers", _BARRIERS_LEFT, tuple(line.number for line in waiting if line is not most),
    )  # fmt: skip


def _divergence(s: Subject) -> Iterator[Advice]:
    split = [line for line in s.lines if line.counters.divergent_branches]
    idle = [line for line in s.lines if line.counters.lane_share < _LANES and line.counters.instructions]
    if not split or not idle:
        return
    # Where few lanes are on, the warp was split before: the cause is a branch that all of them come to.
    outer = [line for line in split if line.counters.lane_share >= _LANES] or split
    where = max(outer, key=lambda line: line.counters.divergent_branches)
    below = tuple(line.number for line in idle if line is not where)
    c = where.counters
    after = what_if.full_lanes(s.at.counters, *(line.counters for line in idle))
    lanes = sum(each.counters.active_lanes for each in idle) / (32 * sum(each.counters.instructions for each in idle))
    cause = (
        f"{percent(c.divergent_branches / max(c.branches, c.divergent_branches))} of the branches here split a warp; "
        f"the lines below run with {percent(lanes)} of their lanes on"
    )
    remedy = (
        "make the condition the same for all 32 lanes of a warp (decide by warp or block rather than by thread), sort "
        "the work so that like goes with like, or compute both sides and select"
    )
    yield Advice("divergence", where.number, cause, remedy, _gain(s, after), "instructions",
                 after.instructions / s.at.counters.instructions, below[:4])  # fmt: skip


def _reuse(s: Subject) -> Iterator[Advice]:
    """A line whose loads fetch the inputs many times over."""
    _, needed = s.problem.work(s.problem.observed)
    loads = [line for line in s.lines if line.counters.global_load_sectors and not line.counters.atomics]
    fetched = sum(_used_sectors(line.counters) for line in loads) * _SECTOR
    if not needed or fetched < _REUSED * needed:
        return
    for line in loads:
        c = line.counters
        again = _used_sectors(c) * _SECTOR / needed
        if again < _REUSED:
            continue
        after = what_if.kept_near(s.at.counters, c, needed)
        cause = f"{times(again)} the problem's bytes are read here: threads fetch the same values over and over"
        remedy = (
            "load a tile once into shared memory (__shared__, __syncthreads()) or keep values in registers and let "
            "each thread make several results"
        )
        yield Advice("reuse", line.number, cause, remedy, _gain(s, after), "global_ideal_sectors", _REUSE_TARGET)


def _used_sectors(c: LineCounters) -> float:
    """Sectors that a line's loads fetch and use: what lies between the lanes' values is fetched, but nobody's again."""
    return min(c.global_load_sectors, c.global_ideal_sectors * c.global_load_requests / max(1, c.global_requests))


def _narrow(s: Subject) -> Iterator[Advice]:
    """Accesses of one word for each lane, side by side, where waiting, issue or L1 holds the kernel up."""
    if s.at.predict().limiter not in ("latency", "issue", "L1", "integer"):
        return
    own = [
        line for line in s.lines
        if line.counters.global_requests and line.counters.sectors_per_request <= _WORD_SECTORS
        and line.counters.global_sectors <= _EXCESS * line.counters.global_ideal_sectors and not line.counters.atomics
        and line.counters.global_bytes >= _LANES * 32 * line.counters.global_requests
    ]  # fmt: skip
    if not own:
        return
    first = max(own, key=lambda line: line.counters.global_requests)
    after = what_if.wide(s.at.counters, *(line.counters for line in own))
    each = first.counters.global_bytes / first.counters.global_requests / 32
    yield Advice(
        "wide accesses", first.number,
        f"each access moves {each:.0f} bytes for a lane: many instructions, and few bytes on their way at once",
        "move 16 bytes for each lane (float4, int4), or let each thread work on several independent elements",
        _gain(s, after), "global_requests", 0.25, tuple(line.number for line in own if line is not first),
        same="global_sectors",
    )  # fmt: skip


def _occupancy(s: Subject) -> Iterator[Advice]:
    o = s.occupancy
    if o.share >= _FULL or o.limiter not in ("registers", "shared memory", "threads", "blocks"):
        return
    p = s.at.chip.properties
    most = p.max_threads_per_multiprocessor // p.warp_size // s.warps_per_block
    remedy = {
        "registers": "bound the registers with __launch_bounds__(threads, blocks), or keep fewer values alive",
        "shared memory": "use a smaller tile, or smaller types in it",
        "threads": "choose a block size that divides 2048, such as 128 or 256",
        "blocks": "make the blocks larger: 128 threads or more",
    }[o.limiter]
    cause = f"{percent(o.share)} of the warps that a multiprocessor could hold are there; {o.limiter} allow no more"
    yield Advice("occupancy", None, cause, remedy, _gain(s, resident=max(1, most)))


def _few_blocks(s: Subject) -> Iterator[Advice]:
    p = s.at.chip.properties
    if s.at.shape.blocks >= p.multiprocessors:
        return
    cause = f"the grid has {s.at.shape.blocks} blocks for {p.multiprocessors} multiprocessors: the others idle"
    now = s.at.predict()
    spread = max(ms for name, ms in now.parts.items() if name != "launch") * s.at.shape.blocks / p.multiprocessors
    gain = now.ms / max(spread + now.parts["launch"], now.ms * s.at.shape.blocks / p.multiprocessors)
    yield Advice("few blocks", None, cause, "cut the work into more blocks, smaller ones if need be", gain)


def _doubles(s: Subject) -> Iterator[Advice]:
    if any(parameter.dtype == "float64" for parameter in s.problem.parameters):
        return
    for line in s.lines:
        if not (line.counters.kinds.get("fp64", 0) or line.counters.kinds.get("fp64_fma", 0)):
            continue
        yield Advice("double precision", line.number,
                     "this line calculates in float64, though nothing in the problem is",
                     "write constants with an f (0.5f) and use the single-precision functions (sqrtf, expf)",
                     _gain(s, what_if.in_single(s.at.counters, line.counters)))  # fmt: skip


def _contended(s: Subject) -> Iterator[Advice]:
    for line in s.lines:
        c = line.counters
        if not (c.global_atomic_requests + c.global_reduction_requests):
            continue
        each = c.atomics / max(1, s.blocks)
        if each <= 1:
            yield from _one_for_each_block(s, line)
            continue
        after = what_if.one_atomic_per_block(s.at.counters, c, s.warps_per_block)
        cause = f"{c.atomics:,} atomics go to global memory" + (
            f", {percent(c.contended_lanes / c.atomics)} of them to an address that another lane of the warp wants too"
            if c.contended_lanes
            else ""
        )
        yield Advice(
            "atomics", line.number, cause,
            "add up in the warp (__shfl_down_sync, __reduce_add_sync) and in shared memory first, and do one atomic "
            "for the block", _gain(s, after), "atomics", 1 / s.warps_per_block,
        )  # fmt: skip


_DIVIDES = {
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


def _divisions(s: Subject) -> Iterator[Advice]:
    """The counts have one instruction for a division: what machine code has is put in, and taken out again."""
    counters = {line.number: line.counters for line in s.lines}
    for each in s.divisions:
        line = counters.get(each.line)
        more = round(line.instructions * each.takes / each.instructions) if line else 0
        if more:
            cause, remedy = _DIVIDES[each.kind]
            with_them = s.at.predict(what_if.divided(s.at.counters, each.kind, more)).ms
            yield Advice("division", each.line, f"this line {cause}", remedy, with_them / s.at.predict().ms)


def _one_for_each_block(s: Subject, line: Line) -> Iterator[Advice]:
    """The block has added up already: only fewer blocks make fewer atomics."""
    share = min(1.0, _BLOCKS_ENOUGH * s.at.chip.properties.multiprocessors / s.at.shape.blocks)
    yield Advice(
        "atomics", line.number, f"each of {s.at.shape.blocks:,} blocks does an atomic here, and they take turns",
        "let fewer blocks do more (a grid-stride loop over a grid of a few blocks for each multiprocessor): each adds "
        "up more before its atomic", _gain(s, what_if.fewer_atomics(s.at.counters, line.counters, share)), "atomics",
        max(share, _FEWER),
    )  # fmt: skip


def _local(s: Subject) -> Iterator[Advice]:
    for line in s.lines:
        c = line.counters
        if c.local_load_requests + c.local_store_requests:
            yield Advice(
                "local memory", line.number, "an array of this thread lies in local memory, which is global memory",
                "index it with constants only (unroll the loop with #pragma unroll), or put it into shared memory",
                _gain(s, what_if.at_registers(s.at.counters, c)),
            )  # fmt: skip


def _launch(s: Subject) -> Iterator[Advice]:
    predicted = s.at.predict()
    if predicted.limiter != "launch":
        return
    cause = "starting the launch and its blocks takes longer than what they do"
    if s.at.shape.blocks > 32 * s.at.chip.properties.multiprocessors:
        remedy = "let each block do more (a grid-stride loop over a grid of a few blocks for each multiprocessor)"
    else:
        remedy = "do more in one launch: fuse it with its neighbours, or batch several inputs"
    rest = [ms for name, ms in predicted.parts.items() if name != "launch"]
    yield Advice("launch", None, cause, remedy, predicted.ms / max(*rest, 0.25 * predicted.ms))


_RULES: Sequence[Rule] = (
    _uncoalesced, _conflicts, _shared_atomics, _barriers, _divergence, _reuse, _narrow, _occupancy, _few_blocks,
    _doubles, _divisions, _contended, _local, _launch,
)  # fmt: skip
