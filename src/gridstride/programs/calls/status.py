"""The error codes of CUDA's runtime (driver_types.h) that the virtual GPU gives, and which finding has which."""

from __future__ import annotations

from enum import IntEnum

from gridstride.virtual.abi.finding_kinds import kinds_from
from gridstride.virtual.findings.finding import KernelFinding


class Status(IntEnum):
    """cudaError."""

    SUCCESS = 0
    INVALID_VALUE = 1
    MEMORY_ALLOCATION = 2
    INVALID_SYMBOL = 13
    INVALID_DEVICE_FUNCTION = 98
    INVALID_KERNEL_IMAGE = 200
    NO_KERNEL_IMAGE = 209
    UNSUPPORTED_LIMIT = 215
    INVALID_PTX = 218
    ILLEGAL_ADDRESS = 700
    LAUNCH_OUT_OF_RESOURCES = 701
    LAUNCH_TIMEOUT = 702
    ASSERT = 710
    HARDWARE_STACK_ERROR = 714
    ILLEGAL_INSTRUCTION = 715
    MISALIGNED_ADDRESS = 716
    LAUNCH_FAILURE = 719
    COOPERATIVE_LAUNCH_TOO_LARGE = 720
    NOT_SUPPORTED = 801
    UNKNOWN = 999


_FAULTS = {
    "out_of_bounds": Status.ILLEGAL_ADDRESS, "use_after_free": Status.ILLEGAL_ADDRESS,
    "no_peer_access": Status.ILLEGAL_ADDRESS,
    "misaligned": Status.MISALIGNED_ADDRESS, "assert": Status.ASSERT, "stack_overflow": Status.HARDWARE_STACK_ERROR,
    "invalid_instruction": Status.ILLEGAL_INSTRUCTION, "timeout": Status.LAUNCH_TIMEOUT,
    "deadlock": Status.LAUNCH_TIMEOUT, "trap": Status.LAUNCH_FAILURE, "invalid_free": Status.LAUNCH_FAILURE,
    "mbarrier": Status.LAUNCH_FAILURE, "tensor_map": Status.LAUNCH_FAILURE, "cluster_barrier": Status.LAUNCH_FAILURE,
    "texture": Status.ILLEGAL_ADDRESS, "surface": Status.ILLEGAL_ADDRESS, "tensor_corner": Status.LAUNCH_FAILURE,
    "tensor_reduction": Status.LAUNCH_FAILURE, "exited_block": Status.LAUNCH_FAILURE,
    "too_many_groups": Status.LAUNCH_FAILURE, "out_of_memory": Status.LAUNCH_FAILURE,
}  # fmt: skip


if missing := kinds_from("ends") - _FAULTS.keys():
    raise ImportError(f"status.py must say which status each fault is: see {', '.join(sorted(missing))}")


def fault_status(finding: KernelFinding) -> Status | None:
    """What hardware would say of it; None for what hardware does not see."""
    return _FAULTS.get(finding.kind)
