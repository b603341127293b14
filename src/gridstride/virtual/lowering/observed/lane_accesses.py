"""The observed build between the lanes of one warp, and what a warp polls while it waits."""

from __future__ import annotations

from gridstride.virtual.abi.execution_records import BLOCK, WARP
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.abi.race_shadows import ATOMIC, COMPARED, VOLATILE
from gridstride.virtual.ir.builder import Value, constant
from gridstride.virtual.lowering.access import Access
from gridstride.virtual.lowering.analysis.memory_operands import ordered, remote
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.memory.atomic_calls import unread
from gridstride.virtual.lowering.observed.global_accesses import checks_value, of_triton
from gridstride.virtual.lowering.observed.shared_lanes import SharedLanes
from gridstride.virtual.ptx.isa import ISA
from gridstride.virtual.ptx.module import Instruction


def meet(cx: Lowering, ins: Instruction) -> None:
    """Ahead of each instruction: some order the memory of a warp's lanes; those with a member mask in join_members."""
    if ins.opcode in _MASKED or (ins.opcode in ("bar", "barrier") and "warp" in ins.modifiers):
        return
    if ins.opcode in ("atom", "red") and "async" not in ins.modifiers:
        return  # watch_lanes
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


def watch_lanes(cx: Lowering, site: int, access: Access, kind: str, shared: SharedLanes) -> None:
    """Checks what lanes do in shared memory against what other lanes of their warp do, ahead of tell_lanes.

    Accesses to global memory are held against one another in global_accesses.py.
    """
    way = _way_of_lanes(cx, kind)
    if way in ("give", "exchange"):
        swaps = "cas" in cx.ins.modifiers
        kind = "atomic" if not checks_value(cx.ins) else "checked" if swaps else "compared"
        _check(cx, kind, site, access, shared)
    elif way in ("", "hear", "poll", "tell"):
        strength = (VOLATILE | ATOMIC if way == "poll" else VOLATILE) if "volatile" in cx.ins.modifiers else 0
        strength |= COMPARED if id(cx.ins) in cx.code.settled else 0
        if kind in ("load", "store") and not of_triton(cx):
            _check(cx, kind, site, access, shared, constant("i32", strength))


def tell_lanes(cx: Lowering, access: Access, kind: str) -> None:
    """What an access tells the lanes of its warp."""
    if access.space in ("shared", "global", "generic"):
        _tell(cx, _way_of_lanes(cx, kind))


def _way_of_lanes(cx: Lowering, kind: str) -> str:
    """How an access orders the lanes of its warp (runtime/sanitize/lane_atomics), if it does."""
    ins = cx.ins
    if of_triton(cx):
        return "sync" if kind in ("atom", "red") or (ordered(ins) and "volatile" not in ins.modifiers) else ""
    if kind in ("atom", "red"):
        return "give" if kind == "red" or unread(cx) else "exchange"
    if "volatile" in ins.modifiers:
        return {"load": "poll" if id(ins) in cx.code.polls else "hear", "store": "tell"}.get(kind, "")
    if ordered(ins):
        return {"load": "take", "store": "give"}.get(kind, "sync")
    return ""


def _tell(cx: Lowering, way: str) -> None:
    if way == "sync":
        cx.b.call("void", "gs_lanes_sync", cx.warp)
    elif way:
        cx.b.call("void", f"gs_lanes_{way}", cx.warp, cx.active())


def after_access(cx: Lowering, kind: str) -> None:
    """Behind an access that has been looked at: what it takes from others begins an epoch, what it gives does not."""
    way = _way_of_lanes(cx, kind)
    if way == "give":
        cx.b.put(cx.warp, WARP, "lanes_gave", constant("i32", 1))
    elif way in ("exchange", "take"):
        cx.b.call("void", "gs_lanes_meet", cx.warp)
    elif way in _BEHIND:
        cx.b.call("void", _BEHIND[way], cx.warp)


_BEHIND = {"hear": "gs_lanes_heard", "poll": "gs_lanes_polled", "tell": "gs_lanes_told"}


def _check(cx: Lowering, kind: str, site: int, access: Access, shared: SharedLanes, *strength: Value) -> None:
    b, size = cx.b, constant("i32", access.bytes)
    lanes = b.get(cx.field("block"), BLOCK, "lanes")
    with b.if_(b.compare("ne", lanes, Value("null", "ptr"))):  # most blocks are not watched: no call for those
        b.call("void", f"gs_lanes_{kind}", cx.warp, constant("i32", site), shared.mask, shared.offsets, size, *strength)


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
