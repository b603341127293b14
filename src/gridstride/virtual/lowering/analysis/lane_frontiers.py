"""Where lanes of a warp may wait while a block of its code runs, and what follows for registers and masks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import or_

from gridstride.virtual.lowering.analysis.control_flow import Code, ends_lanes, last_of, waits
from gridstride.virtual.ptx.module import Symbol


def grow_frontiers(code: Code, divergent: list[bool], frontier: list[int], waiters: list[int]) -> None:
    """Takes frontiers to the least fixpoint of: who runs next takes over everybody who then still waits.

    They only ever grow as more blocks diverge, so the next time goes on from there. A way out of a block is looked at
    again for the candidates that it has gained only, or a function whose blocks may all wait for one another would take
    minutes. `waiters[d]` are the blocks whose frontier has d.
    """
    count, held = len(code.blocks), -1
    spinning = {b for b, _ in code.spin_edges}
    while held != (held := _held(code, frontier)):
        again, last_candidates = set(range(count)), [[0, 0] for _ in range(count)]
        while again:  # in rounds: frontiers grow by sets, where block after block they would grow by ones
            now, again = sorted(again), set()
            for b in now:
                for way, candidates in enumerate(_routes(code, frontier, divergent, b)):
                    if way == len(last_candidates[b]):
                        last_candidates[b].append(0)
                    new, last_candidates[b][way] = candidates & ~last_candidates[b][way], candidates
                    for d in bits_of(new):
                        # A higher block runs only when the lower ones are empty, unless they spin or wait at a barrier.
                        # Lanes that a barrier let go run while others of the same block are held for its next turn.
                        block = 1 << d
                        always = b in spinning or bool(held & block)
                        gain = (candidates & ~block & (-1 if always else block - 1) | held & block) & ~waiters[d]
                        waiters[d] |= gain
                        for c in bits_of(gain):
                            frontier[c] |= block
                            again.add(c)
                        added = candidates & ~block & (-1 if b in spinning else held | -(block << 1)) & ~frontier[d]
                        frontier[d] |= added
                        for c in bits_of(added):
                            waiters[c] |= block
                            again.add(d)


def _routes(code: Code, frontier: list[int], divergent: list[bool], b: int) -> Iterator[int]:
    """The blocks that may run after block b, for every way control can leave it: one of them does, the others wait."""
    choices = code.successors[b] or (None,)
    for route in [choices] if divergent[b] else [(c,) for c in choices]:
        candidates = frontier[b]
        for t in route:
            candidates |= 1 << t if t is not None else 0
        yield candidates


def _held(code: Code, frontier: list[int]) -> int:
    """The blocks after barriers that only part of a warp may reach: lanes wait there while any other block runs."""
    splitting = (b for b in range(len(code.blocks)) if may_split_warp(code, frontier, b))
    return reduce(or_, (1 << s for b in splitting for s in code.successors[b]), 0)


def may_split_warp(code: Code, frontier: list[int], b: int) -> bool:
    """True where block b ends with a wait that only part of a warp may come to, or a call that may split it."""
    last = last_of(code.blocks[b])
    if not waits(last):
        return False
    assert last is not None
    return frontier[b] != 0 or (last.opcode == "call" and not isinstance(last.operands[1], Symbol))


def kept_registers(code: Code, frontiers: list[int]) -> list[set[str]]:
    """For each block, what those who may wait while it runs still read."""
    names = list(dict.fromkeys(name for live in code.live_in for name in live))
    bit = {name: 1 << at for at, name in enumerate(names)}
    live = [reduce(or_, (bit[name] for name in registers), 0) for registers in code.live_in]
    sets: dict[int, set[str]] = {}

    def names_of(frontier: int) -> set[str]:
        bits = reduce(or_, (live[f] for f in bits_of(frontier)), 0)
        if bits not in sets:
            sets[bits] = {names[at] for at in bits_of(bits)}
        return sets[bits]

    return [names_of(frontier) for frontier in frontiers]


def full_warp_blocks(code: Code, frontier: list[int], divergent: list[bool], full: bool) -> list[bool]:
    """Blocks that run with every lane: nobody waits elsewhere and nobody can have left before."""
    lost = 0 if full else (1 << len(code.blocks)) - 1
    work = list(range(len(code.blocks)))
    while work:
        b = work.pop()
        last = last_of(code.blocks[b])
        partial = ends_lanes(last) and (frontier[b] != 0 or divergent[b])
        calls = any(ins.opcode == "call" for ins in code.blocks[b])
        if lost >> b & 1 or partial or calls:
            for candidates in _routes(code, frontier, divergent, b):
                work += bits_of(candidates & ~lost)
                lost |= candidates
    return [not lost >> b & 1 and not frontier[b] for b in range(len(code.blocks))]


def bits_of(mask: int) -> Iterator[int]:
    """The positions of the set bits, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
