"""Which instructions a warp issues while copies of its own may be under way: between a cp.async and the wait for it."""

from __future__ import annotations

from collections.abc import Sequence

from gridstride.virtual.ptx.module import Immediate, Instruction

_MOST_GROUPS = 8  # that are told apart; older ones count as one

Flight = tuple[bool, ...]
"""Whether there are copies in the group that is still open, and in each that was committed, the newest first."""

_NONE: Flight = (False,)


def overlapped(blocks: Sequence[Sequence[Instruction]], successors: Sequence[Sequence[int]]) -> list[frozenset[int]]:
    """Of each block the places of the instructions that are issued while a copy may be under way.

    A group without a copy in it is none, so that a commit alone hides nothing. Of ways that meet, the one with more
    copies counts. Copies that an mbarrier waits for are not followed.
    """
    if not any(_is_copy(ins) for block in blocks for ins in block):
        return [frozenset()] * len(blocks)
    at: list[Flight | None] = [None] * len(blocks)
    at[0] = _NONE
    waiting = [0]
    while waiting:
        index = waiting.pop()
        flight = at[index] or _NONE
        for ins in blocks[index]:
            flight = _flight_after(ins, flight)
        for successor in successors[index]:
            joined = _join(at[successor], flight)
            if joined != at[successor]:
                at[successor] = joined
                waiting.append(successor)
    return [_overlapped_indices(block, start or _NONE) for block, start in zip(blocks, at, strict=True)]


def _overlapped_indices(block: Sequence[Instruction], flight: Flight) -> frozenset[int]:
    indices = []
    for index, ins in enumerate(block):
        flight = _flight_after(ins, flight)
        if any(flight) and ins.opcode != "cp":
            indices.append(index)
    return frozenset(indices)


def _is_copy(ins: Instruction) -> bool:
    return ins.opcode == "cp" and "async" in ins.modifiers and "global" in ins.modifiers and "bulk" not in ins.modifiers


def _flight_after(ins: Instruction, flight: Flight) -> Flight:
    if ins.opcode != "cp" or "bulk" in ins.modifiers:
        return flight
    if _is_copy(ins):
        return (True, *flight[1:])
    if "commit_group" in ins.modifiers:
        return _bounded((False, *flight))
    if "wait_group" in ins.modifiers:
        (most_pending,) = ins.operands
        return flight[: 1 + most_pending.bits] if isinstance(most_pending, Immediate) else flight
    return _NONE  # wait_all, and those that an mbarrier takes over


def _join(first: Flight | None, second: Flight) -> Flight:
    if first is None:
        return second
    longest = max(len(first), len(second))
    padded = ((*flags, *(False,) * (longest - len(flags))) for flags in (first, second))
    return tuple(a or b for a, b in zip(*padded, strict=True))


def _bounded(flight: Flight) -> Flight:
    return flight if len(flight) <= _MOST_GROUPS else (*flight[: _MOST_GROUPS - 1], any(flight[_MOST_GROUPS - 1 :]))
