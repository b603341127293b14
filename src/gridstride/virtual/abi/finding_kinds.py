"""Every kind of finding that a run can have: one row, every column required.

Generated code reports a kind by its number, which is its place in this table counted from 1 (`FAULT`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Source = Literal["ends", "recorded", "host"]


@dataclass(frozen=True, slots=True)
class FindingKind:
    """One kind.

    `source`: `ends` where generated code stops the launch with it (gs_fault; findings/fault_messages.py has the
    words); `recorded` where the observed build notes it and goes on (gs_report; findings/recorded.py); `host` where
    Python finds it, with its words. `fault`: it ends the run or touches what is not its own, which a verdict counts
    apart from races. `meaning` is one sentence for whoever asks what the kind is.
    """

    source: tuple[Source, ...]
    fault: bool
    meaning: str


_ENDS: tuple[Source, ...] = ("ends",)
_RECORDED: tuple[Source, ...] = ("recorded",)
_HOST: tuple[Source, ...] = ("host",)
_BOTH = (*_ENDS, *_RECORDED)

KINDS: dict[str, FindingKind] = {
    "out_of_bounds": FindingKind(_ENDS, True, "an access outside of all arrays"),
    "misaligned": FindingKind(_ENDS, True, "an access at an address that is no multiple of its size"),
    "stack_overflow": FindingKind(_BOTH, True, "calls go deeper than the stack"),
    "trap": FindingKind(_ENDS, True, "the kernel stopped itself"),
    "deadlock": FindingKind(_ENDS, True, "threads wait for what never comes"),
    "timeout": FindingKind(_ENDS, True, "the kernel had not ended within the time allowed"),
    "interrupted": FindingKind(_HOST, True, "the run was interrupted from outside"),
    "barrier_divergence": FindingKind(_RECORDED, True, "only part of a warp reached a barrier"),
    "race": FindingKind(_RECORDED, False, "two threads touch one place, and nothing says which comes first"),
    "invalid_instruction": FindingKind(_ENDS, True, "an instruction that hardware would refuse"),
    "out_of_memory": FindingKind(_HOST, True, "there is no memory left for what the kernel asks"),
    "assert": FindingKind(_ENDS, True, "an assert() of the kernel failed"),
    "use_after_free": FindingKind(_ENDS, True, "an access to memory that was given back"),
    "invalid_free": FindingKind(_ENDS, True, "free() of what malloc() did not give"),
    "mbarrier": FindingKind(_ENDS, True, "an mbarrier is used in a way that hardware does not define"),
    "tensor_map": FindingKind(_ENDS, True, "a copy does not fit its tensor map"),
    "unwaited_copy": FindingKind(_RECORDED, True, "what an asynchronous copy brings is used before the copy is done"),
    "proxy_fence": FindingKind(_RECORDED, True, "a bulk copy or wgmma may miss what a thread wrote just before"),
    "exited_block": FindingKind(_BOTH, True, "shared memory of a block of the cluster that may have ended"),
    "cluster_barrier": FindingKind(_ENDS, True, "the cluster's barrier is used in a wrong order"),
    "unstarted_block": FindingKind(_RECORDED, True, "shared memory of a block of the cluster that may not have begun"),
    "texture": FindingKind(_ENDS, True, "a texture object that does not exist, or of another kind or shape"),
    "surface": FindingKind(_ENDS, True, "a surface object that does not exist, or an access outside of it"),
    "wgmma_operand": FindingKind(_RECORDED, True, "shared memory is written that a wgmma may still be reading"),
    "wgmma_register": FindingKind(_RECORDED, True, "a register is used that a wgmma still works on"),
    "wgmma_fence": FindingKind(_RECORDED, True, "no wgmma.fence between a register's write and the wgmma"),
    "wgmma_warps": FindingKind(_RECORDED, True, "not all four warps of a warpgroup execute the wgmma"),
    "wgmma_wait": FindingKind(_RECORDED, True, "the kernel ends before its wgmma is known to be done"),
    "wgmma_descriptor": FindingKind(_RECORDED, True, "a wgmma descriptor that does not describe a matrix"),
    "too_many_groups": FindingKind(_ENDS, True, "more diverged calls than the virtual GPU has stacks for"),
    "uninitialised_read": FindingKind(_RECORDED, True, "a value is used that nothing has written"),
    "inactive_lane": FindingKind(_RECORDED, True, "a shuffle's value comes from a lane that takes no part in it"),
    "member_mask": FindingKind(_RECORDED, True, "a mask names lanes that do not come, or not the one that does"),
    "tensor_corner": FindingKind(_ENDS, True, "a tensor copy begins where hardware does not allow it"),
    "tensor_reduction": FindingKind(_ENDS, True, "a tensor reduction of a type that hardware does not have"),
    "non_coherent_read": FindingKind(
        _RECORDED, True, "memory that the same launch writes is read through the read-only cache (__ldg)"
    ),
    "read_only_write": FindingKind(_HOST, True, "a store to memory that the launch was only to read"),
    "leak": FindingKind(_HOST, True, "memory that was never given back"),
    "failed_launch": FindingKind(_HOST, True, "a launch by a kernel failed, and no thread asked about it"),
    "no_peer_access": FindingKind(_HOST, True, "an access to the memory of a GPU that this one was given no access to"),
}

FAULTS = ("none", *KINDS)
"""Index = `fault_kind` in a launch record, `kind` in one of the observed build's."""

FAULT = {name: index for index, name in enumerate(FAULTS)}


def kinds_from(source: Source) -> frozenset[str]:
    """The kinds that come from there."""
    return frozenset(name for name, kind in KINDS.items() if source in kind.source)
