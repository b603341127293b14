"""What an instruction's modifiers say of its access to memory: the space, and whether it is ordered."""

from __future__ import annotations

from gridstride.virtual.abi.address_spaces import SPACES
from gridstride.virtual.ptx.module import Instruction


def space_of(ins: Instruction) -> str:
    """The state space an instruction names; `generic` without one."""
    for modifier in ins.modifiers:
        base = modifier.partition("::")[0]
        if base in SPACES and base != "generic" and modifier not in ("L1::no_allocate",):
            return base
    return "generic"


def ordered(ins: Instruction) -> bool:
    """True where other threads' writes must be seen: volatile, relaxed, acquire, release."""
    return bool({"volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"} & set(ins.modifiers))


def remote(ins: Instruction) -> bool:
    """True where the address may be in another block of the cluster."""
    return "shared::cluster" in ins.modifiers
