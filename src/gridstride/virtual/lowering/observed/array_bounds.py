"""The observed build at shared arrays: an access that leaves the array that its address is made from."""

from __future__ import annotations

from collections.abc import Mapping

from gridstride.virtual.abi.address_spaces import SHARED
from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.ir.builder import Value, constant
from gridstride.virtual.lowering.access import Access
from gridstride.virtual.lowering.analysis.memory_operands import remote
from gridstride.virtual.lowering.analysis.shared_arrays import array_of, pointed_to
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.ptx.module import Address


def watch_array(cx: Lowering, site: int, access: Access, address: Address | Value, addresses: Value) -> None:
    """Stops lanes whose address is outside of the shared array that it was made from, though inside of the block's
    shared memory: they would read or change another array.
    """
    arrays = cx.program.shared_arrays
    if access.space != "shared" or remote(cx.ins) or isinstance(address, Value) or len(arrays) < 2:
        return
    name = array_of(address, _pointed_to(cx), arrays)
    if not name:
        return
    start, size = arrays[name]
    cx.program.sites[site].array = (name, start, size)
    b = cx.b
    outside = b.compare("ult", addresses, b.splat(constant("i32", start)))
    if size:  # one without a size goes to the end of what the launch gives
        last = b.splat(constant("i32", start + size - access.bytes))
        outside = b.op("or", outside, b.compare("ugt", addresses, last))
    bad = b.op("and", cx.active(), b.bitcast(outside, "i32"))
    with b.if_(b.compare("ne", bad, constant("i32", 0))):
        lane = b.call("i32", "llvm.cttz.i32", bad, constant("i1", False))
        at = b.resize(b.extract(addresses, b.op("and", lane, constant("i32", LANES - 1))), "i64")
        fault = (constant("i32", site), constant("i32", FAULT["out_of_bounds"]), bad, at)
        b.call("void", "gs_fault_in", cx.warp, *fault, constant("i32", access.bytes), constant("i32", SHARED))


def _pointed_to(cx: Lowering) -> Mapping[str, str]:
    """The function's own, found when its first access is written."""
    scratch = cx.program.scratch_of(cx)
    if scratch.pointed_to is None:
        scratch.pointed_to = pointed_to(cx.code, cx.program.shared_arrays)
    return scratch.pointed_to
