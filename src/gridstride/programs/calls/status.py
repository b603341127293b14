"""The error codes of CUDA's runtime (driver_types.h) that the virtual GPU gives, and which finding has which."""

from __future__ import annotations

from enum import IntEnum

from gridstride.virtual.abi.finding_kinds import KINDS
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


_FAULTS = {name: Status[kind.status] for name, kind in KINDS.items() if kind.status is not None}


def fault_status(finding: KernelFinding) -> Status | None:
    """What hardware would say of it; None for what hardware does not see."""
    return _FAULTS.get(finding.kind)
