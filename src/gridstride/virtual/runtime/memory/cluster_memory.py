"""The runtime's distributed shared memory: where an address in some block of the cluster is in this process.

A `shared::cluster` address has in its highest byte a block's rank plus 1, or 0 for the own block's; a generic one is
the place itself. Blocks of a cluster lie 2^24 bytes apart, so shared memory has no neighbour to run into.
"""

from __future__ import annotations

from gridstride.virtual.abi.address_spaces import CLUSTER_SPACE, NO_BLOCK_ADDRESS, OFFSET_MASK, RANK_SHIFT
from gridstride.virtual.abi.execution_records import LAUNCH
from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.ir.builder import NULL, Builder, IrModule, Record, Value, constant, wide
from gridstride.virtual.runtime.common import i32
from gridstride.virtual.runtime.schedule.cluster_blocks import cluster_of


def emit_cluster_memory(m: IrModule) -> None:
    """gs_cluster_place, gs_cluster_window, gs_cluster_where, gs_owner, gs_in_shared."""
    _fault(m)
    _cluster_pointer(m)
    _window(m)
    _lane_pointers(m)
    _owner(m)
    _in_shared(m)


def _fault(m: IrModule) -> None:
    """gs_cluster_fault ends the launch: no such block, or past the end of its shared memory. gs_cluster_exited does so
    in an observed launch: the block has ended. Otherwise the access goes through, as the hardware mostly lets it (the
    memory is still there until another block gets it), and is noted to be warned of.
    """
    head = ("warp* warp", "i32 site", "i32 lanes", "i64 address", "i32 size")
    with m.function("void", "gs_cluster_fault", *head, cold=True) as (b, (warp, site, lanes, address, size)):
        kind, space = i32(FAULT["out_of_bounds"]), i32(CLUSTER_SPACE)
        b.call("void", "gs_fault_in", warp, site, kind, lanes, address, size, space)
    with m.function("void", "gs_cluster_exited", *head, cold=True) as (b, (warp, site, lanes, address, size)):
        launch = warp.launch
        with b.if_(launch.sample != 0):
            kind, space = i32(FAULT["exited_block"]), i32(CLUSTER_SPACE)
            b.call("void", "gs_fault_in", warp, site, kind, lanes, address, size, space)
        for name, value in (("exited_site", site), ("exited_size", size), ("exited_address", address)):
            b.put(launch, LAUNCH, name, value)
        launch.exited = 1


def _has_ended(b: Builder, cluster: Record, rank: Value) -> Value:
    """1 where the block of a rank below 32 has ended."""
    return (cluster.ended >> rank) & 1


def _cluster_pointer(m: IrModule) -> None:
    """One `shared::cluster` address, checked, with `size` bytes aligned to `align`."""
    head = ("warp* warp", "i32 site", "i32 lane", "i64 address", "i32 size", "i32 align")
    with m.function("ptr", "gs_cluster_place", *head) as (b, (warp, site, lane, address, size, align)):
        lanes, cluster = 1 << lane, cluster_of(b, warp)
        odd = address & (b.resize(align, "i64") - 1)
        with b.if_(odd != 0):
            kind, space = i32(FAULT["misaligned"]), i32(CLUSTER_SPACE)
            b.call("void", "gs_fault_in", warp, site, kind, lanes, address, align, space)
        offset = address & OFFSET_MASK
        number = b.resize((address & 0xFFFF_FFFF) >> RANK_SHIFT, "i32")
        extent, bytes_ = warp.shared_size, b.resize(size, "i64")
        fits = offset + bytes_ <= extent
        with b.if_(~fits):
            b.call("void", "gs_cluster_fault", warp, site, lanes, address, size)
        with b.if_(number == 0):
            b.ret(b.pointer(warp.shared + offset))
        with b.if_(~(cluster != NULL)):
            b.call("void", "gs_cluster_fault", warp, site, lanes, address, size)
        rank = number - 1
        with b.if_(rank >= cluster.size):
            b.call("void", "gs_cluster_fault", warp, site, lanes, address, size)
        gone = _has_ended(b, cluster, rank)
        with b.if_(gone != 0):
            b.call("void", "gs_cluster_exited", warp, site, lanes, address, size)
        first = b.resize(rank, "i64") << RANK_SHIFT
        b.ret(b.pointer(cluster.shared + (first + offset)))


def _window(m: IrModule) -> None:
    """A generic address: its place where it is in a block of the cluster, null where it is elsewhere."""
    head = ("warp* warp", "i32 site", "i32 lanes", "i64 address", "i32 size")
    with m.function("ptr", "gs_cluster_window", *head) as (b, (warp, site, lanes, address, size)):
        cluster = cluster_of(b, warp)
        with b.if_(~(cluster != NULL)):
            b.ret(NULL)
        beyond = address - (NO_BLOCK_ADDRESS - (1 << 64))
        with b.if_(beyond < (1 << 40)):
            b.call("void", "gs_cluster_fault", warp, site, lanes, beyond, size)
        distance = address - cluster.shared
        rank = distance >> RANK_SHIFT
        with b.if_(rank >= b.resize(cluster.size, "i64")):
            b.ret(NULL)
        offset = distance & OFFSET_MASK
        named = distance + (1 << RANK_SHIFT)
        end = offset + b.resize(size, "i64")
        with b.if_(end > warp.shared_size):
            b.call("void", "gs_cluster_fault", warp, site, lanes, named, size)
        gone = _has_ended(b, cluster, b.resize(rank, "i32"))
        with b.if_(gone != 0):
            b.call("void", "gs_cluster_exited", warp, site, lanes, named, size)
        b.ret(b.pointer(address))


def _lane_pointers(m: IrModule) -> None:
    """All lanes' `shared::cluster` addresses at once; one by one where some lane's is not right."""
    head = ("warp* warp", "i32 site", "i32 mask", f"{wide('i32')} address", "i32 size")
    with m.function(wide("i64"), "gs_cluster_where", *head) as (b, (warp, site, mask, address, size)):
        cluster, extent = cluster_of(b, warp), b.resize(warp.shared_size, "i32")
        number = address >> RANK_SHIFT
        offset = address & OFFSET_MASK
        odd = address & b.splat(size - 1)
        fits = offset + b.splat(size) <= b.splat(extent)
        fits &= odd == 0
        fits &= number <= b.splat(cluster.size)
        low = b.intrinsic("umin", number, constant(address.type, 31))
        exited = b.splat(cluster.ended << 1)
        gone = (exited >> low) & 1
        fits &= gone == 0
        wrong = mask & ~b.bitcast(fits, "i32")
        with b.if_(wrong != 0), b.lanes(wrong) as lane:
            lane_address = b.resize(b.extract(address, lane), "i64")
            b.call("ptr", "gs_cluster_place", warp, site, lane, lane_address, size, size)
        rank = b.resize(number - 1, "i64")
        first = rank << RANK_SHIFT
        theirs = b.splat(cluster.shared) + first
        own = number == 0
        base = b.select(own, b.splat(warp.shared), theirs)
        b.ret(base + b.resize(offset, "i64"))


def _owner(m: IrModule) -> None:
    """The block in whose shared memory a place is; the warp's own where blocks run on their own."""
    with m.function("ptr", "gs_owner", "warp* warp", "ptr place") as (b, (warp, pointer)):
        block = warp.block
        cluster = block.cluster
        with b.if_(~(cluster != NULL), likely=True):
            b.ret(block)
        address = b.define("i64", f"ptrtoint {pointer!r} to i64")
        rank = (address - cluster.shared) >> RANK_SHIFT
        with b.if_(rank >= b.resize(cluster.size, "i64")):
            b.ret(block)  # an mbarrier object that is no shared memory at all
        b.ret(cluster.blocks[rank])


def _in_shared(m: IrModule) -> None:
    """Whether a place is in shared memory of the block or its cluster."""
    with m.function("i1", "gs_in_shared", "warp* warp", "ptr place") as (b, (warp, pointer)):
        address = b.define("i64", f"ptrtoint {pointer!r} to i64")
        own = address - warp.shared < warp.shared_size
        cluster = cluster_of(b, warp)
        with b.if_(~(cluster != NULL)):
            b.ret(own)
        rank = (address - cluster.shared) >> RANK_SHIFT
        b.ret(rank < b.resize(cluster.size, "i64"))
