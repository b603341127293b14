"""What the functions of the device runtime share: the queue, who calls, and where results go."""

from __future__ import annotations

from gridstride.virtual.abi.grid_launches import FUNCTION_BASE
from gridstride.virtual.ir.builder import Builder, Record, Value
from gridstride.virtual.runtime.common import i32
from gridstride.virtual.runtime.memory.printf_records import row


def launch_queue(b: Builder, warp: Record) -> Record:
    """The queue of what the grid launches."""
    return warp.launch.launches


def count_one(b: Builder, queue: Record, name: str) -> Value:
    """Adds 1 to a counter of the queue that all workers share; what it was."""
    return b.define("i32", f"atomicrmw add ptr {queue.field(name).name}, i32 1 seq_cst")


def record_owner(b: Builder, warp: Record, lane: Value, site: Value) -> dict[str, Value]:
    """The fields of a record that say which thread made it, and where."""
    index = warp.block.index
    return {"index": index, "warp": warp.warp, "lane": lane, "site": site}


def callable_of(b: Builder, queue: Record, function: Value) -> Record:
    """The entry of a function pointer in the table; its last one, which is no kernel, for anything else."""
    number = (function - FUNCTION_BASE) >> 4
    count = queue.function_count
    number = b.intrinsic("umin", number, count)
    return queue.functions[number]


def return_code(b: Builder, warp: Record, lane: Value, code: Value, results: Value) -> None:
    """Hands an error code to a lane, which also becomes its last error: what a call returns, the thread has seen."""
    b.store(code, row(b, results, lane, 4))
    with b.if_(code != 0):
        errors = warp.errors
        for name, value in (("code", code), ("failure", i32(0))):
            b.store(value, row(b, errors.field(name), lane, 4))


def output_address(b: Builder, warp: Record, site: Value, lane: Value, address: Value, size: int) -> Value:
    """Memory for a result: an address that it gave, checked, and from now on written."""
    target = b.call("ptr", "gs_lookup", warp, site, lane, address, i32(size))
    b.call("void", "gs_unset_store", warp, 1 << lane, b.splat(address), i32(size))
    return target
