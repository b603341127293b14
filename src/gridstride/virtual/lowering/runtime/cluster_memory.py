"""The runtime's distributed shared memory: where an address in some block of the cluster is in this process.

A `shared::cluster` address has in its highest byte a block's rank plus 1, or 0 for the own block's; a generic one is
the place itself. Blocks of a cluster lie 2^24 bytes apart, so shared memory has no neighbour to run into.
"""

from __future__ import annotations

from gridstride.virtual.lowering.ir import Builder, Module, Value, constant, wide
from gridstride.virtual.lowering.runtime.clusters import NULL, cluster_of, inverted, present
from gridstride.virtual.lowering.runtime.common import i32, i64
from gridstride.virtual.machine.layout import BLOCK, CLUSTER, FAULT, RANK_SHIFT, WARP

CLUSTER_SPACE = 4
"""How runtime functions know `shared::cluster` (instructions/memory.py has the other spaces)."""

NOWHERE = 0xFFFF_FE << 40
"""Generic addresses of blocks that the cluster does not have: no memory is there."""

OFFSET = (1 << RANK_SHIFT) - 1


def emit_cluster_memory(m: Module) -> None:
    """gs_cluster_place, gs_cluster_window, gs_cluster_where, gs_owner, gs_in_shared."""
    _fault(m)
    _place(m)
    _window(m)
    _where(m)
    _owner(m)
    _in_shared(m)


def _fault(m: Module) -> None:
    """Ends the launch: no such block, past the end of its shared memory, or it has ended."""
    head = ("ptr warp", "i32 site", "i32 lanes", "i64 address", "i32 size", "i32 ended")
    with m.function("void", "gs_cluster_fault", *head, cold=True) as (b, (warp, site, lanes, address, size, ended)):
        kinds = (i32(FAULT[k]) for k in ("exited_block", "out_of_bounds"))
        kind = b.select(b.compare("ne", ended, i32(0)), *kinds)
        b.call("void", "gs_fault_in", warp, site, kind, lanes, address, size, i32(CLUSTER_SPACE))


def _has_ended(b: Builder, cluster: Value, rank: Value) -> Value:
    """1 where the block of a rank below 32 has ended."""
    return b.op("and", b.op("lshr", b.get(cluster, CLUSTER, "ended"), rank), i32(1))


def _place(m: Module) -> None:
    """One `shared::cluster` address, checked, with `size` bytes aligned to `align`."""
    head = ("ptr warp", "i32 site", "i32 lane", "i64 address", "i32 size", "i32 align")
    with m.function("ptr", "gs_cluster_place", *head) as (b, (warp, site, lane, address, size, align)):
        lanes, cluster = b.op("shl", i32(1), lane), cluster_of(b, warp)
        odd = b.op("and", address, b.op("sub", b.resize(align, "i64"), i64(1)))
        with b.if_(b.compare("ne", odd, i64(0))):
            kind, space = i32(FAULT["misaligned"]), i32(CLUSTER_SPACE)
            b.call("void", "gs_fault_in", warp, site, kind, lanes, address, align, space)
        offset = b.op("and", address, i64(OFFSET))
        number = b.resize(b.op("lshr", b.op("and", address, i64(0xFFFF_FFFF)), i64(RANK_SHIFT)), "i32")
        extent, bytes_ = b.get(warp, WARP, "shared_size"), b.resize(size, "i64")
        fits = b.compare("ule", b.op("add", offset, bytes_), extent)
        with b.if_(inverted(b, fits)):
            b.call("void", "gs_cluster_fault", warp, site, lanes, address, size, i32(0))
        with b.if_(b.compare("eq", number, i32(0))):
            b.ret(b.pointer(b.op("add", b.get(warp, WARP, "shared"), offset)))
        with b.if_(inverted(b, present(b, cluster))):
            b.call("void", "gs_cluster_fault", warp, site, lanes, address, size, i32(0))
        rank = b.op("sub", number, i32(1))
        with b.if_(b.compare("uge", rank, b.get(cluster, CLUSTER, "size"))):
            b.call("void", "gs_cluster_fault", warp, site, lanes, address, size, i32(0))
        gone = _has_ended(b, cluster, rank)
        with b.if_(b.compare("ne", gone, i32(0))):
            b.call("void", "gs_cluster_fault", warp, site, lanes, address, size, gone)
        first = b.op("shl", b.resize(rank, "i64"), i64(RANK_SHIFT))
        b.ret(b.pointer(b.op("add", b.get(cluster, CLUSTER, "shared"), b.op("add", first, offset))))


def _window(m: Module) -> None:
    """A generic address: its place where it is in a block of the cluster, null where it is elsewhere."""
    head = ("ptr warp", "i32 site", "i32 lanes", "i64 address", "i32 size")
    with m.function("ptr", "gs_cluster_window", *head) as (b, (warp, site, lanes, address, size)):
        cluster = cluster_of(b, warp)
        with b.if_(inverted(b, present(b, cluster))):
            b.ret(NULL)
        beyond = b.op("sub", address, i64(NOWHERE - (1 << 64)))
        with b.if_(b.compare("ult", beyond, i64(1 << 40))):
            b.call("void", "gs_cluster_fault", warp, site, lanes, beyond, size, i32(0))
        distance = b.op("sub", address, b.get(cluster, CLUSTER, "shared"))
        rank = b.op("lshr", distance, i64(RANK_SHIFT))
        with b.if_(b.compare("uge", rank, b.resize(b.get(cluster, CLUSTER, "size"), "i64"))):
            b.ret(NULL)
        offset = b.op("and", distance, i64(OFFSET))
        named = b.op("add", distance, i64(1 << RANK_SHIFT))
        end = b.op("add", offset, b.resize(size, "i64"))
        with b.if_(b.compare("ugt", end, b.get(warp, WARP, "shared_size"))):
            b.call("void", "gs_cluster_fault", warp, site, lanes, named, size, i32(0))
        gone = _has_ended(b, cluster, b.resize(rank, "i32"))
        with b.if_(b.compare("ne", gone, i32(0))):
            b.call("void", "gs_cluster_fault", warp, site, lanes, named, size, gone)
        b.ret(b.pointer(address))


def _where(m: Module) -> None:
    """All lanes' `shared::cluster` addresses at once; one by one where some lane's is not right."""
    head = ("ptr warp", "i32 site", "i32 mask", f"{wide('i32')} address", "i32 size")
    with m.function(wide("i64"), "gs_cluster_where", *head) as (b, (warp, site, mask, address, size)):
        cluster, extent = cluster_of(b, warp), b.resize(b.get(warp, WARP, "shared_size"), "i32")
        number = b.op("lshr", address, constant(address.type, RANK_SHIFT))
        offset = b.op("and", address, constant(address.type, OFFSET))
        odd = b.op("and", address, b.splat(b.op("sub", size, i32(1))))
        fits = b.compare("ule", b.op("add", offset, b.splat(size)), b.splat(extent))
        fits = b.op("and", fits, b.compare("eq", odd, constant(address.type, 0)))
        fits = b.op("and", fits, b.compare("ule", number, b.splat(b.get(cluster, CLUSTER, "size"))))
        low = b.intrinsic("umin", number, constant(address.type, 31))
        ended = b.splat(b.op("shl", b.get(cluster, CLUSTER, "ended"), i32(1)))
        gone = b.op("and", b.op("lshr", ended, low), constant(address.type, 1))
        fits = b.op("and", fits, b.compare("eq", gone, constant(address.type, 0)))
        wrong = b.op("and", mask, b.op("xor", b.bitcast(fits, "i32"), i32(-1)))
        with b.if_(b.compare("ne", wrong, i32(0))), b.lanes(wrong) as lane:
            one = b.resize(b.extract(address, lane), "i64")
            b.call("ptr", "gs_cluster_place", warp, site, lane, one, size, size)
        rank = b.resize(b.op("sub", number, constant(address.type, 1)), "i64")
        first = b.op("shl", rank, constant(rank.type, RANK_SHIFT))
        theirs = b.op("add", b.splat(b.get(cluster, CLUSTER, "shared")), first)
        own = b.compare("eq", number, constant(address.type, 0))
        base = b.select(own, b.splat(b.get(warp, WARP, "shared")), theirs)
        b.ret(b.op("add", base, b.resize(offset, "i64")))


def _owner(m: Module) -> None:
    """The block in whose shared memory a place is; the warp's own where blocks run on their own."""
    with m.function("ptr", "gs_owner", "ptr warp", "ptr place") as (b, (warp, place)):
        block = b.get(warp, WARP, "block")
        cluster = b.get(block, BLOCK, "cluster")
        with b.if_(inverted(b, present(b, cluster)), likely=True):
            b.ret(block)
        address = b.define("i64", f"ptrtoint {place!r} to i64")
        rank = b.op("lshr", b.op("sub", address, b.get(cluster, CLUSTER, "shared")), i64(RANK_SHIFT))
        with b.if_(b.compare("uge", rank, b.resize(b.get(cluster, CLUSTER, "size"), "i64"))):
            b.ret(block)  # an mbarrier object that is no shared memory at all
        b.ret(b.offset(b.get(cluster, CLUSTER, "blocks"), b.op("mul", rank, i64(BLOCK.size))))


def _in_shared(m: Module) -> None:
    """Whether a place is in shared memory of the block or its cluster."""
    with m.function("i1", "gs_in_shared", "ptr warp", "ptr place") as (b, (warp, place)):
        address = b.define("i64", f"ptrtoint {place!r} to i64")
        own = b.compare("ult", b.op("sub", address, b.get(warp, WARP, "shared")), b.get(warp, WARP, "shared_size"))
        cluster = cluster_of(b, warp)
        with b.if_(inverted(b, present(b, cluster))):
            b.ret(own)
        rank = b.op("lshr", b.op("sub", address, b.get(cluster, CLUSTER, "shared")), i64(RANK_SHIFT))
        b.ret(b.compare("ult", rank, b.resize(b.get(cluster, CLUSTER, "size"), "i64")))
