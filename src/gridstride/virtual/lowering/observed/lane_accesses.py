"""The observed build between the lanes of one warp, and what a warp polls while it waits."""

from __future__ import annotations

from gridstride.virtual.abi.execution_records import BLOCK, WARP
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.ir.builder import Value, constant
from gridstride.virtual.lowering.access import Access
from gridstride.virtual.lowering.analysis.memory_operands import ordered, remote
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.observed.global_accesses import of_triton
from gridstride.virtual.ptx.isa import ISA
from gridstride.virtual.ptx.module import Instruction


def meet(cx: Lowering, ins: Instruction) -> None:
    """Ahead of each instruction: some order the memory of a warp's lanes; those with a member mask in join_members."""
    if ins.opcode in _MASKED or (ins.opcode in ("bar", "barrier") and "warp" in ins.modifiers):
        return
    if ins.opcode == "mbarrier" and ins.modifiers[0] in _OF_LANES:
        cx.b.call("void", f"gs_lanes_{_OF_LANES[ins.modifiers[0]]}", cx.warp, cx.active())
    elif ins.opcode in _MATRIX:
        cx.b.call("void", "gs_lanes_gather", cx.warp)
    elif "sync" in ins.modifiers or ISA[ins.opcode].meets:
        cx.b.call("void", "gs_lanes_sync", cx.warp)


_OF_LANES = {"arrive": "release", "arrive_drop": "release", "test_wait": "wait", "try_wait": "wait"}
_MASKED = frozenset(["shfl", "vote", "match", "redux", "elect"])
_MATRIX = frozenset(["ldmatrix", "stmatrix", "movmatrix", "mma", "wmma"])
"""These wait for the lanes of the warp, as those of _MASKED do, and order no memory."""


def join_members(cx: Lowering, members: Value) -> None:
    """At a .sync instruction: the lanes that its mask names know what each of them has done, or has read."""
    b, gather = cx.b, cx.ins.opcode in _MASKED
    if members.name == "-1":
        b.call("void", f"gs_lanes_{'gather' if gather else 'sync'}", cx.warp)
    elif members.wide:
        site = constant("i32", cx.program.site(cx))
        b.call("void", "gs_lanes_members", cx.warp, site, cx.active(), members, constant("i1", gather))
    else:
        b.call("void", "gs_lanes_join", cx.warp, members, constant("i1", gather))


def watch_lanes(cx: Lowering, site: int, access: Access, kind: str, addresses: Value) -> None:
    """Checks an access to shared memory against those of other lanes of its warp."""
    if access.space in ("global", "generic") and ordered(cx.ins) and "volatile" not in cx.ins.modifiers:
        cx.b.call("void", "gs_lanes_sync", cx.warp)  # others are held against one another in global_accesses.py
    if access.space != "shared" or remote(cx.ins):
        return
    if kind in ("atom", "red") or (ordered(cx.ins) and "volatile" not in cx.ins.modifiers):
        cx.b.call("void", "gs_lanes_sync", cx.warp)
    elif kind in ("load", "store") and not of_triton(cx):
        b, active, size = cx.b, cx.active(), constant("i32", access.bytes)
        lanes = b.get(cx.field("block"), BLOCK, "lanes")
        with b.if_(b.compare("ne", lanes, Value("null", "ptr"))):  # most blocks are not watched: no call for those
            b.call("void", f"gs_lanes_{kind}", cx.warp, constant("i32", site), active, addresses, size)


def note_poll(cx: Lowering, site: int, access: Access, kind: str, addresses: Value) -> None:
    """Where a loop looks for what it waits for, to be told if the launch must be stopped."""
    if not cx.code.spin_edges or not (ordered(cx.ins) or kind == "atom"):
        return
    b = cx.b
    lane = b.call("i32", "llvm.cttz.i32", cx.active(), constant("i1", False))
    where = b.resize(b.extract(addresses, b.op("and", lane, constant("i32", LANES - 1))), "i64")
    if access.space == "shared" and not remote(cx.ins):
        where = b.op("add", where, cx.field("shared"))
    b.put(cx.warp, WARP, "polled", where)
    b.put(cx.warp, WARP, "polled_site", site)
