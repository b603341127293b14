"""What to try about accesses to memory: sectors, banks, reuse, width and local arrays."""

from __future__ import annotations

from collections.abc import Iterator

from gridstride.judge.explain import what_if
from gridstride.judge.explain.advice import CONFLICT_SHARE, Advice, AdviceSubject, predicted_gain
from gridstride.virtual.observe.figures import percent, times
from gridstride.virtual.observe.line_counters import LineCounters

_EXCESS = 1.25  # times the sectors that would do, from which a line is called uncoalesced
_REUSED = 3.0  # times that a byte is fetched, from which it is worth keeping
_REUSE_TARGET = 0.5  # how far a tile lowers the traffic depends on its size: half is clearly one
_SECTOR, _WORD_SECTORS = 32, 4.5  # sectors per request up to which a warp reads one word for each lane
_WORD_LANES = 0.75  # of a warp's lanes: a request that moves fewer bytes than these is of one lane or a few


def uncoalesced(s: AdviceSubject) -> Iterator[Advice]:
    """Lines whose accesses take more sectors than their bytes need."""
    for line in s.lines:
        c = line.counters
        plain = c.global_load_requests + c.global_store_requests
        if not plain or not c.global_ideal_sectors or c.global_sectors < _EXCESS * c.global_ideal_sectors or c.atomics:
            continue
        ideal = c.global_ideal_sectors / c.global_requests
        verb, sectors = _worse_direction(c)
        cause = (
            f"a warp's access {verb} {sectors:.1f} sectors of 32 bytes where the same bytes side by side "
            f"take {ideal:.1f}: neighbouring lanes are not at neighbouring addresses"
        )
        remedy = (
            "let threadIdx.x run along the array's last index, so that lane k and lane k + 1 touch neighbouring "
            "elements; where the order must change, go through a tile in shared memory"
        )
        improved = what_if.coalesced(s.at.counters, c)
        yield Advice("coalesce", line.number, cause, remedy, predicted_gain(s, improved), "global_sectors",
                     improved.global_sectors / s.at.counters.global_sectors)  # fmt: skip


def _worse_direction(c: LineCounters) -> tuple[str, float]:
    """Whether the line's loads or its stores take more sectors for a request, and how many."""
    ways = {
        "reads": c.global_load_sectors / c.global_load_requests if c.global_load_requests else 0.0,
        "writes": c.global_store_sectors / c.global_store_requests if c.global_store_requests else 0.0,
    }
    verb = max(ways, key=lambda way: ways[way])
    return verb, ways[verb]


def conflicts(s: AdviceSubject) -> Iterator[Advice]:
    """Lines whose lanes want different words of one bank of shared memory."""
    for line in s.lines:
        c = line.counters
        passes, conflicts = c.shared_wavefronts - c.shared_atomic_wavefronts, c.bank_conflicts - c.atomic_conflicts
        if not conflicts or conflicts < CONFLICT_SHARE * passes:
            continue
        passes_each, spare = c.shared_wavefronts / c.shared_requests, percent(conflicts / passes)
        cause = (
            f"an access takes {passes_each:.1f} passes over the banks of shared memory, {spare} of them only "
            "because lanes want different words of the same bank"
        )
        remedy = (
            "pad the tile by one column (float tile[32][33]) or swizzle its index (column ^ row), so that the lanes of "
            "a warp fall into different banks"
        )
        improved = what_if.without_conflicts(s.at.counters, conflicts)
        yield Advice("bank conflicts", line.number, cause, remedy, predicted_gain(s, improved), "bank_conflicts",
                     improved.bank_conflicts / s.at.counters.bank_conflicts)  # fmt: skip


def reuse(s: AdviceSubject) -> Iterator[Advice]:
    """A line whose loads fetch the inputs many times over."""
    _, needed = s.problem.work(s.problem.observed)
    loads = [line for line in s.lines if line.counters.global_load_sectors and not line.counters.atomics]
    fetched = sum(_used_sectors(line.counters) for line in loads) * _SECTOR
    if not needed or fetched < _REUSED * needed:
        return
    for line in loads:
        c = line.counters
        repeats = _used_sectors(c) * _SECTOR / needed
        if repeats < _REUSED:
            continue
        improved = what_if.kept_near(s.at.counters, c, needed)
        cause = f"{times(repeats)} the problem's bytes are read here: threads fetch the same values over and over"
        remedy = (
            "load a tile once into shared memory (__shared__, __syncthreads()) or keep values in registers and let "
            "each thread make several results"
        )
        yield Advice(
            "reuse", line.number, cause, remedy, predicted_gain(s, improved), "global_ideal_sectors", _REUSE_TARGET
        )


def _used_sectors(c: LineCounters) -> float:
    """Sectors that a line's loads fetch and use: what lies between the lanes' values is fetched, but nobody's again."""
    return min(c.global_load_sectors, c.global_ideal_sectors * c.global_load_requests / max(1, c.global_requests))


def narrow(s: AdviceSubject) -> Iterator[Advice]:
    """Accesses of one word for each lane, side by side, where waiting, issue or L1 holds the kernel up."""
    if s.at.predict().limiter not in ("latency", "issue", "L1", "integer"):
        return
    narrow_lines = [
        line for line in s.lines
        if line.counters.global_requests and line.counters.sectors_per_request <= _WORD_SECTORS
        and line.counters.global_sectors <= _EXCESS * line.counters.global_ideal_sectors and not line.counters.atomics
        and line.counters.global_bytes >= _WORD_LANES * 32 * line.counters.global_requests
    ]  # fmt: skip
    if not narrow_lines:
        return
    first = max(narrow_lines, key=lambda line: line.counters.global_requests)
    improved = what_if.wide(s.at.counters, *(line.counters for line in narrow_lines))
    lane_bytes = first.counters.global_bytes / first.counters.global_requests / 32
    yield Advice(
        "wide accesses", first.number,
        f"each access moves {lane_bytes:.0f} bytes for a lane: many instructions, and few bytes on their way at once",
        "move 16 bytes for each lane (float4, int4), or let each thread work on several independent elements",
        predicted_gain(s, improved), "global_requests", 0.25,
        tuple(line.number for line in narrow_lines if line is not first),
        same="global_sectors",
    )  # fmt: skip


def local(s: AdviceSubject) -> Iterator[Advice]:
    """Arrays of a thread that lie in local memory."""
    for line in s.lines:
        c = line.counters
        if c.local_load_requests + c.local_store_requests:
            yield Advice(
                "local memory", line.number, "an array of this thread lies in local memory, which is global memory",
                "index it with constants only (unroll the loop with #pragma unroll), or put it into shared memory",
                predicted_gain(s, what_if.at_registers(s.at.counters, c)),
            )  # fmt: skip
