"""The observed build of kernels that know of their cluster: their accesses to any block's shared memory."""

from __future__ import annotations

from gridstride.virtual.ir.builder import Value, constant
from gridstride.virtual.lowering.access import Access
from gridstride.virtual.lowering.analysis.memory_operands import ordered, remote
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.memory.cluster_addresses import to_generic
from gridstride.virtual.lowering.observed.global_accesses import releases, releases_widely
from gridstride.virtual.ptx.module import Instruction

_ELSEWHERE = frozenset(["global", "const", "local", "param"])


def in_shared(ins: Instruction) -> bool:
    """True where the address may be in shared memory: it says so, or says nothing."""
    return not any(m.partition("::")[0] in _ELSEWHERE for m in ins.modifiers)


def watch_cluster(cx: Lowering, site: int, access: Access, addresses: Value, kind: str) -> None:
    """Checks an access for races with other blocks. Atomic, volatile and ordered ones race with plain ones alone."""
    b = cx.b
    where = b.resize(addresses, "i64")
    if access.space == "shared" and remote(cx.ins):
        where = to_generic(cx, where)
    elif access.space == "shared":
        where = b.op("add", where, b.splat(cx.field("shared")))
    atomic = kind not in ("load", "store") or ordered(cx.ins)
    if access.space == "shared" and releases_widely(cx.ins):
        b.call("void", "gs_race_fence", cx.warp)
    name = f"gs_team_{'atomic' if atomic else kind}"
    size = constant("i32", access.bytes)
    b.call("void", name, cx.warp, constant("i32", site), cx.active(), where, size)
    if kind == "load" and ordered(cx.ins):
        b.call("void", "gs_race_heard", cx.warp)
    elif atomic and (kind != "store" or releases(cx.ins)):
        b.call("void", "gs_race_sync", cx.warp)
