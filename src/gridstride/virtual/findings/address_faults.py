"""What was wrong with an address, in words: bounds, alignment, and memory that is not there any more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gridstride.virtual.abi.address_spaces import CLUSTER_SPACE
from gridstride.virtual.errors import variable_name
from gridstride.virtual.findings import cluster_faults
from gridstride.virtual.machine.memory.arena import Near
from gridstride.virtual.machine.variant import KernelSite

if TYPE_CHECKING:
    from gridstride.virtual.machine.interfaces import VirtualDevice


def address_message(kind: str, record: Any, site: KernelSite | None, device: VirtualDevice) -> str:
    """`kind` is "out_of_bounds", "misaligned", "use_after_free" or "invalid_free"; `record` the launch's."""
    match kind:
        case "out_of_bounds":
            return _out_of_bounds(record, site, device)
        case "misaligned":
            return _misaligned(record, site)
        case "use_after_free":
            what = f"{verb(site)} of {int(record['fault_size'])} bytes"
            return f"{what} at address {_address(record)} after free: {_heap_location(record, device)}"
    return _wrong_free(record, device)


def verb(site: KernelSite | None) -> str:
    if site is None:
        return "access"
    return {"ld": "read", "ldu": "read", "st": "write"}.get(site.name.partition(".")[0], "access")


def signed(value: int) -> int:
    value &= 0xFFFFFFFFFFFFFFFF
    return value - (1 << 32) if 1 << 31 <= value < 1 << 32 else value - (1 << 64) if value >> 63 else value


def _address(record: Any) -> str:
    return hex(int(record["fault_address"]))


def _misaligned(record: Any, site: KernelSite | None) -> str:
    size, at = int(record["fault_size"]), int(record["fault_address"])
    where = f"offset {at} of shared memory" if int(record["fault_space"]) == 1 else f"address {at:#x}"
    return (
        f"{verb(site)} of {size} bytes at {where}, which is not a multiple of {size}: "
        "the hardware takes only aligned accesses"
    )


def _heap_location(record: Any, device: VirtualDevice) -> str:
    """Where in the heap an address is."""
    address = int(record["fault_address"])
    block = device.heap.block(address)
    if block is None:
        return "it is in no block of the device heap"
    distance, what = address - block.start, "a freed block" if block.freed else "a block"
    if distance < block.size:
        return f"it is {distance} bytes into {what} of {block.size} bytes"
    return f"it is {distance - block.size} bytes past the end of {what} of {block.size} bytes"


def _wrong_free(record: Any, device: VirtualDevice) -> str:
    block = device.heap.block(int(record["fault_address"]))
    if block is not None and block.freed and block.start == int(record["fault_address"]):
        return f"free of {_address(record)} for the second time (a block of {block.size} bytes)"
    return f"free of {_address(record)}, which malloc did not give: {_heap_location(record, device)}"


def _out_of_bounds(record: Any, site: KernelSite | None, device: VirtualDevice) -> str:
    address, size, space = int(record["fault_address"]), int(record["fault_size"]), int(record["fault_space"])
    what = f"{verb(site)} of {size} bytes"
    if space == 1:
        held = int(record["shared_size"])
        if site is not None and site.name.startswith("wgmma"):
            return (
                f"the descriptor's matrix reaches offset {address} of shared memory, of which the block has {held} "
                "bytes: the hardware stops the kernel there; start, leading and stride count units of 16 bytes"
            )
        if site is not None and site.array is not None and 0 <= signed(address) <= held - size:
            return f"{what} at {_beyond_array(site.array, address, size)}"
        hint = cluster_faults.other_block(site, record)
        return f"{what} at offset {signed(address)} of shared memory, of which the block has {held} bytes{hint}"
    if space == CLUSTER_SPACE:
        return f"{what} at {cluster_faults.offset_in_block(record)}"
    if space == 2:
        return f"{what} at offset {signed(address)} of local memory, outside the thread's own array"
    if device.heap.block(address) is not None:
        return f"{what} at address {_address(record)} of the device heap: {_heap_location(record, device)}"
    if address < 1 << 16:
        return f"{what} at address {_address(record)}: a null pointer (as an array without elements is)"
    near = device.arena.nearest(address)
    if near is None:
        return f"{what} at address {_address(record)}: no memory is allocated"
    nearest = f"{_beside(near, address, size)} the nearest allocation ({near.size} bytes at {hex(near.start)})"
    far = not device.arena.base <= address < device.arena.base + device.arena.size
    return f"{what} at address {_address(record)}, {nearest}{_ELSEWHERE if far else ''}"


def _beyond_array(array: Sequence[Any], address: int, size: int) -> str:
    """Where beside a shared array an address is that is the block's all the same."""
    name, start, held = array
    if address < start:
        far, side = start - address, "before the start of"
    else:
        far, side = address - start - held, "past the end of"
    where = f"just {side}" if not far or (address < start and far == size) else f"{far} bytes {side}"
    extent = f", which has {held:,} bytes" if held else ""
    return (
        f"offset {address} of shared memory, {where} {variable_name(name)}{extent}: what lies there is another array's"
    )


_ELSEWHERE = (
    "; no memory of this device is there: a wild index, a pointer to the host's memory, or to a variable of another "
    "kernel's thread or block?"
)


def _beside(near: Near, address: int, size: int) -> str:
    if near.distance < 0:
        return f"{-near.distance} bytes before the start of"
    if near.distance == 0:
        return f"{address + size - near.start - near.size} bytes over the end of"
    beyond = address - near.start - near.size
    return f"{beyond} bytes past the end of" if beyond else "just past the end of"
