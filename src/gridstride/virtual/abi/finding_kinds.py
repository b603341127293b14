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
    apart from races. `status` is the error that CUDA's runtime gives for it, as programs/calls/status.py names it; None
    for what hardware does not see. `meaning` is one sentence for whoever asks what the kind is.
    """

    source: tuple[Source, ...]
    fault: bool
    status: str | None
    meaning: str


_ENDS: tuple[Source, ...] = ("ends",)
_RECORDED: tuple[Source, ...] = ("recorded",)
_HOST: tuple[Source, ...] = ("host",)
_BOTH = (*_ENDS, *_RECORDED)

KINDS: dict[str, FindingKind] = {
    "out_of_bounds": FindingKind(_ENDS, True, "ILLEGAL_ADDRESS", "an access outside of all arrays"),
    "misaligned": FindingKind(
        _ENDS, True, "MISALIGNED_ADDRESS", "an access at an address that is no multiple of its size"
    ),
    "stack_overflow": FindingKind(_BOTH, True, "HARDWARE_STACK_ERROR", "calls go deeper than the stack"),
    "trap": FindingKind(_ENDS, True, "LAUNCH_FAILURE", "the kernel stopped itself"),
    "deadlock": FindingKind(_ENDS, True, "LAUNCH_TIMEOUT", "threads wait for what never comes"),
    "timeout": FindingKind(_ENDS, True, "LAUNCH_TIMEOUT", "the kernel had not ended within the time allowed"),
    "interrupted": FindingKind(_HOST, True, None, "the run was interrupted from outside"),
    "barrier_divergence": FindingKind(_RECORDED, True, None, "only part of a warp reached a barrier"),
    "race": FindingKind(_RECORDED, False, None, "two threads touch one place, and nothing says which comes first"),
    "invalid_instruction": FindingKind(_ENDS, True, "ILLEGAL_INSTRUCTION", "an instruction that hardware would refuse"),
    "out_of_memory": FindingKind(_HOST, True, "LAUNCH_FAILURE", "there is no memory left for what the kernel asks"),
    "assert": FindingKind(_ENDS, True, "ASSERT", "an assert() of the kernel failed"),
    "use_after_free": FindingKind(_ENDS, True, "ILLEGAL_ADDRESS", "an access to memory that was given back"),
    "invalid_free": FindingKind(_ENDS, True, "LAUNCH_FAILURE", "free() of what malloc() did not give"),
    "mbarrier": FindingKind(
        _ENDS, True, "LAUNCH_FAILURE", "an mbarrier is used in a way that hardware does not define"
    ),
    "tensor_map": FindingKind(_ENDS, True, "LAUNCH_FAILURE", "a copy does not fit its tensor map"),
    "unwaited_copy": FindingKind(
        _RECORDED, True, None, "what an asynchronous copy brings is used before the copy is done"
    ),
    "proxy_fence": FindingKind(_RECORDED, True, None, "a bulk copy or wgmma may miss what a thread wrote just before"),
    "exited_block": FindingKind(
        _BOTH, True, "LAUNCH_FAILURE", "shared memory of a block of the cluster that may have ended"
    ),
    "cluster_barrier": FindingKind(_ENDS, True, "LAUNCH_FAILURE", "the cluster's barrier is used in a wrong order"),
    "unstarted_block": FindingKind(
        _RECORDED, True, None, "shared memory of a block of the cluster that may not have begun"
    ),
    "texture": FindingKind(
        _ENDS, True, "ILLEGAL_ADDRESS", "a texture object that does not exist, or of another kind or shape"
    ),
    "surface": FindingKind(
        _ENDS, True, "ILLEGAL_ADDRESS", "a surface object that does not exist, or an access outside of it"
    ),
    "wgmma_operand": FindingKind(_RECORDED, True, None, "shared memory is written that a wgmma may still be reading"),
    "wgmma_register": FindingKind(_RECORDED, True, None, "a register is used that a wgmma still works on"),
    "wgmma_fence": FindingKind(_RECORDED, True, None, "no wgmma.fence between a register's write and the wgmma"),
    "wgmma_warps": FindingKind(_RECORDED, True, None, "not all four warps of a warpgroup execute the wgmma"),
    "wgmma_wait": FindingKind(_RECORDED, True, None, "the kernel ends before its wgmma is known to be done"),
    "wgmma_descriptor": FindingKind(_RECORDED, True, None, "a wgmma descriptor that does not describe a matrix"),
    "too_many_groups": FindingKind(
        _ENDS, True, "LAUNCH_FAILURE", "more diverged calls than the virtual GPU has stacks for"
    ),
    "uninitialised_read": FindingKind(_RECORDED, True, None, "a value is used that nothing has written"),
    "inactive_lane": FindingKind(_RECORDED, True, None, "a shuffle's value comes from a lane that takes no part in it"),
    "member_mask": FindingKind(_RECORDED, True, None, "a mask names lanes that do not come, or not the one that does"),
    "tensor_corner": FindingKind(
        _ENDS, True, "LAUNCH_FAILURE", "a tensor copy begins where hardware does not allow it"
    ),
    "tensor_reduction": FindingKind(
        _ENDS, True, "LAUNCH_FAILURE", "a tensor reduction of a type that hardware does not have"
    ),
    "non_coherent_read": FindingKind(
        _RECORDED, True, None, "memory that the same launch writes is read through the read-only cache (__ldg)"
    ),
    "read_only_write": FindingKind(_HOST, True, None, "a store to memory that the launch was only to read"),
    "leak": FindingKind(_HOST, True, None, "memory that was never given back"),
    "failed_launch": FindingKind(_HOST, True, None, "a launch by a kernel failed, and no thread asked about it"),
    "unchecked_error": FindingKind(_HOST, True, None, "a call of the host's failed, and the program did not look"),
    "stream_race": FindingKind(
        _HOST, False, None, "work of two streams, or of one and the host, uses the same bytes in no order"
    ),
    "no_peer_access": FindingKind(
        _HOST, True, "ILLEGAL_ADDRESS", "an access to the memory of a GPU that this one was given no access to"
    ),
}

if silent := [name for name, kind in KINDS.items() if "ends" in kind.source and kind.status is None]:
    raise ImportError(f"finding_kinds.py: what ends a launch has the status of an error of CUDA: see {silent}")

FAULTS = ("none", *KINDS)
"""Index = `fault_kind` in a launch record, `kind` in one of the observed build's."""

FAULT = {name: index for index, name in enumerate(FAULTS)}


def kinds_from(source: Source) -> frozenset[str]:
    """The kinds that come from there."""
    return frozenset(name for name, kind in KINDS.items() if source in kind.source)
