"""What was found, in words: reads of memory that nothing wrote, and lanes of a warp that do not act together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gridstride.virtual.abi.finding_records import OTHER_MASK
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.findings.elements import array_at, variable_at

if TYPE_CHECKING:
    from gridstride.virtual.machine.interfaces import LoadedKernel
    from gridstride.virtual.machine.variant import KernelSite

Dim3 = tuple[int, int, int]
_SHARED, _LOCAL, REGISTER, _STORED = 1, 2, 3, 5

UNFILLED = ": it holds whatever was in the memory before; does it have to be filled first?"
"""What is asked of global memory that nothing has written, by someone who does not know what it is for."""


def of_value(
    of: LoadedKernel, kind: str, record: Any, site: KernelSite | None, other_site: KernelSite | None, packed: bytes
) -> tuple[str, int | None]:
    """The message of such a finding, and the address that it shows."""
    address = int(record["address"])
    used = other_site.line if other_site is not None else None
    if kind == "inactive_lane":
        return inactive_lane(int(record["other_lane"]), used), None
    if kind == "member_mask":
        called, other = site.called if site is not None else 0, int(record["other_lane"])
        if other & OTHER_MASK:
            masks = address & 0xFFFFFFFF, address >> 32
            return other_mask((int(record["lane"]), other ^ OTHER_MASK), masks, called), None
        return member_mask(int(record["lane"]), address & 0xFFFFFFFF, address >> 32, called), None
    space = _space(record, other_site)
    return uninitialised(of, site, space, address, packed, used), None if space == REGISTER else address


def stored_nothing(record: Any, other_site: KernelSite | None) -> bool:
    """Whether the place was written, but with a value that came from nowhere."""
    return _space(record, other_site) == _STORED


def _space(record: Any, other_site: KernelSite | None) -> int:
    """Without a second place it was an atomic or a copy; else a load, whose value was used there."""
    return int(record["other_site"]) & 15 if other_site is None else int(record["other_warp"])


def uninitialised(
    kernel: LoadedKernel, site: KernelSite | None, space: int, address: int, packed: bytes, used: int | None = None
) -> str:  # fmt: skip
    """`space` is where the address is; shared and local ones are offsets. `used`: the line that needs the value."""
    if space == REGISTER:
        return "uses a register that this path through the kernel never wrote: it holds any value"
    does = "updates" if site is not None and site.name.startswith(("atom", "red")) else "reads"
    line = site.line if site is not None else None
    use = f" (line {used} needs the value)" if used not in (None, line) else ""
    return f"{does} {_described_location(kernel, space, address, packed)}{use}"


def _described_location(kernel: LoadedKernel, space: int, address: int, packed: bytes) -> str:
    device = kernel.module.device
    if space == _SHARED:
        return (
            f"shared memory at offset {address}, which no thread of the block had written by then: it holds what the "
            "block before left there; is the store that fills it missing or too short, or a __syncthreads() after it?"
        )
    if space == _STORED:
        return (
            f"shared memory at offset {address}, where a thread has stored a value that means nothing: it came from "
            "memory or a register that nothing had written, or by a shuffle from a lane that takes no part in it or "
            "that the block does not have (a full mask wants whole warps)"
        )
    if space == _LOCAL:
        return f"byte {address} of the thread's own memory, a local variable or array that it has not written"
    block = device.heap.block(address)
    if block is not None:
        return (
            f"byte {address - block.start} of a block of {block.size} bytes from malloc that nothing has written: "
            "malloc does not clear memory"
        )
    near = device.arena.nearest(address)
    if near is None or near.distance:
        return "shared memory, or memory of the thread's own, that nothing has written"
    array = array_at(kernel, packed, address)
    if array is not None and array.element and address >= array.start:
        where = f"{array.at(address)} of {array.extent}"
    else:
        name = name_of(kernel, packed, near.start, near.size) or "an allocation"
        where = f"byte {address - near.start} of {name} ({near.size} bytes)"
    return f"{where}, which neither the host nor a kernel has written{UNFILLED}"


def inactive_lane(lane: int, used: int | None) -> str:
    """A shuffle's value that came from nowhere; `used` is the line that needs it."""
    return (
        f"reads lane {lane} of the warp, which takes no part in this shuffle (not in the mask, or has returned, or the "
        f"block has no such thread), and line {used} uses what came: on hardware that is any value; give such lanes a "
        "value that changes nothing, and let them take part"
    )


def member_mask(lane: int, mask: int, missing: int, called: int = 0) -> str:
    """A mask that leaves out who executes the instruction, or names who does not come to it. `called`: the line from
    which the function was called that has the instruction.
    """
    call = f", called from line {called}," if called else ""
    it = "the call" if called else "it"
    if not missing:
        return (
            f"lane {lane} executes this{call} with the mask {mask:#010x}, which does not name it: the hardware's "
            "result is undefined; the mask must name every lane that gets here"
        )
    return (
        f"the mask {mask:#010x} names lanes {lanes(missing)}, which do not come here{call.rstrip(',')}: the hardware "
        f"may wait for them for ever, or give any value; bring all of them here (move {it} out of the `if`), or name "
        "only those that come, with __ballot_sync taken before the branch"
    )


def other_mask(lanes_: tuple[int, int], masks: tuple[int, int], called: int = 0) -> str:
    """Two lanes that execute one instruction with different masks, the first of which names both lanes."""
    call = f", called from line {called}," if called else ""
    return (
        f"lane {lanes_[0]} executes this{call} with the mask {masks[0]:#010x}, which names lane {lanes_[1]}, and that "
        f"one with {masks[1]:#010x}: all lanes that a mask names must give the same mask, or the hardware's result is "
        "undefined and they need not wait for one another"
    )


def name_of(kernel: LoadedKernel, packed: bytes, start: int, size: int) -> str | None:
    """What the kernel calls an allocation: the parameter that points into it; None without one."""
    for index, parameter in enumerate(kernel.parameters):
        value = int.from_bytes(packed[parameter.offset : parameter.offset + 8], "little")
        if parameter.size == 8 and start <= value < start + max(size, 1):
            return kernel.labels[index] if index < len(kernel.labels) else f"parameter {index + 1}"
    variable = variable_at(kernel, start)
    return variable.name if variable is not None else None


def lanes(mask: int) -> str:
    """Lanes of a mask, runs shortened: 0-3, 7."""
    parts: list[str] = []
    lane = 0
    while lane < LANES:
        if mask >> lane & 1:
            end = lane
            while end + 1 < LANES and mask >> end + 1 & 1:
                end += 1
            parts.append(str(lane) if end == lane else f"{lane}-{end}")
            lane = end
        lane += 1
    return ", ".join(parts) or "none"
